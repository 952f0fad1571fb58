"""An interrupt, by signal or by message, stops every kind of cell. Definitions are kept, and the next cell runs."""
import time
import unittest

from client import KernelTest, result_of

MATMUL = """
  local n = 1500
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  s = nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
  one = s:build {threads = 1}
  s:parallel "i"
  two = s:build {threads = 2}
  a = nw.zeros({n, n}, "f32")
  small = nw.schedule(nw.compute({300, 300, 300}, function(i, j, l) return A(i, j) * B(j, l) end, "D"))
  long = nw.schedule(nw.compute({2000, 2000}, function(i, j) return nw.sum(A(i % 1500, k) * B(k, j % 1500), k) end, "E"))
"""

CELLS = {
    "a loop": "while true do end",
    "a loop in pcall": "while true do pcall(function() while true do end end) end",
    "a coroutine": "coroutine.wrap(function() while true do end end)()",
    "pcall in a coroutine": "coroutine.wrap(function() while true do pcall(error) end end)()",
    "a sleeping child": "os.execute 'sleep 30'",
    "a child whose output is read": "io.popen('sleep 30'):read 'a'",
    "printing": "while true do print 'x' end",
    "displaying": "while true do nw.display(1) end",
    "native code": "while true do one(a, a) end",
    "native code with threads": "while true do two(a, a) end",
    "asking": "nw.input 'x'",
    "a cache simulation": "while true do nw.misses(long) end",
    "the interpreter": "nw.interpret(long, {a, a})",
    "proofs": "while true do local t = nw.schedule(C0()) t:tile('i', 'j', 7, 5) t:parallel 'i_o' t:undo(2) end",
    "a picture": "while true do nw.spacetime(small):save '/dev/null.svg' end",
}


class Interrupts(KernelTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client.execute(MATMUL + """
          function C0()
            local A, B = nw.placeholder({64, 64}, "f32", "A"), nw.placeholder({64, 64}, "f32", "B")
            local k = nw.reduce_axis(64, "k")
            return nw.compute({64, 64}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
          end
          kept = 0""")
        cls.client.get_shell_msg(timeout=30)

    def interrupt(self, by_message):
        if by_message:
            self.request("interrupt_request", {}, self.client.control_channel)
        else:
            self.manager.interrupt_kernel()

    def stopped(self, code, by_message, after=0.25):
        message_id = self.client.execute(code, allow_stdin=True)
        time.sleep(after)
        start = time.time()
        self.interrupt(by_message)
        reply = self.reply_to(message_id)
        took = time.time() - start
        self.assertEqual(reply["status"], "error", code)
        self.assertEqual(reply["ename"], "Interrupted", (code, reply))
        self.client.execute("kept = kept + 1", silent=True)
        return took

    def test_every_kind_of_cell_stops(self):
        self.run_cell("kept = 0")
        for name, code in CELLS.items():
            for by_message in (False, True):
                with self.subTest(name, by_message=by_message):
                    self.assertLess(self.stopped(code, by_message), 3)
        _, out = self.run_cell("return kept")
        self.assertEqual(int(result_of(out)), 2 * len(CELLS))

    def test_a_hundred_interrupts_in_a_row(self):
        self.run_cell("kept = 0")
        for n in range(100):
            self.stopped("while true do end" if n % 2 else "while true do pcall(error) end", n % 3 == 0, 0.02)
        _, out = self.run_cell("return kept")
        self.assertEqual(result_of(out), "100")

    def test_an_interrupt_without_a_running_cell_does_nothing(self):
        for _ in range(5):
            self.interrupt(False)
            self.interrupt(True)
        time.sleep(0.1)
        self.alive()

    def test_an_interrupted_cell_keeps_its_output(self):
        message_id = self.client.execute("print 'before' while true do end")
        time.sleep(0.2)
        self.interrupt(False)
        self.reply_to(message_id)
        out = self.published_for(message_id)
        self.assertEqual([c["text"] for kind, c in out if kind == "stream"], ["before\n"])


if __name__ == "__main__":
    unittest.main()
