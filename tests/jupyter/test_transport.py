"""Tests ways to connect to the kernel: ipc, an empty key, and encryption with CURVE keys."""
import json
import os
import subprocess
import time
import unittest

import zmq
from jupyter_client.connect import write_connection_file
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.session import Session

from client import KernelTest

WAIT_MS = 20000  # the kernel replies in milliseconds, but may start slowly on a busy machine


class Ipc(KernelTest):
    @classmethod
    def start(cls, **kwargs):
        cls.manager = KernelManager(kernel_name="nestwright", transport="ipc")
        cls.manager.ip = os.path.join(os.environ["XDG_STATE_HOME"], "ipc")
        cls.manager.start_kernel()
        cls.client = cls.manager.client()
        cls.client.start_channels()
        cls.client.wait_for_ready(timeout=20)

    def test_cells_run_over_ipc(self):
        self.alive()


class Transport(unittest.TestCase):
    def start(self, key, **more):
        self.path = os.path.join(os.environ["XDG_STATE_HOME"], "transport.json")
        _, self.info = write_connection_file(self.path, ip="127.0.0.1", key=key)
        self.info.update(more)
        with open(self.path, "w") as f:
            json.dump({**self.info, "key": key.decode()}, f)
        program = KernelSpecManager().get_kernel_spec("nestwright").argv[0]
        self.process = subprocess.Popen([program, "-f", self.path])

    def tearDown(self):
        self.process.kill()
        self.process.wait(timeout=WAIT_MS / 1000)

    def answers(self, key, setup=None, timeout=WAIT_MS, pause=0):
        """Returns True if the kernel replies within `timeout` milliseconds to a client with this key. `setup` sets options of the
        client's socket. The client connects, waits for `pause` seconds and sends a request."""
        s = zmq.Context.instance().socket(zmq.DEALER)
        s.linger = 0
        # If the two sides do not agree on encryption, libzmq may remove the connection, also before the request is sent. The
        # socket then has no peer, and would wait for one without end.
        s.sndtimeo = timeout
        try:
            return self.asked(s, key, setup, timeout, pause)
        finally:
            s.close()

    def asked(self, s, key, setup, timeout, pause):
        if setup:
            setup(s)
        s.connect(f"tcp://127.0.0.1:{self.info['shell_port']}")
        time.sleep(pause)
        session = Session(key=key)
        try:
            session.send(s, "kernel_info_request", {})
        except zmq.Again:
            return False
        if not s.poll(timeout):
            return False
        _, message = session.recv(s)
        return message["msg_type"] == "kernel_info_reply"

    def replies(self, *given):
        self.assertTrue(self.answers(*given), f"no reply to a kernel_info_request within {WAIT_MS} ms")

    def test_messages_are_unsigned_if_the_key_is_empty(self):
        self.start(b"")
        self.replies(b"")

    def test_connections_are_encrypted_if_the_file_has_curve_keys(self):
        if not zmq.has("curve"):
            self.skipTest("this libzmq was built without CURVE")
        public, secret = zmq.curve_keypair()
        self.start(b"key", curve_publickey=public.decode(), curve_secretkey=secret.decode())

        def encrypted(s, server=public):
            s.curve_publickey, s.curve_secretkey = zmq.curve_keypair()
            s.curve_serverkey = server

        self.replies(b"key", encrypted)
        for pause in (0, 0.2):  # the request is sent while the connection is made, and after it failed
            self.assertFalse(self.answers(b"key", timeout=500, pause=pause), "a client without encryption got a reply")
        for _ in range(5):
            wrong = zmq.curve_keypair()[0]
            self.assertFalse(self.answers(b"key", lambda s: encrypted(s, wrong), timeout=200), "a client with a wrong key got a reply")
        self.replies(b"key", encrypted)  # the kernel continues


if __name__ == "__main__":
    unittest.main()
