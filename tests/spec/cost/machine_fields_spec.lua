--- Tests that every field of a processor's record either changes a prediction, or is listed as a field that changes none.
local nw = require "nestwright"

local SLOW = {div = true, sqrt = true, exp = true, log = true, tanh = true, erf = true, pow = true}

-- Every field differs from its default. Otherwise, if the default is the value of another field, a change of the other field has
-- two effects.
local function record()
  local m = {name = "probe", cores = 8, clock = 2, vector_bytes = 64, vector_registers = 32, dispatch = 6, gather = 1, scatter = 5,
    gather_least = 7, gather_instructions = 8, scheduler = 20, foretold = 60,
    line_crossing = 1.5, page_crossing = 3, store_crossing = 2, alias_4k = 2, window = 200, forward = 5, forward_masked = 12,
    store_lines = 0.1, branch_miss = 14, loop = 1.1, call = 3, ops = {}, energy = {instruction = 50, static_watts = 2},
    memory = {bytes = 1 << 30, latency = 90, bandwidth = 1, bandwidth_all = 1.5, read_pj = 200, write_pj = 210},
    teams = {{threads = 2, spawn = 1, barrier = 1}, {threads = 4, spawn = 2, barrier = 2}}}
  for _, f in ipairs(nw.machine("zen5"):fields()) do
    local class = f.path:match "^ops%.(%w+)%.latency"
    if class then
      local slow = SLOW[class:gsub("64$", "")]
      m.ops[class] = {per_cycle = slow and {0.05, 0.05, 0.05, 0.05} or {2, 2, 2, 2}, latency = slow and 20 or 4}
      m.energy[class] = {1, 2, 3, 4}
    end
  end
  m.caches = {{bytes = 16384, ways = 4, latency = 4, bytes_per_cycle = 64, back_per_cycle = 32,
    strided = 6, strided_store = 7, crowded_store = 9, strided_across = 3,
    effective_bytes = 16384, read_pj = 1, write_pj = 1.5}, {bytes = 65536, ways = 8, latency = 14, bytes_per_cycle = 0.5,
    back_per_cycle = 0.5,
    strided = 300, strided_store = 400, crowded_store = 900, strided_across = 500,
    shared_by = 2, effective_bytes = 65536, read_pj = 3, write_pj = 3.5}}
  return m
end

-- Fields that change no prediction. Some fields are only information for people. Other fields limit what a schedule may use.
local READ_ONLY = {forward_masked = "no program here keeps masked sums in memory",
  name = "text", about = "text", kind = "what it is", clock_ratio = "measuring only", cores = "a limit of threads",
  isa = "a word", cpu = "a name", loop_lanes = "a limit", stack_bytes = "a limit",
  ["memory.bytes"] = "its size", ["memory.latency"] = "hidden by prefetchers", ["caches[1].latency"] = "in ops.load",
  ["caches[1].bytes_per_cycle"] = "in ops.load", ["caches[1].back_per_cycle"] = "in ops.store",
  ["caches[1].strided"] = "read for outer levels only", ["caches[1].strided_store"] = "read for outer levels only",
  ["caches[1].crowded_store"] = "read for outer levels only", ["caches[1].strided_across"] = "read for outer levels only",
  ["caches[2].latency"] = "used if strided is not set", ["caches[1].line"] = "the same for all levels",
  ["caches[2].line"] = "the same for all levels", ["caches[1].write_allocate"] = "true only",
  ["caches[2].write_allocate"] = "true only",
  ["caches[1].ways"] = "with bytes", ["caches[2].ways"] = "with bytes", ["caches[1].shared_by"] = "of threads", combine = "a word",
  ["teams[1].threads"] = "a key", ["teams[2].threads"] = "a key",
  -- These fields are measured, but the model does not use them, as docs/cost.md says.
  alias_4k = "", call = "", ["caches[1].overlaps"] = "", ["caches[2].overlaps"] = "", ["memory.overlaps"] = ""}

local function product(m, n, d)
  local A, B = nw.placeholder({m, d}, "f32", "A"), nw.placeholder({d, n}, "f32", "B")
  local k = nw.reduce_axis(d, "k")
  return nw.schedule(nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

local function of_each(dtype, lanes, f)
  local A = nw.placeholder({64}, dtype, "A")
  local s = nw.schedule(nw.compute({64}, function(i) return f(A(i)) end, "C"))
  if lanes > 1 then
    local _, inner = s:split("i", lanes)
    s:vectorize(inner)
  end
  return s
end

-- Small programs that together use every part of the model: {schedule, threads}.
local function programs()
  local list = {}
  local function add(s, threads) list[#list + 1] = {s, threads or 1} end
  local function tensor(shape, f, dtype) return nw.compute(shape, f(nw.placeholder(shape, dtype or "f32", "A")), "T") end
  add(product(12, 16, 70))
  local blocked = product(16, 64, 32)
  blocked:tile("i", "j", 8, 32)
  blocked:reorder("i_o", "j_o", "k", "i_i", "j_i")
  blocked:vectorize "j_i"
  add(blocked)
  local through_memory = product(4, 2, 64)
  through_memory:reorder("i", "k", "j")
  add(through_memory)
  local masked = product(4, 6, 64)
  masked:split("j", 8)
  masked:reorder("i", "j_o", "k", "j_i")
  masked:vectorize "j_i"
  add(masked)
  local by_columns = nw.schedule(tensor({100, 1024}, function(A) return function(i, j) return A(i, j) * 2 end end))
  by_columns:reorder("j", "i")
  add(by_columns)
  local rows = nw.schedule(tensor({8, 19}, function(A) return function(i, j) return A(i, j) * 2 end end))
  rows:split("j", {factor = 16, tail = "cut"})
  rows:vectorize "j_i"
  add(rows)
  local A = nw.placeholder({64}, "f32", "A")
  local gathered = nw.schedule(nw.compute({64}, function(i) return A(i * 7 % 64) end, "G"))
  gathered:split("i", 8)
  gathered:vectorize "i_i"
  add(gathered)
  local wide = nw.placeholder({260, 264}, "f32", "A")
  local strips = nw.schedule(nw.compute({260, 256}, function(y, x) return wide(y, x) + wide(y, x + 1) end, "S"))
  strips:split("x", 16)
  strips:reorder("x_o", "y", "x_i")
  strips:vectorize "x_i"
  add(strips)
  local function filled(m, n)
    local s = nw.schedule(nw.compute({m, n}, function(i, j) return nw.select(nw.lt(i + j, 0), 0, nw.f32(1)) end, "F"))
    s:reorder("j", "i")
    return s
  end
  add(filled(96, 256))
  local scattered = filled(16, 32)
  scattered:vectorize "i"
  add(scattered)
  add(nw.schedule(tensor({6, 70}, function(B) return function(i, j) return B(i, j) + 1 end end, "i8"))) -- 70 leaves a remainder
  local stream = nw.schedule(tensor({16384}, function(B) return function(i) return B(i) + 1 end end))
  stream:split("i", 16)
  stream:vectorize "i_i"
  stream:parallel "i_o"
  for _, threads in ipairs {1, 2, 4} do add(stream, threads) end
  return list
end

local CHANGED = {line_crossing = 50, store_crossing = 50, vector_bytes = 32, vector_registers = 4, store_lines = 0.02, dispatch = 1,
  shared_by = 1}

-- Returns a copy of the table in which a field, such as "caches[2].latency", has another value.
local function change(m, path)
  local at, key = m, nil
  for name in path:gmatch "[%w_]+" do
    if key then at = at[key] end
    key = tonumber(name) or name
  end
  if key == "bytes" then at.effective_bytes = nil end
  at[key] = key == "effective_bytes" and at.bytes // 2 or key == "bytes" and 2 * at.bytes or CHANGED[key] or 3 * at[key]
end

describe("a field of a machine record", function()
  local list

  -- Returns all predictions in one text.
  local function said(m)
    local out = {}
    list = list or programs()
    for n, p in ipairs(list) do
      local c = p[1]:cost {machine = m, threads = p[2], conflicts = false}
      out[n] = ("%.9g %.9g"):format(c.cycles, c.joules)
    end
    return table.concat(out, " ")
  end

  it("changes a prediction, or is listed as a field that changes none", function()
    local base, silent = record(), {}
    local before = said(nw.machine(base))
    assert.equal(before, said(nw.machine(record())))
    for _, f in ipairs(nw.machine(base):fields()) do
      if not READ_ONLY[f.path] and not f.path:find "^ops%." and not f.path:find "^energy%.%l+%d*%[" then
        local m = record()
        change(m, f.path)
        if said(nw.machine(m)) == before then silent[#silent + 1] = f.path end
      end
    end
    assert.equal("", table.concat(silent, ", "))
  end)
end)

describe("the rates of an operation", function()
  local F = {add = "+", mul = "*", div = "/", exp = "exp", log = "log", tanh = "tanh", erf = "erf", sqrt = "sqrt", pow = "pow",
    minmax = "max", round = "floor"}

  local function apply(op, a)
    if op == "+" then return a + 3 elseif op == "*" then return a * 3 elseif op == "/" then return 3 / a end
    if op == "pow" then return nw.pow(a, a) elseif op == "max" then return nw.max(a, 3) end
    return nw[op](a)
  end

  local function fast()
    local m = record()
    m.caches, m.store_lines = {{bytes = 32768, ways = 8, latency = 4, bytes_per_cycle = 64}}, 1
    m.memory.bandwidth = 1000
    return m
  end

  it("are used by class and by the width of the instruction", function()
    local base = nw.machine(fast())
    for class, op in pairs(F) do
      for _, dtype in ipairs {"f32", "f64"} do
        local bits = dtype == "f32" and 32 or 64
        local wide = dtype == "f64" and fast().ops[class .. "64"] and class .. "64" or class
        -- the compiler makes no code that is wider than this machine's vectors
        for w, bytes in ipairs {bits // 8, 16, 32, nw.machine().vector_bytes >= 64 and 64 or nil} do
          local s = of_each(dtype, bytes * 8 // bits, function(a) return apply(op, a) end)
          local m = fast()
          m.ops[wide].per_cycle[w] = m.ops[wide].per_cycle[w] / 40
          local before, after = s:cost({machine = base}).cycles, s:cost({machine = nw.machine(m)}).cycles
          assert.is_true(after > before, ("%s of %d bits in %d bytes"):format(wide, bits, bytes))
          m = fast()
          m.energy[wide][bits == 32 and 3 or 4] = 500
          assert.is_true(s:cost({machine = nw.machine(m)}).joules > s:cost({machine = base}).joules, wide)
        end
      end
    end
  end)
end)
