"""A crash in native code is an error of its cell. The session and its definitions remain."""
import unittest

from client import KernelTest, result_of

# misbehaving() makes an intrinsic that crashes only if the first element of its input is 99. The trial runs of an
# intrinsic never use 99.
MISBEHAVING = """
function misbehaving(name, how, head)
  local A = nw.placeholder({8}, "i32", "A")
  local B = nw.compute({8}, function(i) return A(i) + 1 end, "B")
  local f = nw.intrinsic {name = name, args = {A, B}, strides = {A = {1}, B = {1}}, source = (head or "") .. ([[
    void %s(const int *A, int *B) {
      if (A[0] == 99) { %s; }
      for (int i = 0; i < 8; i++) B[i] = A[i] + 1;
    }]]):format(name, how)}
  local s = nw.schedule(B)
  s:tensorize("i", f)
  return s:build()
end
bad, good = nw.zeros({8}, "i32"), nw.zeros({8}, "i32")
bad:setflat(1, 99)
kept = 41
"""

CASES = {
    "null_write": "*(volatile int *)8 = 1",
    "stack": "volatile char deep[1 << 24]; deep[0] = 1; for (int i = 0; i < 1 << 24; i += 4096) deep[i] = (char)i",
    "division": "volatile int zero = 0; B[0] = 7 / zero",
    "illegal": "__builtin_trap()",
}


class Crashes(KernelTest):
    def test_crashes_are_errors_of_their_cells(self):
        self.assertEqual(self.run_cell(MISBEHAVING, timeout=60)[0]["status"], "ok")
        for name, how in CASES.items():
            with self.subTest(name):
                reply, _ = self.run_cell(f"{name} = misbehaving('{name}', [[{how}]])", timeout=60)
                self.assertEqual(reply["status"], "ok", reply)
                reply, out = self.run_cell(f"print 'before' {name}(bad)")
                self.assertEqual(reply["status"], "error")
                self.assertEqual(reply["ename"], "Crash")
                self.assertIn("B crashed", "\n".join(reply["traceback"]))  # the message names the kernel
                _, out = self.run_cell(f"return {name}(good):getflat(1)")
                self.assertEqual(result_of(out), "1")
        self.assertEqual(result_of(self.run_cell("return kept + 1")[1]), "42")

    def test_an_abort_is_an_error_of_its_cell(self):
        self.run_cell(MISBEHAVING, timeout=60)
        reply, _ = self.run_cell("aborts = misbehaving('aborts', 'abort()', '#include <stdlib.h>\\n')", timeout=60)
        self.assertEqual(reply["status"], "ok", reply)
        reply, _ = self.run_cell("aborts(bad)")
        self.assertEqual(reply["ename"], "Crash")
        self.assertEqual(result_of(self.run_cell("return kept")[1]), "41")

    def test_endless_recursion_or_a_huge_string_does_not_end_the_kernel(self):
        for code in ("function f() return 1 + f() end f()", "('x'):rep(1e12)", "setmetatable({}, {__tostring = error})"):
            reply, _ = self.run_cell(code, timeout=120)
            self.assertIn(reply["status"], ("ok", "error"))
        reply, _ = self.run_cell("return setmetatable({}, {__tostring = function() error 'shown' end})")
        self.alive()

    def test_a_cell_cannot_end_the_kernel(self):
        reply, _ = self.run_cell("os.exit(3)")
        self.assertIn("restart it", reply["evalue"])
        self.alive()


if __name__ == "__main__":
    unittest.main()
