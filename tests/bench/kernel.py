"""Measures the speed of the Jupyter kernel. Also measures the ipykernel of the distribution, in the same run and with the
same client."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import zmq
from jupyter_client.connect import write_connection_file
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.session import Session

OURS, THEIRS = "nestwright", "python3"
LINES = "for i = 1, 100000 do print(i) end"


def started(name):
    """Starts a kernel without a kernel manager, because a manager polls. Returns the milliseconds until the
    kernel_info_reply, the process and a socket."""
    path = os.path.join(tempfile.mkdtemp(), "connection.json")
    write_connection_file(path, ip="127.0.0.1", key=b"key")
    spec = KernelSpecManager().get_kernel_spec(name)
    start = time.perf_counter()
    process = subprocess.Popen([a.format(connection_file=path) for a in spec.argv], env={**os.environ, **spec.env})
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.reconnect_ivl = 1  # otherwise ZeroMQ waits 100 ms before it tries a refused connection again
    with open(path) as f:
        socket.connect(f"tcp://127.0.0.1:{json.load(f)['shell_port']}")
    Session(key=b"key").send(socket, "kernel_info_request", {})
    socket.recv_multipart()
    return (time.perf_counter() - start) * 1000, process, socket


def start_ms(name):
    ms, process, socket = started(name)
    socket.close(0)
    process.kill()
    process.wait()
    return ms


class Kernel:
    def __init__(self, name):
        self.name = name
        self.manager = KernelManager(kernel_name=name)
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=30)
        # a socket of our own, because the client's socket waits in an event loop
        self.shell = zmq.Context.instance().socket(zmq.DEALER)
        self.shell.connect(f"tcp://127.0.0.1:{self.manager.shell_port}")
        self.heartbeat = zmq.Context.instance().socket(zmq.REQ)
        self.heartbeat.connect(f"tcp://127.0.0.1:{self.manager.hb_port}")

    def reply(self, message_id):
        while True:
            message = self.client.get_shell_msg(timeout=30)
            if message["parent_header"].get("msg_id") == message_id:
                return message["content"]

    def published(self, message_id):
        out = []
        while True:
            message = self.client.get_iopub_msg(timeout=30)
            if message["parent_header"].get("msg_id") != message_id:
                continue
            out.append(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return out

    def heartbeat_ms(self):
        """Returns the milliseconds until the kernel has sent a message back unchanged. This is the time that ZeroMQ and
        this machine need to wake the threads."""
        start = time.perf_counter()
        self.heartbeat.send(b"ping")
        self.heartbeat.recv()
        return (time.perf_counter() - start) * 1000

    def roundtrip_ms(self):
        socket, session = self.shell, self.client.session
        message = session.msg("execute_request", {"code": "1+1", "silent": False, "store_history": True, "user_expressions": {},
                                                  "allow_stdin": False, "stop_on_error": True})
        frames = session.serialize(message)
        start = time.perf_counter()
        socket.send_multipart(frames)
        asked = message["header"]["msg_id"].encode()
        # replies to earlier requests may come first
        while not any(asked in frame for frame in socket.recv_multipart()):
            pass
        ms = (time.perf_counter() - start) * 1000
        self.published(message["header"]["msg_id"])
        return ms

    def lines(self):
        """Prints a hundred thousand lines. Returns the seconds, the number of lost lines, and the number of messages."""
        start = time.perf_counter()
        message_id = self.client.execute(LINES)
        out = self.published(message_id)
        seconds = time.perf_counter() - start
        self.reply(message_id)
        text = [m["content"]["text"] for m in out if m["msg_type"] == "stream"]
        right = sum(a == str(b) for b, a in enumerate("".join(text).splitlines(), 1))
        return seconds, 100000 - right, len(text)

    def interrupt_ms(self, code):
        message_id = self.client.execute(code)
        time.sleep(0.15)
        start = time.perf_counter()
        self.manager.interrupt_kernel()
        reply = self.reply(message_id)
        assert reply["status"] == "error", code
        return (time.perf_counter() - start) * 1000

    def rss_mb(self):
        with open(f"/proc/{self.manager.provisioner.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self):
        self.shell.close(0)
        self.heartbeat.close(0)
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def notebook(name, cells):
    return {"cells": [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": c} for c in cells],
            "metadata": {"kernelspec": {"name": name, "display_name": name, "language": ""}}, "nbformat": 4, "nbformat_minor": 4}


def nbconvert_s(name, cells):
    folder = tempfile.mkdtemp()
    with open(f"{folder}/n.ipynb", "w") as f:
        json.dump(notebook(name, cells), f)
    start = time.perf_counter()
    subprocess.run(["/usr/bin/python3", "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "out.ipynb",
                    f"{folder}/n.ipynb"], check=True, capture_output=True)
    return time.perf_counter() - start


INTERRUPTED = [
    "while true do end", "while true do pcall(error) end", "coroutine.wrap(function() while true do end end)()",
    "os.execute 'sleep 10'", "while true do print 'x' end", "while true do one(a, a) end", "while true do two(a, a) end",
    "while true do nw.misses(s) end",
]
SETUP = """
  local n = 1024
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  s = nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
  one = s:build {threads = 1}
  s:parallel "i"
  two = s:build {threads = 2}
  a = nw.zeros({n, n}, "f32")
"""

BARS = {
    "kernel.start_ms": ("<=", 50), "kernel.roundtrip_ms_median": ("<=", 0.25), "kernel.roundtrip_ms_p95": ("<=", 1),
    "kernel.vs_ipykernel_roundtrip": (">=", 8), "kernel.lines_1e5_s": ("<=", 0.3), "kernel.lines_lost": ("<=", 0),
    "kernel.stream_messages": ("<=", 20), "kernel.interrupt_ms_p95": ("<=", 50), "kernel.rss_idle_mb": ("<=", 25),
    "kernel.nbconvert_vs_ipykernel": (">=", 1.3),
}


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def in_turn(*measures):
    """Takes 200 measurements of each function. The functions take turns of 20 measurements. With shorter turns, the
    work that ipykernel does after a reply overlaps the next measurement. The first turn is not counted."""
    out = [[] for _ in measures]
    for turn in range(11):
        pairs = list(zip(out, measures))
        for values, f in pairs if turn % 2 else reversed(pairs):
            time.sleep(0.05)
            some = [f() for _ in range(20)]
            values += some if turn else []
    return out


def medians(times, *measures):
    """Takes measurements of each function, one at a time in turn, and in the opposite order in every other round.
    Returns the median for each function."""
    out = [[] for _ in measures]
    for turn in range(times):
        pairs = list(zip(out, measures))
        for values, f in pairs if turn % 2 else reversed(pairs):
            values.append(f())
    return [statistics.median(values) for values in out]


def measure(names):
    """Measures kernels of this project in turn, and ipykernel with them. Returns a table of figures for each kernel."""
    count = len(names)
    starts = medians(15, *(lambda name=name: start_ms(name) for name in names))
    theirs_start = medians(3, lambda: start_ms(THEIRS))[0]
    kernels, theirs = [Kernel(name) for name in names], Kernel(THEIRS)
    memory, theirs_memory = [k.rss_mb() for k in kernels], theirs.rss_mb()
    times = in_turn(*(k.roundtrip_ms for k in kernels), theirs.roundtrip_ms, *(k.heartbeat_ms for k in kernels))
    others = statistics.median(times[count])
    runs = [[] for _ in kernels]
    for _ in range(40):
        for out, k in zip(runs, kernels):
            time.sleep(1.3 / count)  # front ends accept a megabyte a second, so the kernel does not send faster
            out.append(k.lines())
    for k in kernels:
        k.reply(k.client.execute(SETUP))
    interrupts = [[] for _ in kernels]
    for code in INTERRUPTED * 8:
        for out, k in zip(interrupts, kernels):
            out.append(k.interrupt_ms(code))
    for k in (*kernels, theirs):
        k.stop()
    converts = medians(5, *(lambda name=name: nbconvert_s(name, ["x = 1", "x + 1"]) for name in (*names, THEIRS)))
    return [{
        "kernel.start_ms": starts[n], "ipykernel.start_ms": theirs_start,
        "kernel.rss_idle_mb": memory[n], "ipykernel.rss_idle_mb": theirs_memory,
        "kernel.roundtrip_ms_median": statistics.median(times[n]), "kernel.roundtrip_ms_p95": percentile(times[n], 0.95),
        "kernel.heartbeat_ms_median": statistics.median(times[count + 1 + n]),
        "ipykernel.roundtrip_ms_median": others, "kernel.vs_ipykernel_roundtrip": others / statistics.median(times[n]),
        "kernel.lines_1e5_s": statistics.median(r[0] for r in runs[n]),
        "kernel.lines_lost": sum(r[1] for r in runs[n]), "kernel.stream_messages": max(r[2] for r in runs[n]),
        "kernel.interrupt_ms_p95": percentile(interrupts[n], 0.95),
        "kernel.nbconvert_vs_ipykernel": converts[count] / converts[n],
    } for n in range(count)]


def install_other(binary):
    """Makes another version of the kernel available by a name of its own, and returns the name."""
    name, folder = "nestwright-other", tempfile.mkdtemp()
    os.makedirs(f"{folder}/kernels/{name}")
    with open(f"{folder}/kernels/{name}/kernel.json", "w") as f:
        json.dump({"argv": [binary, "-f", "{connection_file}"], "display_name": name, "language": "lua"}, f)
    os.environ["JUPYTER_PATH"] = f"{folder}:{os.environ.get('JUPYTER_PATH', '')}"
    return name


def write(path, figures):
    missed = 0
    for name, value in figures.items():
        line = f"{name:34s} {value:10.3f}"
        if name in BARS:
            sign, bar = BARS[name]
            met = value <= bar if sign == "<=" else value >= bar
            missed += not met
            line += f"  bar {sign} {bar}  {'met' if met else 'MISSED'}"
        print(line)
    with open(path, "w") as f:
        json.dump(figures, f, indent=2)
    print(f"{path}: {len(figures)} figures, {missed} bars missed")


def main():
    """usage: kernel.py OUT [KERNEL OUT2]   KERNEL: another version of nestwright-kernel, measured in turn with this one"""
    names = [OURS] + [install_other(binary) for binary in sys.argv[2:3]]
    for path, figures in zip(sys.argv[1::2], measure(names)):
        write(path, figures)
    if "NW_BENCH_DIRECTIONS" in os.environ:
        with open(os.environ["NW_BENCH_DIRECTIONS"], "w") as f:
            json.dump({name: sign for name, (sign, _) in BARS.items()}, f)


if __name__ == "__main__":
    main()
