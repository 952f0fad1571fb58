--- Implements standard input in a notebook. When code reads it, the front end asks the user for a line. Reading works as in Lua. If
--- a part of an answer was not read, the next read in the same cell returns this part. A part that is only the line end is dropped.
local display = require "nestwright.show.display"
local errors = require "nestwright.language.errors"

local stdin = {}

local rest -- the part of the last answer that was not read, with its line end; nil if there is none

-- Asks for a line if there is no unread input. Afterwards, there is at least one unread character.
local function ask() rest = rest or display.ask("read", "", false) .. "\n" end

local function take(n)
  local text = rest:sub(1, n)
  rest = rest:sub(n + 1)
  if rest == "" or rest == "\n" then rest = nil end
  return text
end

local function line(keep)
  ask()
  local text = take((rest:find("\n", 1, true)))
  return keep and text or text:sub(1, -2)
end

-- Returns the whole answer, because there is no end of file to wait for.
local function all()
  ask()
  return take(#rest):gsub("\n$", "")
end

local function characters(n)
  if n <= 0 then return "" end
  ask()
  return take(math.min(n, math.max(#rest - 1, 1)))
end

-- Reads the longest prefix that could be a numeral, whether it is valid or not.
local function number()
  repeat
    ask()
    rest = rest:match "^%s*(.*)$"
    if rest == "" then rest = nil end
  until rest
  local digits, power = "^[+-]?%d*%.?%d*()", "^[eE][+-]?%d*()"
  if rest:find "^[+-]?0[xX]" then digits, power = "^[+-]?0[xX]%x*%.?%x*()", "^[pP][+-]?%d*()" end
  local stop = rest:match(digits)
  stop = rest:match(power, stop) or stop
  return tonumber(take(stop - 1))
end

local FORMATS = {l = function() return line(false) end, L = function() return line(true) end, a = all, n = number}

local function reader(format, place)
  local n = type(format) == "number" and math.tointeger(format)
  if n then return function() return characters(n) end end
  local read = type(format) == "string" and FORMATS[format:gsub("^%*", ""):sub(1, 1)]
  return read or errors.fail("invalid", nil, "bad argument #%d to 'read' (invalid format)", place)
end

-- Reads the formats up to the first failure, like io.read.
local function read(...)
  local formats, out = table.pack(...), {}
  if formats.n == 0 then formats = {"l", n = 1} end
  for n = 1, formats.n do formats[n] = reader(formats[n], n) end
  for n = 1, formats.n do
    out[n] = formats[n]()
    if out[n] == nil then break end
  end
  return table.unpack(out, 1, formats.n)
end

--- Changes `lib`, the io library of cells, and the methods of its files. The changed functions ask the front end instead of reading
--- standard input. Other files, and files set by io.input, are read normally. Unread input is discarded at the end of the cell.
function stdin.install(lib)
  local input, terminal, files = io.input, io.stdin, getmetatable(io.stdin).__index
  local read_file, lines_of, lines = files.read, files.lines, io.lines
  display.on_end = function() rest = nil end
  local function asks(file) return rawequal(file, terminal) end
  local function each(...)
    local formats = table.pack(...)
    return function() return read(table.unpack(formats, 1, formats.n)) end
  end
  function lib.read(...)
    if asks(input()) then return read(...) end
    return read_file(input(), ...)
  end
  function lib.lines(...)
    if (...) == nil and asks(input()) then return each(select(2, ...)) end
    return lines(...)
  end
  function files.read(file, ...)
    if asks(file) then return read(...) end
    return read_file(file, ...)
  end
  function files.lines(file, ...)
    if asks(file) then return each(...) end
    return lines_of(file, ...)
  end
end

return stdin
