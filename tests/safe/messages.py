"""Sends 2,000 random messages of a hostile or broken client, in batches. After each batch, the kernel must answer on
its sockets and run a valid cell. The kernel must have run each piece of signed code exactly once, and no other
code. At the end, it must not use much more memory than before.

With NW_FIGURES=FILE in the environment, the numbers of messages and of failures are written to the file as a flat JSON
object.
usage: messages.py BUILD [MESSAGES [SEED]]
"""
import collections
import json
import os
import random
import sys
import tempfile
import time

try:
    import zmq
except ImportError:
    print("skipped messages: the Python package zmq is missing")
    sys.exit(0)

import attacks
from changes import changed
from kernels import Kernel, parts_of

BATCH, LIMIT, GROWTH_MB = 40, 10, 96
SETUP = """
do
  local times = {}
  function hit(n) times[n] = (times[n] or 0) + 1 end
  function noted() end
  function hits(a, b) local t = {} for n = a, b do t[#t + 1] = times[n] or 0 end return table.concat(t, " ") end
end
"""
WIDGETS = "nw.interact({n = {1, 2, 3}, function(n) return n end}, {button = {'b', function() return 1 end}})"


STATUSES = ("ok", "error", "aborted", "complete", "incomplete", "invalid", "unknown")


class Failures:
    def __init__(self):
        self.list = []

    def add(self, kind, what):
        self.list.append(kind)
        print(f"not ok {kind}\n  {what}", flush=True)


class Batch:
    """A group of messages that are sent together, with the code that must run and the replies that must come."""
    numbers = 0
    kept = collections.deque(maxlen=200)  # valid messages that the kernel has received

    def __init__(self, kernel, failures, comms):
        self.kernel, self.failures, self.comms = kernel, failures, comms
        self.first, self.runs, self.answers, self.kinds = Batch.numbers + 1, {}, {}, []
        self.apart = []

    def may_run(self):
        Batch.numbers += 1
        return Batch.numbers

    def must_run(self, times, number=None):
        number = number or self.may_run()
        self.runs[number] = (times, self.kinds[-1])
        return number

    def must_answer(self, msg_id):
        self.answers[msg_id] = self.kinds[-1]

    def wait(self):
        """Waits until all requests to the shell are answered. Otherwise a cell that fails aborts the cells that are
        queued after it."""
        for name in ("shell", "shell/2"):
            self.kernel.ask(name, "kernel_info_request", {}, LIMIT, self.replied)

    def send(self, name, frames):
        self.kernel.socket(name).send_multipart(frames)

    def send_apart(self, channel, frames):
        """Sends frames on a socket of their own, because the kernel may close the connection."""
        s = self.kernel.open(channel)
        s.send_multipart(frames)
        self.apart.append(s)

    def replied(self, msg_id, frames):
        known = isinstance(msg_id, str) and self.answers.pop(msg_id, None)
        if known and json.loads(frames[-1]).get("status") not in STATUSES:
            self.failures.add("answer", f"a reply without a status: {frames[-1][:200]}")

    def make(self, chance, n):
        names = list(attacks.KINDS)
        for _ in range(n):
            kind = chance.choices(names, [weight for _, weight in attacks.KINDS.values()])[0]
            self.kinds.append(kind)
            try:
                attacks.KINDS[kind][0](self, chance)
            except (OSError, zmq.ZMQError) as problem:
                self.failures.add(kind, f"the kernel accepts no connection: {problem}")

    def check(self):
        told = ", ".join(f"{n} {kind}" for kind, n in collections.Counter(self.kinds).items())
        for name in sorted(self.kernel.sockets):
            if name.split("/")[0] in ("shell", "control"):
                begun = time.monotonic()
                if not self.kernel.ask(name, "kernel_info_request", {}, LIMIT, self.replied):
                    self.failures.add("kernel_info", f"no answer on {name} in {LIMIT} s after {told}")
                elif time.monotonic() - begun > 2:
                    print(f"  {time.monotonic() - begun:.1f} s to kernel_info on {name} after {told}")
        for s in self.apart:
            s.poll(50)
            s.close(0)
        if self.kernel.value("40 + 2", LIMIT) != "42":
            self.failures.add("cell", f"a valid cell gives a wrong result after {told}")
        for kind in self.answers.values():
            self.failures.add(kind, "a request was not answered")
        self.check_runs()

    def check_runs(self):
        last = Batch.numbers
        found = (self.kernel.value(f"hits({self.first}, {last})", LIMIT) or "").strip('"').split()
        if len(found) != last - self.first + 1:
            self.failures.add("runs", f"the kernel does not say which code ran: {found}")
            return
        for number, times in enumerate(map(int, found), self.first):
            wanted, kind = self.runs.get(number, (times, None))
            if times != wanted:
                self.failures.add(kind, f"the code of a message ran {times} times instead of {wanted} times")


def settled_mb(kernel):
    kernel.value("collectgarbage()", LIMIT)
    return kernel.resident_mb()


def widgets_of(kernel):
    """Makes controls with nw.interact. Returns the ids of their comms, which the kernel publishes."""
    s = kernel.context.socket(zmq.SUB)
    s.subscribe(b"")
    s.connect(f"tcp://127.0.0.1:{kernel.info['iopub_port']}")
    s.poll(2000)  # the welcome message
    kernel.run(WIDGETS, LIMIT)
    found = []
    while s.poll(500):
        frames = s.recv_multipart()
        if frames[0] == b"comm_open":
            found.append(json.loads(frames[-1])["comm_id"])
    s.close(0)
    return found


def random_messages(kernel, failures, chance, n):
    comms, before = widgets_of(kernel), None
    # Loads the compiler first. Otherwise the memory of the first compilation looks like a leak.
    kernel.value("#tostring(nw.schedule(nw.compute({4}, function(i) return i + 1 end, 'W')):build())", LIMIT)
    for done in range(0, n, BATCH):
        batch = Batch(kernel, failures, comms)
        batch.make(chance, min(BATCH, n - done))
        batch.check()
        if kernel.process.poll() is not None:
            failures.add("kernel", f"the kernel ended with status {kernel.process.returncode} after {batch.kinds}")
            return
        if done >= n // 4 and before is None:
            before = settled_mb(kernel)
    grown = settled_mb(kernel) - before
    print(f"  memory: {before:.0f} MB after a quarter of the messages, {grown:+.0f} MB more at the end")
    if grown > GROWTH_MB:
        failures.add("memory", f"the kernel grew by {grown:.0f} MB")


def interrupts(kernel, failures, n):
    """Sends interrupt requests with any content while no cell runs. They must not affect a later cell."""
    for i in range(n):
        content = {"x": attacks.VALUES[i % len(attacks.VALUES)]}
        if not kernel.ask("control", "interrupt_request", content, LIMIT):
            failures.add("interrupt", "an interrupt_request was not answered")
        if kernel.value("40 + 2", LIMIT) != "42":
            failures.add("interrupt", "a cell gives a wrong result after an interrupt between cells")
    return n


def answers(kernel, failures, n):
    """Runs cells that ask for input. Replies that are unsigned, repeated, or of another type must not be taken as the answer."""
    identity = b"asker"
    shell, stdin = kernel.socket("shell/asks", identity), kernel.socket("stdin/asks", identity)
    kernel.ask("shell/asks", "kernel_info_request", {}, LIMIT)
    old = None
    for i in range(n):
        stdin.send_multipart(kernel.message(parts_of("input_reply", {"value": "early"})))
        time.sleep(0.02)
        shell.send_multipart(kernel.message(parts_of("execute_request", {"code": f"answer = io.read() .. {i}", "allow_stdin": True})))
        if not stdin.poll(LIMIT * 1000):
            failures.add("input", "no input request came from a cell that reads input")
            return i
        stdin.recv_multipart()
        parts = parts_of("input_reply", {"value": "wrong"})
        for frames in (kernel.message(parts, b"0" * 64), kernel.message(parts)[:-1], kernel.message(parts_of("execute_reply", {"value": "wrong"})),
                       kernel.message([b"[]", *parts[1:]]), old):
            if frames:
                stdin.send_multipart(frames)
        old = kernel.message(parts_of("input_reply", {"value": "right"}))
        stdin.send_multipart(old)
        kernel.ask("shell/asks", "kernel_info_request", {}, LIMIT)
        if kernel.value("answer", LIMIT) != f'"right{i}"':
            failures.add("input", f"the answer is {kernel.value('answer', LIMIT)}")
    return 6 * n


def histories(build, folder, failures, chance, n):
    """Starts a kernel with a damaged history file. The kernel must answer requests for the history."""
    path = os.path.join(folder, "nestwright", "notebook_history")
    right = b"".join(json.dumps([s, line, f"x = {line}\nprint(x)"]).encode() + b"\n" for s in (1, 2, 3) for line in range(1, 9))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for _ in range(n):
        with open(path, "wb") as f:
            f.write(changed(chance, right))
        kernel = Kernel(build, folder)
        try:
            for kind in ("tail", "search", "range"):
                reply = kernel.ask("shell", "history_request", {"hist_access_type": kind, "pattern": "*x*", "n": 5, "session": -1}, 4 * LIMIT)
                if not reply or reply["status"] != "ok":
                    failures.add("history", f"the kernel does not answer, or answers {reply}")
        finally:
            kernel.stop()
    return n


def wrong_curve_keys(build, folder, failures, n):
    """Connects clients that have a wrong public key of the kernel, or no public key. They must receive nothing, and the
    kernel must continue."""
    if not zmq.has("curve"):
        print("skipped curve: this libzmq was built without it")
        return 0
    public, secret = zmq.curve_keypair()

    def encrypted(s, server=public):
        s.curve_publickey, s.curve_secretkey = zmq.curve_keypair()
        s.curve_serverkey = server

    kernel = Kernel(build, folder, encrypted, curve_publickey=public.decode(), curve_secretkey=secret.decode())
    try:
        if kernel.run(SETUP, 4 * LIMIT) != "ok":
            failures.add("curve", "a client with the right key is not answered")
        wrong = [None, lambda s: encrypted(s, zmq.curve_keypair()[0])]
        for i in range(n):
            kernel.setup = wrong[i % 2]
            s = kernel.open(["shell", "control"][i // 2 % 2])
            s.send_multipart(kernel.message(parts_of("execute_request", attacks.hit(1))))
            if s.poll(100):
                failures.add("curve", "a client with a wrong key got an answer")
            s.close(0)
        kernel.setup = encrypted
        if kernel.value("hits(1, 1)", LIMIT) != '"0"':
            failures.add("curve", "the kernel does not answer, or ran code of clients with wrong keys")
    finally:
        kernel.stop()
    return n


def main():
    build = os.path.abspath(sys.argv[1])
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time()) % 1000003
    print(f"messages, seed {seed}", flush=True)
    failures, some = Failures(), max(4, n // 100)
    with tempfile.TemporaryDirectory() as folder:
        kernel = Kernel(build, folder)
        try:
            if kernel.run(SETUP, 4 * LIMIT) != "ok":
                failures.add("kernel", "the kernel does not start")
            else:
                random_messages(kernel, failures, random.Random(seed), n)
                sent = n + interrupts(kernel, failures, some) + answers(kernel, failures, some)
        finally:
            kernel.stop()
        sent += histories(build, folder, failures, random.Random(seed + 1), some)
        sent += wrong_curve_keys(build, folder, failures, some)
    if not failures.list:
        print(f"ok messages of {len(attacks.KINDS)} kinds")
    print(f"messages: {sent} sent, {len(failures.list)} failed")
    if os.environ.get("NW_FIGURES"):
        with open(os.environ["NW_FIGURES"], "w") as f:
            json.dump({"messages": sent, "message_failures": len(failures.list)}, f)
    sys.exit(1 if failures.list else 0)


if __name__ == "__main__":
    main()
