--- Measures how long all test suites take, without the build.
local core = require "nestwright.core"

return function(out)
  local since = core.now()
  local fine = os.execute "tests/tools/run_all.sh build/dev >build/bench/house_tests.log 2>&1"
  if not fine then print "tests failed: see build/bench/house_tests.log" end
  out:bar("house.test_failures", fine and 0 or 1, "<=", 0)
  out:bar("house.test_minutes", (core.now() - since) / 60, "<=", 8)
end
