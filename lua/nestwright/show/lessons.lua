--- Explains refused steps, and lists legal alternatives.
local core = require "nestwright.core"
local help = require "nestwright.show.help"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local steps = require "nestwright.language.steps"
local written = require "nestwright.show.written"

local WIDTH, COLUMN = 100, 40

-- Returns lines that show the pairs as two columns. A first entry that is too wide has its own line. The second entry is wrapped.
local function aligned(pairs_of, indent)
  local width, out = 0, {}
  for _, p in ipairs(pairs_of) do width = math.max(width, math.min(#p[1], COLUMN)) end
  local behind = (" "):rep(#indent + width + 2)
  for _, p in ipairs(pairs_of) do
    local text = help.wrap(p[2], WIDTH, behind)
    if #p[1] > width then
      out[#out + 1] = indent .. p[1]
    else
      text = indent .. p[1] .. text:sub(#indent + #p[1] + 1)
    end
    out[#out + 1] = text
  end
  return out
end

-- ---- legal steps at a loop

local function add(out, title, list)
  local lines = {}
  for n, move in ipairs(list) do lines[n] = {move.step or move.primitive, move.why} end
  if #lines > 0 then out[#out + 1] = title end
  for _, line in ipairs(aligned(lines, "  ")) do out[#out + 1] = line end
end

local function moves(s, loop)
  local legal, undecided, refused = {}, {}, {}
  for _, move in ipairs(core.schedule_moves(s, loop)) do
    local list = not move.why and legal or move.undecided and undecided or refused
    list[#list + 1] = move
  end
  local out = {"legal here:"}
  for _, move in ipairs(legal) do out[#out + 1] = "  " .. move.step end
  if #legal == 0 then out[#out + 1] = "  none of the steps that were tried" end
  if #undecided > 0 then out[#out + 1] = "not decided quickly (take the step to have it judged):" end
  for _, move in ipairs(undecided) do out[#out + 1] = "  " .. move.step end
  add(out, "refused here:", refused)
  return report.new({legal = legal, undecided = undecided, refused = refused}, table.concat(out, "\n"))
end

-- ---- where a stage can be computed

local function bytes_of(place)
  return place.bytes and written.bytes(place.bytes) or place.size and place.size .. " elements" or "storage not known"
end

local function locations(s, stage)
  local places = core.schedule_locations(s, steps.is_stage(stage) and stage.name or stage)
  local lines = {}
  for n, place in ipairs(places) do
    local where = (place.loop or "the root") .. (place.current and " (now)" or "")
    local cost = place.recompute and ("computed %.4gx, "):format(place.recompute) or ""
    lines[n] = {where, place.why and "no: " .. place.why or cost .. bytes_of(place)}
  end
  return report.new(places, table.concat(aligned(lines, ""), "\n"))
end

local class = report.class "lesson"

rows.define(class.methods, "lesson", "refusals", "plot", "(self: nw.lesson, options?: {title?: nw.label}): nw.plot",
  "Draws the conflict, as refusal:plot() does.", function(lesson, options) return lesson.refusal:plot(options) end)

return function()
  local method = rows.definer(rows.methods "schedule", "schedule", "refusals")

  method("explain", "(self: nw.schedule): nw.lesson",
    "Shows what would go wrong with the step that was just refused. It runs the program with this step in the interpreter, on "
    .. "small whole numbers. It shows the two iterations that conflict, as they run now and after the step, and the wrong value "
    .. "beside the right one. "
    .. "Fields: seen, true if the conflict showed; how (order, place, iterations, race, twice, outside, domain, unwritten, "
    .. "incomplete, value); visible, false if there is nothing to run, for example because the step is refused for its structure; "
    .. "refusal; and the method plot, which draws the conflict like refusal:plot().",
    function(s)
      local text, how, visible = core.explain(s)
      return class.new({seen = how ~= nil, how = how, visible = visible, refusal = core.schedule_refusal(s)}, text)
    end)
  method("moves", "(self: nw.schedule, loop: nw.loop|string): nw.report",
    "The legal steps at a loop: every primitive is tried there with sensible arguments. Fields: legal, undecided and refused, "
    .. "lists of {primitive, step, why}.", moves)
  method("locations", "(self: nw.schedule, stage: nw.stage|nw.tensor|string): nw.report",
    "The places where a stage can be computed: for each loop, how many times the stage's values are computed there and how many "
    .. "bytes the stage's storage takes, or why the stage cannot be computed there. A list of {loop, legal, why, recompute, bytes, "
    .. "size, current}.",
    locations)
end
