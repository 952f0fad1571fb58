--- This module is the entry point of the library: `local nw = require "nestwright"`.
---@class nestwright
local nw = {}

local require = require "nestwright.language.own".require
local core = require "nestwright.core"

-- Errors are reported at the first line outside this directory.
core.set_library(debug.getinfo(1, "S").source:match "^@(.*[/\\])" or "nestwright/")

require "nestwright.language.errors"
local rows = require "nestwright.language.rows"

rows.adopt(nw, core, {
  {topic = "expressions", names = core.operations()}, {topic = "expressions", names = {"frexp", "variable", "dtypes", "promote"}},
  {topic = "hardware", names = {"peak_flops", "peak_vs_ports", "core_hz"}},
  {topic = "refusals", names = {"judge_question"}}, {topic = "notebook", names = {"version"}},
})
require "nestwright.language.language" (nw)
require "nestwright.language.te" (nw)
require "nestwright.measure.data" (nw)
require "nestwright.language.schedule" (nw)
require "nestwright.measure.kernel" (nw)
require "nestwright.measure.compare" (nw)
require "nestwright.measure.times".install(nw)
require "nestwright.measure.simulate".install(nw)
require "nestwright.measure.requests".install(nw)
require "nestwright.cost.gpu_steps".install(nw)
require "nestwright.show.lessons" (nw)
require "nestwright.language.history" (nw)
require "nestwright.measure.versions".install()
require "nestwright.language.intrinsic" (nw)
require "nestwright.language.tensor_core".install(nw)
require "nestwright.language.accelerator".install(nw)
require "nestwright.measure.stream".install(nw)
require "nestwright.accelerate.conv2d".install(nw)
require "nestwright.partition.xsmm".install(nw)
require "nestwright.cost.memory" (nw)
require "nestwright.measure.busy" (nw)
require "nestwright.measure.loop_times".install()
require "nestwright.measure.roofs".install(nw)
require "nestwright.measure.shares".install()
require "nestwright.cost.roofline".install(nw)
require "nestwright.cost.machine".install(nw)
require "nestwright.cost.cost".install(nw)
require "nestwright.cost.gpu_pictures".install(nw)
require "nestwright.partition.partition".install(nw)
require "nestwright.measure.calibration".install(nw)
require "nestwright.measure.joules".install(nw)
require "nestwright.learn.audit".install(nw)
require "nestwright.learn.learn".install(nw)
require "nestwright.language.order" (nw)
require "nestwright.measure.experiment" (nw)
require "nestwright.cost.nest" (nw)
require "nestwright.show.display" (nw)
require "nestwright.show.beside" (nw)
require "nestwright.notebook.interact" (nw)
require "nestwright.show.help" (nw)

return setmetatable(nw, {__name = "nestwright", __tostring = function()
  return ("Nestwright %s: nw.help() lists what it offers"):format(core.version())
end})
