"""Tests all kinds of messages in more detail than jupyter_kernel_test."""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

from jupyter_client.blocking import BlockingKernelClient

from client import KernelTest, result_of, text_of, types, wait_until


SHOWN = """A = nw.placeholder({8, 8}, 'f32', 'A')
k = nw.reduce_axis(8, 'k')
s = nw.schedule(nw.compute({8}, function(i) return nw.sum(A(i, k), k) end, 'C'))"""


class Cells(KernelTest):
    def test_messages_of_a_cell_are_in_order_and_have_its_count(self):
        reply, out = self.run_cell("print 'a' return 7")
        self.assertEqual(types(out), ["execute_input", "stream", "execute_result"])
        states = [c["execution_state"] for kind, c in out if kind == "status"]
        self.assertEqual(states, ["busy", "idle"])
        counts = {c["execution_count"] for kind, c in out if kind in ("execute_input", "execute_result")}
        self.assertEqual(counts, {reply["execution_count"]})

    def test_a_running_cell_is_published_and_in_the_history(self):
        go = os.path.join(tempfile.mkdtemp(), "go")
        code = f"local f repeat f = io.open {go!r} until f f:close()"
        message_id = self.client.execute(code)
        told = [self.client.get_iopub_msg(timeout=10) for _ in range(2)]
        self.assertEqual([(m["msg_type"], m["parent_header"]["msg_id"]) for m in told],
                         [("status", message_id), ("execute_input", message_id)])
        with open(os.path.join(os.environ["XDG_STATE_HOME"], "nestwright", "notebook_history")) as f:
            self.assertEqual(json.loads(f.read().splitlines()[-1])[2], code)
        open(go, "w").close()
        self.assertEqual(self.reply_to(message_id)["status"], "ok")
        self.assertEqual(types(self.published_for(message_id)), [])

    def test_a_silent_cell_publishes_no_result_and_is_not_counted(self):
        before = self.run_cell("1")[0]["execution_count"]
        reply, out = self.run_cell("hidden = 5 print 'seen' return 1", silent=True)
        self.assertEqual(reply["status"], "ok")
        self.assertEqual(types(out), ["stream"])
        reply, out = self.run_cell("return hidden")
        self.assertEqual(reply["execution_count"], before + 1)
        self.assertEqual(result_of(out), "5")
        _, out = self.run_cell("error 'x'", silent=True)
        self.assertEqual(types(out), [])

    def test_a_cell_without_history_is_not_counted(self):
        before = self.run_cell("1")[0]["execution_count"]
        reply, out = self.run_cell("2", store_history=False)
        self.assertEqual(reply["execution_count"], before)
        self.assertEqual(result_of(out), "2")

    def test_a_cell_with_a_semicolon_or_without_a_value_shows_nothing(self):
        for code in ("5;", "", "   ", "x = 1", "nil", "-- only a remark"):
            reply, out = self.run_cell(code)
            self.assertEqual(reply["status"], "ok", code)
            self.assertNotIn("execute_result", types(out), code)

    def test_an_undefined_name_is_reported(self):
        for code, words in (("compite", "compite was never given a value"), ("x = 1\nnw.shedule", "did you mean 'nw.schedule'?"),
                            ("os.date('*t').yeer", "os.date('*t') has no field yeer")):
            reply, out = self.run_cell(code)
            self.assertEqual(reply["status"], "ok")
            self.assertIn("nil: ", result_of(out))
            self.assertIn(words, result_of(out))
        for code in ("rawget({}, 1)", "local x = nil\nx", "({})[1]"):
            self.assertNotIn("execute_result", types(self.run_cell(code)[1]), code)

    def test_a_call_that_displays_something_has_no_result(self):
        for code in ("nw.display(5)", "p = nw.progress(3, 'tiles')", "p:step()", "d = nw.display 'a'", "d:update 'b'", "io.write 'y'",
                     "io.stderr:write 'y'", "p", "d"):
            reply, out = self.run_cell(code)
            self.assertEqual(reply["status"], "ok", code)
            self.assertNotIn("execute_result", types(out), code)
        _, out = self.run_cell("d, 1")
        self.assertEqual(result_of(out), '"b"  1')

    def test_a_cell_has_no_arguments(self):
        for code in ("select('#', ...)", "print(...) return select('#', ...)", "x = 1\nselect('#', ...)"):
            self.assertEqual(result_of(self.run_cell(code)[1]), "0", code)

    def test_each_of_several_values_has_its_own_form(self):
        _, out = self.run_cell(SHOWN + "\ns, nw.reuse(s, {levels = {{bytes = 256, ways = 2}}}), nw.tensor{1, 2}, 7")
        data = dict(out)["execute_result"]["data"]
        at = 0
        for part in ("<details", "data:image/svg+xml;base64,", "<table>", "<pre>7</pre>"):
            at = data["text/html"].index(part, at)
        self.assertIn("for i in 0..8", data["text/plain"])
        _, out = self.run_cell("1, 'a'")
        self.assertEqual(list(dict(out)["execute_result"]["data"]), ["text/plain"])

    def test_a_progress_bar_is_up_to_date_when_a_cell_fails(self):
        for end in ("error 'failed'", "", "return 1", "nw.display(2)"):
            _, out = self.run_cell("p = nw.progress(10, 'bar') p:step(1) p:step(2) " + end)
            shown = [c["data"]["text/plain"] for kind, c in out if kind == "update_display_data"]
            self.assertIn("3 of 10", shown[-1], end)
        _, out = self.run_cell("p:step(8)")
        self.assertIn("3 of 10 are done; 8 more are too many", dict(out)["error"]["evalue"])

    def test_a_finished_progress_line_leaves_no_blank(self):
        _, out = self.run_cell("local core = require 'nestwright.core' core.tell_progress('counting', 0.5, core.now() - 7) "
                               "core.tell_progress()")
        shown = [c["data"]["text/plain"] for kind, c in out if kind in ("display_data", "update_display_data")]
        self.assertEqual(shown, ["counting: 50 %, 7 s", "counting: done after 7 s"])

    def test_a_long_compile_shows_its_progress(self):
        _, out = self.run_cell(SHOWN + """
            t = nw.schedule(nw.compute({3600}, function(j)
              return nw.exp(A(0, 0) * j) * nw.tanh(A(1, 1) * j) + nw.erf(A(2, 2) * j)
            end, 'J'))
            t:unroll 'j'
            f = t:build {cache = false}""", timeout=100)
        shown = [c["data"]["text/plain"] for kind, c in out if kind in ("display_data", "update_display_data")]
        self.assertRegex(shown[0], "^compiling J, 1 s$")
        self.assertRegex(shown[-1], "^compiling J: done after [0-9]+ s$")
        self.assertIn("note: s:build will make 3600 copies", text_of(out))

    def test_remarks_of_steps_come_before_the_error_that_follows_them(self):
        _, out = self.run_cell(SHOWN + " s:split('i', 3) error 'later'")
        self.assertEqual([kind for kind in types(out) if kind != "execute_input"], ["stream", "error"])
        self.assertIn("note: 3 does not divide 8", text_of(out))

    def test_user_expressions_are_evaluated(self):
        reply, _ = self.run_cell("a = 3", user_expressions={"twice": "2*a", "wrong": "nope()", "half": "("})
        answers = reply["user_expressions"]
        self.assertEqual(answers["twice"]["data"]["text/plain"], "6")
        self.assertEqual(answers["twice"]["status"], "ok")
        self.assertEqual(answers["wrong"]["status"], "error")
        self.assertIn("nope", answers["wrong"]["evalue"])
        self.assertEqual(answers["half"]["status"], "error")

    def test_errors_show_only_frames_of_the_user(self):
        self.run_cell("function inner() error 'deep' end\nfunction outer() inner() local x = 1 end")
        reply, out = self.run_cell("\nouter()\nlocal y")
        error = dict(out)["error"]
        self.assertEqual(reply["ename"], "LuaError")
        text = "\n".join(error["traceback"])
        self.assertIn("deep", text)
        self.assertIn("inner", text)
        self.assertIn("In[", text)
        self.assertIn("\x1b[", text)
        self.assertNotIn("nestwright/", text)
        self.assertEqual(error["evalue"], reply["evalue"])

    def test_refusals_are_errors_with_alternatives(self):
        reply, out = self.run_cell(
            "A = nw.placeholder({8, 8}, 'f32', 'A')\nk = nw.reduce_axis(8, 'k')\n"
            "s = nw.schedule(nw.compute({8}, function(i) return nw.sum(A(i, k), k) end, 'C'))\ns:parallel 'k'")
        self.assertEqual(reply["ename"], "Refused")
        self.assertIn("you can", "\n".join(reply["traceback"]))
        self.alive()

    def test_a_display_is_updated_under_its_id(self):
        _, out = self.run_cell("d = nw.display('a', {id = 'one'}) d:update 'b'")
        shown, updated = dict(out)["display_data"], dict(out)["update_display_data"]
        self.assertEqual(shown["transient"]["display_id"], "one")
        self.assertEqual(updated["transient"]["display_id"], "one")
        self.assertEqual(updated["data"]["text/plain"], '"b"')
        _, out = self.run_cell("d:update 'c'")
        self.assertIn("update_display_data", types(out))

    def test_stop_on_error_aborts_the_queued_cells(self):
        ids = [self.client.execute("for i = 1, 3e7 do end error 'first'"), self.client.execute("second = 1"),
               self.client.execute("third = 1")]
        info = self.client.kernel_info()
        replies = [self.reply_to(i) for i in ids[:1]]
        statuses, counts = {}, set()
        while len(statuses) < 3:
            message = self.client.get_shell_msg(timeout=20)
            statuses[message["parent_header"]["msg_id"]] = message["content"]["status"]
            if "execution_count" in message["content"]:
                counts.add(message["parent_header"]["msg_id"])
        self.assertEqual(replies[0]["status"], "error")
        # the waiting cells are aborted, and their replies have no execution count
        self.assertEqual([statuses[i] for i in ids[1:]], ["aborted", "aborted"])
        self.assertFalse(counts & set(ids[1:]))
        self.assertEqual(statuses[info], "ok")  # only executions are aborted
        for message_id in ids:
            self.published_for(message_id)
        for _ in range(30):  # requests that come after the reply are not aborted
            self.assertEqual(self.run_cell("error 'x'")[0]["status"], "error")
            self.assertEqual(self.run_cell("1")[0]["status"], "ok")

    def test_stop_on_error_false_runs_the_queued_cells(self):
        first = self.client.execute("for i = 1, 3e7 do end error 'first'", stop_on_error=False)
        second = self.client.execute("return 2")
        self.assertEqual(self.reply_to(first)["status"], "error")
        self.assertEqual(self.reply_to(second)["status"], "ok")
        self.published_for(first)
        self.published_for(second)


class Globals(KernelTest):
    """A cell may redefine any name, because the library does not use the globals of cells."""

    def works(self, why):
        reply, out = self.run_cell("s")
        self.assertEqual(reply["status"], "ok", why)
        shown = [c for kind, c in out if kind == "execute_result"]
        self.assertIn("for i in 0..8", shown[0]["data"]["text/plain"], why)
        self.assertIn("text/html", shown[0]["data"], why)
        reply, _ = self.run_cell("s:parallel 'k'")
        self.assertEqual(reply["ename"], "Refused", why)
        reply, out = self.run_cell("nw.display(1) nw.interact{n = {1, 2}, function(n) return n end}")
        self.assertEqual(reply["status"], "ok", why)
        self.assertEqual(text_of(out, "stderr"), "", why)
        self.assertEqual(types(out).count("display_data"), 3, why)
        self.client.complete("nw.re")
        self.assertIn("nw.reduce_axis", self.client.get_shell_msg(timeout=10)["content"]["matches"], why)

    def test_cells_may_redefine_globals_and_library_functions(self):
        names = """assert collectgarbage error getmetatable ipairs load loadfile next pairs pcall print rawequal rawget rawlen rawset
            require select setmetatable tonumber tostring type xpcall coroutine debug io math os package string table utf8""".split()
        self.run_cell(SHOWN)
        for name in names:
            self.run_cell(f"kept = {name} {name} = 'f32'")
            self.works(name)
            self.run_cell(f"{name} = kept")
        for name in ("string.format", "string.gsub", "table.concat", "math.max", "io.open", "os.getenv", "utf8.len", "package.path"):
            self.run_cell(f"kept = {name} {name} = nil")
            self.works(name)
            self.run_cell(f"{name} = kept")

    def test_a_hook_ends_with_its_cell(self):
        self.run_cell(SHOWN)
        self.run_cell("debug.sethook(function() error 'hook' end, 'l')\nlocal x = 1")
        self.works("hook")

    def test_a_value_that_cannot_be_shown_is_an_error_of_its_cell(self):
        reply, out = self.run_cell("setmetatable({}, {__tostring = function() error 'no text' end})")
        self.assertEqual(reply["status"], "error")
        self.assertIn("no text", reply["evalue"])
        self.assertIn("error", types(out))
        reply, _ = self.run_cell("1", user_expressions={"bad": "setmetatable({}, {__tostring = function() error 'no text' end})"})
        self.assertEqual(reply["user_expressions"]["bad"]["status"], "error")
        self.alive()


class Output(KernelTest):
    def test_every_line_is_output_of_its_cell(self):
        for n in range(40):
            _, out = self.run_cell(f"for i = 1, 2000 do print({n}, i) end")
            lines = text_of(out).splitlines()
            self.assertEqual(lines, [f"{n}\t{i}" for i in range(1, 2001)])
        self.assertEqual([m for m in self.strays if m["msg_type"] == "stream"], [])

    def test_a_hundred_thousand_lines_are_sent_in_few_messages(self):
        _, out = self.run_cell("for i = 1, 100000 do print(i) end")
        self.assertEqual(text_of(out), "".join(f"{i}\n" for i in range(1, 100001)))
        self.assertLessEqual(len([1 for kind, _ in out if kind == "stream"]), 20)

    def test_output_of_lua_and_of_child_processes_is_in_order(self):
        _, out = self.run_cell("print(1) io.write '2\\n' os.execute 'echo 3' print(4) io.popen('echo 5 1>&2'):close() print(6)")
        self.assertEqual(text_of(out), "1\n2\n3\n4\n6\n")
        self.assertEqual(text_of(out, "stderr"), "5\n")

    def test_displays_and_printed_text_are_in_order(self):
        _, out = self.run_cell("print(1) nw.display(2) print(3)")
        self.assertEqual(types(out), ["execute_input", "stream", "display_data", "stream"])

    def test_invalid_utf8_in_output_is_replaced(self):
        _, out = self.run_cell("io.write('a\\xFFb\\xE2\\x82', '\\xAC', '\\xF0\\x9F\\x98\\x80', '\\xED\\xA0\\x80', '\\xE2\\x82')")
        self.assertEqual(text_of(out), "a\ufffdb\u20ac\U0001F600\ufffd\ufffd\ufffd\ufffd\ufffd")
        _, out = self.run_cell("return 'x\\xFFy'")
        self.assertIn("\ufffd", result_of(out))

    def test_output_is_published_while_the_cell_runs(self):
        message_id = self.client.execute("print 'now' os.execute 'sleep 2' return 1")
        start, seen = time.time(), None
        while seen is None:
            message = self.client.get_iopub_msg(timeout=10)
            if message["msg_type"] == "stream":
                seen = time.time() - start
        self.assertLess(seen, 1.5)
        self.reply_to(message_id)
        self.published_for(message_id)

    def test_too_much_output_is_cut_off_with_a_notice(self):
        start = time.time()
        _, out = self.run_cell("local x = ('x'):rep(1023) for i = 1, 40000 do print(x) end", timeout=60)
        text = text_of(out)
        self.assertLess(len(text), 5 << 20)
        self.assertIn("is not shown", text)
        self.assertLess(time.time() - start, 40)
        per_second = len(text) / max(time.time() - start, 1)
        self.assertLess(per_second, 1.5e6)
        _, out = self.run_cell("print 'after'")
        self.assertEqual(text_of(out), "after\n")

    def test_the_rate_of_displays_is_limited(self):
        start = time.time()
        _, out = self.run_cell("for i = 1, 2200 do nw.display(i) end", timeout=60)
        shown = [c["data"]["text/plain"] for kind, c in out if kind == "display_data"]
        self.assertEqual(shown, [str(i) for i in range(1, 2201)])
        self.assertGreater(time.time() - start, 1.5)  # at most 3000 messages in any 3 s

    def test_a_cell_ends_although_a_child_process_never_stops_writing(self):
        with tempfile.NamedTemporaryFile() as pid:
            reply, _ = self.run_cell(f"os.execute '(while :; do echo x; done) & echo $! > {pid.name}'", timeout=60)
            self.assertEqual(reply["status"], "ok")
            _, out = self.run_cell(f"os.execute 'kill $(cat {pid.name})' return 7", timeout=60)
            self.assertEqual(result_of(out), "7")

    def test_a_value_that_is_too_large_is_replaced_by_a_note(self):
        for code in ("return ('z'):rep(5e6)", "return nw.html(('h'):rep(5e6))"):
            _, out = self.run_cell(code)
            self.assertLess(len(str(dict(out)["execute_result"]["data"])), 200)
            self.assertIn("of 5.0 MB is not shown", result_of(out))

    def test_os_execute_returns_how_a_command_ended(self):
        for command, answer in (("exit 3", 'nil  "exit"  3'), ("kill -9 $$", 'nil  "signal"  9'), ("true", 'true  "exit"  0')):
            self.assertEqual(result_of(self.run_cell(f"return os.execute '{command}'")[1]), answer)

    def test_an_expression_after_statements_is_shown(self):
        self.assertEqual(result_of(self.run_cell("x = 5; x")[1]), "5")
        self.assertEqual(result_of(self.run_cell("local ok, e = pcall(error, 'x; y'); e")[1]), '"x; y"')
        self.assertNotIn("execute_result", types(self.run_cell("x = 5; x;")[1]))
        self.assertNotIn("execute_result", types(self.run_cell("x = 'a; x'")[1]))

    def test_an_unfinished_cell_says_what_is_missing_and_where(self):
        reply, _ = self.run_cell("x = 1\nfor i = 1, 3 do\n  print(i)")
        self.assertRegex(reply["evalue"], r"^In\[\d+\]:3: 'end' expected \(to close 'for' at line 2\)")


class Input(KernelTest):
    def ask(self, code, answer):
        message_id = self.client.execute(code, allow_stdin=True)
        request = self.client.get_stdin_msg(timeout=10)
        self.client.input(answer)
        reply = self.reply_to(message_id)
        return request["content"], reply, self.published_for(message_id)

    def test_a_cell_can_ask_for_lines_and_passwords(self):
        request, _, out = self.ask("return nw.input 'name? '", "b\u00f6b")
        self.assertEqual(request, {"prompt": "name? ", "password": False})
        self.assertEqual(result_of(out), '"b\u00f6b"')
        request, _, _ = self.ask("secret = nw.input('key ', {password = true})", "hunter2")
        self.assertTrue(request["password"])
        _, _, out = self.ask("return io.read 'n' + 1", "41")
        self.assertEqual(result_of(out), "42")

    def answered(self, code, *answers):
        """Runs a cell, and gives these answers to its requests for input. Returns the value of the cell as text."""
        message_id = self.client.execute(code, allow_stdin=True)
        for answer in answers:
            self.client.get_stdin_msg(timeout=10)
            self.client.input(answer)
        reply = self.reply_to(message_id)
        self.assertEqual(reply["status"], "ok", (code, reply))
        return result_of(self.published_for(message_id))

    def test_io_read_works_as_in_lua(self):
        for code, answers, wanted in (
                ("return io.read(3)", ["abcdef"], '"abc"'),
                ("return io.read(3), io.read(10)", ["abcdef"], '"abc"  "def"'),
                ("return io.read('n', 'l')", ["12 abc"], '12  " abc"'),
                ("return io.read 'n', io.read()", ["12", "next"], '12  "next"'),
                ("return io.read('n', 'n', 'n')", ["1 -2.5e1 0x1p4"], "1  -25.0  16.0"),
                ("return io.read('n', 'n')", ["", "1", "2"], "1  2"),
                ("return io.read('*l', 'L', 'a')", ["a", "b", "c"], '"a"  b  "c"'),
                ("return io.read('n', 'l')", ["no"], "nil  nil"),
                ("return io.read(0)", [], '""'),
                ("return io.stdin:read(), io.input():read 'n'", ["a", "7"], '"a"  7'),
                ("for a in io.lines() do if a == '' then break end print(a) end return 1", ["a", ""], "1"),
                ("for a, b in io.stdin:lines('n', 'n') do return a + b end", ["1 2"], "3"),
                ("local f = assert(io.open '/etc/hostname') local a = f:read() f:close() io.input '/etc/hostname'\n"
                 "local b, c = io.read(), io.lines '/etc/hostname'() io.input():close() io.input(io.stdin)\n"
                 "return a == b and b == c", [], "true"),
                ("return io.read()", ["again"], '"again"')):
            self.assertEqual(self.answered(code, *answers), wanted, code)

    def test_input_that_a_cell_does_not_read_is_discarded(self):
        self.assertEqual(self.answered("return io.read(1)", "abc"), '"a"')
        self.assertEqual(self.answered("return io.read()", "new"), '"new"')

    def test_the_error_of_an_invalid_read_begins_with_the_name_of_its_cell(self):
        for code in ("io.read 'x'", "io.stdin:read {}"):
            reply, _ = self.run_cell(code)
            self.assertIn("bad argument #1 to 'read' (invalid format)", reply["evalue"])
            self.assertTrue(reply["evalue"].startswith("In["), reply["evalue"])
        reply, _ = self.run_cell("local x = io.read()", allow_stdin=False)
        self.assertTrue(reply["evalue"].startswith("In["), reply["evalue"])

    def test_input_is_an_error_if_the_front_end_does_not_allow_it(self):
        reply, _ = self.run_cell("nw.input 'x'", allow_stdin=False)
        self.assertEqual(reply["status"], "error")
        self.assertIn("input", reply["evalue"])

    def test_an_answer_without_a_request_is_ignored(self):
        self.client.input("stray")
        time.sleep(0.1)
        _, _, out = self.ask("return nw.input 'x'", "right")
        self.assertEqual(result_of(out), '"right"')

    def test_passwords_and_keys_are_not_in_the_history(self):
        self.ask("k = nw.input('key ', {password = true})", "s3cr3t-word")
        history = os.path.join(os.environ["XDG_STATE_HOME"], "nestwright", "notebook_history")
        with open(history) as f:
            text = f.read()
        self.assertNotIn("s3cr3t-word", text)
        self.assertNotIn(self.manager.session.key.decode(), text)
        self.assertEqual(os.stat(history).st_mode & 0o77, 0)


class Requests(KernelTest):
    def answer(self, kind, content):
        return self.reply_to(self.request(kind, content))

    def test_completion_counts_positions_in_code_points(self):
        code = "x = '\U0001F600\u00e9' nw.place"
        reply = self.answer("complete_request", {"code": code, "cursor_pos": len(code)})
        self.assertEqual(reply["matches"], ["nw.placeholder"])
        self.assertEqual((reply["cursor_start"], reply["cursor_end"]), (len(code) - len("nw.place"), len(code)))
        for cursor in (-5, 10 ** 9, 0):
            self.assertEqual(self.answer("complete_request", {"code": code, "cursor_pos": cursor})["status"], "ok")
        self.assertEqual(self.answer("complete_request", {})["status"], "ok")

    def test_completion_offers_machines_and_the_values_of_options(self):
        self.run_cell(SHOWN)
        for code, some in (("s:cost{machine = \"zen", ["zen5"]), ("nw.target \"aar", ["aarch64"]),
                           ("s:cost{feed = \"", ["full", "misses"]), ("s:cost{mach", ["machine = "]), ("s:cost{feed = \"x", [])):
            reply = self.answer("complete_request", {"code": code, "cursor_pos": len(code)})
            self.assertEqual(reply["matches"], some, code)

    def test_completion_runs_no_code(self):
        self.run_cell("t = setmetatable({}, {__index = function() ran = true end})")
        self.answer("complete_request", {"code": "t.a", "cursor_pos": 3})
        self.assertEqual(result_of(self.run_cell("return ran == nil")[1]), "true")

    def test_inspection_finds_help(self):
        reply = self.answer("inspect_request", {"code": "local y = nw.sum(x, k)", "cursor_pos": 14, "detail_level": 0})
        self.assertTrue(reply["found"])
        self.assertIn("nw.sum", reply["data"]["text/plain"])
        reply = self.answer("inspect_request", {"code": "nw.sum(x, ", "cursor_pos": 10, "detail_level": 1})
        self.assertTrue(reply["found"])  # the cursor is inside the arguments of nw.sum
        self.run_cell("function mine(x)\n  return x + 1\nend")
        for code in ("nw.progress(3", "nw.progress(3, ", "nw.progress(x", "nw.progress(tostring(3), y"):
            reply = self.answer("inspect_request", {"code": code, "cursor_pos": len(code)})
            self.assertIn("A progress bar that counts", reply["data"].get("text/plain", ""), code)
        reply = self.answer("inspect_request", {"code": "mine", "cursor_pos": 4, "detail_level": 1})
        self.assertIn("return x + 1", reply["data"]["text/plain"])
        reply = self.answer("inspect_request", {"code": "mine", "cursor_pos": 4, "detail_level": 0})
        self.assertNotIn("return x + 1", reply["data"]["text/plain"])
        reply = self.answer("inspect_request", {"code": "no_such_thing", "cursor_pos": 4})
        self.assertFalse(reply["found"])
        self.assertEqual(reply["data"], {})

    def test_is_complete_gives_the_indent(self):
        reply = self.answer("is_complete_request", {"code": "for i = 1, 3 do\n  if x then"})
        self.assertEqual(reply, {"status": "incomplete", "indent": "    "})

    def test_requests_for_connection_and_kernel_info_are_answered(self):
        ports = self.answer("connect_request", {})
        self.assertEqual(ports["shell_port"], self.manager.shell_port)
        info = self.answer("kernel_info_request", {})
        self.assertEqual(info["protocol_version"], "5.4")
        self.assertEqual(info["language_info"]["name"], "lua")
        self.assertEqual(info["supported_features"], [])

    def test_the_history_contains_earlier_sessions(self):
        self.run_cell("history_test_cell = 1")
        tail = self.answer("history_request", {"hist_access_type": "tail", "n": 1, "output": True, "raw": True})["history"]
        session, line, (source, output) = tail[0]
        self.assertEqual((source, output), ("history_test_cell = 1", None))
        self.stop()
        self.start()
        found = self.answer("history_request", {"hist_access_type": "search", "pattern": "history_test*", "n": 5})["history"]
        self.assertEqual(found[-1], [session, line, "history_test_cell = 1"])
        last = self.answer("history_request", {"hist_access_type": "range", "session": -1, "start": line, "stop": line + 1})
        self.assertEqual(last["history"], [[session, line, "history_test_cell = 1"]])
        self.run_cell("in_the_new_one = 1")
        tail = self.answer("history_request", {"hist_access_type": "tail", "n": 1})["history"]
        self.assertGreater(tail[0][0], session)

    def test_unknown_requests_are_ignored(self):
        self.request("no_such_request", {})
        self.request("debug_request", {"seq": 1})
        self.alive()

    def test_control_answers_while_a_cell_runs(self):
        message_id = self.client.execute("os.execute 'sleep 1'")
        time.sleep(0.2)
        start = time.time()
        self.request("kernel_info_request", {}, self.client.control_channel)
        reply = self.client.get_control_msg(timeout=5)
        self.assertEqual(reply["msg_type"], "kernel_info_reply")
        self.assertLess(time.time() - start, 0.3)
        self.assertTrue(self.client.hb_channel.is_beating())
        self.reply_to(message_id)
        self.published_for(message_id)

    def test_two_clients_can_use_one_kernel(self):
        other = BlockingKernelClient(connection_file=self.manager.connection_file)
        other.load_connection_file()
        other.start_channels()
        other.wait_for_ready(timeout=10)
        mine = self.client.execute("print 'mine'")
        theirs = other.execute("print 'theirs'")
        self.assertEqual(self.reply_to(mine)["status"], "ok")
        while other.get_shell_msg(timeout=10)["parent_header"].get("msg_id") != theirs:
            pass
        self.assertEqual(text_of(self.published_for(mine)), "mine\n")
        other.stop_channels()


class Comms(KernelTest):
    def test_comm_messages_go_in_both_directions(self):
        self.run_cell("""comms = require "nestwright.notebook.comms"
            comms.register("echo", function(comm, data)
              comm.on_message = function(d) print(d.x) comm:send {x = d.x + data.add} end
              comm.on_close = function() gone = true end
            end)""")
        opened = self.request("comm_open", {"comm_id": "c1", "target_name": "echo", "data": {"add": 10}})
        self.published_for(opened)
        info = self.reply_to(self.request("comm_info_request", {"target_name": "echo"}))
        self.assertEqual(info["comms"], {"c1": {"target_name": "echo"}})
        out = self.published_for(self.request("comm_msg", {"comm_id": "c1", "data": {"x": 5}}))
        self.assertEqual(text_of(out), "5\n")
        self.assertEqual(dict(out)["comm_msg"], {"comm_id": "c1", "data": {"x": 15}})
        self.published_for(self.request("comm_close", {"comm_id": "c1", "data": {}}))
        self.assertEqual(result_of(self.run_cell("return gone")[1]), "true")

    def test_a_comm_with_an_unknown_target_is_closed(self):
        out = self.published_for(self.request("comm_open", {"comm_id": "c2", "target_name": "nobody", "data": {}}))
        self.assertEqual(dict(out)["comm_close"]["comm_id"], "c2")

    def test_a_handler_cannot_ask_for_input(self):
        self.run_cell("""comms = require "nestwright.notebook.comms"
            comms.register("asks", function(comm) comm.on_message = function() nw.input "who? " end end)""")
        self.published_for(self.request("comm_open", {"comm_id": "c4", "target_name": "asks", "data": {}}))
        out = self.published_for(self.request("comm_msg", {"comm_id": "c4", "data": {}}))
        self.assertIn("cannot ask for input", text_of(out, "stderr"))

    def test_the_kernel_continues_after_a_handler_fails(self):
        self.run_cell("""comms = require "nestwright.notebook.comms"
            comms.register("bad", function(comm) comm.on_message = function() error "handler" end end)""")
        self.published_for(self.request("comm_open", {"comm_id": "c3", "target_name": "bad", "data": {}}))
        out = self.published_for(self.request("comm_msg", {"comm_id": "c3", "data": {}}))
        self.assertIn("handler", text_of(out, "stderr"))
        self.alive()


class Ends(KernelTest):
    def test_a_restart_starts_a_new_process(self):
        pid = self.manager.provisioner.pid
        self.manager.restart_kernel(now=False)
        self.client.wait_for_ready(timeout=20)
        self.assertNotEqual(pid, self.manager.provisioner.pid)
        self.alive()

    @unittest.skipIf(os.environ.get("TSAN_OPTIONS"), "ThreadSanitizer delays signals until the program calls a function that it knows")
    def test_a_shutdown_request_ends_the_kernel_while_a_cell_runs(self):
        self.client.execute("while true do end")
        time.sleep(0.3)
        process = self.manager.provisioner.process
        self.request("shutdown_request", {"restart": False}, self.client.control_channel)
        self.assertTrue(wait_until(lambda: process.poll() is not None, 5))
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.start()

    def test_the_kernel_ends_with_its_parent(self):
        shell = subprocess.Popen(["sh", "-c", f"{self.command()} & echo $!; sleep 30"], stdout=subprocess.PIPE, text=True)
        kernel = int(shell.stdout.readline())
        self.assertTrue(wait_until(lambda: os.path.exists(f"/proc/{kernel}")))
        time.sleep(0.5)
        shell.send_signal(signal.SIGKILL)
        shell.wait()
        self.assertTrue(wait_until(lambda: not os.path.exists(f"/proc/{kernel}"), 10))

    def command(self):
        """Returns a command that starts a kernel with another connection file."""
        from jupyter_client.connect import write_connection_file
        path = os.path.join(os.environ["XDG_STATE_HOME"], "other.json")
        write_connection_file(path, key=b"k")
        return f"{self.manager.kernel_spec.argv[0]} -f {path}"

    def test_bad_connection_files_are_refused(self):
        program = self.manager.kernel_spec.argv[0]
        path = os.path.join(os.environ["XDG_STATE_HOME"], "bad.json")
        for text in ("", "[]", "{}", '{"shell_port": "x"}', '{"key": "k", "signature_scheme": "hmac-md5", "shell_port": 1, '
                     '"control_port": 2, "iopub_port": 3, "stdin_port": 4, "hb_port": 5}'):
            with open(path, "w") as f:
                f.write(text)
            done = subprocess.run([program, "-f", path], capture_output=True, text=True, timeout=10)
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("nestwright-kernel: ", done.stderr)
        self.assertEqual(subprocess.run([program], capture_output=True, timeout=10).returncode, 2)


if __name__ == "__main__":
    unittest.main()
