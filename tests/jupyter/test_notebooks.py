"""Tests the notebooks in tutorials/: their stored outputs, runs with small sizes, and conversions to other formats."""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

TUTORIALS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tutorials")
BUILD = os.environ.get("NW_BUILD", "build/dev")
NOTEBOOKS = sorted(glob.glob(os.path.join(TUTORIALS, "*.ipynb")))
MOST = 1000000  # largest size of a file, in bytes
SMALL = {
    "gemm.ipynb": [("N = 1024", "N = 128")], "gpu_gemm.ipynb": [("N = 256", "N = 128"), ("P = 4096", "P = 512")],
    "gpu_conv1d.ipynb": [("1 << 22", "1 << 14")], "gpu_transpose.ipynb": [("or 4096", "or 512")],
    "gpu_reduction.ipynb": [("1 << 24", "1 << 20")],
    "gpu_fused_loop.ipynb": [("N = 300 * 1024", "N = 100 * 1024"), ("{1, 2, 3, 4, 5, 6, 7, 8}", "{1, 2}")],
    "gpu_dynamic_batch.ipynb": [("or 1024", "or 64"), ("{1, 16, 33, 64, 100, 127, 200, 257, 511, 512}", "{1, 257}"),
                                ("{1, 33, 128, 511}", "{1, 33}")], "gpu_depthwise.ipynb": [("or 256,", "or 4,")],
    "acc_explore.ipynb": [
        ('all = {"C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11", "C12"}', 'all = {"C9", "C11"}'),
        ('{"C2", "C3", "C5", "C6", "C8", "C9", "C11", "C12"}}', '{"C9", "C11"}}'),
        ("{1/32, 1/16, 1/8, 1/4, 1/2, 1, 2}", "{1/4, 1}"), ("c = {1, 2, 4, 8}", "c = {1}"),
        ("array = {8, 16, 32}, memories = {1/8, 1}, port = {4, 8, 16}", "array = {16, 32}, memories = {1}, port = {4, 8}")],
}
LESSONS = ["gpu_conv1d.ipynb", "gpu_depthwise.ipynb", "gpu_dynamic_batch.ipynb", "gpu_fused_loop.ipynb",
           "gpu_reduction.ipynb", "gpu_transpose.ipynb"]  # with predicted times
PATH = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|usr|work|build|var|opt|mnt)/\w")


def text(value):
    return "".join(value) if isinstance(value, list) else value


def read(path):
    with open(path) as f:
        return json.load(f)


def outputs(notebook):
    return [(n, o) for n, c in enumerate(notebook["cells"]) for o in c.get("outputs", [])]


def convert(*words):
    return subprocess.run(["/usr/bin/python3", "-m", "nbconvert", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=300)


def missing():
    try:
        import nbconvert  # noqa: F401
    except ImportError:
        return "nbconvert is not installed"
    return None


class Stored(unittest.TestCase):
    def each(self):
        self.assertTrue(NOTEBOOKS)
        for path in NOTEBOOKS:
            with self.subTest(os.path.basename(path)):
                yield path, read(path)

    def test_every_cell_has_run_in_order(self):
        for _, notebook in self.each():
            code = [c for c in notebook["cells"] if c["cell_type"] == "code"]
            self.assertEqual([c["execution_count"] for c in code], list(range(1, len(code) + 1)))
            self.assertEqual(notebook["metadata"]["kernelspec"]["name"], "nestwright")

    def test_outputs_contain_no_errors(self):
        for _, notebook in self.each():
            for n, o in outputs(notebook):
                self.assertNotEqual(o["output_type"], "error", n)
                self.assertNotEqual(o.get("name"), "stderr", n)

    def test_every_display_has_a_plain_text(self):
        for _, notebook in self.each():
            for n, o in outputs(notebook):
                data = o.get("data", {})
                if data:
                    self.assertTrue(text(data["text/plain"]).strip(), n)

    def test_files_are_small_and_contain_no_local_path(self):
        for path, notebook in self.each():
            self.assertLess(os.path.getsize(path), MOST)
            for n, o in outputs(notebook):
                words = text(o.get("text", "")) + "".join(text(v) for k, v in o.get("data", {}).items()
                                                          if k in ("text/plain", "text/html"))
                words = re.sub(r"base64,[A-Za-z0-9+/=]*", "", words)
                self.assertIsNone(PATH.search(words), n)

    def test_the_outputs_of_gemm_agree_with_its_text(self):
        notebook = read(os.path.join(TUTORIALS, "gemm.ipynb"))
        tables = [text(o["data"]["text/plain"]) for _, o in outputs(notebook) if "data" in o
                  and re.search("lines (asked|requested)", text(o["data"].get("text/plain", "")))
                  and "1 KiB" in text(o["data"]["text/plain"])]
        rows = [re.search(r"^ *B +(\d+) +(\d+) +(\d+) +(\d+)", t, re.M).groups() for t in tables]
        # At first, every access of B misses. With another order of the loops, one access in sixteen misses. With blocks
        # of four rows, the number of misses is a quarter of that.
        self.assertEqual(rows, [("4096", "0", "16", "4080"), ("4096", "3840", "16", "240"), ("4096", "4032", "16", "48")])
        shown = "".join(text(o.get("text", "")) for _, o in outputs(notebook))
        speed = {title: float(gflops) for title, gflops in re.findall(r"^([^:\n]+): ([\d.]+) GFLOP/s", shown, re.M)}
        self.assertGreater(speed["vectors"], speed["loop order"])
        self.assertGreater(speed["unrolling"], speed["blocking"])

    def test_each_step_of_gemm_is_measured_in_turn_with_its_control(self):
        notebook = read(os.path.join(TUTORIALS, "gemm.ipynb"))
        tables = [text(o["data"]["text/plain"]) for c in notebook["cells"] for o in c.get("outputs", [])
                  if re.search(r'^step[ (]"', text(c["source"]), re.M) and o["output_type"] == "execute_result"]
        names = [re.findall(r"^(.*?) +min ", t, re.M)[:2] for t in tables]
        steps = ["naive", "loop order", "vectors", "blocking", "unrolling", "packing", "threads"]
        self.assertEqual(names, [[before, after] for before, after in zip(steps, steps[1:])])
        for t in tables:
            self.assertRegex(t, "interleaved, [0-9]+ rounds")

    def gpu_figures(self):
        """Returns the figures that each step of gpu_gemm prints: its name, then a row for each control and for the step."""
        notebook, steps = read(os.path.join(TUTORIALS, "gpu_gemm.ipynb")), []
        names = ["per_request", "per_fma", "conflicts", "loads", "occupancy", "barriers"]
        for cell in notebook["cells"]:
            if not re.search(r"^s\d = step\(", text(cell["source"]), re.M):
                continue
            printed = "".join(text(o.get("text", "")) for o in cell["outputs"])
            rows = re.findall(r"^(\S.*?) +([\d.]+) +([\d.]+) +(\d+) +([\d.]+) +(\d+)% +(\d+)$", printed, re.M)
            steps.append([(row[0], dict(zip(names, map(float, row[1:])))) for row in rows])
        return steps

    def test_each_step_of_the_gpu_product_has_its_control_and_the_effect_that_its_text_names(self):
        steps = self.gpu_figures()
        self.assertEqual([rows[-1][0] for rows in steps],
                         ["baseline", "coalesced", "shared tiles", "1-D register tile", "2-D register tile", "float4 loads",
                          "padded layout", "copies in patches", "double buffering"])
        for rows in steps[1:]:
            self.assertTrue(all(name.startswith("control: ") for name, _ in rows[:-1]))
            self.assertGreaterEqual(len(rows), 2)
        (base, coal, tiles, one_d, two_d, float4, padded, patches, double) = [{name: f for name, f in rows} for rows in steps]
        self.assertEqual(base["baseline"]["per_fma"], 33)  # 32 sectors of A and one of B
        self.assertEqual(coal["coalesced"]["per_fma"], 5)  # one of A and four of B
        self.assertEqual(tiles["control: coalesced"]["per_fma"] / tiles["shared tiles"]["per_fma"], 8)
        self.assertAlmostEqual(one_d["1-D register tile"]["loads"], 1.25, delta=0.1)
        self.assertAlmostEqual(one_d["control: without registers"]["loads"], 2, delta=0.1)
        self.assertAlmostEqual(two_d["control: 16 x 1"]["loads"], 17 / 16, delta=0.1)
        self.assertAlmostEqual(two_d["2-D register tile"]["loads"], 8 / 16, delta=0.1)
        self.assertEqual([f["conflicts"] for f in two_d.values()], [0, 3])
        self.assertEqual(float4["float4 loads"]["conflicts"], 0)
        self.assertLess(float4["float4 loads"]["loads"], float4["control: 2-D register tile"]["loads"])
        self.assertEqual([f["conflicts"] for f in padded.values()], [0, 31, 0, 3])
        self.assertLess(padded["padded layout"]["loads"], padded["control: padding of one word"]["loads"])
        self.assertEqual([f["conflicts"] for f in patches.values()], [3, 0])
        self.assertEqual(double["double buffering"]["conflicts"], 0)
        self.assertEqual(double["double buffering"]["barriers"] * 2, double["control: copies in patches"]["barriers"])
        self.assertLess(double["double buffering"]["occupancy"], double["control: copies in patches"]["occupancy"])

    def test_each_step_of_the_gpu_product_has_predicted_times(self):
        notebook = read(os.path.join(TUTORIALS, "gpu_gemm.ipynb"))
        cells = [c for c in notebook["cells"] if re.search(r"^s\d = step\(", text(c["source"]), re.M)]
        total = [text(o["data"]["text/plain"]) for _, o in outputs(notebook)
                 if text(o.get("data", {}).get("text/plain", "")).startswith("step ")][-1]
        for cell, rows in zip(cells, self.gpu_figures()):
            printed = "".join(text(o.get("text", "")) for o in cell["outputs"])
            table = re.search(r"^step +a100 +limited by +t4 +limited by(.*)", printed, re.M | re.S).group(1)
            for name, _ in rows:
                self.assertRegex(table, r"(?m)^" + re.escape(name) + r"  +[\d.]+ (us|ms|s)  .*  [\d.]+ (us|ms|s)  ")
            self.assertIn("\n" + rows[-1][0] + "  ", total)
        for name, figures in self.gpu_figures()[-1]:  # both tables are of the same machine
            occupancy = re.search(r"^%s  .* (\d+) %%$" % re.escape(name), table, re.M).group(1)
            self.assertEqual(int(occupancy), figures["occupancy"])

    def test_each_step_of_the_gpu_product_has_counts_and_a_picture(self):
        notebook = read(os.path.join(TUTORIALS, "gpu_gemm.ipynb"))
        code = "".join(text(c["source"]) + "\n" for c in notebook["cells"] if c["cell_type"] == "code")
        pictures = [n for n, o in outputs(notebook) if "image/png" in o.get("data", {})]
        loops = ["".join(text(o["data"]["text/plain"]) for o in c["outputs"] if "data" in o) for c in notebook["cells"]
                 if re.search(r"^s\d = step\(", text(c["source"]), re.M)]
        for n in range(1, 10):
            self.assertIn("s%d:gpu_counts()" % n, code)
            self.assertRegex(code, r"nw\.(warp_request|bank_conflicts|warps)\(s%d\b" % n)
            self.assertRegex(loops[n - 1], r"(?m)^[ +]*for [\w./]+ in 0\.\.|Idx\.\w for ")
        self.assertEqual(len(pictures), 9 + 1) # one of each step, and the speed-ups

    def lessons(self):
        """Returns {notebook's name: its steps}. A step is its cell's source, its rows {name: seconds on a T4}, and its loops."""
        out, units = {}, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
        for name in LESSONS:
            out[name] = []
            for cell in read(os.path.join(TUTORIALS, name))["cells"]:
                if not re.search(r"^s\d = step\(", text(cell["source"]), re.M):
                    continue
                printed = "".join(text(o.get("text", "")) for o in cell["outputs"])
                self.assertRegex(printed, r"^step +t4 +limited by +a100 +limited by +sectors/request +turns/request +occupancy")
                rows = re.findall(r"^(\S.*?)  +([\d.]+) (ns|us|ms|s)  ", printed, re.M)
                loops = "".join(text(o["data"]["text/plain"]) for o in cell["outputs"] if "data" in o)
                out[name].append((text(cell["source"]), {n: float(v) * units[u] for n, v, u in rows}, loops))
        return out

    def test_each_step_of_a_gpu_lesson_has_its_control_its_loops_and_a_picture(self):
        for name, steps in self.lessons().items():
            notebook = read(os.path.join(TUTORIALS, name))
            code = "".join(text(c["source"]) + "\n" for c in notebook["cells"] if c["cell_type"] == "code")
            self.assertGreaterEqual(len(steps), 6, name)
            for n, (_, rows, loops) in enumerate(steps, 1):
                self.assertRegex(loops, r"for [\w./]+ in 0\.\.", (name, n))
                self.assertRegex(code, r"nw\.(warp_request|bank_conflicts|warps|waves)\(s%d\b" % n, (name, n))
                if n > 1:
                    self.assertEqual(len(rows), 2, (name, n))
                    self.assertTrue(list(rows)[0].startswith("control: "), (name, n))
            table = [text(o["data"]["text/plain"]) for _, o in outputs(notebook)
                     if text(o.get("data", {}).get("text/plain", "")).startswith("step ")][-1]
            for _, rows, _ in steps:
                self.assertIn(list(rows)[-1], table)

    def test_the_gpu_lessons_show_the_effects_that_their_texts_name(self):
        steps = {name: [list(rows.values()) for _, rows, _ in list_] for name, list_ in self.lessons().items()}
        conv1d, depthwise = steps["gpu_conv1d.ipynb"], steps["gpu_depthwise.ipynb"]
        reduction, transpose = steps["gpu_reduction.ipynb"], steps["gpu_transpose.ipynb"]
        for n in (2, 3, 4, 6, 7):
            self.assertGreater(conv1d[n - 1][0], conv1d[n - 1][1])
        self.assertGreater(conv1d[4][1], conv1d[4][0])  # the signal in shared memory does not help on a T4
        fused, dynamic = steps["gpu_fused_loop.ipynb"], steps["gpu_dynamic_batch.ipynb"]
        for n in (2, 3, 4, 5):
            self.assertGreater(dynamic[n - 1][0], dynamic[n - 1][1])
        for n in (6, 7):
            self.assertGreater(dynamic[n - 1][1], dynamic[n - 1][0])
        for n in (2, 4, 5, 6, 7):
            self.assertGreater(fused[n - 1][0], fused[n - 1][1])
        self.assertEqual(fused[2][0], fused[2][1])  # the border falls between two blocks
        self.assertGreater(depthwise[1][0] / depthwise[1][1], 8)
        self.assertGreater(depthwise[3][0], depthwise[3][1])
        self.assertGreater(depthwise[6][1], depthwise[6][0])  # without shared memory
        self.assertGreater(reduction[4][0] / reduction[4][1], 2)
        self.assertEqual(reduction[6][0], reduction[6][1])  # memory is the limit
        self.assertGreater(transpose[3][1], transpose[3][0])  # conflicts of banks
        self.assertGreater(transpose[4][0], transpose[4][1])
        self.assertEqual(transpose[5][0], transpose[5][1])

    def test_a_signal_in_shared_memory_gains_on_an_a100_only_and_for_the_reason_that_the_text_gives(self):
        found = re.findall(r"^(t4|a100) +step (\d): +([\d.]+) us +L1 cache +([\d.]+) us +shared memory +([\d.]+) us +latency +([\d.]+) us",
                           self.printed("gpu_conv1d.ipynb"), re.M)
        rows = {(machine, int(step)): tuple(map(float, times)) for machine, step, *times in found}
        self.assertEqual(len(rows), 4)
        self.assertGreater(rows["t4", 5][2], rows["t4", 4][0])
        self.assertLess(rows["a100", 5][0], rows["a100", 4][0])
        self.assertAlmostEqual(rows["a100", 5][2] / rows["a100", 4][1], 1, delta=0.1)
        self.assertLess(rows["a100", 5][3], rows["a100", 4][3])

    def test_the_dispatcher_of_the_gpu_lesson_loses_little_against_static_sizes(self):
        shown = "".join(text(o.get("text", "")) for _, o in outputs(read(os.path.join(TUTORIALS, "gpu_dynamic_batch.ipynb"))))
        means = [float(v) for v in re.findall(r"geometric mean: ([\d.]+)", shown)]
        self.assertEqual(len(means), 2)
        for v in means:
            self.assertTrue(0.95 <= v <= 1, means)

    def printed(self, name):
        return "".join(text(o.get("text", "")) for _, o in outputs(read(os.path.join(TUTORIALS, name))))

    def test_latency_hiding_on_an_accelerator_shows_what_each_slide_of_the_lecture_says(self):
        found = re.findall(r"^(\d+) cycles; hazards that happened: (\d+); wrong values: (\d+) of", self.printed("acc_latency_hiding.ipynb"), re.M)
        runs = [tuple(map(int, run)) for run in found]
        self.assertEqual(len(runs), 8)
        monolithic, decoupled, raw, full, threads, broken, careless, lucky = runs
        for cycles, hazards, wrong in (monolithic, full, threads):
            self.assertEqual((hazards, wrong), (0, 0))
        for cycles, hazards, wrong in (decoupled, raw, broken, careless):
            self.assertTrue(hazards > 0 and wrong > 0)
        self.assertEqual(lucky[1:], (0, 0))  # the check finds the missing token, and the run does not show it
        self.assertLess(full[0], monolithic[0])
        self.assertLess(threads[0], full[0])

    def test_the_product_on_an_accelerator_is_right_and_larger_tiles_need_fewer_bytes(self):
        printed = self.printed("acc_gemm.ipynb")
        self.assertIn("0 findings; the values are right: true", printed)
        rows = re.findall(r"^ +(\d+) +(\d) +(\d+) +(\d+) +(\d+) %$", printed, re.M)
        self.assertEqual([(tile, threads) for tile, threads, *_ in rows],
                         [("8", "1"), ("8", "2"), ("16", "1"), ("16", "2"), ("32", "1"), ("32", "2")])
        self.assertEqual([int(row[2]) for row in rows], [65536, 65536, 32768, 32768, 16384, 16384])
        for one, two in zip(rows[::2], rows[1::2]):
            self.assertLess(int(two[3]), int(one[3]))
        self.assertIn("13824 multiply-adds are executed for 8000", printed)

    def test_each_step_of_a_design_of_an_accelerator_makes_it_faster(self):
        printed = self.printed("acc_your_own.ipynb")
        cycles = [int(c) for c in re.findall(r"^\d\. .*?  +(\d+)   +[\d.]+ of", printed, re.M)]
        self.assertEqual(len(cycles), 7)
        self.assertEqual(cycles, sorted(cycles, reverse=True))
        self.assertLess(cycles[-1] * 10, cycles[0])
        self.assertIn("there is no queue of tokens from core to loader", printed)
        self.assertLessEqual(int(re.search(r"^(\d+) lines$", printed, re.M).group(1)), 60)
        self.assertIn("as many cycles as in step 4: true", printed)

    def test_the_convolutions_on_an_accelerator_are_right_and_energy_is_not_cycles(self):
        printed = self.printed("acc_conv2d.ipynb")
        self.assertIn("the values are right:\ttrue", printed)
        shares = [float(v) for v in re.findall(r"^C\d+ .* ([\d.]+)  (?:compute|memory)$", printed, re.M)]
        self.assertEqual(len(shares), 8)
        self.assertTrue(min(shares) >= 0.95, shares)
        found = re.findall(r"^(fewest cycles|least energy) .*?(\d+) cycles +([\d.]+) uJ", printed, re.M)
        (_, cycles, energy), (_, more, less) = found
        self.assertLess(int(cycles), int(more))
        self.assertLess(float(less), float(energy))
        front = re.findall(r"^ +f \d.*?(\d+) cycles +([\d.]+) uJ", printed, re.M)
        self.assertEqual((front[0], front[-1]), ((cycles, energy), (more, less)))
        multiplies = {name: float(v) for name, v in re.findall(r"^(C\d+) .* ([\d.]+) +[\d.]+ +(?:compute|memory)$", printed, re.M)}
        self.assertTrue(max(multiplies["C3"], multiplies["C5"]) < multiplies["C8"] < multiplies["C11"] < multiplies["C2"])

    def test_exploring_accelerators_finds_tiles_and_machines_on_the_front(self):
        printed = self.printed("acc_explore.ipynb")
        bound = dict(re.findall(r"^(C\d+) +\d+  (products|ALU|memory) +[\d.]+$", printed, re.M))
        self.assertEqual(len(bound), 11)
        self.assertEqual((bound["C3"], bound["C9"]), ("ALU", "products"))
        (_, cycles, energy), (_, more, less) = re.findall(r"^best in (\w+): .*?(\d+) cycles +([\d.]+) uJ", printed, re.M)
        self.assertLess(int(cycles), int(more))
        self.assertLess(float(less), float(energy))
        captions = [text(o["data"]["text/plain"]) for _, o in outputs(read(os.path.join(TUTORIALS, "acc_explore.ipynb"))) if "data" in o]
        fronts = [c for c in captions if "on the Pareto front" in c]
        self.assertEqual(len(fronts), 2)
        for c in fronts:
            points = [tuple(map(float, p)) for p in re.findall(r"^\d+: .*: cycles ([\d.e+]+), microjoules ([\d.]+)$", c, re.M)]
            self.assertGreaterEqual(len(points), 3)
            self.assertEqual(points, sorted(points))
            self.assertEqual([p[1] for p in points], sorted((p[1] for p in points), reverse=True))

    def test_outputs_contain_no_scripts(self):
        for _, notebook in self.each():
            for n, o in outputs(notebook):
                self.assertNotIn("application/javascript", o.get("data", {}))
                self.assertNotIn("<script", text(o.get("data", {}).get("text/html", "")), n)


@unittest.skipIf(missing(), missing())
class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="nestwright-notebooks-")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def small(self, path):
        """Makes a copy of a notebook, without outputs and with small sizes. Returns the path of the copy."""
        notebook = read(path)
        for c in notebook["cells"]:
            if c["cell_type"] != "code":
                continue
            c["outputs"], c["execution_count"], source = [], None, text(c["source"])
            for old, new in SMALL.get(os.path.basename(path), []):
                source = source.replace(old, new)
            c["source"] = source
        sources = "".join(text(c["source"]) for c in notebook["cells"])
        for _, new in SMALL.get(os.path.basename(path), []):
            self.assertIn(new, sources)
        for lab in glob.glob(os.path.join(TUTORIALS, "*.lua")): # modules that a notebook may require
            shutil.copy(lab, self.folder)
        copy = os.path.join(self.folder, os.path.basename(path))
        with open(copy, "w") as f:
            json.dump(notebook, f)
        return copy

    def test_notebooks_run_and_show_the_stored_kinds_of_output(self):
        for path in NOTEBOOKS:
            with self.subTest(os.path.basename(path)):
                copy = self.small(path)
                done = convert("--to", "notebook", "--execute", "--inplace", copy)
                self.assertEqual(done.returncode, 0, done.stdout[-3000:])
                made = read(copy)
                self.assertFalse([o for _, o in outputs(made) if o["output_type"] == "error"])
                for n, (stored, shown) in enumerate(zip(self.kinds(read(path)), self.kinds(made))):
                    self.assertLessEqual(stored, shown, n)  # on a slow machine, cells also show progress bars

    def test_the_notebook_and_the_script_of_gemm_make_the_same_steps(self):
        copy = self.small(os.path.join(TUTORIALS, "gemm.ipynb"))
        done = convert("--to", "notebook", "--execute", "--inplace", copy)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        steps = text([o for _, o in outputs(read(copy))][-1]["text"])
        program = 'package.path = "%s/?.lua;" .. package.path print((require "gemm".after(128)):trace())' % TUTORIALS
        script = subprocess.run([os.path.join(BUILD, "bin/nestwright"), "-e", program],
                                stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(steps.split(), script.stdout.split())

    def kinds(self, notebook):
        """Returns for each cell the kinds of its displays: picture, text/html or text. Printed text is not included."""
        return [{"picture" if "image/png" in o["data"] else "text/html" if "text/html" in o["data"] else "text"
                 for o in c.get("outputs", []) if "data" in o} for c in notebook["cells"]]

    def test_notebooks_can_be_converted(self):
        for path in NOTEBOOKS:
            with self.subTest(os.path.basename(path)):
                image = r'<img [^>]*src="data:image/'
                for form, wanted in (("html", image), ("markdown", image), ("script", r"nw\.")):
                    done = convert("--to", form, "--output-dir", self.folder, "--output", "made", path)
                    self.assertEqual(done.returncode, 0, done.stdout[-3000:])
                    made = glob.glob(os.path.join(self.folder, "made.*"))
                    self.assertEqual(len(made), 1, made)
                    with open(made[0]) as f:
                        words = f.read()
                    self.assertTrue(re.search(wanted, words), form)
                    if form == "html":
                        with open(path) as f:
                            folds = "<details open" in f.read() # the notebook shows loops, which can be folded
                        self.assertEqual("<details open" in words, folds)
                    os.remove(made[0])


if __name__ == "__main__":
    unittest.main()
