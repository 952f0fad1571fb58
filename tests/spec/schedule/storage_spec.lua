--- Tests how results are stored: streaming stores, strides, layouts. Also tests prefetches.
local nw = require "nestwright"
local support = require "support"
local agrees, fails, two_stages = support.agrees_with, support.fails, support.two_stages

local function pointwise(n, dtype)
  dtype = dtype or "f32"
  local A, B = nw.placeholder({n}, dtype, "A"), nw.placeholder({n}, dtype, "B")
  local Z = nw.compute({n}, function(i) return (A(i) + 1) * (B(i) + 3) end, "Z")
  return nw.schedule(Z), Z
end

local function vectorized(n, lanes, dtype, tail)
  local s, Z = pointwise(n, dtype)
  local i_o, i_i = s:split("i", {factor = lanes, tail = tail or "guard"})
  s:vectorize(i_i)
  return s, Z, i_o
end

describe("stream_stores", function()
  it("makes non-temporal stores of all widths, and a fence", function()
    for _, case in ipairs {{"f32", 16}, {"f32", 8}, {"f32", 4}, {"f32", 32}, {"u16", 64}, {"u8", 16}, {"f64", 8}, {"i64", 2},
      {"f16", 32}, {"bf16", 16}, {"i32", 48}, {"i8", 128}} do
      local dtype, lanes = table.unpack(case)
      local s, Z, i_o = vectorized(768, lanes, dtype)
      s:stream_stores(Z)
      s:parallel(i_o)
      local asm = tostring(s:show "asm")
      assert.truthy(asm:find "movnt", dtype .. " x " .. lanes)
      assert.truthy(asm:find "sfence")
      assert.truthy(tostring(s:show "lowered"):find "stream Z%[ramp")
      agrees(s, {Z}, {768}, dtype)
    end
  end)

  it("is parsed and replayed, and notes if a cache could hold the result", function()
    local s, Z = vectorized(64, 16)
    s:stream_stores(Z)
    assert.truthy(s:notes():find "the cache has")
    assert.is_true(s:reparses())
    local again = pointwise(64)
    again:replay(s:trace "json")
    assert.equal(s:text(), again:text())
  end)

  it("does not change the tail", function()
    local s, Z = vectorized(100, 16, "f32", "cut")
    s:stream_stores(Z)
    local text = tostring(s)
    assert.equal(1, select(2, text:gsub("stream ", "")))
    agrees(s, {Z}, {100}, "f32")
  end)

  it("still applies to the tensor after cache_write moves the computation to a buffer", function()
    local s, Z, i_o = vectorized(128, 16)
    s:stream_stores(Z)
    s:cache_write(Z, "local", {at = i_o})
    assert.truthy(tostring(s):find "stream Z%[.-%] = Z_local")
    agrees(s, {Z}, {128}, "f32")
  end)

  it("accepts only symbolic sizes that keep vectors aligned", function()
    local function of(multiple)
      local M = nw.size("M", {min = 16, multiple = multiple})
      local A = nw.placeholder({4, M}, "f32", "A")
      local Z = nw.compute({4, M}, function(i, j) return A(i, j) * 2 end, "Z")
      local s = nw.schedule(Z)
      s:vectorize((select(2, s:split("j", {factor = 16, tail = "cut"}))))
      return s, Z
    end
    local s, Z = of(16)
    s:stream_stores(Z)
    s, Z = of(8)
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, Z)):find "multiple of 16 elements of Z")
  end)

  it("is refused if the processor has no such store", function()
    local s, Z = pointwise(64)
    local err = fails("cannot stream the stores of Z", "refused", s.stream_stores, s, Z)
    assert.truthy(tostring(err):find "they are scalar")
    assert.equal("structure", err.refusal.kind)
    s, Z = vectorized(100, 16) -- with a mask
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, Z)):find "may be masked off")
    s, Z = vectorized(96, 12)
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, Z)):find "16, 32 or a multiple of 64 bytes")
    local A = nw.placeholder({5, 20}, "f32", "A")
    local T = nw.compute({20, 5}, function(i, j) return A(j, i) end, "T")
    s = nw.schedule(T)
    s:vectorize((select(2, s:split("i", 4))))
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, T)):find "not adjacent in T")
    local B = nw.placeholder({8, 18}, "f32", "B")
    local R = nw.compute({8, 18}, function(i, j) return B(i, j) + 1 end, "R")
    s = nw.schedule(R)
    s:vectorize((select(2, s:split("j", {factor = 16, tail = "cut"}))))
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, R)):find "of its vectors begin at a multiple")
  end)

  it("is refused for stages that read themselves, and for local and shared memory", function()
    local s, C = support.gemm(16)
    s:reorder("k", "i", "j")
    s:vectorize "j"
    local err = fails("cannot stream", "refused", s.stream_stores, s, C)
    assert.truthy(tostring(err):find "reads the element it has just stored")
    s, C = support.gemm(16)
    local block = s:cache_write(C, "local", {at = "i"})
    s:vectorize "j"
    s:stream_stores(C)
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, block)):find "each update")
    agrees(s, {C}, {16, 16}, "f32", 1e-4)
    fails("its stores already stream", "refused", s.stream_stores, s, C)
    fails("expected a stage", "invalid", s.stream_stores, s, 4)
    fails("stage", "invalid", s.stream_stores, s)
    fails("nothing", nil, s.stream_stores, s, "nothing")
  end)

  it("causes later steps to be refused if they would make scalar stores", function()
    local A = nw.placeholder({32, 16}, "f32", "A")
    local X = nw.compute({32, 16}, function(i, j) return A(i, j) + 1 end, "X")
    local Y = nw.compute({32, 16}, function(i, j) return X(i, j) * 2 end, "Y")
    local s = nw.schedule(Y)
    s:vectorize(s:loops(X)[2])
    s:stream_stores(X)
    local err = fails("cannot compute X at", "refused", s.compute_at, s, X, s:loops(Y)[1])
    assert.truthy(tostring(err):find "X streams its stores, but they are scalar")
    agrees(s, {Y}, {32, 16}, "f32")
  end)
end)

-- ---- Layouts of a temporary

-- Returns the index of the store to the tensor, as the lowered program shows it.
local function strides_of(s, tensor)
  local text = tostring(s:show "lowered")
  return text:match("\n%s*" .. tensor .. "%[([^\n]-)%] =")
end

describe("storage_align", function()
  it("makes rows begin k*factor + offset elements apart", function()
    for _, case in ipairs {{16, 0, 32}, {16, 4, 20}, {8, 1, 25}, {1, 0, 20}, {64, 20, 20}, {20, 19, 39}} do
      local factor, offset, stride = table.unpack(case)
      local s, Y, P = two_stages(6, 20)
      s:storage_align(P, 0, factor, offset)
      assert.equal(("%d*i + j"):format(stride), strides_of(s, "P"))
      assert.is_true(s:reparses())
      agrees(s, {Y}, {6, 20}, "f32")
    end
  end)

  it("aligns each of three dimensions, also the innermost", function()
    local A = nw.placeholder({3, 5, 7}, "f32", "A")
    local P = nw.compute({3, 5, 7}, function(i, j, k) return A(i, j, k) * 2 end, "P")
    local Y = nw.compute({3, 5, 7}, function(i, j, k) return P(i, j, k) + 1 end, "Y")
    local s = nw.schedule(Y)
    s:storage_align(P, 1, 4, 1)
    s:storage_align(P, 0, 32)
    assert.equal("64*i + 9*j + k", strides_of(s, "P"))
    s:storage_align(P, 2, 2)
    s:storage_align(P, 0, 32, 2)
    assert.equal("98*i + 17*j + 2*k", strides_of(s, "P"))
    agrees(s, {Y}, {3, 5, 7}, "f32")
    local again = nw.schedule(Y)
    again:replay(s:trace "json")
    assert.equal(s:text(), again:text())
  end)

  it("accepts stages inside loops, on the stack, and of symbolic size", function()
    local s, Y, P = two_stages(8, 24)
    s:compute_at(P, s:loops(Y)[1])
    s:set_scope(P, "local")
    s:storage_align(P, 0, 32)
    agrees(s, {Y}, {8, 24}, "f32")
    local M = nw.size("M", {min = 1})
    s, Y, P = two_stages(5, M)
    s:storage_align(P, 0, 16, 3)
    agrees(s, {Y}, {5, 37}, "f32")
  end)

  it("counts the padding in the size of the storage", function()
    local s, _, P = two_stages(1024, 16)
    s:set_scope(P, "local")
    local err = fails("cannot align the strides of P", "refused", s.storage_align, s, P, 0, 4096)
    assert.equal("capacity", err.refusal.kind)
  end)

  it("refuses bad numbers, and tensors of the caller", function()
    local s, Y, P, A = two_stages(6, 20)
    local before = s:text()
    for _, bad in ipairs {{2, 16, 0}, {-1, 16, 0}, {0, 0, 0}, {0, -4, 0}, {0, 16, 16}, {0, 16, -1}, {0, 1 << 62, 0},
        {1 << 40, 4}} do
      fails("out of range", "range", s.storage_align, s, P, table.unpack(bad))
    end
    fails("whole number", "invalid", s.storage_align, s, P, 0, 1.5)
    fails("needs factor", "invalid", s.storage_align, s, P, 0)
    for _, t in ipairs {A, Y} do
      local err = fails("it is an .*put", "refused", s.storage_align, s, t, 0, 16)
      assert.truthy(tostring(err):find "the caller owns it")
      assert.truthy(#err.refusal.alternatives > 0)
    end
    assert.equal(before, s:text())
  end)
end)

describe("reorder_storage", function()
  it("permutes dimensions in memory, and can be reversed", function()
    local s, Y, P = two_stages(6, 20)
    local before = s:text()
    s:reorder_storage(P, {1, 0})
    assert.equal("6*j + i", strides_of(s, "P"))
    agrees(s, {Y}, {6, 20}, "f32")
    s:storage_align(P, 0, 8)
    assert.equal("8*j + i", strides_of(s, "P"))
    s:reorder_storage(P, {1, 0})
    agrees(s, {Y}, {6, 20}, "f32")
    local t, _, Q = two_stages(6, 20)
    t:reorder_storage(Q, {1, 0})
    t:reorder_storage(Q, {1, 0})
    assert.equal(before, t:text())
  end)

  it("permutes the dimensions of a layout", function()
    local s, Y, P = two_stages(6, 20)
    s:transform_layout(P, function(i, j) return j // 4, i, j % 4 end)
    s:reorder_storage(P, {1, 0, 2})
    agrees(s, {Y}, {6, 20}, "f32")
    assert.truthy(tostring(s):find("layout [_0, _1 // 4, _1 % 4] in [6, 5, 4]", 1, true))
  end)

  it("refuses invalid orders, and tensors of the caller", function()
    local s, Y, P = two_stages(6, 20)
    for _, bad in ipairs {{0}, {0, 0}, {0, 1, 2}, {1, 2}, {-1, 0}} do
      fails("not a permutation of the dimensions of P", "invalid", s.reorder_storage, s, P, bad)
    end
    fails("it is an output", "refused", s.reorder_storage, s, Y, {1, 0})
    fails("", "invalid", s.reorder_storage, s, P, {"i", "j"})
  end)
end)

describe("transform_layout", function()
  it("accepts any layout in which all elements have different places", function()
    local layouts = {
      function(i, j) return j, i end,
      function(i, j) return i // 2, j // 4, i % 2, j % 4 end,
      function(i, j) return i + j, j end, -- skewed
      function(i, j) return 20 * i + j end, -- one dimension
      function(i, j) return 7 - i, 19 - j end, -- backwards
      function(i, j) return i, (j + 4 * i) % 20 end, -- rotated rows
      function(i, j) return 2 * i, j end, -- with gaps
    }
    for _, layout in ipairs(layouts) do
      local s, Y, P = two_stages(8, 20)
      s:transform_layout(P, layout)
      assert.is_true(s:reparses())
      agrees(s, {Y}, {8, 20}, "f32")
      s:split("i_1", 4)
      s:compute_at(P, "i_1_o")
      agrees(s, {Y}, {8, 20}, "f32")
      local again = nw.schedule(Y)
      again:replay(s:trace "json")
      assert.equal(s:text(), again:text())
    end
  end)

  it("refuses a layout that stores two elements at one place, or an element outside of its extents", function()
    local s, _, P = two_stages(8, 20)
    local function refused(layout, why)
      local err = fails("cannot change the layout of P", "refused", s.transform_layout, s, P, layout)
      assert.truthy(tostring(err):find(why, 1, true), tostring(err))
    end
    refused(function(i, j) return i + j end, "overwrites it at")
    refused(function(i, j) return i // 2, j end, "overwrites it at")
    refused(function(i, j) return i, j % 19 end, "overwrites it at")
    refused(function(i, j) return j - i, i end, "outside its own extents")
    refused(function(i, j) return 1000 * i, j end, "would be spread over")
    for _, bad in ipairs {function(i, j) return i / 2, j end, function(i, j) return i * (1 << 40), j end} do
      fails("transform_layout: a layout must return integer expressions", "invalid", s.transform_layout, s, P, bad)
    end
    fails("_2", "invalid", s.transform_layout, s, P, function(i, j, k) return i, j, k end)
    s:storage_align(P, 0, 32)
    fails("its strides are already aligned", "refused", s.transform_layout, s, P, function(i, j) return j, i end)
  end)
end)

-- ---- Prefetches

local function prefetches(s) return select(2, tostring(s:show "lowered"):gsub("prefetch ", "")) end

describe("prefetch", function()
  it("notes if no iteration uses the data", function()
    local A = nw.placeholder({34, 8}, "f32", "A")
    local s = nw.schedule(nw.compute({34, 8}, function(i, j) return A(i, j) * 2 end, "Y"))
    s:prefetch(A, "i", 33)
    assert.equal("", s:notes())
    s:prefetch(A, "i", 1000)
    assert.equal("i has 34 iterations: no iteration is 1000 iterations after another", s:notes())
  end)

  it("prefetches each line once, and changes no value", function()
    for _, case in ipairs {{16, 1}, {32, 2}, {48, 3}, {20, 3}, {4, 1}} do -- columns, and lines in each row
      local s, Y, P, A = two_stages(6, case[1])
      s:prefetch(A, "i", 2)
      assert.equal(case[2] + (case[1] % 16 == 0 and 0 or case[1] > 16 and 0 or 1), prefetches(s))
      assert.is_true(s:reparses())
      agrees(s, {Y}, {6, case[1]}, "f32")
      s:prefetch(P, s:loops(Y)[1])
      agrees(s, {Y}, {6, case[1]}, "f32")
      assert.truthy(tostring(s:show "asm"):find "prefetcht0")
      assert.truthy(tostring(s:show "c"):find "__builtin_prefetch")
      local again = nw.schedule(Y)
      again:replay(s:trace "json")
      assert.equal(s:text(), again:text())
    end
  end)

  it("is kept if loops are split, and is copied with the loops that contain it", function()
    local s, Y, _, A = two_stages(10, 20)
    s:prefetch(A, "i", 3)
    s:split("i", {factor = 4, tail = "cut"})
    assert.equal(2, select(2, tostring(s):gsub("prefetch A", "")))
    s:unroll "i_i"
    s:parallel "i_o"
    agrees(s, {Y}, {10, 20}, "f32")
  end)

  it("accepts any layout, and symbolic sizes", function()
    local s, Y, P = two_stages(8, 24)
    s:prefetch(P, s:loops(Y)[1])
    s:reorder_storage(P, {1, 0})
    agrees(s, {Y}, {8, 24}, "f32")
    s:storage_align(P, 0, 16)
    agrees(s, {Y}, {8, 24}, "f32")
    local M = nw.size("M", {min = 1})
    local t, Z, _, A = two_stages(M, M)
    t:prefetch(A, "i", 4)
    t:prefetch(A, t:loops()[2])
    agrees(t, {Z}, {5, 5}, "f32")
  end)

  it("notes if it prefetches much data", function()
    local s, _, _, A = two_stages(6, 2048)
    s:prefetch(A, "i")
    assert.truthy(s:notes():find "128 cache lines in each iteration")
  end)

  it("is refused if it has no effect", function()
    local s, Y, P, A = two_stages(6, 16)
    local before = s:text()
    local mine = s:loops(Y)[1]
    assert.truthy(tostring(fails("does not use it", "refused", s.prefetch, s, A, mine)):find "cannot prefetch A in i_1")
    for _, offset in ipairs {0, -3, 1 << 50} do fails("offset = ", "range", s.prefetch, s, P, mine, offset) end
    fails("no tensor", nil, s.prefetch, s, "Q", mine)
    fails("expected a loop", "invalid", s.prefetch, s, P, 3)
    assert.equal(before, s:text())
    s:vectorize(s:loops(Y)[2])
    local err = fails("cannot prefetch P in j_1", "refused", s.prefetch, s, P, s:loops(Y)[2])
    assert.truthy(tostring(err):find "lanes of one vector")
    s:set_scope(P, "local")
    fails("on the stack", "refused", s.prefetch, s, P, mine)
  end)

  it("causes later steps to be refused if the prefetched data would no longer be used", function()
    local s, Y, _, A = two_stages(6, 16)
    s:prefetch(A, "i")
    local err = fails("cannot read A through", "refused", s.cache_read, s, A, "global")
    assert.truthy(tostring(err):find "which does not use it")
    fails("cannot inline P", "refused", s.compute_inline, s, "P") -- without P, the loop contains only the prefetch
    local t, _, P = two_stages(6, 16)
    t:prefetch(P, t:loops(P)[1])
    fails("cannot inline P: it is prefetched", "refused", t.compute_inline, t, P)
    agrees(s, {Y}, {6, 16}, "f32")
  end)
end)

describe("a buffer on the stack whose size is a size of the program", function()
  it("gets its maximum as its size", function()
    for _, extent in ipairs {5, nw.size "N"} do
      local M = nw.size "M"
      local A = nw.placeholder({M, extent}, "f32", "A")
      local X = nw.compute({M, extent}, function(i, j) return A(i, j) + 1 end, "X")
      local s = nw.schedule(X)
      s:assume "M <= 8"
      if extent ~= 5 then s:assume "N <= 5" end
      s:cache_write(X, "local")
      s:check()
      local f = s:build()
      for _, m in ipairs {1, 3, 8} do
        local a = nw.zeros({m, 5}, "f32")
        for i = 1, a:count() do a:setflat(i, i) end
        local x = f(a)
        for i = 1, a:count() do assert.equal(i + 1, x:getflat(i)) end
      end
    end
  end)
end)
