--- Checks for the cases of tests/sound. A check that fails raises an error that says what is wrong.
local nw = require "nestwright"
local core = require "nestwright.core"
local check = {}

local function shown(x)
  if type(x) ~= "table" then return tostring(x) end
  local out = {}
  for i = 1, #x do out[i] = shown(x[i]) end
  return "{" .. table.concat(out, ", ") .. "}"
end

local function equal(x, y)
  if type(x) == "table" and type(y) == "table" then
    if #x ~= #y then return false end
    for i = 1, #x do if not equal(x[i], y[i]) then return false end end
    return true
  end
  if x ~= x then return y ~= y end
  return x == y and math.type(x) == math.type(y) and (x ~= 0 or 1 / x == 1 / y)
end

--- Returns the elements of an array, in the order of its indices.
function check.list(array)
  local out = {}
  for i = 1, array:count() do out[i] = array:getflat(i) end
  return out
end

--- Compares numbers, strings or lists of them. All NaNs are equal, and -0.0 differs from 0.0.
function check.same(got, want, what)
  if not equal(got, want) then error(("%sgot %s, want %s"):format(what and what .. ": " or "", shown(got), shown(want)), 2) end
end

--- Calls f(...), which must be accepted, and returns its results.
function check.accepted(f, ...)
  local out = table.pack(pcall(f, ...))
  if not out[1] then error("refused: " .. tostring(out[2]):gsub("\n.*", ""), 2) end
  return table.unpack(out, 2, out.n)
end

--- Calls f(...), which must raise an error of the library whose text matches the pattern. Returns the error.
function check.refused(pattern, f, ...)
  local ok, err = pcall(f, ...)
  if ok then error("was accepted", 2) end
  if type(err) ~= "table" then error("not an error of the library: " .. tostring(err), 2) end
  if err.code == "internal" then error("an internal fault: " .. tostring(err), 2) end
  if not tostring(err):find(pattern) then error("refused for another reason: " .. tostring(err), 2) end
  return err
end

local function compare(what, got, want)
  for n = 1, #want do check.same(check.list(got[n]), check.list(want[n]), ("%s, output %d"):format(what, n)) end
end

local function arrays(out) return type(out) == "table" and getmetatable(out) == nil and out or {out} end

--- Returns a copy in new memory, with the same strides.
function check.copy(array)
  if not array.contiguous then return core.array_strided(array:shape(), array.dtype, array:strides()):assign(array) end
  local new = nw.zeros(array:shape(), array.dtype)
  for i = 1, array:count() do new:setflat(i, array:getflat(i)) end
  return new
end

--- Calls f(). Meanwhile, every new tensor and temporary is next to an inaccessible page: directly before the page if where =
--- "after", and directly after it if where = "before". With "after", `align` is the alignment of the tensor. 0 means the largest
--- alignment that its size allows. Under an emulator (NW_EMULATED), no page is inaccessible, because QEMU executes masked loads of
--- AVX2 as full loads.
function check.fenced(where, align, f)
  core.fences(os.getenv "NW_EMULATED" and "off" or where, align)
  local out = table.pack(pcall(f))
  core.fences "off"
  if not out[1] then error(("%s, next to an inaccessible page (%s)"):format(out[2], where), 0) end
  return table.unpack(out, 2, out.n)
end

local function run_fenced(kernel, where, arguments, align)
  return check.fenced(where, align or 0, function()
    local own = {}
    for n, a in ipairs(arguments) do own[n] = check.copy(a) end
    return arrays(table.pack(kernel(table.unpack(own))))
  end)
end

--- Returns the inputs of a schedule in the shapes that its kernel takes.
function check.packed(s, arguments)
  local out = {}
  for n, t in ipairs(s:inputs()) do out[n] = s:pack(t.name, arguments[n]) end
  return out
end

--- Returns the outputs of a kernel in the shapes of the computation. `sizes` has the values of the symbolic sizes.
function check.unpacked(s, results, sizes)
  local out = {}
  for n, t in ipairs(s:outputs()) do out[n] = s:unpack(t.name, results[n], sizes) end
  return out
end

--- Compares the definition of the outputs (a list of tensors), the interpreted schedule, the interpreted lowered program, and
--- the compiled program. All must give the same bits for the arguments (a list of arrays). Returns the outputs as lists. Options:
---   threads  number of threads of the compiled program; by default 1
---   runs     how many times the compiled program is called with ordinary arrays; by default 1
---   align    the alignment for check.fenced, with which the compiled program is called too
---   sizes    values of symbolic sizes that the shapes of laid-out outputs do not determine
---   order    "free": the definition is not compared, because the schedule changes the order of a float reduction
function check.agree(s, outputs, arguments, options)
  options = options or {}
  local plain = arguments
  arguments = check.packed(s, plain)
  local scheduled = nw.interpret(s, arguments)
  if options.order ~= "free" then
    compare("the schedule", check.unpacked(s, scheduled, options.sizes), nw.evaluate(outputs, plain))
  end
  compare("the lowered program", nw.interpret(s, arguments, {lowered = true}), scheduled)
  local kernel = s:build {threads = options.threads or 1}
  for run = 1, options.runs or 1 do
    compare("the compiled program, run " .. run, arrays(table.pack(kernel(table.unpack(arguments)))), scheduled)
  end
  for _, where in ipairs {"after", "before"} do
    compare("with an inaccessible page " .. where .. " each array", run_fenced(kernel, where, arguments, options.align), scheduled)
  end
  local out = {}
  for n, array in ipairs(check.unpacked(s, scheduled, options.sizes)) do out[n] = check.list(array) end
  return out
end

--- Compares the scheduled and the lowered program with the definition of the outputs, for a program with a grid. The lowered
--- program is checked for races. The inputs are small whole numbers, so that sums of floats are exact. Then prints and parses the
--- program.
function check.on_grid(s, outputs)
  local data = {}
  for n, input in ipairs(s:inputs()) do data[n] = require("values").filled(input.dtype, input:shape()) end
  local want = nw.evaluate(outputs, data)
  for _, lowered in ipairs {false, true} do
    compare(lowered and "lowered" or "scheduled", nw.interpret(s, data, {lowered = lowered}), want)
  end
  if not os.getenv "NW_SCRAMBLE" and not s:reparses() then error "the text of the program does not parse to the same program" end
end

return check
