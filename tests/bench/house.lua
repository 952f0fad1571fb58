--- Measures properties of the project as a whole, in several parts. NW_HOUSE_PARTS="rooms chains" selects some parts.
package.path = "tests/bench/?.lua;" .. package.path
require "nestwright"
local bench = require "_bench"

local out = bench.open(arg[1] or "build/bench/house.json")
for part in (os.getenv "NW_HOUSE_PARTS" or "rooms chains tries shared scrambled minutes"):gmatch "%a+" do
  require("house." .. part)(out)
end
out:close()
