"""The classic Notebook in a headless browser: what a user does with the mouse, and what the page says of it."""
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
    return None


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
    """A notebook server on a folder of its own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="nestwright-notebooks-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % port
        self.log = open(os.path.join(self.folder, "server.log"), "w")
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-m", "notebook", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=%d" % port,
             "--NotebookApp.token=" + TOKEN, "--notebook-dir=" + self.folder],
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
        self.fail("waited too long until " + what)

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

    def severe(self):
        return [e for e in self.driver.get_log("browser") if e["level"] == "SEVERE" and "favicon" not in e["message"]]


if __name__ == "__main__":
    unittest.main()
