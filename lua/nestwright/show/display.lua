--- Shows values while a cell or script is running. In a notebook, they are shown as HTML or as pictures, elsewhere as text.
local comms = require "nestwright.notebook.comms"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local html = require "nestwright.show.html"
local json = require "nestwright.show.json"
local mime = require "nestwright.show.mime"
local rows = require "nestwright.language.rows"
local view = require "nestwright.show.view"

local display = {}

local front -- the kernel's interface; nil outside of a notebook

local work -- the function that makes the listener for progress of the core

--- Connects the Jupyter kernel, which calls this function with its interface.
function display.connect(kernel)
  front = kernel
  comms.connect(kernel)
  core.on_progress(kernel and work() or nil)
end

--- Returns the kernel's interface, or nil outside of a notebook.
function display.front() return front end

--- Prints with the global function `print`, which a cell may have replaced.
function display.print(text)
  local theirs = rawget(_G, "print")
  if type(theirs) == "function" then theirs(text) else print(text) end
end

local function plain(value) return require "nestwright.show.prompt".text(false, value) end

-- ---- outputs that can change
--
-- The metatable of an output's handle has the field __quiet. Therefore nothing is shown for a handle that is the value of a cell,
-- because its output is already on the page.

local methods = {}
local meta = {__index = methods, __name = "nestwright.output", __quiet = true}
function meta.__tostring(output) return ("output %s"):format(output.id) end

function meta.__tostring(output) return plain(output.value) end

local caught -- the list of the collected output; nil while no output is collected

local function publish(kind, value, id)
  local bundle, metadata = mime.of(value, plain)
  front.publish(kind, json.encode {data = bundle, metadata = metadata, transient = {display_id = id}})
end

rows.define(methods, "output", "notebook", "update", "(self: nw.output, value: any): nw.output",
  "Replaces the output by another value; outside of a notebook, the new value is shown below.",
  function(output, value)
    output.value = value
    if output.item then output.item.value = value end -- the output is collected, and perhaps not shown yet
    if output.item or caught then return output end
    if front then
      publish("update_display_data", value, output.id)
    else
      display.print(plain(value))
    end
    return output
  end)

-- Adds the text that has been written so far to the collected items. This must be done before the next value is added.
local function take_text()
  local text, all = core.held_output()
  if text and not all then text = text .. "\n[output beyond 4 MB is not shown]" end
  if text and text ~= "" then caught[#caught + 1] = {text = text} end
end

display.unfinished = nil -- a function that receives the output that was collected by an interrupted call
display.partly = nil -- a function that receives the output that has been collected so far, while the call continues

--- Ends the collection of output. The code that runs at the end of a line or of a cell calls this function, because an interrupted
--- function cannot clean up. Output that was collected is passed to display.unfinished. If display.unfinished is nil, the output is
--- printed. Returns true if display.unfinished was called and did not fail.
function display.release()
  local list, take = caught, display.unfinished
  if list then take_text() end
  core.release_output()
  caught, display.unfinished, display.partly = nil, nil, nil
  if not list then return false end
  if take then return (pcall(take, list)) end
  for _, item in ipairs(list) do display.print(item.text and item.text:gsub("\n$", "") or plain(item.value)) end
  return false
end

--- Calls f with the arguments. Collects, in order, the values that f shows and the text that f, C code and child processes write
--- during the call. Returns the list of these items, each {value = ...} or {text = ...}, and after it the results of pcall.
function display.caught(f, ...)
  local before, list = caught, {}
  if before then take_text() else core.hold_output() end
  caught = list
  local results = table.pack(pcall(f, ...))
  take_text()
  caught = before
  if not before then display.release() end
  return list, table.unpack(results, 1, results.n)
end

local function show(value, options)
  local o = errors.options("display", options, {"id"})
  local output = setmetatable({id = o.id or comms.new_id(), value = value}, meta)
  errors.label("display: id", output.id)
  if caught then
    take_text()
    output.item = {value = value}
    caught[#caught + 1] = output.item
    return output
  end
  if not front then
    display.print(plain(value))
    return output
  end
  publish("display_data", value, output.id)
  return output
end

display.new = show

-- ---- progress

local progress_methods = {}
local progress_meta = {__index = progress_methods, __name = "nestwright.progress", __quiet = true}

local MOST_A_SECOND = 10

local function show_partly(list)
  take_text()
  caught = nil
  display.partly(list)
  caught = list
end

local function progress_text(p)
  local share = p.total > 0 and math.min(p.done / p.total, 1) or 1
  local filled = math.floor(share * 30 + 0.5)
  return ("%s[%s%s] %d of %d%s"):format(p.title ~= "" and p.title .. " " or "", ("#"):rep(filled), ("."):rep(30 - filled), p.done,
    p.total, p.note and ", " .. p.note or "")
end

progress_meta.__tostring = progress_text

local function progress_view(p)
  local text = progress_text(p)
  return view.new(function(style)
    if style ~= "html" then return text end
    return ("<div><progress max='%d' value='%d'></progress> %s</div>"):format(math.max(p.total, 1), p.done,
      html.escape(("%s %d of %d%s"):format(p.title, p.done, p.total, p.note and ", " .. p.note or "")))
  end)
end

local clock = core.now

local behind = {} -- the set of progress bars that show less than the actual progress

local function draw(p, at_once)
  local time = clock()
  behind[p] = not at_once and time - p.drawn < 1 / MOST_A_SECOND or nil
  if behind[p] then return end
  p.drawn = time
  if front then
    if p.output then p.output:update(progress_view(p)) else p.output = show(progress_view(p)) end
    if caught and display.partly then show_partly(caught) end
  elseif p.terminal then
    io.stderr:write("\r", progress_text(p), "\27[K", at_once and "\n" or "") -- erases the rest of a longer line
  end
end

display.before_progress = nil -- a function that is called before the first line about long work
display.on_end = nil -- a function that is also called at the end of a cell

--- Calls display.on_end and updates the progress bars on the page. This function is called at the end of a line of the prompt or of
--- a cell, also after an error.
function display.settle()
  if display.on_end then display.on_end() end
  if not next(behind) then return end
  local late = behind
  behind = {}
  for p in pairs(late) do draw(p, true) end
end

local function step(p, n, note)
  n = n == nil and 1 or n
  local whole = math.tointeger(n)
  if not whole or whole < 0 then
    errors.fail("invalid", nil, "step: expected the number of finished steps, a whole number, got %s", tostring(n))
  end
  if note ~= nil then errors.label("step: note", note) end
  if p.done + whole > p.total then
    errors.fail("invalid", "nw.progress(total) sets the total", "step: %d of %d are done; %d more are too many", p.done,
      p.total, whole)
  end
  p.done, p.note = p.done + whole, note or p.note
  draw(p, p.done == p.total)
  return p
end

rows.define(progress_methods, "progress", "notebook", "step", "(self: nw.progress, n?: integer, note?: nw.label): nw.progress",
  "Advances the bar by one, or by n, up to the total. note: a short text about the current state.", step)

-- Returns a function that shows the progress of the core in an output. At the end, the output says how long the work took. The
-- output is not removed, because front ends cannot do this, and it is not empty, because an empty output would leave a blank.
function work()
  local output, last
  return function(what, part, seconds)
    local share = what and part >= 0 and (": %.0f %%"):format(100 * part) or ""
    local text = what and ("%s%s, %.0f s"):format(what, share, seconds) or last
    last = what and ("%s: done after %.0f s"):format(what, seconds)
    if not output and display.before_progress then display.before_progress() end
    if output then output:update(view.text(text)) else output = show(view.text(text)) end
    if not what then output = nil end
  end
end

local function progress(total, title)
  local n = math.tointeger(total)
  if not n or n < 0 then errors.fail("invalid", nil, "progress: total: expected a number of steps, got %s", tostring(total)) end
  local p = setmetatable({total = n, done = 0, title = title or "", drawn = -math.huge}, progress_meta)
  errors.label("progress: title", p.title)
  p.terminal = core.erases_lines()
  draw(p, n == 0)
  return p
end

--- Asks the user of the front end for a line and returns it. Raises an error if the user interrupts. what: the name of the calling
--- function, for errors.
function display.ask(what, prompt, password)
  local text, why = front.ask(prompt, password)
  return text or errors.fail(why == "interrupted" and "interrupt" or "io", nil, "%s: %s", what, why)
end

local function install(nw)
  local define = rows.definer(nw, "nw", "notebook")

  define("display", "(value: any, options?: {id?: nw.label}): nw.output",
    "Shows a value immediately, while the cell is running; in a notebook it is shown as a picture or a table if possible. The "
    .. "method update(value) of the result replaces the value by another one. id: the display id of the output in the "
    .. "front end.", show)

  define("html", "(text: string): nw.view", "A piece of HTML. It is rendered in a notebook; elsewhere its source is shown.",
    function(text)
      return view.new(function(style) return style == "html" and text or core.shown_text(text) end)
    end)

  define("clear_output", "(wait?: boolean)", "Clears the output of the cell. wait = true: only when new output follows.",
    function(wait)
      if front then front.publish("clear_output", json.encode {wait = wait == true}) end
    end)

  define("progress", "(total: integer, title?: nw.label): nw.progress",
    "A progress bar that counts to total; p:step() advances it. At most ten changes per second are shown. The last change is "
    .. "always shown, and at the end of a cell the bar shows the final state.", progress)

  define("input", "(prompt?: string, options?: {password?: boolean}): string",
    "Reads a line from the user. password = true: the typed text is hidden.",
    function(prompt, options)
      if type(prompt) == "table" then
        errors.fail("invalid", "nw.input(\"key \", {password = true})", "input: the prompt comes before the options")
      end
      core.check_text("input: prompt", prompt or "", true)
      local o = errors.options("input", options, {"password"})
      if front then return display.ask("input", prompt or "", o.password == true) end
      io.stdout:write(prompt or "")
      io.stdout:flush()
      return io.read "l" or ""
    end)
end

return setmetatable(display, {__call = function(_, nw) install(nw) end})
