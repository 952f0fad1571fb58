--- Checks that every kind of value that users get can be shown in every form (tests/spec/show/values.lua).
package.path = "tests/spec/show/?.lua;" .. package.path
local values = require "values"

return function(out)
  local shown, failures = 0, 0
  for _, kind in ipairs(values.kinds) do
    local made, value = pcall(kind[2])
    for _, writer in ipairs(values.writers) do
      local ok, text = pcall(writer[2], value)
      local fault = not made and tostring(value) or not ok and tostring(text) or text ~= nil and values.fault(kind[1], text)
      if fault then
        failures = failures + 1
        print(("  %s, %s: %s"):format(kind[1], writer[1], fault))
      elseif text ~= nil then
        shown = shown + 1
      end
    end
  end
  out:bar("truth.values_shown", shown, ">=", 60)
  out:bar("truth.show_failures", failures, "<=", 0)
end
