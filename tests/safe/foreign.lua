--- Files that are not what they seem, where a session reads them by itself or is given them: other users', links, FIFOs,
--- directories, files without end, damage. None is used that must not be, and none blocks the session or ends it.
--- usage: nestwright tests/safe/foreign.lua [quick]      quick: without notebooks, less damage; NW_FIGURES=FILE: figures
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
