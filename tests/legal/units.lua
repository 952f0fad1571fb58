--- Units, the nests that blockize makes: they move as a whole, so that stages are computed in whole tiles.
local nw = require "nestwright"
local filled = require("values").filled

return function(case, t)
  -- Returns a schedule of C, which reads X[i + d, j + e] for each {d, e} of `window`, and the arguments.
  local function pair(shape, window)
    local reach = {0, 0}
    for _, at in ipairs(window) do
      for d = 1, 2 do reach[d] = math.max(reach[d], at[d]) end
    end
    local whole = {shape[1] + reach[1], shape[2] + reach[2]}
    local A = nw.placeholder(whole, "i32", "A")
    local X = nw.compute(whole, function(i, j) return A(i, j) * 3 + i - 2 * j end, "X")
    local C = nw.compute(shape, function(i, j)
      local sum = 0
      for _, at in ipairs(window) do sum = sum + X(i + at[1], j + at[2]) end
      return sum
    end, "C")
    return nw.schedule(C), {C}, {filled("i32", whole)}
  end

  local WINDOWS = {{"an element", {{0, 0}}}, {"two rows", {{0, 0}, {2, 0}}}, {"a cross", {{0, 0}, {1, 2}, {3, 1}}}}

  -- Each row: a name and a function that tiles X, and returns the unit.
  local TILES = {
    {"tiles of 4x4", function(s) return s:blockize((select(3, s:tile("i", "j", 4, 4)))) end},
    {"tiles of 3x5", function(s) return s:blockize((select(3, s:tile("i", "j", 3, 5)))) end},
    {"bands of 4 rows", function(s) return s:blockize(select(2, s:split("i", 4))) end},
    {"columns", function(s) s:reorder("j", "i") return s:blockize "i" end},
    {"tiles with the columns outside", function(s)
      local i_o, j_o, i_i = s:tile("i", "j", 4, 4)
      s:reorder(j_o, i_o)
      return s:blockize(i_i)
    end},
    {"tiles of tiles", function(s)
      s:tile("i", "j", 8, 8)
      return s:blockize((select(3, s:tile("i_i", "j_i", 2, 4))))
    end},
    {"rows one by one", function(s) return s:blockize "j" end},
    {"everything", function(s) return s:blockize "i" end},
  }

  -- Each row: a name and a function that prepares the loops of C, and returns the loop to which the unit moves.
  local PLACES = {
    {"each row", function() return "i_1" end},
    {"each element", function() return "j_1" end},
    {"tiles of the same size", function(s) return (select(2, s:tile("i_1", "j_1", 4, 4))) end},
    {"tiles of another size", function(s) return (select(2, s:tile("i_1", "j_1", 6, 5))) end},
    {"inside tiles", function(s) return (select(3, s:tile("i_1", "j_1", 4, 4))) end},
    {"columns", function(s) s:reorder("j_1", "i_1") return "j_1" end},
    {"bands", function(s) return (s:split("i_1", 5)) end},
  }

  for _, tile in ipairs(TILES) do
    for _, place in ipairs(PLACES) do
      for _, window in ipairs(WINDOWS) do
        for _, shape in ipairs {{16, 16}, {13, 11}} do
          case(("a unit of %s, computed in %s, for %s, %dx%d"):format(tile[1], place[1], window[1], shape[1], shape[2]), function()
            local s, out, arguments = pair(shape, window[2])
            local unit = tile[2](s)
            t.accepted(s.compute_at, s, unit, place[2](s))
            assert(s:reparses())
            t.agree(s, out, arguments)
          end)
        end
      end
    end
  end

  -- ---------------------------------------------------------------- reverse_compute_at

  -- Tiles the loops of C, and returns the unit.
  local READERS = {
    {"tiles of 4x4", function(s) return s:blockize((select(3, s:tile("i_1", "j_1", 4, 4)))) end},
    {"tiles of 3x5", function(s) return s:blockize((select(3, s:tile("i_1", "j_1", 3, 5)))) end},
    {"bands of 5 rows", function(s) return s:blockize(select(2, s:split("i_1", 5))) end},
    {"tiles of tiles", function(s)
      s:tile("i_1", "j_1", 8, 8)
      return s:blockize((select(3, s:tile("i_1_i", "j_1_i", 2, 4))))
    end},
    {"rows one by one", function(s) return s:blockize "j_1" end},
  }
  local SOURCES = {
    {"each row", function() return "i" end},
    {"each element", function() return "j" end},
    {"bands of another size", function(s) return (s:split("i", 6)) end},
    {"tiles of another size", function(s) return (select(2, s:tile("i", "j", 6, 5))) end},
  }
  for _, tile in ipairs(READERS) do
    for _, source in ipairs(SOURCES) do
      for _, window in ipairs(WINDOWS) do
        for _, shape in ipairs {{16, 16}, {13, 11}} do
          local name = ("a unit of %s with %s, computed after %s, %dx%d"):format(tile[1], window[1], source[1], shape[1], shape[2])
          case(name, function()
            local s, out, arguments = pair(shape, window[2])
            local unit = tile[2](s)
            t.accepted(s.reverse_compute_at, s, unit, source[2](s))
            assert(s:reparses())
            t.agree(s, out, arguments)
          end)
        end
      end
    end
  end

  -- ---------------------------------------------------------------- several moves

  -- Each row: a name, and steps on the unit. The loops of C are tiled by 6x5 before.
  local MOVES = {
    {"inwards", {"i_1_o", "j_1_o", "i_1_i", "j_1_i"}},
    {"outwards", {"j_1_i", "i_1_i", "j_1_o", "i_1_o"}},
    {"out and in", {"i_1_i", "i_1_o", "j_1_i", "j_1_o"}},
    {"to the root between", {"i_1_i", false, "j_1_o", false}},
  }
  for _, tile in ipairs(TILES) do
    for _, moves in ipairs(MOVES) do
      for _, shape in ipairs {{16, 16}, {13, 11}} do
        case(("a unit of %s, moved %s, %dx%d"):format(tile[1], moves[1], shape[1], shape[2]), function()
          local s, out, arguments = pair(shape, WINDOWS[3][2])
          local unit = tile[2](s)
          s:tile("i_1", "j_1", 6, 5)
          for _, loop in ipairs(moves[2]) do
            if loop then t.accepted(s.compute_at, s, unit, loop) else t.accepted(s.compute_root, s, unit) end
          end
          assert(s:reparses())
          t.agree(s, out, arguments)
        end)
      end
    end
  end

  -- ---------------------------------------------------------------- steps around and in a unit

  -- Each row: a name and steps after a unit of tiles was moved into tiles of another size.
  local AFTER = {
    {"with parallel tiles", function(s) s:parallel "i_1_o" end},
    {"with lanes in the unit", function(s) s:vectorize "j_i" end},
    {"with lanes around the reader", function(s) s:vectorize "j_1_i" end},
    {"with another order in the unit", function(s) s:reorder("j_i", "i_i") end},
    {"with a split in the unit", function(s) s:split("i_i", 3) end},
    {"with a cut in the unit", function(s) s:cut("i_i", 3) end},
    {"with a unit in the unit", function(s) s:blockize "j_i" end},
    {"with pieces of the reader", function(s) s:partition "i_1_o" end},
    {"with a tail of the reader", function(s) s:split("i_1_o", 2, {tail = "cut"}) end},
    {"with a loop around the unit", function(s) s:add_unit_loop "T" end},
    {"with fused loops of the reader", function(s) s:fuse("i_1_i", "j_1_i") end},
    {"with an unrolled loop around it", function(s) s:unroll(s:loops "T"[1].name) end},
    {"with a copy in the unit", function(s) s:cache_read("A", "local", {"X"}, {at = "i_i"}) end},
    {"without the unit", function(s) s:unblockize "T" end},
    {"with another layout", function(s) s:transform_layout("X", function(i, j) return j, i end) end},
  }
  for _, after in ipairs(AFTER) do
    for _, shape in ipairs {{16, 16}, {13, 11}} do
      case(("a unit of tiles in tiles, %s, %dx%d"):format(after[1], shape[1], shape[2]), function()
        local s, out, arguments = pair(shape, WINDOWS[3][2])
        local _, _, i_i = s:tile("i", "j", 4, 4)
        s:blockize(i_i, "T")
        local _, j_1_o = s:tile("i_1", "j_1", 6, 5)
        t.accepted(s.compute_at, s, "T", j_1_o)
        t.accepted(after[2], s)
        assert(s:reparses())
        t.agree(s, out, arguments)
      end)
    end
  end

  -- ---------------------------------------------------------------- what a unit holds

  case("a unit with a stage that only it needs", function()
    local A = nw.placeholder({20}, "i32", "A")
    local X = nw.compute({20}, function(i) return A(i) + 1 end, "X")
    local Y = nw.compute({18}, function(i) return X(i) * X(i + 2) end, "Y")
    local Z = nw.compute({17}, function(i) return Y(i) - Y(i + 1) end, "Z")
    local s = nw.schedule(Z)
    s:split("i_1", 4)
    s:compute_at(X, "i_1_o")
    s:split("i_1_o", 2)
    s:blockize("i_1_o_i", "T")
    s:split("i_2", 3)
    t.accepted(s.compute_at, s, "T", "i_2_o")
    assert(s:text():find("unit T:", 1, true) and s:reparses())
    t.agree(s, {Z}, {filled("i32", {20})})
  end)

  case("a unit with the sums of a tile", function()
    for _, n in ipairs {16, 13} do
      local A, k = nw.placeholder({n, 9}, "i32", "A"), nw.reduce_axis(9, "k")
      local S = nw.compute({n}, function(i) return nw.sum(A(i, k), k) end, "S")
      local Z = nw.compute({n - 1}, function(i) return S(i) + S(i + 1) end, "Z")
      local s = nw.schedule(Z)
      s:split("i", 4)
      s:reorder("k", "i_i")
      s:blockize("k", "T")
      s:decompose_reduction(S, "k")
      s:split("i_1", 5)
      t.accepted(s.compute_at, s, "T", "i_1_o")
      assert(s:reparses())
      t.agree(s, {Z}, {filled("i32", {n, 9})})
    end
  end)

  case("a unit in a loop of its reduction", function()
    local A, k = nw.placeholder({16, 12}, "i32", "A"), nw.reduce_axis(12, "k")
    local S = nw.compute({16}, function(i) return nw.sum(A(i, k), k) end, "S")
    local Z = nw.compute({16}, function(i) return S(i) * 2 end, "Z")
    local s = nw.schedule(Z)
    s:tile("i", "k", 4, 3)
    s:blockize("i_i", "T")
    s:split("i_1", 8)
    t.accepted(s.compute_at, s, "T", "i_1_o")
    t.same(s:loops "T"[3].name, "k_o")
    t.agree(s, {Z}, {filled("i32", {16, 12})})
  end)

  case("a unit with a value and its index", function()
    local A, k = nw.placeholder({14, 6}, "i32", "A"), nw.reduce_axis(6, "k")
    local V, I = nw.compute({14}, function(i) return nw.argmax(A(i, k), k) end, "M")
    local Z = nw.compute({14}, function(i) return V(i) + nw.cast(I(i), "i32") end, "Z")
    local s = nw.schedule(Z)
    local first = s:loops()[1]
    local _, inner = s:split(first, 4)
    s:blockize(inner, "T")
    local loops = s:loops(Z)
    local outer = s:split(loops[1], 6)
    t.accepted(s.compute_at, s, "T", outer)
    t.agree(s, {Z}, {filled("i32", {14, 6})})
  end)

  case("a unit with several readers", function()
    local A = nw.placeholder({20}, "i32", "A")
    local X = nw.compute({20}, function(i) return A(i) + 1 end, "X")
    local Y = nw.compute({18}, function(i) return X(i) * 2 end, "Y")
    local Z = nw.compute({18}, function(i) return X(i + 2) - Y(i) end, "Z")
    local s = nw.schedule(Z)
    local _, i_i = s:split("i", 4)
    s:blockize(i_i, "T")
    s:compute_at(Y, "i_2")
    s:split("i_2", 5)
    t.accepted(s.compute_at, s, "T", "i_2_o")
    t.agree(s, {Z}, {filled("i32", {20})})
  end)

  for _, size in ipairs {1, 4, 7, 16, 21} do
    case(("a unit of an unknown size, %d"):format(size), function()
      local M = nw.size "M"
      local A = nw.placeholder({M + 2}, "i32", "A")
      local X = nw.compute({M + 2}, function(i) return A(i) * 3 end, "X")
      local C = nw.compute({M}, function(i) return X(i) + X(i + 2) end, "C")
      local s = nw.schedule(C)
      local _, i_i = s:split("i", 4)
      s:blockize(i_i, "T")
      s:split("i_1", 6)
      t.accepted(s.compute_at, s, "T", "i_1_o")
      t.agree(s, {C}, {filled("i32", {size + 2})}, {sizes = {M = size}})
      t.accepted(s.compute_root, s, "T")
      t.agree(s, {C}, {filled("i32", {size + 2})}, {sizes = {M = size}})
    end)
  end

  -- ---------------------------------------------------------------- steps that take a unit apart, or that are wrong

  -- Each row: a name, a part of the reason, and the step. X has tiles of 4x4 in the unit T, and C has tiles of 6x5.
  local APART = {
    {"a loop of the unit outside of it", "would take the unit T apart", function(s) s:reorder("i_i", "j_o") end},
    {"a tile of loops in it and outside of it", "would take the unit T apart", function(s) s:tile("j_o", "i_i", 2, 2) end},
    {"a loop of the unit fused with one outside of it", "not adjacent", function(s) s:fuse("j_o", "i_i") end},
    {"a cut through the unit", "would take the unit T apart", function(s)
      s:add_unit_loop "X"
      s:fission("i_o", {after = "j_i"})
    end},
    {"its stage alone in a loop of the reader", "would take the unit T apart", function(s) s:compute_at("X", "j_1_o") end},
    {"the unit in its own loop", "that is a loop of T", function(s) s:compute_at("T", "i_o") end},
    {"the unit in a loop inside it", "that is a loop of T", function(s) s:compute_at("T", "j_i") end},
    {"the unit in a loop after its reader", "read", function(s) s:compute_at("T", "j_1_o", {index = 2}) end},
    {"the unit at the root, where it is", "already there", function(s) s:compute_root "T" end},
    {"the unit after its reader", "computes an input of T", function(s) s:reverse_compute_at("T", "i_1_o") end},
    {"a unit of the output", "C is an output", function(s) s:blockize("j_1_o", "U") s:compute_at("U", "i_o") end},
  }
  for _, row in ipairs(APART) do
    case("refused: " .. row[1], function()
      local s, out, arguments = pair({16, 16}, WINDOWS[3][2])
      local _, _, i_i = s:tile("i", "j", 4, 4)
      s:blockize(i_i, "T")
      s:tile("i_1", "j_1", 6, 5)
      t.refused(row[2], row[3], s)
      t.agree(s, out, arguments)
    end)
  end

  case("refused: a unit that reads rows which are computed later", function()
    local s, out, arguments = pair({16, 16}, WINDOWS[3][2])
    s:reorder("j_1", "i_1") -- columns of C, and rows of X: a column is complete only in the last row
    s:blockize("i_1", "T")
    t.accepted(s.reverse_compute_at, s, "T", "j")
    t.agree(s, out, arguments)
    s:undo()
    t.refused("no loop around U runs along its inputs", function() s:blockize("j_1", "U") s:reverse_compute_at("U", "i") end)
  end)

  case("refused: a unit with a scan", function()
    local A, H = nw.placeholder({1, 8}, "i32", "A"), nw.scan_state({6, 8}, "i32", "H")
    local first = nw.compute({1, 8}, function(r, x) return A(r, x) end, "first")
    local update = nw.compute({6, 8}, function(r, x) return H(r - 1, x) * 2 end, "update")
    local S = nw.scan(first, update, H, "S")
    local Z = nw.compute({6, 8}, function(i, j) return S(i, j) + 1 end, "Z")
    local s = nw.schedule(Z)
    s:blockize(s:loops "S"[2], "T")
    t.refused("scan", s.compute_at, s, "T", s:loops(Z)[1])
  end)
end
