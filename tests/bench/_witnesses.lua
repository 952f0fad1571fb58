--- Runs the rows of tests/bench/judge, and counts the refusals whose counterexample was replayed on numbers: how many there are,
--- and how many of the counterexamples do not occur. With NW_FIGURES=FILE in the environment, writes both numbers to the file as
--- JSON.
package.path = "tests/bench/?.lua;" .. package.path
local judge = require "_judge"

local rows, times = judge.rows "tests/bench/judge", judge.times()
for _, row in ipairs(rows.legal) do
  judge.legal(row, times)
  collectgarbage()
end
local replayed, unseen = 0, 0
for _, row in ipairs(rows.illegal) do
  local found, seen = judge.illegal(row, times)
  if found.witness then print(("%s: %s\n  %s"):format(row.area, row.what, (found.witness:gsub("\n", "\n  ")))) end
  replayed = replayed + ((seen or found.witness) and 1 or 0)
  unseen = unseen + (found.witness and 1 or 0)
  collectgarbage()
end
local path = os.getenv "NW_FIGURES"
if path then
  local file <close> = assert(io.open(path, "w"))
  file:write(('{"replayed": %d, "unseen": %d}\n'):format(replayed, unseen))
end
