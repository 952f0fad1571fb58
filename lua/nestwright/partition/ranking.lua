--- Makes the ranked table of s:partition_auto: its text, and its methods.
local core = require "nestwright.core"
local dispatching = require "nestwright.partition.dispatching"
local errors = require "nestwright.language.errors"
local inside = require "nestwright.inside"
local report = require "nestwright.show.report"
local returning = require "nestwright.language.returning"
local rows = require "nestwright.language.rows"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local class = report.class "ranking"
local choices = setmetatable({}, {__mode = "k"}) -- for each ranked table: the options of the call that made the table

-- ---- as text

-- Returns the remarks of a row. A row with intrinsics gets a remark, because the cost model uses the cost of the loops that they
-- replace.
local function remarks_of(row)
  local out = row.fits and "" or "  more code than code_limit"
  if row.intrinsics and (row.joules or row.modelled) then out = out .. "  intrinsics: priced as loops" end
  if row.disturbed then out = out .. "  disturbed by other work" end
  out = out .. times.tested("  %s", row.tested)
  return row.unsafe and out .. "  unsafe: not judged" or out
end

local function expected_text(row)
  if not row.expected then return "" end
  return row.scored and ("%.3g"):format(row.expected) or written.seconds(row.expected)
end

-- Returns the name of the row's strategy, and for a GPU that of its largest tile.
local function name_of(row) return row.tile and row.strategy .. " " .. row.tile or row.strategy end

-- The columns with numbers: {title, width, function that returns the text of a row}.
local COLUMNS = {
  {"versions", 8, function(row) return tostring(#row.versions) end},
  {"bytes", 9, function(row) return tostring(row.code_bytes or "") end},
  {"predicted", 12, expected_text},
  {"median", 12, function(row) return row.seconds and written.seconds(row.seconds) or "" end},
  {"energy", 12, function(row) return row.joules and ("%.3g J"):format(row.joules) or "" end},
}

-- Returns the columns that have a text in some row.
local function columns_of(list)
  local out = {}
  for _, column in ipairs(COLUMNS) do
    for _, row in ipairs(list) do
      if not row.refused and column[3](row) ~= "" then
        out[#out + 1] = column
        break
      end
    end
  end
  return out
end

local function refused_line(row, wide)
  local label = name_of(row) .. (" "):rep(wide - #name_of(row))
  local hint = row.hint and row.hint:gsub("\n", "\n" .. (" "):rep(5 + wide))
  local more = hint and ("\n%s %s%s"):format((" "):rep(4 + wide), row.remedy and "hint: " or "", hint) or ""
  return ("    %s refused: %s"):format(label, row.refused) .. more
end

local function line_of(n, row, wide, columns)
  local out = {("%2s  %s"):format(n, name_of(row) .. (" "):rep(wide - #name_of(row)))}
  for _, column in ipairs(columns) do out[#out + 1] = ("%" .. column[2] .. "s"):format(column[3](row)) end
  return ((table.concat(out, " ") .. remarks_of(row)):gsub("%s+$", ""))
end

-- Returns the names of rows that stand for the same program as a row before them, and by which they are left out.
local function same_line(row, wide)
  if not row.same then return nil end
  return ("    %s the same program: %s"):format((" "):rep(wide), table.concat(row.same, ", "))
end

local function text_of(list)
  local wide, columns = 10, columns_of(list)
  for _, row in ipairs(list) do wide = math.max(wide, #name_of(row)) end
  local head = {"    strategy" .. (" "):rep(wide - 8)}
  for _, column in ipairs(columns) do head[#head + 1] = ("%" .. column[2] .. "s"):format(column[1]) end
  local lines = {table.concat(head, " ")}
  for n, row in ipairs(list) do
    lines[#lines + 1] = row.refused and refused_line(row, wide) or line_of(n, row, wide, columns)
    lines[#lines + 1] = same_line(row, wide)
  end
  if list.disturbed then
    lines[#lines + 1] = "Other work disturbed the measurements, so the rows are ranked by the cost model."
  end
  return table.concat(lines, "\n")
end

-- ---- methods and fields

-- Returns the name that `which` selects in a row; nil if it selects none. `which` is the number of the row, its name as printed,
-- its strategy, or one of these of a row with the same program.
local function selected(n, row, which)
  if which == n or which == row.strategy or which == name_of(row) then return name_of(row) end
  for _, name in ipairs(row.same or {}) do
    if which == name or which == name:match "^%S+" then return name end
  end
end

-- Says which of several tiles is taken, if only a strategy is given.
local function note_choice(list, which)
  local names = {}
  for n, row in ipairs(list) do
    if not row.refused then names[#names + 1] = selected(n, row, which) end
  end
  if #names > 1 then inside.note(("%s is the best of %s"):format(names[1], table.concat(names, ", "))) end
end

local function usable(list, which)
  local refused
  for n, row in ipairs(list) do
    if selected(n, row, which) then
      if not row.refused then
        note_choice(list, which)
        return row
      end
      refused = refused or row
    end
  end
  if refused then errors.fail("invalid", refused.hint, "partition_auto: %s was refused: %s", name_of(refused), refused.refused) end
  errors.fail("invalid", ("list:take(1), or list:take %q"):format(list[1] and name_of(list[1]) or "cut"),
    "which: there is no row %s", type(which) == "string" and ("'%s'"):format(which) or tostring(which))
end

local define = rows.definer(class.methods, "ranking", "partitioning")

define("take", "(self: nw.ranking, which?: integer|string): integer[]",
  "Moves the schedule to the program that a strategy made, so that it can be viewed and changed. which: the number of the row (1 "
  .. "by default), its name as printed (\"halves 8\"), or the name of its strategy: then the best of its rows. Returns "
  .. "the numbers of its versions; the schedule is at the last one.",
  function(list, which)
    local row = usable(list, which or 1)
    choices[list].schedule:checkout(row.versions[#row.versions])
    return row.versions
  end)

define("build", "(self: nw.ranking, which?: integer|string, options?: {threads?: integer, opt?: integer, cache?: boolean}): "
  .. "nw.kernel",
  "Compiles the versions that a strategy made into one kernel, list:build \"cut\". which: the number of the row (1 by default) "
  .. "or its strategy. Options as in s:build. The schedule does not change.", function(list, which, options)
    local o = {}
    for key, value in pairs(errors.options("build", options, {"threads", "opt", "cache"})) do o[key] = value end
    local s = choices[list].schedule
    if choices[list].work then -- for an accelerator: the simulator runs one version
      local row = usable(list, which or 1)
      return returning.always(s, function() return s:checkout(row.versions[1]):build(o) end)
    end
    o.threads, o.versions = o.threads or choices[list].threads, usable(list, which or 1).versions
    return s:build(o)
  end)

define("dispatch", "(self: nw.ranking): nw.report",
  "Makes a small decision tree over the sizes that vary. Each leaf has the strategy that is best for its sizes by the objective. "
  .. "code_limit limits the code of all leaves together. Fields: versions: numbers of versions, for s:build{versions = ...}; "
  .. "ranges: an entry for each leaf, with row (of this table), facts (its conditions, as text) and below (the upper bound of the "
  .. "size, if only one size varies); tree: the root, which is a node {size, below, yes, no} or a leaf {way}. The schedule does "
  .. "not change.", function(list)
    if choices[list].work then
      errors.fail("invalid", "list:take(1)", "dispatch: the sizes of a schedule for an accelerator do not vary")
    end
    local d = returning.quietly(choices[list].schedule, dispatching, choices[list], list)
    core.tell_progress()
    return d
  end)

local FIELDS = {
  {"strategy", "string", "The name of the row's strategy."},
  {"versions", "integer[]", "Versions of the schedule; a call runs the first one whose facts hold."},
  {"tile", "string?", "For a GPU, the number of iterations and the name of the largest tile."},
  {"same", "string[]?", "For a GPU, names of other strategies and tiles that make the same program."},
  {"code_bytes", "integer?", "Bytes of machine code of all versions; nil for a GPU."},
  {"expected", "number?",
    "An estimate: the weighted mean of `predicted`, in seconds or, for a learned model, as a score without a unit."},
  {"seconds", "number?", "The weighted mean of `measured`."},
  {"disturbed", "boolean?", "True if other work disturbed the measurement, so rows are not ranked by it."},
  {"joules", "number?", "An estimate: the weighted mean of `energies`, if the cost model was used."},
  {"figure", "number", "The number by which rows are ranked: the smallest is best."},
  {"fits", "boolean", "True if the strategy has at most code_limit bytes of code."},
  {"refused", "string?", "Why the strategy was refused. Such a row has only the fields strategy, refused and hint."},
  {"hint", "string?", "What to do about the refusal, or more about its reason."},
  {"unsafe", "boolean?", "True if some steps of the strategy were not judged."},
  {"tested", "integer?",
  "If a rewrite of the strategy was tested, but not proved: the number of values on which it was tested."},
  {"cycles", "number?", "For an accelerator, the simulated cycles."},
  {"threads", "integer?", "For an accelerator, the number of virtual threads."},
  {"block", "integer[]?", "For an accelerator, the iterations of a block along each axis."},
  {"pieces", "table[]?",
  "For an accelerator, the pieces: ranges (text), runs (the name of an instruction), tensor (true if it computes whole tiles), "
    .. "kind ('main' or 'rest'), block (text), and why (text): what is not a whole tile."},
  {"intrinsics", "boolean?",
  "True if some tiles of the strategy are intrinsics; the cost model prices them as the loops that they replace."},
}
for _, field in ipairs(FIELDS) do rows.field("ranked", "partitioning", table.unpack(field)) end

--- Makes the table from sorted rows and the options of the call. text: its text, if it is not the usual one.
return function(list, c, text)
  local made = class.new(list, text or text_of(list))
  choices[made] = c
  return made
end
