--- Makes controls of ipywidgets without its Python package. Controls communicate with the front end over comms. Two message formats
--- are supported: the format of ipywidgets 6, which Debian has, and the format of 7 and 8 (Jupyter Widgets, "model state",
--- "messages").
local errors = require "nestwright.language.errors"
local comms = require "nestwright.notebook.comms"
local display = require "nestwright.show.display"
local json = require "nestwright.show.json"

local widgets = {}

-- These ranges of versions fit front ends of ipywidgets 7 and 8.
local BASE, CONTROLS = {"@jupyter-widgets/base", "^1.2.0 || ^2.0.0"}, {"@jupyter-widgets/controls", "^1.5.0 || ^2.0.0"}
local SIX = {"jupyter-js-widgets", "~2.1.4"}

-- ---- the message format

local form -- 6 or 8, once a front end has reported it
local models = {} -- all models by id

local FORMS = {["6"] = 6, ["7"] = 8, ["8"] = 8}

--- Returns the message format. It is the format that NESTWRIGHT_WIDGETS selects. If this variable is not set, it is the format that
--- the front end uses or, if that is not known yet, the format of 7 and 8.
function widgets.form()
  local asked = os.getenv "NESTWRIGHT_WIDGETS"
  if asked == nil or asked == "" then return form or 8 end
  return FORMS[asked] or errors.fail("invalid", "unset it: the message format is then detected",
    "NESTWRIGHT_WIDGETS: expected 6, 7 or 8, got %s",
    asked)
end

-- Answers front ends of ipywidgets 6, which request the version when they load.
local function version_asked(comm)
  form = 6
  comm:send {version = SIX[2]}
end

local function all_states()
  local out = {}
  for id, model in pairs(models) do
    local s = model.state
    out[id] = {model_name = s._model_name, model_module = s._model_module, model_module_version = s._model_module_version,
      state = s}
  end
  return out
end

-- Answers front ends of ipywidgets 7 and 8, which request all states when a page is reopened.
local function control_opened(comm)
  form = 8
  comm.on_message = function(data)
    if data.method == "request_states" then comm:send {method = "update_states", states = all_states()} end
  end
end

--- Starts to listen to front ends. This function is called when the kernel starts, because a front end sends the first message.
function widgets.listen()
  comms.register("jupyter.widget.version", version_asked)
  comms.register("jupyter.widget.control", control_opened)
end

-- ---- models

local methods = {}
local meta = {__index = methods}

local function named(state, name, view, module)
  if widgets.form() == 6 then module = SIX end
  state._model_name, state._model_module, state._model_module_version = name .. "Model", module[1], module[2]
  state._view_name, state._view_module, state._view_module_version = view and name .. "View" or nil, module[1], module[2]
  return state
end

local function received(model, data)
  local changed = data.method == "update" and data.state or data.method == "backbone" and data.sync_data
  if data.method == "request_state" then
    model:send(model.state)
    if model.on_reload then model.on_reload() end
  elseif type(changed) == "table" then
    if model.on_change and model.on_change(changed) == false then return end
    for key, value in pairs(changed) do model.state[key] = value end
  elseif data.method == "custom" and model.on_event then
    model.on_event(data.content or {})
  end
end

local function open(state)
  local model = setmetatable({state = state}, meta)
  local function on_message(data) received(model, data) end
  if widgets.form() == 6 then
    model.comm = comms.open("jupyter.widget", state, on_message)
  else
    model.comm = comms.open("jupyter.widget", {state = state}, on_message, {version = "2.1.0"})
  end
  models[model.comm.id] = model
  return model
end

--- Sends the changed parts of the state.
function methods:send(changed)
  for key, value in pairs(changed) do self.state[key] = value end
  self.comm:send {method = "update", state = changed}
end

function methods:reference() return "IPY_MODEL_" .. self.comm.id end

local STYLED = {IntSlider = "SliderStyle", FloatSlider = "SliderStyle", Button = "ButtonStyle"}

--- Returns a new control. name: the control's name in ipywidgets, such as "IntSlider". on_change(changed) receives new values and
--- returns false if they are invalid. on_event(content) receives other messages.
function widgets.new(name, state, on_change, on_event)
  state.layout = open(named({}, "Layout", true, BASE)):reference()
  if STYLED[name] then
    local style = named({}, STYLED[name], false, CONTROLS)
    if widgets.form() ~= 6 then style._view_name, style._view_module, style._view_module_version = "StyleView", BASE[1], BASE[2] end
    state.style = open(style):reference()
  end
  local model = open(named(state, name, true, CONTROLS))
  model.on_change, model.on_event = on_change, on_event
  return model
end

--- Returns a control that selects one of several labels. `index` is the index of the selected label, counted from 1. on_index(n) is
--- called when label n is selected.
function widgets.choice(name, labels, index, state, on_index)
  state._options_labels = labels
  local at = {}
  for n, label in ipairs(labels) do at[label] = n end
  if widgets.form() == 6 then state.value = labels[index] else state.index = index - 1 end
  return widgets.new(name, state, function(changed)
    local n = math.tointeger(changed.index) and changed.index + 1 or at[changed.value] or 0
    if not labels[n] then return false end
    on_index(math.tointeger(n))
  end)
end

--- True if the controls of a cell stay when its output is cleared. They stay in ipywidgets 6, which shows them beside the output.
function widgets.apart() return widgets.form() == 6 end

--- Shows a model in the running cell. words: the text that is shown instead if there are no widgets. The text is not sent to front
--- ends of ipywidgets 6. These front ends show the model because of the message "display", and would also show the text.
function widgets.show(model, words)
  local data = {["application/vnd.jupyter.widget-view+json"] = {model_id = model.comm.id, version_major = 2, version_minor = 0}}
  if widgets.form() == 6 then model.comm:send {method = "display"} else data["text/plain"] = words end
  display.front().publish("display_data", json.encode {data = data, metadata = {}, transient = {}})
end

return widgets
