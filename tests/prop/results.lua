--- Compares the results of a schedule with the results of the oracle. The results come from the definition, from the interpreter on
--- the scheduled and on the lowered program, and from the compiled program. The compiled program runs several times if it has
--- parallel loops. It also runs with its arrays next to inaccessible pages. Some schedules are also exported, as C texts and as
--- libraries, and run under sanitizers.
local cases = require "cases"
local check = require "check"
local core = require "nestwright.core"
local ctext = require "ctext"
local data = require "data"
local examine = require "examine"
local nw = require "nestwright"
local rng = require "nestwright.measure.rng"
local sizes = require "sizes"
local steps = require "steps"
local tree = require "tree"
local types = require "types"

local results = {}

--- The numbers of comparisons in this run, by name.
results.counts = {["cross-thread reductions"] = 0, ["schedules with unknown sizes"] = 0,
  ["schedules without a valid size"] = 0, ["too long to interpret"] = 0,
  ["compared bit by bit"] = 0, ["compared with a tolerance"] = 0, ["run next to inaccessible pages"] = 0, ["C texts"] = 0,
  ["sanitizer reports"] = 0}
local counts = results.counts

local MOST_STEPS = 5000000 -- the limit on steps of the interpreter
local RUNS = 3 -- the number of runs of a kernel with parallel loops

-- True if the shapes of the schedule's inputs determine every size. They leave a size unknown if simplification has removed all
-- reads of an input.
local function sizes_told(case, s)
  local told, by_name, text = {}, {}, s:text()
  for _, input in ipairs(case.inputs) do by_name[input.name] = input end
  for _, t in ipairs(s:inputs()) do
    for _, dim in ipairs(by_name[t.name].dims) do if type(dim) == "table" then told[dim.size.name] = true end end
  end
  for _, size in ipairs(case.sizes) do
    local spoken = case.ordered or text:find("\nsize " .. size.name .. " ", 1, true)
    if spoken and not told[size.name] then return false end
  end
  return true
end

--- Draws data for the sizes with which a schedule is to be run, and requests the results from the oracle, which stores stages as
--- placed.kept_as says. Returns a list of {values, data (in the order of the schedule's inputs), packed (the data in the layouts of
--- the schedule), job}.
function results.ask(case, s, batch, seed, placed)
  local r = rng.new(seed)
  local number = batch:add(case, cases.outputs(case), placed.kept_as)
  if not sizes_told(case, s) then
    counts["schedules with unknown sizes"] = counts["schedules with unknown sizes"] + 1
    return {}
  end
  local list, tried = {}, sizes.values_for(case, s)
  if #tried == 0 then counts["schedules without a valid size"] = counts["schedules without a valid size"] + 1 end
  for k, values in ipairs(tried) do
    local by_name, arguments = {}, {}
    for _, input in ipairs(case.inputs) do
      local array = nw.zeros(sizes.shape_with(input.dims, values), input.dtype)
      data.fill(r, array, case.full, not case.near)
      by_name[input.name] = array
    end
    for n, t in ipairs(s:inputs()) do arguments[n] = by_name[t.name] end
    list[k] = {values = values, data = arguments, packed = check.packed(s, arguments), job = batch:ask(number, values, by_name)}
  end
  return list
end

local function as_number(v) return type(v) == "boolean" and (v and 1 or 0) or v end

local function same_bits(x, y) return x == y and (x ~= 0 or 1 / x == 1 / y) or x ~= x and y ~= y end

-- The relative tolerance for results that are rounded in another order. It is relative to the greatest absolute value of
-- the output.
local SHARE = {f16 = 5e-2, bf16 = 2e-1, f32 = 1e-2, f64 = 1e-2}

local function close(x, y, dtype, greatest)
  if same_bits(x, y) or x == y then return true end
  local share = SHARE[dtype]
  if not share or x ~= x or y ~= y or x == 1 / 0 or y == 1 / 0 or x == -1 / 0 or y == -1 / 0 then return false end
  return math.abs(x - y) <= share * math.max(1, greatest)
end

-- Compares `want` with `got`. Both have an entry for each output. An entry of `got` is an array, and an entry of `want` is an array
-- or a list of numbers. Returns a message, or nil.
local function compare(what, outputs, want, got, exact)
  for n, t in ipairs(outputs) do
    local dtype, one, other = t.dtype, want[n], got[n]
    local count = type(one) == "table" and #one or one:count()
    local function at(list, i) return as_number(type(list) == "table" and list[i] or type(list) ~= "table" and list:getflat(i)) end
    if other:count() ~= count then return ("%s: output %d has another size"):format(what, n) end
    local greatest = 0
    for i = 1, exact and 0 or count do
      local x = math.abs(at(one, i))
      if x < 1 / 0 and x > greatest then greatest = x end
    end
    for i = 1, count do
      local x, y = at(one, i), at(other, i)
      if not (exact and same_bits(x, y) or not exact and close(x, y, dtype, greatest)) then
        return ("%s differ in output %d (%s) at %d: %s and %s"):format(what, n, dtype, i, tostring(x), tostring(y))
      end
    end
  end
  local how = exact and "compared bit by bit" or "compared with a tolerance"
  counts[how] = counts[how] + 1
end

-- Returns the results of the interpreter, or nil if the program needs more than MOST_STEPS steps, for example because of many
-- tails.
local function interpret(s, one, lowered)
  local ok, out = pcall(nw.interpret, s, one.packed, {lowered = lowered, steps = MOST_STEPS})
  if ok then return check.unpacked(s, out, one.values) end
  if type(out) ~= "table" or out.code ~= "limit" then error(out, 0) end
  counts["too long to interpret"] = counts["too long to interpret"] + 1
end

-- True if a float output may depend on the order of threads, or on the rounding of an intrinsic.
local function any_order(s, outputs)
  local text = s:text()
  if not text:find("atomic block", 1, true) and not (s:rounds() and text:find("call ", 1, true)) then return false end
  for _, t in ipairs(outputs) do if types.is_float(t.dtype) then return true end end
  return false
end

-- True if the program reads or computes floats, so that it may round.
local function has_float(case)
  local dtypes, found = {}, false
  for _, t in ipairs(case.inputs) do dtypes[t.name] = t.dtype end
  for _, stage in ipairs(case.stages) do
    dtypes["@inner"] = stage.dtypes[1]
    for k, body in ipairs(stage.bodies) do
      dtypes["@" .. k] = stage.dtypes[k]
      tree.visit(body, function(e) found = found or types.is_float(tree.dtype(e, function(name) return dtypes[name] end)) end)
    end
    for k, t in ipairs(cases.made(stage)) do dtypes[t.name] = stage.dtypes[k] end
  end
  return found
end

-- Returns how results are compared with the results of the oracle: "exact" (bit by bit), "close" (with a tolerance) or nil (not at
-- all). They are not compared if rounding may differ and the numbers may be of any magnitude, or if a rewritten stage treats NaN in
-- another way than the definition.
local function agreement(case, rounds, nan)
  if nan and has_float(case) then return nil end
  if not case.near and (not rounds or not has_float(case)) then return "exact" end
  return not case.full and "close" or nil
end

-- Checks that a kernel gives the same results if its tensors and temporaries end or begin at an inaccessible page. If the kernel
-- has streaming stores, its tensors are aligned.
local function check_edges(s, kernel, outputs, one, want, exact)
  local align = s:text():find("stream", 1, true) and 64 or 0
  for _, where in ipairs {"after", "before"} do
    local got = check.fenced(where, align, function()
      local own = {}
      for n, a in ipairs(one.packed) do own[n] = check.copy(a) end
      return {kernel(table.unpack(own))}
    end)
    got = check.unpacked(s, got, one.values)
    local message = compare("the oracle and the JIT next to an inaccessible page", outputs, want, got, exact)
    if message then return message end
    counts["run next to inaccessible pages"] = counts["run next to inaccessible pages"] + 1
  end
end

--- True if a checked schedule gives the same bits on every machine. Its C text can then be compared too.
local function exportable(s, on_grid, free, lowered_as)
  return not on_grid and not free and lowered_as == "exact" and not s:text():find("call ", 1, true)
end

--- Compiles checked schedules as C, under sanitizers, and runs them. The entries of `list` are {case =, s =, one =}. Returns the
--- list of failures, {index =, what =}.
function results.export(list, library)
  local texts = {}
  for n, e in ipairs(list) do texts[n] = {schedule = e.s, arguments = e.one.packed, sizes = e.one.values} end
  if #texts == 0 then return {} end
  local failures, done = ctext.check(texts, {library = library, fence = library and "after" or nil,
    align = library and 64 or nil})
  counts["C texts"] = counts["C texts"] + done.kernels
  counts["sanitizer reports"] = counts["sanitizer reports"] + done.reports
  local out = {}
  for n, f in ipairs(failures) do
    out[n] = {index = f.case, what = (library and "the exported library: " or "the C text: ") .. f.what}
  end
  return out
end

--- Runs a schedule on all requested data. Returns a message or nil, and whether its C text can be compared too. The oracle rounds
--- stored values like the schedule, but the definition does not.
function results.check(case, s, outputs, asked, answers, placed)
  local on_grid = steps.on_grid(s)
  local kernel = not on_grid and s:build {threads = 2}
  local text = s:text()
  local runs = text:find "parallel for" and RUNS or 1
  local free = any_order(s, outputs)
  local kept, rounds = next(placed.kept_as) ~= nil, s:rounds() and placed.rounded
  local fused = has_float(case) and core.schedule_lowered(s):find("fma(", 1, true) ~= nil
  local scheduled_as, lowered_as = agreement(case, rounds, placed.nan), agreement(case, rounds or fused, placed.nan)
  if kept and scheduled_as == "close" then scheduled_as = nil end -- a small difference may be rounded to a large one
  if kept and lowered_as == "close" then lowered_as = nil end
  local fast = text:find('minmax = "fast"', 1, true) -- NaN and the sign of 0 may be lost
  if fast then lowered_as = nil end
  for k, one in ipairs(asked) do
    local want = answers[one.job]
    local naive = nw.evaluate(outputs, one.data)
    local scheduled, lowered = interpret(s, one), interpret(s, one, true)
    local message = not kept and compare("the oracle and the definition", outputs, want, naive, not case.near)
    if not message and k == 1 and on_grid and core.schedule_lowered(s):find("alloc [%w_.]+_part[%[_]") then
      counts["cross-thread reductions"] = counts["cross-thread reductions"] + 1
    end
    -- Threads combine their partial results in the same order in both programs.
    if not message and on_grid and scheduled and lowered and not fused and not fast then
      -- a function of libm may round differently in a vector
      local vectors = case.near and text:find("vectorize", 1, true) ~= nil
      message = compare("the scheduled and the lowered program", outputs, scheduled, lowered, not vectors)
    end
    if not message and scheduled and scheduled_as then
      message = compare("the oracle and the scheduled program", outputs, want, scheduled, scheduled_as == "exact")
    end
    if not message and lowered and lowered_as then
      message = compare("the oracle and the lowered program", outputs, want, lowered, lowered_as == "exact")
    end
    for run = 1, kernel and runs or 0 do
      if message then break end
      local native = check.unpacked(s, {kernel(table.unpack(one.packed))}, one.values)
      if lowered and not free then
        message = compare("the interpreter and the JIT, run " .. run .. ",", outputs, lowered, native, true)
      elseif lowered_as then
        message = compare("the oracle and the JIT, run " .. run .. ",", outputs, want, native, lowered_as == "exact" and not free)
      end
    end
    if not message and k == 1 and kernel and lowered_as then
      message = check_edges(s, kernel, outputs, one, want, lowered_as == "exact" and not free)
    end
    if not message and k == 1 and lowered then message = examine.accesses(s, one.values, one.packed) end
    if message then
      local tried = one.values.M and (" with M = %d, N = %s"):format(one.values.M, one.values.N) or ""
      return message .. tried
    end
  end
  return nil, asked[1] and exportable(s, on_grid, free, lowered_as)
end

return results
