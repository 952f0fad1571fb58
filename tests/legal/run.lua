--- Runs the cases of this folder: legal schedules, as tests of other schedulers contain them. Each step must be accepted, and the
--- results must equal those of the definition. Each group is a file of this folder.
---
--- With NW_FIGURES=FILE in the environment, the numbers of cases and failures of each group are written to the file as a flat JSON
--- object.
--- usage: nestwright tests/legal/run.lua [GROUP | CASE]      GROUP: a file of this folder, without ".lua"; CASE: a case's name
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.loaded["nestwright.script"] = nil -- the remarks of steps are not written
package.path = here .. "/?.lua;" .. here .. "/../sound/?.lua;" .. package.path
local check = require "check"

local GROUPS = {"places", "bijections", "windows", "primitives", "borders", "layouts", "vectors", "threads", "async", "sizes",
  "smaller", "units", "scans"}
local wanted = arg[1]
for _, group in ipairs(GROUPS) do if group == wanted then GROUPS, wanted = {group}, nil break end end

local passed, failed, out = 0, 0, {}
for _, group in ipairs(GROUPS) do
  local seen, n, refused, wrong = {}, 0, 0, 0
  require(group)(function(name, f)
    assert(not seen[name], "two cases have the same name: " .. name)
    seen[name] = true
    if wanted and wanted ~= name then return end
    local ok, err = xpcall(f, function(e) return type(e) == "table" and e or debug.traceback(tostring(e), 2) end)
    local problem = tostring(err)
    local is_refused = not ok and (problem:find "refused: " or type(err) == "table") and true or false
    n, refused, wrong = n + 1, refused + (is_refused and 1 or 0), wrong + (not ok and not is_refused and 1 or 0)
    print(("%s %s: %s"):format(ok and "ok" or "not ok", group, name))
    if not ok then print("  " .. problem:gsub("\n", "\n  ")) end
  end, check)
  passed, failed = passed + n - refused - wrong, failed + refused + wrong
  table.insert(out, ('"%s": %d, "%s_refused": %d, "%s_wrong": %d'):format(group, n, group, refused, group, wrong))
end
local path = os.getenv "NW_FIGURES"
if path then
  local f <close> = assert(io.open(path, "w"))
  f:write("{", table.concat(out, ", "), "}\n")
end
print(("legal: %d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and passed > 0, true)
