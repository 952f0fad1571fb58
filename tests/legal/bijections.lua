--- Stages whose elements correspond one to one to the elements that they read, but in another shape or order.
local nw = require "nestwright"
local filled = require("values").filled

return function(case, t)
  -- Each row: a name, the shape of P, the shape of the result, and the index in P of an element of the result.
  local MAPS = {
    {"rows of 8 become one row", {32}, {4, 8}, function(i, j) return {i * 8 + j} end},
    {"rows of 5 become one row", {15}, {3, 5}, function(i, j) return {i * 5 + j} end},
    {"three dimensions become one", {24}, {2, 3, 4}, function(i, j, k) return {i * 12 + j * 4 + k} end},
    {"columns become rows of one row", {24}, {4, 6}, function(i, j) return {j * 4 + i} end},
    {"one row becomes rows of 32", {3, 32}, {96}, function(p) return {p // 32, p % 32} end},
    {"one row becomes rows of 7", {5, 7}, {35}, function(p) return {p // 7, p % 7} end},
    {"one row becomes three dimensions", {2, 3, 4}, {24}, function(p) return {p // 12, p // 4 % 3, p % 4} end},
    {"the last dimension has one element", {6, 1}, {6}, function(i) return {i, 0} end},
    {"a dimension of one element is added", {6}, {6, 1}, function(i, _) return {i} end},
    {"dimensions of one element in the middle", {4, 1, 5}, {4, 5}, function(i, j) return {i, 0, j} end},
    {"a row is reversed", {9}, {9}, function(i) return {8 - i} end},
    {"rows are reversed and joined", {12}, {3, 4}, function(i, j) return {(2 - i) * 4 + j} end},
    {"tiles of 2 x 4", {4, 8}, {2, 2, 2, 4}, function(a, b, i, j) return {a * 2 + i, b * 4 + j} end},
    {"a tile order is undone", {2, 2, 2, 4}, {4, 8}, function(y, x) return {y // 2, x // 4, y % 2, x % 4} end},
    {"transposed", {5, 6}, {6, 5}, function(i, j) return {j, i} end},
    {"rows of 6 become rows of 9", {9, 6}, {6, 9}, function(i, j) return {(i * 9 + j) // 6, (i * 9 + j) % 6} end},
    {"rows of 6 become planes", {6, 6}, {2, 2, 9}, function(a, i, j)
      return {(a * 18 + i * 9 + j) // 6, (a * 18 + i * 9 + j) % 6}
    end},
    {"planes become rows of 9", {3, 4, 3}, {4, 9}, function(i, j)
      local p = i * 9 + j
      return {p // 12, p // 3 % 4, p % 3}
    end},
    {"rows of 8 become rows of 4", {3, 8}, {6, 4}, function(i, j) return {(i * 4 + j) // 8, (i * 4 + j) % 8} end},
  }

  -- With `terms`, P is a sum with this number of terms, and C is a copy of it.
  local function stages(map, terms)
    local _, from, to, at = table.unpack(map)
    local given = {table.unpack(from)}
    given[#given + 1] = terms
    local A, k = nw.placeholder(given, "i32", "A"), terms and nw.reduce_axis(terms, "k")
    local names = {"a", "b", "c", "d"}
    local function body(f, n)
      return load("local f = ... return function(" .. table.concat(names, ", ", 1, n) .. ") return f("
        .. table.concat(names, ", ", 1, n) .. ") end")(f)
    end
    local P = nw.compute(from, body(function(...)
      if not terms then return A(...) * 2 + 1 end
      local index = {...}
      index[#index + 1] = k
      return nw.sum(A(table.unpack(index)), k)
    end, #from), "P")
    local C = nw.compute(to, body(function(...)
      local read = P(table.unpack(at(...)))
      return terms and read or read * 3
    end, #to), "C")
    return nw.schedule(C), {C}, {filled("i32", given)}
  end

  for _, map in ipairs(MAPS) do
    case("reverse_compute_inline, " .. map[1], function()
      local s, out, arguments = stages(map)
      t.accepted(s.reverse_compute_inline, s, "C")
      t.agree(s, out, arguments)
    end)
    case("reverse_compute_at, " .. map[1], function()
      local s, out, arguments = stages(map)
      t.accepted(s.reverse_compute_at, s, "C", s["P"]:loops()[1])
      t.agree(s, out, arguments)
    end)
  end
  -- The copy of a sum.
  for _, map in ipairs(MAPS) do
    local function dims(s, name) return s:text():match("temp " .. name .. ": i32%[([^%]]*)%]") end
    local axes = {} -- the axes in the index of the result; an axis with one value is not in it
    for _, extent in ipairs(map[2]) do if extent > 1 then axes[#axes + 1] = extent end end
    case("reverse_compute_inline of the copy of a sum, " .. map[1], function()
      local s, out, arguments = stages(map, 3)
      t.accepted(s.reverse_compute_inline, s, "C")
      t.same(s:text():find("%f[%w]P%["), nil)
      assert(s:reparses())
      t.agree(s, out, arguments)
    end)
    case("reverse_compute_inline of the copy of a sum whose init is a nest, " .. map[1], function()
      local s, out, arguments = stages(map, 3)
      s:decompose_reduction("P", s["P"]:loops()[1])
      t.accepted(s.reverse_compute_inline, s, "C")
      t.agree(s, out, arguments)
    end)
    case("reverse_compute_at of the copy of a sum, " .. map[1], function()
      local s, out, arguments = stages(map, 3)
      t.accepted(s.reverse_compute_at, s, "C", s["P"]:loops()[1])
      t.agree(s, out, arguments)
    end)
    case("reindex of a result, " .. map[1], function()
      local s, out, arguments = stages(map, 3)
      t.accepted(s.reverse_compute_inline, s, "C")
      local copy = t.accepted(s.reindex, s, "C", "C")
      t.same(copy.name, "C_reindex")
      t.same(dims(s, "C_reindex"), table.concat(axes, ", "))
      assert(s:reparses())
      t.agree(s, out, arguments)
      t.accepted(s.reverse_compute_inline, s, "C")
      t.agree(s, out, arguments)
    end)
    case("reindex of a result in a loop, " .. map[1], function()
      local s, out, arguments = stages(map, 3)
      t.accepted(s.reverse_compute_inline, s, "C")
      local n = #axes
      local outer = s:split(s:loops "C"[1], 2)
      local layout = n == 2 and function(i, j) return j, i end or nil
      t.accepted(s.reindex, s, "C", "C", {at = outer, scope = "local", layout = layout, name = "tile"})
      t.agree(s, out, arguments)
    end)
    case("reindex of the result of a map, " .. map[1], function()
      local s, out, arguments = stages(map)
      t.accepted(s.reindex, s, "P", "P")
      t.accepted(s.reindex, s, "C", "C")
      t.agree(s, out, arguments)
    end)
  end
  for _, terms in ipairs {0, 2} do
    case("reverse_compute_inline of a copy of some elements, " .. (terms > 0 and "a sum" or "a map"), function()
      local s, out, arguments = stages({"", {6, 8}, {40}, function(p) return {p // 8, p % 8} end}, terms > 0 and terms or nil)
      t.accepted(s.reverse_compute_inline, s, "C")
      t.agree(s, out, arguments)
    end)
  end
  case("a merged stage moves, one of whose axes has no loop", function()
    local A, k = nw.placeholder({5, 2}, "i32", "A"), nw.reduce_axis(2, "k")
    local X = nw.compute({5}, function(i) return nw.sum(A(i, k), k) end, "X")
    local Y = nw.compute({5}, function(i) return X(i) * 3 end, "Y")
    local Z = nw.compute({1, 5}, function(i, j) return Y(i * 5 + j) end, "Z")
    local s = nw.schedule(Z)
    t.accepted(s.reverse_compute_inline, s, "Z")
    t.accepted(s.reverse_compute_at, s, "Z", "i")
    t.agree(s, {Z}, {filled("i32", {5, 2})})
  end)
  case("reindex of a value and its index", function()
    local A, k = nw.placeholder({5, 6}, "i32", "A"), nw.reduce_axis(6, "k")
    local V, I = nw.compute({5}, function(i) return nw.argmin(A(4 - i, k), k) end, "V")
    local s = nw.schedule(V, I)
    t.accepted(s.reindex, s, s:stages()[1], "V")
    t.agree(s, {V, I}, {filled("i32", {5, 6})})
  end)
  for _, factor in ipairs {8, 16, 64} do
    case(("reverse_compute_at a split loop, factor %d"):format(factor), function()
      local s, out, arguments = stages {"", {128}, {8, 16}, function(i, j) return {i * 16 + j} end}
      local outer = s:split(s["P"]:loops()[1], factor)
      t.accepted(s.reverse_compute_at, s, "C", outer)
      t.agree(s, out, arguments)
    end)
  end
  for _, shape in ipairs {{4, 32}, {6, 8}} do
    case(("reverse_compute_inline into a fused and split loop, %dx%d"):format(table.unpack(shape)), function()
      local s, out, arguments = stages {"", shape, {shape[1] * shape[2]}, function(p)
        return {p // shape[2], p % shape[2]}
      end}
      local loops = s["P"]:loops()
      local fused = s:fuse(loops[1], loops[2])
      s:split(fused, 16)
      t.accepted(s.reverse_compute_inline, s, "C")
      t.agree(s, out, arguments)
    end)
  end
end
