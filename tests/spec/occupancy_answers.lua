--- Compares occupancies with those of NVIDIA's cuda_occupancy.h. tests/tools/occupancy.c has written the answers.
local core = require "nestwright.core"
local nw = require "nestwright"

local answers = {}

local PATH = "tests/spec/occupancy.txt"
local LETTERS = {{"warps", "w"}, {"blocks", "b"}, {"registers", "r"}, {"shared memory", "s"}}

local function numbers(text)
  local out = {}
  for n in text:gmatch "%d+" do out[#out + 1] = math.tointeger(n) end
  return out
end

-- Returns an occupancy as an answer: the number of blocks, and a letter for each resource that limits it.
local function text_of(got)
  local out = tostring(got.blocks)
  for _, row in ipairs(LETTERS) do
    if got.limits[row[1]] == got.blocks then out = out .. row[2] end
  end
  return out
end

--- Returns the number of configurations, and the mismatches as texts.
function answers.compare()
  local shared, machine, n, wrong = nil, nil, 0, {}
  for line in io.lines(PATH) do
    local threads, registers, row = line:match "^(%d+) (%d+):(.*)$"
    shared = shared or line:find "^shared" and numbers(line)
    machine = line:match "^machine (.*)" and nw.machine(line:match "^machine (.*)") or machine
    local k = 0
    for answer in (row or ""):gmatch "%S+" do
      n, k = n + 1, k + 1
      local got = text_of(core.gpu_occupancy(machine, math.tointeger(threads), math.tointeger(registers), shared[k]))
      if got ~= answer then
        wrong[#wrong + 1] = ("%s: %s threads, %s registers, %d bytes: %s, but got %s"):format(machine.name, threads, registers,
          shared[k], answer, got)
      end
    end
  end
  return n, wrong
end

return answers
