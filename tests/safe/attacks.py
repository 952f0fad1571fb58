"""Sends messages that no front end should send. Each function sends messages of one kind. The function also tells the
batch how many times their code must run, and which messages must be answered."""
import json
import os
import socket

import zmq

from changes import changed
from kernels import DELIMITER, parts_of, sign

VALUES = [None, True, False, 0, 7, -1, 2 ** 31, 2 ** 63 - 1, -2 ** 63, 2 ** 64, 1e308, -0.5, "", "x", "\0", "a\0b", "\u00e9\U0001f600", "[" * 300,
          [], [1], [[[]]], {}, {"a": {}}, {"": None}]
# Valid contents of each request that the shell answers.
REQUESTS = {
    "execute_request": {"code": "1", "silent": True, "store_history": False, "user_expressions": {}, "allow_stdin": False,
                        "stop_on_error": False},
    "complete_request": {"code": "nw.", "cursor_pos": 3},
    "inspect_request": {"code": "nw.schedule(", "cursor_pos": 5, "detail_level": 1},
    "is_complete_request": {"code": "for i = 1, 2 do"},
    "history_request": {"hist_access_type": "range", "output": False, "raw": True, "session": 0, "start": 1, "stop": 5, "n": 3,
                        "pattern": "*", "unique": True},
    "comm_info_request": {"target_name": "x"},
    "kernel_info_request": {},
    "connect_request": {},
}
COMMS = {
    "comm_open": {"comm_id": "c", "target_name": "jupyter.widget.control", "data": {}},
    "comm_msg": {"comm_id": "c", "data": {"method": "request_states"}},
    "comm_close": {"comm_id": "c", "data": {}},
}


def hit(number):
    return {"code": f"hit({number})", "silent": True, "store_history": False}


def unsigned(batch, chance):
    number = batch.must_run(0)
    parts = parts_of("execute_request", hit(number))
    good = sign(batch.kernel.key, parts)
    other = sign(batch.kernel.key, parts_of("execute_request", hit(number)))
    bad = chance.choice([b"", b"0" * 64, b"\0" * 64, good[:-1], good + b"0", good.upper() + b" ", b" " + good, good[::-1], other,
                         sign(b"another key", parts), sign(b"", parts), good[:32], good + good, os.urandom(64), bytes.fromhex(good.decode())])
    batch.send(chance.choice(["shell", "shell/2", "control", "stdin"]), batch.kernel.message(parts, bad))


def altered(batch, chance):
    """Sends a message that was changed after it was signed."""
    number = batch.must_run(0)
    parts = parts_of("execute_request", {"code": f"-- hit({number})", "silent": True})
    signature = sign(batch.kernel.key, parts)
    parts[3] = parts[3].replace(b"-- ", b"")
    if chance.random() < 0.5:
        parts[chance.randrange(3)] = b'{"more": 1}'
    batch.send("shell", batch.kernel.message(parts, signature))


def framed(batch, chance):
    """Sends a message whose frames are incomplete, too many, or out of order."""
    number = batch.must_run(0)
    whole = batch.kernel.message(parts_of("execute_request", hit(number)))
    turned = whole[:]
    chance.shuffle(turned)
    frames = chance.choice([
        whole[:chance.randrange(6)], whole[1:], whole[2:], [b"x"] * chance.choice([1, 2, 63, 64, 65, 500]), [b"id"] * 9 + whole,
        [DELIMITER] * chance.randint(1, 12), whole[:2] + whole[3:], whole[:1] + [b""] + whole[1:], [b""] * 6, whole[::-1],
        [b"<IDS|MSG>\0"] + whole[1:], [b"<ids|msg>"] + whole[1:], [DELIMITER] + whole, whole[:5] + [whole[5][:-1]]])
    batch.send(chance.choice(["shell", "control", "stdin"]), frames or [b""])
    if turned != whole:
        batch.send("shell/2", turned)


def buffers(batch, chance):
    """Sends a cell with additional frames after the content. These frames are buffers for a comm. A cell ignores them
    and runs."""
    number = batch.must_run(1)
    batch.wait()
    batch.send("shell", batch.kernel.message(parts_of("execute_request", hit(number))) + [os.urandom(chance.choice([0, 1, 5000]))] * 3)
    batch.wait()


def replayed(batch, chance):
    number = batch.must_run(1)
    whole = batch.kernel.message(parts_of("execute_request", hit(number)))
    batch.wait()
    batch.send("shell", whole)
    batch.wait()
    for _ in range(chance.randint(1, 3)):
        again = chance.choice([whole, whole + [b"buffer"], [b"id"] + whole, [b"", b"a"] + whole])
        batch.send(chance.choice(["shell", "shell/2", "control", "stdin"]), again)
    batch.kept.append(whole)
    batch.send("shell/2", chance.choice(batch.kept))  # a message of this batch or of an earlier batch


def mutated(batch, chance):
    """Changes one part of a message at random, signs the message, and sends it. Its code may run or not."""
    kind, content = chance.choice([*REQUESTS.items(), *COMMS.items()])
    parts = parts_of(kind, {**content, "code": "noted(1)"} if "code" in content else content)
    part = chance.choice([0, 0, 1, 2, 3, 3, 3])
    parts[part] = changed(chance, parts[part])
    if b"shutdown" not in parts[0]:
        batch.send(chance.choice(["shell", "shell", "control", "stdin"]), batch.kernel.message(parts))


def unlike_json(batch, chance):
    """Sends a message with a part that is not an object, or not JSON."""
    parts = parts_of("execute_request", hit(batch.must_run(0)))
    deep = chance.choice([257, 10000, 200000])
    parts[chance.randrange(4)] = chance.choice([
        b"", b"[]", b"null", b"7", b'"x"', b"{", b"{]", b'{"a":}', b"\xff\xfe", b'{"a": "\xff"}', b'{"a": "\\ud800"}', b'{"a": "\xed\xa0\x80"}',
        b'{"a": 1e999}', b'{"a": 01}', b"{}{}", b"\0", b"{'a': 1}", b'{"a": "\x01"}', b"[" * deep, b'{"a":' * deep, b'{"a":[' * deep,
        b'{"\\u0000": 1,}', b"\xef\xbb\xbf{}", b"// {}"])
    batch.send(chance.choice(["shell", "control", "stdin"]), batch.kernel.message(parts))


def typed(batch, chance):
    """Sends a request with a field that is missing or has another type. If the shell answers requests of this kind, it
    must answer the request."""
    kind, content = chance.choice([*REQUESTS.items(), *COMMS.items()])
    content = dict(content)
    for name in chance.sample(sorted(content), min(len(content), chance.randint(1, 3))):
        if chance.random() < 0.2:
            del content[name]
        else:
            content[name] = chance.choice(VALUES)
    parts = parts_of(kind, content)
    if kind in REQUESTS:
        batch.must_answer(json.loads(parts[0])["msg_id"])
    batch.send("shell", batch.kernel.message(parts))


def headed(batch, chance):
    """Sends a cell with an unusual header, parent header or metadata. The cell may run."""
    parts = parts_of("execute_request", {"code": "noted(1)", "silent": True})
    header = json.loads(parts[0])
    for name in chance.sample(sorted(header), chance.randint(1, 3)):
        if name != "msg_type" or chance.random() < 0.5:
            header[name] = chance.choice([*VALUES, "y" * 100000, "execute_reply", "status", "execute_request\0", "_request", "comm_"])
    parts[0] = json.dumps(header).encode()
    for part in (1, 2):
        parts[part] = json.dumps(chance.choice([{}, {"msg_id": 7}, {"msg_id": "x" * 50000}, header, {"header": header}, {"a": VALUES},
                                                {"session": None, "date": []}])).encode()
    batch.send(chance.choice(["shell", "control", "stdin"]), batch.kernel.message(parts))


def identified(batch, chance):
    """Sends a message with several identity frames, which the reply must repeat."""
    number = batch.must_run(1)
    batch.wait()
    parts = parts_of("execute_request", hit(number))
    identities = [chance.choice([b"", b"\0", os.urandom(5), b"id", b"x" * 300]) for _ in range(chance.randint(1, 7))]
    batch.must_answer(json.loads(parts[0])["msg_id"])
    batch.send("shell", identities + batch.kernel.message(parts))
    batch.wait()


def huge(batch, chance):
    """Sends a message with megabytes in one frame, with a wrong signature, or with both."""
    number, size = batch.may_run(), chance.choice([1, 5, 20, 70, 140]) << 20
    parts = parts_of("execute_request", hit(number))
    what = chance.randrange(4)
    if what != 1:
        batch.must_run(0, number)
    if what == 0:
        parts[3] = json.dumps({"code": "--" + "x" * size}).encode()
    elif what == 1:
        parts[chance.randrange(4)] = b'{"a": [' + b"1," * (min(size, 5 << 20) // 2) + b"1]}"
    frames = batch.kernel.message(parts, None if what < 2 else b"0" * 64)
    if what == 3:
        frames[chance.randrange(len(frames))] = b"x" * size
    batch.send_apart(chance.choice(["shell", "control", "hb"]) if what > 1 else "shell", frames)


def long_code(batch, chance):
    """Sends long texts in requests that a front end sends while the user types."""
    kind = chance.choice(["complete_request", "inspect_request", "is_complete_request"])
    piece = chance.choice(["x = 1\n", "(", "{{", "f(", "\u00e9", "a.b.", "--[[", "'", "do ", "x x\n", "\\", "for i=1,2 do\n", ";"])
    code = piece * chance.choice([1000, 50000, 200000])
    parts = parts_of(kind, {"code": code, "cursor_pos": chance.choice([0, 1, len(code) // 2, len(code), 2 ** 40]), "detail_level": 1})
    batch.must_answer(json.loads(parts[0])["msg_id"])
    batch.send("shell", batch.kernel.message(parts))


def remembered(batch, chance):
    """Requests the history with patterns that could take long."""
    pattern = chance.choice(["*" * 2000, "*a" * 300 + "b", "[" * 5000, "[a-" * 500, "\\" * 999, "?" * 3000, "[[:alpha:]]" * 400, "*?" * 500 + "[", "+(+(a))"])
    parts = parts_of("history_request", {"hist_access_type": chance.choice(["search", "range", "tail", "", "x"]), "pattern": pattern,
                                         "n": chance.choice([0, -1, 5, 2 ** 62]), "unique": True, "session": chance.choice([0, -5, 2 ** 62, -2 ** 63]),
                                         "start": chance.choice([-2 ** 63, 0, 9]), "stop": chance.choice([-1, 0, 2 ** 63 - 1])})
    batch.must_answer(json.loads(parts[0])["msg_id"])
    batch.send("shell", batch.kernel.message(parts))


def controlled(batch, chance):
    """Sends to the control socket: requests for another socket, messages that are not requests, and shutdown requests
    with invalid fields."""
    kind, content = chance.choice([
        ("shutdown_request", {"restart": chance.choice([7, "yes", [], {}, 1.5])}), ("debug_request", {"seq": 1, "command": "x"}),
        ("input_reply", {"value": "x"}), ("create_subshell_request", {}), ("usage_request", {}), ("kernel_info_request", {"x": VALUES}),
        ("status", {"execution_state": "idle"}), ("", {}), ("x" * 5000, {}), ("interrupt_reply", {})])
    batch.send("control", batch.kernel.message(parts_of(kind, content)))
    batch.send("control", batch.kernel.message(parts_of("execute_request", hit(batch.must_run(0)))))


def widget(batch, chance):
    """Sends a widget messages that no front end sends."""
    if not batch.comms:
        return typed(batch, chance)
    data = chance.choice([*VALUES, {"method": "update", "state": chance.choice([*VALUES, {"index": chance.choice(VALUES), "value": chance.choice(VALUES)}])},
                          {"method": "backbone", "sync_data": chance.choice(VALUES)}, {"method": "custom", "content": chance.choice(VALUES)}])
    batch.send("shell", batch.kernel.message(parts_of("comm_msg", {"comm_id": chance.choice(batch.comms), "data": data})))


def raw(batch, chance):
    """Sends bytes that do not follow ZeroMQ's protocol."""
    port = batch.kernel.info[chance.choice(["shell", "control", "stdin", "hb", "iopub"]) + "_port"]
    greeting = b"\xff" + b"\0" * 8 + b"\x7f\x03\x00NULL" + b"\0" * 16 + b"\0" * 32
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.sendall(chance.choice([b"GET / HTTP/1.0\r\n\r\n", os.urandom(300), b"\xff" * 1000, b"", greeting + os.urandom(200), greeting[:9],
                                 greeting + b"\x02\xff\xff\xff\xff\xff\xff\xff\xff", greeting + b"\x04\x05\x05READY"]))


def subscribed(batch, chance):
    """Subscribes to any prefix, which is allowed."""
    s = batch.kernel.context.socket(zmq.SUB)
    s.connect(f"tcp://127.0.0.1:{batch.kernel.info['iopub_port']}")
    for _ in range(chance.choice([1, 50])):
        s.subscribe(os.urandom(chance.choice([0, 1, 9, 1000, 100000])))
    batch.apart.append(s)


KINDS = {f.__name__: (f, weight) for f, weight in [
    (unsigned, 14), (altered, 6), (framed, 12), (buffers, 2), (replayed, 10), (mutated, 24), (unlike_json, 12), (typed, 24), (headed, 10),
    (identified, 5), (huge, 1), (long_code, 2), (remembered, 4), (controlled, 6), (widget, 6), (raw, 3), (subscribed, 2)]}
