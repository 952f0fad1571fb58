--- The slips in statements: those that Lua cannot read. A row has a name, a function and the words of a sentence. find(t, i)
--- returns nil, or a list of ways in which the slip at token number i may be meant; repair.lua takes the first that Lua reads
--- further. A way has edits (a list of {from, to, text}), and optionally: slip (the text that is named, by default that of the
--- first edit), from and to (the bytes that are shown as the right form, after the edits), right (the right form itself), short
--- (the right form that is shown if the other one is long), whole (true if the right form is the whole code). The sentence is
--- "`slip` say: write `right`".
local blocks = require "nestwright.slips.blocks"
local tokens = require "nestwright.slips.tokens"

local is, source = tokens.is, tokens.source
local replaced, inserted = blocks.replaced, blocks.inserted

local rows = {}
local function row(name, say, find) rows[#rows + 1] = {name = name, say = say, find = find} end

-- ---- lines

-- Returns the byte at which the line of a token ends.
local function line_stop(t, i) return (t.text:find("\n", t[i].from, true) or #t.text + 1) - 1 end

-- Returns the rest of the line after token number i, without blanks around it.
local function rest_of_line(t, i) return (t.text:sub(t[i].to + 1, line_stop(t, i)):match "^%s*(.-)%s*$") end

row("magic", "is IPython, but a kernel has a method that takes its time", function(t, i)
  local first = is(t, i, "%") and t[i].first
  local at = first and (is(t, i + 1, "%") and i + 2 or i + 1)
  if not at or not (is(t, at, "timeit") or is(t, at, "time")) then return nil end
  local call, stop = rest_of_line(t, at), line_stop(t, at)
  if call == "" then call, stop = t.text:sub(stop + 1):match "^%s*(.-)%s*$", #t.text end
  local f, args = call:gsub("%-%a+ *%d*", ""):match "^%s*([%w_.]+)%s*(%b())%s*$"
  return f and {{edits = {{t[i].from, stop, f .. ":time" .. args}}}}
end)

row("shell", "is a command of a shell", function(t, i)
  if not is(t, i, "!") or not t[i].first then return nil end
  local command = rest_of_line(t, i)
  return command ~= "" and {{edits = {{t[i].from, line_stop(t, i), ("os.execute %q"):format(command)}}}}
end)

local function comment(mark)
  return function(t, i)
    if not is(t, i, mark) then return nil end
    local stop = line_stop(t, i)
    local text = t.text:sub(t[i].from, stop)
    return {{edits = {{t[i].from, t[i].to, "--"}}, slip = text, from = t[i].from, to = stop}}
  end
end
row("comment of Python", "is a comment in Python", comment "#")
row("comment of C++", "is a comment in C++", comment "//")
row("comment of C", "is a comment in C", function(t, i)
  local stop = is(t, i, "/*") and select(2, t.text:find("*/", t[i].to + 1, true))
  if not stop then return nil end
  return {{edits = {{t[i].from, stop, "--[[" .. t.text:sub(t[i].to + 1, stop - 2) .. "]]"}}}}
end)

-- ---- modules

-- What stands in Lua for the modules that are often imported.
local MODULES = {tvm = "nw.te", te = "nw.te", ["tvm.te"] = "nw.te", numpy = "nw", torch = "nw", nestwright = 'require "nestwright"'}

local function imported(module) return MODULES[module] or ('require "%s"'):format(module) end

-- Returns what stands in Lua for `from module import name`.
local function imported_from(module, name)
  if not name:find "^[%w_]+$" then return MODULES[module] and "nw = " .. MODULES.nestwright or imported(module) end
  local whole = MODULES[module .. "." .. name]
  return ("%s = %s"):format(name, whole or (MODULES[module] and "nw" or imported(module)) .. "." .. name)
end

row("import", "is Python, and nw is loaded already", function(t, i)
  if not tokens.starts_statement(t, i) then return nil end
  local last = tokens.line_end(t, i)
  local line = source(t, i, last)
  local module, name = line:match "^from ([%w_.]+) import (.+)$"
  if module then return {{edits = {replaced(t, i, last, imported_from(module, name))}}} end
  module, name = line:match "^import ([%w_.]+) as ([%w_]+)$"
  module = module or line:match "^import ([%w_.]+)$"
  if not module then return nil end
  return {{edits = {replaced(t, i, last, ("%s = %s"):format(name or module:match "[%w_]+$", imported(module)))}}}
end)

-- ---- loops and conditions

row("for of Python", "is Python's loop", function(t, i)
  local colon = is(t, i, "for") and blocks.colon(t, i)
  if not colon then return nil end
  for k = i + 2, colon - 2 do
    if is(t, k, "in") then
      return blocks.python(t, i, colon, blocks.loop(t, source(t, i + 1, k - 1), k + 1, colon - 1) .. " do", "print(i)")
    end
  end
  return blocks.python(t, i, colon, source(t, i, colon - 1) .. " do", "print(i)")
end)

local CHAIN = {["elif"] = true, ["else"] = true}
row("if of Python", "is Python's condition", function(t, i)
  local colon = is(t, i, "if") and tokens.starts_statement(t, i) and blocks.colon(t, i)
  return colon and blocks.python(t, i, colon, source(t, i, colon - 1) .. " then", 'print "yes"', CHAIN)
end)

row("while of Python", "is Python's loop", function(t, i)
  local colon = is(t, i, "while") and blocks.colon(t, i)
  return colon and blocks.python(t, i, colon, source(t, i, colon - 1) .. " do", "break")
end)

row("elif", "is Python", function(t, i)
  if not is(t, i, "elif") then return nil end
  local colon, edits = blocks.colon(t, i), {replaced(t, i, i, "elseif")}
  if colon then edits[2] = replaced(t, colon, colon, " then") end
  return {{edits = edits, slip = colon and source(t, i, colon), whole = true}}
end)

row("else of Python", "is Python", function(t, i)
  local colon = is(t, i, "else") and is(t, i + 1, ":")
  return colon and {{edits = {replaced(t, i, i + 1, "else")}, whole = true}}
end)

row("else if", "is one word in Lua, which needs no `end` of its own", function(t, i)
  return is(t, i, "else") and is(t, i + 1, "if") and {{edits = {replaced(t, i, i + 1, "elseif")}, whole = true}}
end)

row("try", "is Python, but pcall catches an error in Lua", function(t, i)
  local colon = is(t, i, "try") and is(t, i + 1, ":") and i + 1
  if not colon then return nil end
  local found = blocks.python(t, i, colon, "ok, problem = pcall(function()", "error 'no'", nil, " end)")
  local last = blocks.last(t, i, colon) + 1
  local handler = is(t, last, "except") and blocks.colon(t, last)
  if handler then
    local name = source(t, last, handler - 1):match " as ([%a_][%w_]*)$" or "problem"
    found[1].edits[1][3] = ("ok, %s = pcall(function()"):format(name)
    table.insert(found[1].edits, replaced(t, last, handler, "if not ok then"))
    table.insert(found[1].edits, inserted(t, blocks.last(t, last, handler), " end"))
    found[1].to = t[blocks.last(t, last, handler)].to
  end
  return found
end)

-- Returns the text of an initial value and the bounds of a loop `(int i = 0; i < n; i++)`, or nil.
local function counted(text)
  local pattern = "^%(%s*%a*%s*([%a_][%w_]*)%s*=%s*(.-);%s*([%a_][%w_]*)%s*(<=?)%s*(.-);%s*(.-)%s*%)$"
  local name, from, again, sign, to, step = text:match(pattern)
  if name ~= again then return nil end
  local by = step:match "%+=%s*(.+)$" or (step:find "%+%+" and "1")
  if not by then return nil end
  return ("for %s = %s, %s%s"):format(name, from, sign == "<" and blocks.less_one(to) or to, by == "1" and "" or ", " .. by)
end

-- Returns the slip of a block of C whose header is from token number i to j. header: the beginning of the block in Lua.
local function braces(t, i, j, header, example)
  local close = is(t, j + 1, "{") and tokens.closer(t, j + 1)
  if not close then
    local last, short = tokens.line_end(t, j), header .. " " .. example .. " end"
    return {{edits = {replaced(t, i, j, header), inserted(t, last, " end")}, slip = source(t, i, j), from = t[i].from,
      to = t[last].to, right = last == j and short or nil, short = short}}
  end
  return {{edits = {replaced(t, i, j + 1, header), replaced(t, close, close, "end")}, slip = source(t, i, j) .. " {",
    from = t[i].from, to = t[close].to, short = header .. " " .. example .. " end"}}
end

row("for of C", "is C's loop", function(t, i)
  local close = is(t, i, "for") and is(t, i + 1, "(") and tokens.closer(t, i + 1)
  local header = close and counted(source(t, i + 1, close))
  return header and braces(t, i, close, header .. " do", "print(i)")
end)

row("if of C", "is C's condition", function(t, i)
  local close = is(t, i, "if") and is(t, i + 1, "(") and tokens.closer(t, i + 1)
  if not close or not is(t, close + 1, "{") then return nil end
  return braces(t, i, close, ("if %s then"):format(source(t, i + 2, close - 1)), 'print "yes"')
end)

row("while of C", "is C's loop", function(t, i)
  local close = is(t, i, "while") and is(t, i + 1, "(") and tokens.closer(t, i + 1)
  if not close or not is(t, close + 1, "{") then return nil end
  return braces(t, i, close, ("while %s do"):format(source(t, i + 2, close - 1)), "break")
end)

-- Returns the number of the `end` of the innermost loop around token number i, or nil.
local function end_of_loop(t, i)
  local found
  for k = 1, i do
    local stop = (is(t, k, "do") or is(t, k, "repeat")) and tokens.block_end(t, k)
    if stop and stop > i then found = stop end
  end
  return found
end

row("continue", "is not a word of Lua, but goto can jump to the end of a loop", function(t, i)
  local stop = is(t, i, "continue") and end_of_loop(t, i)
  if not stop then return nil end
  return {{edits = {replaced(t, i, i, "goto continue"), {t[stop].from, t[stop].from - 1, "::continue:: "}}, whole = true}}
end)

row("pass", "is Python, but a block of Lua may be empty", function(t, i)
  return is(t, i, "pass") and {{edits = {replaced(t, i, i, "do end")}}}
end)

-- ---- functions

row("def", "is Python's function", function(t, i)
  local open = is(t, i, "def") and t[i + 1] and is(t, i + 2, "(") and i + 2
  local close = open and tokens.closer(t, open)
  local colon = close and blocks.colon(t, close)
  if not colon then return nil end
  return blocks.python(t, i, colon, "function " .. source(t, i + 1, close), "", nil)
end)

row("return", "gives no value, because an expression needs return", function(t, i)
  local close = is(t, i, "function") and is(t, i + 1, "(") and tokens.closer(t, i + 1)
  local stop = close and tokens.block_end(t, i)
  if not stop or stop == close + 1 or is(t, close + 1, "return") or is(t, close + 1, "{") then return nil end
  return {{edits = {inserted(t, close, " return")}, slip = source(t, i, stop), from = t[i].from, to = t[stop].to}}
end)

-- ---- assignments

local COMPOUND = {["+="] = "+", ["-="] = "-", ["*="] = "*", ["/="] = "/", ["//="] = "//", ["%="] = "%", ["**="] = "^", ["^="] = "^",
  ["|="] = "|", ["&="] = "&", ["..="] = ".."}

row("compound assignment", "is not Lua", function(t, i)
  local op = t[i].kind == "mark" and COMPOUND[t[i].text]
  if not op or not tokens.ends_operand(t, i - 1) or not t[i + 1] then return nil end
  local start, stop = tokens.operand_start(t, i - 1), tokens.expression_end(t, i + 1)
  local name, edits = source(t, start, i - 1), {}
  edits[1] = replaced(t, i, i, ("= %s %s"):format(name, op))
  if tokens.operand_end(t, i + 1) < stop then
    edits[2], edits[3] = {t[i + 1].from, t[i + 1].from - 1, "("}, inserted(t, stop, ")")
  end
  return {{edits = edits, slip = source(t, start, stop), from = t[start].from, to = t[stop].to}}
end)

row("increment", "is C", function(t, i)
  if not is(t, i, "++") then return nil end
  if t[i].first or tokens.starts_statement(t, i) then
    if not t[i + 1] then return nil end
    local stop = tokens.operand_end(t, i + 1)
    local name = source(t, i + 1, stop)
    return {{edits = {replaced(t, i, stop, ("%s = %s + 1"):format(name, name))}}}
  end
  if not tokens.ends_operand(t, i - 1) then return nil end
  local start = tokens.operand_start(t, i - 1)
  local name = source(t, start, i - 1)
  return {{edits = {replaced(t, start, i, ("%s = %s + 1"):format(name, name))}}}
end)

local TYPES = {}
for word in ("int float double long char bool auto let var const size_t string"):gmatch "[%a_]+" do TYPES[word] = true end

row("declaration", "declares a variable as another language does", function(t, i)
  if not TYPES[t[i].text] or not tokens.starts_statement(t, i) or not t[i + 1] or t[i + 1].kind ~= "name" then return nil end
  if t[i + 1].first or not is(t, i + 2, "=") then return nil end
  local stop = tokens.expression_end(t, i + 3)
  return {{edits = {{t[i].from, t[i + 1].from - 1, ""}}, slip = source(t, i, stop), from = t[i].from, to = t[stop].to}}
end)

row("annotation", "has a type, but a variable of Lua has none", function(t, i)
  local typed = t[i].kind == "name" and tokens.starts_statement(t, i) and is(t, i + 1, ":") and t[i + 2] and t[i + 2].kind == "name"
  if not typed or not is(t, i + 3, "=") then return nil end
  local stop = tokens.expression_end(t, i + 4)
  return {{edits = {replaced(t, i + 1, i + 2, "")}, slip = source(t, i, stop), from = t[i].from, to = t[stop].to}}
end)

row("del", "is Python", function(t, i)
  if not is(t, i, "del") or not tokens.starts_statement(t, i) or not t[i + 1] then return nil end
  local stop = tokens.line_end(t, i)
  return {{edits = {replaced(t, i, stop, source(t, i + 1, stop) .. " = nil")}}}
end)

-- ---- calls without parentheses

local function called(word, right)
  return function(t, i)
    if not is(t, i, word) or not tokens.starts_statement(t, i) or not t[i + 1] or t[i + 1].first then return nil end
    local stop = i
    for _ = 1, 8 do
      stop = tokens.expression_end(t, stop + 1)
      if not is(t, stop + 1, ",") then break end
      stop = stop + 1
    end
    return {{edits = {replaced(t, i, stop, ("%s(%s)"):format(right, source(t, i + 1, stop)))}}}
  end
end
row("print", "is Python 2, but a call has parentheses", called("print", "print"))
row("assert", "is Python, but a call has parentheses", called("assert", "assert"))

row("raise", "is Python", function(t, i)
  if not is(t, i, "raise") or not tokens.starts_statement(t, i) or not t[i + 1] or t[i + 1].first then return nil end
  local stop = tokens.expression_end(t, i + 1)
  local call = source(t, i + 1, stop)
  local said = call:match "^[%w_.]+%((.*)%)$"
  if said == "" or not said then said = ("%q"):format(call:match "^[%w_.]+" or call) end
  return {{edits = {replaced(t, i, stop, ("error(%s)"):format(said))}}}
end)

return rows
