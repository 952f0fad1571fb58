--- Compares the outputs of a kernel with those of the interpreter.

--- Returns where the first bits differ, and both values, as text; nil if all outputs are equal. All NaNs count as equal.
local function differ(want, got)
  for n, array in ipairs(want) do
    for i = 1, array:count() do
      local x, y = array:getflat(i), got[n]:getflat(i)
      if x ~= y and (x == x or y == y) then return ("output %d at %d: %s, not %s"):format(n, i, y, x) end
    end
  end
end

return differ
