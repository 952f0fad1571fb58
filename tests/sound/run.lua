--- Runs the cases of soundness: programs and steps that once gave a wrong result, a crash or a fault, with variations of
--- each, and steps that are legal and were refused (class "legal").
---
--- usage: nestwright tests/sound/run.lua [FILE | CASE]      a file of this folder without its ".lua", or a case's whole name
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local check = require "check"

local NOT_CASES = {run = true, check = true, files = true, ctext = true, expressions = true, deep = true}
local wanted, files = arg[1], require "files"
for _, file in ipairs(files) do if file == wanted then files, wanted = {file}, nil break end end
local passed, failed = 0, 0
for _, file in ipairs(files) do
  assert(not NOT_CASES[file])
  local seen = {}
  require(file)(function(class, name, f)
    assert(not seen[name], "two cases of one name: " .. name)
    seen[name] = true
    if wanted and wanted ~= name then return end
    local ok, err = xpcall(f, function(e) return type(e) == "table" and e or debug.traceback(tostring(e), 2) end)
    if ok then passed = passed + 1 else failed = failed + 1 end
    print(("%s %s: %s"):format(ok and "ok" or "not ok", class, name))
    if not ok then print("  " .. tostring(err):gsub("\n", "\n  ")) end
  end, check)
end
print(("sound: %d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and passed > 0)
