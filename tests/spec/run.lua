--- Runs the specs inside nestwright, with busted as a library. The specs therefore run as a user's script does, with the same
--- search paths and interrupts.
--- usage: nestwright tests/spec/run.lua [options of busted] tests/spec
--- Golden files are compared with tests/golden. UPDATE_GOLDEN=1 rewrites them.
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.loaded["nestwright.script"] = nil -- the remarks of steps are not written
package.path = here .. "/?.lua;" .. package.path
require "busted.runner" {standalone = false}
