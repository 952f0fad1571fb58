--- Counts legal schedules that are refused or give wrong results (tests/legal). For now, the groups are the places of temporaries,
--- indices in another shape, and sliding windows.
package.path = "tests/bench/?.lua;" .. package.path
require "nestwright"
local bench = require "_bench"
local json = require "nestwright.show.json"

local out = bench.open(arg[1] or "build/bench/language.json")
local path = os.tmpname()
os.execute(("NW_FIGURES=%s build/release/bin/nestwright tests/legal/run.lua"):format(path))
local f = assert(io.open(path))
local text = f:read "a"
f:close()
os.remove(path)
local figures = json.decode(text)

local cases, refused, wrong = 0, 0, 0
for _, group in ipairs {"places", "bijections", "windows"} do
  out:bar("language." .. group, figures[group] or 0, ">=", 24)
  cases = cases + (figures[group] or 0)
  refused, wrong = refused + (figures[group .. "_refused"] or 1e9), wrong + (figures[group .. "_wrong"] or 1e9)
end
out:bar("language.legal_cases", cases, ">=", 120)
out:bar("language.legal_refused", refused, "<=", 0)
out:bar("language.legal_wrong", wrong, "<=", 0)
out:close()
