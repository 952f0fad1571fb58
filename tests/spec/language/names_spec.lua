--- Tests names that a user gives. A name is accepted if parsing the text form of the program gives the same program. Otherwise it
--- is refused in the line that gives it.
local core = require "nestwright.core"
local nw = require "nestwright"
local support = require "support"

local fails = support.fails

-- Returns every quoted word in the parser and the printer of the text form, and in the tables of operations and types.
local function words()
  local found, list = {}, {}
  for _, path in ipairs {"text/lex.c", "text/parse.c", "text/parse_block.c", "text/parse_expr.c", "text/parse_table.c",
    "text/parse_tags.c", "text/print.c", "text/eprint.c", "program/name.c", "program/tags.c", "kinds.c", "ops.def", "types.def"} do
    for word in support.read("core/ir/" .. path):gmatch '"([%a_][%w_]*)"' do found[word] = true end
  end
  for word in pairs(found) do list[#list + 1] = word end
  table.sort(list)
  return list
end

-- Returns a schedule whose size, input, stage and reduce axis have this name.
local function schedule_with(name)
  local A = nw.placeholder({nw.size(name), 64}, "f32", name)
  local axis = nw.reduce_axis(64, name)
  return nw.schedule(nw.compute({A:shape()[1]}, function(i) return nw.sum(A(i, axis), axis) end, name)), A
end

describe("a word of the text form", function()
  local refused, list = {}, words()

  it("is a valid name if the text form can be parsed, and is otherwise refused", function()
    assert.truthy(#list > 80)
    for _, word in ipairs(list) do
      local ok, s, A = pcall(schedule_with, word)
      if not ok then
        assert.truthy(s.message:find("cannot be named '" .. word .. "'", 1, true), s.message)
        assert.truthy((" " .. s.hint:gsub(",", "") .. " "):find(" " .. word .. " ", 1, true), s.hint)
        refused[#refused + 1] = word
      else
        local loop = s:loops()[2]
        local function reads_back(step)
          assert.truthy(s:reparses(), ("%s, after %s: %s"):format(word, step, select(2, s:reparses()) or s:text()))
        end
        reads_back "nothing"
        local outer, inner = s:split(loop, 5)
        reads_back "split"
        s:unroll(inner)
        s:cache_read(A, "local", {s:stages()[1]}, {at = outer, name = word .. "_"})
        reads_back "cache_read"
        s:parallel(s:loops()[1])
        reads_back "parallel"
      end
    end
    assert.same({"and", "false", "inf", "nan", "not", "or", "true"}, refused)
  end)

  it("is accepted or refused in the same way for sizes, tensors, stages and axes", function()
    local A = nw.placeholder({4}, "f32", "A")
    local C = nw.compute({4}, function(i) return A(i) end)
    local s = nw.schedule(C)
    for _, name in ipairs {"inf", "a b", "", "1a", "a-b", "a@1", "\u{e9}", ("x"):rep(201)} do
      local shown = name:sub(1, 50):gsub("%p", "%%%0")
      fails("variable: a variable cannot be named '" .. shown, "invalid", nw.variable, name)
      fails("size: a size cannot be named '" .. shown, "invalid", nw.size, name)
      fails("placeholder: a tensor cannot be named '" .. shown, "invalid", nw.placeholder, {4}, "f32", name)
      fails("compute: a tensor cannot be named '" .. shown, "invalid", nw.compute, {4}, function(i) return i end, name)
      fails("reduce_axis: an axis cannot be named '" .. shown, "invalid", nw.reduce_axis, 4, name)
      fails("cache_read: a buffer cannot be named '" .. shown, "invalid", s.cache_read, s, A, "local", {C}, {name = name})
    end
    for _, name in ipairs {"for", "if", "sum", "in", "max", "_", ("x"):rep(200)} do
      assert.equal(name, tostring(nw.variable(name)))
      assert.equal(name, nw.placeholder({4}, "f32", name).name)
    end
    assert.equal(0, s:version())
  end)

  it("may have 200 letters, and the names that steps derive from it are then valid too", function()
    local s = schedule_with(("x"):rep(200))
    local outer, inner = s:split(s:loops()[2], 5, {tail = "cut"})
    assert.truthy(outer and inner)
    assert.truthy(s:reparses(), select(2, s:reparses()))
    assert.equal(s:text(), core.program_text(s:text()))
  end)
end)
