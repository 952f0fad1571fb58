--- Asynchronous copies, as software pipelines have them: copies of tiles, one or more iterations ahead of their use, in serial code
--- and on a grid. The interpreter lets the elements arrive as late as the waits allow.
local nw = require "nestwright"
local filled = require("values").filled

return function(case, t)
  local function holds(s, outputs)
    local data = {}
    for n, input in ipairs(s:inputs()) do data[n] = filled(input.dtype, input:shape()) end
    local want = nw.evaluate(outputs, data)
    for _, lowered in ipairs {false, true} do
      local got = nw.interpret(s, data, {lowered = lowered})
      for o = 1, #want do t.same(t.list(got[o]), t.list(want[o]), lowered and "lowered" or "scheduled") end
    end
    if not s:reparses() then error "the text of the program does not parse to the same program" end
  end

  -- Copies a tensor, `ahead` iterations early.
  local function copied(s, tensor, scope, readers, at, ahead)
    local copy = t.accepted(s.cache_read, s, tensor, scope, readers, {at = at})
    if ahead > 0 then t.accepted(s.double_buffer, s, copy, ahead) end
    return copy
  end

  -- Binds the last loops of all blocks of a stage, also of those that run early.
  local function bind_copies(s, stage, tags)
    local name = stage.name
    for _, one in ipairs(s:stages()) do
      if one.name == name or one.name:sub(1, #name + 1) == name .. "." then
        local loops = s:loops(one.name)
        for n, tag in ipairs(tags) do t.accepted(s.bind, s, loops[#loops - #tags + n], tag) end
      end
    end
  end

  -- ---- sums of rows

  for _, scope in ipairs {"global", "shared"} do
    for _, n in ipairs {2, 3, 8} do
      for _, ahead in ipairs {0, 1, 2, 4} do
        for _, how in ipairs {"plain", "vector", "unrolled", "split", "parallel"} do
          case(("rows in %s, %d, %d ahead, %s"):format(scope, n, ahead, how), function()
            local A, k = nw.placeholder({2, n, 8}, "i32", "A"), nw.reduce_axis(8, "k")
            local S = nw.compute({2, n}, function(b, i) return nw.sum(A(b, i, k), k) end, "S")
            local s = nw.schedule(S)
            local copy = copied(s, A, scope, {S}, "i", ahead)
            t.accepted(s.async_copy, s, copy)
            local loops = s:loops(copy)
            if how == "vector" then t.accepted(s.vectorize, s, loops[#loops]) end
            if how == "unrolled" then t.accepted(s.unroll, s, "i") end
            if how == "split" then t.accepted(s.split, s, "i", 2) end
            if how == "parallel" then t.accepted(s.parallel, s, "b") end
            holds(s, {S})
          end)
        end
      end
    end
  end

  -- ---- products, as in CUTLASS and in TVM's software pipelines

  for _, size in ipairs {8, 9} do
    for ahead = 0, 3 do
      for _, first in ipairs {0, 1} do
        case(("a product on a grid, %d, %d and %d ahead"):format(size, ahead, ahead + first), function()
          local A, B, k = nw.placeholder({size, 16}, "i32", "A"), nw.placeholder({16, size}, "i32", "B"), nw.reduce_axis(16, "k")
          local C = nw.compute({size, size}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
          local s = nw.schedule(C)
          s:tile("i", "j", 4, 4)
          s:split("k", 4)
          s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
          local a = copied(s, A, "shared", {C}, "k_o", ahead + first)
          local b = copied(s, B, "shared", {C}, "k_o", ahead)
          t.accepted(s.bind, s, "i_o", "blockIdx.y")
          t.accepted(s.bind, s, "j_o", "blockIdx.x")
          for _, copy in ipairs {a, b} do bind_copies(s, copy, {"threadIdx.y", "threadIdx.x"}) end
          t.accepted(s.bind, s, "i_i", "threadIdx.y")
          t.accepted(s.bind, s, "j_i", "threadIdx.x")
          for _, copy in ipairs {a, b} do t.accepted(s.async_copy, s, copy) end
          holds(s, {C})
        end)
      end
    end
  end

  -- ---- stages that read a window of a copy

  for _, n in ipairs {3, 10} do
    for ahead = 0, 2 do
      case(("a window of a copy, %d rows, %d ahead"):format(n, ahead), function()
        local A = nw.placeholder({n + 2, 5}, "i32", "A")
        local Y = nw.compute({n, 5}, function(y, x) return A(y, x) + A(y + 1, x) * 2 + A(y + 2, x) end, "Y")
        local s = nw.schedule(Y)
        local y, x = table.unpack(s:loops(Y))
        local copy = copied(s, A, "shared", {Y}, y, 0)
        t.accepted(s.store_at, s, copy)
        t.accepted(s.async_copy, s, copy)
        if ahead > 0 then t.accepted(s.rolling_buffer, s, copy, {size = 2 + 2 * ahead}) end
        holds(s, {Y})
        t.accepted(s.split, s, x, 2)
        holds(s, {Y})
      end)
    end
  end

  case("a copy of a copy", function()
    local A = nw.placeholder({6, 8}, "i32", "A")
    local Y = nw.compute({6, 8}, function(i, j) return A(i, j) + 1 end, "Y")
    local s = nw.schedule(Y)
    local one = t.accepted(s.cache_read, s, A, "global", {Y}, {at = s:loops(Y)[1]})
    local two = t.accepted(s.cache_read, s, one, "shared", {Y}, {at = s:loops(Y)[1]})
    for _, copy in ipairs {one, two} do t.accepted(s.async_copy, s, copy) end
    holds(s, {Y})
  end)

  case("a whole copy before parallel threads", function()
    local A, k = nw.placeholder({6, 8}, "i32", "A"), nw.reduce_axis(8, "k")
    local S = nw.compute({6}, function(i) return nw.sum(A(i, k), k) end, "S")
    local s = nw.schedule(S)
    local copy = t.accepted(s.cache_read, s, A, "global", {S})
    t.accepted(s.async_copy, s, copy)
    t.accepted(s.parallel, s, "i")
    holds(s, {S})
  end)

  case("virtual threads that share a copy", function()
    local A, k = nw.placeholder({4, 12}, "i32", "A"), nw.reduce_axis(12, "k")
    local S = nw.compute({4}, function(i) return nw.sum(A(i, k), k) end, "S")
    local s = nw.schedule(S)
    s:split("k", 4)
    s:reorder("k_o", "i", "k_i")
    local copy = copied(s, A, "shared", {S}, "k_o", 1)
    t.accepted(s.async_copy, s, copy)
    bind_copies(s, copy, {"threadIdx.x"})
    t.accepted(s.bind, s, "i", "threadIdx.x")
    holds(s, {S})
  end)
end
