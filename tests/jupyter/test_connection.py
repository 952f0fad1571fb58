"""Tests the connection file. If the value of a field is not supported, the kernel refuses the file. The error message
gives the field, its value and the allowed values."""
import json
import os
import subprocess
import tempfile
import unittest

import zmq
from jupyter_client.connect import write_connection_file
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.session import Session

LEFT_OUT = object()
PORTS = ("shell_port", "control_port", "iopub_port", "stdin_port", "hb_port")
PUBLIC, SECRET = (k.decode() for k in zmq.curve_keypair()) if zmq.has("curve") else ("x" * 40, "x" * 40)

# For each case: its name, the changed fields, and a part of the error message.
REFUSED = {
    "key_number": ({"key": 7}, "key is 7: it must be a string"),
    "key_null": ({"key": None}, "key is null: it must be a string"),
    "key_list": ({"key": ["a"]}, 'key is ["a"]: it must be a string'),
    "key_missing": ({"key": LEFT_OUT}, "key is missing: it must be a string"),
    "key_long": ({"key": "k" * 5000}, "key is a string of 5000 bytes: it must be a string of at most 4096 bytes"),
    "transport": ({"transport": "udp"}, 'transport is "udp": it must be "tcp" or "ipc"'),
    "transport_case": ({"transport": "TCP"}, 'transport is "TCP": it must be "tcp" or "ipc"'),
    "transport_number": ({"transport": 4}, 'transport is 4: it must be "tcp" or "ipc"'),
    "transport_null": ({"transport": None}, 'transport is null: it must be "tcp" or "ipc"'),
    "transport_empty": ({"transport": ""}, 'transport is "": it must be "tcp" or "ipc"'),
    "ip_number": ({"ip": 127}, "ip is 127: it must be an address"),
    "ip_empty": ({"ip": ""}, 'ip is "": it must be an address'),
    "ip_two": ({"ip": "127.0.0.1;10.0.0.1"}, "ip is"),
    "ip_space": ({"ip": "127.0.0.1 "}, "ip is"),
    "ip_long": ({"ip": "1" * 300}, "it must be an address"),
    "ip_foreign": ({"ip": "203.0.113.7"}, "cannot listen at tcp://203.0.113.7:"),
    "ipc_without_path": ({"transport": "ipc", "ip": LEFT_OUT}, "ip is missing: it must be the prefix of the sockets' paths"),
    "port_text": ({"shell_port": "5000"}, 'shell_port is "5000": it must be an integer, 1 to 65535'),
    "port_real": ({"iopub_port": 5000.5}, "iopub_port is 5000.5: it must be an integer, 1 to 65535"),
    "port_zero": ({"hb_port": 0}, "hb_port is 0: it must be an integer, 1 to 65535"),
    "port_negative": ({"stdin_port": -1}, "stdin_port is -1: it must be an integer, 1 to 65535"),
    "port_large": ({"control_port": 65536}, "control_port is 65536: it must be an integer, 1 to 65535"),
    "port_wraps": ({"control_port": 2 ** 32 + 5000}, "control_port is 4294972296: it must be an integer, 1 to 65535"),
    "port_missing": ({"control_port": LEFT_OUT}, "control_port is missing: it must be an integer, 1 to 65535"),
    "ports_alike": ({"shell_port": 5555, "hb_port": 5555}, "shell_port and hb_port are both 5555"),
    "scheme": ({"signature_scheme": "hmac-md5"}, 'signature_scheme is "hmac-md5": it must be "hmac-sha256"'),
    "scheme_number": ({"signature_scheme": 256}, 'signature_scheme is 256: it must be "hmac-sha256"'),
    "scheme_empty": ({"signature_scheme": ""}, 'signature_scheme is "": it must be "hmac-sha256"'),
    "open_to_all": ({"key": "", "ip": "0.0.0.0"}, 'key is "" and ip is "0.0.0.0": anyone who reaches that address could run code'),
    "open_star": ({"key": "", "ip": "*"}, 'key is "" and ip is "*"'),
    "open_interface": ({"key": "", "ip": "lo"}, 'key is "" and ip is "lo"'),
    "open_alike": ({"key": "", "ip": "127.0.0.1.example.org"}, 'key is "" and ip is "127.0.0.1.example.org"'),
    "curve_public_only": ({"curve_publickey": PUBLIC}, "curve_secretkey is missing: it must be a CURVE key"),
    "curve_secret_only": ({"curve_secretkey": SECRET}, "curve_publickey is missing: it must be a CURVE key"),
    "curve_short": ({"curve_publickey": PUBLIC, "curve_secretkey": "abc"}, "curve_secretkey is a string of 3 bytes"),
    "curve_characters": ({"curve_publickey": "\u00e9" * 20, "curve_secretkey": SECRET}, "curve_publickey is a string of 40 bytes"),
    "curve_number": ({"curve_publickey": 1, "curve_secretkey": SECRET}, "curve_publickey is 1: it must be a CURVE key"),
    "curve_apart": ({"curve_publickey": SECRET, "curve_secretkey": SECRET}, "curve_publickey does not belong to curve_secretkey"),
}

# For each case: its name, the complete text of an invalid connection file, and a part of the error message.
NO_FILES = {
    "empty": (b"", "the connection file is empty"),
    "array": (b"[]", "must be a JSON object"),
    "number": (b"7", "is not JSON: line 1:"),
    "broken": (b'{\n"key": }', "is not JSON: line 2:"),
    "bytes": (b"\xff\xfe{}", "is not JSON: line 1:"),
    "nul": (b'{"key": "a\\u0000b"}', "is not JSON: line 1:"),
    "deep": (b"[" * 60000, "is not JSON"),
    "long": (b"{}" + b" " * (1 << 16), "has more than 65536 bytes"),
    "two_keys": (b'{"key": "a", "key": ""}', "is not JSON: line 1: duplicate object key"),
}


class Connection(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ["XDG_STATE_HOME"])
        self.path = os.path.join(self.folder, "connection.json")
        self.program = KernelSpecManager().get_kernel_spec("nestwright").argv[0]
        self.process = None

    def tearDown(self):
        if self.process:
            self.process.kill()
            self.process.wait(timeout=20)

    def write(self, **fields):
        _, info = write_connection_file(self.path, ip="127.0.0.1", key=b"secret")
        info.update(key="secret", **fields) if "key" not in fields else info.update(fields)
        self.info = {name: value for name, value in info.items() if value is not LEFT_OUT}
        with open(self.path, "w") as f:
            json.dump(self.info, f)

    def refused(self, says, path=None):
        done = subprocess.run([self.program, "-f", path or self.path], capture_output=True, timeout=20, stdin=subprocess.DEVNULL)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, 1, text)
        self.assertIn(says, text)
        self.assertIn("nestwright-kernel: ", text)
        self.assertNotIn("kkkkkkkk", text)  # a key must not be written to a log

    def test_invalid_fields_are_refused(self):
        for name, (fields, says) in REFUSED.items():
            with self.subTest(name):
                self.write(**fields)
                self.refused(says)

    def test_invalid_files_are_refused(self):
        for name, (text, says) in NO_FILES.items():
            with self.subTest(name):
                with open(self.path, "wb") as f:
                    f.write(text)
                self.refused(says)

    def test_a_path_that_is_not_a_regular_file_is_refused(self):
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        self.refused("must be a regular file", fifo)
        self.refused("must be a regular file", self.folder)
        self.refused("must be a regular file", "/dev/zero")
        self.refused("cannot be read: No such file", os.path.join(self.folder, "missing"))
        os.symlink("/dev/zero", os.path.join(self.folder, "link"))
        self.refused("must be a regular file", os.path.join(self.folder, "link"))

    def start(self):
        self.process = subprocess.Popen([self.program, "-f", self.path], stdin=subprocess.DEVNULL)

    def answers(self, address):
        s = zmq.Context.instance().socket(zmq.DEALER)
        s.linger = 0
        s.sndtimeo = 20000
        s.connect(address)
        session = Session(key=self.info["key"].encode())
        session.send(s, "kernel_info_request", {})
        good = s.poll(20000) and session.recv(s)[1]["msg_type"] == "kernel_info_reply"
        s.close()
        return good

    def test_valid_connection_files_are_accepted(self):
        for fields in ({"key": "", "signature_scheme": ""}, {"key": "", "ip": "127.0.0.2"}, {"transport": LEFT_OUT, "ip": LEFT_OUT},
                       {"signature_scheme": LEFT_OUT, "more": {"of": ["what"], "we": None}}, {"curve_publickey": None}):
            with self.subTest(str(fields)):
                self.write(**fields)
                self.start()
                self.assertTrue(self.answers(f"tcp://{self.info.get('ip', '127.0.0.1')}:{self.info['shell_port']}"))
                self.tearDown()

    def test_only_the_owner_may_open_ipc_sockets(self):
        before = os.umask(0)
        try:
            self.write(transport="ipc", ip=os.path.join(self.folder, "s"), key="", **{p: n for n, p in enumerate(PORTS, 1)})
            self.start()
        finally:
            os.umask(before)
        self.assertTrue(self.answers(f"ipc://{self.folder}/s-1"))
        for n in range(1, 6):
            self.assertEqual(os.stat(f"{self.folder}/s-{n}").st_mode & 0o777, 0o600)

    def test_a_file_is_not_replaced_by_a_socket(self):
        mine = os.path.join(self.folder, "mine-2")
        with open(mine, "w") as f:
            f.write("an afternoon's work")
        self.write(transport="ipc", ip=os.path.join(self.folder, "mine"), **{p: n for n, p in enumerate(PORTS, 1)})
        self.refused("mine-2: File exists")
        with open(mine) as f:
            self.assertEqual(f.read(), "an afternoon's work")


if __name__ == "__main__":
    unittest.main()
