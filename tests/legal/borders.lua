--- Stages with a constant border, which decompose_padding splits into a fill and a copy.
local nw = require "nestwright"
local filled = require("values").filled

return function(case, t)
  -- Each row: a name, the shape of A, the shape of the padded stage P, and its body.
  local BORDERS = {
    {"a border of one element", {8}, {10}, function(A, i) return nw.select(nw.all(nw.ge(i, 1), nw.le(i, 8)), A(i - 1), 0) end},
    {"a border before", {9}, {13}, function(A, i) return nw.select(nw.ge(i, 4), A(i - 4), 7) end},
    {"a border after", {9}, {13}, function(A, i) return nw.select(nw.lt(i, 9), A(i) * 3, -1) end},
    {"the border first", {9}, {13}, function(A, i) return nw.select(nw.ge(i, 9), 2, A(i)) end},
    {"an image in zeros", {5, 7}, {7, 9}, function(A, y, x)
      return nw.select(nw.all(nw.ge(y, 1), nw.le(y, 5), nw.ge(x, 1), nw.le(x, 7)), A(y - 1, x - 1), 0)
    end},
    {"rows and columns in turn", {5, 7}, {8, 9}, function(A, y, x)
      return nw.select(nw.all(nw.ge(y, 1), nw.le(y, 5)), nw.select(nw.lt(x, 7), A(y - 1, x), 3), 3)
    end},
    {"a border inside", {10, 4}, {10, 4}, function(A, y, x) return nw.select(nw.any(nw.lt(y, 3), nw.gt(y, 6)), A(y, x), 1) end},
    {"a triangle", {6, 6}, {6, 6}, function(A, y, x) return nw.select(nw.le(x, y), A(y, x), 0) end},
    {"every third element", {4}, {12}, function(A, i) return nw.select(nw.eq(i % 3, 1), A(i // 3), 9) end},
  }
  -- Each row: a name and the steps around decompose_padding, which `part` makes before a loop of P.
  local SPLIT_OFF = {
    {"alone", function(s, part) part(s:loops "P"[1]) end},
    {"before the innermost loop", function(s, part)
      local mine = s:loops "P"
      part(mine[#mine])
    end},
    {"after a split with a guard", function(s, part)
      s:split(s:loops "P"[1], 3)
      part(s:loops "P"[1])
    end},
    {"after a cut tail", function(s, part)
      local mine = s:loops "P"
      s:split(mine[#mine], 4, {tail = "cut"})
      part(s:loops "P"[1])
    end},
    {"in lanes", function(s, part)
      local mine = s:loops "P"
      local _, lane = s:split(mine[#mine], 2)
      s:vectorize(lane)
      part(s:loops "P"[1])
    end},
    {"with parallel nests", function(s, part)
      part(s:loops "P"[1])
      t.accepted(s.parallel, s, s:loops "P"[1])
      t.accepted(s.parallel, s, s:loops "P_fill"[1])
    end},
    {"then fused, split and in lanes", function(s, part)
      part(s:loops "P"[1])
      local fill = s:loops "P_fill"
      local all = fill[1]
      if #fill > 1 then all = t.accepted(s.fuse, s, fill[1], fill[2]) end
      local _, lane = t.accepted(s.split, s, all, 4)
      t.accepted(s.vectorize, s, lane)
    end},
    {"in a loop of the reader", function(s, part)
      s:compute_at("P", s:loops "Y"[1])
      local mine = s:loops "P"
      part(mine[#mine])
    end},
    {"in a window that slides", function(s, part)
      s:compute_at("P", s:loops "Y"[1])
      local mine = s:loops "P"
      if pcall(s.store_at, s, "P") then mine = s:loops "P" end
      part(mine[#mine])
    end},
    {"in each piece of a cut", function(s, part)
      local mine = s:loops "P"
      s:cut(mine[1], 3)
      local n = 0 -- the number of pieces that have a border and an interior
      for _, piece in ipairs {"P.head", "P.rest"} do
        if pcall(part, s:loops(piece)[1], piece) then n = n + 1 end
      end
      assert(n > 0, "no piece was split")
    end},
    {"in one piece of a cut", function(s, part)
      s:cut(s:loops "P"[1], 5)
      if not pcall(part, s:loops "P.head"[1], "P.head") then part(s:loops "P.rest"[1], "P.rest") end
    end},
    {"then with shifted and padded tails", function(s, part)
      part(s:loops "P"[1])
      t.accepted(s.split, s, s:loops "P_fill"[1], 3, {tail = "shift"})
      local fill = s:loops "P_fill"
      t.accepted(s.split, s, fill[#fill], 2, {tail = "pad"})
    end},
    {"on threads", function(s, part)
      local mine = s:loops "P"
      t.accepted(s.bind, s, mine[#mine], "threadIdx.x")
      t.accepted(s.bind, s, s:loops "Y"[#mine], "threadIdx.x")
      part(s:loops "P"[1])
    end, grid = true},
    {"then inlined", function(s, part)
      part(s:loops "P"[1])
      t.accepted(s.compute_inline, s, "P")
      t.same(s:text():find("P", 1, true), nil)
    end},
    {"then stored in another layout", function(s, part)
      part(s:loops "P"[1])
      local n = #s:loops "Y"
      if n > 1 then t.accepted(s.reorder_storage, s, "P", {1, 0}) end
      t.refused("is read at", s.reorder_stmts, s, s:loops "P"[1], s:loops "Y"[1])
    end},
  }
  for _, row in ipairs(BORDERS) do
    local name, from, to, body = table.unpack(row)
    for _, around in ipairs(SPLIT_OFF) do
      case(("decompose_padding of %s, %s"):format(name, around[1]), function()
        local A = nw.placeholder(from, "i32", "A")
        local one = #to == 1
        local P = nw.compute(to, one and function(i) return body(A, i) end or function(y, x) return body(A, y, x) end, "P")
        local Y = nw.compute(to, one and function(i) return P(i) * 2 + 1 end or function(y, x) return P(y, x) * 2 + 1 end, "Y")
        local s = nw.schedule(Y)
        around[2](s, function(loop, piece) t.accepted(s.decompose_padding, s, piece or "P", loop) end)
        assert(s:reparses())
        if not around.grid then return t.agree(s, {Y}, {filled("i32", from)}) end
        local want = nw.evaluate(Y, {filled("i32", from)})[1]
        for _, lowered in ipairs {false, true} do
          t.same(t.list(nw.interpret(s, {filled("i32", from)}, {lowered = lowered})[1]), t.list(want))
        end
      end)
    end
  end
end
