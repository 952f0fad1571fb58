--- Prints the predicted costs of some kernels for every included processor record. The record of the host is left out, because it
--- depends on the processor. The output must not depend on the processor. ./dev test cpus checks this.
local nw = require "nestwright"

local M, N = 40, 96

-- Applies a math function to each element, in vectors of `lanes` lanes. Every function has a vector form for some of the widths
-- below, but not for all of them.
local function mapped(name, dtype, lanes)
  local A = nw.placeholder({M, N}, dtype, "A")
  local B = nw.compute({M, N}, function(i, j) return name == "pow" and nw.pow(A(i, j), 1.5) or nw[name](A(i, j)) end, "B")
  local s = nw.schedule(B)
  s:split("j", lanes)
  s:vectorize "j_i"
  return s
end

local function gemm(lanes)
  local A, B = nw.placeholder({M, N}, "f32", "A"), nw.placeholder({N, N}, "f32", "B")
  local k = nw.reduce_axis(N, "k")
  local s = nw.schedule(nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
  s:split("j", lanes)
  s:reorder("i", "j_o", "k", "j_i")
  s:vectorize "j_i"
  s:parallel "i"
  return s
end

local function show(name, s)
  for _, machine in ipairs(nw.machines()) do
    if machine ~= "host" and nw.target(machine).model then
      local c = s:cost {machine = machine, threads = 2}
      print(("%s\t%s\t%.12g cycles\t%.12g instructions\t%.12g joules"):format(name, machine, c.cycles, c.instructions, c.joules))
    end
  end
end

for _, lanes in ipairs {3, 8, 32} do
  show("gemm " .. lanes, gemm(lanes))
  for _, name in ipairs {"exp", "log", "tanh", "erf", "pow", "sqrt"} do
    for _, dtype in ipairs {"f32", "f64"} do show(("%s %s %d"):format(name, dtype, lanes), mapped(name, dtype, lanes)) end
  end
end
