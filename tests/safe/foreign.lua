--- Puts other files in place of the files that a session reads: files of other users, links, FIFOs, directories, endless files,
--- damaged files. The session must not use a file that another user may have written, unless the user names the file. No file may
--- block or end the session.
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
