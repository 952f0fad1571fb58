--- Tests s:partition_auto for accelerators: pieces of whole tiles, what runs in the rest, and refusals.
local nw = require "nestwright"
local support = require "support"

local function copy_of(value)
  if type(value) ~= "table" then return value end
  local out = {}
  for k, v in pairs(value) do out[k] = copy_of(v) end
  return out
end

-- Returns an accelerator like VDLA after changes of its record.
local function changed(change)
  local m = copy_of(require "nestwright.hw.vdla")
  m.name, m.sources = "changed", nil
  change(m.accelerator.instructions)
  return nw.accelerator(m)
end

-- Returns a product of odd sizes in the layouts of an instruction with the form a,b->mn. tail: bias, shift and limits follow.
local function product(a, b, M, N, K, tail)
  local extent, k = {m = M, n = N, k = K}, nw.reduce_axis(K, "k")
  local function tensor(letters, name)
    return nw.placeholder({extent[letters:sub(1, 1)], extent[letters:sub(2, 2)]}, "i8", name)
  end
  local A, B = tensor(a, "A"), tensor(b, "B")
  local C = nw.compute({M, N}, function(i, j)
    local by = {m = i, n = j, k = k}
    local function at(T, letters) return nw.cast(T(by[letters:sub(1, 1)], by[letters:sub(2, 2)]), "i32") end
    return nw.sum(at(A, a) * at(B, b), k)
  end, "C")
  if not tail then return C end
  local bias = nw.placeholder({N}, "i32", "bias")
  local D = nw.compute({M, N}, function(i, j) return C(i, j) + bias(j) end, "D")
  return nw.compute({M, N}, function(i, j) return nw.cast(nw.clamp(D(i, j) >> 5, 0, 127), "i8") end, "E")
end

-- Returns the table for a computation, after comparing the results of every strategy with the definition.
local function parted(chip, C, options)
  local s = nw.schedule(C, {target = chip})
  local o = {target = chip, kernels = true}
  for k, v in pairs(options or {}) do o[k] = v end
  local list, given = s:partition_auto(o), {}
  for n, t in ipairs(s:inputs()) do given[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  local want = nw.evaluate(C, given)[1]
  assert.equal(0, s:version())
  for n, row in ipairs(list) do
    if not row.refused then
      list:take(n)
      local stream = s:stream()
      assert.same({}, stream:check())
      local run = stream:run {arguments = given}
      assert.is_true(nw.allclose(want, run.outputs[1]), row.strategy)
      assert.equal(row.cycles, run.cycles)
      assert.is_true(s:reparses())
    end
  end
  return list, s, given, want
end

local function row_of(list, strategy)
  for _, row in ipairs(list) do if row.strategy == strategy then return row end end
end

describe("partition_auto on an accelerator", function()
  it("tensorizes a product that no tile divides: padded, and with the rest on the ALU", function()
    local list, s, given, want = parted(nw.accelerator "vdla", product("km", "kn", 37, 20, 19))
    local pad, cut = row_of(list, "pad"), row_of(list, "cut")
    for _, piece in ipairs(pad.pieces) do assert.equal("gemm8x8", piece.runs) end
    assert.truthy(pad.pieces[#pad.pieces].why:find("the last tile along i has 5 of its 8 iterations", 1, true))
    local main, rest = cut.pieces[1], cut.pieces[2]
    assert.same({"main", "gemm8x8", "i 0..32, j 0..16, k 0..16"}, {main.kind, main.runs, main.ranges})
    assert.is_nil(main.why)
    assert.same({"rest", "alu", "i 0..32, j 0..16, k 16..19", "gemm8x8 needs 8 iterations along k, and 3 are left"},
      {rest.kind, rest.runs, rest.ranges, rest.why})
    local text = tostring(list)
    assert.truthy(text:find("rest i 32..37, j 16..20, k 0..19: alu, blocks of 5 x 4 x 19", 1, true), text)
    assert.is_true(nw.allclose(want, list:build(1)(table.unpack(given))))
    support.fails("the sizes of a schedule for an accelerator do not vary", "invalid", list.dispatch, list)
    assert.truthy(tostring(list:take(1)) and s:stream())
  end)

  it("computes bias, shift and limits after a product, and stores by the way that the machine has", function()
    local list = parted(nw.accelerator "vta", product("mk", "nk", 21, 50, 19, true), {tries = 2})
    assert.truthy(row_of(list, "pad") and row_of(list, "cut"))
    list = parted(nw.accelerator "vdla", product("km", "kn", 16, 24, 16, true), {tries = 2})
    assert.equal("whole", list[1].strategy)
    assert.equal("main", list[1].pieces[1].kind)
  end)

  it("uses each product of tiles that the machine has, in its dataflow", function()
    local list = parted(nw.accelerator "systolic", product("mk", "kn", 37, 50, 19), {tries = 2})
    local runs = {}
    for _, row in ipairs(list) do if not row.refused then runs[row.pieces[1].runs] = row.strategy end end
    assert.same({weight_stationary = "pad", output_stationary = "pad"}, runs)
    local cut = list[#list]
    assert.truthy(cut.refused:find("has neither smaller tiles nor an ALU", 1, true), cut.refused)
    assert.truthy(cut.hint:find("pad the arrays: with %d+ instead of"), cut.hint)
  end)

  it("uses smaller tiles for the rest, if the machine has some", function()
    local chip = changed(function(list)
      local small = copy_of(list[5])
      small.name, small.m, small.k, small.interval = "gemm1x8", 1, 1, 2
      table.insert(list, small)
    end)
    local cut = row_of(parted(chip, product("km", "kn", 20, 16, 19), {tries = 1}), "cut")
    local runs = {}
    for n, piece in ipairs(cut.pieces) do runs[n] = piece.runs end
    assert.same({"gemm8x8", "gemm1x8", "gemm1x8", "gemm1x8"}, runs)
  end)

  it("says how to pad if neither copies nor other instructions help", function()
    local chip = changed(function(list)
      list[1].pads = false
      table.remove(list)
    end)
    local s = nw.schedule(product("km", "kn", 20, 16, 19), {target = chip})
    local e = support.error_of(s.partition_auto, s, {target = chip, kernels = true})
    assert.equal("refused", e.code)
    assert.truthy(e.message:find("dma_copy2d of changed cannot fill the rest of a tile in inp with zeros", 1, true), e.message)
    assert.truthy(e.message:find("3 of the 19 iterations of k are no tile of gemm8x8", 1, true), e.message)
    assert.equal("pad the arrays with zeros: i to 24, k to 24", e.hint)
    assert.equal(0, s:version())
  end)

  it("tensorizes convolutions, with padded images and padded channels", function()
    local function conv(height, channels, filters, stride, pad)
      local A, W = nw.placeholder({height, height, channels}, "i8", "A"), nw.placeholder({3, 3, filters, channels}, "i8", "W")
      local size, P = (height + 2 * pad - 3) // stride + 1, A
      if pad > 0 then
        P = nw.compute({height + 2 * pad, height + 2 * pad, channels}, function(y, x, c)
          local inside = nw.all(nw.ge(y, pad), nw.lt(y, height + pad), nw.ge(x, pad), nw.lt(x, height + pad))
          return nw.select(inside, A(y - pad, x - pad, c), 0)
        end, "P")
      end
      local c, dy, dx = nw.reduce_axis(channels, "c"), nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
      local C = nw.compute({size, size, filters}, function(y, x, f)
        return nw.sum(nw.cast(P(y * stride + dy, x * stride + dx, c), "i32") * nw.cast(W(dy, dx, f, c), "i32"), {dy, dx, c})
      end, "C")
      return nw.compute({size, size, filters}, function(y, x, f) return nw.cast(nw.clamp(C(y, x, f) >> 6, 0, 127), "i8") end, "D")
    end
    local vta = nw.accelerator "vta"
    local list = parted(vta, conv(7, 20, 24, 1, 1), {tries = 2})
    assert.same({"pad", "gemm"}, {list[1].strategy, list[1].pieces[1].runs})
    assert.equal("whole", parted(vta, conv(9, 16, 16, 2, 0), {tries = 2})[1].strategy)
  end)

  it("runs operations on elements, and sums that are no products of tiles, on the ALU, in blocks that fit", function()
    local A, bias = nw.placeholder({600, 33}, "i32", "A"), nw.placeholder({33}, "i32", "bias")
    local E = nw.compute({600, 33}, function(i, j) return nw.max(A(i, j) + bias(j), 0) end, "E")
    local list = parted(nw.accelerator "vdla", E, {tries = 2})
    assert.same({"whole", "alu"}, {list[1].strategy, list[1].pieces[1].runs})
    local X, dy, dx = nw.placeholder({7, 9, 9}, "i8", "X"), nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
    local M = nw.compute({7, 4, 4}, function(c, y, x) return nw.max(X(c, 2 * y + dy, 2 * x + dx), {dy, dx}) end, "M")
    list = parted(nw.accelerator "vdla", M, {tries = 1})
    assert.truthy(tostring(list):find("M is not a sum of products of two elements", 1, true))
    local W = nw.placeholder({7, 3, 3}, "i8", "W")
    local D = nw.compute({7, 7, 7}, function(c, y, x)
      return nw.sum(nw.cast(X(c, y + dy, x + dx), "i32") * nw.cast(W(c, dy, dx), "i32"), {dy, dx})
    end, "D")
    list = parted(nw.accelerator "vta", D, {tries = 1})
    assert.truthy(tostring(list):find("no axis of D can be the k of gemm", 1, true), tostring(list))
  end)

  it("brings the patches of an image by copies, if a stage collects them (im2col)", function()
    local A, W = nw.placeholder({7, 7, 16}, "i8", "A"), nw.placeholder({3, 3, 16, 16}, "i8", "W")
    local X = nw.compute({5, 5, 3, 3, 16}, function(y, x, dy, dx, c) return A(y + dy, x + dx, c) end, "X")
    local c, dy, dx = nw.reduce_axis(16, "c"), nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
    local C = nw.compute({5, 5, 16}, function(y, x, f)
      return nw.sum(nw.cast(X(y, x, dy, dx, c), "i32") * nw.cast(W(dy, dx, f, c), "i32"), {dy, dx, c})
    end, "C")
    local D = nw.compute({5, 5, 16}, function(y, x, f) return nw.cast(nw.clamp(C(y, x, f) >> 6, 0, 127), "i8") end, "D")
    local list = parted(nw.accelerator "vta", D, {tries = 2})
    assert.same({"whole", "gemm"}, {list[1].strategy, list[1].pieces[1].runs})
  end)

  it("computes a depthwise convolution with bias, shift and limits on the ALU", function()
    local X, W = nw.placeholder({7, 9, 9}, "i8", "X"), nw.placeholder({7, 3, 3}, "i8", "W")
    local bias = nw.placeholder({7}, "i32", "bias")
    local dy, dx = nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
    local C = nw.compute({7, 7, 7}, function(c, y, x)
      return nw.sum(nw.cast(X(c, y + dy, x + dx), "i32") * nw.cast(W(c, dy, dx), "i32"), {dy, dx})
    end, "C")
    local D = nw.compute({7, 7, 7}, function(c, y, x)
      return nw.cast(nw.clamp((C(c, y, x) + bias(c)) >> 4, 0, 127), "i8")
    end, "D")
    for _, name in ipairs {"vta", "vdla"} do
      local list = parted(nw.accelerator(name), D, {tries = 1})
      assert.same({"whole", "alu"}, {list[1].strategy, list[1].pieces[1].runs})
    end
  end)

  it("must have options for an accelerator, and a schedule without steps", function()
    local vdla = nw.accelerator "vdla"
    local C = product("km", "kn", 16, 16, 16)
    local s = nw.schedule(C, {target = vdla})
    local function refused(why, options) support.fails(why, "invalid", s.partition_auto, s, options) end
    refused("the schedule is for vdla, not for vta", {target = "vta", kernels = true})
    refused("loop is not an option for an accelerator", {kernels = true, loop = "i"})
    refused("kernels: the instructions of an accelerator are chosen by themselves", {kernels = {}})
    support.fails("tries: expected a whole number from 1 to 1000, got 0", "range", s.partition_auto, s, {kernels = true, tries = 0})
    local h = nw.schedule(C)
    support.fails("true is for accelerators", "invalid", h.partition_auto, h, {kernels = true})
    support.fails("the schedule is for %w+, not for vdla", "invalid", h.partition_auto, h, {kernels = true, target = vdla})
    s:split("i", 8)
    refused("the schedule has steps", {kernels = true})
    local N = nw.size "N"
    local A = nw.placeholder({N}, "i32", "A")
    local t = nw.schedule(nw.compute({N}, function(i) return A(i) + 1 end, "B"), {target = vdla})
    support.fails("the extent of i is not a constant", "invalid", t.partition_auto, t, {kernels = true})
    local bare = changed(function(list) while #list > 0 do table.remove(list) end end)
    local u = nw.schedule(C, {target = bare})
    support.fails("the record of changed has no instructions", "invalid", u.partition_auto, u, {kernels = true})
  end)
end)
