--- Tests the statistics of predictions: ranks, Kendall's tau-b, Spearman's rho, pairs, errors, regrets.
local rng = require "nestwright.measure.rng"
local st = require "nestwright.measure.statistics"

local function near(want, got, tolerance) assert.is_true(math.abs(want - got) <= (tolerance or 1e-12), tostring(got)) end

-- Returns `n` random whole numbers from 1 to `values`, so that many of the numbers are equal.
local function random_list(r, n, values)
  local out = {}
  for k = 1, n do out[k] = r:int(1, values) end
  return out
end

local function sign(v) return v > 0 and 1 or v < 0 and -1 or 0 end

-- Returns tau-b by its definition, as the correlation of the signs of all differences.
local function tau_by_signs(a, b)
  local ab, aa, bb = 0, 0, 0
  for i = 1, #a do
    for j = 1, #a do
      local x, y = sign(a[i] - a[j]), sign(b[i] - b[j])
      ab, aa, bb = ab + x * y, aa + x * x, bb + y * y
    end
  end
  return ab / math.sqrt(aa * bb)
end

-- Returns the rank of number n of the list. The rank is L + E/2 + 1/2, for L smaller numbers and E equal numbers (including the
-- number itself).
local function rank_by_count(list, n)
  local less, equal = 0, 0
  for _, v in ipairs(list) do
    if v < list[n] then less = less + 1 elseif v == list[n] then equal = equal + 1 end
  end
  return less + (equal + 1) / 2
end

describe("ranks", function()
  it("of equal numbers are the mean of their positions", function()
    assert.same({2, 3.5, 1, 3.5}, st.ranks {5, 9, -2, 9})
    assert.same({2, 2, 2}, st.ranks {7, 7, 7})
    assert.same({}, st.ranks {})
  end)

  it("equal those found by counting", function()
    local r = rng.new(1)
    for _ = 1, 30 do
      local list = random_list(r, r:int(1, 20), r:int(1, 8))
      for n, rank in ipairs(st.ranks(list)) do assert.equal(rank_by_count(list, n), rank) end
    end
  end)
end)

describe("Kendall's tau-b", function()
  it("is 1 for the same order and -1 for the opposite order, whatever the differences", function()
    assert.equal(1, st.tau({1, 2, 3}, {10, 20, 1e9}))
    assert.equal(-1, st.tau({1, 2, 3}, {3, 2, 1}))
    near(1 / 3, st.tau({1, 2, 3}, {1, 3, 2}))
  end)

  it("equals published values for lists with ties", function()
    -- The example of scipy.stats.kendalltau: tau-b of {12, 2, 1, 12, 2} and {1, 4, 7, 1, 0}.
    near(-0.47140452079103173, st.tau({12, 2, 1, 12, 2}, {1, 4, 7, 1, 0}))
  end)

  it("is the correlation of the signs of all differences", function()
    local r = rng.new(2)
    for _ = 1, 50 do
      local n = r:int(3, 25)
      local a, b = random_list(r, n, r:int(2, 9)), random_list(r, n, r:int(2, 9))
      a[1], a[2], b[1], b[2] = 0, 1, 0, 1 -- so that not all numbers are equal
      near(tau_by_signs(a, b), st.tau(a, b))
    end
  end)

  it("is nil if all values of one list are equal", function()
    assert.is_nil(st.tau({1, 1, 1}, {1, 2, 3}))
    assert.is_nil(st.tau({1}, {1}))
    assert.is_nil(st.tau({}, {}))
  end)
end)

describe("Spearman's rho", function()
  it("is 1 - 6*sum(d^2)/(n*(n^2 - 1)) without ties", function()
    near(1 - 6 * (1 + 1 + 4 + 1 + 1) / (5 * 24), st.spearman({1, 2, 3, 4, 5}, {2, 1, 5, 3, 4}), 1e-12)
    assert.is_nil(st.spearman({1, 1}, {1, 2}))
  end)

  it("is the correlation of the ranks if there are ties", function()
    -- The ranks are {1.5, 1.5, 3, 4} and {1, 2.5, 2.5, 4}.
    near(3.75 / 4.5, st.spearman({1, 1, 2, 3}, {1, 2, 2, 3}))
  end)
end)

describe("pairs, errors, regrets and shares:", function()
  it("a pair with equal times is ignored, and a pair with equal predictions counts as half right", function()
    near(2.5 / 3, st.pairwise({1, 1, 2}, {1, 2, 3}))
    near(1, st.pairwise({1, 2, 5}, {4, 4, 9}))
    assert.is_nil(st.pairwise({1, 2}, {3, 3}))
  end)

  it("the error of predictions is the median of their relative errors", function()
    near(0.25, st.median_error({1.25, 3, 0.9}, {1, 1, 1}))
    near(0.3, st.median_error({1.2, 0.6}, {1, 1}))
    assert.equal(2.5, st.median {4, 1, 3, 2})
    assert.is_nil(st.median {})
  end)

  it("the regret is the loss if only the k best predictions are measured", function()
    local truth, guess = {3, 1, 2}, {1, 3, 2}
    near(2, st.regret(guess, truth, 1))
    near(1, st.regret(guess, truth, 2))
    near(0, st.regret(guess, truth, 3))
    near(0, st.regret(guess, truth, 9))
  end)

  it("the lowest share of the values includes ties with the last value", function()
    assert.same({{30, 10}, {2, 1}}, {st.lowest({30, 40, 10, 20}, {2, 4, 1, 3}, 0.5)})
    assert.same({{1, 2, 3}, {5, 5, 5}}, {st.lowest({1, 2, 3, 4}, {5, 5, 5, 6}, 0.25)})
  end)
end)
