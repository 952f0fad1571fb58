--- Tests nw.interact at the prompt, and with a front end that records its messages and answers as ipywidgets 6 or 8 does.
local nw = require "nestwright"
local comms = require "nestwright.notebook.comms"
local display = require "nestwright.show.display"
local json = require "nestwright.show.json"
local support = require "support"
local widgets = require "nestwright.notebook.widgets"
local fails = support.fails

widgets.listen()

-- Calls f(front) while a front end is connected. `form` is the version of ipywidgets that the front end imitates, 6 or 8. `front`
-- has the messages that it received, and functions for actions of the user.
local function with_front(form, f)
  local seen = {}
  display.connect {publish = function(kind, content, metadata)
    seen[#seen + 1] = {kind = kind, content = json.decode(content), metadata = metadata and json.decode(metadata)}
  end}
  comms.opened {comm_id = "hello" .. form, target_name = form == 6 and "jupyter.widget.version" or "jupyter.widget.control"}
  local front = {seen = seen}
  function front.models(name)
    local out = {}
    for _, m in ipairs(seen) do
      local state = m.kind == "comm_open" and (m.content.data.state or m.content.data)
      if state and state._model_name == name then
        out[#out + 1] = {id = m.content.comm_id, state = state, metadata = m.metadata, content = m.content}
      end
    end
    return out
  end
  function front.of(kind)
    local out = {}
    for _, m in ipairs(seen) do if m.kind == kind then out[#out + 1] = m.content end end
    return out
  end
  -- Sends a change of the state, as this version of ipywidgets sends it after an action of the user.
  function front.change(model, changed)
    local data = form == 6 and {method = "backbone", sync_data = changed, buffer_keys = {}}
      or {method = "update", state = changed, buffer_paths = {}}
    comms.received {comm_id = model.id, data = data}
  end
  function front.click(model) comms.received {comm_id = model.id, data = {method = "custom", content = {event = "click"}}} end
  local ok, err = pcall(f, front)
  display.connect(nil)
  if not ok then error(err, 0) end
end

local function last(list) return list[#list] end
local function text(message) return message.data["text/plain"] end

for _, form in ipairs {6, 8} do
  describe("nw.interact with the widgets of " .. form, function()
    it("opens a model for each control, with a layout, in a box", function()
      with_front(form, function(front)
        nw.interact {tile = {8, 16, 32}, way = {"rows", "columns"}, n = {min = 1, max = 9, step = 2},
          x = {min = 0, max = 1, step = 0.5}, unroll = true, function(tile, way, n, x, unroll) return tile, way, n, x, unroll end}
        local module = form == 6 and "jupyter-js-widgets" or "@jupyter-widgets/controls"
        for _, name in ipairs {"SelectionSlider", "Dropdown", "IntSlider", "FloatSlider", "Checkbox", "VBox"} do
          local model = assert(front.models(name .. "Model")[1], name)
          assert.equal(module, model.state._model_module)
          assert.equal(name .. "View", model.state._view_name)
          assert.truthy(model.state.layout:find "^IPY_MODEL_")
          assert.equal("jupyter.widget", model.content.target_name)
          assert.same(form == 6 and {} or {version = "2.1.0"}, model.metadata)
        end
        local box = front.models "VBoxModel" [1]
        assert.equal(5, #box.state.children)
        assert.equal("IPY_MODEL_" .. front.models "SelectionSliderModel" [1].id, box.state.children[1])
        assert.same({min = 1, max = 9, step = 2, value = 1}, {min = front.models "IntSliderModel" [1].state.min,
          max = front.models "IntSliderModel" [1].state.max, step = front.models "IntSliderModel" [1].state.step,
          value = front.models "IntSliderModel" [1].state.value})
        local shown = front.of "display_data"
        assert.equal(box.id, shown[1].data["application/vnd.jupyter.widget-view+json"].model_id)
        assert.equal('tile = 8, way = rows, n = 1, x = 0, unroll = true\n8\n"rows"\n1\n0\ntrue', text(shown[2]))
        assert.truthy(shown[2].data["text/html"]:find "tile = 8")
      end)
    end)

    it("shows the results of each action of the user in the same output", function()
      with_front(form, function(front)
        nw.interact {tile = {8, 16, 32}, way = {"rows", "columns"}, on = false, n = {min = 1, max = 9},
          function(tile, way, on, n) return ("%d %s %s %s"):format(tile, way, on, n) end}
        local function updated() return last(front.of "update_display_data") end
        local slider, list = front.models "SelectionSliderModel" [1], front.models "DropdownModel" [1]
        front.change(slider, form == 6 and {value = "32"} or {index = 2})
        assert.truthy(text(updated()):find "32 rows false 1")
        assert.equal(front.of "display_data" [2].transient.display_id, updated().transient.display_id)
        front.change(list, form == 6 and {value = "columns"} or {index = 1})
        front.change(front.models "CheckboxModel" [1], {value = true})
        front.change(front.models "IntSliderModel" [1], {value = 7})
        assert.truthy(text(updated()):find "32 columns true 7")
        assert.equal(4, #front.of "update_display_data")
        front.change(slider, form == 6 and {value = "32"} or {index = 2}) -- the value is unchanged
        assert.equal(4, #front.of "update_display_data")
      end)
    end)

    it("refuses impossible values", function()
      with_front(form, function(front)
        nw.interact {tile = {8, 16}, n = {min = 1, max = 9}, on = false, function(tile, n, on) return tile, n, on end}
        local slider, number, box = front.models "SelectionSliderModel" [1], front.models "IntSliderModel" [1],
          front.models "CheckboxModel" [1]
        for _, bad in ipairs {{index = 7}, {index = -1}, {index = "x"}, {value = "64"}, {value = {}}, {}} do
          front.change(slider, bad)
          front.change(number, bad)
          front.change(box, bad)
        end
        for _, bad in ipairs {100, -3, 0 / 0, 2.5} do front.change(number, {value = bad}) end
        comms.received {comm_id = slider.id, data = {method = "nothing known"}}
        comms.received {comm_id = slider.id, data = {}}
        assert.equal(0, #front.of "update_display_data")
      end)
    end)

    it("calls the function of a button when it is pressed", function()
      with_front(form, function(front)
        local calls = 0
        nw.interact({tile = {8, 16}, function(tile) return tile end}, {button = {"measure", function(tile)
          calls = calls + 1
          return ("measured %d"):format(tile)
        end}})
        assert.equal(0, calls)
        assert.truthy(text(front.of "display_data" [3]):find "press measure")
        front.click(front.models "ButtonModel" [1])
        assert.equal(1, calls)
        assert.truthy(text(last(front.of "update_display_data")):find "measured 8")
        front.change(front.models "SelectionSliderModel" [1], form == 6 and {value = "16"} or {index = 1})
        assert.truthy(text(last(front.of "update_display_data")):find "press measure") -- the old figure is for other values
        assert.equal(1, calls)
      end)
      with_front(form, function(front)
        local calls = 0 -- the number of calls with a tile of 16
        nw.interact({tile = {8, 16}, function(tile) calls = calls + tile // 16 end}, {button = "run"})
        assert.equal(0, calls)
        front.change(front.models "SelectionSliderModel" [1], form == 6 and {value = "16"} or {index = 1})
        assert.equal(0, calls)
        front.click(front.models "ButtonModel" [1])
        assert.equal(1, calls)
      end)
    end)

    it("sends its state to a page that is loaded again", function()
      with_front(form, function(front)
        nw.interact {tile = {8, 16}, function(tile) return tile end}
        local slider, box = front.models "SelectionSliderModel" [1], front.models "VBoxModel" [1]
        front.change(slider, form == 6 and {value = "16"} or {index = 1})
        comms.received {comm_id = slider.id, data = {method = "request_state"}}
        local sent = last(front.of "comm_msg")
        assert.equal(slider.id, sent.comm_id)
        assert.equal("update", sent.data.method)
        assert.equal(form == 6 and "16" or 1, sent.data.state[form == 6 and "value" or "index"])
        if form == 6 then
          comms.received {comm_id = box.id, data = {method = "request_state"}}
          front.change(slider, {value = "8"})
          assert.equal("clear_output", front.seen[#front.seen - 1].kind)
          assert.equal("display_data", last(front.seen).kind)
        else
          comms.received {comm_id = "hello8", data = {method = "request_states"}}
          local states = last(front.of "comm_msg").data.states
          assert.equal("SelectionSliderModel", states[slider.id].model_name)
          assert.equal(1, states[slider.id].state.index)
        end
      end)
    end)
  end)
end

describe("nw.interact", function()
  it("shows the output of the function in order, with pictures as images", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    with_front(8, function(front)
      nw.interact {tile = {2, 4}, function(tile)
        local s = support.gemm(4, 4, 4)
        print("first", tile)
        nw.display(nw.spacetime(s, {levels = {{bytes = 256, ways = 2}}}))
        io.write "second"
        s:split("i", tile)
        return s, nil, 7
      end}
      local data = front.of "display_data" [2].data
      local html = data["text/html"]
      local at = 0
      for _, part in ipairs {"first\t2", 'src="data:image/svg+xml;base64,', "second", "<details", "nil", ">7<"} do
        at = assert(html:find(part, at + 1, true), part)
      end
      assert.truthy(data["text/plain"]:find("for i_o in 0..2", 1, true))
      assert.equal(2, #front.of "display_data")
      assert.equal(0, #front.of "stream")
    end)
  end)

  it("shows an error in place of the results, and continues", function()
    with_front(8, function(front)
      nw.interact {i = {1, 2, 3}, function(i)
        if i == 2 then error "no" end
        local s = support.gemm(4, 4, 4)
        if i == 3 then s:parallel "k" end
        return "fine"
      end}
      local slider = front.models "SelectionSliderModel" [1]
      front.change(slider, {index = 1})
      assert.truthy(text(last(front.of "update_display_data")):find "no")
      front.change(slider, {index = 2})
      assert.truthy(text(last(front.of "update_display_data")):find "cannot run k in parallel")
      front.change(slider, {index = 0})
      assert.truthy(text(last(front.of "update_display_data")):find "fine")
      assert.equal(print, _G.print)
    end)
  end)

  it("waits until the slider is released if times are measured, or if an option says so", function()
    local function continuous(f, options)
      local found
      with_front(8, function(front)
        nw.interact({i = {1, 2}, f}, options)
        found = front.models "SelectionSliderModel" [1].state.continuous_update
      end)
      return found
    end
    local function quick(i) return i end
    local function timed(i) return i and support.gemm(4, 4, 4):time {reps = 1} end
    assert.is_true(continuous(quick))
    assert.is_falsy(continuous(timed))
    assert.is_falsy(continuous(quick, {release = true}))
    assert.is_true(continuous(timed, {release = false}))
  end)

  it("tells the front end to wait for the release as soon as it finds that times are measured", function()
    with_front(8, function(front)
      nw.interact {i = {1, 2}, on = false, function(i, on)
        return i == 2 and support.gemm(4, 4, 4):time {reps = 1} or on
      end}
      local slider = front.models "SelectionSliderModel" [1]
      assert.is_true(slider.state.continuous_update)
      front.change(slider, {index = 1})
      local sent = front.of "comm_msg"
      assert.equal(slider.id, last(sent).comm_id)
      assert.same({continuous_update = false}, last(sent).data.state)
    end)
  end)

  it("accepts controls in a given order, and initial values", function()
    with_front(8, function(front)
      nw.interact({{"b", {1, 2}}, {"a", {"x", "y"}}, function(...) return ... end}, {start = {b = 2, a = "y"}})
      assert.truthy(text(front.of "display_data" [2]):find "^b = 2, a = y\n")
      assert.equal(1, front.models "SelectionSliderModel" [1].state.index)
      nw.interact({n = {min = 0, max = 1, step = 0.25}, on = true, function(n, on) return n, on end},
        {start = {n = 0.5, on = false}})
      assert.truthy(text(last(front.of "display_data")):find "^n = 0.5, on = false\n")
    end)
  end)

  it("shows the results for the initial values at the prompt", function()
    local program = support.program .. " -e "
    local out = support.run(program .. "'nw.interact({tile = {8, 16}, function(tile) print \"in\" return tile * 2 end}, "
      .. "{start = {tile = 16}})'")
    assert.equal("tile = 16   (one of 8, 16; a notebook shows a control for it)\nin\n32\n", out)
    out = support.run(program .. "'nw.interact({n = {min = 1, max = 3}, function(n) return n end}, {button = \"go\"})'")
    assert.equal("n = 1   (one of 1 to 3 by 1; a notebook shows a control for it)\n1\n", out)
  end)

  it("says what is wrong with its arguments", function()
    local function f(a) return a end
    local function bad(pattern, ...) fails(pattern, "invalid", nw.interact, ...) end
    bad("expected a table", 7)
    bad("there is no function", {a = {1}})
    bad("two functions", {a = {1}, f, f})
    bad("no value is given for the argument 'a'", {b = {1}, f})
    bad("has no argument 'b'", {a = {1}, b = {1}, f})
    bad("has no argument 'b'", {b = {1}, function(...) return ... end})
    bad("no arguments to control", {function() end})
    bad("a: expected a list of 1 to 1000 values", {a = {}, f})
    bad("a: values must be numbers", {a = {{}}, f})
    bad("'1' is listed twice", {a = {1, 1}, f})
    bad("a: expected its possible values, got", {a = "x", f})
    bad("a: max: expected a number", {a = {min = 1}, f})
    bad("is not a range", {a = {min = 2, max = 1}, f})
    bad("is not a range", {a = {min = 1, max = 2, step = 0}, f})
    bad("is not a range", {a = {min = 1, max = 2, step = 0 / 0}, f})
    bad("is not a range", {a = {min = -math.huge, max = 2}, f})
    bad("unknown option 'by'", {a = {min = 1, max = 2, by = 1}, f})
    bad("unknown option 'buton'", {a = {1}, f}, {buton = "x"})
    bad("button: expected a string or a table, got a number", {a = {1}, f}, {button = 7})
    bad("start: a cannot be 3", {a = {1, 2}, f}, {start = {a = 3}})
    bad("start: b cannot be 3", {a = {1, 2}, f}, {start = {b = 3}})
    bad("release: expected a boolean", {a = {1, 2}, f}, {release = 1})
    bad("expected a function, or a name with its values", {7, f})
  end)
end)
