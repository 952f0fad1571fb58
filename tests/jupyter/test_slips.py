"""Tests slips of people who know other languages, in cells. Most are answered as at the prompt (tests/spec/show/slips_spec.lua); these
are those for which a cell differs."""
import unittest

from client import KernelTest, result_of, text_of


class Slips(KernelTest):
    def says(self, sentence, code):
        reply, out = self.run_cell(code)
        text = reply.get("evalue", "") + (result_of(out) or "") + text_of(out)
        self.assertIn(sentence, text)

    def test_a_cell_cannot_end_the_kernel(self):
        for word in ("exit", "quit", "exit()", "quit()"):
            self.says(f"`{word}` ends no kernel: restart the kernel or shut it down from the menu", word)

    def test_a_local_of_another_cell_is_named_with_its_cell(self):
        reply, _ = self.run_cell("local lost = 5")
        self.says(f"`lost` was local to In[{reply['execution_count']}] and ended with it: write `lost = 5` there, without local",
                  "lost + 1")

    def test_a_block_of_python_is_a_whole_cell(self):
        self.says("`for i in range(3):` is Python's loop: write `for i = 0, 2 do print(i) end`", "for i in range(3):\n    print(i)")
        self.says("`def f(x):` is Python's function: write `function f(x) return x + 1 end`", "def f(x):\n    return x + 1")

    def test_a_value_of_python_causes_a_remark(self):
        self.says("note: `True` has no value in Lua: write `true`", "x = True")

    def test_cells_of_ipython_are_named(self):
        self.says("write `f:time(a)`", "%%timeit\nf(a)")

    def test_a_line_of_python_is_not_incomplete(self):
        message = self.request("is_complete_request", {"code": "for i in range(10):"})
        self.assertEqual(self.reply_to(message)["status"], "invalid")
        message = self.request("is_complete_request", {"code": "for i = 1, 10 do"})
        self.assertEqual(self.reply_to(message)["status"], "incomplete")


if __name__ == "__main__":
    unittest.main()
