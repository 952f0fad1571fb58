--- Measures how well one list of numbers predicts another of equal length. The lists need not be sorted: entries with the same
--- index belong together.
local statistics = {}

--- Returns the ranks of numbers, counted from 1; equal numbers get their mean rank.
function statistics.ranks(list)
  local order, ranks = {}, {}
  for n = 1, #list do order[n] = n end
  table.sort(order, function(a, b) return list[a] < list[b] end)
  local from = 1
  while from <= #order do
    local to = from
    while to < #order and list[order[to + 1]] == list[order[from]] do to = to + 1 end
    for n = from, to do ranks[order[n]] = (from + to) / 2 end
    from = to + 1
  end
  return ranks
end

--- Returns the numbers of pairs of entries of five kinds. `same` counts the pairs with the same order in both lists, and `opposite`
--- the pairs with opposite orders. `equal_a` counts the pairs that are equal only in `a`, `equal_b` the pairs that are equal only
--- in `b`, and `equal` the pairs that are equal in both.
function statistics.pairs_of(a, b)
  local p = {same = 0, opposite = 0, equal_a = 0, equal_b = 0, equal = 0}
  for i = 2, #a do
    for j = 1, i - 1 do
      local kind
      if a[i] == a[j] then kind = b[i] == b[j] and "equal" or "equal_a"
      elseif b[i] == b[j] then kind = "equal_b"
      else kind = (a[i] < a[j]) == (b[i] < b[j]) and "same" or "opposite" end
      p[kind] = p[kind] + 1
    end
  end
  return p
end

--- Returns Kendall's tau-b, from -1 to 1, or nil if all values of a list are equal. Ties do not count in the numerator and reduce
--- the denominator (M. G. Kendall, The treatment of ties in ranking problems, Biometrika 33, 1945).
function statistics.tau(a, b)
  local p = statistics.pairs_of(a, b)
  local differ = p.same + p.opposite
  local below = (differ + p.equal_a) * (differ + p.equal_b)
  if below > 0 then return (p.same - p.opposite) / math.sqrt(below) end
end

local function mean(list)
  local sum = 0
  for _, v in ipairs(list) do sum = sum + v end
  return sum / #list
end

local function correlation(a, b)
  local ma, mb, ab, aa, bb = mean(a), mean(b), 0, 0, 0
  for n = 1, #a do
    local x, y = a[n] - ma, b[n] - mb
    ab, aa, bb = ab + x * y, aa + x * x, bb + y * y
  end
  if aa > 0 and bb > 0 then return ab / math.sqrt(aa * bb) end
end

--- Returns Spearman's rho, which is the correlation of the ranks, or nil if all values of a list are equal.
function statistics.spearman(a, b)
  if #a > 1 then return correlation(statistics.ranks(a), statistics.ranks(b)) end
end

--- Returns the fraction of the pairs with different values in `truth` whose order `guess` predicts. A pair with equal guesses
--- counts as one half.
function statistics.pairwise(guess, truth)
  local p = statistics.pairs_of(guess, truth)
  local all = p.same + p.opposite + p.equal_a
  if all > 0 then return (p.same + p.equal_a / 2) / all end
end

function statistics.median(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local n = #sorted
  if n > 0 then return (sorted[(n + 1) // 2] + sorted[n // 2 + 1]) / 2 end
end

--- Returns the median of the relative errors |guess - truth| / truth.
function statistics.median_error(guess, truth)
  local errors = {}
  for n = 1, #guess do errors[n] = math.abs(guess[n] - truth[n]) / truth[n] end
  return statistics.median(errors)
end

--- Returns t/best - 1, where t is the least true time among the k lowest guesses, and best is the least true time of all.
function statistics.regret(guess, truth, k)
  local order, best, found = {}, math.huge, math.huge
  for n = 1, #guess do order[n], best = n, math.min(best, truth[n]) end
  table.sort(order, function(i, j) return guess[i] < guess[j] or guess[i] == guess[j] and i < j end)
  for n = 1, math.min(k, #order) do found = math.min(found, truth[order[n]]) end
  if #order > 0 then return found / best - 1 end
end

--- Returns both lists, restricted to the entries with the lowest values of `truth`. share: the fraction of the entries that is
--- kept. Entries that are equal to the last kept entry are kept too.
function statistics.lowest(guess, truth, share)
  local sorted = table.move(truth, 1, #truth, 1, {})
  table.sort(sorted)
  local most, g, t = sorted[math.max(1, math.ceil(share * #sorted))], {}, {}
  for n = 1, #truth do
    if truth[n] <= most then g[#g + 1], t[#t + 1] = guess[n], truth[n] end
  end
  return g, t
end

return statistics
