--- Puts unexpected files in place of the files that a session reads by itself, and of those that a user names: files of other
--- users, links, FIFOs, directories, endless files, damaged files. A file that must not be used is not used, and no file blocks or
--- ends the session.
--- usage: nestwright tests/safe/foreign.lua [quick]
--- quick: no notebooks, and fewer kinds of damage. NW_FIGURES=FILE: write the figures as JSON.
package.path = (arg[0]:match "^(.*)/[^/]*$" or ".") .. "/?.lua;" .. package.path
local sandbox = require "_sandbox"

local quick = arg[1] == "quick"
sandbox.quick = quick
local seed = tonumber(os.getenv "NW_SEED") or os.time() % 1000003
math.randomseed(seed)
print("seed " .. seed)
require "_foreign_cache"(quick and 2 or 60)
require "_foreign_state"(not quick)
require "_foreign_named"()
sandbox.finish("foreign", "foreign_cases", "foreign_used")
