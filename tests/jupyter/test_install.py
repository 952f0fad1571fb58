"""After an installation, front ends find the kernel at the path that the install command prints."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("NW_BUILD", "build/dev")
LOGOS = ["logo-32x32.png", "logo-64x64.png", "logo-svg.svg"]


def run(*words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **more)


class Install(unittest.TestCase):
    def setUp(self):
        self.prefix = tempfile.mkdtemp(prefix="nestwright-prefix-")

    def tearDown(self):
        shutil.rmtree(self.prefix)

    def listed(self, **environment):
        done = subprocess.run(["/usr/bin/python3", "-m", "jupyter_client.kernelspecapp", "list", "--json"], timeout=60, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ, **environment))
        return json.loads(done.stdout)["kernelspecs"]["nestwright"]

    def check(self, found, program):
        self.assertEqual(found["spec"]["argv"], [program, "-f", "{connection_file}"])
        self.assertTrue(os.path.isabs(program) and os.access(program, os.X_OK))
        self.assertEqual(found["spec"]["language"], "lua")
        self.assertEqual(found["spec"]["interrupt_mode"], "signal")
        for name in LOGOS:
            self.assertTrue(os.path.getsize(os.path.join(found["resource_dir"], name)) > 100, name)
        with open(os.path.join(found["resource_dir"], LOGOS[1]), "rb") as f:
            self.assertEqual(f.read(24)[12:], b"IHDR\0\0\0\x40\0\0\0\x40")

    def answers(self, environment):
        code = ("from jupyter_client.manager import start_new_kernel\n"
                "km, kc = start_new_kernel(kernel_name='nestwright')\n"
                "out = []\n"
                "kc.execute_interactive('nw.zeros({2}):shape()[1] + 40', output_hook=lambda m: out.append(m['content']))\n"
                "print([c['data']['text/plain'] for c in out if 'data' in c])\n"
                "kc.stop_channels(); km.shutdown_kernel(now=True)\n")
        return run("/usr/bin/python3", "-W", "ignore", "-c", code, env=dict(os.environ, **environment)).stdout

    def test_a_build_tree_installs_its_own_kernel(self):
        done = run(os.path.join(BUILD, "bin/nestwright"), "--install-kernel", "--prefix", self.prefix)
        self.assertEqual(done.returncode, 0, done.stdout)
        found = self.listed(JUPYTER_PATH=self.prefix + "/share/jupyter")
        self.check(found, os.path.realpath(os.path.join(BUILD, "bin/nestwright-kernel")))

    def test_invalid_options_are_refused(self):
        for words in (["--prefix", ""], ["--prefix="], ["--prefix"], ["--bogus"], ["--user", "--sys-prefix"]):
            done = run(os.path.join(BUILD, "bin/nestwright"), "--install-kernel", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("--prefix DIR", done.stdout)
        done = run(os.path.join(BUILD, "bin/nestwright"), "--install-kernel", "--prefix=" + self.prefix)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(os.path.exists(self.prefix + "/share/jupyter/kernels/nestwright/kernel.json"))

    def test_the_kernel_can_be_installed_for_one_user(self):
        home = {"HOME": self.prefix, "JUPYTER_DATA_DIR": "", "JUPYTER_PATH": ""}
        done = run(os.path.join(BUILD, "bin/nestwright"), "--install-kernel", "--user", env=dict(os.environ, **home))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.check(self.listed(JUPYTER_PATH=self.prefix + "/.local/share/jupyter"),
                   os.path.realpath(os.path.join(BUILD, "bin/nestwright-kernel")))

    def test_a_bad_option_or_folder_is_an_error(self):
        for words in (["--prefix"], ["--bad"], ["--prefix", "/proc/nowhere"], ["--user", "more"]):
            done = run(os.path.join(BUILD, "bin/nestwright"), "--install-kernel", *words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn("nestwright-kernel", done.stdout)

    def test_an_installed_kernel_is_found_and_answers(self):
        if not shutil.which("cmake"):
            self.skipTest("cmake is not installed")
        done = run("cmake", "--install", BUILD, "--prefix", self.prefix)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        path = {"JUPYTER_PATH": self.prefix + "/share/jupyter"}
        self.check(self.listed(**path), os.path.join(self.prefix, "bin/nestwright-kernel"))
        self.assertIn("['42']", self.answers(path))
        self.assertTrue(os.path.exists(os.path.join(self.prefix, "share/nestwright/tutorials/gemm.ipynb")))

    def test_a_package_names_the_final_path_of_the_kernel(self):
        if not shutil.which("cmake"):
            self.skipTest("cmake is not installed")
        done = run("cmake", "--install", BUILD, "--prefix", "/opt/later", env=dict(os.environ, DESTDIR=self.prefix))
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        with open(self.prefix + "/opt/later/share/jupyter/kernels/nestwright/kernel.json") as f:
            self.assertEqual(json.load(f)["argv"][0], "/opt/later/bin/nestwright-kernel")


if __name__ == "__main__":
    unittest.main()
