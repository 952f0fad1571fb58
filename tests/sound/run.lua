--- Runs the cases of tests/sound. Classes A1 to A15, S3 and S5 hold programs and steps that once caused a wrong result, a crash or
--- an internal fault, with variations of each. Class "legal" holds legal steps that were once refused.
---
--- With NW_FIGURES=FILE in the environment, the numbers of cases and of failures are written to the file as a flat JSON object. The
--- cases of class "legal" are counted separately from the others.
--- usage: nestwright tests/sound/run.lua [FILE | CASE]      FILE: a file of this folder, without ".lua"; CASE: a case's full name
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.loaded["nestwright.script"] = nil -- the remarks of steps are not written
package.path = here .. "/?.lua;" .. package.path
local check = require "check"

local NOT_CASES = {run = true, check = true, files = true, ctext = true, expressions = true, deep = true, values = true}
local wanted, files = arg[1], require "files"
for _, file in ipairs(files) do if file == wanted then files, wanted = {file}, nil break end end
local passed, failed = 0, 0
local figures = {cases = 0, cases_wrong = 0, legal_cases = 0, legal_refused = 0}
local function add(class, ok)
  local legal = class == "legal"
  local all, bad = legal and "legal_cases" or "cases", legal and "legal_refused" or "cases_wrong"
  figures[all] = figures[all] + 1
  if not ok then figures[bad] = figures[bad] + 1 end
end
for _, file in ipairs(files) do
  assert(not NOT_CASES[file])
  local seen = {}
  require(file)(function(class, name, f)
    assert(not seen[name], "two cases have the same name: " .. name)
    seen[name] = true
    if wanted and wanted ~= name then return end
    local ok, err = xpcall(f, function(e) return type(e) == "table" and e or debug.traceback(tostring(e), 2) end)
    if ok then passed = passed + 1 else failed = failed + 1 end
    add(class, ok)
    print(("%s %s: %s"):format(ok and "ok" or "not ok", class, name))
    if not ok then print("  " .. tostring(err):gsub("\n", "\n  ")) end
  end, check)
end
local path = os.getenv "NW_FIGURES"
if path then
  local f <close> = assert(io.open(path, "w"))
  f:write(('{"cases": %d, "cases_wrong": %d, "legal_cases": %d, "legal_refused": %d}\n'):format(figures.cases,
    figures.cases_wrong, figures.legal_cases, figures.legal_refused))
end
print(("sound: %d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and passed > 0, true)
