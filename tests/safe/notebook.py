"""Starts a kernel by a shell command that runs BEFORE and then the kernel. Sends cells to the kernel. Prints the answer to
each cell, then the history, and finally what the kernel wrote to standard error. Prints "absent: ..." if Jupyter's client is not
installed.

usage: notebook.py KERNEL FOLDER BEFORE CELL..."""
import json
import os
import sys

try:
    from jupyter_client.manager import KernelManager
except ImportError as missing:
    print("absent:", missing)
    sys.exit(0)
if len(sys.argv) < 4:
    sys.exit("expected at least three arguments, not " + str(len(sys.argv) - 1))

kernel, folder, before, cells = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
spec = os.path.join(folder, "share", "jupyter", "kernels", "nestwright")
os.makedirs(spec, exist_ok=True)
with open(os.path.join(spec, "kernel.json"), "w") as f:
    json.dump({"argv": ["sh", "-c", f"{before} exec '{kernel}' -f '{{connection_file}}'"], "display_name": "Nestwright",
               "language": "lua"}, f)
os.environ["JUPYTER_PATH"] = os.path.join(folder, "share", "jupyter")
os.environ["JUPYTER_RUNTIME_DIR"] = os.path.join(folder, "runtime")

errors = os.path.join(folder, "errors")
manager = KernelManager(kernel_name="nestwright")
with open(errors, "w") as stderr:
    manager.start_kernel(stderr=stderr)
client = manager.client()
client.start_channels()
try:
    client.wait_for_ready(timeout=20)
    for cell in cells:
        client.execute(cell)
        while True:
            message = client.get_iopub_msg(timeout=20)
            content = message["content"]
            if message["msg_type"] == "stream":
                print(content["name"] + ":", content["text"].strip())
            if message["msg_type"] in ("execute_result", "error"):
                print("answer:", content.get("data", {}).get("text/plain", content.get("evalue")))
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                if message["parent_header"].get("msg_type") == "execute_request":
                    break
    client.history(hist_access_type="tail", n=100000)
    while True:
        reply = client.get_shell_msg(timeout=20)
        if reply["msg_type"] == "history_reply":
            print("history:", len(reply["content"]["history"]))
            break
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=False)
with open(errors) as f:
    print("errors:", f.read())
