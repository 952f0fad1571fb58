--- Makes kernels for s:partition_auto whose tiles are computed by libxsmm's small matrix products.
local errors = require "nestwright.language.errors"
local rows = require "nestwright.language.rows"

local MOST = 256 -- the largest number of iterations of a tile

local meta = {__tostring = function(k) return ("a tile of %d rows, computed by libxsmm"):format(k.rows) end}

local function is_one_of(loop, ...)
  for _, other in ipairs {...} do if loop.name == other.name then return true end end
  return false
end

-- Makes the loops of the tile the innermost ones; the other loops keep their order.
local function innermost(s, piece, columns, sum)
  local order, inside = {}, false
  for _, loop in ipairs(piece:loops()) do
    inside = inside or is_one_of(loop, piece.outer)
    if inside and not is_one_of(loop, piece.inner, columns, sum) then order[#order + 1] = loop end
  end
  for _, loop in ipairs {piece.inner, columns, sum} do order[#order + 1] = loop end
  s:reorder(order)
end

-- Returns the loop with this name, or its inner part if the option `around` has split it.
local function found(piece, name)
  for _, loop in ipairs(piece:loops()) do if loop.name:match "[^/]*$" == name .. "_i" then return loop end end
  return piece:loop(name)
end

local function rounds(what, loop)
  return math.tointeger(loop.extent) or errors.fail("invalid", ("split %s by a constant first"):format(loop.name),
    "xsmm.kernel: %s: %s has %s iterations, but libxsmm needs a constant number", what, loop.name, loop.extent)
end

-- Returns a function that registers the intrinsic for a product. Each shape of a product is registered and tested once.
local function maker(nw, dtype)
  local made = {}
  return function(m, n, k)
    local key = ("%dx%dx%d"):format(m, n, k)
    made[key] = made[key] or nw.xsmm.gemm {m = m, n = n, k = k, dtype = dtype, accumulate = false}
    return made[key]
  end
end

local function kernel(nw, spec)
  local o = errors.options("xsmm.kernel", errors.expect("xsmm.kernel", spec, "table"), {"rows", "columns", "sum", "dtype"})
  local n = math.tointeger(o.rows)
  if not n or n < 1 or n > MOST then
    errors.fail("invalid", "nw.xsmm.kernel{rows = 8}", "xsmm.kernel: rows must be a whole number from 1 to %d, not %s", MOST,
      tostring(o.rows))
  end
  local columns_name = errors.expect("xsmm.kernel: columns", o.columns or "j", "string")
  local sum_name = errors.expect("xsmm.kernel: sum", o.sum or "k", "string")
  local product = maker(nw, o.dtype)
  local function schedule(s, piece)
    local columns, sum = found(piece, columns_name), found(piece, sum_name)
    local width, depth = rounds("columns", columns), rounds("sum", sum)
    innermost(s, piece, columns, sum)
    s:tensorize(piece.inner, product(n, width, depth))
  end
  return setmetatable({rows = n, name = "libxsmm", whole = true, schedule = schedule, inside = schedule}, meta)
end

return {install = function(nw)
  rows.define(nw.xsmm, "xsmm", "tensorizing", "kernel",
    "(spec: {rows: integer, columns?: string, sum?: string, dtype?: string}): table",
    "A tile of `rows` iterations that libxsmm's small matrix product computes, for the kernels of s:partition_auto and "
    .. "nw.microkernels: {rows, name = 'libxsmm', whole = true, schedule, inside}. columns and sum: the other two loops of the "
    .. "product ('j' and 'k'), of constant extent, or their inner parts if `around` splits them. The loops of a piece are "
    .. "reordered and passed to s:tensorize, which refuses a piece that is not such a product. The kernel handles whole tiles "
    .. "only, so the strategies guard and predicate use another kernel.",
    function(spec) return kernel(nw, spec) end)
end}
