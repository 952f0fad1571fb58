"""Runs jupyter_kernel_test on the kernel, with all the samples that it can use."""
import unittest

import jupyter_kernel_test as jkt


class Suite(jkt.KernelTests):
    kernel_name = "nestwright"
    language_name = "lua"
    file_extension = ".lua"
    code_hello_world = 'print "hello, world"'
    code_stderr = 'io.stderr:write "test\\n"'
    completion_samples = [
        {"text": "nw.place", "matches": {"nw.placeholder"}},
        {"text": "string.fo", "matches": {"string.format"}},
        {"text": "retu", "matches": {"return"}},
    ]
    complete_code_samples = ["1", "x = 1", "for i = 1, 3 do end", "return 1\n+ 2", "x = 1\nx", "?nw.sum"]
    incomplete_code_samples = ["for i = 1, 3 do", "f(", "x = {", 'print "a" if x then']
    invalid_code_samples = ["x = = 1", "end", "for for"]
    code_page_something = "?nw.sum"
    code_generate_error = 'error "no"'
    code_execute_result = [
        {"code": "1+2", "result": "3"},
        {"code": "local x = 4\nx", "result": "4"},
        {"code": "x = 6\nmath.max(x,\n  2)", "result": "6"},
        {"code": "y = 1\nx = y\n-3\nx", "result": "-2"},
        {"code": "z = math.max\n(4, 5)\nz", "result": "5"},
        {"code": "\nx = 5 -- five\n{x,\nx} -- twice\n", "result": "{5, 5}"},
        {"code": "'a' .. 'b'", "result": '"ab"'},
        {"code": "nw.html '<b>x</b>'", "result": "<b>x</b>", "mime": "text/html"},
    ]
    code_display_data = [
        {"code": "nw.display(nw.html '<b>x</b>')", "mime": "text/html"},
        {"code": "nw.display(7)", "mime": "text/plain"},
        {"code": "local X = nw.placeholder({4}, 'f32', 'X'); nw.display(nw.spacetime(nw.schedule("
                 "nw.compute({4}, function(i) return X(i) + 1 end, 'Y'))))", "mime": "image/svg+xml"},
    ]
    supported_history_operations = ("tail", "range", "search")
    code_history_pattern = "1?2*"
    code_inspect_sample = "nw.placeholder"
    code_clear_output = "nw.clear_output()"
    support_iopub_welcome = True


if __name__ == "__main__":
    unittest.main()
