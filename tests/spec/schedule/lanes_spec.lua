--- Tests vectors whose number of lanes is not a power of two. They are computed in pieces, and must give the same results.
local nw = require "nestwright"
local core = require "nestwright.core"
local support = require "support"
local agrees = support.agrees

local WIDTHS = {3, 5, 7, 12, 15, 17, 20, 24, 31, 33, 40, 48, 56, 63, 100}
local TYPES = {"f32", "f64", "i32", "i8", "u16", "f16"}

-- Makes a product whose loop over k adds to a vector of `width` sums.
local function sums(width, dtype)
  local A, B = nw.placeholder({6, width}, dtype, "A"), nw.placeholder({6, width}, dtype, "B")
  local k = nw.reduce_axis(6, "k")
  local s = nw.schedule(nw.compute({width}, function(j) return nw.sum(A(k, j) * B(k, j), k) end, "C"))
  s:reorder("k", "j")
  s:vectorize "j"
  return s
end

-- Makes a stage that reads shifted and reversed elements, and zeros outside the array. The loads have masks. The stores have masks
-- if the split leaves a tail.
local function shifted(width, n, tail)
  local A = nw.placeholder({n}, "f32", "A")
  local s = nw.schedule(nw.compute({n}, function(i)
    return nw.select(nw.all(nw.ge(i, 3), nw.lt(i, n - 2)), A(i - 1) + A(n - 1 - i), 0)
  end, "B"))
  local _, lanes = s:split("i", width, {tail = tail})
  s:vectorize(lanes)
  return s
end

describe("vectors whose number of lanes is not a power of two", function()
  it("give the results of the interpreter and the definition", function()
    for n, width in ipairs(WIDTHS) do agrees(sums(width, TYPES[n % #TYPES + 1])) end
    for _, dtype in ipairs(TYPES) do agrees(sums(56, dtype)) end
  end)

  it("give the same results under masks", function()
    for _, width in ipairs(WIDTHS) do
      for _, tail in ipairs {"guard", "shift", "cut"} do agrees(shifted(width, 3 * width + 2, tail)) end
    end
  end)

  it("give the same results if elements are read at other positions before they are written", function()
    local A = nw.placeholder({130}, "f32", "A")
    local P = nw.compute({126}, function(i) return A(i) + A(i + 4) end, "P")
    local s = nw.schedule(nw.compute({120}, function(i) return P(i) * 2 + P(i + 6) end, "Q"))
    local o, i = s:split("i_1", 24)
    s:vectorize(i)
    s:compute_at("P", o)
    s:set_scope("P", "local")
    s:vectorize "i"
    agrees(s)
  end)

  -- The vector functions of exp and tanh exist only for certain widths.
  it("give the same results for math functions", function()
    for _, width in ipairs {3, 12, 20, 28, 56} do
      local A = nw.placeholder({width}, "f32", "A")
      local s = nw.schedule(nw.compute({width}, function(i) return nw.exp(A(i)) + nw.tanh(A(i)) end, "E"))
      s:vectorize "i"
      agrees(s)
    end
  end)

  it("stay in registers during loops, as their masks do: no code inserts single lanes", function()
    local A, K = nw.placeholder({4, 58, 56}, "f32", "A"), nw.placeholder({4, 3, 3}, "f32", "K")
    local dy, dx = nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
    local masked = nw.schedule(nw.compute({4, 56, 56}, function(c, y, x)
      local inside = nw.all(nw.ge(x + dx, 1), nw.le(x + dx, 56))
      return nw.sum(nw.select(inside, A(c, y + dy, x + dx - 1), 0) * K(c, dy, dx), {dy, dx})
    end, "D"))
    masked:reorder("y", "dx", "dy", "c", "x")
    masked:vectorize "x"
    agrees(masked)
    if nw.machine().vector_bytes < 32 then return nil end -- narrower vectors are handled in another way
    for _, s in ipairs {sums(56, "f32"), masked} do
      local asm = core.kernel_text(s:build(), "asm")
      local _, inserted = asm:gsub("insertps", "")
      local _, extracted = asm:gsub("pextrq", "")
      assert.equal(0, inserted + extracted)
    end
  end)
end)
