--- Checks other properties of a schedule than its results: its text, undo, its trace, the conflicts that refusals name, and its
--- accesses. Each check returns a message, or nil if it found no fault. `examine.counts` counts the checks.
local nw = require "nestwright"

local examine = {}

--- The numbers of checks in this run, by name.
examine.counts = {["access lists compared"] = 0, ["access lists too long"] = 0, ["nests compared"] = 0,
  ["access lists with indices from arrays"] = 0,
  ["nest texts too long to parse"] = 0, ["conflicts replayed"] = 0, ["conflicts that should be seen, but are not"] = 0,
  ["conflicts that need not be seen, and are not"] = 0, ["refusals without an alternative"] = 0}
examine.reasons = {} -- reasons why a schedule could not become a nest

local counts = examine.counts
local function count(name) counts[name] = counts[name] + 1 end

local MOST_ACCESSES = 200000

-- Checks that the nest of a schedule makes the same accesses in the same order, also after its text is printed and parsed.
local function check_nest(s, sizes, walked)
  local ok, nest = pcall(nw.nest.of, s, {sizes = sizes})
  if not ok and nest.code == "limit" then
    if nest.message:find "an index is read from an array" then count "access lists with indices from arrays" end
    examine.reasons[nest.message] = (examine.reasons[nest.message] or 0) + 1
    return
  end
  if not ok then return "no nest can be made: " .. tostring(nest) end
  count "nests compared"
  local n = nest:accesses {most = MOST_ACCESSES}:differs(walked)
  if n then return ("access %d of the nest differs"):format(n) end
  local fine, again = pcall(nw.nest.parse, tostring(nest))
  if not fine and again.code == "limit" and again.message:find "operations" then count "nest texts too long to parse" return end
  if not fine then return ("parsing the text of the nest fails: %s\n%s"):format(again, nest) end
  n = again:accesses {most = MOST_ACCESSES}:differs(walked)
  if n then return ("access %d differs in the nest that was parsed from its text:\n%s"):format(n, tostring(nest)) end
end

--- Computes the accesses of a schedule without running the program. Checks that the interpreter makes the same accesses in the same
--- order.
function examine.accesses(s, values, data)
  local text, sizes = s:text(), {}
  for name, value in pairs(values) do
    if text:find("\nsize " .. name .. " ", 1, true) then sizes[name] = value end
  end
  local ok, walked = pcall(nw.accesses, s, {sizes = sizes, most = MOST_ACCESSES})
  if not ok and type(walked) == "table" and walked.code == "limit" then count "access lists too long" return end
  if not ok then return "the accesses cannot be derived: " .. tostring(walked) end
  count "access lists compared"
  local ran = nw.accesses(s, {arguments = data, most = MOST_ACCESSES})
  local n = walked:differs(ran)
  local function shown(list)
    local at = list:at(n)
    return at and ("%s[%d] x%d%s"):format(at.tensor, at.index, at.lanes, at.write and " written" or "") or "none"
  end
  if n then return ("access %d is derived as %s, but is %s in a run"):format(n, shown(walked), shown(ran)) end
  return check_nest(s, sizes, walked)
end

--- Checks that parsing the text form gives the same program.
function examine.text(s)
  local text = s:text()
  if not s:reparses() then return "parsing the text form does not give the same program:\n" .. text end
end

--- Checks that undo and redo return to identical programs.
function examine.undo(s, before)
  local after = s:text()
  s:undo()
  if s:text() ~= before then return "undo did not return the identical program" end
  s:redo()
  if s:text() ~= after then return "redo did not return the identical program" end
end

--- Checks that the trace makes the identical program, both as Lua code and as JSON.
function examine.trace(s, outputs)
  local pasted, read = nw.schedule(outputs), nw.schedule(outputs)
  local ok, err = pcall(load("local s = ... " .. s:trace()), pasted)
  if not ok then return "the trace does not run: " .. tostring(err) .. "\n" .. s:trace() end
  if pasted:text() ~= s:text() then return "the trace makes another program:\n" .. s:trace() end
  ok, err = pcall(read.replay, read, s:trace "json")
  if not ok then return "the JSON trace does not replay: " .. tostring(err) end
  if read:text() ~= s:text() then return "the JSON trace makes another program:\n" .. s:trace() end
end

--- Checks that a step that was refused as undecided is again refused as undecided, both on this schedule and on a new schedule.
function examine.undecided(s, outputs, err, apply)
  counts.undecided = (counts.undecided or 0) + 1
  local function differs(other, where)
    local fine, again = apply(other)
    if fine then return ("a step that was undecided is accepted %s:\n%s"):format(where, tostring(err)) end
    if type(again) ~= "table" or again.code ~= "undecided" then
      return ("a step that was undecided is refused for another reason %s:\n%s\n%s"):format(where, tostring(err), tostring(again))
    end
  end
  local fresh = nw.schedule(outputs)
  fresh:replay(s:trace "json")
  return differs(s, "when it is tried again on the same schedule") or differs(fresh, "on a new schedule")
end

-- True if the index of the element is read from the result of a stage. s:explain() chooses data only for inputs, so it cannot make
-- the conflict occur at this index.
local function computed_index(s, refusal)
  local inputs = {}
  for _, t in ipairs(s:inputs()) do inputs[t.name] = true end
  local index = (refusal.element or refusal.why):match "^[%w_.]+(%b[])" or ""
  for name in index:gmatch "([%a_][%w_.]*)%[" do
    if not inputs[name] then return true end
  end
end

--- Runs the refused program, and checks that the conflict that the refusal names occurs. If `decides` is true, the data determines
--- which elements are read, and the conflict need not occur. `number` is the number of the case.
function examine.refusal(s, err, decides, number)
  local refusal = err.refusal
  if not refusal.alternatives[1] then count "refusals without an alternative" end
  local lesson = s:explain()
  for should, is in tostring(lesson):gmatch "should be (%S+), is (%S+)" do
    if should == is then return "s:explain() shows no wrong value:\n" .. tostring(lesson) end
  end
  if err.code ~= "refused" or not lesson.visible then return end
  count "conflicts replayed"
  if lesson.seen then return end
  local named = refusal.element or refusal.source or refusal.sink
  local outside = (refusal.element or refusal.why):find "^[%w_.]+%[[^%]]*%-%d+[%],]" -- a shifted tail begins before the tensor
  local excused = not named or decides or outside or computed_index(s, refusal)
  count(excused and "conflicts that need not be seen, and are not" or "conflicts that should be seen, but are not")
  if not excused then print(("  case %d: the conflict of a refusal is not seen: %s"):format(number, err)) end
end

return examine
