--- Shared by the benches: figures with their bars, printed and written as one flat JSON object.
local bench = {}

function bench.median(list)
  local sorted = {table.unpack(list)}
  table.sort(sorted)
  local n = #sorted
  if n == 0 then return 0 / 0 end
  return n % 2 == 1 and sorted[(n + 1) // 2] or (sorted[n // 2] + sorted[n // 2 + 1]) / 2
end

--- The value that a share of the list, 0.99 say, does not exceed.
function bench.quantile(list, share)
  local sorted = {table.unpack(list)}
  table.sort(sorted)
  return #sorted > 0 and sorted[math.max(1, math.ceil(share * #sorted))] or 0 / 0
end

function bench.geometric_mean(list)
  local sum = 0
  for _, v in ipairs(list) do sum = sum + math.log(v) end
  return math.exp(sum / #list)
end

--- Minima over rounds in which each of these, functions that return seconds, runs in turn.
function bench.race(list, rounds)
  local best = {}
  for _ = 1, rounds do
    for n, f in ipairs(list) do best[n] = math.min(best[n] or math.huge, f()) end
  end
  return best
end

--- A function that returns the seconds of a call of a kernel.
function bench.timed(f, ...)
  local args = {...}
  args[#args + 1] = {reps = 2, warmup = 1, min_seconds = 0}
  return function() return f:time(table.unpack(args)).min end
end

local out = {}
out.__index = out

--- A new set of figures, to be written to `path`.
function bench.open(path) return setmetatable({path = path, figures = {}, missed = 0}, out) end

--- Records a figure; with a comparison (">=" or "<=") and a bar it also says whether the bar is met.
function out:bar(name, value, comparison, bar)
  self.figures[#self.figures + 1] = {name, value}
  local verdict = ""
  if comparison then
    local met = comparison == ">=" and value >= bar or comparison == "<=" and value <= bar
    if not met then self.missed = self.missed + 1 end
    verdict = ("  bar %s %g  %s"):format(comparison, bar, met and "met" or "MISSED")
  end
  print(("%-32s %10.3f%s"):format(name, value, verdict))
end

function out:close()
  local file = assert(io.open(self.path, "w"))
  file:write "{\n"
  for n, figure in ipairs(self.figures) do
    file:write(("  %q: %.6g%s\n"):format(figure[1], figure[2], n < #self.figures and "," or ""))
  end
  file:write "}\n"
  file:close()
  print(("%s: %d figures, %d bars missed"):format(self.path, #self.figures, self.missed))
end

return bench
