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
end
