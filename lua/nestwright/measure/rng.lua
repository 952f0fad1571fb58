--- Generates random numbers. A seed gives the same numbers on every machine and in every version of Lua.
local rng = {}
rng.__index = rng

--- @param seed integer
function rng.new(seed)
  local self = setmetatable({state = seed * 2654435769 + 88172645463325252}, rng)
  for _ = 1, 4 do self:next() end
  return self
end

--- Returns the next 63 random bits (xorshift64, with a multiplication of the output).
function rng:next()
  local x = self.state
  x = x ~ (x << 13)
  x = x ~ (x >> 7)
  x = x ~ (x << 17)
  self.state = x
  return (x * 0x2545F4914F6CDD1D) >> 1
end

--- Returns an integer from lo to hi.
function rng:int(lo, hi) return lo + self:next() % (hi - lo + 1) end

--- True with probability p.
function rng:chance(p) return (self:next() % 10000) < p * 10000 end

function rng:pick(list) return list[self:int(1, #list)] end

function rng:shuffle(list)
  for i = #list, 2, -1 do
    local j = self:int(1, i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

return rng
