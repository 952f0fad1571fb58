--- Draws the bars of a timeline's lane as boxes. Adjacent bars that are too narrow to distinguish form a run. A run is drawn as
--- columns a few pixels wide. The height of a column is the fraction of its time that bars cover. The kinds of bars are stacked in
--- a column. The drawn area is therefore about equal to the recorded busy time.
local bars = {}

local NARROW, NEAR = 3, 2 -- pixels: bars below this width are narrow; bars within this distance are near
local STEPS = 24 -- the number of steps of a column's height; neighbours with the same steps are merged

-- Returns runs {from, to, row, bars}. Narrow bars that are close to each other form one run. Each of the remaining bars is a
-- separate run.
local function runs_of(list, pixel)
  local out, last = {}, {}
  for _, bar in ipairs(list) do
    local run, narrow = last[bar.row], bar.to - bar.from < NARROW * pixel
    if run and run.narrow and narrow and bar.from - run.to < NEAR * pixel then
      run.to = math.max(run.to, bar.to)
      table.insert(run.bars, bar)
    else
      run = {from = bar.from, to = bar.to, row = bar.row, narrow = narrow, bars = {bar}}
      out[#out + 1], last[bar.row] = run, run
    end
  end
  return out
end

-- Returns the busy time of each kind in each column: columns[n][kind].
local function busy_of(run, n, width)
  local columns = {}
  for k = 1, n do columns[k] = {} end
  for _, bar in ipairs(run.bars) do
    local first = math.min((bar.from - run.from) / width // 1 | 0, n - 1)
    local last = math.min((bar.to - run.from) / width // 1 | 0, n - 1)
    for k = first, last do
      local from, to = math.max(bar.from, run.from + k * width), math.min(bar.to, run.from + (k + 1) * width)
      local column, kind = columns[k + 1], bar.kind or ""
      if to > from or first == last then column[kind] = (column[kind] or 0) + math.max(to - from, 0) end
    end
  end
  return columns
end

-- Returns the upper end of each kind in a column, in steps. The total height is rounded to whole steps. Every kind that occurs in
-- the column is visible.
local function tops_of(busy, kinds, width)
  local tops, sum, top = {}, 0, 0
  for n, kind in ipairs(kinds) do
    local part = busy[kind.name]
    if part then
      sum = sum + part
      top = math.min(math.max(top + 1, (sum / width * STEPS + 0.5) // 1), STEPS)
    end
    tops[n] = top
  end
  return tops
end

local function add_column(run, from, to, tops, kinds, out)
  local low = 0
  for n, kind in ipairs(kinds) do
    if tops[n] > low then
      out[#out + 1] = {from = from, to = to, row = run.row, kind = kind.name, low = low / STEPS, high = tops[n] / STEPS}
    end
    low = tops[n]
  end
end

local function add_columns(run, kinds, least, out)
  local n = math.max(1, math.ceil((run.to - run.from) / least))
  local width, begins, now = (run.to - run.from) / n, run.from, nil
  for k, busy in ipairs(busy_of(run, n, width)) do
    local tops, at = tops_of(busy, kinds, width), run.from + (k - 1) * width
    if now and table.concat(tops, " ") ~= table.concat(now, " ") then
      add_column(run, begins, at, now, kinds, out)
      begins, now = at, nil
    end
    now = now or tops
  end
  add_column(run, begins, run.to, now, kinds, out)
end

--- Returns the boxes of bars, in the order of their start: {from, to, row, kind, low and high (as fractions of the row's height),
--- bar (if the box is a single bar)}. kinds: a list of {name}, from the lowest kind to the highest; pixel: the duration of a pixel;
--- column: the duration of the narrowest column.
function bars.boxes(list, kinds, pixel, column)
  local out = {}
  for _, run in ipairs(runs_of(list, pixel)) do
    local alone = #run.bars == 1 and run.bars[1]
    if alone then
      out[#out + 1] = {from = run.from, to = run.to, row = run.row, kind = alone.kind or "", low = 0, high = 1, bar = alone}
    else
      run.to = math.max(run.to, run.from + pixel) -- a narrower run would be invisible
      add_columns(run, kinds, column, out)
    end
  end
  return out
end

return bars
