--- Tests that every operation on every dtype becomes PTX for old and new GPUs, and that ptxas accepts it where it is installed.
local nw = require "nestwright"
local core = require "nestwright.core"
local ptxas = require "ptxas"

local INTEGERS = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}
local FLOATS = {"f16", "bf16", "f32", "f64"}

local FOR_ALL = {
  function(a, b) return a + b end,
  function(a, b) return a - b * a end,
  function(a, b) return nw.minimum(a, b) end,
  function(a, b) return nw.maximum(a, b) end,
  function(a) return -nw.abs(a) end,
  function(a, b) return nw.select(nw.all(nw.lt(a, b), nw.any(nw.le(a, 3), nw.not_(nw.eq(a, b)))), a, b) end,
}
local FOR_INTEGERS = {
  function(a, b) return nw.select(nw.ne(b, 0), a // b, a) end,
  function(a, b) return nw.select(nw.ne(b, 0), a % b, a) end,
  function(a) return a // 3 + a % 8 end,
  function(a, b) return (a & b) | (a ~ ~b) end,
  function(a, b) return (a << b) + (a >> b) end,
  function(a) return nw.popcount(a) end,
}
local FOR_FLOATS = {
  function(a, b) return a / b end,
  function(a, b) return nw.floor(a) + nw.ceil(b) * nw.round(a) end,
  function(a) return nw.sqrt(a) end,
  function(a) return nw.exp(a) + nw.log(a) + nw.tanh(a) end,
  function(a) return nw.ldexp(a, 3) end,
}

-- Returns a schedule with an output for each function, each computed by a kernel. In every second one, a thread computes four
-- elements as a vector.
local function all_of(dtype, functions, target)
  local A, B = nw.placeholder({256}, dtype, "A"), nw.placeholder({256}, dtype, "B")
  local outputs = {}
  for n, f in ipairs(functions) do outputs[n] = nw.compute({256}, function(i) return f(A(i), B(i)) end, "Y" .. n) end
  local s = nw.schedule(outputs, {target = target})
  for n, Y in ipairs(outputs) do
    local outer, inner = s:split(s:loops(Y)[1], 4)
    s:bind(outer, "threadIdx.x")
    if n % 2 == 0 then s:vectorize(inner) end
  end
  return s
end

local function text_of(s) return core.kernel_text(s:build(), "ptx") end

-- Returns a function that makes the PTX of a schedule for some GPUs, and a function that then lets ptxas assemble all texts.
local function texts()
  local batch = ptxas.batch()
  return function(s, gpus) batch:add(text_of(s), gpus) end, function() if ptxas.path() then batch:check() end end
end

local function joined(...)
  local out = {}
  for _, list in ipairs {...} do table.move(list, 1, #list, #out + 1, out) end
  return out
end

describe("operations in PTX", function()
  if not ptxas.path() then pending "ptxas is not installed: the texts are made, but not assembled" end

  it("are there for integers", function()
    local add, check = texts()
    for _, dtype in ipairs(INTEGERS) do
      add(all_of(dtype, joined(FOR_ALL, FOR_INTEGERS), "a100"), {"sm_80", "sm_90"})
      add(all_of(dtype, joined(FOR_ALL, FOR_INTEGERS), "titan_x"), {})
    end
    check()
  end)

  it("are there for floats", function()
    local add, check = texts()
    for _, dtype in ipairs(FLOATS) do
      add(all_of(dtype, joined(FOR_ALL, FOR_FLOATS), "a100"), {"sm_80", "sm_90"})
      add(all_of(dtype, joined(FOR_ALL, FOR_FLOATS), "t4"), {"sm_75"})
      add(all_of(dtype, joined(FOR_ALL, FOR_FLOATS), "titan_x"), {})
    end
    for _, dtype in ipairs(FLOATS) do
      add(all_of(dtype, {function(a) return nw.erf(a) end, function(a, b) return nw.pow(a, b) end}, "a100"), {"sm_80"})
    end
    check()
  end)

  it("convert between all dtypes", function()
    local add, check = texts()
    for _, from in ipairs(joined(INTEGERS, FLOATS)) do
      local functions = {}
      for n, to in ipairs(joined(INTEGERS, FLOATS)) do functions[n] = function(a) return nw.cast(a, to) end end
      add(all_of(from, functions, "a100"), {"sm_80"})
    end
    check()
  end)

  it("are never contracted or approximated", function()
    local functions = {function(a, b) return a * b + 1 end, function(a, b) return a / b end, function(a) return nw.sqrt(a) end}
    local text = text_of(all_of("f32", functions, "a100"))
    assert.falsy(text:find("%.approx") or text:find("%.ftz"))
    assert.truthy(text:find("div.rn.f32", 1, true) and text:find("sqrt.rn.f32", 1, true))
  end)
end)
