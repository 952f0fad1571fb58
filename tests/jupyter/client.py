"""Functions that the tests share: they start a kernel, and send and receive messages."""
import os
import time
import unittest

from jupyter_client.manager import KernelManager


class KernelTest(unittest.TestCase):
    """One kernel for the tests of a class. A test that ends the kernel starts another kernel."""

    @classmethod
    def setUpClass(cls):
        cls.start()

    @classmethod
    def tearDownClass(cls):
        cls.stop()

    @classmethod
    def start(cls, **kwargs):
        cls.manager = KernelManager(kernel_name="nestwright")
        cls.manager.start_kernel(**kwargs)
        cls.client = cls.manager.client()
        cls.client.start_channels()
        cls.client.wait_for_ready(timeout=20)

    @classmethod
    def stop(cls):
        cls.client.stop_channels()
        cls.manager.shutdown_kernel(now=False)

    def reply_to(self, message_id, timeout=20):
        while True:
            reply = self.client.get_shell_msg(timeout=timeout)
            if reply["parent_header"].get("msg_id") == message_id:
                return reply["content"]

    def published_for(self, message_id, timeout=20):
        """Returns the messages that were published for a request, up to the idle status, as pairs (type, content)."""
        out = []
        while True:
            message = self.client.get_iopub_msg(timeout=timeout)
            if message["parent_header"].get("msg_id") != message_id:
                self.strays.append(message)
                continue
            out.append((message["msg_type"], message["content"]))
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return out

    def setUp(self):
        self.strays = []

    def run_cell(self, code, timeout=20, **kwargs):
        """Runs a cell. Returns the reply and the published messages."""
        message_id = self.client.execute(code, **kwargs)
        reply = self.reply_to(message_id, timeout)
        return reply, self.published_for(message_id, timeout)

    def request(self, kind, content, channel=None):
        channel = channel or self.client.shell_channel
        message = self.client.session.msg(kind, content=content)
        channel.send(message)
        return message["header"]["msg_id"]

    def alive(self):
        reply, out = self.run_cell("1+1")
        self.assertEqual(reply["status"], "ok")
        self.assertIn(("execute_result"), [kind for kind, _ in out])


def types(published):
    return [kind for kind, _ in published if kind != "status"]


def text_of(published, name="stdout"):
    return "".join(c["text"] for kind, c in published if kind == "stream" and c["name"] == name)


def result_of(published):
    for kind, content in published:
        if kind == "execute_result":
            return content["data"]["text/plain"]
    return None


def wait_until(what, seconds=10):
    end = time.time() + seconds
    while time.time() < end:
        if what():
            return True
        time.sleep(0.01)
    return False


def resident_mb(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
