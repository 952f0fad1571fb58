--- The reducers that random computations use besides the reductions of the language. A reducer has two outputs:
---   tied   the greatest value, and how often it occurs
---   span   the least and the greatest value
--- Each is given in the language, by nw.reducer, and in C, for the oracle.
local nw = require "nestwright"
local types = require "types"

local own = {}

local function bounds(t)
  if types.is_float(t) then return -1 / 0, 1 / 0 end
  return types.range(t)
end

local tied = nw.reducer {
  name = "tied",
  init = function(t) return (bounds(t)), 0 end,
  combine = function(a, b)
    local best = nw.max(a[1], b[1])
    return best, nw.select(nw.eq(a[1], best), a[2], 0) + nw.select(nw.eq(b[1], best), b[2], 0)
  end,
}

local span = nw.reducer {
  name = "span",
  init = function(t)
    local lo, hi = bounds(t)
    return hi, lo
  end,
  combine = function(a, b) return nw.min(a[1], b[1]), nw.max(a[2], b[2]) end,
}

local build = {
  tied = function(x, axes) return tied({x, nw.cast(1, "i32")}, axes) end,
  span = function(x, axes) return span({x, x}, axes) end,
}

--- True if the combiner is one of these reducers.
function own.is(combiner) return build[combiner] ~= nil end

--- Returns the reduction of a term over a list of axes.
function own.build(combiner, x, axes) return build[combiner](x, axes) end

--- Returns the dtypes of the outputs of a term of dtype t.
function own.dtypes(combiner, t) return {t, combiner == "tied" and "i32" or t} end

--- Returns the C text that starts the state (s1, s2), and the text that adds the value v. c.max(x, y), c.min(x, y) and
--- c.literal(v, dtype) return C text.
function own.in_c(combiner, t, c)
  local lo, hi = bounds(t)
  local low, high = c.literal(lo, t), c.literal(hi, t)
  if combiner == "span" then
    return ("%s s1 = %s, s2 = %s;"):format(c.type, high, low), ("s1 = %s; s2 = %s;"):format(c.min("s1", "v"), c.max("s2", "v"))
  end
  return ("%s s1 = %s; int32_t s2 = 0;"):format(c.type, low),
    ("%s m = %s; s2 = (s1 == m ? s2 : 0) + (v == m); s1 = m;"):format(c.type, c.max("s1", "v"))
end

return own
