--- Makes arrays from Lua tables, random numbers, zeros and files. Compares arrays and shows them.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local guard = require "nestwright.language.guard"
local rows = require "nestwright.language.rows"

-- Returns the shape of nested tables. The first entry at each depth determines the shape; `flatten` checks the other entries.
local function shape_of(value)
  local shape, seen = {}, {}
  while type(value) == "table" do
    if seen[value] then errors.fail("invalid", nil, "tensor: values: the table contains itself at depth %d", #shape) end
    seen[value], shape[#shape + 1] = true, #value
    value = value[1]
  end
  return shape
end

local function where(path) return #path == 0 and "the table" or "entry {" .. table.concat(path, ", ") .. "}" end

-- Appends the leaves of nested tables to `flat`, and checks the shape. The indices in `path` start at 0.
local function flatten(value, shape, depth, path, flat)
  if depth > #shape then
    if type(value) ~= "number" and type(value) ~= "boolean" then
      errors.fail("invalid", nil, "tensor: values: %s is %s; expected a number", where(path), core.type_name(value))
    end
    flat[#flat + 1] = value
    return
  end
  if type(value) ~= "table" or #value ~= shape[depth] then
    local got = type(value) == "table" and ("has %d entries"):format(#value) or "is " .. core.type_name(value)
    errors.fail("invalid", nil, "tensor: values: ragged: %s %s, but the first one at this depth has %d", where(path), got,
      shape[depth])
  end
  for key in next, value do
    if math.type(key) ~= "integer" or key < 1 or key > #value then
      guard.refuse_key("tensor: values: " .. where(path), "key", key, {},
        key == "dtype" and "dtype is a separate argument: (values, dtype)" or "a list has only the keys 1 to n")
    end
  end
  for n = 1, shape[depth] do
    path[depth] = n - 1
    flatten(value[n], shape, depth + 1, path, flat)
  end
  path[depth] = nil
end

local function from_table(value, dtype)
  if type(value) == "number" or type(value) == "boolean" then
    return core.array({}, dtype or "f32"):fill_list {value}
  end
  errors.expect("tensor", value, "table")
  local shape, flat = shape_of(value), {}
  flatten(value, shape, 1, {}, flat)
  return core.array(shape, dtype or type(flat[1]) == "boolean" and "bool" or "f32"):fill_list(flat)
end

-- ---- printing

local EDGE = 3

-- Returns the positions of a dimension that are shown. If there are few, all positions are shown. Otherwise, the positions at both
-- ends are shown, and a 0 between them stands for the gap.
local function shown(n)
  local at = {}
  if n <= 2 * EDGE + 1 then
    for i = 1, n do at[i] = i end
    return at
  end
  for i = 1, EDGE do at[i] = i end
  at[EDGE + 1] = 0
  for i = 1, EDGE do at[EDGE + 1 + i] = n - EDGE + i end
  return at
end

local function number(v, dtype)
  if type(v) == "boolean" then return tostring(v) end
  -- Lua has no unsigned integers: a u64 from 2^63 on is a negative number with the same bits.
  if dtype == "u64" and v < 0 then return ("%d%d"):format((v >> 1) // 5, v - (v >> 1) // 5 * 10) end
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if v ~= v then return "nan" end
  return ("%.5g"):format(v)
end

-- Returns the elements of a matrix (or of one row) as rows of texts. base: the number of elements of the array before the matrix.
local function grid(array, base, nrows, ncols)
  local cells = {}
  for _, r in ipairs(shown(nrows)) do
    local line = {}
    for _, c in ipairs(shown(ncols)) do
      line[#line + 1] = (r == 0 or c == 0) and "..." or number(array:getflat(base + (r - 1) * ncols + c), array.dtype)
    end
    cells[#cells + 1] = line
  end
  return cells
end

-- Returns the text of a matrix: one line for each row, with aligned columns.
local function matrix(array, base, nrows, ncols)
  local cells, width, out = grid(array, base, nrows, ncols), 1, {}
  for _, line in ipairs(cells) do
    for _, text in ipairs(line) do width = math.max(width, #text) end
  end
  for n, line in ipairs(cells) do
    for c, text in ipairs(line) do line[c] = (" "):rep(width - #text) .. text end
    out[n] = "  " .. table.concat(line, "  ")
  end
  return table.concat(out, "\n")
end

local function head_of(array, shape) return ("%s[%s]"):format(array.dtype, table.concat(shape, ", ")) end

-- Returns an HTML table in the form that html.table takes. It has the first matrix of the array, with a number at each row and
-- column.
local function cells(array)
  local shape = array:shape()
  local ncols, nrows = shape[#shape] or 1, #shape > 1 and shape[#shape - 1] or 1
  local caption = head_of(array, shape)
  if array:count() == 0 then return {caption = caption .. " (empty)", rows = {}} end
  local rows_of, head = grid(array, 0, nrows, ncols), {""}
  for _, c in ipairs(shown(ncols)) do head[#head + 1] = c == 0 and "..." or ("%d"):format(c - 1) end
  for n, r in ipairs(shown(nrows)) do table.insert(rows_of[n], 1, r == 0 and "..." or ("%d"):format(r - 1)) end
  local more = array:count() // (nrows * ncols) - 1
  return {caption = caption, head = head, rows = rows_of, left = {heads = true},
    foot = more > 0 and ("and %d more like this"):format(more) or nil}
end

local function to_string(array)
  local shape = array:shape()
  local head = head_of(array, shape)
  if array:count() == 0 then return head .. " (empty)" end
  if #shape == 0 then return head .. " " .. number(array:getflat(1), array.dtype) end
  local ncols = shape[#shape]
  local nrows = #shape > 1 and shape[#shape - 1] or 1
  local text = head .. "\n" .. matrix(array, 0, nrows, ncols)
  if #shape > 2 and array:count() > nrows * ncols then
    text = text .. ("\n  ... (%d more like this)"):format(array:count() // (nrows * ncols) - 1)
  end
  return text
end

local function check_array(what, value)
  if debug.getmetatable(value) == core.classes.array then return value end
  errors.fail("invalid", nil, "%s: expected a tensor with data, got %s", what, core.type_name(value))
end

return function(nw)
  local define = rows.definer(nw, "nw", "data")
  core.classes.array.__tostring, core.classes.array.__cells = to_string, cells
  core.classes.array.__len = function(array) return array:shape()[1] or 0 end

  define("tensor", "(values: table|number|boolean, dtype?: string): nw.array",
    "An array with the values and the shape of nested Lua tables. By default, the dtype is bool if the values are true and false, "
    .. "and f32 otherwise.",
    function(values, dtype) return from_table(values, dtype) end)

  define("zeros", "(shape: integer|integer[], dtype?: string): nw.array", "An array of zeros; f32 by default.",
    function(shape, dtype) return core.array(shape, dtype or "f32") end)

  define("device_array", "(array: nw.array, driver?: 'cuda'|'opencl'): nw.array",
    "A copy of an array that stays on the NVIDIA GPU of this machine, or on the device that OpenCL uses. Kernels for the GPU "
    .. "(nw.target \"cuda\" or nw.target \"opencl\") use it there, and their outputs stay there too, if an input does. The "
    .. "elements are copied back when something else reads them, such as a:get, "
    .. "print or a kernel for this host. Arrays that are only there are lost if the GPU fails or if a kernel on it is "
    .. "interrupted.",
    function(array, driver) return core.array_to_gpu(array, driver) end)

  define("full", "(shape: integer|integer[], value: number|boolean, dtype?: string): nw.array",
    "An array with one value in all elements; f32 by default.",
    function(shape, value, dtype) return core.array(shape, dtype or "f32"):fill(value) end)

  define("random", "(shape: integer|integer[], dtype?: string|{seed?: integer, lo?: number, hi?: number}, "
    .. "options?: {seed?: integer, lo?: number, hi?: number}): nw.array",
    "An array of random elements: floats between lo and hi (0 and 1 by default), or integers from lo to hi (0 and 9 by default). "
    .. "The same seed gives the same data; without a seed, each call gives different data.",
    function(shape, dtype, options)
      if type(dtype) == "table" then dtype, options = nil, dtype end
      local o = errors.options("random", options, {"seed", "lo", "hi"})
      local array = core.array(shape, dtype or "f32")
      local float = array.dtype:find "f"
      local hi = o.hi or float and 1 or array.dtype == "bool" and 1 or 9
      return array:fill_random(o.seed or math.random(0), o.lo or 0, hi)
    end)

  define("load", "(path: string): nw.array", "Reads a .npy file.",
    function(path) return core.array_load(errors.expect("load: path", path, "string")) end)

  define("save", "(array: nw.array, path: string): nw.array", "Writes a .npy file.",
    function(array, path) return check_array("save", array):save(path) end)

  define("allclose", "(a: nw.array, b: nw.array, options?: {rtol?: number, atol?: number}): boolean, number, integer?",
    "True if |a - b| <= atol + rtol*|b| everywhere (atol is 1e-8 and rtol is 1e-5 by default; NaN equals NaN). Also returns the "
    .. "largest difference, and the position of the first element that differs, counted from 1 in row-major order.",
    function(a, b, options)
      local o = errors.options("allclose", options, {"rtol", "atol"})
      return core.array_allclose(check_array("allclose", a), check_array("allclose", b), o.rtol or 1e-5, o.atol or 1e-8)
    end)
end
