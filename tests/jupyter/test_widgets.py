"""Tests controls without a browser. Sends the messages that a front end with ipywidgets 6 or ipywidgets 8 sends."""
import time
import unittest

from client import KernelTest, result_of, text_of, types

INTERACT = """
nw.interact({tile = {8, 16, 32}, way = {"slow", "fast", "loop"}, function(tile, way)
  print("tile is " .. tile)
  if way == "loop" then while true do end end
  return tile * 2
end}, {button = {"measure", function(tile) return "measured " .. tile end}})
"""


class Form:
    """The tests for all versions of ipywidgets. A subclass defines the messages of one version: `hello`, `changed`, `choice`."""

    def setUp(self):
        super().setUp()
        self.hello()
        reply, self.out = self.run_cell(INTERACT)
        self.assertEqual(reply["status"], "ok")
        self.models = {}
        for kind, content in self.out:
            if kind == "comm_open":
                state = content["data"].get("state", content["data"])
                self.models[state["_model_name"]] = (content["comm_id"], state)

    def send(self, model, data):
        return self.request("comm_msg", {"comm_id": self.models[model][0], "data": data})

    def change(self, model, state):
        return self.published_for(self.send(model, self.changed(state)))

    def updates(self, out):
        return [c for kind, c in out if kind == "update_display_data"]

    def test_controls_are_opened_and_shown_before_the_output(self):
        for name in ("SelectionSliderModel", "DropdownModel", "ButtonModel", "VBoxModel"):
            self.assertEqual(self.models[name][1]["_model_module"], self.module)
        shown = [c for kind, c in self.out if kind == "display_data"]
        view = shown[0]["data"]["application/vnd.jupyter.widget-view+json"]
        self.assertEqual(view["model_id"], self.models["VBoxModel"][0])
        self.assertEqual(shown[0]["data"].get("text/plain"), self.words)
        self.assertEqual(self.models["VBoxModel"][1]["children"],
                         ["IPY_MODEL_" + self.models[n][0] for n in ("SelectionSliderModel", "DropdownModel", "ButtonModel")])
        self.assertEqual(shown[1]["data"]["text/plain"], "tile = 8, way = slow\ntile is 8\n16")
        self.assertIn("tile is 8", shown[1]["data"]["text/html"])
        self.assertNotIn("stream", types(self.out))

    def test_the_output_changes_with_the_controls(self):
        shown = [c for kind, c in self.out if kind == "display_data"]
        out = self.change("SelectionSliderModel", self.choice(["8", "16", "32"], 2))
        self.assertEqual([c for c in types(out) if c != "update_display_data"], [])
        update = self.updates(out)[0]
        self.assertEqual(update["transient"]["display_id"], shown[1]["transient"]["display_id"])
        self.assertEqual(update["data"]["text/plain"], "tile = 32, way = slow\ntile is 32\n64")
        out = self.published_for(self.send("ButtonModel", {"method": "custom", "content": {"event": "click"}}))
        self.assertIn("measured 32", self.updates(out)[0]["data"]["text/plain"])
        self.assertEqual(self.updates(out)[0]["transient"]["display_id"], shown[2]["transient"]["display_id"])

    def test_output_of_child_processes_changes_with_the_controls(self):
        _, out = self.run_cell("""nw.interact{n = {1, 2}, function(n)
  print("lua " .. n)
  os.execute("echo child " .. n .. "; echo complaint " .. n .. " >&2")
  io.stderr:write("error " .. n .. "\\n")
  return "end"
end}""")
        wanted = 'n = %d\nlua %d\nchild %d\ncomplaint %d\nerror %d\n"end"'
        self.assertEqual([c["data"].get("text/plain") for kind, c in out if kind == "display_data"][-1], wanted % ((1,) * 5))
        self.assertNotIn("stream", types(out))
        for kind, content in out:
            if kind == "comm_open":
                state = content["data"].get("state", content["data"])
                if state["_model_name"] == "SelectionSliderModel":
                    slider = content["comm_id"]
        out = self.published_for(self.request("comm_msg", {"comm_id": slider, "data": self.changed(self.choice(["1", "2"], 1))}))
        self.assertEqual(self.updates(out)[0]["data"]["text/plain"], wanted % ((2,) * 5))
        self.assertNotIn("stream", types(out))

    def test_an_interrupt_stops_work_that_a_control_started(self):
        message = self.send("DropdownModel", self.changed(self.choice(["slow", "fast", "loop"], 2)))
        time.sleep(0.3)
        self.manager.interrupt_kernel()
        out = self.published_for(message)
        self.assertNotIn("stream", types(out))
        self.assertIn("way = loop\ntile is 8\ninterrupted", self.updates(out)[0]["data"]["text/plain"])
        reply, out = self.run_cell("print 'as before'\n1 + 1")
        self.assertEqual(text_of(out), "as before\n")
        self.assertEqual(result_of(out), "2")
        out = self.change("DropdownModel", self.choice(["slow", "fast", "loop"], 1))
        self.assertIn("tile = 8, way = fast\ntile is 8\n16", self.updates(out)[0]["data"]["text/plain"])

    def test_work_that_a_button_started_shows_its_progress(self):
        _, out = self.run_cell("""nw.interact({a = {1, 2}, function(a) return a end}, {button = {"go", function()
            local p = nw.progress(3, "work")
            for _ = 1, 3 do os.execute "sleep 0.15" p:step() end
            return "done"
          end}})""")
        button = [c["comm_id"] for kind, c in out
                  if kind == "comm_open" and c["data"].get("state", c["data"])["_model_name"] == "ButtonModel"]
        click = {"method": "custom", "content": {"event": "click"}}
        out = self.published_for(self.request("comm_msg", {"comm_id": button[0], "data": click}))
        texts = [c["data"]["text/plain"] for c in self.updates(out)]
        self.assertTrue(any("1 of 3" in t for t in texts), texts)
        self.assertIn("3 of 3", texts[-1])
        self.assertIn("done", texts[-1])

    def test_invalid_messages_are_ignored(self):
        for data in ({}, {"method": 7}, {"method": "update"}, {"method": "update", "state": 5}, {"method": "backbone", "sync_data": "x"},
                     {"method": "custom", "content": "x"}, {"method": "custom"}, self.changed({"index": 10 ** 9, "value": "no"}),
                     self.changed({"index": -1, "value": None}), self.changed({"index": 1.5, "value": [1]})):
            for model in ("SelectionSliderModel", "ButtonModel"):
                self.assertEqual(types(self.published_for(self.send(model, data))), [], data)
        self.alive()
        out = self.published_for(self.send("SelectionSliderModel", {"method": "request_state"}))
        for key, value in self.choice(["8", "16", "32"], 0).items():
            self.assertEqual(dict(out)["comm_msg"]["data"]["state"][key], value)

    def test_a_reloaded_page_gets_the_state_of_the_controls(self):
        self.change("SelectionSliderModel", self.choice(["8", "16", "32"], 1))
        out = self.published_for(self.send("SelectionSliderModel", {"method": "request_state"}))
        sent = dict(out)["comm_msg"]["data"]
        self.assertEqual(sent["method"], "update")
        for key, value in self.choice(["8", "16", "32"], 1).items():
            self.assertEqual(sent["state"][key], value)


class Six(Form, KernelTest):
    module, words = "jupyter-js-widgets", None

    def hello(self):
        out = self.published_for(self.request("comm_open", {"comm_id": "v%f" % time.time(), "data": {},
                                                            "target_name": "jupyter.widget.version"}))
        self.assertEqual(dict(out)["comm_msg"]["data"], {"version": "~2.1.4"})

    def changed(self, state):
        return {"method": "backbone", "sync_data": state, "buffer_keys": []}

    def choice(self, labels, n):
        return {"value": labels[n]}

    def test_a_message_tells_the_front_end_to_show_the_box(self):
        asked = [c for kind, c in self.out if kind == "comm_msg" and c["data"] == {"method": "display"}]
        self.assertEqual([c["comm_id"] for c in asked], [self.models["VBoxModel"][0]])


class Eight(Form, KernelTest):
    module, words = "@jupyter-widgets/controls", "controls: tile (8, 16, 32), way (slow, fast, loop)"

    def hello(self):
        self.control = "c%f" % time.time()
        self.published_for(self.request("comm_open", {"comm_id": self.control, "data": {}, "target_name": "jupyter.widget.control"}))

    def changed(self, state):
        return {"method": "update", "state": state, "buffer_paths": []}

    def choice(self, labels, n):
        return {"index": n}

    def test_one_message_gives_the_states_of_all_controls(self):
        out = self.published_for(self.request("comm_msg", {"comm_id": self.control, "data": {"method": "request_states"}}))
        states = dict(out)["comm_msg"]["data"]["states"]
        identity, state = self.models["SelectionSliderModel"]
        self.assertEqual(states[identity]["model_name"], "SelectionSliderModel")
        self.assertEqual(states[identity]["state"]["_options_labels"], ["8", "16", "32"])


if __name__ == "__main__":
    unittest.main()
