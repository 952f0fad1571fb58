--- Runs random schedules for a GPU through OpenCL, in the interpreter and on the simulated GPU, and compares the bits of the
--- results. The schedules have tiles, blocks, threads, virtual threads, copies in shared and local memory, double buffers,
--- reductions that the threads of a block share, atomic updates, two kernels in one grid, and sizes that no factor divides.
--- usage: nestwright tests/bench/gpu/random.lua FILE CASES SEED [SECONDS]     writes to FILE how many cases agree
--- and how many do not
package.loaded["nestwright.script"] = nil
package.path = "tests/bench/?.lua;" .. package.path
local differ = require "gpu.differ"
local nw = require "nestwright"
local rng = require "nestwright.measure.rng"

local target = nw.target("opencl", {machine = "a100"})

-- Tries a step. A refused step leaves the schedule unchanged.
local function try(s, name, ...) return pcall(s[name], s, ...) end

local function size(r) return r:pick {r:int(1, 9), r:int(10, 40), 16, 32, 64} end

local function new(tensor) return nw.schedule(tensor, {target = target}) end

-- Binds the loops of a stage to blocks and threads, after random splits.
local function bind(r, s, stage)
  local l = s:loops(stage)
  local names = {{"blockIdx.x", "threadIdx.x"}, {"blockIdx.y", "threadIdx.y"}}
  for n = 1, math.min(2, #l) do
    local ok, o, i = try(s, "split", l[#l - n + 1], r:pick {1, 3, 4, 8, 16})
    if ok then
      try(s, "bind", o, names[n][1])
      if r:chance(0.2) then
        local again, v, t = try(s, "split", i, 2)
        if again and try(s, "bind", v, "vthread") then i = t end
      end
      try(s, "bind", i, names[n][2])
    end
  end
end

local function share(r, s, stage)
  local ok, l = pcall(s.loops, s, stage)
  if not ok then return end
  local fused, f = try(s, "fuse", l[#l - 1], l[#l])
  if not fused then f = l[#l] end
  local split, _, x = try(s, "split", f, r:pick {4, 8, 16})
  if split and r:chance(0.8) then try(s, "bind", x, "threadIdx.x") end
  if r:chance(0.3) then try(s, "double_buffer", stage) end
  if r:chance(0.2) then try(s, "storage_align", stage, 0, 32, 1) end
end

-- Copies inputs to shared memory and sums to local memory, at random loops.
local function cache(r, s, output, inputs, reduction)
  local user = output
  local l = s:loops(output)
  local threads = l[#l - 1]
  if r:chance(0.5) and try(s, "cache_write", output, "local", {at = threads}) then user = output .. "_local" end
  local split, outer = try(s, "split", reduction, r:pick {2, 4, 8})
  if not split then return end
  for _, name in ipairs(inputs) do
    if r:chance(0.7) and try(s, "cache_read", name, "shared", {user}, {at = outer}) then share(r, s, name .. "_shared") end
  end
  l = s:loops(user)
  if r:chance(0.3) then try(s, "unroll", l[#l]) end
end

local make = {}

function make.product(r)
  local m, n, k = size(r), size(r), size(r)
  local A, B = nw.placeholder({m, k}, "f32", "A"), nw.placeholder({k, n}, "f32", "B")
  local s = new(nw.compute({m, n}, function(i, j)
    local q = nw.reduce_axis(k, "k")
    return nw.sum(A(i, q) * B(q, j), q)
  end, "C"))
  local ok, io, jo, ii, ji = try(s, "tile", "i", "j", r:pick {2, 4, 8}, r:pick {4, 8, 16})
  if not ok then return s end
  for index, loop in pairs {["blockIdx.y"] = io, ["blockIdx.x"] = jo, ["threadIdx.y"] = ii, ["threadIdx.x"] = ji} do
    try(s, "bind", loop, index)
  end
  cache(r, s, "C", {"A", "B"}, "k")
  return s
end

function make.convolution(r)
  local n, taps = size(r) * r:pick {1, 5}, r:int(1, 9)
  local X, W = nw.placeholder({n + taps - 1}, "f32", "X"), nw.placeholder({taps}, "f32", "W")
  local s = new(nw.compute({n}, function(i)
    local k = nw.reduce_axis(taps, "k")
    return nw.sum(X(i + k) * W(k), k)
  end, "Y"))
  local o, i = s:split("i", r:pick {4, 16, 32})
  s:bind(o, "blockIdx.x")
  s:bind(i, "threadIdx.x")
  if r:chance(0.6) and try(s, "cache_read", "X", "shared", {"Y"}, {at = o}) then
    local l = s:loops "X_shared"
    local ok, _, x = try(s, "split", l[#l], r:pick {4, 16, 32})
    if ok then try(s, "bind", x, "threadIdx.x") end
  end
  if r:chance(0.3) then try(s, "unroll", "k") end
  return s
end

-- A reduction of the rows by a random reducer. Returns the outputs.
local function reduced(r, m, n)
  local how = r:pick {"sum", "sum", "prod", "min", "max", "argmin", "argmax", "extent"}
  local dtype = how == "extent" and "f32" or r:pick {"f32", "f32", "f64", "i32", "f16", "u8"}
  local A = nw.placeholder({m, n}, dtype, "A")
  if how ~= "extent" then
    return {nw.compute({m}, function(i)
      local k = nw.reduce_axis(n, "k")
      return nw[how](A(i, k), k)
    end, "R")}
  end
  local extent = nw.reducer {name = "extent", init = {math.huge, -math.huge, 0}, names = {"least", "most", "sum"},
    combine = function(a, b) return nw.min(a[1], b[1]), nw.max(a[2], b[2]), a[3] + b[3] end}
  return {nw.compute({m}, function(i)
    local k = nw.reduce_axis(n, "k")
    return extent({A(i, k), A(i, k), A(i, k) * A(i, k)}, k)
  end, "R")}
end

-- Threads of a block share a reduction, along one or two indices, and rows may be other threads or loops inside.
function make.rows(r)
  local m, n = size(r), size(r) * r:pick {1, 4}
  local outputs = reduced(r, m, n)
  local s = new(outputs)
  local ok, k_o, k = try(s, "split", "k", r:pick {2, 3, 7, 8, 20, 32, 50, 64, 100})
  if not ok then k = "k" end
  if r:chance(0.5) then
    local split, o, i = try(s, "split", "i", r:pick {2, 4, 8})
    if split then
      try(s, "bind", o, "blockIdx.x")
      if r:chance(0.5) then
        try(s, "bind", i, r:pick {"threadIdx.y", "threadIdx.z"})
      elseif ok then
        try(s, "reorder", o, k_o, i, k)
      end
    end
  else
    s:bind("i", "blockIdx.x")
  end
  if r:chance(0.3) then
    local again, outer, inner = try(s, "split", k, r:pick {2, 4, 8})
    if again then
      try(s, "bind", outer, "threadIdx.y")
      k = inner
    end
  end
  try(s, "bind", k, r:chance(0.85) and "threadIdx.x" or "threadIdx.y")
  return s
end

-- Two kernels share one grid: their nests are one loop over blocks or threads.
function make.fused(r)
  local m, n = size(r) * r:pick {1, 4}, size(r) * r:pick {1, 4}
  local A, B = nw.placeholder({m}, "f32", "A"), nw.placeholder({n}, "f32", "B")
  local X = nw.compute({m}, function(i) return A(i) * 2 + 1 end, "X")
  local Y = nw.compute({n}, function(i) return B(n - 1 - i) * B(i) end, "Y")
  local s = new {X, Y}
  local blocks, threads = {}, {}
  for l, stage in ipairs {X, Y} do
    local o, i = s:split(s:loops(stage)[1], r:pick {4, 8, 16, 32})
    blocks[l], threads[l] = o, i
  end
  if r:chance(0.5) then
    s:bind(s:create_fused_loop(blocks[1], blocks[2]), "blockIdx.x")
    for _, loop in ipairs(threads) do
      if r:chance(0.2) then try(s, "vectorize", loop) else try(s, "bind", loop, "threadIdx.x") end
    end
    return s
  end
  local f = s:create_fused_loop(blocks[1], blocks[2])
  local o, t = s:split(f, r:pick {2, 4, 8})
  s:bind(o, "blockIdx.x")
  s:bind(t, "threadIdx.x")
  for _, loop in ipairs(threads) do
    if r:chance(0.3) then try(s, "vectorize", loop) end
  end
  return s
end

function make.elements(r)
  local m, n = size(r), size(r)
  local dtype = r:pick {"f32", "f32", "i32", "f64"}
  local A, B = nw.placeholder({m, n}, dtype, "A"), nw.placeholder({m, n}, dtype, "B")
  local C = nw.compute({m, n}, function(i, j) return A(i, j) * B(i, n - 1 - j) + A(i, j) end, "C")
  local s = new(C)
  bind(r, s, "C")
  local l = s:loops "C"
  if r:chance(0.3) then
    local ok, _, v = try(s, "split", l[#l], r:pick {2, 4})
    if ok then try(s, "vectorize", v) end
  end
  return s
end

function make.two_stages(r)
  local n = size(r) * 2
  local A = nw.placeholder({n}, "f32", "A")
  local B = nw.compute({n}, function(i) return A(i) * 3 + 1 end, "B")
  local s = new(nw.compute({n}, function(i) return B(n - 1 - i) + A(i) end, "C"))
  for _, stage in ipairs {"B", "C"} do bind(r, s, stage) end
  return s
end

function make.histogram(r)
  local n, bins = size(r) * 4, r:int(1, 12)
  local X = nw.placeholder({n}, "i32", "X")
  local s = new(nw.compute({bins}, function(b)
    local k = nw.reduce_axis(n, "k")
    return nw.sum(nw.cast(nw.select(nw.eq(X(k), b), 1, 0), "i32"), k)
  end, "H"))
  local o, k = s:split("k", r:pick {4, 16, 32})
  s:reorder(o, k, "b")
  s:decompose_reduction("H", o)
  s:atomic "H"
  s:bind(o, "blockIdx.x")
  s:bind(k, "threadIdx.x")
  return s
end

-- What a schedule may have, by a pattern of the code of its trace.
local FEATURES = {
  {"virtual threads", '"vthread"'}, {"shared copies", "cache_read"}, {"local sums", "cache_write"},
  {"double buffers", "double_buffer"}, {"padded rows", "storage_align"}, {"vectors", "vectorize"}, {"unrolled loops", "unroll"},
  {"atomic updates", "atomic"}, {"fused grids", "create_fused_loop"},
}
local used = {}

local function note_features(s)
  local text = tostring(s:show "trace")
  local function note(name) used[name] = (used[name] or 0) + 1 end
  for _, row in ipairs(FEATURES) do
    if text:find(row[2], 1, true) then note(row[1]) end
  end
  if tostring(s:show "lowered"):find("_upper[", 1, true) then note "shared reductions" end
end

local KINDS = {"product", "product", "product", "convolution", "rows", "rows", "rows", "elements", "elements", "two_stages",
  "histogram", "fused", "fused"}

-- Returns "good", "refused" (there is no kernel to run) or "wrong", and why.
local function tried(seed)
  local r = rng.new(seed)
  local kind = r:pick(KINDS)
  local s = make[kind](r)
  if not tostring(s):find("Idx", 1, true) then return "refused", kind end
  local data = {}
  for n, t in ipairs(s:inputs()) do
    local whole = t.dtype:find "^[iu]"
    data[n] = nw.random(t:shape(), t.dtype, {seed = seed + n, lo = whole and 0 or -1, hi = whole and 9 or 1})
  end
  local want = nw.interpret(s, data, {lowered = true})
  local ran, got = pcall(function() return {s:build()(table.unpack(data))} end)
  if not ran then return got.code == "limit" and "refused" or "wrong", kind .. ": OpenCL: " .. tostring(got) end
  local why = differ(want, got)
  if why then return "wrong", kind .. ": OpenCL: " .. why end
  local report = nw.simulate(s, data, {ptxas = false})
  why = #report.findings > 0 and tostring(report) or differ(want, report.outputs)
  if why then return "wrong", kind .. ": simulated: " .. why end
  note_features(s)
  return "good", kind
end

local path, cases, seed = arg[1], tonumber(arg[2]), tonumber(arg[3])
local counts, until_time = {good = 0, refused = 0, wrong = 0}, os.time() + (tonumber(arg[4]) or 600)
local kinds = {}
local seeds, n = rng.new(seed), 0 -- each case has a seed of its own
while counts.good < cases and os.time() < until_time do
  n = n + 1
  local own = seeds:int(1, 1 << 40)
  local ok, what, why = pcall(tried, own)
  if not ok then what, why = "wrong", tostring(what) end
  counts[what] = counts[what] + 1
  if what == "wrong" then print(("seed %d: %s"):format(own, why)) end
  if what == "good" then kinds[why] = (kinds[why] or 0) + 1 end
  if n % 50 == 0 then collectgarbage() end
end

local function listed(counted)
  local list = {}
  for name, times in pairs(counted) do list[#list + 1] = ("%s %d"):format(name, times) end
  table.sort(list)
  return table.concat(list, ", ")
end

print(("random schedules, seed %d: %d agree (%s), %d have no kernel, %d are wrong"):format(seed, counts.good, listed(kinds),
  counts.refused, counts.wrong))
print("  of these, with " .. listed(used))
local file = assert(io.open(path, "w"))
file:write(counts.good, " ", counts.wrong, "\n")
file:close()
