--- Class A12: runs C texts and exported libraries of random expressions under sanitizers. Fifty kernels are compiled as one file.
--- NW_SEED sets the seed: NW_SEED=7 nestwright tests/sound/run.lua texts
local nw = require "nestwright"
local ctext = require "ctext"
local expressions = require "expressions"
local values = require "values"

local SEED = tonumber(os.getenv "NW_SEED" or 1)

--- Returns a schedule with one output of 8 elements, f(i, inputs...), with its arguments and outputs. Each input is given by its
--- dtype and values.
local function computed(f, ...)
  local tensors, arguments = {}, {}
  for n, input in ipairs {...} do
    tensors[n] = nw.placeholder({#input.values}, input.dtype, "A" .. n)
    arguments[n] = nw.tensor(input.values, input.dtype)
  end
  local C = nw.compute({8}, function(i)
    local read = {}
    for n, t in ipairs(tensors) do read[n] = t(i) end
    return f(i, table.unpack(read))
  end, "C")
  return {schedule = nw.schedule(C), arguments = arguments, outputs = {C}}
end

local function integers(dtype)
  local most, least = values.ends(dtype)
  return {least, least + 1, 0, 1, most - 1, most, 3, 7}
end

return function(case, t)
  local function agree(cases, options)
    for _, c in ipairs(cases) do t.agree(c.schedule, c.outputs, c.arguments) end
    ctext.agree(cases, options)
  end

  for n, options in ipairs {{fence = "after", optimise = "-O2"}, {fence = "before", optimise = "-O0"}} do
    case("A12", ("fifty random expressions, with an inaccessible page %s each tensor"):format(options.fence), function()
      agree(expressions.draw(SEED + 1000 * n, 50), options)
    end)
  end
  case("A12", "random expressions in libraries, with unaligned tensors", function()
    ctext.agree(expressions.draw(SEED + 3000, 20), {library = true, fence = "after"})
  end)

  -- For an unsigned x, abs(x) is simplified to x. If x is a select, the text of the simplified operand needs parentheses.
  for _, dtype in ipairs {"u8", "u16", "u32", "u64"} do
    case("A12", "an operand that simplifies to one of its own operands" .. (dtype == "u16" and "" or ", " .. dtype), function()
      local function input() return {dtype = dtype, values = integers(dtype)} end
      agree {
        computed(function(_, x, y) return x * nw.abs(nw.select(nw.lt(x, y), y, x)) end, input(), input()),
        computed(function(_, x, y)
          return nw.abs(x + y) * nw.abs(x - y) - nw.abs(nw.select(nw.lt(x, 3), x, y))
        end, input(), input()),
        computed(function(_, x) return nw.select(nw.lt(nw.abs(nw.select(nw.lt(x, 5), x, 9)), 7), x, 1) end, input()),
      }
    end)
  end
  case("A12", "comparisons of numbers that wrap around, in vectors", function()
    local c = computed(function(i) return nw.select(nw.le(7, 3000000000 * i + math.mininteger), 1, 2) end)
    c.schedule:vectorize "i"
    agree {c}
  end)
  case("A12", "large numbers next to indices", function()
    agree {
      computed(function(i) return nw.cast(i * 3000000000, "i32") * 7 end),
      computed(function(i) return (i + (math.mininteger + 1)) // 2 - i * ((1 << 58) - 1) end),
      computed(function(i) return nw.cast(nw.cast(i, "i32"), "i64") * (1 << 62) + math.maxinteger end),
      computed(function(i) return nw.abs(nw.cast(nw.cast(i, "i8"), "i64") + math.mininteger) end),
    }
  end)
  case("A12", "a select inside an operation", function()
    local cases = {}
    for n, dtype in ipairs {"i32", "u32", "f64", "i8", "i64"} do
      cases[n] = computed(function(i, x)
        return nw.select(nw.lt(x, 3), x, 2) * nw.select(nw.lt(i, 4), 5, x) - nw.select(nw.lt(x, 1), 1, x)
      end, {dtype = dtype, values = {0, 1, 2, 3, 4, 5, 6, 7}})
    end
    agree(cases)
  end)
  case("A12", "quotients of every sign", function()
    local cases = {}
    for _, dtype in ipairs {"i8", "i16", "i32", "i64"} do
      for _, by in ipairs {2, -2, 7, -7, -1} do
        cases[#cases + 1] = computed(function(i, x) return x // by * 3 + x % by - (i - 4) // 3 + (i - 5) % 4 end,
          {dtype = dtype, values = {-128, -7, -2, -1, 0, 1, 6, 127}})
      end
    end
    agree(cases)
  end)
  case("A12", "signs and infinities", function()
    local cases = {}
    for _, dtype in ipairs {"f32", "f64", "f16", "bf16"} do
      local function input() return {dtype = dtype, values = {0.0, -0.0, 1 / 0, -1 / 0, 0 / 0, -1.5, 1e-8, 300.0}} end
      cases[#cases + 1] = computed(function(_, x) return x - -1.5 - (-x) - (0.5 - x) end, input())
      cases[#cases + 1] = computed(function(_, x) return nw.min(x, -1 / 0) - nw.max(-(-x), -0.0) * -2.0 end, input())
      cases[#cases + 1] = computed(function(_, x)
        return nw.select(nw.lt(x, -0.0), nw.cast(-1 / 0, dtype), nw.floor(x / -1.5) + x / -2.5)
      end, input())
    end
    agree(cases)
  end)
  case("A12", "comparisons of comparisons", function()
    local function input() return {dtype = "i32", values = {0, 1, 2, 3, -4, 5, 6, -7}} end
    agree {
      computed(function(i, x, y) return nw.select(nw.eq(nw.lt(x, y), nw.lt(i, 4)), x, y) end, input(),
        {dtype = "i32", values = integers "i32"}),
      computed(function(i, x, y)
        return nw.cast(nw.ne(nw.any(nw.lt(x, y), nw.all(nw.lt(i, 3), nw.not_(nw.eq(x, 2)))), nw.not_(nw.lt(y, i))), "i32")
      end, input(), input()),
      computed(function(_, x) return nw.cast(nw.cast(x, "bool"), "i32") - nw.cast(nw.not_(nw.cast(x, "bool")), "i32") end, input()),
    }
  end)

  -- The check itself must detect a wrong result.
  case("A12", "the check finds the kernel with a wrong result", function()
    local function plain()
      return computed(function(_, x) return x + 1 end, {dtype = "i32", values = {1, 2, 3, 4, 5, 6, 7, 8}})
    end
    local wrong, cases = nw.zeros({8}, "i32"), {plain(), plain(), plain()}
    cases[2].want, cases[2].name = {wrong}, "the wrong kernel"
    local failures, counts = ctext.check(cases)
    t.same(counts.kernels, 3)
    t.same(#failures, 1)
    t.same(failures[1].name, "the wrong kernel")
    assert(failures[1].what:find("output 1, element 0: got 2, want 0", 1, true), failures[1].what)
  end)
  for fence, how in pairs {after = "at the end of a page", none = "by red zones"} do
    case("A12", "the check finds a tensor that is too small, " .. how, function()
      local M = nw.size "M"
      local A = nw.placeholder({M}, "f32", "A")
      local C = nw.compute({M}, function(i) return A(M - 1 - i) end, "C")
      local s, a = nw.schedule(C), nw.zeros({8}, "f32")
      local wrong = {schedule = s, arguments = {a}, want = {a}, sizes = {M = 9}}
      local failures = ctext.check({wrong}, {fence = fence ~= "none" and fence or nil})
      t.same(#failures, 1)
    end)
  end
end
