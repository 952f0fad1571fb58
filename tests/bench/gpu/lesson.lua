--- Predicts the last step of the notebook gpu_gemm at 4096 for an A100. Returns the share of the peak of f32 multiply-adds,
--- and what a request has beyond the least number: turns of shared memory, and sectors of global memory.
local json = require "nestwright.show.json"
local nw = require "nestwright"

local N = 4096

-- Runs the cells of the notebook with a small size. The last line of a cell may be an expression; it is left out. Returns the
-- variables of the notebook.
local function variables()
  local file <close> = assert(io.open "tutorials/gpu_gemm.ipynb")
  local env = setmetatable({nw = nw, print = function() end}, {__index = _G})
  for _, cell in ipairs(json.decode(file:read "a").cells) do
    local source = table.concat(cell.source):gsub("^N = 256", "N = 128")
    local run = cell.cell_type == "code"
      and (load(source, "cell", "t", env) or load(source:gsub("[^\n]+\n?$", ""), "cell", "t", env))
    if run then run() end
  end
  return env
end

-- Returns the mean of a count of the requests that `fits` selects, beyond the least count for their bytes.
local function beyond_least(accesses, count, unit, fits)
  local requests, sum = 0, 0
  for _, a in ipairs(accesses) do
    if fits(a) then
      requests = requests + a.requests
      sum = sum + a[count] - a.requests * math.max(1, a.bytes * 32 // unit)
    end
  end
  return sum / requests
end

return function()
  local lesson = variables()
  local s = lesson.product(N)
  nw.quietly(lesson.async, s)
  local c = s:cost {machine = "a100"}
  local gpu = c.machine.gpu
  local peak = 2 * gpu.sms * gpu.lanes * c.machine.clock * 1e9
  return 2 * N ^ 3 / c.seconds / peak,
    beyond_least(c.counts.accesses, "wavefronts", 128, function(a) return a.scope == "shared" end),
    beyond_least(c.counts.accesses, "sectors", 32, function(a) return a.scope == "global" end)
end
