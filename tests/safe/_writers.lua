--- Lists the kinds of file that Nestwright writes. Each kind has a script that writes a file of this kind. arg[1] of the script is
--- the path. arg[2] is "a" or "b" for one of two contents. The script then prints "written", or "failed" and the reason. If arg[2]
--- is "loop", the script writes the two contents in turn until it is killed.
local BEGIN = [[
package.loaded["nestwright.script"] = nil -- the remarks of steps are not written
local nw = require "nestwright"
local path, which = arg[1], arg[2]
local function schedule(factor)
  local A = nw.placeholder({64, 64}, "f32", "A")
  local s = nw.schedule(nw.compute({64, 64}, function(i, j) return A(j, i) + 1 end, "C"))
  for _ = 1, 6 do s:split("i", factor) s:undo() end
  s:split("i", factor)
  return s
end
local function points(first, last)
  local list = {}
  for n = first, last do list[#list + 1] = n end
  return list
end
]]

local END = [[
if which == "loop" then
  print "ready"
  io.stdout:flush()
  for round = 1, math.huge do write(path, round % 2 == 1 and "a" or "b", round) end
end
local ok, problem = pcall(write, path, which, 1)
print(ok and "written" or "failed: " .. tostring(problem):gsub("\n.*", ""))
]]

local SWEEP = [[
local function write(p, w, round)
  local list = which == "loop" and {round} or w == "a" and points(1, 40) or points(41, 80)
  nw.sweep {params = {n = list}, KIND = p, run = function(q) return {square = q.n ^ 2, text = ("x"):rep(50)} end}
end
]]

local PLOT = [[
local function write(p, w)
  local r = nw.sweep {params = {n = points(1, w == "a" and 8 or 9)}, run = function(q) return {time = q.n ^ 1.5} end}
  r:plot {x = "n", y = "time"}:save(p)
end
]]

local MADE_UP = [[
local core = require "nestwright.core"
local calibration = require "nestwright.measure.calibration"
local h = core.machine_host()
local function write(p, w)
  assert(calibration.write(p, {format = 1, when = "2026-01-02 03:04", figures = {clock = w == "a" and 3.25 or 3.5},
    cpu = h.cpu, model = h.model, cores = h.cores, vector_bytes = h.vector_bytes}))
end
]]

local MODEL = [[
local sampler, features = require "nestwright.learn.sampler", require "nestwright.learn.features"
local workloads = require "nestwright.measure.workloads"
local from, points = sampler.new({workloads.make("test", "blur", 12, 16)}, 1), {}
for n = 1, 6 do
  local s = from:next()
  local c = s:cost()
  points[n] = {schedule = s, cost = c, predicted = c.seconds, trace = s:trace(), features = features.of(s, c), measured = n}
end
local ok, model = pcall(nw.cost.train, {{kernel = "blur", points = points, measured_on = "here"}, held_out = false})
if not ok then print("absent: " .. tostring(model.message)) os.exit() end
local function write(p) model:save(p) end
]]

local SAMPLE = [[
local sample = require "nestwright.learn.sample"
local function write(p, w)
  local entries = {}
  for n = 1, 4000 do entries[n] = {trace = ("[%d]"):format(n), seconds = w == "a" and 0.25 or 0.5, rounds = 7} end
  sample.save({computation = "program", kernel = "gemm", threads = 1, seed = 3, machine = "one", entries = entries}, p)
end
]]

local function script(body) return BEGIN .. body .. "\n" .. END end

-- The kinds of file:
--   name, suffix, script
--   grows    true: the second content includes the first
--   gnuplot  true: gnuplot is needed
--   with     the suffix of a second file that is written together with the first
--   stream   true: the target may also be a device or a FIFO
--   own      true: the session itself writes the file, into its state folder
return {
  {name = "a schedule", suffix = ".json", stream = true, script = script [[
    local function write(p, w) schedule(w == "a" and 8 or 4):save(p) end]]},
  {name = "an array", suffix = ".npy", stream = true, script = script [[
    local arrays = {a = nw.zeros({1 << 18}, "f32"):fill(1), b = nw.zeros({1 << 18}, "f32"):fill(2)}
    local function write(p, w) arrays[w]:save(p) end]]},
  {name = "a sweep in CSV", suffix = ".csv", grows = true, script = script((SWEEP:gsub("KIND", "csv")))},
  {name = "a sweep in JSON", suffix = ".json", grows = true, script = script((SWEEP:gsub("KIND", "json")))},
  {name = "a sample", suffix = ".json", stream = true, script = script(SAMPLE)},
  {name = "a model", suffix = ".json", stream = true, script = script(MODEL)},
  {name = "a calibration", suffix = ".json", script = script(MADE_UP), own = true},
  {name = "a picture as SVG", suffix = ".svg", gnuplot = true, script = script(PLOT)},
  {name = "a picture as PNG", suffix = ".png", gnuplot = true, script = script(PLOT)},
  {name = "the data of a picture", suffix = ".csv", script = script(PLOT)},
  {name = "the script of a picture", suffix = ".gp", script = script(PLOT)},
  {name = "a library", suffix = ".so", with = ".h", script = script [[
    local kernels = {a = schedule(8):build(), b = schedule(4):build()}
    local function write(p, w) kernels[w]:export(p) end]]},
}
