--- A1: storage belongs to an allocation, never to a name. A buffer that is allocated in several places, as after a cut, has
--- several rows of storage.
local nw = require "nestwright"

--- C[i] = sum of A[i, k] with a copy of A's row made at the loop over i.
local function copied(n, dtype)
  local A, k = nw.placeholder({n, n}, dtype, "A"), nw.reduce_axis(n, "k")
  local C = nw.compute({n}, function(i) return nw.sum(A(i, k), k) end, "C")
  local s = nw.schedule(C)
  s:cache_read("A", "global", {"C"}, {at = "i"})
  local a = nw.zeros({n, n}, dtype)
  for i = 0, n - 1 do for j = 0, n - 1 do a:set(i, j, i) end end
  return s, C, a
end

return function(case, t)
  case("A1", "a copy in each piece of a cut", function()
    local s, C, a = copied(64, "f32")
    s:cut("i", 32)
    s:parallel "i.head"
    t.agree(s, {C}, {a}, {threads = 2, runs = 50})
  end)
end
