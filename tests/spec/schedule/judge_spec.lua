--- Tests the judge, which decides whether a step is legal, with the programs in tests/bench/judge. Legal steps must be accepted and
--- must not change the results. Illegal steps must be refused for the right reason.
package.path = "tests/bench/?.lua;" .. package.path
local judge = require "_judge"
local rows = judge.rows "tests/bench/judge"

describe("the judge accepts", function()
  for _, row in ipairs(rows.legal) do
    it(row.area .. ": " .. row.what, function()
      local problem = judge.legal(row, judge.times())
      if problem then error(problem, 0) end
    end)
  end
end)

describe("the judge refuses", function()
  for _, row in ipairs(rows.illegal) do
    it(row.area .. ": " .. row.what, function()
      local _, problem = next((judge.illegal(row, judge.times())))
      if problem then error(problem, 0) end
    end)
  end
end)
