"""Tests the kernel with jupyter console on a pseudo-terminal: types like a user, and checks what is shown."""
import os
import re
import shutil
import signal
import time
import unittest

try:
    import pexpect
except ImportError:
    pexpect = None

PATIENCE = 40  # seconds
SCREEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\r")


def missing():
    if not pexpect:
        return "pexpect is not installed"
    return None if shutil.which("jupyter-console") else "jupyter-console is not installed"


@unittest.skipIf(missing(), missing())
class Console(unittest.TestCase):
    def setUp(self):
        environment = dict(os.environ, TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1", PYDEVD_DISABLE_FILE_VALIDATION="1")
        self.console = pexpect.spawn("/usr/bin/python3", [shutil.which("jupyter-console"), "--kernel", "nestwright"],
                                     env=environment, encoding="utf-8", timeout=PATIENCE, dimensions=(40, 120))
        self.expect_prompt(1)

    def tearDown(self):
        self.console.close(force=True)

    # ---- steps

    def expect(self, pattern):
        """Waits until the pattern appears. The console repaints the screen after every key, so control sequences are
        removed before the comparison."""
        shown = ""
        matcher = re.compile(pattern)
        while True:
            try:
                shown += self.console.read_nonblocking(4096, timeout=PATIENCE)
            except (pexpect.TIMEOUT, pexpect.EOF):
                self.fail("expected %r; shown was %r" % (pattern, SCREEN.sub("", shown)[-1500:]))
            if matcher.search(SCREEN.sub("", shown)):
                return SCREEN.sub("", shown)

    def expect_prompt(self, n):
        return self.expect(r"In \[%d\]: *$" % n)

    def enter(self, text):
        self.console.send(text + "\r")

    # ---- tests

    def test_prints_text_and_shows_results(self):
        self.enter("print 'hello, world'")
        self.assertIn("hello, world\n", self.expect_prompt(2))
        self.enter("6 * 7")
        self.assertRegex(self.expect_prompt(3), r"Out\[2\]: *42")
        self.enter("error 'no'")
        self.assertRegex(self.expect_prompt(4), r"In\[3\]:1: no")

    def test_asks_for_more_lines_of_unfinished_code(self):
        self.enter("for i = 1, 3 do")
        self.expect(r"\.\.\.: *$")
        self.enter("print('line', i * 111)")
        self.expect(r"\.\.\.: *$")
        self.enter("end")
        self.expect(r"\.\.\.: *$|333")
        self.console.send("\r")
        self.expect(r"In \[2\]:")
        self.enter("'still here'")
        self.expect(r"Out\[2\]: *\"still here\"")

    def kernel(self):
        """Returns the process number of the kernel that the console has started."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % name) as f:
                    if int(f.read().rsplit(")", 1)[1].split()[1]) == self.console.pid:
                        return int(name)
            except OSError:
                pass  # the process has ended
        self.fail("the console has no kernel")

    def test_an_interrupt_stops_a_cell_and_keeps_variables(self):
        """On Ctrl-C, the console should send SIGINT to the kernel. But with Debian's prompt_toolkit, the console loses its
        handler for Ctrl-C, with any kernel. So the test sends SIGINT itself."""
        self.enter("kept = 'kept value'")
        self.expect_prompt(2)
        self.enter("while true do end")
        self.expect("end\n")
        time.sleep(1)  # the cell needs time to begin
        os.kill(self.kernel(), signal.SIGINT)
        self.expect(r"(?s)interrupted.*In \[3\]:")
        self.enter("kept")
        self.expect(r"Out\[3\]: *\"kept value\"")

    def test_completes_names(self):
        self.console.send("nw.place\t")
        self.expect("holder")
        self.console.send(" ~= nil\r")
        self.expect(r"Out\[1\]: *true")

    def test_shows_a_schedule_as_a_loop_nest(self):
        self.enter("local X = nw.placeholder({4}, 'f32', 'X') return nw.schedule(nw.compute({4}, "
                   "function(i) return X(i) + 1 end, 'Y'))")
        self.assertRegex(self.expect_prompt(2), r"(?s)for i in 0\.\.4:\n +Y\[i\] = ")

    def test_ctrl_d_ends_the_console(self):
        self.console.sendcontrol("d")
        self.expect("exit|y/n")
        self.console.send("y\r")
        self.console.expect(pexpect.EOF, timeout=PATIENCE)
        self.console.close()
        self.assertIsNone(self.console.signalstatus)


if __name__ == "__main__":
    unittest.main()
