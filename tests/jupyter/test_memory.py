"""A cell that needs too much memory ends with an error that says what to do. The session continues."""
import os
import resource
import unittest

from client import KernelTest, result_of

LIMIT = 700_000_000


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


@unittest.skipIf(os.environ.get("JUPYTER_PATH", "").split("/share")[0].endswith("san"), "a sanitizer needs the whole address space")
class Memory(KernelTest):
    @classmethod
    def start(cls, **kwargs):
        super().start(preexec_fn=limited, **kwargs)

    def test_a_cell_that_needs_too_much_memory_ends_with_an_error(self):
        self.run_cell("kept = 41")
        for fill in ("local t = {} for n = 1, 1 << 40 do t[n] = {n} end", "full = {} for n = 1, 1 << 40 do full[n] = {n} end"):
            reply, _ = self.run_cell(fill, timeout=120)
            self.assertEqual(reply["status"], "error", reply)
            self.assertEqual(reply["ename"], "OutOfMemory")
            self.assertRegex(reply["evalue"], r"no memory for [0-9.]+ \w+ more; Lua uses [0-9.]+ MB: the limit on address space")
            self.assertIn("request less memory, or set values that are no longer needed to nil", "\n".join(reply["traceback"]))
        reply, _ = self.run_cell("full = nil", timeout=60)
        self.assertEqual(reply["status"], "ok", reply)
        self.assertEqual(result_of(self.run_cell("return kept + 1", timeout=60)[1]), "42")


if __name__ == "__main__":
    unittest.main()
