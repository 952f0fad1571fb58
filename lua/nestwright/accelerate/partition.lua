--- s:partition_auto for accelerators: chooses pieces of whole tiles that fit into the memories, replaces their nests by
--- instructions, and says what runs in the other iterations.
local chip = require "nestwright.accelerate.chip"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local placing = require "nestwright.accelerate.placing"
local ranking = require "nestwright.partition.ranking"
local reading = require "nestwright.accelerate.reading"
local returning = require "nestwright.language.returning"
local tiling = require "nestwright.accelerate.tiling"
local written = require "nestwright.show.written"

local partition = {}

local TRIES = 6

local function fail(code, hint, why, ...) errors.fail(code, hint, "partition_auto: " .. why, ...) end

-- ---- what the machine offers

-- Returns the iterations of whole tiles, as a multiple of those that exist.
local function waste_of(work, product, letters)
  local waste = 1
  for letter, axis in pairs(letters) do
    local extent, unit = work.sum_facts.axes[axis].extent, product[letter]
    waste = waste * ((extent + unit - 1) // unit * unit) / extent
  end
  return waste
end

-- Returns a setting for a product of tiles, or for the ALU alone if `product` is nil: the memories, the letters, and the size of a
-- tile along each axis. Returns nil and why it is not possible.
local function setting(acc, work, product)
  local x = {acc = acc, work = work, product = product, unit = {}}
  local sum = product and product.sum
  if product then
    local letters, why = reading.letters(work, product, false)
    local swapped = reading.letters(work, product, true) -- the operands of a product may change places
    if not letters and not swapped then return nil, why end
    x.swapped = not letters or swapped and waste_of(work, product, swapped) < waste_of(work, product, letters)
    x.letters = x.swapped and swapped or letters
    x.unit = {[x.letters.n] = product.n, [x.letters.k] = product.k}
    if x.letters.m then x.unit[x.letters.m] = product.m end
  else
    local alu = chip.find(acc, "alu", function(row) return chip.copy(acc, "global", chip.words(row.from)[1]) end)
    if not alu then return nil, ("%s has no ALU whose operands a copy can bring"):format(acc.name) end
    sum = chip.words(alu.from)[1]
  end
  x.ways = chip.ways(acc, sum)
  x.ways.sum = sum
  x.operates = work.sum ~= nil and work.sum ~= work.final
  if not x.ways.store then return nil, ("no copy of %s stores results from %s"):format(acc.name, sum) end
  if work.sum and not x.ways.fill then return nil, ("no instruction of %s sets sums in %s to 0"):format(acc.name, sum) end
  if (x.operates or x.ways.out ~= sum) and not x.ways.alu then
    return nil, ("%s has no ALU for the operations after the sum"):format(acc.name)
  end
  for _, read in ipairs(work.others) do
    if not chip.copy(acc, "global", sum) then
      return nil, ("no copy of %s brings %s to %s, where the operations on elements read it"):format(acc.name, read.tensor, sum)
    end
  end
  return x
end

-- Adds the reads of the final stage that are neither the sum nor a stage before it.
local function add_others(s, work)
  work.others = {}
  for _, name in ipairs {work.final, table.unpack(work.between)} do
    if name ~= work.sum then
      for _, read in ipairs(core.stage_facts(s, name).reads) do
        local computed = #core.neighbours(s, name, "sources") > 0 and work.computed[read.tensor]
        if not computed then work.others[#work.others + 1] = read end
      end
    end
  end
end

-- ---- what runs in a piece

-- Returns the axis names that have an incomplete tile in a segment: "edge".
local function edges(x, at, segment)
  local out = {}
  for a, one in ipairs(at) do
    if one.kind == "edge" then out[#out + 1] = {axis = a, segment = one} end
  end
  if segment and segment.kind == "edge" then out[#out + 1] = {axis = x.letters.k, segment = segment} end
  return out
end

-- True if a product of smaller tiles can execute the segments.
local function suits(x, p, at, segment)
  local big = x.product
  if p.a ~= big.a or p.b ~= big.b or p.input ~= big.input or p.weight ~= big.weight or p.sum ~= big.sum then return false end
  for letter, unit in pairs {m = p.m, n = p.n, k = p.k} do
    local one = letter == "k" and segment or x.letters[letter] and at[x.letters[letter]]
    if one and (one.length % unit ~= 0 or one.block % unit ~= 0) then return false end
    if not one and unit > 1 then return false end
  end
  return true
end

-- Sets x.runs: the function that returns what executes a piece: a product, or nil for the ALU. Raises an error if nothing does.
local function add_runs(x)
  function x.runs(at, segment)
    local list = edges(x, at, segment)
    if #list == 0 then return x.product end
    for _, p in ipairs(chip.products(x.acc)) do
      if suits(x, p, at, segment) then return p end
    end
    if x.ways.alu and chip.copy(x.acc, "global", x.ways.sum) and chip.has(x.ways.alu.to, x.ways.sum) then return nil end
    local e = list[1]
    local axis = x.work.sum_facts.axes[e.axis]
    local wanted = axis.extent + x.unit[e.axis] - axis.extent % x.unit[e.axis]
    local hint = "pad the arrays: with %d instead of %d iterations of %s, all tiles are whole"
    errors.fail("refused", hint:format(wanted, axis.extent, axis.name), "%s of the %d iterations of %s are no tile of %s, and "
      .. "%s has neither smaller tiles nor an ALU for operands in the memory outside of the chip", e.segment.length, axis.extent,
      axis.name, x.product.name, x.acc.name)
  end
end

local function is_odd(x)
  for v, axis in ipairs((x.work.sum_facts or x.work.facts).axes) do
    if axis.extent % (x.unit[v] or 1) ~= 0 then return true end
  end
  return false
end

-- Raises an error if incomplete tiles cannot be padded by the copies.
local function check_pads(x)
  if x.strategy ~= "pad" then return end
  for _, memory in ipairs {x.product.input, x.product.weight} do
    local row = chip.copy(x.acc, "global", memory)
    if row and not row.pads then
      local sizes = {}
      for v, axis in ipairs(x.work.sum_facts.axes) do
        local unit = x.unit[v] or 1
        if axis.extent % unit ~= 0 then
          sizes[#sizes + 1] = ("%s to %d"):format(axis.name, axis.extent + unit - axis.extent % unit)
        end
      end
      errors.fail("refused", "pad the arrays with zeros: " .. table.concat(sizes, ", "),
        "%s of %s cannot fill the rest of a tile in %s with zeros (pads = true)", row.name, x.acc.name, memory)
    end
  end
end

-- ---- the words of a piece

local function range_of(name, one) return ("%s %d..%d"):format(name, one.from, one.from + one.length) end

local function remark(x, axis, one)
  local unit, name = x.unit[axis] or 1, (x.work.sum_facts or x.work.facts).axes[axis].name
  if one.kind == "padded" then
    return ("the last tile along %s has %d of its %d iterations; the copies fill it with zeros"):format(name,
      one.length % unit, unit)
  end
  if one.kind == "edge" then
    return ("%s needs %d iterations along %s, and %d are left"):format(x.product.name, unit, name, one.length)
  end
end

-- Returns the pieces of a plan as data: {ranges, kind, runs (the name of an instruction), block, why}.
local function pieces_of(x, plan)
  local out, axes = {}, x.work.axes
  local function add(at, segment)
    local p, ranges, block, why, kind = x.product, {}, {}, {}, "rest"
    if p then p = x.runs(at, segment) end
    for a, one in ipairs(at) do
      ranges[#ranges + 1], block[#block + 1] = range_of(axes[a].name, one), tostring(one.block)
      why[#why + 1] = remark(x, a, one)
    end
    if segment then
      ranges[#ranges + 1] = range_of(x.work.sum_facts.axes[x.letters.k].name, segment)
      block[#block + 1] = tostring(segment.block)
      why[#why + 1] = remark(x, x.letters.k, segment)
    end
    if #why == 0 then kind = "main" end
    out[#out + 1] = {ranges = table.concat(ranges, ", "), kind = kind, block = table.concat(block, " x "),
      runs = p and p.name or x.ways.alu.name, tensor = p ~= nil, why = #why > 0 and table.concat(why, "; ") or nil}
  end
  local function visit(a, at)
    if a > #plan.axes then
      for _, segment in ipairs(plan.summed and plan.summed(at) or {false}) do add(at, segment) end
      return
    end
    for _, one in ipairs(plan.axes[a]) do
      at[a] = one
      visit(a + 1, at)
    end
  end
  visit(1, {})
  return out
end

-- ---- trying

-- Makes the schedules of the best plans of a setting. Returns the best row, and raises the first refusal if there is none.
local function best_of(c, x)
  local best, problem
  check_pads(x)
  local list = tiling.candidates(x)
  if #list == 0 then
    errors.fail("limit", "an accelerator with larger memories", "no block of whole tiles fits into the memories of %s", x.acc.name)
  end
  for n = 1, math.min(#list, c.tries) do
    core.tell_progress(("trying %s, block %d of %d"):format(x.strategy, n, math.min(#list, c.tries)), c.part, c.since)
    local plan = tiling.plan(x, list[n])
    c.schedule:checkout(c.base)
    local ok, why = pcall(placing.apply, c.schedule, x.acc, x.work, x.ways, plan)
    if ok then
      local cycles = core.stream_run(c.schedule:stream(), {}).cycles
      if not best or cycles < best.figure then
        best = {strategy = x.strategy, versions = {c.schedule:version()}, figure = cycles, cycles = cycles, fits = true,
          expected = cycles / (x.acc.machine.clock * 1e9), block = list[n].b, threads = plan.threads, pieces = pieces_of(x, plan)}
      end
    elseif not errors.is_error(why) or why.code == "interrupt" then
      error(why, 0)
    else
      problem = problem or why
    end
  end
  return best or error(problem, 0)
end

-- Returns the settings to try: for each product, with incomplete tiles padded and cut off; or the ALU alone.
local function settings(acc, work)
  local out, whys = {}, {}
  local function add(product, strategy)
    local x, why = setting(acc, work, product)
    if not x then
      whys[#whys + 1] = why
      return nil
    end
    x.strategy = strategy
    x.odd = is_odd(x)
    add_runs(x)
    out[#out + 1] = x
    return x
  end
  for _, product in ipairs(work.sum and chip.products(acc) or {}) do
    local x = add(product, "whole")
    if x and x.odd then
      x.strategy = "pad"
      add(product, "cut")
    end
  end
  if #out == 0 then add(nil, "whole") end
  if #out == 0 then
    fail("invalid", "nw.machine_fields \"accelerator\" lists what a record may have", "%s", table.concat(whys, "; "))
  end
  return out, whys
end

-- ---- the table

local function text_of(list, whys)
  local lines = {("%2s  %-28s %12s %10s"):format("", "strategy", "cycles", "time")}
  for n, row in ipairs(list) do
    if row.refused then
      lines[#lines + 1] = ("%2s  %s refused: %s"):format("", row.strategy, row.refused)
      if row.hint then lines[#lines + 1] = ("%14s hint: %s"):format("", row.hint) end
    else
      lines[#lines + 1] = ("%2d  %-28s %12d %10s"):format(n, row.strategy .. " " .. row.pieces[1].runs, row.cycles,
        written.seconds(row.expected))
      for _, piece in ipairs(row.pieces) do
        lines[#lines + 1] = ("      %-4s %s: %s, blocks of %s"):format(piece.kind, piece.ranges, piece.runs, piece.block)
        if piece.why then lines[#lines + 1] = ("           %s"):format(piece.why) end
      end
    end
  end
  for _, why in ipairs(whys) do lines[#lines + 1] = ("%2s  %s"):format("", why) end
  return table.concat(lines, "\n")
end

local function before(a, b)
  if a.refused or b.refused then return not a.refused and b.refused ~= nil end
  return a.figure < b.figure
end

local function ranked(c, acc)
  local list, whys = settings(acc, c.work)
  c.base, c.since = c.schedule:version(), core.now()
  for n, x in ipairs(list) do
    c.part = (n - 1) / #list
    local ok, row = pcall(best_of, c, x)
    c.schedule:checkout(c.base)
    if not ok then
      if not errors.is_error(row) or row.code == "interrupt" then error(row, 0) end
      row = {strategy = x.strategy .. (x.product and " " .. x.product.name or ""), refused = row.message,
        hint = row.hint or row.refusal and row.refusal.why}
    end
    list[n] = row
  end
  core.tell_progress()
  table.sort(list, before)
  if list[1].refused then
    local reasons = {}
    for n, row in ipairs(list) do reasons[n] = ("%s: %s"):format(row.strategy, row.refused) end
    fail("refused", list[1].hint, "no strategy is possible on %s: %s", acc.name, table.concat(reasons, "; "))
  end
  return ranking(list, c, text_of(list, whys))
end

-- ---- the options

local KEYS = {"target", "kernels", "tries"}

local function check(s, o)
  for key in pairs(o) do
    local known = false
    for _, name in ipairs(KEYS) do known = known or name == key end
    if not known then
      fail("invalid", "s:partition_auto{target = acc, kernels = true}", "%s is not an option for an accelerator", tostring(key))
    end
  end
  if o.kernels ~= true then
    fail("invalid", "s:partition_auto{target = acc, kernels = true}",
      "kernels: the instructions of an accelerator are chosen by themselves: expected true")
  end
  local tries = o.tries == nil and TRIES or o.tries
  if math.type(tries) ~= "integer" or tries < 1 or tries > 1000 then
    fail("range", "tries = 6", "tries: expected a whole number from 1 to 1000, got %s", tostring(tries))
  end
  if s:version() ~= 0 then
    fail("invalid", "s:checkout(0), or a new schedule of the computation", "the schedule has steps; the pieces are chosen from the "
      .. "computation")
  end
  return tries
end

--- Returns the ranked table for a schedule whose target is an accelerator.
function partition.of(nw, s, options)
  local o = errors.expect("partition_auto", options, "table")
  local acc = nw.accelerator(s.target.machine)
  local c = {schedule = s, tries = check(s, o)}
  if not acc.machine.accelerator.instructions or #acc.machine.accelerator.instructions == 0 then
    fail("invalid", "nw.accelerator \"vta\"", "the record of %s has no instructions", acc.name)
  end
  c.work = reading.of(s)
  add_others(s, c.work)
  return returning.quietly(s, ranked, c, acc)
end

return partition
