--- Defines the methods about the history of a schedule: the log, the versions, and the steps that produced a line of the program
--- text. Also defines `unsafe`, which takes steps without a check of their legality.
local blanks = require "nestwright.show.blanks"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local written = require "nestwright.show.written"

local function short(n) return n and written.count(n) or "?" end

-- ---- the log

local function label(entry)
  local text = entry.step or "the naive program"
  if entry.unsafe then text = "unsafe: " .. text end
  if entry.tested then text = ("%s  (tested on %d values, not proved)"):format(text, entry.tested) end
  if entry.branch then text = ("%s  [%s]"):format(text, entry.branch) end
  return text
end

local function cells(entry)
  local bound = entry.operations and not entry.exact and "<= " or ""
  return {tostring(entry.version), label(entry), ("+%d -%d ~%d"):format(entry.added, entry.removed, entry.changed),
    bound .. (entry.operations and short(entry.operations) or entry.formula or "?"),
    ("%s/%s/%s"):format(short(entry.bytes.input), short(entry.bytes.output), short(entry.bytes.temp)),
    table.concat(entry.buffers, " ")}
end

local HEAD = {"", "step", "statements", "operations", "bytes in/out/temp", "buffers"}

local function aligned(lines)
  local width, out = {}, {}
  for _, row in ipairs(lines) do
    for c, text in ipairs(row) do width[c] = math.max(width[c] or 0, utf8.len(text)) end
  end
  for n, row in ipairs(lines) do
    local padded = {}
    for c, text in ipairs(row) do padded[c] = text .. (" "):rep(width[c] - utf8.len(text)) end
    out[n] = blanks.right(table.concat(padded, "  "))
  end
  return out
end

-- Returns the versions from the naive program to the current one.
local function line_of(s, all)
  local line, at = {}, s:version()
  while at do
    table.insert(line, 1, all[at + 1])
    at = all[at + 1].parent
  end
  return line
end

-- Adds the predicted time and the bottleneck of a version to its entry of the log and to its row of the table. Returns the row.
local function predict(s, entry, o, row)
  local shown, c = require "nestwright.cost.costs_shown".version(s, entry.version, o)
  entry.predicted, entry.bottleneck = c and c.seconds, c and c.bottleneck
  return table.move(shown, 1, 2, #row + 1, row)
end

-- Raises an error if options about costs are given without cost = true.
local function check_costs(s, o)
  for _, name in ipairs {"machine", "sizes", "threads"} do
    if not o.cost and o[name] ~= nil then
      errors.fail("invalid", ("s:log{cost = true, %s = ...}"):format(name), "log: %s applies only with cost = true", name)
    end
  end
  if o.cost then o = setmetatable({machine = require "nestwright.cost.cost".machine(s, o)}, {__index = o}) end
  return o
end

local function log(s, options)
  local o = check_costs(s, errors.options("log", options, {"cost", "machine", "sizes", "threads"}))
  local line = line_of(s, core.schedule_log(s))
  local head = table.move(HEAD, 1, #HEAD, 1, {})
  if o.cost then table.move({"predicted", "bottleneck"}, 1, 2, #head + 1, head) end
  local lines, in_table = {head}, {}
  for n, entry in ipairs(line) do
    lines[n + 1] = o.cost and predict(s, entry, o, cells(entry)) or cells(entry)
    in_table[n] = {table.unpack(lines[n + 1])}
    if entry.notes then in_table[n][2] = in_table[n][2] .. " -- " .. entry.notes:gsub("\n", "; ") end
  end
  local out = {}
  for n, text in ipairs(aligned(lines)) do
    out[#out + 1] = text
    local notes = n > 1 and line[n - 1].notes
    if notes then out[#out + 1] = "   -- " .. notes:gsub("\n", "; ") end
  end
  return report.new(line, table.concat(out, "\n"), {head = head, rows = in_table, left = {[2] = true, [6] = true}})
end

-- ---- trees as text

-- Adds the lines of a drawn tree to `out`. A node has a text and a list of children.
local function draw(node, out, first, rest)
  out[#out + 1] = first .. node.text
  for n, child in ipairs(node) do
    local last = n == #node
    draw(child, out, rest .. (last and "└─ " or "├─ "), rest .. (last and "   " or "│  "))
  end
  return out
end

local function versions(s)
  local all, current = core.schedule_log(s), s:version()
  for _, entry in ipairs(all) do
    entry.current = entry.version == current
    entry.text = ("%d  %s%s"):format(entry.version, label(entry), entry.current and "  <- current" or "")
    if entry.parent then table.insert(all[entry.parent + 1], entry) end
  end
  local text = table.concat(draw(all[1], {}, "", ""), "\n")
  for _, entry in ipairs(all) do entry.text = nil end
  return report.new(all[1], text)
end

local function node_of(row)
  local node = {kind = row.kind, name = row.name, text = row.text, unsafe = row.unsafe, tested = row.tested or nil,
    stream = row.stream or nil, async = row.async or nil}
  node.mark = row.mark ~= "" and row.mark or nil
  if row.kind == "prefetch" or row.kind == "call" then node.name = nil end
  if row.unsafe then node.text = node.text .. "  unsafe" end
  if row.tested then node.text = node.text .. "  tested, not proved" end
  if row.stream then node.text = node.text .. "  stream" end
  if row.async then node.text = node.text .. "  async" end
  return node
end

local function tree(s)
  local root = {kind = "program", text = core.program_name(s)}
  local stack = {[-1] = root}
  for _, row in ipairs(core.outline(s)) do
    local node = node_of(row)
    table.insert(stack[row.depth - 1], node)
    stack[row.depth] = node
  end
  return report.new(root, table.concat(draw(root, {}, "", ""), "\n"))
end

-- ---- why

local function find_line(text, fragment, what)
  local n = 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    n = n + 1
    if line:find(fragment, 1, true) then return n end
  end
  errors.fail("range", nil, "why: no line of s:show%s has '%s'", what == "lowered" and " \"lowered\"" or "()", fragment)
end

local function why(s, line, what)
  local lowered = what == "lowered"
  if type(line) == "string" then
    line = find_line(lowered and core.schedule_lowered(s) or core.schedule_show(s, "plain"), line, what)
  end
  local text = core.schedule_why(s, line, lowered)
  local reasons = {line = line}
  for reason in text:gmatch "[^\n]+" do reasons[#reasons + 1] = reason end
  return report.new(reasons, text)
end

-- ---- steps that are not judged

local function unsafe(s, f, ...)
  errors.expect("unsafe: the steps", f, "function")
  return core.schedule_unsafe(s, f, s, ...)
end

return function()
  local method = rows.definer(rows.methods "schedule", "schedule", "schedules")

  method("log", "(self: nw.schedule, options?: {cost?: boolean, machine?: any, sizes?: table, threads?: integer}): nw.report",
    "The history: one row per step, starting with the naive program. A row has the number of the version (for s:diff and "
    .. "s:checkout), the step, the statements added, removed and changed, the operations of one run, the bytes of inputs, "
    .. "outputs and temporaries that a run reads and writes, and the names of the temporaries. Fields of a row: version, step, "
    .. "branch, notes, unsafe, tested, added, removed, changed, operations (or formula, an expression in sizes), exact, bytes, "
    .. "buffers. "
    .. "cost = true: adds the time and the bottleneck that s:cost predicts for each version, as predicted (seconds) and "
    .. "bottleneck, or ? and the reason if it predicts none, such as for a GPU before a loop is bound; machine, sizes and "
    .. "threads as in s:cost.", log)
  method("history", "(self: nw.schedule): nw.report",
    "The tree of versions, with the names of branches and a mark at the current version.", versions)
  method("tree", "(self: nw.schedule): nw.report",
    "The schedule tree: loops, storage with its scope and layout, guards, stages, prefetches and calls of intrinsics, each below "
    .. "the node that contains it. All nodes have kind and text; some also have name, mark, stream, async, unsafe or tested.", tree)
  method("why", "(self: nw.schedule, line: integer|string, view?: 'loops'|'lowered'): nw.report",
    "The steps that made a line of s:show(). The line is given by its number or a part of its text. The steps are listed for the "
    .. "loop, its mark, each guard, each offset and the storage. With view = 'lowered', the line is one of s:show "
    .. "\"lowered\".", why)
  method("unsafe", "(self: nw.schedule, steps: fun(s: nw.schedule, ...: any): any, ...: any): any ...",
    "Applies the steps of a function without judging them. This is the only way to bypass the judge. The steps stay marked as "
    .. "unsafe in every view, in the trace and in all measurements. A step that cannot be lowered is still refused, and machine "
    .. "code is made only if every access stays inside its buffer. Returns what the function returns.", unsafe)
end
