--- Accelerators: their target, and their instructions as intrinsics for s:tensorize.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local machine = require "nestwright.cost.machine"
local registered = require "nestwright.language.registered"
local rows = require "nestwright.language.rows"

local accelerator = {}

-- ---- descriptions

local function shape_of(row, letters)
  local out = {}
  for letter in letters:gmatch "." do out[#out + 1] = row[letter] end
  return out
end

-- Returns the tensors of a product from its form, for example "mk,kn->mn": C[m, n] += A[m, k] * B[k, n]. Without a sum, the
-- products are the result ("m,m=m"), or are added to a third operand ("m,m,m=m": C[m] = A[m] * B[m] + D[m]).
local function product(nw, row)
  local a, b, addend, c = row.form:match "^(%a+),(%a+),?(%a*)[->=]+(%a+)$"
  local A, B = nw.placeholder(shape_of(row, a), row.input, "A"), nw.placeholder(shape_of(row, b), row.weight, "B")
  local D = addend ~= "" and nw.placeholder(shape_of(row, addend), row.sum, "D") or nil
  local axes, reduce = {}, {}
  for letter in (a .. b):gmatch "." do
    if not c:find(letter, 1, true) and not axes[letter] then
      axes[letter] = nw.reduce_axis(row[letter], letter)
      reduce[#reduce + 1] = axes[letter]
    end
  end
  local function operand(t, letters)
    local index = {}
    for letter in letters:gmatch "." do index[#index + 1] = axes[letter] end
    return nw.cast(t(table.unpack(index)), row.sum)
  end
  local C = nw.compute(shape_of(row, c), function(...)
    for n, axis in ipairs {...} do axes[c:sub(n, n)] = axis end
    local term = operand(A, a) * operand(B, b)
    if D then term = D(...) + term end
    return reduce[1] and nw.sum(term, table.unpack(reduce)) or term
  end, "C")
  return D and {A, B, D, C} or {A, B, C}
end

-- Checks the dtypes of products, which the record has as text.
local function check_dtypes(m)
  local known = {}
  for _, name in ipairs(core.dtypes()) do known[name] = true end
  for n, row in ipairs(m.accelerator.instructions or {}) do
    for _, field in ipairs {"input", "weight", "sum"} do
      if row.kind == "tensor" and not known[row[field]] then
        errors.fail("invalid", "one of " .. table.concat(core.dtypes(), ", "),
          "accelerator: accelerator.instructions[%d].%s: there is no dtype '%s'", n, field, row[field])
      end
    end
  end
end

-- Returns the intrinsic of an instruction.
local function intrinsic_of(nw, row)
  local args = {}
  if row.kind == "tensor" then
    if row.form == "" then
      errors.fail("invalid", 'nw.intrinsic{name = "' .. row.name .. '", args = {A, B, C}, chip = "tensor"}',
        "accelerator: %s has no form; describe it with nw.intrinsic", row.name)
    end
    args = product(nw, row)
  end
  local strides = {}
  for n, t in ipairs(args) do
    strides[n] = {}
    for d = 1, t.ndim do strides[n][d] = false end
  end
  return registered.register {name = row.name, args = args, strides = strides, accumulate = true, chip = row.kind}
end

-- ---- the value that stands for an accelerator

local meta = {__name = "nestwright.accelerator"}

function meta.__tostring(self)
  local names, known = {}, {}
  for _, row in ipairs(self.machine.accelerator.instructions or {}) do
    if not known[row.name] then names[#names + 1], known[row.name] = row.name, true end
  end
  return ("accelerator %s: %s; instructions: %s"):format(self.machine.name, self.machine.about, table.concat(names, ", "))
end

-- Instructions and memories are fields: vdla.gemm8x8 is an intrinsic, and vdla.acc is the name "acc".
local function field_of(nw, self, key)
  if type(key) ~= "string" then return nil end
  local a = self.machine.accelerator
  for _, row in ipairs(a.instructions or {}) do
    if row.name == key then
      local made = intrinsic_of(nw, row)
      rawset(self, key, made)
      return made
    end
  end
  for _, b in ipairs(a.buffers or {}) do
    if b.name == key or b.name .. "_buffer" == key then return b.name end
  end
  local names = {}
  for _, row in ipairs(a.instructions or {}) do names[#names + 1] = row.name end
  for _, b in ipairs(a.buffers or {}) do names[#names + 1] = b.name end
  local near = core.nearest(key, names)
  errors.fail("invalid", near and ("did you mean '%s'?"):format(near) or "its fields are " .. table.concat(names, ", "),
    "accelerator: %s has no instruction or memory named '%s'", self.machine.name, key)
end

function accelerator.is(value) return getmetatable(value) == meta end

function accelerator.install(nw)
  rows.field("accelerator", "accelerators", "machine", "nw.machine", "The record of the machine.")
  rows.field("accelerator", "accelerators", "target", "nw.target", "The target, for which nw.schedule makes a schedule.")
  rows.field("accelerator", "accelerators", "name", "string", "The name of the machine. The other fields are the names of its "
    .. "instructions (intrinsics for s:tensorize) and of its memories.")
  meta.__index = function(self, key) return field_of(nw, self, key) end
  rows.define(nw, "nw", "accelerators", "accelerator", "(machine: string|table|nw.machine): nw.accelerator",
    "An accelerator: its machine record, its target, and its instructions. The argument is a name of nw.machines(), a file, a "
    .. "table as in nw.machine, or a record. nw.schedule(C, {target = vdla}) makes a schedule for it. Its fields are the "
    .. "instructions, which s:tensorize takes (vdla.gemm8x8), and the names of its memories, which s:cache_read and s:cache_write "
    .. "take (vdla.acc or vdla.acc_buffer). An instruction that copies, fills or computes element by element replaces a nest of "
    .. "any size.",
    function(what)
      local m = machine.of(what, "accelerator: machine")
      if m.kind ~= "accelerator" then
        errors.fail("invalid", 'nw.accelerator "vdla"', "accelerator: %s is not an accelerator", m.name)
      end
      check_dtypes(m)
      return setmetatable({machine = m, target = core.target(m), name = m.name}, meta)
    end)
end

return accelerator
