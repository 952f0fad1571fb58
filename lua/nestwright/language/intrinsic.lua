--- Registers intrinsics for s:tensorize. An intrinsic is a small computation that external code does.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local register = require "nestwright.language.registered".register
local rows = require "nestwright.language.rows"

local OPTIONS = {"name", "args", "strides", "accumulate", "source", "library", "symbol", "code", "jump_safe", "timeout"}

-- Returns the strides of one tensor in the form that core.intrinsic takes: numbers, or false for "any". By default the last
-- dimension is contiguous and the others are "any".
local function strides_of(t, given)
  local out = {}
  if given ~= nil and type(given) ~= "table" then
    errors.fail("invalid", nil, "intrinsic: strides of %s: expected a list, got %s", t.name, core.type_name(given))
  end
  if given and #given ~= t.ndim then
    errors.fail("invalid", nil, "intrinsic: strides of %s: expected %d, one per dimension, got %d", t.name, t.ndim, #given)
  end
  for d = 1, t.ndim do
    local stride = given and given[d]
    if not given then stride = d == t.ndim and 1 or "any" end
    if stride == "any" then stride = false end
    if stride and math.type(stride) ~= "integer" then
      errors.fail("invalid", nil, "intrinsic: strides of %s: expected a whole number or \"any\", got %s", t.name, tostring(stride))
    end
    out[d] = stride
  end
  return out
end

local function all_strides(args, given)
  local out, known = {}, {}
  errors.expect("intrinsic: strides", given or {}, "table")
  for n, t in ipairs(args) do
    if debug.getmetatable(t) ~= core.classes.tensor then
      errors.fail("invalid", nil, "intrinsic: args: expected tensors, got %s", core.type_name(t))
    end
    known[#known + 1] = t.name
    out[n] = strides_of(t, (given or {})[t.name])
  end
  errors.options("intrinsic: strides", given, known)
  return out
end

local function intrinsic(spec)
  errors.expect("intrinsic", spec, "table")
  errors.options("intrinsic", spec, OPTIONS)
  errors.expect("intrinsic: name", spec.name, "string")
  errors.expect("intrinsic: args", spec.args, "table")
  local copy = {}
  for key, value in pairs(spec) do copy[key] = value end
  copy.strides = all_strides(spec.args, spec.strides)
  if spec.code ~= nil and spec.code ~= "shuffles" then
    errors.fail("invalid", "or give source or library", "intrinsic: code: expected \"shuffles\", got %s", tostring(spec.code))
  end
  copy.shuffles = spec.code == "shuffles"
  return register(copy)
end

-- ---- libxsmm

local SIZES = {"m", "n", "k"}

local function size(spec, key)
  local value = spec[key]
  if math.type(value) == "integer" and value >= 1 and value <= 4096 then return value end
  errors.fail("invalid", "nw.xsmm.gemm{m = 16, n = 16, k = 16}", "xsmm.gemm: %s: expected a whole number from 1 to 4096, got %s",
    key,
    tostring(value))
end

-- Returns the tensors of C[m, n] = sum(A[m, k]*B[k, n], k).
local function gemm_tensors(nw, m, n, k, dtype)
  local A, B = nw.placeholder({m, k}, dtype, "A"), nw.placeholder({k, n}, dtype, "B")
  local r = nw.reduce_axis(k, "k")
  return A, B, nw.compute({m, n}, function(i, j) return nw.sum(A(i, r) * B(r, j), r) end, "C")
end

local function xsmm_gemm(nw, spec)
  errors.options("xsmm.gemm", errors.expect("xsmm.gemm", spec, "table"), {"m", "n", "k", "dtype", "accumulate"})
  local library = core.xsmm_library()
  if not library then
    errors.fail("invalid", "install libxsmm-dev and rebuild", "xsmm.gemm: this build is without libxsmm")
  end
  local m, n, k = size(spec, SIZES[1]), size(spec, SIZES[2]), size(spec, SIZES[3])
  local dtype = spec.dtype or "f32"
  if dtype ~= "f32" and dtype ~= "f64" then
    errors.fail("invalid", nil, "xsmm.gemm: dtype: expected f32 or f64, got %s", tostring(dtype))
  end
  local accumulate = spec.accumulate ~= false
  local A, B, C = gemm_tensors(nw, m, n, k, dtype)
  return register {
    name = ("xsmm_%s_%dx%dx%d%s"):format(dtype, m, n, k, accumulate and "" or "_init"), args = {B, A, C},
    strides = {{false, 1}, {false, 1}, {false, 1}}, accumulate = accumulate, library = library,
    symbol = "nw_xsmm_gemm_" .. dtype, special = "nw_xsmm_make_" .. dtype, constants = {m, n, k, accumulate and 1 or 0},
  }
end

return function(nw)
  local define = rows.definer(nw, "nw", "tensorizing")
  define("intrinsic", "(spec: {name: string, args: nw.tensor[], strides?: table, accumulate?: boolean, source?: string, "
    .. "library?: string, symbol?: string, code?: 'shuffles', jump_safe?: boolean, timeout?: number}): nw.intrinsic",
    "Registers code for a small computation, for use by s:tensorize. args: the tensors of one compute with constant "
    .. "sizes, in the order in which the function takes them. The function gets a pointer to each tile, followed by the strides "
    .. "that are not fixed, as int64_t, in elements. strides: for each tensor, a list with a number or \"any\" for each dimension; "
    .. "by default the last dimension is contiguous and the others are \"any\". accumulate: a reduction adds to the values of the "
    .. "output. source: the C code of the function. library and symbol: a function of a shared library, in place of source. "
    .. "code = \"shuffles\", in place of both: for a computation that only moves elements, such as the transpose of a tile, the "
    .. "generated code itself loads vectors, shuffles their lanes and stores them; extents must be powers of two. "
    .. "jump_safe = true states that this function holds no lock and owns no memory, so that it can be stopped at any moment. The "
    .. "code is tested against its description in a separate process, for at most timeout seconds, and is registered only if its "
    .. "results are correct.",
    intrinsic)
  nw.xsmm = {}
  rows.define(nw.xsmm, "xsmm", "tensorizing", "available", "(): boolean", "True if this build has libxsmm.",
    function() return core.xsmm_library() ~= nil end)
  rows.define(nw.xsmm, "xsmm", "tensorizing", "gemm",
    "(spec: {m: integer, n: integer, k: integer, dtype?: string, accumulate?: boolean}): nw.intrinsic",
    "Registers libxsmm's small matrix product C[m, n] += A[m, k]*B[k, n], of f32 or f64, with any leading dimensions; with "
    .. "accumulate = false it computes C[m, n] = A[m, k]*B[k, n].", function(spec) return xsmm_gemm(nw, spec) end)
end
