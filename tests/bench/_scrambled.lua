--- Prints figures of some schedules, one on each line: costs, features, marks, partitions and rooflines. tests/bench/house.lua
--- runs this file without and with NW_SCRAMBLE, which reverses every word of a printed program or message. The figures of both
--- runs must be equal.
package.path = "tests/bench/?.lua;" .. package.path
local nw = require "nestwright"
local cost = require "nestwright.cost.cost"
local features = require "nestwright.learn.features"
local marks = require "nestwright.partition.marks"
local sampler = require "nestwright.learn.sampler"
local schedules = require "_schedules"

local function say(name, key, value) print(("%s %s %s"):format(name, key, tostring(value))) end

local function figures(name, s)
  local c = cost.of("figures", s, {machine = "zen5"})
  for _, key in ipairs {"cycles", "flops", "instructions", "spills", "joules"} do say(name, key, c[key]) end
  for n, loop in ipairs(c.loops) do say(name, "loop " .. n, loop.cycles) end
  for n, v in ipairs(features.of(s, c, nil, {code = true})) do say(name, "feature " .. n, v) end
  local row = {}
  marks.add(row, s)
  say(name, "unsafe", row.unsafe)
  say(name, "intrinsics", row.intrinsics)
  say(name, "conditions", nw.partition.conditions(s))
  local _, remarks = tostring(s:show {cost = true, machine = "zen5"}):gsub("%%  ", "")
  say(name, "loops with costs", remarks)
end

local function roofline(name, s)
  local p = nw.roofline(s, {machine = "zen5"})
  for n, dot in ipairs(p.rows) do
    for k, column in ipairs(p.columns) do
      if type(dot[k]) == "number" then say(name, ("dot %d, %s"):format(n, column), dot[k]) end
    end
  end
end

local packed = schedules.gemm(256, 2)
if arg[1] == "shown" then return print(packed:show()) end
figures("packed gemm", packed)
roofline("packed gemm", packed)
figures("blur", schedules.blur(64, 128, "f32", 1, {}))

local A, B = nw.placeholder({96, 96}, "f32", "A"), nw.placeholder({96, 96}, "f32", "B")
local k = nw.reduce_axis(96, "k")
local from = sampler.new({nw.compute({96, 96}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")}, 7)
for n = 1, 12 do figures("drawn " .. n, from:next()) end

local M = nw.size "M"
local X = nw.placeholder({M}, "f32", "X")
local s = nw.schedule(nw.compute({M}, function(i) return nw.log(nw.abs(X(i)) + 1) end, "Y"))
for n, row in ipairs(s:partition_auto {loop = "i", cost = "model", sizes = {M = {17, 64}}, machine = "zen5",
  kernels = {{rows = 8, schedule = function(t, piece) t:vectorize(piece.inner) end}}}) do
  say("partition " .. n, row.strategy, row.figure)
end
s:unsafe(function(t) t:parallel "i" end)
local row = {}
marks.add(row, s)
say("unsafe", "mark", row.unsafe)
