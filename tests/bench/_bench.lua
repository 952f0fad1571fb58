--- Functions that all benches use. A figure is a measured value with a name. The bar of a figure is a limit that the value must not
--- cross. Figures and bars are printed, and the figures are written to a file as one flat JSON object.
local bench = {}

package.loaded["nestwright.script"] = nil -- the remarks of steps are not written

function bench.median(list)
  local sorted = {table.unpack(list)}
  table.sort(sorted)
  local n = #sorted
  if n == 0 then return 0 / 0 end
  return n % 2 == 1 and sorted[(n + 1) // 2] or (sorted[n // 2] + sorted[n // 2 + 1]) / 2
end

--- Returns a quantile of a list. At least the fraction `share` of the values are less than or equal to the result. Returns NaN for
--- an empty list.
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

--- Runs the functions of `list` in turn, `rounds` times. Each function returns seconds. Returns the minimum for each function.
function bench.race(list, rounds)
  local best = {}
  for _ = 1, rounds do
    for n, f in ipairs(list) do best[n] = math.min(best[n] or math.huge, f()) end
  end
  return best
end

--- Returns the number of calls in a row that take about a millisecond, as in a sample of f:time. f(n) makes n calls and returns the
--- seconds of one. A single call takes longer: the clock is read by a system call, which empties the TLB on some systems, and a
--- virtual machine then needs 50 us to find 4 MB again.
function bench.calls(f) return math.max(1, math.ceil(1e-3 / math.min(f(3), f(3)))) end

--- Returns a function that calls a kernel and returns the seconds of the call.
function bench.timed(f, ...)
  local args = {...}
  args[#args + 1] = {reps = 2, warmup = 1, min_seconds = 0}
  return function() return f:time(table.unpack(args)).min end
end

local out = {}
out.__index = out

--- Returns a new set of figures, which will be written to `path`.
function bench.open(path) return setmetatable({path = path, figures = {}, directions = {}, missed = 0}, out) end

--- Records a figure without printing it.
function out:record(name, value) self.figures[#self.figures + 1] = {name, value} end

--- Records and prints a figure. If a comparison (">=" or "<=") and a bar are given, also prints whether the figure meets the bar.
--- plausible: true if the bar only bounds the values that are believable. Then a value nearer to the bar is not worse.
function out:bar(name, value, comparison, bar, plausible)
  self:record(name, value)
  local verdict = ""
  if comparison then
    if not plausible then self.directions[#self.directions + 1] = {name, comparison} end
    local met = comparison == ">=" and value >= bar or comparison == "<=" and value <= bar
    if not met then self.missed = self.missed + 1 end
    verdict = ("  bar %s %g  %s"):format(comparison, bar, met and "met" or "MISSED")
  end
  print(("%-32s %10.3f%s"):format(name, value, verdict))
end

-- Writes a flat JSON object, one line for each pair.
local function write(path, pairs_of, format)
  local file = assert(io.open(path, "w"))
  file:write "{\n"
  for n, pair in ipairs(pairs_of) do
    file:write(("  %q: " .. format .. "%s\n"):format(pair[1], pair[2], n < #pairs_of and "," or ""))
  end
  file:write "}\n"
  file:close()
end

--- Writes the figures. If NW_BENCH_DIRECTIONS names a file, writes the comparison of each figure with a bar to this file.
function out:close()
  write(self.path, self.figures, "%.6g")
  local directions = os.getenv "NW_BENCH_DIRECTIONS"
  if directions then write(directions, self.directions, "%q") end
  print(("%s: %d figures, %d bars missed"):format(self.path, #self.figures, self.missed))
end

return bench
