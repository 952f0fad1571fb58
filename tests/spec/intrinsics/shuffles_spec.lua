--- Tests intrinsics that generated code makes from shuffles of vectors.
local nw = require "nestwright"
local rng = require "nestwright.measure.rng"
local support = require "support"
local fails = support.fails

-- Registers the transpose of a tile as shuffles.
local function transpose(name, rows, columns, dtype)
  local A = nw.placeholder({rows, columns}, dtype, "A")
  local B = nw.compute({columns, rows}, function(i, j) return A(j, i) end, "B")
  return nw.intrinsic {name = name, args = {A, B}, code = "shuffles"}
end

local function filled(shape, dtype, seed)
  local a = nw.zeros(shape, dtype)
  if dtype == "bool" then return a:fill_random(seed, 0, 1) end
  return a:fill_random(seed, dtype:find "^u" and 0 or -100, 100)
end

-- Checks that the interpreter and machine code of a schedule give the same result as the definition.
local function agrees(s, C, data)
  local want = nw.evaluate(C, {data})[1]
  for _, got in ipairs {nw.interpret(s, {data})[1], nw.interpret(s, {data}, {lowered = true})[1], (s:build {threads = 1}(data))} do
    for at = 1, want:count() do assert.equal(want:getflat(at), got:getflat(at)) end
  end
end

-- Returns the transpose of n x m elements in tiles that an intrinsic computes.
local function tiled(n, m, rows, columns, dtype, intrinsic, tail)
  local A = nw.placeholder({n, m}, dtype, "A")
  local C = nw.compute({m, n}, function(i, j) return A(j, i) end, "C")
  local s = nw.schedule(C)
  local i_o, i_i = s:split("i", {factor = columns, tail = tail})
  local j_o, j_i = s:split("j", rows)
  s:reorder(i_o, j_o, i_i, j_i)
  s:tensorize(i_i, intrinsic.name)
  return s, C
end

describe("shuffles", function()
  it("transpose tiles of every dtype", function()
    for _, dtype in ipairs {"bool", "i8", "u16", "f16", "bf16", "i32", "f32", "i64", "f64"} do
      local t = transpose("turn_" .. dtype, 8, 8, dtype)
      assert.is_true(t.jump_safe)
      local s, C = tiled(24, 16, 8, 8, dtype, t)
      agrees(s, C, filled({24, 16}, dtype, 3))
    end
  end)

  it("are instructions in the generated code, not calls", function()
    local t = transpose("turn", 8, 8, "f32")
    local s = tiled(16, 16, 8, 8, "f32", t)
    local llvm = tostring(s:show "llvm")
    assert.truthy(llvm:find("shufflevector", 1, true))
    assert.falsy(llvm:find("call void @nwi", 1, true))
    local c = tostring(s:show "c")
    assert.truthy(c:find("NW_SHUFFLE(nw_i32x", 1, true), c)
  end)

  it("transpose tiles that do not fit into the registers, in groups", function()
    for _, shape in ipairs {{16, 16}, {32, 8}, {4, 64}} do
      local t = transpose(("wide_%d_%d"):format(shape[1], shape[2]), shape[1], shape[2], "f32")
      local s, C = tiled(2 * shape[1], 3 * shape[2], shape[1], shape[2], "f32", t)
      agrees(s, C, filled({2 * shape[1], 3 * shape[2]}, "f32", 5))
    end
  end)

  it("work beside the iterations that a split leaves over", function()
    local t = transpose("turn_4", 4, 4, "f32")
    local s, C = tiled(16, 13, 4, 4, "f32", t, "cut")
    agrees(s, C, filled({16, 13}, "f32", 7))
  end)

  it("interleave and separate elements", function()
    local A = nw.placeholder({2, 16}, "i32", "A")
    local B = nw.compute({32}, function(x) return A(x % 2, x // 2) end, "B")
    -- as a nest with affine indices
    local P = nw.placeholder({2, 16}, "i32", "P")
    local Q = nw.compute({16, 2}, function(x, c) return P(c, x) end, "Q")
    nw.intrinsic {name = "zip", args = {P, Q}, code = "shuffles"}
    local s = nw.schedule(Q)
    s:tensorize("x", "zip")
    agrees(s, Q, filled({2, 16}, "i32", 2))
    fails("not affine", "invalid", nw.intrinsic, {name = "mod", args = {A, B}, code = "shuffles"})
  end)

  it("permute the axes of tiles of any number of dimensions", function()
    local r = rng.new(11)
    for number = 1, 12 do
      local dims, shape, order = r:int(2, 4), {}, {}
      for d = 1, dims do shape[d] = 1 << r:int(1, 3) end
      for d = 1, dims do table.insert(order, r:int(1, #order + 1), d) end
      local dtype = ({"f32", "i16", "f64", "u8"})[number % 4 + 1]
      local function permuted(name)
        local A, out = nw.placeholder(shape, dtype, "A"), {}
        for d = 1, dims do out[d] = shape[order[d]] end
        return A, nw.compute(out, function(...)
          local index, given = {}, {...}
          for d = 1, dims do index[order[d]] = given[d] end
          return A(table.unpack(index))
        end, name)
      end
      local A, B = permuted "B"
      local t = nw.intrinsic {name = "permute_" .. number, args = {A, B}, code = "shuffles"}
      local _, C = permuted "C"
      local s = nw.schedule(C)
      s:tensorize(s:loops()[1], t.name)
      agrees(s, C, filled(shape, dtype, number))
    end
  end)

  it("refuse what they cannot compute", function()
    local A = nw.placeholder({8, 8}, "f32", "A")
    local function refused(pattern, make, more)
      local spec = {name = "no", args = {A, make()}, code = "shuffles"}
      for key, value in pairs(more or {}) do spec[key] = value end
      fails(pattern, "invalid", nw.intrinsic, spec)
    end
    local function copy(f, shape) return function() return nw.compute(shape or {8, 8}, f, "B") end end
    refused("must be one element of the input", copy(function(i, j) return A(j, i) + 1 end))
    refused("expected 'shuffles'", copy(function(i, j) return A(j, i) end), {code = "loops"})
    refused("as C source, as a library, or as shuffles", copy(function(i, j) return A(j, i) end), {source = "void no() {}"})
    refused("contiguous", copy(function(i, j) return A(j, i) end), {strides = {B = {1, "any"}}})
    local Odd = nw.placeholder({6, 8}, "f32", "Odd")
    fails("not a power of two", "invalid", nw.intrinsic,
      {name = "odd", args = {Odd, nw.compute({8, 6}, function(i, j) return Odd(j, i) end, "B")}, code = "shuffles"})
  end)
end)
