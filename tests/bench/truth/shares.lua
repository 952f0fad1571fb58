--- Measures shares of a peak while other work runs. A share above 1.02 needs a remark. A roof of two threads that is lower than the
--- roof of one thread also needs a remark.
local load = require "_load"
local nests = require "_nests"
local nw = require "nestwright"
local schedules = require "_schedules"

local ABOVE = 1.02

local PROGRAMS = {
  {"packed product", function() return schedules.gemm(384, 1) end},
  {"small product", function() return (nests.gemm(32)) end},
  {"map", function() return (nests.map(64, 256)) end},
  {"sum of rows", function() return (nests.fold("sum", 256, 256)) end},
}

local function column(p, name)
  for n, c in ipairs(p.columns) do if c == name then return n end end
end

-- Returns the number of dots of a roofline, and the number of dots that are above a roof and have no remark. The rows of the
-- picture hold the shares. The caption has a line for each dot.
local function dots_of(p)
  local label, share, n, bare = column(p, "label"), column(p, "share"), 0, 0
  for _, row in ipairs(p.rows) do
    if row[share] then
      n = n + 1
      local at = p.caption:find(row[label] .. ": ", 1, true) or p.caption:find(row[label], 1, true)
      local line = at and p.caption:sub(at):match "[^\n]*" or ""
      if row[share] > ABOVE and not line:find("the dot is above", 1, true) then
        print(("  %s: %.3f of %s"):format(row[label], row[share], line))
        bare = bare + 1
      end
    end
  end
  return n, bare
end

return function(out)
  local cores, shares, bare = require "nestwright.measure.times".cores(), 0, 0
  local function tally(n, without) shares, bare = shares + n, bare + without end
  for _, kind in ipairs(load.kinds) do
    local stop = load.start(kind, cores)
    for threads = 1, math.min(2, cores) do
      local r = nw.roofs {threads = threads, fresh = true}
      for _, row in ipairs(PROGRAMS) do tally(dots_of(nw.roofline(row[2](), {threads = threads}))) end
      if threads == 2 then
        local one = nw.roofs {threads = 1, fresh = true}
        local low = r.peak.best < one.peak.best and not (r.remark or r.peak.disturbed or one.peak.disturbed)
        if low then print("  " .. tostring(r)) end
        tally(1, low and 1 or 0)
      end
    end
    stop()
    os.execute "sleep 1"
  end
  out:bar("truth.shares", shares, ">=", 30)
  out:bar("truth.share_above_one", bare, "<=", 0)
end
