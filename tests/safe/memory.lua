--- Makes requests for more memory than is available. Each request runs in a process of its own, in a session with a schedule of a
--- few steps. The request must end with a result or with an error of this library. Afterwards the schedule must be unchanged,
--- another step must work, and small requests must succeed. A request is too large for one of three reasons:
---   limit     the address space of the process is limited (ulimit -v)
---   machine   the size is larger than the memory of any machine
---   overflow  the number of bytes does not fit into 64 bits
--- In addition, an ordinary session runs under many memory limits. The smallest limit is about the memory that Lua needs to start,
--- and the largest limit is more than the session needs. If a step, a proof, a compilation or a call fails, the session must
--- continue.
---
--- With NW_FIGURES=FILE, the numbers of cases and of lost sessions are written to the file.
--- usage: nestwright tests/safe/memory.lua [few | CASE]
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local child = require "_child"

-- Returns the smaller number. Requests that make many small allocations call this function, because larger requests take too long.
local function at_most(n, most) return math.min(n, most) end

local WAYS = {limit = 3e9 // 1 | 0, machine = 1 << 44, overflow = (1 << 62) + 5}
local LIMIT_KIB = 1000000 -- the limit on the address space for the reason "limit"

-- Each request is a function of `nw` and of the number of bytes that it asks for.
local requests = {}

local function vector(nw)
  local N = nw.size "N"
  local A = nw.placeholder({N}, "f32", "A")
  return nw.schedule(nw.compute({N}, function(i) return A(i) + 1 end, "B"))
end

function requests.tensor(nw, n) return nw.zeros {n // 4} end
function requests.random(nw, n) return nw.random({n // 8}, "f64") end
function requests.full(nw, n) return nw.full({n // 4}, 1.5) end
requests["tensor of many dimensions"] = function(nw, n)
  local d = math.ceil((n / 4) ^ (1 / 4))
  return nw.zeros {d, d, d, d}
end
requests["array file"] = function(nw, n) -- the header describes data that the file does not contain
  local path = os.tmpname()
  local header = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }"):format(n // 4)
  local f <close> = assert(io.open(path, "wb"))
  f:write("\x93NUMPY\1\0", string.pack("<I2", #header + 1), header, "\n")
  f:close()
  local ok, err = pcall(nw.load, path)
  os.remove(path)
  if not ok then error(err, 0) end
end
local function with_temporary(nw, parallel)
  local M, N, K = nw.size "M", nw.size "N", nw.size "K"
  local A, B, D = nw.placeholder({M}, "f64", "A"), nw.placeholder({N}, "f64", "B"), nw.placeholder({K}, "f64", "D")
  local T = nw.compute({M, N, K}, function(i, j, l) return A(i) * B(j) + D(l) end, "T")
  local k, k2, k3 = nw.reduce_axis(K, "k"), nw.reduce_axis(N, "k2"), nw.reduce_axis(M, "k3")
  local E = nw.compute({4}, function(z) return nw.sum(T(k3, k2, k) + z, k3, k2, k) end, "E")
  local s = nw.schedule(E)
  if parallel then
    s:compute_at("T", "z")
    s:parallel "z"
  end
  return s, E
end
local function cube(n) return math.min(math.ceil((n / 8) ^ (1 / 3)), 1 << 21) end
requests["temporary"] = function(nw, n)
  local f, d = with_temporary(nw):build {threads = 1}, cube(n)
  return f(nw.zeros({d}, "f64"), nw.zeros({d}, "f64"), nw.zeros({d}, "f64"))
end
requests["temporary of each thread"] = function(nw, n)
  local f, d = with_temporary(nw, true):build {threads = 4}, cube(n)
  return f(nw.zeros({d}, "f64"), nw.zeros({d}, "f64"), nw.zeros({d}, "f64"))
end
requests["temporary in the interpreter"] = function(nw, n)
  local d = cube(n)
  return nw.interpret(with_temporary(nw), {nw.zeros({d}, "f64"), nw.zeros({d}, "f64"), nw.zeros({d}, "f64")}, {steps = 1000000})
end
requests["temporary in the interpreter, lowered"] = function(nw, n)
  local d = cube(n)
  return nw.interpret(with_temporary(nw), {nw.zeros({d}, "f64"), nw.zeros({d}, "f64"), nw.zeros({d}, "f64")},
    {steps = 1000000, lowered = true})
end
requests["temporary of a grid in the interpreter"] = function(nw, n)
  local N = nw.size "N"
  local A = nw.placeholder({N}, "f32", "A")
  local T = nw.compute({N}, function(i) return A(i) * 2 end, "T")
  local k = nw.reduce_axis(N, "k")
  local B = nw.compute({64}, function(i) return nw.sum(T(k) + i, k) end, "B")
  local s = nw.schedule(B)
  s:compute_at("T", "i_1")
  s:bind("i_1", "blockIdx.x")
  local d = math.min(n // 4, 100000000)
  return nw.interpret(s, {nw.zeros {d}}, {lowered = true, steps = 1000000})
end
requests["definition"] = function(nw, n)
  local _, E = with_temporary(nw)
  local d = cube(n)
  return nw.evaluate(E, {nw.zeros({d}, "f64"), nw.zeros({d}, "f64"), nw.zeros({d}, "f64")})
end
function requests.accesses(nw, n)
  return nw.accesses(vector(nw), {sizes = {N = at_most(n // 16, 15000000)}, most = n})
end
requests["accesses of a run"] = function(nw, n)
  return nw.accesses(vector(nw), {arguments = {nw.zeros {2000000}}, most = n})
end
requests["accesses of a nest"] = function(nw, n)
  local k = at_most(n // 8, 25000000)
  return nw.nest.parse(("nest q\narray C: f64[%d]\nfor k in 0..%d:\n  C[k] = 1.0\n"):format(k, k)):accesses {most = n}
end
requests["cache"] = function(nw, n) -- a cache of n bytes; the program uses a small part of the cache
  return nw.misses(vector(nw), {sizes = {N = 1000}, levels = {{bytes = n // 64 * 64, ways = 0}}})
end
requests["cache with many sets"] = function(nw, n)
  local power = math.min(56, math.tointeger(math.log(n // 64, 2) // 1))
  return nw.misses(vector(nw), {sizes = {N = 1000}, levels = {{bytes = 64 << power, ways = 1}}})
end
requests["distances between reuses"] = function(nw, n)
  return nw.reuse(vector(nw), {sizes = {N = at_most(n // 8, 15000000)}})
end
requests["misses of a nest"] = function(nw, n)
  local k = at_most(n // 8, 15000000)
  return nw.nest.parse(("nest q\narray C: f64[%d]\nfor k in 0..%d:\n  C[k] = 1.0\n"):format(k, k))
    :misses {levels = {{bytes = n // 64 * 64, ways = 0}}, simulate = true}
end
requests["cost"] = function(nw, n) return vector(nw):cost {sizes = {N = n // 4}} end
requests["machine record with a large cache"] = function(nw, n)
  local m = nw.machine {name = "big", extends = "zen5", caches = {{level = 1, bytes = 32768, ways = 8, line = 64},
    {level = 2, bytes = n // 64 * 64, ways = 16, line = 64}}}
  return vector(nw):cost {sizes = {N = 1000}, machine = m}
end
requests["picture of the order"] = function(nw, n) return nw.order(vector(nw), {sizes = {N = n}}):svg() end
requests["picture of space and time"] = function(nw, n)
  return nw.spacetime(vector(nw), {sizes = {N = at_most(n // 16, 15000000)}}):svg()
end
requests["unrolled loop"] = function(nw, n)
  local A = nw.placeholder({n}, "f32", "A")
  local s = nw.schedule(nw.compute({n}, function(i) return A(i) + 1 end, "B"))
  s:unroll "i"
  return s:show "lowered"
end
requests["samples of a timing"] = function(nw, n)
  return vector(nw):build {threads = 1}:time(nw.zeros {4}, {reps = n, min_seconds = 0, warmup = 0})
end
requests["text of Lua"] = function(_, n) return ("x"):rep(n) end
requests["table of Lua"] = function(_, n)
  local t, text = {}, ("x"):rep(1 << 20)
  for i = 1, at_most(n >> 20, 2000) do t[i] = text .. i end
  return t
end
requests["rows of a sweep"] = function(nw, n)
  local list = {}
  for k = 1, 3000 do list[k] = k end
  local params = {a = list, b = list, c = list}
  if n > 1 << 60 then params.d, params.e, params.f = list, list, list end
  return nw.sweep {params = params, run = function() return 1 end}
end
requests["point of a sweep"] = function(nw, n) -- the third of three points needs too much memory
  local path = os.tmpname()
  local ok, err = pcall(nw.sweep, {params = {a = {1, 2, 3}}, json = path, run = function(p)
    if p.a == 3 then requests["table of Lua"](nw, n) end
    return p.a
  end})
  os.remove(path)
  if not ok then error(err, 0) end
end
requests["text of a nest"] = function(nw, n)
  return nw.nest.parse("nest q\narray C: f64[4]\n" .. ("# x\n"):rep(at_most(n, 600000000) // 4))
end
requests["elements of a Lua table"] = function(nw, n)
  local t = {}
  for i = 1, at_most(n // 16, 30000000) do t[i] = i end
  return nw.tensor(t)
end
requests["threads"] = function(nw, n)
  local s = vector(nw)
  s:parallel "i"
  return s:build {threads = n}(nw.zeros {64})
end

-- The requests that fail if the address space is limited. Their errors must name the limit.
local NAMES_THE_LIMIT = {}
for _, name in ipairs {"tensor", "random", "full", "tensor of many dimensions", "temporary", "temporary of each thread",
  "temporary in the interpreter", "temporary in the interpreter, lowered", "temporary of a grid in the interpreter", "definition",
  "accesses"} do NAMES_THE_LIMIT[name] = true end

-- The words that the errors of sweeps must contain.
local SAYS = {["rows of a sweep"] = "make 27000000000 points",
  ["point of a sweep"] = "the first 2 of 3 points are finished, and are in"}

-- ---- The process of a case

-- Returns whether an error is as expected, and its text. If Lua itself has too little memory, an error of Lua is as expected.
local function fine(err)
  if type(err) == "table" then return err.code ~= nil and err.code ~= "internal", tostring(err.message) end
  return err == "not enough memory" or tostring(err):find "resulting string too large", tostring(err)
end

local function in_child(name, way)
  local nw = require "nestwright"
  local A = nw.placeholder({24, 36}, "f32", "A")
  local s = nw.schedule(nw.compute({24, 36}, function(i, j) return A(i, j) + 1 end, "C"))
  s:split("i", 5)
  s:reorder("j", "i_i")
  local was, trace = s:text(), s:trace()
  local ok, err = pcall(requests[name], nw, WAYS[way])
  local good, said = true, "succeeded"
  if not ok then good, said = fine(err) end
  if way == "limit" and NAMES_THE_LIMIT[name] then
    assert(not ok and err.code == "memory" and said:find "ulimit %-v", "the error does not name the limit: " .. said)
  end
  if way == "limit" and SAYS[name] then
    assert(not ok and err.code == "memory" and said:find(SAYS[name], 1, true), "the error does not say how much was done: " .. said)
  end
  collectgarbage()
  collectgarbage()
  assert(s:text() == was and s:trace() == trace, "the schedule changed")
  s:split("j", 7)
  s:undo()
  assert(s:text() == was, "undo returned to another program")
  assert(nw.interpret(s, {nw.full({24, 36}, 2)})[1]:get(1, 1) == 3, "a small computation has a wrong result")
  print(good and "alive" or "not an error of the library", (said:gsub("\n.*", "")))
end

-- Performs some ordinary operations, one after the other. If one fails, its error is printed.
local function ordinary()
  local nw = require "nestwright"
  print "begun"
  local A, B = nw.placeholder({64, 64}, "f32", "A"), nw.placeholder({64, 64}, "f32", "B")
  local k = nw.reduce_axis(64, "k")
  local C = nw.compute({64, 64}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local s
  local work = {
    function() s = s or nw.schedule(C) end,
    function() s:tile({"i", "j"}, {8, 16}) end, function() s:moves "k" end, function() s:cache_write("C", "local") end,
    function() s:parallel "k" end, function() s:explain() end, function() s:parallel "i_o" end, function() s:vectorize "j_i" end,
    function() return nw.interpret(s, {nw.random {64, 64}, nw.random {64, 64}}) end,
    function() return tostring(s:cost()) end, function() return tostring(nw.misses(s)) end,
    function() return s:build {threads = 2}(nw.random {64, 64}, nw.random {64, 64}) end,
    function() return s:show "asm" end, function() return s:show "c" end, function() return nw.order(s):svg() end,
    function() s:check() end, function() s:undo() end, function() return s:replay(s:trace "json") end,
  }
  local function text() -- nil if there is too little memory to print the program
    local ok, shown = pcall(function() return s:text() end)
    return ok and shown or nil
  end
  for n, f in ipairs(work) do
    local before = text()
    local ok, err = pcall(f)
    local after = text()
    assert(ok or not before or not after or before == after, "the schedule changed")
    assert(ok or fine(err) or tostring(err):find "a nil value %(upvalue 's'%)", tostring(err))
    if not ok then print(n, (tostring(err):gsub("\n.*", ""))) end
  end
  print "alive"
end

if arg[1] == "child" then
  if arg[2] == "ordinary" then ordinary() else in_child(arg[2], arg[3]) end
  os.exit(0, true)
end

-- ---- The cases

local few, wanted = arg[1] == "few", arg[1] ~= "few" and arg[1] or nil
local cases, lost = 0, 0

local function check(name, kib, arguments)
  if wanted and wanted ~= name then return end
  local out = child.run(arguments, {kib = kib, seconds = 60})
  cases = cases + 1
  local alive = out.code == 0 and out.text:find "\nalive" or out.text:find "^alive"
  if arguments[3] == "ordinary" and not out.text:find "begun" then alive = out.code == 1 or out.code == 127 end -- Lua did not start
  if not alive then lost = lost + 1 end
  local said = out.text:match "alive\t([^\n]*)" or ""
  print(("%s %s%s"):format(alive and "ok" or "not ok", name, said ~= "" and ": " .. said:sub(1, 150) or ""))
  if not alive then print(("  exit %s\n  %s"):format(out.code, out.text:sub(-600):gsub("\n", "\n  "))) end
end

local names = {}
for name in pairs(requests) do names[#names + 1] = name end
table.sort(names)
for n, name in ipairs(names) do
  for _, way in ipairs {"limit", "machine", "overflow"} do
    if not few or (n + #way) % 3 == 0 then
      check(name .. ", " .. way, way == "limit" and LIMIT_KIB or nil, {arg[0], "child", name, way})
    end
  end
end
for mib = 8, 480, few and 49 or 7 do
  check(("ordinary work in %d MiB"):format(mib), mib * 1024, {arg[0], "child", "ordinary"})
end
local path = os.getenv "NW_FIGURES"
if path then
  local f <close> = assert(io.open(path, "w"))
  f:write(('{"memory_cases": %d, "sessions_lost": %d}\n'):format(cases, lost))
end
print(("memory: %d passed, %d failed"):format(cases - lost, lost))
os.exit(lost == 0 and cases > 0, true)
