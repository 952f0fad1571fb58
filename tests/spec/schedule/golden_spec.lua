--- Compares programs after each step with golden files (*.ir). UPDATE_GOLDEN=1 rewrites the files. Read the diff before you commit
--- it.
local programs = require "golden_programs"
local support = require "support"

-- Returns the short form of the program after every step, and then the full form of the last program.
local function history(case)
  local made = table.pack(case.make())
  local s = made[1]
  local out = {"# naive\n", tostring(s), "\n"}
  for _, step in ipairs(case.steps) do
    step(table.unpack(made, 1, made.n))
    local ok, why = s:reparses()
    assert(ok, why)
    local trace = s:trace():gsub("\n$", ""):match "[^\n]*$"
    out[#out + 1] = ("\n# %s\n%s\n"):format(trace, tostring(s))
  end
  out[#out + 1] = "\n# the full form\n" .. s:text()
  return table.concat(out), s
end

describe("programs are unchanged:", function()
  for name, case in pairs(programs) do
    it(name, function()
      local text, s = history(case)
      support.golden(name .. ".ir", text)
      if case.lowered then support.golden(name .. ".lowered.ir", tostring(s:show "lowered") .. "\n") end
    end)
  end
end)
