--- nw.interact shows controls for the arguments of a function, and updates the function's results when a control changes.
local core = require "nestwright.core"
local display = require "nestwright.show.display"
local errors = require "nestwright.language.errors"
local html = require "nestwright.show.html"
local mime = require "nestwright.show.mime"
local rows = require "nestwright.language.rows"
local times = require "nestwright.measure.times"
local view = require "nestwright.show.view"

local SLOW = 0.25 -- seconds; a function that takes longer is called only after the mouse button is released
local MOST = 1000 -- the largest number of values of a list

-- ---- the arguments

local HINT = "a list {8, 16}, a range {min = 1, max = 64, step = 1}, true or false"

local function fail(hint, message, ...) errors.fail("invalid", hint, "interact: " .. message, ...) end

local function range(name, value)
  local o = errors.options("interact: " .. name, value, {"min", "max", "step"})
  for _, key in ipairs {"min", "max"} do errors.expect(("interact: %s: %s"):format(name, key), o[key], "number") end
  local step = o.step or 1
  errors.expect(("interact: %s: step"):format(name), step, "number")
  if not (o.min <= o.max and step > 0 and o.max - o.min < math.huge) then
    fail("min must be at most max, and step above 0", "%s: {min = %s, max = %s, step = %s} is not a range", name, o.min, o.max,
      step)
  end
  local whole = math.tointeger(o.min) and math.tointeger(o.max) and math.tointeger(step)
  return {kind = "range", name = name, min = o.min, max = o.max, step = step, whole = whole ~= nil, value = o.min}
end

local SCALAR = {number = true, string = true, boolean = true}

local function list(name, values)
  local labels, numbers, seen = {}, true, {}
  if #values == 0 or #values > MOST then fail(HINT, "%s: expected a list of 1 to %d values, got %d", name, MOST, #values) end
  for n, value in ipairs(values) do
    if type(value) == "string" then errors.label(("interact: %s[%d]"):format(name, n), value) end
    if not SCALAR[type(value)] then
      fail(nil, "%s: values must be numbers, strings or booleans, not %s", name, core.type_name(value))
    end
    numbers, labels[n] = numbers and type(value) == "number", tostring(value)
    if seen[labels[n]] then fail(nil, "%s: '%s' is listed twice", name, labels[n]) end
    seen[labels[n]] = true
  end
  return {kind = "list", name = name, values = values, labels = labels, slider = numbers and #values > 1, index = 1,
    value = values[1]}
end

local function control(name, value)
  if type(name) ~= "string" then fail(HINT, "names must be strings, not %s", core.type_name(name)) end
  errors.label("interact: name", name)
  if type(value) == "boolean" then return {kind = "box", name = name, value = value} end
  if type(value) ~= "table" or getmetatable(value) then
    fail(HINT, "%s: expected its possible values, got %s", name, core.type_name(value))
  end
  if value.min ~= nil or value.max ~= nil then return range(name, value) end
  return list(name, value)
end

-- Returns the controls of the arguments that are given in order, as in {"tile", {8, 16}}, and the function.
local function placed(spec)
  local out, f = {}, nil
  for _, item in ipairs(spec) do
    if type(item) == "function" then
      f = f and fail("put the second one on a button: {button = {\"measure\", function}}", "there are two functions") or item
    elseif type(item) == "table" and #item == 2 then
      out[#out + 1] = control(item[1], item[2])
    else
      fail("{\"tile\", {8, 16, 32}}", "spec: expected a function, or a name with its values, got %s", core.type_name(item))
    end
  end
  return out, f or fail("nw.interact{tile = {8, 16, 32}, function(tile) ... end}", "spec: there is no function")
end

-- Returns the controls of all arguments, and the function. Arguments that are not given in order are matched by name with the
-- parameters of the function.
local function arguments_of(spec)
  local found, f = placed(spec)
  local named, left, names = {}, 0, {}
  for key, value in pairs(spec) do
    if type(key) == "string" then named[key], left, names[#names + 1] = control(key, value), left + 1, key end
  end
  table.sort(names)
  for n = #found + 1, debug.getinfo(f, "u").nparams do
    local name = debug.getlocal(f, n)
    found[n] = named[name] or fail("the names given are " .. (names[1] and table.concat(names, ", ") or "none"),
      "no value is given for the argument '%s' of the function", name)
    named[name], left = nil, left - 1
  end
  if left > 0 then
    fail("give the function an argument of this name, or give the values in order: {\"" .. next(named) .. "\", values}",
      "the function has no argument '%s'", next(named))
  end
  if #found == 0 then fail(HINT, "there are no arguments to control") end
  return found, f
end

-- ---- output

local function plain(value) return require "nestwright.show.prompt".text(false, value) end

local function words_of(c) return ("%s = %s"):format(c.name, tostring(c.value)) end

local function choice_of(c)
  if c.kind == "list" then return table.concat(c.labels, ", ") end
  return c.kind == "range" and ("%s to %s by %s"):format(c.min, c.max, c.step) or "true, false"
end

local function choices(controls)
  local out = {}
  for n, c in ipairs(controls) do out[n] = ("%s (%s)"):format(c.name, choice_of(c)) end
  return table.concat(out, ", ")
end

local function heading(controls)
  local out = {}
  for n, c in ipairs(controls) do out[n] = words_of(c) end
  return table.concat(out, ", ")
end

-- Calls the function. Returns a list of items: {text} for text that the function printed, and {value} for values that it showed or
-- returned. show(items) displays the items so far; `show` may be nil.
local function call(f, controls, show)
  local arguments = {}
  for n, c in ipairs(controls) do arguments[n] = c.value end
  function display.unfinished(items)
    items[#items + 1] = {text = "interrupted"}
    show(items)
  end
  display.partly = show
  if not show then display.unfinished = nil end
  local results = table.pack(display.caught(f, table.unpack(arguments, 1, #controls)))
  display.unfinished, display.partly = nil, nil
  local items, ok = results[1], results[2]
  local notes = require "nestwright.show.prompt".notes()
  if notes then items[#items + 1] = {text = notes} end
  if not ok then
    local err = results[3]
    if errors.is_error(err) and err.code == "interrupt" then error(err, 0) end
    local text = require "nestwright.show.prompt".error_text
    items[#items + 1] = errors.is_error(err) and {value = err} or {text = text(err, nil, false)}
  end
  for n = 3, ok and results.n or 0 do
    if results[n] ~= nil or n < results.n then items[#items + 1] = {value = results[n]} end
  end
  return items
end

-- Combines all results in one output, because the page would jump if the number of outputs changed.
local function together(head, items)
  local pieces, texts = {"<p><b>" .. html.escape(head) .. "</b></p>"}, {head}
  for _, item in ipairs(items) do
    local piece, text
    if item.text then
      text = item.text:gsub("\n$", "")
      piece = html.pre(text)
    else
      piece, text = mime.piece(item.value, plain)
    end
    pieces[#pieces + 1], texts[#texts + 1] = piece, text
  end
  local page, text = table.concat(pieces, "\n"), table.concat(texts, "\n")
  return view.new(function(style) return style == "html" and page or text end)
end

-- ---- at the prompt

local function at_prompt(controls, f, o)
  for _, c in ipairs(controls) do
    display.print(("%s   (one of %s; a notebook shows a control for it)"):format(words_of(c), choice_of(c)))
  end
  local items = f and call(f, controls) or {}
  for _, item in ipairs(o.label and call(o.run, controls) or {}) do items[#items + 1] = item end
  for _, item in ipairs(items) do display.print(item.text and item.text:gsub("\n$", "") or plain(item.value)) end
end

-- ---- in a notebook

local function follows(live, c)
  return function(value)
    if value == c.value then return end
    c.value = value
    live.show()
  end
end

local MODEL = {}

function MODEL.box(c, live)
  local set = follows(live, c)
  return live.new("Checkbox", {description = c.name, value = c.value}, function(changed)
    if type(changed.value) ~= "boolean" then return false end
    set(changed.value)
  end)
end

function MODEL.range(c, live)
  local set = follows(live, c)
  local state = {description = c.name, value = c.value, min = c.min, max = c.max, step = c.step,
    continuous_update = not live.release}
  return live.new(c.whole and "IntSlider" or "FloatSlider", state, function(changed)
    local v = type(changed.value) == "number" and changed.value
    if v and c.whole then v = math.tointeger(v) end
    if not (v and v >= c.min and v <= c.max) then return false end
    set(v)
  end)
end

function MODEL.list(c, live)
  local set = follows(live, c)
  local state = {description = c.name, continuous_update = c.slider and not live.release or nil}
  return live.choice(c.slider and "SelectionSlider" or "Dropdown", c.labels, c.index, state, function(n) set(c.values[n]) end)
end

-- Calls the function, and returns the items from `call`. Sets live.release if the function is slow or measures times. The function
-- is then called only after the mouse button is released. The option `release` overrides this.
local function watched(f, controls, live, show)
  local made, from = times.made, core.now()
  local items = call(f, controls, show)
  if not live.asked and (times.made > made or core.now() - from > SLOW) and not live.release then
    live.release = true
    for n, model in ipairs(live.models) do
      if controls[n].kind ~= "box" then model:send {continuous_update = false} end
    end
  end
  return items
end

local function in_notebook(controls, f, o)
  local widgets = require "nestwright.notebook.widgets"
  local live = {models = {}, new = widgets.new, choice = widgets.choice, asked = o.release ~= nil, release = o.release}
  local first = f and watched(f, controls, live) or {}
  local output, below
  local function page(items) return together(heading(controls), items) end
  local function press() return page {{text = "press " .. o.label}} end
  -- After the page is reloaded, its outputs cannot be updated, because they have no ids. They are replaced by new outputs.
  local function put(result, lower)
    if live.reloaded then
      live.reloaded = false
      display.front().publish("clear_output", "{\"wait\": true}")
      output, below = display.new(result), below and display.new(lower)
    else
      output:update(result)
      if below then below:update(lower) end
    end
  end
  local function put_upper(items) put(page(items), below and press()) end
  function live.show()
    if f then put_upper(watched(f, controls, live, put_upper)) else put(press(), below and press()) end
  end
  local function put_pressed(items)
    local result = page(items)
    if not below then put(result) elseif live.reloaded then put(page(call(f, controls)), result) else below:update(result) end
  end
  local function pressed(content)
    if content.event == "click" then put_pressed(call(o.run, controls, put_pressed)) end
  end
  local children = {}
  for n, c in ipairs(controls) do
    live.models[n] = MODEL[c.kind](c, live)
    children[n] = live.models[n]:reference()
  end
  if o.label then
    children[#children + 1] = widgets.new("Button", {description = o.label}, nil, pressed):reference()
  end
  local box = widgets.new("VBox", {children = children})
  function box.on_reload() live.reloaded = widgets.apart() end
  widgets.show(box, "controls: " .. choices(controls))
  output = display.new(f and page(first) or press())
  if f and o.label then below = display.new(press()) end
end

-- Reads the option `button`. Sets o.label to the label of the button. Sets o.run to the function that the button calls: the given
-- function, or `f` if only a label is given. Returns the function that is called when a control changes, or nil if there is none.
local function button_of(o, f)
  local b = o.button
  if b == nil then return f end
  if type(b) == "string" then
    o.label, o.run = b, f
    return nil
  end
  if type(b) ~= "table" or type(b[1]) ~= "string" or type(b[2]) ~= "function" then
    fail("button = \"measure\", or {\"measure\", function(tile) ... end}", "button: expected a label, got %s",
      core.type_name(b))
  end
  o.label, o.run = b[1], b[2]
  return f
end

local function start(controls, given)
  for name, value in pairs(errors.expect("interact: start", given or {}, "table")) do
    local found
    for _, c in ipairs(controls) do
      if c.name == name then
        for n, v in ipairs(c.values or {}) do if v == value then c.index, found = n, true end end
        found = found or c.kind == "box" and type(value) == "boolean"
          or c.kind == "range" and type(value) == "number" and value >= c.min and value <= c.max
        if found then c.value = value end
      end
    end
    if not found then fail(nil, "start: %s cannot be %s", tostring(name), tostring(value)) end
  end
end

local function interact(spec, options)
  if type(spec) ~= "table" then
    fail("nw.interact{tile = {8, 16, 32}, function(tile) ... end}", "expected a table, got %s", core.type_name(spec))
  end
  local o = errors.options("interact", options, {"button", "release", "start"})
  local controls, f = arguments_of(spec)
  start(controls, o.start)
  if o.release ~= nil then errors.expect("interact: release", o.release, "boolean") end
  f = button_of(o, f)
  if display.front() then in_notebook(controls, f, o) else at_prompt(controls, f, o) end
end

return function(nw)
  rows.define(nw, "nw", "notebook", "interact",
    "(spec: table, options?: {button?: nw.label|table, release?: boolean, start?: table})",
    "Shows controls for the arguments of a function in a notebook; the results and output of the function follow the controls. "
    .. "Example: nw.interact{tile = {8, 16, 32}, function(tile) ... end}. A list of numbers gets a slider. Another list gets "
    .. "a drop-down list. {min = 1, max = 64, step = 1} gets a slider. A boolean gets a checkbox. Arguments are matched by name, "
    .. "or given in order: {{\"tile\", {8, 16}}, {\"unroll\", true}, function(t, u) ... end}. A function that measures times, or "
    .. "is slow, is called when a slider is released; release = true or false overrides this. button = \"measure\": the function "
    .. "is called when the button is pressed; button = {\"measure\", g}: the button calls g, whose results appear below. start: "
    .. "initial values, {tile = 16}. A saved notebook keeps the last results; the prompt shows the results for the initial values.",
    interact)
end
