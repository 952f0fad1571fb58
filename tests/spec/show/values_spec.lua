--- Tests that every kind of value can be shown by every writer: as plain text, with colours, as HTML, in a notebook, as SVG, as PNG
--- and as characters. The bench of truth also shows the kinds that take seconds to make.
package.path = "tests/spec/show/?.lua;" .. package.path
local values = require "values"
local support = require "support"

describe("a value is shown by every writer:", function()
  for _, kind in ipairs(values.kinds) do
    it(kind[1], function()
      if kind[3] then return pending "it takes seconds; ./dev bench truth shows it" end
      if kind[1]:find "^plot" and not support.have_gnuplot() then return pending "gnuplot is not installed" end
      local value = kind[2]()
      for _, writer in ipairs(values.writers) do
        local text = writer[2](value)
        if text ~= nil then assert.is_nil(values.fault(kind[1], text), writer[1]) end
      end
    end)
  end

  it("faults are noticed", function()
    assert.equal("an address", values.fault("table", "table: 0x5581234567"))
    assert.equal("the word nil", values.fault("table", "idle nil of it"))
    assert.equal("empty", values.fault("table", ""))
    assert.equal("nan", values.fault("table", "spread -nan %"))
    assert.is_nil(values.fault("table", "annihilated"))
  end)
end)
