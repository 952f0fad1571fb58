--- Lists the kinds of text that Nestwright reads. kinds.prepare writes valid texts of each kind to files once, because some texts
--- take long to make. A kind has the fields
---   name    its name
---   share   how often it is drawn, in relation to the other kinds
---   ending  the ending of its files
---   use     use(text, path) reads a text and uses the result; it raises an error if the text is refused
local nw = require "nestwright"
local calibration = require "nestwright.measure.calibration"
local core = require "nestwright.core"
local json = require "nestwright.show.json"
local sample = require "nestwright.learn.sample"
local sampler = require "nestwright.learn.sampler"
local workloads = require "nestwright.measure.workloads"

local kinds = {list = {}}
local LEVELS = {{bytes = 2048, ways = 4}, {bytes = 16384, ways = 8}}
local SHAPES = {gemm = {12, 20, 9}, conv1d = {40, 5}, blur = {13, 18}, dense = {6, 9, 7}}

local function must(holds, what) if not holds then error("SAFE: " .. what, 0) end end
local function outputs(name) return {workloads.make("test", name, table.unpack(SHAPES[name]))} end
local function schedule(name) return nw.schedule(outputs(name)) end

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end
kinds.read = read

-- ---- The use of accepted texts

local function same_trace(s, name)
  local text = s:trace "json"
  must(schedule(name):replay(text):trace "json" == text, "replaying a trace gives another trace")
  must(s:reparses(), "parsing the text of a schedule does not give the same program")
end

local function look_at_schedule(s, name)
  same_trace(s, name)
  tostring(s)
  local way = math.random(4)
  if way == 1 then tostring(s:show "lowered") end
  if way == 2 then nw.accesses(s, {most = 20000}) end
  if way == 3 then s:cost {machine = "x86_server", conflicts = false, feed = "full"} end
  if way == 4 then s:undo() end
end

local function replay(text)
  local name = text:match "^%-%- (%w+)\n" or "gemm"
  local s = schedule(SHAPES[name] and name or "gemm")
  s:replay((text:gsub("^%-%- %w+\n", "")))
  look_at_schedule(s, SHAPES[name] and name or "gemm")
end

-- A trace in Lua is a program of the user, so its mistakes may cause errors of Lua. The program is stopped if it runs too long.
local function run_trace(text)
  local name = text:match "^%-%- (%w+)\n"
  name = SHAPES[name] and name or "gemm"
  local s, steps = schedule(name), 0
  local chunk, why = load(text, "=text", "t", setmetatable({s = s, nw = nw}, {__index = {ipairs = ipairs}}))
  if not chunk then error(why, 0) end
  debug.sethook(function()
    steps = steps + 1
    if steps > 100 then error("text: too many steps", 0) end
  end, "", 1000)
  local ok, err = pcall(chunk)
  debug.sethook()
  if not ok then error(err, 0) end
  look_at_schedule(s, name)
end

local function load_saved(_, path)
  local s = schedule "gemm"
  s:load(path)
  look_at_schedule(s, "gemm")
end

local function ask_nest(text)
  local n = nw.nest.parse(text)
  local printed = tostring(n)
  must(tostring(nw.nest.parse(printed)) == printed, "parsing the text of a nest does not give the same nest")
  n:params()
  n:arrays()
  local way = math.random(5)
  if way == 1 then n:accesses {most = 20000, levels = LEVELS} end
  if way == 2 then tostring(n:misses {levels = LEVELS, budget = 50000}) end
  if way == 3 then tostring(n:cost {machine = "x86_server", budget = 50000}) end
  if way == 4 then tostring(n:misses {levels = LEVELS, budget = 50000, exact = true}) end
  if way == 5 then for name in pairs(n:params()) do tostring(n:with {[name] = math.random(0, 9)}) end end
end

local function decode(text)
  local v = json.decode(text)
  local again = json.encode(v)
  if text:find "null" then return json.decode(again) end -- a list loses its nulls when it is encoded, so the texts may differ
  must(json.encode(json.decode(again)) == again, "decoding and encoding JSON changes it")
end

local TINY = [[
nest tiny
array A: f32[40, 40]
for i in 0..40:
  for j in 0..40:
    A[i, j] = A[j, i]*2
]]

local function use_machine(m)
  must(#m:fields() > 0, "a machine has no fields")
  tostring(m)
  m:text()
  if math.random(2) == 1 then tostring(nw.nest.parse(TINY):cost {machine = m, budget = 50000}) end
end

local function load_machine(_, path) use_machine(nw.machine(path)) end

local function load_calibration(_, path)
  local t = calibration.read(path) -- nil if the file cannot be used; a session then uses no calibration
  if t then use_machine(nw.machine(require "nestwright.hw.host".record(t))) end
end

local function load_sample(_, path)
  local m = sample.check(sample.load(path), outputs "gemm")
  sample.best(m)
  for _, entry in ipairs((sample.kept(m))) do look_at_schedule(sample.schedule(entry, outputs "gemm"), "gemm") end
end

local function run_sweep(path, format)
  local found = nw.sweep {params = {n = {1, 2}, how = {"a, b", "c"}}, [format] = path, run = function(p)
    return {x = p.n * 2, text = 'with "quotes", and more'}
  end}
  must(#found >= 4, "a sweep lacks points")
  tostring(found)
end

local function load_array(_, path)
  local a = nw.load(path)
  tostring(a)
  nw.save(a, path)
  must(nw.allclose(a, nw.load(path), {rtol = 0, atol = 0}), "loading a saved array gives other values")
end

-- Returns the checksum of a text, as the file of a learned model contains it.
local function sum_of(text)
  local h = -3750763034362895579
  for at = 1, #text do h = (h ~ text:byte(at)) * 1099511628211 end
  return ("%016x"):format(h)
end

local function saved_model(trees, objective)
  local names = {}
  for n, row in ipairs(nw.cost.features()) do names[n] = row.name end
  return json.encode {nestwright = core.version(), objective = objective, features = names, kernels = {"gemm"},
    held_out = {{kernel = "gemm", schedules = 80, analytic = 0.5, transfer = 0.25, with_64 = 0.75, analytic_64 = 0.5}},
    machine = "here", trees = trees, sum = sum_of(trees)}
end

local function use_model(path)
  local model, row = nw.cost.load(path), {}
  for n = 1, #nw.cost.features() do row[n] = n / 7 end
  for _, score in ipairs(core.learner_scores(model, {row, row}, {0, 1})) do
    must(math.type(score) == "float", "a score is not a number")
  end
  tostring(model)
  tostring(model:held_out())
end

local function load_model(_, path) use_model(path) end

-- Saves the changed trees with the checksum of the changed text, and loads them.
local function load_trees(text, path)
  write(path, saved_model(text, text:find "rank:pairwise" and "pairs" or "times"))
  use_model(path)
end

local function add(name, share, ending, use)
  kinds.list[#kinds.list + 1] = {name = name, share = share, ending = ending, use = use}
end

add("program", 24, "nw", function(text) core.program_text(text) end)
add("nest", 22, "nest", ask_nest)
add("trace", 14, "json", replay)
add("trace_lua", 7, "lua", run_trace)
add("saved", 4, "json", load_saved)
add("json", 12, "json", decode)
add("machine", 4, "lua", load_machine)
add("calibration", 2, "json", load_calibration)
add("sample", 2, "json", load_sample)
add("sweep_csv", 2, "csv", function(_, path) run_sweep(path, "csv") end)
add("sweep_json", 2, "json", function(_, path) run_sweep(path, "json") end)
add("array", 3, "npy", load_array)
add("model", 1, "json", load_model)
add("trees", 1, "json", load_trees)

-- ---- Valid texts

local function keep(folder, kind, n, text) write(("%s/%s.%d"):format(folder, kind, n), text) end

-- Makes the parameters of a nest small, so that counting misses takes little time.
local function small(text)
  local function least(n) return tonumber(n) > 12 and "12" or n end
  return (text:gsub("%f[%w]param[^\n]*", function(line) return (line:gsub("%d+", least)) end))
end

-- Copies the files that match the pattern. The copies are further texts of the kind, so they are numbered from n + 1 on.
local function copy_all(folder, kind, n, pattern, change)
  local pipe = assert(io.popen("ls " .. pattern))
  for path in pipe:lines() do
    n = n + 1
    keep(folder, kind, n, (change and change(read(path)) or read(path)))
  end
  pipe:close()
end

local function prepare_schedules(folder)
  local n, entries = 0, {}
  for _, name in ipairs {"blur", "conv1d", "dense", "gemm"} do
    local from = sampler.new(outputs(name), 11)
    for _ = 1, 8 do
      local s = from:next()
      n = n + 1
      keep(folder, "trace", n, ("-- %s\n%s"):format(name, s:trace "json"))
      keep(folder, "trace_lua", n, ("-- %s\n%s"):format(name, s:trace()))
      if name == "gemm" then
        s:save(("%s/saved.%d"):format(folder, #entries + 1))
        entries[#entries + 1] = {trace = s:trace "json", seconds = 0.001 * #entries + 0.001, rounds = 7}
      end
      keep(folder, "json", n, s:trace "json")
      keep(folder, "program", n, s:text())
    end
  end
  entries[#entries + 1] = {trace = entries[1].trace, refused = "it takes long"}
  keep(folder, "sample", 1, json.encode {nestwright = core.version(), kernel = "gemm", seed = 3, threads = 1, machine = "here",
    rounds = 7, computation = core.schedule_print(core.schedule(outputs "gemm"), 0), entries = entries})
  return n
end

local function prepare_arrays(folder)
  local n = 0
  for _, dtype in ipairs {"f32", "f64", "f16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"} do
    for _, shape in ipairs {{}, {5}, {3, 4}, {2, 3, 4}, {0, 3}} do
      n = n + 1
      nw.save(nw.zeros(shape, dtype), ("%s/array.%d"):format(folder, n))
    end
  end
  local head = "{'descr': '>f4', 'fortran_order': True, 'shape': (3, 4), }"
  head = head .. (" "):rep(117 - #head) .. "\n"
  keep(folder, "array", n + 1, "\x93NUMPY\1\0" .. string.pack("<I2", #head) .. head .. ("\63\128\0\0"):rep(12))
end

local function prepare_models(folder)
  local width, rows, labels, groups = #nw.cost.features(), {}, {}, {8, 8}
  for n = 1, 16 do
    rows[n], labels[n] = {}, n % 5 / 5
    for f = 1, width do rows[n][f] = n * f % 7 + 0.5 end
  end
  for n, squares in ipairs {true, false} do
    local o = {rounds = 6, depth = 3, forest = n, least = 0.5, squares = squares}
    local trees = core.learner_text(core.learn(rows, labels, groups, o, nil, nil))
    keep(folder, "trees", n, trees)
    keep(folder, "model", n, saved_model(trees, squares and "times" or "pairs"))
  end
end

local function prepare_results(folder)
  for n, format in ipairs {"csv", "json"} do
    local path = ("%s/result.%s"):format(folder, format)
    run_sweep(path, format)
    keep(folder, "sweep_" .. format, 1, read(path))
    keep(folder, "json", 100 + n, json.encode {text = read(path), list = {1, -2.5, true, {}}})
  end
end

--- Writes valid texts of every kind into a folder. `here` is the folder of this file.
function kinds.prepare(folder, here)
  local tests = here .. "/.."
  copy_all(folder, "nest", 0, ("%s/fuzz/corpus/nest/* %s/../tutorials/nests/*.nest"):format(tests, tests), small)
  for n, name in ipairs {"x86_server", "zen5", "neoverse_n1", "t4", "vta", "eyeriss"} do
    keep(folder, "machine", n, nw.machine(name):text())
  end
  local made = prepare_schedules(folder)
  copy_all(folder, "program", made, tests .. "/fuzz/corpus/parse/*")
  prepare_arrays(folder)
  prepare_models(folder)
  prepare_results(folder)
  local path = folder .. "/measured"
  calibration.write(path, calibration.measure())
  keep(folder, "calibration", 1, read(path))
end

return kinds
