--- Measures the errors of the math functions that kernels for NVIDIA GPUs have. The functions are plain LLVM code, so they are
--- compiled for this host with llc, and compared with libm in higher precision.
local nw = require "nestwright"
local core = require "nestwright.core"
local support = require "support"

local FUNCTIONS = {f32 = {"exp", "log", "tanh", "erf", "pow"}, f64 = {"exp", "log", "tanh", "erf", "pow"}}

-- Returns the LLVM code of a math function of kernels, with the declarations of what it calls.
local function code_of(name, dtype)
  local A, B = nw.placeholder({64}, dtype, "A"), nw.placeholder({64}, dtype, "B")
  local Y = nw.compute({64}, function(i) return name == "pow" and nw.pow(A(i), B(i)) or nw[name](A(i)) end, "Y")
  local s = nw.schedule(Y, {target = "a100"})
  s:bind("i", "threadIdx.x")
  local text = core.kernel_text(s:build(), "llvm-plain")
  local code = text:match("(define internal [^\n]*@" .. name .. "_" .. dtype .. ".-\n}\n)")
  code = code:gsub("define internal", "define"):gsub(" #%d+", "")
  local out = {code}
  for line, callee in text:gmatch "(declare [^\n]*@([%w_.]+)%([^\n]*\n)" do
    if code:find("@" .. callee .. "(", 1, true) then out[#out + 1] = line:gsub(" #%d+", "") end
  end
  return table.concat(out)
end

describe("math functions of kernels for NVIDIA GPUs", function()
  local there = select(2, support.run "llc-19 --version && cc --version && grep -q '^flags.* fma ' /proc/cpuinfo") == 0
  if not there then return pending "llc-19, a C compiler or an x86 CPU with fma is not there" end

  it("are as exact as stated", function()
    local dir = support.temporary()
    os.execute("mkdir " .. dir)
    for dtype, names in pairs(FUNCTIONS) do
      for _, name in ipairs(names) do
        local path = ("%s/%s_%s"):format(dir, name, dtype)
        support.write(path .. ".ll", code_of(name, dtype))
        local said, status = support.run(("llc-19 -mattr=+fma -O2 -filetype=obj -relocation-model=pic %s.ll -o %s.o"):format(path,
          path))
        assert.equal(0, status, said)
      end
    end
    local out, status = support.run(("cc -O2 -ffp-contract=off tests/device/math_errors.c %s/*.o -o %s/main -lm && %s/main"):format(
      dir, dir, dir))
    os.execute("rm -r " .. dir)
    assert.equal(0, status, out)
    local measured = 0
    for name, error in out:gmatch "(%w+_f%d+) (%S+)\n" do
      assert(tonumber(error) <= (name == "pow_f32" and 0.6 or 1.4), name .. ": " .. error)
      measured = measured + 1
    end
    assert.equal(10, measured, out)
  end)
end)
