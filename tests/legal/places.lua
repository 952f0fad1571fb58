--- Steps that need storage to move outwards: a copy or a stage is placed where the storage of another stage does not reach.
local nw = require "nestwright"
local filled = require("values").filled

return function(case, t)
  -- Applies steps. Each is {name, arguments...}.
  local function apply(s, steps)
    for _, step in ipairs(steps) do t.accepted(s[step[1]], s, table.unpack(step, 2)) end
  end

  local function product(m, n, d, dtype)
    local A, B, k = nw.placeholder({m, d}, dtype, "A"), nw.placeholder({d, n}, dtype, "B"), nw.reduce_axis(d, "k")
    local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    return nw.schedule(C), {C}, {filled(dtype, {m, d}), filled(dtype, {d, n})}
  end

  local function chain(n, dtype, stages)
    local A = nw.placeholder({n, n}, dtype, "A")
    local last = A
    for k = 1, stages do
      local from = last
      last = nw.compute({n, n}, function(i, j) return from(i, j) + k end, string.char(string.byte "A" + k))
    end
    return nw.schedule(last), {last}, {filled(dtype, {n, n})}
  end

  local function stencil(n, dtype, stages)
    local A = nw.placeholder({n + 2 * stages, n + 2 * stages}, dtype, "A")
    local last = A
    for k = 1, stages do
      local from, m = last, n + 2 * (stages - k)
      last = nw.compute({m, m}, function(i, j) return from(i, j) + from(i + 2, j + 1) + from(i + 1, j + 2) end,
        string.char(string.byte "A" + k))
    end
    return nw.schedule(last), {last}, {filled(dtype, {n + 2 * stages, n + 2 * stages})}
  end

  -- cache_write, and then cache_read for the cached stage, which is the order of TVM's tutorials
  for _, shape in ipairs {{8, 8, 8}, {7, 9, 5}, {12, 16, 4}} do
    for _, tensor in ipairs {"A", "B"} do
      case(("cache_write, compute_at, cache_read of %s, %dx%dx%d"):format(tensor, table.unpack(shape)), function()
        local s, out, arguments = product(shape[1], shape[2], shape[3], "i32")
        apply(s, {{"cache_write", "C", "local"}, {"tile", "i", "j", 4, 4}, {"compute_at", "C_local", "j_o"},
          {"split", "k", 2}, {"reorder", "k_o", "i_1", "j_1", "k_i"}})
        apply(s, {{"cache_read", tensor, "shared", {"C_local"}}, {"compute_at", tensor .. "_shared", "k_o"}})
        t.agree(s, out, arguments)
      end)
    end
  end
  for _, loop in ipairs {"i", "j", "k"} do
    case("cache_read, and then compute_at its reader, " .. loop, function()
      local s, out, arguments = product(6, 10, 8, "i32")
      apply(s, {{"cache_read", "A", "global"}, {"compute_at", "A_global", loop}})
      t.agree(s, out, arguments)
    end)
  end
  -- The stage and its copy get new loops, of which one keeps its name.
  for _, at in ipairs {"i_o", "j_o", "i_i"} do
    for _, shape in ipairs {{3, 4}, {3, 12}, {10, 4}} do
      case(("compute_at of a stage in tiles of %dx%d with a copy at %s"):format(shape[1], shape[2], at), function()
        local s, out, arguments = chain(10, "i32", 2)
        apply(s, {{"tile", "i", "j", shape[1], shape[2]}, {"cache_read", "A", "local", {"B"}, {at = at}},
          {"compute_at", "B", "i_1"}})
        t.agree(s, out, arguments)
      end)
    end
  end
  for n = 1, 2 do
    case("cache_read of a stage, and then compute_at of the stage at the copy, loop " .. n, function()
      local s, out, arguments = stencil(6, "i32", 2)
      s:cache_read("B", "local")
      local loop = s["B_local"]:loops()[n]
      apply(s, {{"compute_at", "B", loop}})
      t.agree(s, out, arguments)
    end)
  end

  -- a copy whose reader is inlined afterwards
  for _, scope in ipairs {"global", "local"} do
    case("cache_read, and then compute_inline of the reader, " .. scope, function()
      local s, out, arguments = chain(6, "i32", 2)
      apply(s, {{"cache_read", "A", scope}, {"compute_at", "A_" .. scope, "i"}, {"compute_inline", "B"}})
      t.agree(s, out, arguments)
    end)
    case("cache_read, and then compute_inline of a stencil's reader, " .. scope, function()
      local s, out, arguments = stencil(5, "i32", 2)
      apply(s, {{"cache_read", "A", scope}, {"compute_at", "A_" .. scope, "j"}, {"compute_inline", "B"}})
      t.agree(s, out, arguments)
    end)
  end

  -- B placed in C, then C placed in D
  for _, outer in ipairs {"i", "j"} do
    for _, make in ipairs {chain, stencil} do
      for _, inner in ipairs {"i", "j"} do
        case(("a stage at %s of C, and then C at %s of D, %s"):format(inner, outer, make == chain and "chain" or "stencil"),
          function()
            local s, out, arguments = make(6, "i32", 3)
            apply(s, {{"compute_at", "B", s["C"]:loops()[inner == "i" and 1 or 2]},
              {"compute_at", "C", s["D"]:loops()[outer == "i" and 1 or 2]}})
            t.agree(s, out, arguments)
          end)
      end
    end
  end

  -- store_at of a consumer before its producer
  for _, which in ipairs {"B first", "C first"} do
    case("store_at of a chain, " .. which, function()
      local s, out, arguments = stencil(6, "i32", 3)
      local loops = s["D"]:loops()
      apply(s, {{"compute_at", "C", loops[2]}, {"compute_at", "B", loops[2]}})
      local order = which == "B first" and {"B", "C"} or {"C"}
      for _, stage in ipairs(order) do apply(s, {{"store_at", stage, loops[1]}}) end
      t.agree(s, out, arguments)
    end)
  end

  -- after tail = "cut", at the outer loop
  for _, n in ipairs {10, 13} do
    case(("a producer at the outer loop of a cut split, %d"):format(n), function()
      local s, out, arguments = stencil(n, "i32", 2)
      local loops = s["C"]:loops()
      t.accepted(s.split, s, loops[1], 4, {tail = "cut"})
      t.accepted(s.compute_at, s, "B", s["C"]:loops()[1])
      t.agree(s, out, arguments)
    end)
  end
  case("inline a stage that reads a tensor of six dimensions", function()
    local A = nw.placeholder({2, 2, 2, 2, 2, 2}, "f32", "A")
    local B = nw.compute({4}, function(i) return A(i // 2, i % 2, 0, 1, 0, 1) * 3 + A(0, 1, 0, 1, i % 2, i // 2) end, "B")
    local C = nw.compute({4}, function(i) return B(i) + 1 end, "C")
    local s = nw.schedule(C)
    t.accepted(s.compute_inline, s, "B")
    t.agree(s, {C}, {filled("f32", {2, 2, 2, 2, 2, 2})})
  end)

  -- ---- shared storage inside thread loops: the order of steps in TVM's tutorials for GPUs

  local function tiled(m, n, d, tile, dtype)
    local s, out = product(m, n, d, dtype or "f32")
    s:tile("i", "j", tile, tile)
    s:bind("i_o", "blockIdx.y")
    s:bind("j_o", "blockIdx.x")
    return s, out
  end

  local function threads(s, stage)
    local loops = s:loops(stage)
    s:bind(loops[#loops - 1], "threadIdx.y")
    s:bind(loops[#loops], "threadIdx.x")
  end

  -- Lets the threads share the work of a copy.
  local function share(s, copy, ty, tx)
    local loops = s:loops(copy)
    local all = s:fuse(loops[#loops - 1], loops[#loops])
    local _, rest = s:split(all, ty * tx)
    local y, x = s:split(rest, tx)
    t.accepted(s.bind, s, y, "threadIdx.y")
    t.accepted(s.bind, s, x, "threadIdx.x")
  end

  for _, shape in ipairs {{8, 8, 8}, {7, 9, 5}, {12, 16, 4}} do
    for _, how in ipairs {"at", "compute_at", "bound later"} do
      case(("shared copies inside thread loops, %s, %dx%dx%d"):format(how, table.unpack(shape)), function()
        local s, out = tiled(shape[1], shape[2], shape[3], 4)
        local k_o = s:split("k", 2)
        if how ~= "bound later" then apply(s, {{"bind", "i_i", "threadIdx.y"}, {"bind", "j_i", "threadIdx.x"}}) end
        for _, tensor in ipairs {"A", "B"} do
          local copy = t.accepted(s.cache_read, s, tensor, "shared", out, how ~= "compute_at" and {at = k_o} or nil)
          if how == "compute_at" then t.accepted(s.compute_at, s, copy, k_o) end
        end
        if how == "bound later" then apply(s, {{"bind", "i_i", "threadIdx.y"}, {"bind", "j_i", "threadIdx.x"}}) end
        t.on_grid(s, out)
        for _, tensor in ipairs {"A", "B"} do threads(s, tensor .. "_shared") end
        t.on_grid(s, out)
      end)
    end
    for _, init in ipairs {"inside", "of its own"} do
      case(("shared copies, sums in local storage, init %s, %dx%dx%d"):format(init, table.unpack(shape)), function()
        local s, out = tiled(shape[1], shape[2], shape[3], 4)
        local i, j = s:split("i_i", 2), s:split("j_i", 2)
        s:reorder(i, j, "i_i_i", "j_i_i")
        apply(s, {{"bind", i, "threadIdx.y"}, {"bind", j, "threadIdx.x"}})
        local sums = t.accepted(s.cache_write, s, "C", "local", {at = j})
        local loops = s:loops(sums)
        local k_o, k_i = s:split(loops[#loops], 2)
        s:reorder(k_o, k_i, loops[#loops - 2], loops[#loops - 1])
        if init ~= "inside" then s:decompose_reduction(sums, k_o) end
        for _, tensor in ipairs {"A", "B"} do
          local copy = t.accepted(s.cache_read, s, tensor, "shared", {sums})
          t.accepted(s.compute_at, s, copy, k_o)
          share(s, copy, 2, 2)
          local own = t.accepted(s.cache_read, s, copy, "local", {sums})
          t.accepted(s.compute_at, s, own, k_i)
        end
        t.on_grid(s, out)
      end)
    end
    case(("shared copies inside virtual threads, %dx%dx%d"):format(table.unpack(shape)), function()
      local s, out = tiled(shape[1], shape[2], shape[3], 4)
      local v, i = s:split("i_i", 2)
      local w, j = s:split("j_i", 2)
      local k_o = s:split("k", 2)
      s:reorder(v, w, i, j, k_o)
      apply(s, {{"bind", v, "vthread"}, {"bind", w, "vthread"}, {"bind", i, "threadIdx.y"}, {"bind", j, "threadIdx.x"}})
      for _, tensor in ipairs {"A", "B"} do
        share(s, t.accepted(s.cache_read, s, tensor, "shared", out, {at = k_o}), 2, 2)
      end
      t.on_grid(s, out)
    end)
    case(("a shared copy under a condition on the threads, %dx%dx%d"):format(table.unpack(shape)), function()
      local s, out = tiled(shape[1], shape[2], shape[3], 4)
      local k_o = s:split("k", 2)
      apply(s, {{"bind", "i_i", "threadIdx.y"}, {"bind", "j_i", "threadIdx.x"}, {"specialize", "i_i < 3", k_o}})
      local first = s:loops "C"
      t.accepted(s.cache_read, s, "B", "shared", {"C"}, {at = first[#first - 1]})
      t.on_grid(s, out)
    end)
    for _, loop in ipairs {"ty", "tx", "k"} do
      case(("results in shared storage, made at %s, %dx%dx%d"):format(loop, table.unpack(shape)), function()
        local s, out = tiled(shape[1], shape[2], shape[3], 4)
        apply(s, {{"bind", "i_i", "threadIdx.y"}, {"bind", "j_i", "threadIdx.x"}})
        if loop == "k" then
          local sums = t.accepted(s.cache_write, s, "C", "local", {at = "j_i"})
          local loops = s:loops(sums)
          local k_o = s:split(loops[#loops], 2)
          t.accepted(s.cache_read, s, "A", "shared", {sums}, {at = k_o})
          t.accepted(s.set_scope, s, sums, "shared")
        else
          local sums = t.accepted(s.cache_write, s, "C", "shared", {at = loop == "ty" and "i_i" or "j_i"})
          local loops = s:loops(sums)
          s:bind(loops[#loops - 2], "threadIdx.y")
          s:bind(loops[#loops - 1], "threadIdx.x")
        end
        t.on_grid(s, out)
      end)
    end
  end

  for _, how in ipairs {"set_scope first", "set_scope last"} do
    for n = 1, 2 do
      case(("a stage of a stencil in shared storage at thread loop %d, %s"):format(n, how), function()
        local s, out = stencil(9, "i32", 2)
        local loops = s["C"]:loops()
        apply(s, {{"bind", loops[1], "threadIdx.y"}, {"bind", loops[2], "threadIdx.x"}})
        local steps = {{"compute_at", "B", loops[n]}, {"set_scope", "B", "shared"}}
        if how == "set_scope first" then steps[1], steps[2] = steps[2], steps[1] end
        apply(s, steps)
        t.on_grid(s, out)
        threads(s, "B")
        t.on_grid(s, out)
      end)
    end
  end
  case("a stage of a stencil with its producer, in shared storage inside a thread loop", function()
    local s, out = stencil(7, "i32", 3)
    local loops = s["D"]:loops()
    apply(s, {{"compute_at", "B", s["C"]:loops()[1]}, {"set_scope", "C", "shared"}, {"bind", loops[1], "threadIdx.y"},
      {"bind", loops[2], "threadIdx.x"}, {"compute_at", "C", loops[2]}})
    t.on_grid(s, out)
  end)
  for _, width in ipairs {8, 32} do
    case(("a stage of a warp inside a loop of its threads, %d threads"):format(width), function()
      local A = nw.placeholder({2, width}, "i32", "A")
      local X = nw.compute({2, width}, function(y, x) return A(y, x) * 2 end, "X")
      local Y = nw.compute({2, width}, function(y, x) return X(y, x // 2 * 2 + (x + 1) % 2) + X(y, x) end, "Y")
      local s = nw.schedule(Y)
      local y, x = table.unpack(s:loops(Y))
      apply(s, {{"bind", y, "blockIdx.x"}, {"bind", x, "threadIdx.x"}, {"compute_at", X, x}, {"set_scope", X, "warp"}})
      t.on_grid(s, {Y})
      local loops = s:loops(X)
      t.accepted(s.bind, s, loops[#loops], "threadIdx.x")
      t.on_grid(s, {Y})
    end)
  end
  case("the largest number and its index in shared storage inside a thread loop", function()
    local A, k = nw.placeholder({6, 10}, "i32", "A"), nw.reduce_axis(10, "k")
    local V, I = nw.compute({6}, function(i) return nw.argmax(A(i, k), k) end, "V")
    local Y = nw.compute({6}, function(i) return V(i) + I(i) end, "Y")
    local s = nw.schedule(Y)
    local i = s:loops(Y)[1]
    apply(s, {{"bind", i, "threadIdx.x"}, {"compute_at", V, i}, {"set_scope", V, "shared"}, {"set_scope", I, "shared"}})
    t.on_grid(s, {Y})
  end)

  case("storage that thread loops cannot leave is refused", function()
    local A = nw.placeholder({8, 8}, "f32", "A")
    local L = nw.compute({8, 8}, function(i, j) return nw.select(nw.le(j, i), A(i, j), 0) end, "L")
    local s = nw.schedule(L)
    s:partition "j"
    s:bind("i", "threadIdx.x")
    t.refused("the bounds of j%.main depend on i", s.cache_read, s, A, "shared", {"L"}, {at = "j.main"})
  end)
  case("a shared stage that reads the storage of single threads is refused", function()
    local s = stencil(9, "i32", 3)
    local loop = s["D"]:loops()[2]
    apply(s, {{"bind", s["D"]:loops()[1], "threadIdx.y"}, {"bind", loop, "threadIdx.x"}, {"compute_at", "C", loop},
      {"compute_at", "B", loop}, {"set_scope", "B", "local"}})
    t.refused("stored once for all threads of a block", s.set_scope, s, "C", "shared")
  end)
end
