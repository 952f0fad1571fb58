"""Tests the kernel with the classic Notebook in a headless browser: clicks like a user, and checks what the page shows."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None


def missing():
    if not (CHROMIUM and DRIVER):
        return "chromium or chromedriver is not installed"
    if not webdriver:
        return "selenium is not installed"
    try:
        import notebook  # noqa: F401
    except ImportError:
        return "the classic Notebook is not installed"
    try:
        socket.getaddrinfo("localhost", None)
    except OSError:
        return "localhost has no address on this machine, so the browser's driver cannot be reached"
    return None


GEMM = """
function product(tile)
  local A, B = nw.placeholder({32, 32}, "f32", "A"), nw.placeholder({32, 32}, "f32", "B")
  local k = nw.reduce_axis(32, "k")
  local C = nw.compute({32, 32}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  return nw.schedule(C)
end
s = product()
i_o, j_o, i_i, j_i = s:tile("i", "j", 8, 8)
s:reorder("k", i_i, j_i)
s:vectorize(j_i);
"""

INTERACT = GEMM + """
nw.interact({tile = {8, 16, 32}, unroll = false, what = {"loops", "lowered"}, function(tile, what, unroll)
  local s = product()
  local i_o, j_o, i_i, j_i = s:tile("i", "j", tile, tile)
  s:vectorize(j_i)
  if unroll then s:unroll "k" end
  return s:show(what)
end}, {button = {"measure", function(tile) return "measured " .. tile end}})
"""

SHOTS = os.path.join(os.environ.get("NW_BUILD", "build/dev"), "screenshots")
TOKEN = "nestwright"
PATIENCE = 60  # seconds


def cell(source, kind="code"):
    made = {"cell_type": kind, "metadata": {}, "source": source}
    if kind == "code":
        made.update(outputs=[], execution_count=None)
    return made


def notebook_of(*sources, kernel="nestwright"):
    return {"nbformat": 4, "nbformat_minor": 4, "cells": [cell(s) for s in sources],
            "metadata": {"kernelspec": {"name": kernel, "display_name": "Nestwright (Lua)", "language": "lua"}}}


class Server:
    """A notebook server for a new, empty folder."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="nestwright-notebooks-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % port
        self.log = open(os.path.join(self.folder, "server.log"), "w")
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-m", "notebook", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=%d" % port,
             "--NotebookApp.token=" + TOKEN, "--notebook-dir=" + self.folder,
             "--NotebookNotary.db_file=" + os.path.join(self.folder, "signatures.db")],  # nothing is trusted from before
            stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)
        self.wait()

    def wait(self):
        end = time.time() + PATIENCE
        while time.time() < end:
            try:
                return urllib.request.urlopen(self.url + "/api?token=" + TOKEN, timeout=10)
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the notebook server did not start")

    def put(self, name, contents):
        with open(os.path.join(self.folder, name), "w") as f:
            json.dump(contents, f)
        return "%s/notebooks/%s?token=%s" % (self.url, name, TOKEN)

    def read(self, name):
        with open(os.path.join(self.folder, name)) as f:
            return json.load(f)

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                 "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
                 "--window-size=1200,1600"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


@unittest.skipIf(missing(), missing())
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(SHOTS, exist_ok=True)
        cls.server = Server()
        try:
            cls.driver = browser()
        except Exception:
            cls.server.stop()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.server.stop()

    # ---- steps

    def until(self, what, condition):
        end = time.time() + PATIENCE
        while time.time() < end:
            if condition():
                return
            time.sleep(0.05)
        self.shot("late")
        self.fail("timeout while waiting until " + what)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, name, *sources):
        url = self.server.put(name, notebook_of(*sources))
        self.load(url)

    def load(self, url):
        self.driver.get(url)
        self.until("the kernel is connected", lambda: self.js(
            "return typeof Jupyter !== 'undefined' && Jupyter.notebook && Jupyter.notebook.kernel"
            " && Jupyter.notebook.kernel.is_connected() && Jupyter.notebook._fully_loaded"))

    def start_all(self):
        self.js("Jupyter.notebook.execute_all_cells()")

    def idle(self):
        return not self.js("return Jupyter.notebook.get_cells().some(c => c.cell_type === 'code' && "
                           "(c.element.hasClass('running') || c.input_prompt_number === '*')) || Jupyter.notebook.kernel_busy")

    def run_all(self):
        self.start_all()
        time.sleep(0.2)
        self.until("all cells have run", self.idle)

    def outputs(self, n):
        return self.js("return Jupyter.notebook.get_cell(arguments[0]).output_area.toJSON()", n)

    def output_text(self, n):
        return self.js("return Jupyter.notebook.get_cell(arguments[0]).element.find('.output_wrapper')[0].innerText", n)

    def shot(self, name):
        self.driver.save_screenshot(os.path.join(SHOTS, name + ".png"))

    # Messages that contain one of these texts are ignored. The style sheet of Debian's widgets has a data URL that ends
    # in three dots.
    KNOWN = ("favicon", "data:image/gif;base64,R0lGO...")

    def check_log(self):
        bad = [e["message"] for e in self.driver.get_log("browser")
               if e["level"] == "SEVERE" and not any(known in e["message"] for known in self.KNOWN)]
        self.assertEqual(bad, [])

    def setUp(self):
        self.driver.get("about:blank")
        self.driver.get_log("browser")

    def element(self, n, selector):
        return self.js("return Jupyter.notebook.get_cell(arguments[0]).element.find(arguments[1])[0]", n, selector)

    # ---- tests

    def test_every_value_has_a_suitable_form(self):
        self.open("all.ipynb", GEMM, "s", "s:diff()", "print 'out'\n7", "nw.zeros {40, 40}", "s:log()",
                  "nw.spacetime(s, {levels = {{bytes = 1024, ways = 2}}})", "nw.spacetime(s, {levels = {{bytes = 512, ways = 2}}})",
                  "nw.html \"<em id='mine'>yes</em>\"")
        self.run_all()
        self.assertIn("vectorize for j_i in 0..8:", self.output_text(1))
        loop = self.element(1, ".output_html summary span[title]")
        self.assertIn("s:tile(\"i\", \"j\", 8, 8) (step 1)", loop.get_attribute("title"))
        self.assertEqual(self.js("return Jupyter.notebook.get_cell(2).element.find('.output_html td').length"), 2)
        self.assertEqual([o["output_type"] for o in self.outputs(3)], ["stream", "execute_result"])
        self.assertIn("f32[40, 40]", self.output_text(4))
        self.assertIn("s:vectorize \"j_i\"", self.output_text(5))
        for n in (6, 7):
            self.assertTrue(self.element(n, ".output_html img").get_attribute("src").startswith("data:image/"))
            self.assertGreater(self.js("return arguments[0].naturalWidth", self.element(n, ".output_html img")), 500)
        self.assertEqual(self.element(8, "#mine").text, "yes")
        self.shot("all")
        self.check_log()

    def test_a_click_folds_a_loop(self):
        self.open("folds.ipynb", GEMM + "\ns")
        self.run_all()
        self.assertIn("for k in", self.output_text(0))
        self.element(0, ".output_html summary:eq(1)").click()
        self.assertIn("for j_o in", self.output_text(0))
        self.assertNotIn("for k in", self.output_text(0))
        self.shot("folded")
        self.check_log()

    def test_an_untrusted_notebook_shows_the_same_outputs(self):
        self.open("made.ipynb", GEMM + "\ns", "nw.spacetime(s, {levels = {{bytes = 1024, ways = 2}}})", "s:diff()")
        self.run_all()
        made = self.js("return Jupyter.notebook.toJSON()")
        self.load(self.server.put("untrusted.ipynb", made))
        self.assertFalse(self.js("return Jupyter.notebook.trusted"))
        self.assertIn("+         vectorize for j_i in 0..8:", self.output_text(0))
        self.assertTrue(self.element(0, ".output_html font[color]"))
        self.assertIn("step 1", self.element(0, ".output_html span[title]").get_attribute("title"))
        self.assertGreater(self.js("return arguments[0].naturalWidth", self.element(1, ".output_html img")), 500)
        self.assertEqual(self.js("return Jupyter.notebook.get_cell(2).element.find('.output_html td').length"), 2)
        self.shot("untrusted")

    def test_a_refused_step_has_a_picture(self):
        self.open("refused.ipynb", GEMM + "\ns:parallel 'k'", "1 + 1")
        self.run_all()
        kinds = [o["output_type"] for o in self.outputs(0)]
        self.assertEqual(kinds, ["display_data", "stream", "error"])
        self.assertIn("cannot run k in parallel", self.output_text(0))
        self.assertTrue(self.element(0, ".output_html img"))
        self.assertEqual(self.outputs(1), [])
        self.shot("refused")
        self.check_log()

    def test_a_running_cell_is_interrupted(self):
        self.open("stop.ipynb", "x = 5", "while true do end", "x")
        self.start_all()
        self.until("the second cell runs", lambda: self.js("return Jupyter.notebook.get_cell(1).input_prompt_number") == "*"
                   and self.js("return Jupyter.notebook.get_cell(0).input_prompt_number") == 1)
        time.sleep(0.3)
        self.driver.find_element(By.CSS_SELECTOR, "button[title='interrupt the kernel']").click()
        self.until("the cell has stopped", self.idle)
        self.assertEqual(self.outputs(1)[-1]["ename"], "Interrupted")
        self.js("Jupyter.notebook.get_cell(2).execute()")
        self.until("the next cell has run", lambda: self.idle() and self.outputs(2))
        self.assertEqual(self.outputs(2)[0]["data"]["text/plain"], "5")
        self.shot("interrupted")
        self.check_log()

    def test_a_restarted_kernel_has_no_old_variables(self):
        self.open("again.ipynb", "x = (x or 0) + 1\nreturn x", INTERACT)
        self.run_all()
        self.js("Jupyter.notebook.get_cell(0).execute()")
        self.until("the cell has run twice", lambda: self.idle() and self.outputs(0)[0]["data"]["text/plain"] == "2")
        self.js("window.back = false; Jupyter.notebook.events.one('kernel_ready.Kernel', () => { window.back = true });"
                "Jupyter.notebook.kernel.restart()")
        self.until("the kernel is back", lambda: self.js("return window.back && Jupyter.notebook.kernel.is_connected()"))
        self.run_all()
        self.assertEqual(self.outputs(0)[0]["data"]["text/plain"], "1")
        self.until("there is a slider again", lambda: self.element(1, ".widget-area .ui-slider-handle"))
        self.move_slider()
        self.check_log()

    def move_slider(self):
        self.assertIn("tile = 8, what = loops", self.output_text(1))
        handle = self.element(1, ".widget-area .ui-slider-handle")
        handle.click()
        handle.send_keys(Keys.ARROW_RIGHT)
        self.until("the output has changed", lambda: "tile = 16, what = loops" in self.output_text(1))
        self.assertIn("for j_o in 0..2:", self.output_text(1))

    def test_the_output_changes_with_the_controls(self):
        self.open("slider.ipynb", "n = 0", INTERACT, "n")
        self.run_all()
        self.until("there is a slider", lambda: self.element(1, ".widget-area .ui-slider-handle"))
        self.move_slider()
        self.element(1, ".widget-area input[type=checkbox]").click()
        self.until("the loop is unrolled", lambda: "unroll for k" in self.output_text(1))
        self.js("var s = arguments[0]; s.value = 'lowered'; s.dispatchEvent(new Event('change', {bubbles: true}))",
                self.element(1, ".widget-area select"))
        self.until("the lowered program is shown", lambda: "ramp(" in self.output_text(1))
        self.assertIn("press measure", self.output_text(1))
        self.element(1, ".widget-area button.widget-button").click()
        self.until("the measurement is shown", lambda: "measured 16" in self.output_text(1))
        self.shot("slider")
        saved = self.outputs(1)
        self.assertEqual([o["output_type"] for o in saved], ["display_data"] * 3)
        self.assertIn("tile = 16, ", saved[1]["data"]["text/plain"])
        self.assertIn("ramp(", saved[1]["data"]["text/html"])
        self.check_log()

    def test_a_reloaded_page_shows_the_controls_again(self):
        self.open("reload.ipynb", "n = 0", INTERACT)
        self.run_all()
        self.until("there is a slider", lambda: self.element(1, ".widget-area .ui-slider-handle"))
        self.js("Jupyter.notebook.save_notebook()")
        time.sleep(1)
        self.load(self.driver.current_url)
        self.until("there is a slider again", lambda: self.element(1, ".widget-area .ui-slider-handle"))
        self.move_slider()
        self.check_log()


if __name__ == "__main__":
    unittest.main()
