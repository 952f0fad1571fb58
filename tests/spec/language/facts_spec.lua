-- Tests facts about sizes, and expressions of sizes. An error must name the line of the invalid fact or expression.
local nw = require "nestwright"
local support = require "support"

local function doubled(min)
  local M = nw.size("M", {min = min or 0})
  local A = nw.placeholder({M}, "f32", "A")
  return nw.schedule(nw.compute({M}, function(i) return A(i) * 2 end, "C")), M
end

local function plain(text) return (text:gsub("%p", "%%%0")) end

-- Checks that the function `step` fails with the error text `message` and the hint `hint`, and leaves the schedule unchanged.
local function refused(message, hint, step)
  local s, M = doubled()
  local before = tostring(s)
  local e = support.fails(plain(message), "range", step, s, M)
  assert.equal(hint, e.hint)
  assert.equal(before, tostring(s))
end

describe("a division whose divisor can be zero, in an argument of a step,", function()
  local LEAST = 'first assume a lower bound: s:assume "M >= 1"'

  it("is refused in every argument that accepts an expression", function()
    refused("cut: at can divide by zero: 8 // M", LEAST, function(s) s:cut("i", "8 // M") end)
    refused("cut: at can divide by zero: 8 % M", LEAST, function(s) s:cut("i", {4, "4 + 8 % M"}) end)
    refused("cut: at can divide by zero: 8 // M", LEAST, function(s, M) s:cut("i", 8 // M) end)
    refused("partition: at can divide by zero: 8 // M", LEAST, function(s) s:partition("i", {at = {"8 // M", "M"}}) end)
    refused("shift: begin can divide by zero: 8 // M", LEAST, function(s) s:shift("i", "8 // M") end)
    refused("specialize: condition can divide by zero: 8 % M", LEAST, function(s) s:specialize "8 % M == 0" end)
    refused("assume: fact can divide by zero: 8 % M", LEAST, function(s) s:assume "8 % M == 0" end)
  end)

  it("is refused if the divisor is zero", function()
    for _, text in ipairs {"8 // 0", "M // 0", "M % 0"} do
      support.fails("cut: at can divide by zero: " .. plain(text), "range", function() doubled():cut("i", text) end)
      support.fails("shift: begin can divide by zero: " .. plain(text), "range", function() doubled():shift("i", text) end)
    end
    support.fails("assume: fact can divide by zero: M %% 0", "range", function() doubled():assume "M % 0 == 0" end)
    support.fails("specialize: condition can divide by zero", "range", function() doubled():specialize "M % 0 == 0" end)
  end)

  it("is refused if the divisor is a loop that begins at zero, and accepted if max keeps the divisor above zero", function()
    local s = doubled()
    s:split("i", 4)
    local e = support.fails("by zero: 8 // i_o", "range", s.cut, s, "i_i", "8 // i_o")
    assert.equal("divide by max(i_o, 1)", e.hint)
    local ok, other = pcall(s.cut, s, "i_i", "8 // max(i_o, 1)")
    assert.truthy(ok or not tostring(other):find("divide by zero", 1, true))
  end)

  it("is accepted if a size, a fact, an outer condition or a select excludes zero", function()
    local s = doubled(1)
    s:cut("i", "8 // M")
    s = doubled()
    s:assume "M >= 1"
    s:cut("i", "8 // M")
    assert.truthy(s:check())
    s = doubled()
    s:specialize "M >= 1"
    local _, e = pcall(s.cut, s, "then/i", "8 // M")
    assert.falsy(tostring(e):find("divide by zero", 1, true))
    s = doubled()
    s:assume "select(M >= 1, 8 % M, 0) == 0"
  end)

  it("is refused in a replay as well", function()
    local s = doubled(1)
    s:cut("i", "8 // M")
    local other = doubled()
    support.fails("cut: at can divide by zero: 8 // M", "range", other.replay, other, s:trace "json")
  end)
end)

describe("a fact", function()
  it("may use only whole numbers", function()
    local plainly = tostring((doubled()))
    local s, M = doubled()
    for _, fact in ipairs {"M >= 8.0", nw.ge(M, 8.0), "M * 1.0 == 8.0"} do
      local e = support.fails("assume: fact may use only whole numbers", "invalid", s.assume, s, fact)
      assert.equal("write 8, not 8.0", e.hint)
    end
    support.fails("specialize: condition may use only whole numbers", "invalid", s.specialize, s, "M >= 8.0")
    support.fails("a fact may use only whole numbers", "type", nw.fact, M, nw.ge(M, 8.0))
    assert.equal(plainly, tostring(s))
  end)

  it("must not divide by a value that can be zero, and neither must an extent", function()
    local M, N = nw.size("M", {min = 0}), nw.size "N"
    support.fails("in the fact, 8 %% M can divide by zero at M = 0", "range", nw.fact, M, nw.eq(8 % M, 0))
    support.fails("in dimension 0 of A, 8 // M can divide by zero at M = 0", "range", nw.placeholder, {8 // M})
    support.fails("in the extent of k, 8 // M can divide by zero at M = 0", "range", nw.reduce_axis, 8 // M, "k")
    nw.placeholder {8 // N}
    nw.placeholder {nw.select(nw.gt(M, 0), 8 // M, 0)}
    nw.fact(M, nw.ge(M, 1))
    nw.placeholder {8 // M}
  end)

  it("that contradicts another fact is refused, and the error names the other fact", function()
    local M = nw.size("M", {multiple = 8})
    nw.fact(M, nw.le(M, 64))
    support.fails("M %% 8 == 1 is never true: M %% 8 == 0 is known", "invalid", nw.fact, M, nw.eq(M % 8, 1))
    support.fails("64 < M is never true: M <= 64 is known", "invalid", nw.fact, M, nw.gt(M, 64))
    support.fails("M < 1 is never true: 1 <= M is known", "invalid", nw.fact, M, nw.lt(M, 1))
    local A = nw.placeholder({M}, "f32", "A")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) * 2 end, "C"))
    s:assume "M >= 16"
    for fact, known in pairs {["M % 8 == 1"] = "M % 8 == 0", ["M > 64"] = "M <= 64", ["M < 16"] = "16 <= M",
      ["M < 1"] = "1 <= M"} do
      support.fails(plain("it is never true: " .. known .. " is known"), nil, s.assume, s, fact)
    end
  end)

  it("can be a text with the name of a size", function()
    local K = nw.size "K"
    assert.equal(K, nw.fact(K, "K % 8 == 0"))
    support.fails("K %% 8 == 1 is never true: K %% 8 == 0 is known", "invalid", nw.fact, K, "K % 8 == 1")
    support.fails("a fact given as text may use only its own size; L is not K", "invalid", nw.fact, K, "L >= 8")
    support.fails('the fact "K %% " cannot be parsed', "invalid", nw.fact, K, "K % ")
    support.fails("a fact is a condition, not a value of type i64", "type", nw.fact, K, "K + 1")
    support.fails("a fact must be about a symbolic size", "invalid", nw.fact, K + 1, "K >= 1")
    local A = nw.placeholder({K}, "f32", "A")
    local f = nw.schedule(nw.compute({K}, function(i) return A(i) * 2 end, "C")):build()
    f(nw.random {16})
    support.fails("K %% 8 == 0 does not hold", nil, f, nw.random {9})
  end)
end)

describe("two sizes with one name", function()
  local M, other = nw.size "M", nw.size "M"
  local A, B = nw.placeholder({M}, "f32", "A"), nw.placeholder({other}, "f32", "B")

  it("cause an error that says so if a loop has one of them as its extent, and a tensor has the other", function()
    local e = support.fails("B%[i%] reads index 1 of dimension 0", "range", nw.compute, {M}, function(i)
      return A(i) + B(i)
    end, "C")
    assert.equal("two different sizes are named M: each call of nw.size makes a new size", e.hint)
    e = support.fails("A%[i %+ 1%] reads index", "range", nw.compute, {M}, function(i) return A(i + 1) end, "C")
    assert.truthy(e.hint:find("guard it", 1, true))
  end)

  it("are distinguished in facts of a schedule", function()
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) * 2 end, "C"))
    local e = support.fails("assume: fact uses a size that is not the program's: two different sizes are named M",
      "invalid", s.assume, s, nw.ge(other, 8))
    assert.truthy(e.hint:find("each call of nw.size makes a new size", 1, true))
    s:assume(nw.ge(M, 8))
  end)
end)
