--- Runs programs with pocl, which runs OpenCL on the CPU.
local support = require "support"

local pocl = {}

local ICD = "/etc/OpenCL/vendors/pocl.icd"

--- Returns why pocl cannot be used, or nil if it can.
function pocl.missing()
  local file = io.open(ICD)
  if not file then return "skipped: pocl is not installed; in Debian it is the package pocl-opencl-icd" end
  file:close()
end

-- The directory with what pocl has compiled. Other users of pocl have their own.
local cache

--- Returns what comes before a command so that it uses only pocl.
function pocl.environment()
  if not cache then
    cache = support.temporary()
    os.execute("mkdir -p " .. cache)
  end
  return ("env OCL_ICD_VENDORS=pocl.icd POCL_CACHE_DIR=%s POCL_MAX_PTHREAD_COUNT=2 "):format(cache)
end

--- Deletes what pocl has compiled.
function pocl.close()
  if cache then os.execute("rm -rf " .. cache) end
  cache = nil
end

--- Runs a Lua program. Returns what it prints, without notes. prefix: a command that comes before it.
function pocl.run(text, prefix)
  local file = support.temporary ".lua"
  support.write(file, text)
  local out = support.run(pocl.environment() .. (prefix or "") .. " " .. support.program .. " " .. file)
  os.remove(file)
  return (out:gsub("note: [^\n]*\n", ""))
end

return pocl
