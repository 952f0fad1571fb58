--- Runs the specs with busted as a library inside our own program, so that the host, the paths and interrupts are those of a
--- user's script: nestwright tests/spec/run.lua [busted's options] tests/spec
--- Golden files are compared with tests/golden; UPDATE_GOLDEN=1 rewrites them.
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
require "busted.runner" {standalone = false}
