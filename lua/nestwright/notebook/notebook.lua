--- The Jupyter kernel calls these functions to answer requests and to make the output of cells. Requests and answers are JSON
--- texts.
local notebook = {}

local blanks = require "nestwright.show.blanks"
local errors = require "nestwright.language.errors"
local front = require "nestwright.front"
local json = require "nestwright.show.json"
local mime = require "nestwright.show.mime"
local prompt = require "nestwright.show.prompt"
local slips = later "nestwright.slips.slips"

-- ---- start

function notebook.begin()
  local nw = require "nestwright"
  rawset(_G, "nw", nw)
  rawset(_G, "help", nw.help)
  require "nestwright.notebook.stdin".install(package.loaded.io)
  rawset(package.loaded.os, "exit", function()
    error("a cell cannot end the kernel; restart it or shut it down from the menu", 2)
  end)
  require("nestwright.show.display").connect(front)
  require("nestwright.notebook.widgets").listen()
end

-- ---- results

local function plain(...) return prompt.text(false, ...) end

--- Returns the results of a cell as {data, metadata}, or nil if there is nothing to show. The data may contain several pictures and
--- tables. The first result is assigned to the global `_`.
function notebook.shown(...)
  local n, first = select("#", ...), ...
  if n == 1 and first == nil then
    local text = prompt.lost()
    return text and {data = {["text/plain"] = mime.clean(text)}, metadata = {}}
  end
  if n == 1 and prompt.is_quiet(first) then return nil end
  rawset(_G, "_", first)
  local saved = prompt.saved(n, first)
  if saved then return {data = {["text/plain"] = mime.clean(saved)}, metadata = {}} end
  local bundle, metadata
  if n == 1 then bundle, metadata = mime.of(first, plain) else bundle = mime.several(plain, ...) end
  return {data = bundle, metadata = metadata or {}}
end

notebook.encoded = json.encode

-- ---- errors

local CODES = {invalid = "InvalidArgument", refused = "Refused", range = "OutOfRange", limit = "Limit", io = "InputOutput",
  parse = "Syntax", internal = "Fault", crash = "Crash", memory = "OutOfMemory"}

local function name_of(err, interrupted)
  if interrupted then return "Interrupted" end
  return errors.is_error(err) and (CODES[err.code] or "Error") or "LuaError"
end

local function first_line(text) return text:gsub("\27%[[%d;]*m", ""):match "^[^\n]*" end

-- Shows the picture of the conflict of a refused step. The text of the error appears after it.
local function show_refusal(err)
  local picture = mime.refusal(err)
  local bundle, metadata = mime.of(picture or "", tostring)
  if not bundle["image/svg+xml"] then return end
  front.publish("display_data", json.encode {data = bundle, metadata = metadata, transient = {}})
end

--- Returns ename, evalue and traceback of an error. argument: {text, interrupted, shown}. `text` is the text of the error at the
--- prompt. If `shown` is true, the picture of the conflict is shown, too.
function notebook.failure(argument, err)
  local given = json.decode(argument)
  if given.shown then pcall(show_refusal, err) end -- if the picture cannot be drawn, the text remains
  local lines = {}
  for line in (mime.clean(given.text) .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  return json.encode {ename = name_of(err, given.interrupted), evalue = mime.clean(first_line(given.text)), traceback = lines}
end

-- ---- code

--- Returns help for a name, by MIME type, or nil if the name is not known. With detail = 1, the help has the source of a function.
function notebook.inspected(argument)
  local given = json.decode(argument)
  local text, known = prompt.inspect(given.name, given.detail == 1)
  return known and json.encode {["text/plain"] = mime.clean(text)}
end

local MOST_WORDS = 1 << 15 -- longer code is not searched for keywords; an unclosed comment makes the search quadratic

-- The number of blocks that each keyword or bracket opens and closes in an unfinished chunk.
local OPEN, CLOSE = {["function"] = 1, ["do"] = 1, ["then"] = 1, ["repeat"] = 1, ["{"] = 1, ["("] = 1},
  {["end"] = 1, ["until"] = 1, ["}"] = 1, [")"] = 1, ["elseif"] = 1}

local function depth_of(code)
  if #code > MOST_WORDS then return 0 end
  code = code:gsub("%-%-%[(=*)%[.-%]%1%]", ""):gsub("%-%-[^\n]*", ""):gsub("\\.", ""):gsub('"[^"\n]*"', ""):gsub("'[^'\n]*'", "")
  local depth = 0
  for word in code:gmatch "[%a_][%w_]*" do depth = depth + (OPEN[word] or 0) - (CLOSE[word] or 0) end
  for mark in code:gmatch "[{}()]" do depth = depth + (OPEN[mark] or 0) - (CLOSE[mark] or 0) end
  return math.max(depth, 0)
end

local MOST_PARTS, MOST_READ = 100, 8 << 20 -- limits on the places at which the code is split, and on parsed bytes

-- True if the host accepts the code. The host accepts an expression, or statements, or statements with an expression after them.
-- This expression begins after a semicolon or at the start of a line.
local function loads(code)
  if load("return " .. code, "=input", "t") or load(code, "=input", "t") then return true end
  local at = #code
  for _ = 1, math.min(MOST_PARTS, MOST_READ // (#code + 1)) do
    at = code:sub(1, at):match "^.*()[;\n]"
    if not at then return false end
    if load(code:sub(1, at) .. "return " .. code:sub(at + 1), "=input", "t") then return true end
    at = at - 1
  end
  return false
end

function notebook.is_complete(argument)
  local code = json.decode(argument).code
  if code:find "^%s*%?" or blanks.right(code):find "%?$" then return json.encode {status = "complete"} end
  if loads(code:gsub("^%s*=", "")) then return json.encode {status = "complete"} end
  local _, message = load(code .. "\n", "=input", "t") -- a string in quotes ends with its line
  if not message:find "near <eof>$" or slips.ends(code) then return json.encode {status = "invalid"} end
  return json.encode {status = "incomplete", indent = ("  "):rep(depth_of(code))}
end

-- ---- comms

local comms = require "nestwright.notebook.comms"

function notebook.comms(argument) return json.encode(comms.list(json.decode(argument).target)) end
function notebook.comm_open(argument) comms.opened(json.decode(argument)) end
function notebook.comm_msg(argument) comms.received(json.decode(argument)) end
function notebook.comm_close(argument) comms.closed(json.decode(argument)) end

return notebook
