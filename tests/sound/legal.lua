--- Legal, and once refused: every step is accepted and the results are those of the definition.
local nw = require "nestwright"

local function filled(dtype, shape, f)
  local a = nw.zeros(shape, dtype)
  for i = 1, a:count() do a:setflat(i, f and f(i) or (5 * i) % 7 + 1) end
  return a
end

return function(case, t)
  local function legal(name, f) case("legal", name, f) end

  -- rfactor of several outputs
  for _, dtype in ipairs {"f32", "f64", "i8", "i32", "i64", "u16"} do
    for _, combiner in ipairs {"sum", "min", "max"} do
      legal(("rfactor of two %ss of %s"):format(combiner, dtype), function()
        local A, k = nw.placeholder({3, 12}, dtype, "A"), nw.reduce_axis(12, "k")
        local C, D = nw.compute({3}, function(i) return nw[combiner](A(i, k), k), nw[combiner](A(2 - i, k) + 1, k) end, "C")
        local s = nw.schedule(C, D)
        s:split("k", 4)
        t.accepted(s.rfactor, s, "C", "k_i")
        t.agree(s, {C, D}, {filled(dtype, {3, 12})})
      end)
    end
    legal("rfactor of argmin with its value, " .. dtype, function()
      for _, which in ipairs {"argmin", "argmax"} do
        local A, k = nw.placeholder({3, 12}, dtype, "A"), nw.reduce_axis(12, "k")
        local C, D = nw.compute({3}, function(i) return nw[which](A(i, k), k) end, "C")
        local s = nw.schedule(C, D)
        s:split("k", 4)
        t.accepted(s.rfactor, s, "C.value", "k_o")
        t.agree(s, {C, D}, {filled(dtype, {3, 12})})
      end
    end)
    legal("shifted tails over " .. dtype, function()
      for _, which in ipairs {"min", "max", "argmin", "argmax"} do
        for _, n in ipairs {5, 13, 16} do
          local A, k = nw.placeholder({n}, dtype, "A"), nw.reduce_axis(n, "k")
          local out = table.pack(nw.compute({}, function() return nw[which](A(k), k) end, "C"))
          local s = nw.schedule(table.unpack(out))
          t.accepted(s.split, s, "k", 4, {tail = "shift"})
          t.agree(s, out, {filled(dtype, {n})})
        end
      end
    end)
    legal("rfactor of a sum without its axis, " .. dtype, function()
      local A, k = nw.placeholder({3}, dtype, "A"), nw.reduce_axis(8, "k")
      local C = nw.compute({3}, function(i) return nw.sum(A(i), k) end, "C")
      for _, loop in ipairs {"k_i", "k_o"} do
        local s = nw.schedule(C)
        s:split("k", 4)
        t.accepted(s.rfactor, s, "C", loop)
        t.agree(s, {C}, {filled(dtype, {3})})
      end
    end)
    legal("trim of two sums of " .. dtype, function()
      local A, k = nw.placeholder({8}, dtype, "A"), nw.reduce_axis(8, "k")
      local C, D = nw.compute({8}, function(i)
        return nw.sum(nw.select(nw.le(k, i), A(k), 0), k), nw.sum(nw.select(nw.le(k, i), A(7 - k), 0), k)
      end, "C")
      local s = nw.schedule(C, D)
      s:decompose_reduction("C", "i")
      t.accepted(s.trim, s, "k")
      t.agree(s, {C, D}, {filled(dtype, {8})})
    end)
  end
  legal("rfactor of outputs of two dtypes", function()
    local A, B, k = nw.placeholder({12}, "i32", "A"), nw.placeholder({12}, "f64", "B"), nw.reduce_axis(12, "k")
    local C, D = nw.compute({}, function() return nw.sum(A(k), k), nw.sum(B(k), k) end, "C")
    local s = nw.schedule(C, D)
    s:split("k", 4)
    t.accepted(s.rfactor, s, "C", "k_i")
    t.agree(s, {C, D}, {filled("i32", {12}), filled("f64", {12})})
  end)
  for n = 3, 7 do
    legal(("rfactor of %d outputs"):format(n), function()
      local A, k = nw.placeholder({12}, "i32", "A"), nw.reduce_axis(12, "k")
      local out = table.pack(nw.compute({}, function()
        local r = {}
        for i = 1, n do r[i] = nw.sum(A(k) * i, k) end
        return table.unpack(r)
      end, "C"))
      local s = nw.schedule(table.unpack(out))
      s:split("k", 4)
      t.accepted(s.rfactor, s, "C", "k_i")
      t.agree(s, out, {filled("i32", {12})})
    end)
  end
  legal("rfactor of a sum of 16 bits that ends where its loop does", function()
    local A, k = nw.placeholder({8}, "i16", "A"), nw.reduce_axis(8, "k")
    local C = nw.compute({}, function() return nw.sum(nw.cast(A(0), "i16") + nw.cast(k, "i16"), k) end, "C")
    local s = nw.schedule(C)
    t.accepted(s.rfactor, s, "C", "k")
    t.agree(s, {C}, {filled("i16", {8})})
  end)
  for _, narrow in ipairs {"i8", "i16", "i32", "u8", "u16", "u32"} do
    legal("a quotient by a widened " .. narrow .. " that is not 0", function()
      local B, D = nw.placeholder({8}, narrow, "B"), nw.placeholder({8}, "i64", "D")
      local C = t.accepted(nw.compute, {8}, function(i) return nw.select(nw.ne(B(i), 0), D(i) // B(i), -1) end, "C")
      local s = t.accepted(nw.schedule, C)
      s:vectorize "i"
      local args = {}
      for _, input in ipairs(s:inputs()) do
        args[#args + 1] = input.name == "B" and filled(narrow, {8}, function(i) return i % 3 end) or filled("i64", {8})
      end
      t.agree(s, {C}, args)
    end)
  end
  legal("compute_inline says that an fma rounds once", function()
    local A, B = nw.placeholder({8}, "f32", "A"), nw.placeholder({8}, "f32", "B")
    local T = nw.compute({8}, function(i) return A(i) * B(i) end, "T")
    local C, D = nw.compute({8}, function(i) return A(i), T(i) + A(i) end, "C")
    local s = nw.schedule(C, D)
    t.accepted(s.compute_inline, s, "T")
    assert(tostring(s:show "log"):find "rounding may change", "the note is missing")
  end)
end
