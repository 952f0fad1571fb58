--- Class S5: steps that once caused an internal fault, an abort or a crash. Also tests that the views of a schedule work after a
--- step whose legality was not checked.
local nw = require "nestwright"
local deep = require "deep"
local filled = require("values").filled

--- Calls f(...). Returns true if the step was accepted, and false if it was refused. Raises any other error.
local function tried(f, ...)
  local ok, err = pcall(f, ...)
  if not ok and (type(err) ~= "table" or err.code == "internal") then error(err, 0) end
  return ok, err
end

--- Makes every view of a schedule. If a view is not possible, the call must raise an error of the library.
local function looked_at(s)
  for _, view in ipairs {"nest", "lowered", "c", "llvm", "asm", "log"} do
    tried(function() return tostring(s:show(view)) end)
  end
  for _, method in ipairs {"cost", "explain", "check", "tree", "trace"} do
    if s[method] then tried(function() return tostring(s[method](s)) end) end
  end
  for _, loop in ipairs(s:loops()) do tried(function() return tostring(s:moves(loop)) end) end
end

--- Makes T = A + 1, n by m, and C = 2*T with the columns in reverse order.
local function two(dtype, n, m)
  local A = nw.placeholder({n, m}, dtype, "A")
  local T = nw.compute({n, m}, function(i, j) return A(i, j) + 1 end, "T")
  local C = nw.compute({n, m}, function(i, j) return T(i, m - 1 - j) * 2 end, "C")
  return nw.schedule(C), {C}, {filled(dtype, {n, m})}
end

-- Makes X[i], the sum over all k for which `cond` holds. The step trim removes the other iterations. If `more` is true, the output
-- is Y = X + 1.
local function triangle(cond, more)
  local M = nw.size("M", {min = 2})
  local A, k = nw.placeholder({12, M}, "i16", "A"), nw.reduce_axis(M, "k")
  local X = nw.compute({12}, function(i) return nw.sum(nw.select(cond(i, k), A(i, k), 0), k) end, "X")
  local out = more and nw.compute({12}, function(i) return X(i) + 1 end, "Y") or X
  local s = nw.schedule(out)
  s:decompose_reduction("X", "k")
  s:trim "k"
  return s, out
end

-- Makes X[i], the sum of A[i, k, l] over l <= k <= i.
local function pyramid()
  local A, k, l = nw.placeholder({9, 11, 7}, "i32", "A"), nw.reduce_axis(11, "k"), nw.reduce_axis(7, "l")
  local X = nw.compute({9}, function(i)
    return nw.sum(nw.select(nw.le(k, i), nw.select(nw.le(l, k), A(i, k, l), 0), 0), {k, l})
  end, "X")
  local s = nw.schedule(X)
  s:decompose_reduction("X", "i")
  s:trim "k"
  s:trim "l"
  return s, X
end

-- Makes X, which reads a window of T. A loop of X is split. The inner loop of the split begins at `begin`, and T is computed in
-- this loop.
local function window(begin)
  local A = nw.placeholder({5, 34}, "i32", "A")
  local T = nw.compute({5, 34}, function(i, j) return A(i, j) + 1 end, "T")
  local X = nw.compute({5, 32}, function(i, j) return T(i, j) + T(i, j + 2) end, "X")
  local s = nw.schedule(X)
  s:split("j_1", 8)
  s:shift("j_1_i", begin)
  s:compute_at("T", "j_1_i")
  return s, X
end

-- Makes X[i], the sum of A[i, k] over k, with a loop of one iteration that begins at `begin`.
local function unit(order, around, begin)
  local A, k = nw.placeholder({6, 8}, "i32", "A"), nw.reduce_axis(8, "k")
  local X = nw.compute({6}, function(i) return nw.sum(A(i, k), k) end, "X")
  local s = nw.schedule(X)
  if order == "split" then s:split("k", 4) end
  if order == "turned" then s:reorder("k", "i") end
  s:add_unit_loop(around)
  s:shift("u", begin)
  return s, X
end

return function(case, t)
  local function fault(name, f) case("S5", name, f) end

  -- Applies rfactor to several outputs, of one dtype and of different dtypes.
  for _, d in ipairs {{"i32", "i32"}, {"i32", "f64"}, {"f16", "i64"}, {"u8", "i8", "f32"}, {"bf16", "bf16", "u16", "i32"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64"}} do
    fault("rfactor of outputs of " .. table.concat(d, ", "), function()
      for _, combiner in ipairs {"sum", "max"} do
        local k, inputs, a = nw.reduce_axis(12, "k"), {}, {}
        for n, dtype in ipairs(d) do
          inputs[n] = nw.placeholder({3, 12}, dtype, "A" .. n)
          a[n] = filled(dtype, {3, 12})
        end
        local out = table.pack(nw.compute({3}, function(i)
          local r = {}
          for n in ipairs(d) do r[n] = nw[combiner](inputs[n](i, k), k) end
          return table.unpack(r)
        end, "C"))
        local s = nw.schedule(table.unpack(out))
        s:split("k", 5)
        t.accepted(s.rfactor, s, "C", "k_i")
        looked_at(s)
        t.agree(s, out, a)
      end
    end)
  end

  -- Applies rfactor to a sum whose terms use the axis as a number.
  for _, d in ipairs {{"i16", "i16"}, {"u8", "i16"}, {"i8", "i8"}, {"i32", "u8"}, {"i64", "i32"}, {"i16", "i64"}, {"f32", "i16"}} do
    fault(("rfactor of a sum of %s data and the axis, both cast to %s"):format(d[1], d[2]), function()
      for _, n in ipairs {1, 2, 8} do
        for _, loop in ipairs {"k", "k_i", "k_o"} do
          local A, k = nw.placeholder({8}, d[1], "A"), nw.reduce_axis(n, "k")
          local C = nw.compute({}, function() return nw.sum(nw.cast(A(0), d[2]) + nw.cast(k, d[2]), k) end, "C")
          local s = nw.schedule(C)
          if loop ~= "k" then s:split("k", 2) end
          tried(s.rfactor, s, "C", loop)
          t.agree(s, {C}, {filled(d[1], {8})})
        end
      end
    end)
  end

  -- Applies fission after cut, in a loop that computes a temporary.
  for _, d in ipairs {"f32", "i8", "u16"} do
    for _, piece in ipairs {"i_1.head", "i_1.rest"} do
      fault(("fission of %s that contains a temporary, %s"):format(piece, d), function()
        local s, out, a = two(d, 16, 12)
        s:compute_at("T", "i_1")
        s:cut("i_1", 7)
        for _, stage in ipairs(s:stages()) do tried(s.fission, s, piece, {after = stage}) end
        looked_at(s)
        t.agree(s, out, a)
      end)
    end
  end
  fault("fission of a loop in a piece, and of a whole loop that is then cut", function()
    for _, steps in ipairs {
      {{"cut", "i_1", {3, 9}}, {"fission", "i_1.2", {after = "T"}}, {"fission", "i_1.3", {after = "T.3"}}},
      {{"fission", "i_1", {after = "T"}}, {"cut", "i_1", 7}, {"fission", "i_1.head", {after = "C"}}},
      {{"split", "i_1", 5, {tail = "cut"}}, {"fission", "i_1_o", {after = "T"}}, {"fission", "i_1_i", {after = "T"}}},
    } do
      local s, out, a = two("i32", 16, 12)
      s:compute_at("T", "i_1")
      for _, step in ipairs(steps) do tried(s[step[1]], s, table.unpack(step, 2)) end
      looked_at(s)
      t.agree(s, out, a)
    end
  end)

  -- Applies store_at without a loop, after skew and other steps.
  for _, step in ipairs {{"skew", "j_1", "i_1", 1}, {"skew", "j_1", "i_1", -2}, {"shift", "i_1", 3}, {"reorder", "j_1", "i_1"}} do
    fault(("store_at without a loop, after %s (%s)"):format(step[1], step[4] or step[3]), function()
      local s, out, a = two("f32", 9, 7)
      tried(s.compute_at, s, "T", "j_1")
      tried(s[step[1]], s, table.unpack(step, 2))
      tried(s.store_at, s, "T")
      tried(s.store_at, s, "T", "i_1")
      looked_at(s)
      t.agree(s, out, a)
    end)
  end
  fault("store_at without a loop, for a window that was skewed", function()
    local A = nw.placeholder({12}, "i32", "A")
    local T = nw.compute({12}, function(i) return A(i) + 1 end, "T")
    local C = nw.compute({10, 2}, function(i, j) return T(i) + T(i + 2) * j end, "C")
    local s = nw.schedule(C)
    s:compute_at("T", "i_1")
    tried(s.skew, s, "j", "i_1", 1)
    tried(s.store_at, s, "T")
    looked_at(s)
    t.agree(s, {C}, {filled("i32", {12})})
  end)

  -- Applies compute_at after two rfactors, with a loop whose name occurs several times.
  for _, d in ipairs {"f32", "i64"} do
    fault("compute_at after two rfactors, " .. d, function()
      local A, k = nw.placeholder({6, 16}, d, "A"), nw.reduce_axis(16, "k")
      local C = nw.compute({6}, function(i) return nw.sum(A(i, k), k) end, "C")
      for _, stage in ipairs {"C_rf", "C_rf_rf"} do
        local s = nw.schedule(C)
        s:split("k", 4)
        t.accepted(s.rfactor, s, "C", "k_i")
        s:split("k_o", 2)
        t.accepted(s.rfactor, s, "C_rf", "k_o_i")
        for _, loop in ipairs(s:loops()) do tried(s.compute_at, s, stage, loop.name) end
        for _, name in ipairs {"i", "k", "k_i", "k_o", "i_1", "i_9"} do tried(s.compute_at, s, stage, name) end
        looked_at(s)
        t.agree(s, {C}, {filled(d, {6, 16})})
      end
    end)
  end

  -- Applies prefetch before or after a step whose legality was not checked.
  for _, order in ipairs {"before", "after"} do
    for _, of in ipairs {"A", "T"} do
      for _, at in ipairs {"i_1", "j_1"} do
        fault(("prefetch of %s at loop %s, made %s an unsafe compute_at"):format(of, at, order), function()
          for _, place in ipairs {"i_1", "j_1"} do
            local s = two("f32", 16, 12)
            if order == "before" then tried(s.prefetch, s, of, at, 2) end
            tried(s.unsafe, s, function() s:compute_at("T", place) end)
            if order == "after" then tried(s.unsafe, s, function() s:prefetch(of, at, 2) end) end
            looked_at(s)
          end
        end)
      end
    end
  end
  fault("an unsafe step that moves a stage away from its prefetch, and its storage outwards", function()
    local s = two("f32", 16, 12)
    s:prefetch("T", "i_1", 2)
    t.accepted(s.unsafe, s, function() s:compute_at("T", "i_1") end)
    looked_at(s)
  end)
  fault("an unsafe prefetch in the lanes of a vector", function()
    local s = two("f32", 16, 8)
    s:vectorize "j_1"
    t.refused("iterations are lanes", s.unsafe, s, function() s:prefetch("A", "j", 1) s:prefetch("T", "j_1", 2) end)
    looked_at(s)
  end)

  -- Computes cost and misses of programs whose legality was not checked.
  for _, l in ipairs {
    {"a shifted tail of a loop that is too short", function(s) s:split("i_1", {factors = {5, 64}, tail = "shift"}) end},
    {"tiles that begin before their loops", function(s) s:tile("i_1", "j_1", 40, 80, {tail = "shift"}) end},
    {"a shifted tail around a stage", function(s)
      s:compute_at("T", "i_1")
      s:split("j_1", 64, {tail = "shift"})
    end},
  } do
    fault("the cost of " .. l[1], function()
      local s = two("f32", 16, 12)
      s:unsafe(function() l[2](s) end)
      t.refused("all accesses stay inside their buffers", s.build, s)
      t.refused("all accesses stay inside their buffers", s.cost, s)
      t.refused("all accesses stay inside their buffers", nw.misses, s)
      looked_at(s)
    end)
  end

  -- Makes two versions of a reduction loop, inside one loop over the output.
  fault("cache_write of pieces that differ along the reduction", function()
    local M = nw.size "M"
    local A, k = nw.placeholder({4, M}, "i32", "A"), nw.reduce_axis(M, "k")
    local C = nw.compute({4}, function(i) return nw.sum(A(i, k), k) end, "C")
    for _, at in ipairs {"", "i", "then/k"} do
      local s = nw.schedule(C)
      s:specialize("M % 4 == 0", "k")
      tried(s.cache_write, s, "C", "global", at ~= "" and {at = at} or nil)
      for _, n in ipairs {3, 8} do t.agree(s, {C}, {filled("i32", {4, n})}) end
    end
  end)

  fault("a fused reduction that is empty for some sizes", function()
    for _, which in ipairs {"sum", "min"} do
      local N = nw.size("N", {min = 0})
      local A = nw.placeholder({5, N}, "i32", "A")
      local k, p = nw.reduce_axis(5, "k"), nw.reduce_axis(N, "p")
      local C = nw.compute({}, function() return nw[which](A(k, p), {k, p}) end, "C")
      local s = nw.schedule(C)
      t.accepted(s.fuse, s, "k", "p")
      for n = 0, 2 do t.agree(s, {C}, {filled("i32", {5, n})}) end
    end
  end)

  -- Tests loops whose bounds use another loop.
  local function agree_on_all_sizes(s, out)
    for _, n in ipairs {2, 3, 9, 13} do t.agree(s, {out}, {filled("i16", {12, n})}) end
  end
  for _, shape in ipairs {
    {"k >= 1 and k <= i", function(i, k) return nw.all(nw.ge(k, 1), nw.le(k, i)) end},
    {"k <= i", function(i, k) return nw.le(k, i) end},
    {"i + k < 9", function(i, k) return nw.lt(i + k, 9) end},
    {"2*k <= i", function(i, k) return nw.le(2 * k, i) end},
  } do
    local name, cond = table.unpack(shape)
    for _, factors in ipairs {{1, 8}, {4, 3}, {5, 1}} do
      fault(("tiles of %d by %d of the triangle %s, with cut tails"):format(factors[1], factors[2], name), function()
        local s, out = triangle(cond)
        s:fission("i", {after = "X_init"})
        tried(s.tile, s, {"i.after", "k"}, factors, {tail = "cut"})
        looked_at(s)
        agree_on_all_sizes(s, out)
      end)
    end
  end
  fault("tiles of a triangle with cut tails, whose pieces are tiled again", function()
    local s, out = triangle(function(i, k) return nw.le(k, i) end, true)
    s:fission("i", {after = "X_init"})
    t.accepted(s.tile, s, {"i.after", "k"}, {4, 3}, {tail = "cut"})
    for _, loop in ipairs(s:loops()) do tried(s.split, s, loop.name, 2, {tail = "cut"}) end
    looked_at(s)
    agree_on_all_sizes(s, out)
  end)
  for _, tile in ipairs {
    {{"i", "k"}, {4, 3}}, {{"k", "l"}, {4, 4}}, {{"i", "k", "l"}, {2, 3, 3}}, {{"i", "k", "l"}, {1, 5, 2}},
    {{"i", "k", "l"}, {3, 1, 4}},
  } do
    fault(("a pyramid tiled along %s by %s"):format(table.concat(tile[1], ", "), table.concat(tile[2], ", ")), function()
      local s, out = pyramid()
      t.accepted(s.tile, s, tile[1], tile[2], {tail = "cut"})
      looked_at(s)
      t.agree(s, {out}, {filled("i32", {9, 11, 7})})
    end)
  end
  for _, begin in ipairs {"8*j_1_o", "j_1_o", "i_1 - j_1_o"} do
    for _, at in ipairs {"", "i_1", "j_1_o"} do
      fault(("store_at(%s) of a window in a loop that begins at %s"):format(at, begin), function()
        local s, out = window(begin)
        t.accepted(s.store_at, s, "T", at ~= "" and at or nil)
        looked_at(s)
        t.agree(s, {out}, {filled("i32", {5, 34})})
      end)
    end
  end
  for _, order in ipairs {"plain", "turned", "split"} do
    fault("rfactor with another loop whose bounds depend on the reduction, " .. order, function()
      local k = order == "split" and "k_o" or "k"
      local s, out = unit(order, order == "turned" and "i" or "X", k)
      local err = t.refused("the bounds of u depend on " .. k, s.rfactor, s, "X", order == "split" and "k_i" or "k")
      assert(err.code == "refused", err.code)
      local cached = unit(order, order == "turned" and "i" or "X", k)
      t.accepted(cached.cache_write, cached, "X", "local") -- the sum keeps its loops
      t.agree(cached, {out}, {filled("i32", {6, 8})})
      t.refused("the bounds of u depend on " .. k, s.decompose_reduction, s, "X", k)
      if order ~= "split" then t.refused("the bounds of u depend on k", s.fuse, s, "k", "u") end
      looked_at(s)
      t.agree(s, {out}, {filled("i32", {6, 8})})
    end)
  end

  -- In programs with many loops or stages, every step must be accepted or refused, without an internal fault.
  for _, program in ipairs(deep) do
    fault("many loops: " .. program.name, function()
      local accepted = 0
      program.run(function(f)
        local out = table.pack(tried(f))
        if not out[1] then return end
        accepted = accepted + 1
        return table.unpack(out, 2, out.n)
      end)
      assert(accepted > 0 or program.name:find "tails pad", "no step was accepted")
    end)
  end
end
