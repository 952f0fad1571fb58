"""Starts a kernel without a front end, and connects sockets on which a test can send any message."""
import hashlib
import hmac
import json
import os
import socket
import subprocess
import time
import uuid

import zmq

DELIMITER = b"<IDS|MSG>"
CHANNELS = ("shell", "control", "stdin", "hb", "iopub")


def free_ports(n):
    """Returns different ports that are not in use."""
    held = [socket.socket() for _ in range(n)]
    for s in held:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def header(kind, **more):
    return {"msg_id": uuid.uuid4().hex, "session": "s", "username": "u", "date": "2026-01-01T00:00:00Z", "msg_type": kind,
            "version": "5.3", **more}


def parts_of(kind, content, **more):
    """Returns header, parent header, metadata and content in the form that is signed."""
    return [json.dumps(v).encode() for v in (header(kind, **more), {}, {}, content)]


def sign(key, parts):
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        mac.update(part)
    return mac.hexdigest().encode()


def connection(folder, name="kernel.json", **fields):
    """Writes a connection file. Returns its path and its fields. A field that is None is left out."""
    info = {"transport": "tcp", "ip": "127.0.0.1", "key": uuid.uuid4().hex, "signature_scheme": "hmac-sha256",
            **{channel + "_port": port for channel, port in zip(CHANNELS, free_ports(len(CHANNELS)))}, **fields}
    info = {name: value for name, value in info.items() if value is not None}
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        json.dump(info, f)
    return path, info


class Kernel:
    def __init__(self, build, folder, setup=None, **fields):
        self.path, self.info = connection(folder, **fields)
        self.key = self.info["key"].encode()
        self.context = zmq.Context()
        self.setup = setup  # this function is called for each socket before it connects
        self.log = open(os.path.join(folder, "log"), "wb")
        # By default, glibc keeps the freed memory of large messages. The tests measure only memory that the kernel still uses.
        environment = {**os.environ, "XDG_STATE_HOME": folder, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536",
                       "MALLOC_ARENA_MAX": "1"}
        self.process = subprocess.Popen([os.path.join(build, "bin/nestwright-kernel"), "-f", self.path], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, env=environment, start_new_session=True)
        self.sockets = {}

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.context.destroy(0)

    def open(self, channel, identity=None, setup=None):
        s = self.context.socket(zmq.DEALER)
        s.linger = 0
        s.sndhwm = 0
        s.sndtimeo = 20000
        if identity:
            s.identity = identity
        for prepare in (self.setup, setup):
            if prepare:
                prepare(s)
        s.connect(f"tcp://127.0.0.1:{self.info[channel + '_port']}")
        return s

    def socket(self, name, identity=None):
        """Returns the socket with this name, such as "shell" or "shell/2". The same name always gives the same socket."""
        if name not in self.sockets:
            self.sockets[name] = self.open(name.split("/")[0], identity)
        return self.sockets[name]

    def message(self, parts, signature=None):
        return [DELIMITER, sign(self.key, parts) if signature is None else signature, *parts]

    def ask(self, name, kind, content, limit, seen=None):
        """Sends a request. Returns the content of the reply, or None if no reply comes within `limit` seconds. Calls `seen`
        with each other message."""
        s, parts = self.socket(name), parts_of(kind, content)
        mine = json.loads(parts[0])["msg_id"]
        s.send_multipart(self.message(parts))
        end = time.monotonic() + limit
        while s.poll(max(0, (end - time.monotonic()) * 1000)):
            frames = s.recv_multipart()
            parent = json.loads(frames[frames.index(DELIMITER) + 3])
            if parent.get("msg_id") == mine:
                return json.loads(frames[-1])
            if seen:
                seen(parent.get("msg_id"), frames)
        return None

    def value(self, expression, limit):
        """Returns the value of an expression as text, or None if the kernel does not return one."""
        reply = self.ask("shell/checks", "execute_request",
                         {"code": "", "store_history": False, "user_expressions": {"x": expression}}, limit)
        found = ((reply or {}).get("user_expressions") or {}).get("x") or {}
        return found.get("data", {}).get("text/plain")

    def run(self, code, limit):
        reply = self.ask("shell/checks", "execute_request", {"code": code}, limit)
        return reply and reply["status"]

    def resident_mb(self):
        with open(f"/proc/{self.process.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
