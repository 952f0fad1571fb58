"""Sends messages that no client should send. The kernel answers or ignores them. It never ends, and never executes an
unsigned message."""
import hashlib
import hmac
import json
import os
import random
import time
import unittest

import zmq

from client import KernelTest, resident_mb

DELIMITER = b"<IDS|MSG>"


class Malformed(KernelTest):
    def setUp(self):
        super().setUp()
        self.context = zmq.Context()
        self.key = self.manager.session.key
        self.sockets = []

    def tearDown(self):
        self.alive()
        for socket in self.sockets:
            socket.close(0)
        self.context.term()

    def socket(self, channel="shell", kind=zmq.DEALER):
        s = self.context.socket(kind)
        s.linger = 1000
        s.connect(f"tcp://{self.manager.ip}:{getattr(self.manager, channel + '_port')}")
        self.sockets.append(s)
        return s

    def sign(self, parts):
        mac = hmac.new(self.key, digestmod=hashlib.sha256)
        for part in parts:
            mac.update(part)
        return mac.hexdigest().encode()

    def header(self, kind="execute_request", **more):
        return {"msg_id": os.urandom(8).hex(), "session": "s", "username": "u", "date": "", "msg_type": kind, "version": "5.3", **more}

    def parts(self, content=None, header=None):
        header = self.header() if header is None else header
        content = {"code": "owned = true", "silent": False} if content is None else content
        return [json.dumps(header).encode(), b"{}", b"{}", json.dumps(content).encode()]

    def message(self, parts, signature=None):
        return [DELIMITER, self.sign(parts) if signature is None else signature, *parts]

    def not_owned(self):
        reply, out = self.run_cell("return owned == nil")
        self.assertEqual([c["data"]["text/plain"] for k, c in out if k == "execute_result"], ["true"])

    def test_messages_with_bad_signatures_are_ignored(self):
        s, parts = self.socket(), self.parts()
        good = self.sign(parts)
        for bad in (b"", b"0" * 64, good[:-1], good + b"0", good.upper(), b"\0" * 64, good[:-1] + b"x"):
            s.send_multipart(self.message(parts, bad))
        changed = self.message(parts)
        changed[-1] = changed[-1].replace(b"true", b"1000")
        s.send_multipart(changed)
        time.sleep(0.2)
        self.not_owned()

    def test_a_repeated_message_is_executed_once(self):
        """A signed message is executed once, even if it arrives again on other sockets or with more frames."""
        s, control = self.socket(), self.socket("control")
        whole = self.message(self.parts({"code": "replays = (replays or 0) + 1", "silent": True}))
        s.send_multipart(whole)
        self.assertTrue(s.poll(5000))
        for again in (whole, whole, [b"id"] + whole, whole + [b"buffer"]):
            s.send_multipart(again)
            control.send_multipart(again)
        other = self.socket()
        other.send_multipart(whole)
        self.alive()
        for one in (s, other):  # wait until all earlier messages were handled
            one.send_multipart(self.message(self.parts({}, self.header("kernel_info_request"))))
            self.assertTrue(one.poll(5000))
        _, out = self.run_cell("return replays")
        self.assertEqual([c["data"]["text/plain"] for k, c in out if k == "execute_result"], ["1"])

    def test_a_repeated_shutdown_request_is_ignored(self):
        s, control = self.socket(), self.socket("control")
        # an invalid request, which the kernel refuses
        asked = self.message(self.parts({"restart": 7}, self.header("shutdown_request")))
        control.send_multipart(asked)
        self.assertTrue(control.poll(5000))
        reply = json.loads(control.recv_multipart()[-1])
        self.assertEqual((reply["status"], reply["evalue"]), ("error", "shutdown_request: restart is 7: it must be true or false"))
        for socket in (s, control):
            socket.send_multipart(asked)
        self.assertFalse(control.poll(300))
        self.assertFalse(s.poll(0))

    def answer_to(self, kind, content):
        s = self.socket()
        s.send_multipart(self.message(self.parts(content, self.header(kind))))
        self.assertTrue(s.poll(5000), (kind, content))
        return json.loads(s.recv_multipart()[-1])

    def test_an_invalid_request_is_answered_with_the_reason(self):
        for kind, content, says in (
                ("execute_request", {"code": 7}, "execute_request: code is 7: it must be a string"),
                ("execute_request", {}, "execute_request: code is missing: it must be a string"),
                ("execute_request", {"code": "a = 1\0b"}, "execute_request: code has a NUL after 5 bytes: remove it"),
                ("execute_request", {"code": "1", "silent": "yes"}, 'execute_request: silent is "yes": it must be true or false'),
                ("execute_request", {"code": 2 ** 70}, "execute_request: its content is not a JSON object: too big integer"),
                ("complete_request", {"code": "nw.", "cursor_pos": "x"}, 'complete_request: cursor_pos is "x": it must be an integer'),
                ("inspect_request", {"code": {}}, "inspect_request: code is {}: it must be a string"),
                ("is_complete_request", {"code": []}, "is_complete_request: code is []: it must be a string"),
                ("history_request", {"n": 1.5}, "history_request: n is 1.5: it must be an integer"),
                ("comm_info_request", {"target_name": {}}, "comm_info_request: target_name is {}: it must be a string"),
                ("shutdown_request", {"restart": 0}, "shutdown_request: restart is 0: it must be true or false")):
            reply = self.answer_to(kind, content)
            self.assertEqual(reply["status"], "error", (kind, content))
            self.assertEqual(reply["evalue"][:len(says)], says)
        self.assertEqual(self.answer_to("execute_request", {"code": "1", "user_expressions": None})["status"], "ok")

    def test_a_cell_that_cannot_be_run_shows_why(self):
        published = self.published_for(self.request("execute_request", {"code": 7}))
        self.assertEqual([c["evalue"] for kind, c in published if kind == "error"], ["execute_request: code is 7: it must be a string"])

    def test_invalid_utf8_in_an_error_message_is_replaced(self):
        """Invalid bytes in an error message are replaced. The reply and the published error have the same text."""
        for code, says in (('error "a\\xffb"', "a\ufffdb"), ('nw["\\xff"]()', "field '\ufffd'"), ('return io.read()', "input")):
            reply, published = self.run_cell(code, allow_stdin=False)
            self.assertEqual(reply["status"], "error", code)
            self.assertIn(says, reply["evalue"])
            self.assertEqual([c["evalue"] for kind, c in published if kind == "error"], [reply["evalue"]])

    def test_cells_after_an_invalid_message_are_aborted(self):
        """If a cell fails, the cells that wait after it are aborted, even if there is an invalid message between them."""
        s = self.socket()
        s.send_multipart(self.message(self.parts({"code": "os.execute 'sleep 0.5' error 'stop'", "stop_on_error": True})))
        time.sleep(0.1)
        s.send_multipart([b"junk"])
        s.send_multipart(self.message(self.parts({"code": "behind = true"})))
        replies = []
        while len(replies) < 2 and s.poll(5000):
            replies.append(json.loads(s.recv_multipart()[-1])["status"])
        self.assertEqual(replies, ["error", "aborted"])

    def test_the_kernel_survives_missing_and_extra_frames(self):
        s, whole = self.socket(), self.message(self.parts({"code": "1"}))
        for n in range(len(whole)):
            s.send_multipart(whole[:n] or [b""])
        s.send_multipart(whole[1:])
        s.send_multipart([b"x"] * 200)
        s.send_multipart([b"id"] * 20 + whole)
        s.send_multipart([DELIMITER] * 6)
        s.send_multipart(whole + [b"buffer", b"\xff" * 1000])  # buffers are allowed
        self.assertTrue(s.poll(5000))

    def test_parts_that_are_not_json_objects_are_ignored(self):
        s = self.socket()
        for text in (b"", b"[]", b"null", b"7", b'"x"', b"{", b"{]", b'{"a":}', b"\xff\xfe", b'{"a": "\xff"}', b'{"a": "\\ud800"}',
                     b'{"a": 1e999}', b"[" * 100000, b'{"a":' * 100000, b"{}" * 10, b'{"a": "\\u0000"}', b"\0"):
            for place in range(4):
                parts = self.parts({"code": "1"})
                parts[place] = text
                s.send_multipart(self.message(parts))

    def test_the_kernel_survives_odd_headers_and_contents(self):
        s = self.socket()
        headers = [{}, {"msg_type": 7}, {"msg_type": None}, {"msg_type": ""}, {"msg_type": "x" * 100000},
                   self.header("comm_msg"), self.header("complete_request"), self.header(msg_id=7, session=[])]
        contents = [{}, {"code": 7}, {"code": None}, {"code": "1", "silent": "yes", "user_expressions": []},
                    {"code": "1", "user_expressions": {"a": 7, "b": "1"}}, {"code": "1\u0000 2"}, {"comm_id": []}, {"cursor_pos": "x"},
                    {"code": "nw.", "cursor_pos": -(2 ** 63)}, {"code": "nw.", "cursor_pos": 1e300}]
        kinds = ["execute_request", "complete_request", "inspect_request", "is_complete_request", "history_request", "comm_open",
                 "comm_msg", "comm_close", "comm_info_request", "kernel_info_request", "connect_request", "input_reply"]
        for header in headers:
            s.send_multipart(self.message(self.parts({"code": "1"}, header)))
        for kind in kinds:
            for content in contents:
                s.send_multipart(self.message(self.parts({"stop_on_error": False, **content}, self.header(kind))))

    def test_the_kernel_survives_odd_history_requests(self):
        s = self.socket()
        for content in ({"hist_access_type": 7}, {"hist_access_type": "range", "session": 2 ** 62, "start": -1, "stop": -5},
                        {"hist_access_type": "search", "pattern": "[" * 5000}, {"hist_access_type": "tail", "n": -1},
                        {"hist_access_type": "search", "pattern": "*a" * 200 + "b"}):
            s.send_multipart(self.message(self.parts(content, self.header("history_request"))))

    def test_a_large_cell_runs_and_a_larger_message_is_refused(self):
        s = self.socket()
        s.send_multipart(self.message(self.parts({"code": "--" + "x" * (10 << 20)})))
        self.assertTrue(s.poll(20000))
        s.recv_multipart()
        s.send_multipart(self.message(self.parts({"code": "--" + "x" * (100 << 20)})))
        self.assertTrue(s.poll(20000))
        self.assertEqual(json.loads(s.recv_multipart()[-1])["evalue"],
                         "execute_request: the message has more than 64 MB: send it in parts")

    def test_the_kernel_survives_junk_on_its_other_sockets(self):
        for channel in ("control", "stdin"):
            s = self.socket(channel)
            s.send_multipart([b"junk"])
            s.send_multipart(self.message(self.parts(), b"0" * 64))
            s.send_multipart(self.message(self.parts(header=self.header("shutdown_request")), b""))  # not signed
            s.send_multipart(self.message(self.parts()))  # execution requests do not belong on this socket
        heart = self.socket("hb")
        heart.send(b"x" * (1 << 20))
        self.assertTrue(heart.poll(5000), "no heartbeat within 5 s")
        self.assertEqual(len(heart.recv()), 1 << 20)
        s = self.socket("iopub", zmq.SUB)
        for topic in (b"", b"stream", b"\xff\x00"):
            s.subscribe(topic)
        time.sleep(0.2)
        self.not_owned()

    def test_a_subscriber_receives_a_welcome_message(self):
        s = self.socket("iopub", zmq.SUB)
        s.subscribe(b"")
        self.assertTrue(s.poll(5000))
        frames = s.recv_multipart()
        self.assertEqual(frames[0], b"iopub_welcome")
        self.assertEqual(frames[2], self.sign(frames[3:]))
        header, parent, _, content = map(json.loads, frames[3:])
        self.assertEqual((header["msg_type"], parent, content), ("iopub_welcome", {}, {"subscription": ""}))

    def test_the_kernel_survives_randomly_changed_messages(self):
        """Sends messages with randomly changed bytes, signed before or after the change."""
        chance, s = random.Random(7), self.socket()
        kinds = ["execute_request", "complete_request", "inspect_request", "is_complete_request", "history_request", "comm_msg"]
        for n in range(3000):
            parts = self.parts({"code": "1", "cursor_pos": 1}, self.header(kinds[n % len(kinds)]))
            signature = self.sign(parts) if n % 3 == 0 else None
            for _ in range(chance.randint(1, 4)):
                part = chance.randrange(4)
                text = bytearray(parts[part])
                text[chance.randrange(len(text))] = chance.randrange(256)
                parts[part] = bytes(text)
            s.send_multipart(self.message(parts, signature))
            if n % 100 == 0:
                while s.poll(1):
                    s.recv_multipart()
        self.alive()

    def test_rejected_messages_occupy_no_memory(self):
        s, pid = self.socket(), self.manager.provisioner.pid
        self.alive()
        before = resident_mb(pid)
        for _ in range(200):
            s.send_multipart(self.message(self.parts({"code": "x" * 100000}), b"0" * 64))
        time.sleep(0.5)
        self.alive()
        self.assertLess(resident_mb(pid) - before, 30)


if __name__ == "__main__":
    unittest.main()
