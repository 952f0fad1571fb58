--- Makes the record of a GPU that this host simulates.
local errors = require "nestwright.language.errors"

local gpu = {}

local USUAL = "a100"

--- Returns the record of the simulation of a machine, as a table. `name` is the argument's name, for errors.
function gpu.of(machine, name)
  if machine.kind ~= "gpu" then
    errors.fail("invalid", 'nw.target("gpu", {machine = "a100"})', "%s: %s is not a GPU", name, machine.name)
  end
  return {name = "gpu", about = "a simulation of " .. machine.about, extends = machine, gpu = {simulates = machine.name},
    sources = {["gpu.simulates"] = "core/device/gpu simulates it"}}
end

--- Returns the record of the GPU that is simulated if the user names none.
function gpu.record() return gpu.of(require "nestwright.cost.machine".of(USUAL), "machine") end

--- Returns the record of a GPU like the simulated one, for which code is made.
function gpu.real(machine)
  return {name = machine.name, extends = machine, gpu = {simulates = ""}, sources = {["gpu.simulates"] = "code is made for it"}}
end

--- Returns the schedule, or if its GPU is simulated, a schedule for a GPU like it, for which code is made.
function gpu.real_schedule(s)
  local m = s.target.machine
  return m.kind == "gpu" and m.gpu.simulates ~= "" and s:retarget(gpu.real(m)) or s
end

--- Returns the name of the GPU whose numbers a record has: for a simulation, that of the simulated GPU.
function gpu.name(machine)
  local simulated = machine.kind == "gpu" and machine.gpu.simulates
  return simulated and simulated ~= "" and simulated or machine.name
end

return gpu
