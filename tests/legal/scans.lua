--- Stages inside scans: they are scheduled like other stages, as long as each reads values of the state that are already there.
local nw = require "nestwright"
local filled = require("values").filled
package.path = "tests/tools/?.lua;" .. package.path
local recurrent = require "recurrent"

return function(case, t)
  local function small(dtype, shape) return filled(dtype, shape, function(i) return (5 * i) % 7 - 3 end) end

  -- Returns the schedule of a cell, its tensors by name, and a function that compares all ways of running it.
  local function cell(times, batch, n, dtype)
    local out, of = recurrent.lstm(times, batch, n, dtype)
    local s = nw.schedule(table.unpack(out))
    return s, of, function()
      t.agree(s, out, {small(dtype, {times, 4, batch, n}), small(dtype, {4, n, n})}, {threads = 2})
      t.accepted(s.check, s)
    end
  end

  for _, shape in ipairs {{2, 1, 4}, {5, 3, 9}, {4, 2, 16}} do
    local times, batch, n = table.unpack(shape)
    local name = table.concat(shape, "x")
    case("a cell as written, " .. name, function()
      local _, _, agree = cell(times, batch, n, "i32")
      agree()
    end)
    case("tiles of the product inside the cell, " .. name, function()
      local s, of, agree = cell(times, batch, n, "i32")
      local _, g, b, j, k = table.unpack(s:loops(of.h2h))
      local k_o, k_i = t.accepted(s.split, s, k, {factor = 3, tail = "guard"})
      t.accepted(s.reorder, s, g, k_o, b, k_i, j)
      local _, j_i = t.accepted(s.split, s, j, {factor = 4, tail = "cut"})
      t.accepted(s.vectorize, s, j_i)
      t.accepted(s.unroll, s, k_i)
      t.accepted(s.parallel, s, g)
      agree()
    end)
    case("all gates inline, " .. name, function()
      local s, of, agree = cell(times, batch, n, "i32")
      for _, stage in ipairs {"in_gate", "in_value", "forget", "out_gate", "next_c", "next_h", "gates"} do
        t.accepted(s.compute_inline, s, of[stage])
      end
      agree()
    end)
    case("gates computed in a loop of their reader, " .. name, function()
      local s, of, agree = cell(times, batch, n, "i32")
      t.accepted(s.compute_inline, s, of.next_h)
      local row = s:loops(of.next_c)[2]
      for _, stage in ipairs {"in_gate", "in_value", "forget"} do t.accepted(s.compute_at, s, of[stage], row) end
      t.accepted(s.vectorize, s, s:loops(of.next_c)[3])
      agree()
    end)
    case("the product is accumulated in a local buffer, " .. name, function()
      local s, of, agree = cell(times, batch, n, "i32")
      t.accepted(s.cache_write, s, of.h2h, "local", {at = s:loops(of.h2h)[3]})
      agree()
    end)
    case("a part of the weights copied for each step, " .. name, function()
      local s, of, agree = cell(times, batch, n, "i32")
      t.accepted(s.cache_read, s, of.W, "global", {of.h2h}, {at = s:loops(of.h2h)[2]})
      agree()
    end)
    case("partial sums of the product, " .. name, function()
      local s, of, agree = cell(times, batch, n, "i32")
      local _, k_i = t.accepted(s.split, s, s:loops(of.h2h)[5], 2)
      t.accepted(s.rfactor, s, of.h2h, k_i)
      agree()
    end)
    case("refused: a cell in parallel over the time, " .. name, function()
      local s, of, agree = cell(times, batch, n, "i32")
      if times > 2 then t.refused("", s.parallel, s, s:loops(of.h2h)[1]) end
      agree()
    end)
    case("refused: gates before the time, " .. name, function()
      local s, of, agree = cell(times, batch, n, "i32")
      if times > 2 then t.refused("", s.compute_root, s, of.h2h) end
      agree()
    end)
    case("refused: gates apart from their readers, " .. name, function()
      local s, of, agree = cell(times, batch, n, "i32")
      t.refused("", s.fission, s, s:loops(of.h2h)[1], 3)
      agree()
    end)
  end

  -- Makes a recurrence in which each time reads the sums of pairs of the row before. The stage reads its neighbours.
  local function pairs_of(T, n, back)
    local A, H = nw.placeholder({T, n}, "i32", "A"), nw.scan_state({T, n}, "i32", "H")
    local first = nw.compute({1, n}, function(r, x) return A(r, x) end, "first")
    local P = nw.compute({T, n}, function(r, x) return H(r - 1, x) + H(r - 1, nw.max(x - 1, 0)) end, "P")
    local update = nw.compute({T, n}, function(r, x)
      local old = back and nw.select(nw.gt(r, 1), P(nw.max(r - 1, 1), x), 0) or P(r, nw.min(x + 1, n - 1))
      return P(r, x) - old + A(r, x)
    end, "update")
    local S = nw.scan(first, update, H, "S")
    local s = nw.schedule(S)
    return s, P, S, function() t.agree(s, {S}, {small("i32", {T, n})}) t.accepted(s.check, s) end
  end
  for _, back in ipairs {false, true} do
    local kind = back and "at the time before" or "in the next column"
    case("lanes of a stage that is read " .. kind, function()
      local s, P, S, agree = pairs_of(6, 21, back)
      for _, stage in ipairs {P, S} do
        local _, x_i = t.accepted(s.split, s, s:loops(stage)[2], {factor = 8, tail = "cut"})
        t.accepted(s.vectorize, s, x_i)
      end
      agree()
    end)
    case("a stage that is read " .. kind .. ", split over the time", function()
      local s, _, S, agree = pairs_of(7, 5, back)
      t.accepted(s.split, s, s:loops(S)[1], 2)
      agree()
    end)
  end
  case("a sum of pairs computed in the columns of its reader", function()
    local s, P, S, agree = pairs_of(6, 21)
    local x_o = t.accepted(s.split, s, s:loops(S)[2], 4)
    t.accepted(s.compute_at, s, P, x_o)
    agree()
  end)
  case("refused: columns outside the time", function()
    local s, P, S, agree = pairs_of(6, 21)
    t.accepted(s.compute_inline, s, P)
    t.refused("", s.reorder, s, s:loops(S)[2], s:loops(S)[1])
    agree()
  end)
  case("refused: a stage that later times read is stored in a loop", function()
    local s, P, S, agree = pairs_of(6, 21, true)
    t.refused("", s.compute_at, s, P, s:loops(S)[2])
    agree()
  end)
end
