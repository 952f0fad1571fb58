--- Calls every primitive with bad arguments in every position. The error must name the line, and the schedule must be
--- unchanged.
local nw = require "nestwright"
local core = require "nestwright.core"

-- Returns a schedule with two stages, a symbolic size and a temporary. Also returns the handle of a loop that a step has removed,
-- a loop of another schedule, and a tensor that the schedule does not have.
local function workshop()
  local M = nw.size("M", {min = 1})
  local A = nw.placeholder({M, 16}, "f32", "A")
  local P = nw.compute({M, 16}, function(i, j) return A(i, j) * 2 end, "P")
  local k = nw.reduce_axis(16, "k")
  local R = nw.compute({M}, function(i) return nw.sum(P(i, k), k) end, "R")
  local s, other = nw.schedule(R), nw.schedule(R)
  local stale = s:loops()[1]
  s:split(stale, 4)
  return {s = s, stale = stale, foreign = other:loops()[1], tensor = nw.compute({4}, function(i) return A(0, i) end, "Q")}
end

-- For each kind of parameter, a value that is valid or almost valid.
local GOOD = {loop = "i_i", stage = "P", stmt = "P", int = 2, expr = 3, cond = "M > 3", str = "local", tensor = "P"}

local function good(param)
  if param.choices then return param.choices:match "^[^|]*" end
  if param.kind == "list" then return {GOOD[param.item], GOOD[param.item]} end
  return GOOD[param.kind]
end

local function bad_values(w)
  return {
    true, 1.5, 0, -1, 1 << 62, math.mininteger, 0 / 0, 1 / 0, "", "no such thing", "\0\n\"", ("x"):rep(1000), {}, {{}},
    {1, "i", nil, false}, {loop = "i_i"}, print,
    coroutine.create(print), io.stdout, nw.f32, w.s, w.stale, w.foreign, w.tensor, {w.stale, w.foreign},
    setmetatable({}, {__index = error, __len = error, __tostring = error}),
  }
end

-- Returns good positional arguments and good options. Optional arguments are included only up to position `upto`, by default none.
local function arguments(row, upto)
  local args, options, place = {}, {}, 0
  for _, param in ipairs(row.params) do
    if not param.option then place = place + 1 end
    if param.option and not param.optional then
      options[param.name] = good(param)
    elseif not param.option and (not param.optional or place <= (upto or 0)) then
      args[place] = good(param)
    end
  end
  return args, options
end

local function call(s, row, args, options)
  if next(options) then args[#args + 1] = options end
  return pcall(s[row.name], s, table.unpack(args))
end

local function shown(value)
  local ok, text = pcall(tostring, value)
  return ok and text:sub(1, 60) or type(value)
end

-- Returns nil, or a message that says what is wrong with the outcome of the call.
local function complaint(s, before, ok, err)
  if ok then
    if s:text() ~= before then s:undo() end
    return s:text() ~= before and "undo does not restore the program"
  end
  if type(err) ~= "table" then return "not an error of the library: " .. shown(err) end
  if err.code == "internal" then return "an internal fault: " .. tostring(err) end
  if s:text() ~= before then return "the schedule has changed" end
  local text = tostring(err)
  if not text:find("misuse_spec.lua:%d+") then return "the error names no line of this file: " .. text end
  if not text:find("%w") or #text > 4000 then return "the text is empty or too long, with this number of bytes: " .. #text end
end

describe("bad arguments", function()
  for _, row in ipairs(core.primitives()) do
    it("of " .. row.name .. " are reported, and change nothing", function()
      local w = workshop()
      local s, before = w.s, w.s:text()
      local function try(what, args, options)
        local ok, err = call(s, row, args, options)
        local problem = complaint(s, before, ok, err)
        assert.is_falsy(problem, ("s:%s with %s: %s"):format(row.name, what, problem))
        return ok
      end
      local function never(what, args, options)
        assert.is_false(try(what, args, options), ("s:%s takes %s"):format(row.name, what))
      end
      for _, value in ipairs(bad_values(w)) do
        local place = 0
        for _, param in ipairs(row.params) do
          if not param.option then place = place + 1 end
          local args, options = arguments(row, param.option and 0 or place)
          if param.option then options[param.name] = value else args[place] = value end
          try(("%s = %s"):format(param.name, shown(value)), args, options)
        end
        local args, options = arguments(row)
        options.nonsense = value
        never("an unknown option", args, options)
      end
      try("nothing", {}, {})
      local args = arguments(row, #row.params)
      args[#args + 1], args[#args + 2] = 1, "more"
      never("too many", args, {})
    end)
  end

  it("cause an error that shows how to write the call", function()
    local function says(expected, hint, f)
      local ok, err = pcall(f)
      assert.is_false(ok)
      assert.truthy(err.message:find(expected, 1, true), err.message)
      if hint then assert.truthy(err.hint:find(hint, 1, true), err.hint) end
    end
    local s = workshop().s
    local loop = s:loops()[1]
    says("split takes (loop, factor); got 3 arguments", 'write {tail = "cut"}', function() s:split(loop, 8, "cut") end)
    says("split takes", "{parts = ..., tail = ..., factors = ...}", function() s:split(loop, 8, 3) end)
    says("cut: argument 3 is nil", "s:cut", function() s:cut(loop, 1, nil, 2) end)
    says("reorder: argument 2 is nil", "s:reorder", function() s:reorder(loop, nil) end)
    says("tile: 1 factor for 2 loops: j has none", "s:tile", function() s:tile("i_i", "j", 8) end)
    says("tile: 2 factors for 1 loops", "s:tile", function() s:tile("i_i", 8, 8) end)
  end)

  it("do not include options that are nil", function()
    for _, step in ipairs {function(s) s:split("j", 8, nil) end, function(s) s:unroll("j", nil) end,
      function(s) s:tile("i_i", "j", 2, 8, nil) end} do
      local s = workshop().s
      local before = s:version()
      step(s)
      assert.equal(before + 1, s:version())
    end
  end)

  it("include a last version that assumes more than the others, and the error names the assumption", function()
    local M = nw.size "M"
    local A = nw.placeholder({M}, "f32", "A")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) * 2 end, "C"))
    s:assume "M >= 3"
    s:branch "three"
    s:checkout(0)
    s:assume "M % 8 == 0"
    s:branch "eights"
    local ok, err = pcall(s.build, s, {versions = {"three", "eights"}})
    assert.is_false(ok)
    assert.truthy(err.message:find("versions[2], the last one, assumes M % 8 == 0; versions[1] does not", 1, true), err.message)
    assert.truthy(s:build {versions = {"three", "eights", 0}})
  end)

  it("include a loop that does not exist, but not a handle in place of a name", function()
    local s = workshop().s
    local loop = s:loops()[1]
    local ok, err = pcall(nw.partition.conditions, s, "zz")
    assert.is_false(ok)
    assert.truthy(err.hint:find("lowered", 1, true))
    assert.equal(nw.partition.conditions(s, loop.name), nw.partition.conditions(s, loop))
    local o = {machine = "zen5", sizes = {M = 64}}
    assert.equal(tostring(nw.partition.pipeline(s, loop.name, o)), tostring(nw.partition.pipeline(s, loop, o)))
  end)

  it("include a value that is not a schedule", function()
    for _, row in ipairs(core.primitives()) do
      local s = workshop().s
      for _, value in ipairs {1, "s", {}, print, io.stdout} do
        local ok, err = pcall(s[row.name], value, "i", 4)
        assert.is_false(ok)
        assert.equal("table", type(err), row.name .. ": " .. shown(err))
      end
    end
  end)
end)
