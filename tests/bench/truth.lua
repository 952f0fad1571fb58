--- Measures whether times and verdicts can be trusted while other work runs. NW_TRUTH_PARTS="small" measures some parts only.
package.path = "tests/bench/?.lua;" .. package.path
require "nestwright"
local bench = require "_bench"
local load = require "_load"

local out = bench.open(arg[1] or "build/bench/truth.json")
local busy, stolen = load.wait(tonumber(os.getenv "NW_TRUTH_WAIT") or 600, require "nestwright.measure.times".cores())
print(("machine: %.2f cores busy with other work, %.1f %% stolen"):format(busy, 100 * stolen))
local parts = os.getenv "NW_TRUTH_PARTS" or "shown small busy loops shares calibration verdicts"
for part in parts:gmatch "%a+" do require("truth." .. part)(out) end
out:close()
