--- Defines nw.te: the functions of TVM's tensor expressions whose names or arguments differ from those of nw. All other names of
--- nw.te are those of nw.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local rows = require "nestwright.language.rows"

-- Returns the dtype for the name of a dtype in TVM; other values are returned unchanged.
local function dtype_of(name) return type(name) == "string" and core.dtype_elsewhere(name) or name end

-- Returns the axes of a reduction, which TVM gives as an axis, a list of axes, or the option `axis`.
local function axes_of(axes)
  if type(axes) == "table" and getmetatable(axes) == nil and axes.axis ~= nil then
    return errors.options("te", axes, {"axis"}).axis
  end
  return axes
end

local REDUCTIONS = {"sum", "prod", "min", "max", "argmin", "argmax"}
local EXPRESSION = "nw.expr|nw.axis|number"
local TAG = "name?: string"

return function(nw)
  local te = setmetatable({}, {__index = nw})
  nw.te = te
  local define = rows.definer(te, "te", "definitions")

  define("placeholder",
    "(shape: integer|nw.expr|(integer|nw.expr)[], dtype?: string|{dtype?: string, name?: string, "
    .. "strides?: (integer|nw.expr)[]}, name?: string|{name?: string, strides?: (integer|nw.expr)[]}): nw.tensor",
    "nw.placeholder with TVM's names of dtypes: te.placeholder({64, 64}, {name = \"A\", dtype = \"float32\"}).",
    function(shape, dtype, last)
      if type(dtype) ~= "table" then return nw.placeholder(shape, dtype_of(dtype), last) end
      local o = errors.options("placeholder", dtype, {"dtype", "name", "strides"})
      return nw.placeholder(shape, {dtype = dtype_of(o.dtype), name = o.name, strides = o.strides})
    end)
  define("var", "(" .. TAG .. ", dtype?: string): nw.expr", "nw.size: a symbolic size, which is at least 1.",
    function(name) return nw.size(name or "n") end)
  define("size_var", "(" .. TAG .. ", dtype?: string): nw.expr", "nw.size: a symbolic size, which is at least 1.",
    function(name) return nw.size(name or "n") end)
  for _, kind in ipairs(REDUCTIONS) do
    define(kind, ("(term: %s, axis?: %s|nw.axis[]|{axis: nw.axis|nw.axis[]}): nw.expr"):format(EXPRESSION, EXPRESSION),
      ("nw.%s; the axes may be given as {axis = k} or {axis = {k, l}}."):format(kind),
      function(term, axis) return nw[kind](term, axes_of(axis)) end)
  end
  define("if_then_else", ("(condition: nw.expr, a: %s, b: %s): nw.expr"):format(EXPRESSION, EXPRESSION),
    "nw.select(condition, a, b): only the chosen value is computed.", function(c, a, b) return nw.select(c, a, b) end)
  define("power", ("(a: %s, b: %s): nw.expr"):format(EXPRESSION, EXPRESSION), "nw.pow(a, b), which is also written a ^ b.",
    function(a, b) return nw.pow(a, b) end)
  define("indexdiv", ("(a: %s, b: %s): nw.expr"):format(EXPRESSION, EXPRESSION), "a // b, for indices that are not negative.",
    function(a, b) return nw.floordiv(a, b) end)
  define("indexmod", ("(a: %s, b: %s): nw.expr"):format(EXPRESSION, EXPRESSION), "a % b, for indices that are not negative.",
    function(a, b) return nw.floormod(a, b) end)
  define("const", ("(value: %s, dtype?: string): nw.expr"):format(EXPRESSION), "nw.cast(value, dtype): a constant of this dtype.",
    function(value, dtype) return nw.cast(value, dtype_of(dtype) or "i32") end)
  define("thread_axis", "(name: string): string",
    "The name itself: s:bind(loop, \"threadIdx.x\") takes the name of an index of the grid.", function(name) return name end)
end
