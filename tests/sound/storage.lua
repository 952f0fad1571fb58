--- Class A1: the kind of storage belongs to an allocation, not to a name. A buffer may be allocated at several places, for example
--- after a loop was cut. Threads may share the buffer at one place, and each thread may have its own buffer at another place.
local nw = require "nestwright"
local ctext = require "ctext"

--- Returns an array of small numbers. Neighbouring elements and neighbouring rows differ.
local function rows(dtype, n, m)
  local a = nw.zeros({n, m}, dtype)
  for i = 0, n - 1 do for j = 0, m - 1 do a:set(i, j, (7 * i + j) % 11) end end
  return a
end

--- Makes C[i], the sum of A[i, k] over k. A copy of a row of A is made in the loop over i.
local function row_sums(dtype, n)
  n = n or 64
  local A, k = nw.placeholder({n, n}, dtype, "A"), nw.reduce_axis(n, "k")
  local C = nw.compute({n}, function(i) return nw.sum(A(i, k), k) end, "C")
  local s = nw.schedule(C)
  s:cache_read("A", "global", {"C"}, {at = "i"})
  return s, {C}, {rows(dtype, n, n)}
end

--- Makes T[i, j] = A[i, j] + 1 and C[i, j] = T[i, n-1-j]. One row of T is computed at a time.
local function reversed(dtype, n)
  n = n or 64
  local A = nw.placeholder({n, n}, dtype, "A")
  local T = nw.compute({n, n}, function(i, j) return A(i, j) + 1 end, "T")
  local C = nw.compute({n, n}, function(i, j) return T(i, n - 1 - j) end, "C")
  local s = nw.schedule(C)
  s:compute_at("T", "i_1")
  return s, {C}, {rows(dtype, n, n)}
end

return function(case, t)
  local many = {threads = 2, runs = 40}
  local function both(name, dtypes, f)
    for _, dtype in ipairs(dtypes) do
      case("A1", dtypes[2] and name .. ", " .. dtype or name, function() f(dtype) end)
    end
  end

  both("a copy in each piece of a cut", {"f32"}, function(dtype)
    local s, C, a = row_sums(dtype)
    s:cut("i", 32)
    s:parallel "i.head"
    t.agree(s, C, a, many)
  end)
  both("the later piece in parallel", {"f64", "i32", "u8"}, function(dtype)
    local s, C, a = row_sums(dtype)
    s:cut("i", 32)
    s:parallel "i.rest"
    t.agree(s, C, a, many)
  end)
  both("threads inside one piece and around the other", {"f32", "f16", "i64"}, function(dtype)
    local s, C, a = reversed(dtype)
    s:cut("i_1", 32)
    s:parallel "i_1.head/j_1"
    s:parallel "i_1.rest"
    t.agree(s, C, a, many)
  end)
  both("both pieces in parallel", {"f32"}, function(dtype)
    local s, C, a = reversed(dtype)
    s:cut("i_1", 20)
    s:parallel "i_1.head"
    s:parallel "i_1.rest"
    t.agree(s, C, a, many)
  end)
  both("a serial piece, a parallel piece, and a piece with threads inside", {"f32", "bf16"}, function(dtype)
    local s, C, a = reversed(dtype, 48)
    s:cut("i_1", {16, 32})
    s:parallel "i_1.2"
    s:parallel "i_1.3/j_1"
    t.agree(s, C, a, many)
  end)
  both("on the stack in one piece, shared in the other", {"f32", "i16"}, function(dtype)
    local s, C, a = reversed(dtype)
    s:set_scope("T", "local")
    s:cut("i_1", 40)
    s:parallel "i_1.head/j_1"
    t.agree(s, C, a, many)
  end)
  both("a split with a cut tail", {"f32"}, function(dtype)
    local s, C, a = row_sums(dtype, 50)
    local o = s:split("i", 16, {tail = "cut"})
    s:parallel(o)
    t.agree(s, C, a, many)
  end)
  both("the copy of a specialized version", {"f64"}, function(dtype)
    local M = nw.size "M"
    local A, k = nw.placeholder({M, 40}, dtype, "A"), nw.reduce_axis(40, "k")
    local C = nw.compute({M}, function(i) return nw.sum(A(i, k), k) end, "C")
    local s = nw.schedule(C)
    s:cache_read("A", "global", {"C"}, {at = "i"})
    s:specialize("M % 8 == 0", "i")
    s:parallel "then/i"
    t.agree(s, {C}, {rows(dtype, 40, 40)}, many)
    t.agree(s, {C}, {rows(dtype, 41, 40)}, many)
  end)
  both("the main part of a padded window", {"f32"}, function(dtype)
    local A = nw.placeholder({40, 40}, dtype, "A")
    local T = nw.compute({40, 40}, function(i, j)
      return nw.select(nw.all(nw.ge(i, 1), nw.lt(i, 39)), A(nw.max(i - 1, 0), j), 0)
    end, "T")
    local C = nw.compute({40, 40}, function(i, j) return T(i, 39 - j) * 2 end, "C")
    local s = nw.schedule(C)
    s:compute_at("T", "i_1")
    s:cut("i_1", {1, 39})
    s:parallel "i_1.2"
    t.agree(s, {C}, {rows(dtype, 40, 40)}, many)
  end)
  both("lanes in one piece, threads in the other", {"f32", "f64"}, function(dtype)
    local s, C, a = reversed(dtype)
    s:cut("i_1", 32)
    s:vectorize(select(2, s:split("i_1.head/j_1", 8)))
    s:parallel "i_1.rest"
    t.agree(s, C, a, many)
  end)
  both("two buffers, each in two pieces", {"f32"}, function(dtype)
    local A = nw.placeholder({32, 32}, dtype, "A")
    local T = nw.compute({32, 32}, function(i, j) return A(i, j) + 1 end, "T")
    local U = nw.compute({32, 32}, function(i, j) return T(i, 31 - j) * 2 end, "U")
    local C = nw.compute({32, 32}, function(i, j) return U(i, 31 - j) + T(i, j) end, "C")
    local s = nw.schedule(C)
    s:compute_at("U", "i_2")
    s:compute_at("T", "i_2")
    s:cut("i_2", 16)
    s:parallel "i_2.head"
    t.agree(s, {C}, {rows(dtype, 32, 32)}, many)
  end)

  for _, dtype in ipairs {"f32", "i64"} do
    case("A1", "a piece for each thread, in C" .. (dtype == "f32" and "" or ", " .. dtype), function()
      local cases = {}
      for n, cut in ipairs {8, 32, 40} do
        local s, _, a = reversed(dtype)
        s:cut("i_1", cut)
        s:parallel "i_1.rest"
        if n == 2 then s:parallel "i_1.head/j_1" end
        cases[n] = {schedule = s, arguments = a}
      end
      ctext.agree(cases)
      ctext.agree(cases, {library = true, fence = "after"})
    end)
  end

  -- The interpreter of the lowered program must find a race even if a run of the compiled program does not show it.
  case("A1", "the interpreter finds a race without running in parallel", function()
    local A, k = nw.placeholder({8, 8}, "f32", "A"), nw.reduce_axis(8, "k")
    local C = nw.compute({8}, function(i) return nw.sum(A(i, k), k) end, "C")
    local s = nw.schedule(C)
    s:unsafe(function() s:parallel "k" end)
    local err = t.refused("race: element 0 of C is .* by iteration 0 of k, and .* by iteration 1 of k", nw.interpret, s,
      {rows("f32", 8, 8)}, {lowered = true})
    assert(err.code == "race", err.code)
  end)
  case("A1", "atomic updates are not a race", function()
    local A, k = nw.placeholder({8, 8}, "i32", "A"), nw.reduce_axis(8, "k")
    local C = nw.compute({8}, function(i) return nw.sum(A(i, k), k) end, "C")
    local s = nw.schedule(C)
    s:decompose_reduction("C", "i")
    s:reorder("k", "i")
    s:atomic "C"
    s:parallel "k"
    t.agree(s, {C}, {rows("i32", 8, 8)}, many)
  end)
end
