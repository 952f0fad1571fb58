--- Tests that the library uses neither the globals of scripts and cells, nor tables that scripts and cells can change.
local support = require "support"

-- Two programs begin with this text. Each program damages globals and the fields of global tables, and then uses the library. The
-- results of the library must be as before. ONE_BY_ONE damages one value at a time. ALL_AT_ONCE damages all values before the
-- library loads the modules that it loads on demand.
local PROGRAM = [=[
package.preload["nestwright.front"] = function() return {publish = function() end, ask = function() return "" end} end
local nw = require "nestwright"
local prompt, notebook = require "nestwright.show.prompt", require "nestwright.notebook.notebook"
local G, type, pairs, rawset, rawget, pcall, error, print, concat, sort = _G, type, pairs, rawset, rawget, pcall, error, print,
  table.concat, table.sort

local A = nw.placeholder({8, 8}, "f32", "A")
local k = nw.reduce_axis(8, "k")
local s = nw.schedule(nw.compute({8}, function(i) return nw.sum(A(i, k), k) end, "C"))
local values = {{1, 2}, {3, 4}}

local function use()
  local _, refused = pcall(s.parallel, s, "k")
  return concat({prompt.display(false, s, nw.tensor(values), {1, "x"}), prompt.error_text(refused, nil, false),
    notebook.encoded(notebook.shown(s)), notebook.failure('{"text": "x", "shown": false}', refused),
    prompt.inspect "nw.sum", prompt.inspect "G",
    notebook.is_complete '{"code": "for"}', concat(prompt.complete "nw.red"), s:show "lowered" .. "", s:trace() .. "",
    nw.misses(s) .. "", nw.reuse(s).caption, nw.help() .. ""}, "\n")
end

local function each(visit)
  local names = {}
  for name, value in pairs(G) do
    if name ~= "_G" and name ~= "_" and name ~= "arg" then names[#names + 1] = {G, name} end
    if type(value) == "table" and value ~= G and name ~= "package" then
      for field in pairs(value) do names[#names + 1] = {value, field} end
    end
  end
  for n = 1, #names do visit(names[n][1], names[n][2]) end
end

local function damage(t, key)
  if type(key) == "string" then rawset(t, key, 5) end
end
]=]

local ONE_BY_ONE = PROGRAM .. [=[
use() -- from here on, a shown nest includes misses
local before, bad = use(), {}
each(function(t, key)
  local value = rawget(t, key)
  for _, other in pairs {5, false} do
    rawset(t, key, other or nil)
    local ok, answer = pcall(use)
    rawset(t, key, value)
    if not ok or answer ~= before then bad[#bad + 1] = ok and key or key .. ": " .. prompt.error_text(answer, nil, false) end
  end
end)
sort(bad)
print(#bad == 0 and "as before" or concat(bad, "\n"))
]=]

local ALL_AT_ONCE = PROGRAM .. [=[
each(damage)
local ok, answer = pcall(use)
print(ok and "works" or prompt.error_text(answer, nil, false))
]=]

local function run(text)
  local file = support.temporary ".lua"
  support.write(file, text)
  local out, status = support.run(support.program .. " " .. file)
  os.remove(file)
  return out, status
end

describe("the library", function()
  it("does not use globals that a script changes, one by one", function()
    assert.equal("as before\n", (run(ONE_BY_ONE)))
  end)

  it("does not use globals that are removed before its modules are loaded", function()
    assert.equal("works\n", (run(ALL_AT_ONCE)))
  end)

  it("keeps string methods that a script adds", function()
    assert.equal("2\ttrue\n", (run [[
      require "nestwright"
      function string.twice(s) return 2 * #s end
      print(("a"):twice(), ("x").format == string.format)]]))
  end)

  it("does not change the strings of a program that only requires it", function()
    local lua = support.run("lua5.4 -v"):find "^Lua 5.4" and "lua5.4" or "lua"
    if not support.run(lua .. " -v"):find "^Lua 5.4" then return pending "lua5.4 is not installed" end
    local file = support.temporary ".lua"
    support.write(file, "require 'nestwright' print(getmetatable('').__index == string, require('nestwright.show.view').text 'x')")
    local paths = ("LUA_PATH='lua/?.lua;lua/?/init.lua' LUA_CPATH='%s/lib/lua/?.so'"):format(support.build)
    local out = support.run(("%s %s %s"):format(paths, lua, file))
    os.remove(file)
    assert.equal("true\tx\n", out)
  end)
end)

describe("a debug hook that a line of the prompt sets", function()
  it("is removed at the end of the line", function()
    local out = support.run(support.program .. " -i", "debug.sethook(function() error 'hook' end, 'l')\n1 + 1\n")
    assert.truthy(("\n" .. out):find "\n2\n")
  end)
end)
