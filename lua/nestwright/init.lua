--- Front door of the library: `local nw = require "nestwright"`.
---@class nestwright
local nw = {}

local require = require "nestwright.own".require
local core = require "nestwright.core"

-- Whatever goes wrong is reported at the first line outside this directory.
core.set_library(debug.getinfo(1, "S").source:match "^@(.*[/\\])" or "nestwright/")

require "nestwright.errors"
local rows = require "nestwright.rows"

rows.adopt(nw, core, {
  "floordiv", "floormod", "abs", "lt", "le", "gt", "ge", "eq", "ne", "all", "any", "not_", "minimum", "maximum",
  "select", "cast", "floor", "ceil", "sqrt", "exp", "log", "tanh", "erf", "pow", "variable", "dtypes", "promote",
  "peak_flops", "peak_vs_ports", "core_hz", "judge_question", "version",
})
require "nestwright.language" (nw)
require "nestwright.data" (nw)
require "nestwright.schedule" (nw)
require "nestwright.kernel" (nw)
require "nestwright.times".install(nw)
require "nestwright.lessons" (nw)
require "nestwright.history" (nw)
require "nestwright.versions".install()
require "nestwright.intrinsic" (nw)
require "nestwright.xsmm".install(nw)
require "nestwright.memory" (nw)
require "nestwright.busy" (nw)
require "nestwright.roofs".install(nw)
require "nestwright.roofline".install(nw)
require "nestwright.machine".install(nw)
require "nestwright.cost".install(nw)
require "nestwright.partition".install(nw)
require "nestwright.calibration".install(nw)
require "nestwright.joules".install(nw)
require "nestwright.audit".install(nw)
require "nestwright.learn".install(nw)
require "nestwright.order" (nw)
require "nestwright.experiment" (nw)
require "nestwright.nest" (nw)
require "nestwright.display" (nw)
require "nestwright.beside" (nw)
require "nestwright.interact" (nw)
require "nestwright.help" (nw)

return nw
