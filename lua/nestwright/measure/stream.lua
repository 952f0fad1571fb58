--- Streams of instructions for accelerators: their text, what is wrong with their tokens, and a run in time.
local core = require "nestwright.core"
local energy = require "nestwright.cost.acc_energy"
local errors = require "nestwright.language.errors"
local inside = require "nestwright.inside"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"
local written = require "nestwright.show.written"
local pictures = require "nestwright.measure.stream_pictures"
local stream_tokens = require "nestwright.measure.stream_tokens"
local times = require "nestwright.measure.times"

local stream = {}

local STREAM = core.classes.stream
local class = report.class "streamrun"
local findings, prediction = report.class "findings", report.class "prediction" -- both have no methods
local schedules = setmetatable({}, {__mode = "k"}) -- for each stream, its schedule
local checked = setmetatable({}, {__mode = "k"}) -- for each stream, what is wrong with its tokens, if this is known

-- ---- findings

local function step_text(s, instruction)
  local step = core.stream_instruction(s, instruction).step
  if not step or step == 0 then return nil end
  return core.schedule_step(schedules[s], step)
end

-- Returns the names of the units whose tokens an instruction ignores, or nil if it takes all tokens.
local function ignored_by(s, instruction)
  local out = {}
  for n, q in ipairs(core.stream_instruction(s, instruction).ignores or {}) do out[n] = core.stream_facts(s).queues[q].from end
  return out[1] and table.concat(out, ", ")
end

-- Returns the findings, with the texts of the steps that made the statements. They are found again after a change of the tokens.
local function check(s)
  checked[s] = checked[s] or core.stream_check(s)
  local found = {}
  for n, kept in ipairs(checked[s]) do
    local f = {}
    for key, value in pairs(kept) do f[key] = value end
    f.first_step, f.second_step = step_text(s, f.first), step_text(s, f.second)
    f.first_ignores, f.second_ignores = ignored_by(s, f.first), ignored_by(s, f.second)
    found[n] = f
  end
  return found
end

local function finding_text(f)
  local lines = {f.text .. (f.times > 1 and (" (%d times)"):format(f.times) or "")}
  local function add(instruction, step, ignores)
    if not step then return end
    lines[#lines + 1] = ("  instruction %d: %s%s"):format(instruction, step, ignores and ", ignores " .. ignores or "")
  end
  add(f.first, f.first_step, f.first_ignores)
  if f.second ~= f.first then add(f.second, f.second_step, f.second_ignores) end
  return table.concat(lines, "\n")
end

-- Returns the findings as a report: a list with a text.
local function reported(s)
  local found, lines = check(s), {}
  for n, f in ipairs(found) do lines[n] = finding_text(f) end
  return findings.new(found, found[1] and table.concat(lines, "\n") or "the tokens order all conflicting accesses")
end

-- ---- a run

local function number(v) return ("%d"):format(math.floor(v + 0.5)) end
local function percent(v, all) return all > 0 and ("%.1f %%"):format(100 * v / all) or "-" end

-- Returns the words for what a unit waited for most.
local function waits_of(r, unit)
  local most, name = 0, "-"
  for q, cycles in ipairs(unit.waits) do
    if cycles > most then most, name = cycles, ("%s (%s)"):format(r.queues[q].from, number(cycles)) end
  end
  return name
end

-- Returns the row of each unit, for tables.
local function unit_rows(r)
  local out = {}
  for n, u in ipairs(r.units) do
    out[n] = {u.name, number(u.busy), percent(u.busy, r.cycles), number(u.port), waits_of(r, u)}
  end
  return out
end

local HEAD = {"unit", "busy", "share", "memory", "waits most for"}

-- Returns the lines above the table of units.
local function head_lines(r)
  local out = {("%s cycles, %d instructions, %d multiply-adds (%.1f in a cycle, %.1f %% of the most)%s"):format(number(r.cycles),
    r.instructions, r.macs, r.cycles > 0 and r.macs / r.cycles or 0, 100 * r.utilisation, times.remarks(r))}
  if r.left_out > 0 then
    out[2] = ("%s left out, because a stage ignores a unit"):format(written.plural(r.left_out, "token"))
  end
  return out
end

-- Returns the lines below the table of units.
local function foot_lines(r)
  local out = {("memory outside of the chip: %d bytes read, %d written"):format(r.memory_read, r.memory_written)}
  out[#out + 1] = energy.text(r.energy)
  if r.stuck then out[#out + 1] = "a unit waits forever" end
  if r.happened and r.happened[1] then
    out[#out + 1] = ("%s happened; the first: %s"):format(written.plural(r.times_happened, "hazard"), r.happened[1].text)
  end
  for _, f in ipairs(r.findings) do out[#out + 1] = finding_text(f) end
  return out
end

local function text_of(r)
  local lines = head_lines(r)
  for _, row in ipairs {HEAD, table.unpack(unit_rows(r))} do
    lines[#lines + 1] = ("%-10s %12s %8s %12s  %s"):format(table.unpack(row))
  end
  return table.concat(lines, "\n") .. "\n" .. table.concat(foot_lines(r), "\n")
end

local function cells_of(r)
  return {caption = table.concat(head_lines(r), "; "), head = HEAD, rows = unit_rows(r),
    left = {[1] = true, [5] = true, heads = true}, foot = table.concat(foot_lines(r), "; ")}
end

-- Ways to run a stream; the names are those of the lecture.
local MODES = {monolithic = {serial = true}, decoupled = {no_tokens = true}, raw = {no_war = true}, full = {}}

local function run(s, options)
  local o = errors.options("run", options, {"arguments", "mode", "spans"})
  local mode = MODES[o.mode or "full"]
  local drawn = o.spans or #s <= pictures.MOST
  -- If all tokens that were placed are in effect, or if one instruction runs at a time, there are no hazards to look for.
  local known = core.stream_facts(s)
  local ordered = mode.serial or not (mode.no_tokens or mode.no_war or known.left_out > 0 or pictures.is_changed(s))
  local to, made = {serial = mode.serial, no_tokens = mode.no_tokens, no_war = mode.no_war, spans = drawn,
    happened = drawn and not ordered}, nil
  if o.arguments ~= nil then
    to.arguments, made = inside.complete("run", schedules[s], errors.expect("run: arguments", o.arguments, "table"))
  end
  local r = core.stream_run(s, to)
  r.instructions, r.queues, r.outputs = core.stream_length(s), known.queues, made
  r.unsafe, r.left_out = known.unsafe or nil, known.left_out
  r.findings = check(s)
  r.machine = schedules[s].target.machine
  energy.complete(r, r.machine)
  if ordered then r.happened, r.times_happened = {}, 0 end
  local spans = r.spans
  if not o.spans then r.spans = nil end
  return pictures.keep(class.new(r, text_of(r), cells_of(r)), s, o.mode or "full", spans)
end

-- ---- tokens by hand

local function queue_of(s, name, what)
  local q, names = stream_tokens.find(core.stream_facts(s).queues, (name:gsub("%s", "")))
  if not q then errors.fail("invalid", "one of " .. names, "%s: queue: there is no queue '%s'", what, name) end
  return q
end

-- Forgets what is known about a stream, whose tokens were changed.
local function changed(s)
  pictures.changed(s)
  checked[s] = nil
  return s
end

local function drop(s, number_of, queue, which)
  local q = queue_of(s, queue, "drop")
  if which then
    local has = false
    for _, own in ipairs(core.stream_instruction(s, number_of)[which .. "s"]) do has = has or own == q end
    if not has then errors.fail("invalid", nil, "drop: instruction %d does not %s a token of %s", number_of, which, queue) end
  end
  core.stream_drop(s, number_of, q, which ~= nil)
  return changed(s)
end

local function add(s, number_of, queue, which)
  core.stream_add(s, number_of, queue_of(s, queue, "add"), which == "put")
  return changed(s)
end

local function read_tokens(s, written_text) return changed(stream_tokens.read(s, written_text)) end

local function text(s, lines)
  if lines and lines < 1 then
    errors.fail("range", "give the most lines to show, or nothing for all of them", "text: lines = %d is out of range", lines)
  end
  return core.stream_text(s, lines)
end

-- ---- the functions

local function instruction(s, number_of)
  local i = core.stream_instruction(s, number_of)
  i.operands = core.stream_operands(s, number_of)
  return i
end

local function model_text(m)
  local lines = {("%s cycles predicted, %d instructions, %d multiply-adds%s"):format(number(m.cycles), m.instructions, m.macs,
    times.remarks(m))}
  for _, u in ipairs(m.units) do lines[#lines + 1] = ("%-10s busy for %s cycles"):format(u.name, number(u.busy)) end
  lines[#lines + 1] = ("%-10s busy for %s cycles (outside of the chip: %d bytes read, %d written)"):format("memory", number(m.port),
    m.memory_read, m.memory_written)
  local s = m.steady
  if s then
    lines[#lines + 1] = ("%s: an iteration every %s cycles, %d times, after a prologue of %s cycles"):format(s.loop,
      number(s.interval), s.iterations, number(s.prologue))
  end
  return table.concat(lines, "\n")
end

local function model(s)
  local out = core.stream_model(s)
  out.unsafe = core.stream_facts(s).unsafe or nil
  return prediction.new(out, model_text(out))
end

local function of(s, options)
  local o = errors.options("stream", options, {"sizes"})
  local made = core.stream(s, sizes.of("stream", s, o.sizes))
  schedules[made] = s
  return made
end

local LINES = 60 -- of a printed stream

function stream.install(nw)
  local methods = rows.methods "stream"
  local function define(...) rows.define(methods, "stream", "accelerators", ...) end
  STREAM.__tostring = function(s) return (core.stream_text(s, LINES):gsub("\n$", "")) end
  STREAM.__len = core.stream_length

  rows.define(rows.methods "schedule", "schedule", "accelerators", "stream",
    "(self: nw.schedule, options?: {sizes?: table}): nw.stream",
    "The instructions that an accelerator executes for the schedule, in one stream. Each unit executes its own instructions in "
    .. "order. Tokens in queues between units order the accesses that conflict. sizes: values of symbolic sizes, {M = 64}. "
    .. "#stream is the number of instructions.", of)
  define("instruction", "(self: nw.stream, number: integer): table",
    "An instruction, counted from 1: name, unit, text, statement and step, takes and puts (numbers of queues), ignores (queues "
    .. "whose tokens its stage does not take, if there are some: s:annotate), elements, "
    .. "memory_bytes (moved to or from the memory outside of the chip), macs, cycles, and operands. An operand has memory, array, "
    .. "read, write, from and to (bytes; outside of the chip, they are counted in the array), bytes (that are accessed), row "
    .. "(consecutive bytes), times (numbers of rows) and strides (bytes from one row to the next).", instruction)
  define("facts", "(self: nw.stream): table",
    "The units (name, instructions), the queues (from, to, tokens) and the memories on the chip (name, used, bytes). unsafe: true "
    .. "if steps of the schedule were not judged. left_out: the number of tokens that would be needed, but that stages ignore.",
    core.stream_facts)
  define("text", "(self: nw.stream, lines?: integer): string",
    "The stream as text. Consecutive iterations of a loop with the same instructions and tokens are shown once, with the operands "
    .. "of the first one. lines: most lines; all by default.", text)
  define("check", "(self: nw.stream): table[]",
    "What is wrong with the tokens, at any latency: hazards (two instructions of different units access a byte, one of them "
    .. "writes it, and neither order nor tokens say which is first), instructions that wait forever, tokens that are left, and "
    .. "queues that are too short. Each finding has fault, text, first and second (instructions), first_step and second_step (the "
    .. "steps that made their statements), first_ignores and second_ignores (units whose tokens they ignore), memory, from and to "
    .. "(bytes), queue, times. If units wait forever, waits has the instruction at which the unit waits, that of the unit for "
    .. "which it waits, and so on; the last one waits for the unit of instruction again.", reported)
  define("run",
    "(self: nw.stream, options?: {arguments?: nw.array[], mode?: 'full'|'monolithic'|'decoupled'|'raw', spans?: boolean}): "
    .. "nw.streamrun",
    "Runs the stream in time: cycles, units (name, busy, port, waits by queue), memory_read and memory_written in bytes, macs, "
    .. "memories (read and written, in bytes), energy (rows with name, bytes and joules; joules is their sum), depth of each "
    .. "queue, and findings as in check; seconds; utilisation (of the multiply-adds that the machine could do in this time); port "
    .. "(cycles that the memory outside of the chip needs for all bytes); bottleneck (\"memory\", or the unit that is busy for "
    .. "most cycles) and bound (these cycles). arguments: arrays; the values are then computed, and outputs has the results. mode: "
    .. "\"monolithic\": each instruction waits for the one before it; \"decoupled\": the units ignore all tokens; \"raw\": they "
    .. "ignore tokens from later units; by default, all tokens count. spans: also returns spans, with from, to, ready, put "
    .. "(when its tokens are in their queues; -1 if never; in cycles) and waits (a queue) of each instruction. "
    .. "With spans, and always up to 20000 instructions, happened has the hazards that happened (at most 4096), and "
    .. "times_happened their number. unsafe and left_out are those of facts.", run)
  define("model", "(self: nw.stream): table",
    "Predicts the cycles without executing all iterations: cycles, units (name, busy: cycles if the unit never waits), port "
    .. "(cycles of the memory outside of the chip), and steady: the loop that takes longest, if its iterations are alike, with its "
    .. "iterations, the interval between them in cycles, and the prologue before the interval is constant. Counts, as those of a "
    .. "run: instructions, macs, memory_read, memory_written, memories, pj. loops (name, id, depth): the same for all iterations "
    .. "of a loop of the lowered program. unsafe is true if steps of the schedule were not judged.", model)
  define("drop", "(self: nw.stream, instruction: integer, queue: string, which?: 'put'|'take'): nw.stream",
    "Changes the stream, and returns it: removes the token that the instruction puts into the queue or takes from it, at both of "
    .. "its ends. queue: for example \"load->compute\". which: removes only the put, or only the take, of this instruction. "
    .. "s:stream() makes another stream with all tokens.", drop)
  define("write_tokens", "(self: nw.stream): string",
    "The tokens as text: a line for each instruction that takes or puts some, such as "
    .. "\"7 compute: take load->compute, put compute->store\".",
    stream_tokens.write)
  define("read_tokens", "(self: nw.stream, text: string): nw.stream",
    "Changes the stream, and returns it: replaces all tokens by those of a text, which may be that of write_tokens, edited by "
    .. "hand. If a line of it is wrong, the stream stays as it is.", read_tokens)
  define("add", "(self: nw.stream, instruction: integer, queue: string, which: 'put'|'take'): nw.stream",
    "Changes the stream, and returns it: the instruction puts one more token into the queue, or takes one.", add)
  pictures.install(nw, class.methods, methods, of)
end

return stream
