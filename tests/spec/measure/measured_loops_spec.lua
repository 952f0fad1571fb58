--- Tests the machine code of the loops with which this machine is measured: the instructions that a loop is to measure are in the
--- loop, as often as its result is divided by, and the compiler has neither removed nor merged any of them. Independent
--- instructions do not wait for each other, and each instruction of a chain waits for the one before. Accesses that are to cross a
--- line or a page cross it. The object files of this build are disassembled.
local support = require "support"

local OBJECTS = support.build .. "/CMakeFiles/nw_run.dir/core/run/"

-- ---- disassembling

-- Splits operands at the commas outside of parentheses.
local function operands(text)
  local out, depth, from = {}, 0, 1
  for at = 1, #text do
    local c = text:sub(at, at)
    depth = depth + (c == "(" and 1 or c == ")" and -1 or 0)
    if c == "," and depth == 0 then out[#out + 1], from = text:sub(from, at - 1), at + 1 end
  end
  out[#out + 1] = text ~= "" and text:sub(from) or nil
  return out
end

local function instruction(at, text)
  local op, rest = text:match "^(%S+)%s*(.-)%s*$"
  local jump = op:find "^j" and rest:match "^(%x+) <"
  return {at = tonumber(at, 16), op = op, to = jump and tonumber(jump, 16), args = jump and {} or operands(rest), text = text}
end

local files = {}

-- Returns the functions of an object file, as lists of instructions by name; nil and the reason if it cannot be disassembled.
local function functions_of(name)
  if files[name] then return files[name] end
  local path = OBJECTS .. name .. ".c.o"
  if not io.open(path) then return nil, path .. " is not there" end
  local out, status = support.run("objdump -d --no-show-raw-insn -M att " .. path)
  if status ~= 0 then return nil, "objdump cannot be run: " .. out:match "[^\n]*" end
  if not out:find("x86-64", 1, true) then return nil, "the loops are written for x86-64" end
  local found, current = {}, nil
  for line in out:gmatch "[^\n]+" do
    local start = line:match "^%x+ <(.-)>:"
    if start then current = {} found[start] = current end
    local at, text = line:match "^%s+(%x+):%s+(.-)%s*$"
    if at and current then current[#current + 1] = instruction(at, text:gsub("%s*#.*", "")) end
  end
  files[name] = found
  return found
end

-- Returns the loops of a function, shortest first: lists of their instructions without the jump at the end.
local function loops_of(list)
  local out = {}
  for n, i in ipairs(list) do
    if i.to and i.to <= i.at and i.to >= list[1].at then
      local body = {}
      for k = 1, n - 1 do if list[k].at >= i.to then body[#body + 1] = list[k] end end
      out[#out + 1] = body
    end
  end
  table.sort(out, function(a, b) return #a < #b end)
  return out
end

-- Returns the shortest loop of a function, or the longest if `longest` is true.
local function loop_of(file, name, longest)
  local list = assert(functions_of(file))[name]
  assert(list, "there is no function " .. name)
  local loops = loops_of(list)
  return assert(loops[longest and #loops or 1], name .. " has no loop")
end

local function has(name) return assert(functions_of(name)) end

-- ---- counting

-- Returns the instructions of a list whose operation is op.
local function all(list, op)
  local out = {}
  for _, i in ipairs(list) do if i.op == op then out[#out + 1] = i end end
  return out
end

local function texts(list)
  local out = {}
  for n, i in ipairs(list) do out[n] = i.text end
  return table.concat(out, "\n")
end

local function distinct(list, of)
  local seen, n = {}, 0
  for _, i in ipairs(list) do
    local key = of(i)
    if not seen[key] then seen[key], n = true, n + 1 end
  end
  return n
end

local function target(i) return i.args[#i.args] end

-- Checks that the loop consists of n instructions with this operation, and one that counts iterations.
local function only(n, op, list)
  assert.equal(n, #all(list, op), texts(list))
  assert.equal(n + 1, #list, texts(list))
  return all(list, op)
end

local function is_memory(operand) return operand:find "%(" ~= nil end
local function offset(operand) return tonumber(operand:match "^(0x%x+)%(") or 0 end

-- Returns the loads or the stores among moves.
local function moves(list, op, stores)
  local out = {}
  for _, i in ipairs(all(list, op)) do
    if is_memory(stores and target(i) or i.args[1]) then out[#out + 1] = i end
  end
  return out
end

local BYTES = {xmm = 16, ymm = 32, zmm = 64}

-- ---- the tests

local CORE, OPS, LEVELS, WINDOW = "calibrate/calibrate_core", "calibrate/calibrate_ops", "calibrate/calibrate_levels",
  "calibrate/calibrate_window"
local WIDTHS = {[0] = "xmm", "xmm", "ymm", "zmm"}

-- The classes with their operation for one number, and for each width of vectors.
local CLASSES = {
  {"fma", "vfmadd231ss", "vfmadd231ps"}, {"add", "vaddss", "vaddps"}, {"mul", "vmulss", "vmulps"},
  {"minmax", "vminss", "vminps"}, {"div", "vdivss", "vdivps"}, {"div64", "vdivsd", "vdivpd"}, {"sqrt", "vsqrtss", "vsqrtps"},
  {"sqrt64", "vsqrtsd", "vsqrtpd"}, {"cast", "vcvtdq2ps", "vcvtdq2ps"},
  {"round", "vroundss", "vroundps", "vroundps", "vrndscaleps"},
  {"shuffle", "vpermilps", "vpermilps", "vpermps", "vpermps"}, {"int", nil, "vpaddd"}, {"intmul", nil, "vpmulld"},
}

-- Calls f(class, operation, width, register) for each loop of vector registers. width is 0 for a loop of single numbers.
local function each_class(f, from)
  for _, row in ipairs(CLASSES) do
    for w = from, 3 do
      local op = w == 0 and row[2] or w > 0 and (row[w + 2] or row[3])
      if op then f(row[1], op, w, WIDTHS[w]) end
    end
  end
end

describe("the loops of the calibration", function()
  -- Runs f if the object files can be disassembled.
  local function checked(what, f)
    it(what, function()
      local found, why = functions_of(CORE)
      if not found then pending(why) return end
      f()
    end)
  end

  checked("that measure rates have 24 instructions that do not wait for each other", function()
    local loops = 0
    each_class(function(class, op, w, register)
      local name = ("%s_rate%d"):format(class, w)
      local list = only(24, op, loop_of(OPS, name))
      assert.equal(12, distinct(list, target), name)
      local written = {}
      for _, i in ipairs(list) do written[target(i)] = true end
      for _, i in ipairs(list) do
        for n = 1, #i.args - 1 do assert.is_nil(written[i.args[n]], name .. ": " .. i.text) end
        assert.truthy(target(i):find("^%%" .. register), name .. ": " .. i.text)
      end
      loops = loops + 1
    end, 0)
    assert.equal(4 * #CLASSES - 2, loops)
  end)

  checked("that measure latencies have 24 instructions, each of which reads the result of the one before", function()
    each_class(function(class, op, w, register)
      local name = ("%s_late%d"):format(class, w)
      for _, i in ipairs(only(24, op, loop_of(OPS, name))) do
        assert.equal("%" .. register .. "0", target(i), name)
        local reads = op:find "^vfmadd" ~= nil
        for n = 1, #i.args - 1 do reads = reads or i.args[n] == target(i) end
        assert.is_true(reads, name .. ": " .. i.text)
      end
    end, 1)
  end)

  checked("that measure integers add, multiply and divide 24 times", function()
    for name, op in pairs {int_one = "add", intmul_one = "imul"} do
      local list = only(24, op, loop_of(OPS, name))
      assert.equal(8, distinct(list, target), name)
    end
    local rate, late = loop_of(OPS, "intdiv_rate"), loop_of(OPS, "intdiv_late")
    assert.equal(24, #all(rate, "div"))
    assert.equal(24, #all(rate, "mov")) -- the dividend does not depend on the division before
    assert.equal(24, #all(late, "div"))
    assert.equal(24, #all(late, "or")) -- the one cycle that is subtracted
    assert.equal(0, #all(late, "mov"))
    assert.equal(3 * 24 + 1, #late)
    assert.equal(3 * 24 + 1, #rate)
  end)

  checked("that measure loads and stores access adjacent elements 24 times", function()
    for w = 0, 3 do
      local op, bytes = w == 0 and "mov" or "vmovaps", w == 0 and 8 or BYTES[WIDTHS[w]]
      for kind, stores in pairs {load = false, store = true} do
        local list = loop_of(OPS, kind .. w)
        assert.equal(25, #list, texts(list))
        list = moves(list, op, stores)
        assert.equal(24, #list, kind .. w)
        for n = 2, #list do
          local a, b = list[n - 1], list[n]
          local apart = offset(stores and target(b) or b.args[1]) - offset(stores and target(a) or a.args[1])
          assert.is_true(apart == bytes or apart < 0, b.text)
        end
        assert.equal(w == 0 and 8 or 12, distinct(list, function(i) return offset(stores and target(i) or i.args[1]) end))
      end
    end
  end)

  checked("that access lines cross into the next line, or the next page, or not at all", function()
    for _, register in ipairs {"ymm", "zmm"} do
      local bytes = BYTES[register]
      local function accesses(name, stores, n)
        local list = only(8, "vmovups", loop_of(CORE, name .. "_" .. register))
        local out = {}
        for k, i in ipairs(list) do
          out[k] = offset(stores and target(i) or i.args[1])
          assert.truthy((stores and i.args[1] or target(i)):find(register, 1, true), i.text)
        end
        assert.equal(n, distinct(out, function(at) return at end), name)
        return out
      end
      for kind, stores in pairs {load = false, store = true} do
        for _, at in ipairs(accesses(kind, stores, 8)) do assert.is_true(at % 64 + bytes <= 64) end
        for _, at in ipairs(accesses(kind .. "_crossing", stores, 8)) do
          for _, distance in ipairs {-12, -4, 4, 12} do assert.is_true((at + distance) % 64 + bytes > 64) end
        end
      end
      for _, at in ipairs(accesses("page_crossing", false, 1)) do
        for _, distance in ipairs {-12, -4, 4, 12} do assert.is_true((64 + at + distance) % 4096 + bytes > 4096) end
      end
    end
  end)

  checked("that load after stores do so at the same offset in another page, or at another offset", function()
    for name, same in pairs {aliased = true, not_aliased = false} do
      local list = loop_of(CORE, name)
      assert.equal(17, #list, texts(list))
      for n = 1, 16, 2 do
        assert.is_true(is_memory(target(list[n])) and is_memory(list[n + 1].args[1]), texts(list))
        local apart = offset(list[n + 1].args[1]) - offset(target(list[n]))
        assert.is_true(apart >= 4096)
        assert.equal(same, apart % 4096 == 0)
      end
    end
  end)

  checked("that branch differ only in the bit that is tested", function()
    local random, steady = loop_of(CORE, "branch_random"), loop_of(CORE, "branch_steady")
    assert.equal(#random, #steady)
    assert.equal(1, #all(random, "je"))
    assert.equal(1, #all(steady, "je"))
    for n, i in ipairs(random) do
      assert.equal(i.op, steady[n].op)
      if i.op == "and" then assert.same({"$0x1", "$0x0"}, {i.args[1], steady[n].args[1]}) end
    end
    local inner = loop_of(CORE, "inner", false)
    assert.equal("dec", inner[1].op)
    assert.equal(1, #inner)
    assert.equal(1, #all(loop_of(CORE, "inner", true), "jne"))
  end)

  checked("that call, gather and scatter do so eight times, and the empty loop does nothing", function()
    assert.equal(8, #all(loop_of(CORE, "called"), "call"))
    assert.equal(9, #loop_of(CORE, "called"))
    only(8, "nop", loop_of(CORE, "not_called"))
    assert.equal(1, #loop_of(CORE, "empty"))
    for name, op in pairs {gather_ymm = "vgatherdps", gather_zmm = "vgatherdps", scatter_zmm = "vscatterdps"} do
      local list = loop_of(CORE, name)
      assert.equal(8, #all(list, op), name)
      assert.equal(8, #all(list, name == "gather_ymm" and "vpcmpeqd" or "kxnorw"), name) -- sets the mask again
      assert.equal(17, #list)
    end
  end)

  checked("that chase addresses load once for each step, at an address that depends on the load before", function()
    for _, i in ipairs(only(24, "mov", loop_of(LEVELS, "chase_self"))) do
      assert.equal("(" .. target(i) .. ")", i.args[1])
    end
    local list = loop_of(LEVELS, "chase_random")
    local loads = moves(list, "mov", false)
    assert.equal(1, #loads)
    assert.equal(1, #all(list, "lea"))
    assert.truthy(all(list, "lea")[1].args[1]:find(target(loads[1]), 1, true))
  end)

  checked("that walk along columns make one access, or nine that cross a line, for each row", function()
    assert.equal(1, #moves(loop_of(LEVELS, "load_columns"), "mov", false))
    assert.equal(0, #moves(loop_of(LEVELS, "load_columns"), "mov", true))
    assert.equal(1, #moves(loop_of(LEVELS, "store_columns"), "mov", true))
    assert.equal(0, #moves(loop_of(LEVELS, "store_columns"), "mov", false))
    for _, register in ipairs {"ymm", "zmm"} do
      local list
      for _, body in ipairs(loops_of(has(LEVELS)["across_" .. register])) do -- with a sanitizer, there are shorter loops
        list = list or #all(body, "vmovups") > 0 and moves(body, "vmovups", false)
      end
      assert.equal(9, #list)
      assert.equal(9, distinct(list, function(i) return i.args[1] end))
      for _, i in ipairs(list) do assert.is_true(offset(i.args[1]) % 64 + BYTES[register] > 64, i.text) end
    end
  end)

  checked("that fill the reorder buffer have as many instructions between two loads as their names say", function()
    local sizes = 0
    for name, _ in pairs(has(WINDOW)) do
      local n = tonumber(name:match "^apart_(%d+)$")
      if n then
        local list = loop_of(WINDOW, name)
        assert.equal(2, #moves(list, "mov", false), name)
        assert.equal(2 * n, #all(list, "nop"), name)
        sizes = sizes + 1
      end
    end
    assert.equal(12, sizes)
    local one = loop_of(WINDOW, "one_chain")
    assert.equal(1, #moves(one, "mov", false))
    assert.equal(0, #all(one, "nop"))
  end)

  checked("that forward a store to a load do so 24 times at one address", function()
    local STORE = {forward_one = "vmovss", forward_ymm = "vmovups", forward_zmm = "vmovups", masked_ymm = "vmaskmovps",
      masked_zmm = "vmovups"}
    for name, op in pairs(STORE) do
      local list = loop_of(WINDOW, name)
      assert.equal(2 * 24 + 1, #list, name)
      for n = 1, 48, 2 do
        local store, load = list[n], list[n + 1]
        assert.equal(op, store.op, name)
        assert.equal(name:find "^masked" ~= nil, op == "vmaskmovps" or store.text:find("{%k1}", 1, true) ~= nil)
        assert.equal(load.args[1], (target(store):gsub("{.*", "")), name)
        assert.equal(target(load), store.args[1], name)
      end
    end
    local lines = only(12, "mov", loop_of(WINDOW, "store_lines"))
    assert.equal(12, distinct(lines, function(i) return offset(target(i)) // 64 end))
  end)

  checked("that call math functions make one call for each iteration", function()
    for _, name in ipairs {"calls", "chained_f32", "chained_f64"} do
      local calls = 0 -- through a pointer; a sanitizer adds other calls
      for _, i in ipairs(all(loop_of("calibrate/calibrate_math", name), "call")) do
        calls = calls + (i.args[1]:find("^%*") and 1 or 0)
      end
      assert.equal(1, calls, name)
    end
  end)
end)

describe("the loops that measure the clock and the roofs", function()
  local function checked(what, f)
    it(what, function()
      local found, why = functions_of "peak"
      if not found then pending(why) return end
      f()
    end)
  end

  -- Returns a loop of a file that has n instructions with this operation. The compiler may have put the loop into the
  -- function that runs it.
  local function loop_with(file, n, op)
    for _, list in pairs(has(file)) do
      for _, body in ipairs(loops_of(list)) do if #all(body, op) == n then return body end end
    end
    error(("%s has no loop with %d times %s"):format(file, n, op))
  end

  checked("have 64 additions, each of which needs the one before", function()
    for _, file in ipairs {"peak", "calibrate/cycles"} do
      local list = only(64, "add", loop_with(file, 64, "add"))
      assert.equal(1, distinct(list, target), file)
    end
    local clears = only(64, "xor", loop_with("calibrate/cycles", 64, "xor"))
    assert.equal(8, distinct(clears, target))
    for _, i in ipairs(clears) do assert.equal(i.args[1], i.args[2]) end
  end)

  checked("have 24 multiply-adds in at least twelve independent accumulators", function()
    for type, suffix in pairs {f32 = "ps", f64 = "pd"} do
      for isa, accumulators in pairs {avx512 = 24, avx2 = 12} do
        local list = only(24, "vfmadd231" .. suffix, loop_of("peak", type .. "_" .. isa))
        assert.equal(accumulators, distinct(list, target))
        for _, i in ipairs(list) do assert.truthy(target(i):find(isa == "avx512" and "zmm" or "ymm", 1, true)) end
      end
      local list = loop_of("peak", type .. "_sse")
      assert.equal(24, #all(list, "mul" .. suffix))
      assert.equal(24, #all(list, "add" .. suffix))
      assert.equal(49, #list)
    end
  end)

  checked("move the bytes that are counted", function()
    local COUNTS = {read = {8, 0, 0}, copy = {8, 8, 0}, triad = {8, 8, 8}, write = {0, 8, 0}}
    for name, counts in pairs(COUNTS) do
      for isa, fma in pairs {avx512 = true, avx2 = true, sse = false} do
        local list = loop_of("bandwidth", name .. "_" .. isa)
        local op = isa == "sse" and "movaps" or "vmovaps"
        assert.equal(counts[1], #moves(list, op, false), name .. isa .. "\n" .. texts(list))
        assert.equal(counts[2], #moves(list, op, true), name .. isa)
        if fma then assert.equal(counts[3], #all(list, "vfmadd213ps"), name .. isa) end
      end
    end
  end)
end)
