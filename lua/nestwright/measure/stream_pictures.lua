--- Pictures of streams of instructions: units over time, queues and memories over time, and the virtual threads beside the stream.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local facts = require "nestwright.measure.stream_facts"
local json = require "nestwright.show.json"
local rows = require "nestwright.language.rows"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local pictures = {}

pictures.MOST = facts.MOST -- up to this number of instructions, a run keeps the times of each

local kept = setmetatable({}, {__mode = "k"}) -- for each run: {stream, mode, edits, spans, happened, report}
local edits = setmetatable({}, {__mode = "k"}) -- for each stream, how often its tokens were changed

--- Remembers what pictures of a run need. Returns the run.
function pictures.keep(run, s, mode, spans)
  kept[run] = {stream = s, mode = mode, edits = edits[s], spans = spans, happened = run.happened or {}}
  return run
end

--- True if a value is a run of a stream.
function pictures.is_run(value) return kept[value] ~= nil end

--- Says that the tokens of a stream are changed by hand.
function pictures.changed(s) edits[s] = (edits[s] or 0) + 1 end

--- True if the tokens of a stream were changed by hand.
function pictures.is_changed(s) return edits[s] ~= nil end

local function kept_of(what, run)
  local x = kept[run]
  if not x then errors.fail("invalid", "s:stream():run()", "%s: expected a run of a stream", what) end
  if not x.spans then
    errors.fail("limit", "s:stream():run{spans = true} keeps them",
      "%s: the run has %d instructions, so it did not keep their times", what, #x.stream)
  end
  if x.edits ~= edits[x.stream] then
    errors.fail("invalid", "run the stream again", "%s: the tokens of the stream were changed after this run", what)
  end
  x.report = run
  return x
end

local NAMES = {full = "all tokens", monolithic = "monolithic: one instruction at a time", decoupled = "decoupled, without tokens",
  raw = "RAW tokens only"}

-- Returns the usual title of a run.
local function name_of(x)
  if x.mode ~= "full" then return NAMES[x.mode] end
  local left_out = core.stream_facts(x.stream).left_out
  if left_out > 0 then return ("without %s that a stage ignores"):format(written.plural(left_out, "token")) end
  return edits[x.stream] and "tokens changed by hand" or NAMES.full
end

local function colour_of(o, runs)
  if o.colour then return o.colour end
  for _, run in ipairs(runs) do
    for _, b in ipairs(run.bars) do if (b.thread or 0) > 0 then return "thread" end end
  end
  return "instruction"
end

-- Returns the title of a picture, with the marks of the stream.
local function title_of(what, s, title, usual)
  return errors.expect(what .. ": title", title or usual, "string") .. times.marks(core.stream_facts(s))
end

-- ---- units over time

local FOREVER = 1.15 -- units that wait forever are shown for more time, by this factor

-- Draws runs above each other. list: {title, run}.
local function draw(what, list, o)
  local ends, most = 0, 1
  for _, entry in ipairs(list) do
    ends, most = math.max(ends, entry.run.cycles), math.max(most, entry.run.cycles * (entry.run.stuck and FOREVER or 1))
  end
  local from, to = facts.window(what, ends, most, o)
  local runs = {}
  for n, entry in ipairs(list) do
    runs[n] = facts.run(what, kept_of(what, entry.run), from, to)
    runs[n].title = entry.title .. times.marks(entry.run)
  end
  local title = errors.expect(what .. ": title", o.title or "Units of the accelerator over time", "string")
  return require "nestwright.plots.units".make(runs, {title = title, from = from, to = to, by = colour_of(o, runs),
    tokens = o.tokens ~= false})
end

local OPTIONS = {"from", "to", "colour", "tokens", "title"}
local SHAPE = "options?: {from?: number, to?: number, colour?: 'thread'|'instruction', tokens?: boolean, title?: nw.label}"

local function plot(run, options)
  return draw("plot", {{title = name_of(kept_of("plot", run)), run = run}}, errors.options("plot", options, OPTIONS))
end

local MOST_RUNS = 8

local function unit_runs(list, options)
  local o, out = errors.options("unit_runs", options, OPTIONS), {}
  for n, entry in ipairs(list) do
    local named = type(entry) == "table" and not kept[entry]
    local run = named and entry[2] or not named and entry
    local title = named and errors.expect(("unit_runs: %d: title"):format(n), entry[1], "string")
    if not (type(run) == "table" and kept[run]) then
      errors.fail("invalid", 'nw.unit_runs{{"before", one:run()}, {"after", two:run()}}',
        "unit_runs: %d: expected a run of a stream, got %s", n, core.type_name(run))
    end
    out[n] = {title = title or name_of(kept[run]), run = run}
  end
  if #out == 0 or #out > MOST_RUNS then
    errors.fail("range", 'nw.unit_runs{{"before", one:run()}, {"after", two:run()}}',
      "unit_runs: %d runs: expected 1 to %d", #out, MOST_RUNS)
  end
  return draw("unit_runs", out, o)
end

-- ---- the slides of the lecture

-- Returns the schedule without its steps that bind loops to virtual threads.
local function without_threads(s)
  local trace, steps = json.decode(core.schedule_trace(s, "json")), {}
  for _, step in ipairs(trace.steps) do
    if not (step.primitive == "bind" and step.args.tag == "vthread") then steps[#steps + 1] = step end
  end
  if #steps == #trace.steps then
    errors.fail("invalid", 's:bind(loop, "vthread") makes virtual threads', "latency_hiding: the schedule has no virtual threads")
  end
  trace.steps = steps
  return core.schedule_anew(s, s.target):replay(json.encode(trace))
end

local SLIDES = {
  {"1. monolithic: one instruction at a time", "monolithic"}, {"2. decoupled, without tokens", "decoupled"},
  {"3. RAW tokens only", "raw"}, {"4. RAW and WAR tokens", "full"},
}

local function latency_hiding(of, s, options)
  local o = errors.options("latency_hiding", options, {"from", "to", "colour", "tokens", "title", "sizes"})
  if debug.getmetatable(s) ~= core.classes.schedule then
    errors.fail("invalid", "nw.latency_hiding(s)", "latency_hiding: expected a schedule, got %s", core.type_name(s))
  end
  local plain, list = of(without_threads(s), {sizes = o.sizes}), {}
  for n, slide in ipairs(SLIDES) do list[n] = {title = slide[1], run = plain:run {mode = slide[2]}} end
  list[5] = {title = "5. virtual threads, RAW and WAR tokens", run = of(s, {sizes = o.sizes}):run()}
  o.title = o.title or "Latency hiding: five ways to run one schedule"
  return draw("latency_hiding", list, o)
end

-- ---- queues and memories over time

-- Says how many tokens were put into a queue, and how many of them were in it at the same time.
local function queue_heading(q)
  local all = written.plural(q.all, "token")
  if q.all == 0 then return ("%s: no tokens"):format(q.name) end
  if not q.counts then return ("%s: %s, which the units ignore"):format(q.name, all) end
  if q.put == 0 then return ("%s: %s, but none is put: the run stops before"):format(q.name, all) end
  if q.put < q.all then all = ("%d of %s %s put, before the run stops"):format(q.put, all, q.put == 1 and "is" or "are") end
  local most = ("at most %d in the queue at the same time"):format(q.most)
  if q.most == 0 then most = (q.put == 1 and "it" or "each") .. " is taken as soon as it is put" end
  return ("%s: %s; %s"):format(q.name, all, most)
end

local function plot_queues(run, options)
  local o = errors.options("plot_queues", options, {"from", "to", "title"})
  local x = kept_of("plot_queues", run)
  local from, to = facts.window("plot_queues", run.cycles, math.max(run.cycles, 1), o)
  local panels = {}
  for n, q in ipairs(facts.depths(x)) do
    panels[n] = {name = q.name, heading = queue_heading(q), series = {{name = "tokens in the queue", thread = 0, steps = q.steps}}}
  end
  local title = title_of("plot_queues", x.stream, o.title, "Tokens in each queue over time")
  return require "nestwright.plots.amounts".make(panels, {title = title, from = from, to = to, unit = "tokens",
    small = "Simulated. A token is in its queue from the end of the instruction that puts it, or from the time at which there is "
      .. "room, to the beginning of the one that takes it. A token that is taken at once is not visible."})
end

-- Returns the bytes of each virtual thread in a memory over time.
local function series_of(values)
  local events, out = {}, {}
  for _, v in ipairs(values) do
    local key = v.thread or -1
    if not events[key] then
      events[key], out[#out + 1] = {}, {name = v.thread and ("virtual thread %d"):format(v.thread) or "no virtual thread",
        thread = v.thread}
    end
    if v.to > v.from then
      table.insert(events[key], {v.from, v.bytes})
      table.insert(events[key], {v.to, -v.bytes})
    end
  end
  table.sort(out, function(a, b) return (a.thread or -1) < (b.thread or -1) end)
  for _, s in ipairs(out) do s.steps = facts.sum(events[s.thread or -1]) end
  return out
end

-- Returns the most bytes of a memory that are in use at the same time.
local function most_bytes(values)
  local events = {}
  for _, v in ipairs(values) do
    if v.to > v.from then table.move({{v.from, v.bytes}, {v.to, -v.bytes}}, 1, 2, #events + 1, events) end
  end
  return select(2, facts.sum(events))
end

local function plot_memories(run, options)
  local o = errors.options("plot_memories", options, {"from", "to", "title"})
  local x = kept_of("plot_memories", run)
  local from, to = facts.window("plot_memories", run.cycles, math.max(run.cycles, 1), o)
  local values, panels = facts.values(x), {}
  for _, m in ipairs(core.stream_facts(x.stream).memories) do
    local series = series_of(values[m.name])
    if #series > 0 then
      panels[#panels + 1] = {name = m.name, series = series, capacity = m.bytes,
        heading = ("%s: at most %s in use at the same time, of %s; the arrays take %s"):format(m.name,
          written.bytes(most_bytes(values[m.name])), written.bytes(m.bytes), written.bytes(m.used))}
    end
  end
  if #panels == 0 then errors.fail("invalid", nil, "plot_memories: the stream uses no memory on the chip") end
  local title = title_of("plot_memories", x.stream, o.title, "Bytes in use in each memory over time")
  return require "nestwright.plots.amounts".make(panels, {title = title, from = from, to = to, unit = "bytes",
    small = "Simulated. A value is in use from the beginning of the instruction that writes it to the end of the last one that "
      .. "reads it. The threads are stacked in their order, from the bottom."})
end

-- ---- the software's view

local MOST_SHOWN = 60

local function plot_threads(s, options)
  local o = errors.options("plot_threads", options, {"first", "count", "title"})
  local _, numbers = facts.units(s)
  local first, count = o.first or 1, o.count or 24
  if math.type(first) ~= "integer" or first < 1 or first > #s then
    errors.fail("range", nil, "plot_threads: first: expected an instruction from 1 to %d, got %s", #s, tostring(first))
  end
  if math.type(count) ~= "integer" or count < 1 or count > MOST_SHOWN then
    errors.fail("range", "count = 24", "plot_threads: count: expected 1 to %d instructions, got %s", MOST_SHOWN, tostring(count))
  end
  local list = {}
  for n = first, math.min(#s, first + count - 1) do list[#list + 1] = facts.instruction(s, numbers, n) end
  local title = title_of("plot_threads", s, o.title, "Virtual threads, and the stream that they become")
  return require "nestwright.plots.threads".make(list, {title = title, units = facts.units(s), queues = facts.queues(s), all = #s})
end

--- Adds the methods of runs and of streams, and the functions. of: makes the stream of a schedule.
function pictures.install(nw, runs, streams, of)
  local function define(...) rows.define(runs, "streamrun", "accelerators", ...) end
  define("plot", "(self: nw.streamrun, " .. SHAPE .. "): nw.plot",
    "Draws the units over time: a bar for each instruction, what the units waited for between them, an arrow for each token in the "
    .. "lecture's four colours, and in red the hazards that happened. from, to: cycles. colour: by virtual thread or by "
    .. "instruction. tokens = false leaves out the arrows. Rows: run, unit, instruction, name, thread, from, to.", plot)
  define("plot_queues", "(self: nw.streamrun, options?: {from?: number, to?: number, title?: nw.label}): nw.plot",
    "Draws the number of tokens in each queue over time. from, to: cycles. Rows: panel, series, time, value.", plot_queues)
  define("plot_memories", "(self: nw.streamrun, options?: {from?: number, to?: number, title?: nw.label}): nw.plot",
    "Draws the bytes in use in each memory over time, by virtual thread. A value is in use from the beginning of the instruction "
    .. "that writes it to the end of the last one that reads it. from, to: cycles. Rows: panel, series, time, value.",
    plot_memories)
  rows.define(streams, "stream", "accelerators", "plot_threads",
    "(self: nw.stream, options?: {first?: integer, count?: integer, title?: nw.label}): nw.plot",
    "Draws the software's view, virtual threads in phases with barriers between them, beside the stream that they become, with "
    .. "what each instruction pops and pushes in the lecture's four colours. first, count: the instructions, 24 from the first one "
    .. "by default. Rows: instruction, unit, thread, phase, text.", plot_threads)
  rows.define(nw, "nw", "accelerators", "unit_runs", "(runs: table, " .. SHAPE .. "): nw.plot",
    "Draws several runs of streams above each other, on one time axis, as run:plot does: nw.unit_runs{{\"before\", one:run()}, "
    .. "{\"after\", two:run()}}. runs: runs, or {title, run}.", unit_runs)
  rows.define(nw, "nw", "accelerators", "latency_hiding",
    "(s: nw.schedule, " .. SHAPE:gsub("}$", ", sizes?: table}") .. "): nw.plot",
    "Draws the lecture's five ways to run a schedule with virtual threads, on one time axis: monolithic; decoupled, without "
    .. "tokens; with RAW tokens only; with RAW and WAR tokens; and with virtual threads. The first four run the schedule without "
    .. "its steps that bind loops to virtual threads. sizes: values of symbolic sizes.",
    function(s, options) return latency_hiding(of, s, options) end)
end

return pictures
