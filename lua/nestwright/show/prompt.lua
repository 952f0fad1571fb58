--- Shows values, errors and remarks for the prompt and the kernel. Completion and help are in complete.lua, which is loaded at the
--- first Tab or ?.
local prompt = {}

require "nestwright"
local blanks = require "nestwright.show.blanks"
local core = require "nestwright.core"
local display = require "nestwright.show.display"
local errors = require "nestwright.language.errors"
local inside = require "nestwright.inside"
local remarks = require "nestwright.show.remarks"
local rows = require "nestwright.language.rows"
local slips = later "nestwright.slips.slips"
local view = require "nestwright.show.view"

local LIMIT = {entries = 40, depth = 4, width = 100}

-- ---- tables

-- Returns the text of a value that is not a plain table. If Lua has no other text than the address of the value, returns the name
-- of its type, because an address says nothing. A function of the library has a name too.
local function text_of(value)
  local row = type(value) == "function" and rows.of(value)
  if row then return ("function %s.%s"):format(row.class, row.name) end
  local text = tostring(value)
  return text:match "^([%w_%.]+): 0x%x+$" or text:match "^(file) %(0x%x+%)$" or text
end

local function key_text(key)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" then return key end
  return "[" .. (type(key) == "string" and ("%q"):format(key) or text_of(key)) .. "]"
end

local show

local function ordered(t)
  local keys, n = {}, #t
  for key in next, t do
    local listed = math.type(key) == "integer" and key >= 1 and key <= n
    if not listed then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
    return tostring(a) < tostring(b)
  end)
  return keys
end

local function entries(t, depth, seen)
  local parts = {}
  local function add(text)
    if #parts < LIMIT.entries then parts[#parts + 1] = text return true end
    parts[#parts + 1] = "..."
  end
  for n = 1, #t do
    if not add(show(rawget(t, n), depth + 1, seen)) then return parts end
  end
  for _, key in ipairs(ordered(t)) do
    if not add(key_text(key) .. " = " .. show(rawget(t, key), depth + 1, seen)) then return parts end
  end
  return parts
end

local function show_table(t, depth, seen)
  if seen[t] or depth > LIMIT.depth then return "{...}" end
  seen[t] = true
  local parts = entries(t, depth, seen)
  seen[t] = nil
  local line = "{" .. table.concat(parts, ", ") .. "}"
  if #line <= LIMIT.width and not line:find "\n" then return line end
  local pad = ("  "):rep(depth)
  return "{\n" .. pad .. "  " .. table.concat(parts, ",\n" .. pad .. "  ") .. "\n" .. pad .. "}"
end

-- Returns the first line of the text of a nested value, with "..." if more lines follow.
local function brief(text)
  local first = text:match "^[^\n]*"
  return #first < #text and first .. " ..." or text
end

function show(value, depth, seen)
  local kind = type(value)
  if kind == "string" then return ("%q"):format(value):gsub("\\\n", "\\n") end
  local meta = debug.getmetatable(value)
  if kind == "table" and not (meta and (meta.__tostring or meta.__name)) then return show_table(value, depth, seen) end
  return depth > 0 and brief(text_of(value)) or text_of(value)
end

-- ---- values

local function is_schedule(value)
  local meta = debug.getmetatable(value)
  return type(value) == "userdata" and type(meta) == "table" and meta.__name == "nestwright.schedule"
end

local function is_plot(value)
  local meta = type(value) == "table" and debug.getmetatable(value)
  return type(meta) == "table" and meta.__name == "nestwright.plot"
end

local function show_result(value, style)
  if is_plot(value) then return require "nestwright.plots.terminal".shown(value) end
  if view.is(value) then return (value.render(style):gsub("\n$", "")) end
  if is_schedule(value) then return show_result(value:show(), style) end
  if type(value) == "string" and value:find "\n" then return (value:gsub("\n$", "")) end
  return (show(value, 0, {}))
end

--- True if a value is only a handle that need not be shown: an output that is already shown, or a stream that was written to.
function prompt.is_quiet(value)
  local meta = debug.getmetatable(value)
  return rawequal(value, io.stdout) or rawequal(value, io.stderr) or type(meta) == "table" and rawget(meta, "__quiet") == true
end

--- Returns the text of the values, with the colours of a terminal if `colour` is true.
function prompt.text(colour, ...)
  local n = select("#", ...)
  local parts, lines = {}, false
  for i = 1, n do
    parts[i] = show_result((select(i, ...)), colour and "ansi" or "plain")
    lines = lines or parts[i]:find "\n" ~= nil
  end
  return table.concat(parts, lines and "\n" or "  ")
end

--- For a nil result, returns a message that names the variable or field without a value. Returns nil if there is no such name.
function prompt.lost()
  local code = (package.loaded["nestwright.sources"] or {})[0]
  return code and require "nestwright.show.lost".text(code)
end

--- If the only result is a picture that the same chunk saved, returns a line with the path, which is shown instead of the picture.
--- Otherwise, returns nil.
function prompt.saved(n, value)
  local saved = inside.saved
  inside.saved = nil
  if n == 1 and saved and rawequal(saved.value, value) then return "written to " .. core.shown_text(saved.path) end
end

--- Returns the text of a chunk's results, or nil if there is nothing to show. The first result is assigned to the global `_`.
function prompt.display(colour, ...)
  local n, first = select("#", ...), ...
  if n == 0 or n == 1 and prompt.is_quiet(first) then return nil end
  if n == 1 and first == nil then return prompt.lost() or "nil" end
  if first ~= nil then rawset(_G, "_", first) end
  return prompt.saved(n, first) or prompt.text(colour, ...)
end

-- ---- errors

local function text_line(name, number)
  local text = (package.loaded["nestwright.sources"] or {})[name]
  if not text then return nil end
  local n = 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    n = n + 1
    if n == number and line:find "%S" then return blanks.trim(line) end
  end
end

-- Returns the text of an error of Lua itself, with its source line if this is known. Errors of the library contain their source
-- line.
local function plain(err)
  if errors.is_error(err) then return tostring(err) end
  local text = type(err) == "string" and err or type(err) == "table" and not (getmetatable(err) or {}).__tostring
    and "(error object is a table: " .. show(err, 0, {}) .. ")" or tostring(err)
  local name, number = text:match "^([^\n:]+):(%d+): "
  local line = name and text_line(name, tonumber(number))
  return line and text:gsub("^[^\n]*", "%0\n    " .. line:gsub("%%", "%%%%"), 1) or text
end

local function paint(text)
  text = text:gsub("^[^\n]*", "\27[1;31m%0\27[0m", 1)
  text = text:gsub("\n  you can: ", "\n  \27[32myou can:\27[0m "):gsub("\n  hint: ", "\n  \27[32mhint:\27[0m ")
  return text
end

--- Returns the text of an error, or "" if the error is already shown. traceback: the lines of the user's stack frames, or nil.
--- interrupted: true if the user ended the call; then no slip is looked for, which would delay the answer.
function prompt.error_text(err, traceback, colour, interrupted)
  err = errors.of_lua(err)
  local shown = display.release()
  display.settle()
  if shown then return "" end
  local slip = type(err) == "string" and not interrupted and slips.of_error(err)
  if slip then err = slip end
  if package.loaded["nestwright.sources"] then package.loaded["nestwright.sources"][0] = nil end
  local text = plain(err)
  if type(err) == "string" and err:find("global 'nw'", 1, true) then
    text = text .. '\n  hint: a script begins with local nw = require "nestwright"'
  elseif type(err) == "string" and err:find("a nil value (method '", 1, true) then
    text = text .. "\n  hint: nw.help(x) lists the methods of an object x"
  end
  if traceback then
    local rest = traceback:gsub("\n$", "")
    text = text .. "\n  called from\n" .. rest:gsub("([^\n]+)", "  %1")
  end
  return colour and paint(text) or text
end

-- ---- remarks of steps

local pending = {}
inside.on_note(function(text) pending[#pending + 1] = text end)

-- Adds a remark if the chunk that has just run uses a value of another language, such as True, which is nil in Lua.
local function look_for_words()
  local texts = package.loaded["nestwright.sources"] or {}
  local code = texts[0]
  texts[0] = nil
  if not code or not code:find "%f[%w_][NTFnu]%l%l%l" then return end -- most chunks have none of the words
  pending[#pending + 1] = require "nestwright.slips.words".used(code)
end

-- Returns the remarks without repetitions. Equal remarks become one remark with their number.
local function folded(list)
  local out, at, times = {}, {}, {}
  for _, text in ipairs(list) do
    text = text:gsub("\n$", "")
    if not at[text] then
      out[#out + 1] = text
      at[text] = #out
    end
    times[text] = (times[text] or 0) + 1
  end
  for n, text in ipairs(out) do
    if times[text] > 1 then out[n] = ("%s (%d times)"):format(text, times[text]) end
  end
  return out
end

local function notes()
  display.settle()
  if #pending == 0 then return nil end
  local text = table.concat(folded(pending), "\n")
  pending = {}
  return remarks.marked(text)
end

--- Returns the remarks since the last call, or nil. This is called at the end of a line of the prompt or of a cell.
function prompt.notes()
  look_for_words()
  return notes()
end

-- Shows the remarks when long work begins, because they may say why it takes long. Otherwise, they are shown at the end.
local function tell_early()
  if #pending == 0 then return end
  io.stdout:write(notes(), "\n")
  io.stdout:flush()
end
core.before_progress(function() if remarks.at_prompt() then tell_early() end end)
display.before_progress = tell_early -- in a notebook

--- True if an unfinished input is a slip that the user does not continue, so that it must be explained now.
function prompt.ends(code) return slips.ends(code) end

function prompt.complete(text) return require "nestwright.show.complete".complete(text) end
function prompt.inspect(text, detail) return require "nestwright.show.complete".inspect(text, detail) end

return prompt
