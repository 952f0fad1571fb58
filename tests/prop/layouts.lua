--- Layouts of tensors, by name. A step holds only the name, so that it is plain data. The functions take the logical indices.
local layouts = {
  reversed = function(...)
    local at, out = {...}, {}
    for d = 1, #at do out[d] = at[#at + 1 - d] end
    return table.unpack(out)
  end,
  panels = function(...) -- cuts the last dimension into pieces of 4; the first index of the layout is the number of the piece
    local at = {...}
    local last = at[#at]
    at[#at] = nil
    table.insert(at, 1, last // 4)
    at[#at + 1] = last % 4
    return table.unpack(at)
  end,
  slanted = function(...) -- adds the last index to the first
    local at = {...}
    at[1] = at[1] + at[#at]
    return table.unpack(at)
  end,
  rotated = function(...) -- adds the first index to the last, modulo 7; one-to-one if the last extent is at most 7
    local at = {...}
    at[#at] = (at[#at] + at[1]) % 7
    return table.unpack(at)
  end,
  swizzled = function(...) -- exchanges groups of bits of the last index; one-to-one unless the tensor has one dimension
    local at = {...}
    at[#at] = at[#at] ~ at[1] % 4
    return table.unpack(at)
  end,
  mixed = function(...) -- the code of Gray of the first index, and bits of it in the last one
    local at = {...}
    at[#at] = at[#at] ~ at[1] // 2
    at[1] = at[1] ~ at[1] // 2
    return table.unpack(at)
  end,
  backwards = function(...)
    local at = {...}
    at[#at] = 17 - at[#at]
    return table.unpack(at)
  end,
  gaps = function(...)
    local at = {...}
    at[#at] = 3 * at[#at] + 1
    return table.unpack(at)
  end,
  skewed = function(...) -- not one-to-one
    local at = {...}
    at[#at] = at[#at] // 2
    return table.unpack(at)
  end,
}

-- Returns a function with as many parameters as the tensor has dimensions.
local function with_rank(f, rank)
  if rank == 1 then return function(a) return f(a) end end
  if rank == 2 then return function(a, b) return f(a, b) end end
  if rank == 3 then return function(a, b, c) return f(a, b, c) end end
  return function(a, b, c, d) return f(a, b, c, d) end
end

--- Returns the layout with this name for a tensor of this rank.
return function(name, rank) return with_rank(layouts[name], rank) end
