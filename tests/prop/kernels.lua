--- Makes intrinsics for random steps. Each intrinsic is one loop of a map, a copy, a sum or a product, with a small extent. All
--- intrinsics are functions of one C library, which is compiled once. The name of an intrinsic gives its operation, dtype and
--- extent, for example "add_i32_4".
local nw = require "nestwright"

local kernels = {}

local MOST = 17
local SUMS = {f32 = "float", f64 = "double"}
local COPIES = {f16 = "uint16_t", bf16 = "uint16_t"} -- halves can only be copied, because C has no arithmetic for them
local TYPES = {f32 = "float", f64 = "double"}
for _, bits in ipairs {8, 16, 32, 64} do
  SUMS["i" .. bits] = ("int%d_t"):format(bits)
  if bits < 64 then SUMS["u" .. bits] = ("uint%d_t"):format(bits) end
end
for dtype, name in pairs(SUMS) do TYPES[dtype] = name end
for dtype, name in pairs(TYPES) do COPIES[dtype] = name end

-- The kinds of intrinsics. `types` maps dtypes to types of C. `tensors` lists the inputs, {name, rank}. `body` is the expression of
-- iteration i. `c` is the C code of iteration i, with the strides x, y and z.
local KINDS = {
  copy = {types = COPIES, tensors = {{"X", 1}}, c = "Z[i*z] = X[i*x];", body = function(X, _, i) return X(i) end},
  add = {types = TYPES, tensors = {{"X", 1}, {"Y", 1}}, c = "Z[i*z] = X[i*x] + Y[i*y];",
    body = function(X, Y, i) return X(i) + Y(i) end},
  sub = {types = TYPES, tensors = {{"X", 1}, {"Y", 1}}, c = "Z[i*z] = X[i*x] - Y[i*y];",
    body = function(X, Y, i) return X(i) - Y(i) end},
  mul = {types = TYPES, tensors = {{"X", 1}, {"Y", 1}}, c = "Z[i*z] = X[i*x] * Y[i*y];",
    body = function(X, Y, i) return X(i) * Y(i) end},
  sum = {types = SUMS, tensors = {{"X", 1}}, reduces = true, c = "s += X[i*x];", body = function(X, _, k) return X(k) end},
  dot = {types = SUMS, tensors = {{"X", 1}, {"Y", 1}}, reduces = true, c = "s += X[i*x] * Y[i*y];",
    body = function(X, Y, k) return X(k) * Y(k) end},
  axpy = {types = SUMS, tensors = {{"X", 0}, {"Y", 1}}, over = true, c = "Z[i*z] += *X * Y[i*y];",
    body = function(X, Y, i) return X() * Y(i) end},
}

local function functions(name, kind, dtype, n)
  local params, t = {}, COPIES[dtype]
  for _, tensor in ipairs(kind.tensors) do params[#params + 1] = ("const %s *%s"):format(t, tensor[1]) end
  params[#params + 1] = t .. " *Z"
  for _, tensor in ipairs(kind.tensors) do
    if tensor[2] == 1 then params[#params + 1] = "int64_t " .. tensor[1]:lower() end
  end
  if not kind.reduces then params[#params + 1] = "int64_t z" end
  local head = ("void %s_%s_%d%%s(%s) {"):format(name, dtype, n, table.concat(params, ", "))
  local loop = ("for (int i = 0; i < %d; i++) { %s }"):format(n, kind.c)
  if not kind.reduces then return head:format "" .. loop .. "}\n" end
  local sum = "%s s = %s; %s *Z = s; }\n"
  return head:format "" .. sum:format(t, "*Z", loop) .. head:format "_init" .. sum:format(t, "0", loop)
end

-- Every process must compile an identical library, because an intrinsic is identified by the content of its library.
local library
local function compiled()
  if library then return library end
  local base = os.tmpname()
  local parts = {"#include <stdint.h>\n"}
  local words = {}
  for word in pairs(KINDS) do words[#words + 1] = word end
  table.sort(words)
  for _, word in ipairs(words) do
    local dtypes = {}
    for dtype in pairs(KINDS[word].types) do dtypes[#dtypes + 1] = dtype end
    table.sort(dtypes)
    for _, dtype in ipairs(dtypes) do
      for n = 1, MOST do parts[#parts + 1] = functions(word, KINDS[word], dtype, n) end
    end
  end
  local cc = assert(io.popen(("cc -x c -O1 -fwrapv -ffp-contract=off -shared -fPIC -o %s.so -"):format(base), "w"))
  cc:write(table.concat(parts))
  assert(cc:close())
  os.remove(base)
  library = setmetatable({path = base .. ".so"}, {__gc = function(l) os.remove(l.path) end})
  return library
end

local function tensors_of(kind, dtype, n)
  local args = {}
  for at, tensor in ipairs(kind.tensors) do args[at] = nw.placeholder(tensor[2] == 1 and {n} or {}, dtype, tensor[1]) end
  local X, Y = args[1], args[2]
  local k = nw.reduce_axis(n, "k")
  local one = nw.reduce_axis(1, "one")
  local Z = kind.reduces and nw.compute({}, function() return nw.sum(kind.body(X, Y, k), k) end, "Z")
    or nw.compute({n}, function(i)
      if kind.over then return nw.sum(kind.body(X, Y, i), one) end
      return kind.body(X, Y, i)
    end, "Z")
  args[#args + 1] = Z
  return args
end

local registered = {}

--- Returns the id of the intrinsic with that name. Registers the intrinsic if it is not registered yet.
function kernels.id(name)
  if registered[name] then return registered[name] end
  local word, dtype, n, init = name:match "^(%a+)_(%w+)_(%d+)(_?%a*)$"
  local kind = KINDS[word]
  local args, strides = tensors_of(kind, dtype, math.tointeger(n)), {}
  for _, t in ipairs(args) do strides[t.name] = t.ndim == 1 and {"any"} or {} end
  registered[name] = nw.intrinsic {name = name, args = args, strides = strides, library = compiled().path, jump_safe = true,
    accumulate = (kind.reduces or kind.over) and init ~= "_init"}.id
  return registered[name]
end

-- Returns the kind of intrinsic that can compute a stage. If the stage is not in the case, cache_read or cache_write has made it,
-- so it is a copy.
local function word_of(stage, loop)
  if not stage or stage.kind == "transpose" then return "copy" end
  if stage.kind == "map" and KINDS[stage.op] then return stage.op end
  if stage.kind == "fold" and stage.op == "sum" then return "sum" end
  if stage.kind == "matmul" then return loop:match "^k" and "dot" or "axpy" end
end

--- True if there is an intrinsic that may compute the stage.
function kernels.knows(stage, dtype, n)
  local word = word_of(stage, "k")
  return word ~= nil and KINDS[word].types[dtype] ~= nil and n <= MOST
end

--- Returns the name of an intrinsic that may compute the innermost loop of a stage, with n iterations.
function kernels.pick(r, stage, dtype, loop, n)
  local word = word_of(stage, loop)
  if not word or r:chance(0.05) then word = r:pick {"copy", "add", "dot", "axpy"} end
  local types = KINDS[word].types
  if not types[dtype] then word, types = "copy", KINDS.copy.types end
  local init = KINDS[word].reduces and r:chance(0.7) and "_init" or ""
  return ("%s_%s_%d%s"):format(word, types[dtype] and dtype or "i32", n and n <= MOST and n or 4, init)
end

return kernels
