--- Tests loop nests as text: how they are read and printed, their accesses, and their cache misses.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

local LEVELS = {{bytes = 2048, ways = 4}, {bytes = 8192, ways = 0}}

-- Returns accesses as text, such as "A0 B3w C8:4": the array, the linear index, w for a write, and :4 for four elements.
local function touched(nest, options)
  local list, out = nest:accesses(options), {}
  for n = 1, #list do
    local a = list:at(n)
    out[n] = a.tensor .. a.index .. (a.lanes > 1 and ":" .. a.lanes or "") .. (a.write and "w" or "")
  end
  return table.concat(out, " ")
end

local function of(text, params) return touched(nw.nest.parse(text, params)) end

describe("the text of a nest", function()
  it("limits a vector access to 32768 bytes, even if its size in bytes does not fit in 64 bits", function()
    for _, lanes in ipairs {"9223372036854775807", "4611686018427387904", "2305843009213693953", "6917529027641081857", "4097",
      "1"} do
      fails("a vector access needs 2 or more elements, and at most 32768 bytes", "parse", nw.nest.parse,
        "array C: f64[16]\nC[0 : " .. lanes .. "] = 1\n")
    end
  end)

  it("may have any number of signs before a value", function()
    local signs = ("- "):rep(300000)
    assert.equal("A0 C0w", of("array C: f64[1]\narray A: f64[1]\nC[0] = " .. signs .. "A[0]\n"))
    fails("expected a value", "parse", nw.nest.parse, "array C: f64[1]\nC[0] = " .. ("not "):rep(300000))
  end)

  it("gives the order of accesses: an update reads its target, then its value from left to right, and then writes", function()
    assert.equal("C1 A2 B3 C1w", of "array C: f64[4]\narray A: f64[4]\narray B: f64[4]\nC[1] += alpha*A[2]*B[3]\n")
    assert.equal("B3 A2 C1w", of "array C: f64[4]\narray A: f64[4]\narray B: f64[4]\nC[1] = sqrt(B[3]) - (2.5 + A[2])/x\n")
    assert.equal("A0 A0 A0w A1 A1w", of "array A: f64[4]\nA[0] -= A[0]\nA[1] /= 2\n")
    assert.equal("A3 A2", of "array A: f64[4]\ns = A[3]\ns += A[2]*s\n")
    assert.equal("A3 A2", of "array A: f64[4]\nA[3] + A[2]\n")
    assert.equal("A6 A6 A6w", of "array A: f64[2, 4]\nA[1][2] *= A[1, 2]\n")
    assert.equal("A4:4 A0:2w", of "array A: f64[8]\nA[0 : 2] = A[4 : 4]\n")
  end)

  it("has loops with bounds, steps, and an order", function()
    assert.equal("A0 A3 A6 A9", of "array A: f64[10]\nfor i in 0..10 step 3:\n  A[i]\n")
    assert.equal("A3 A2 A1", of "array A: f64[10]\nfor i in 1..4 reversed:\n  A[i]\n")
    assert.equal("A2 A3", of "array A: f64[10]\nfor i in max(0, 2)..min(4, 7):\n  A[i]\n")
    assert.equal("A2 A3", of "param N = 7\narray A: f64[10]\nfor i in (N - 2)//2..ceildiv(N, 2):\n  A[i]\n")
    assert.equal("", of "array A: f64[10]\nfor i in 4..4:\n  A[i]\nfor i in 4..1:\n  A[i]\n")
    assert.equal("A0 A1 A2 A4 A5 A8", of "array A: f64[3, 4]\nfor i in 0..3:\n  for j in i..3:\n    A[i, j - i]\n")
  end)

  it("has ifs with affine conditions, also with quotients and remainders", function()
    assert.equal("A0 B1 A2 B3 A4", of [[
array A: f64[10]
array B: f64[10]
for i in 0..5:
  if i % 2 == 0:
    A[i]
  else:
    B[i]
]])
    assert.equal("A1 A2 A5", of "array A: f64[10]\nfor i in 0..6:\n  if 1 <= i and i < 3 or i // 5 != 0:\n    A[i]\n")
  end)

  it("places arrays: pages, alignment, addresses, padding", function()
    local n = nw.nest.parse [[
param N = 3
array A: f64[N, N]
array B: bytes(12)[N] align 64
array C: f32[N, N + 1] pad 2 address 4096*4
array S: i8[]
]]
    assert.same({
      {name = "A", address = 4096, bytes = 72, element = 8}, {name = "B", address = 4224, bytes = 36, element = 12},
      {name = "C", address = 16384, bytes = 72, element = 4}, {name = "S", address = 20480, bytes = 1, element = 1},
    }, n:arrays())
    assert.equal("A17", of "array A: f32[3, 4] pad 3\nA[2, 3]\n")
  end)

  it("is printed, and parsing it gives the same nest", function()
    local text = [[
nest all_of_it
param N = 12
param M = 2*N
array A: f64[N, M] pad 1
array B: bytes(12)[M] align 64
array C: f32[M] address 65536
array s: f64[]
parallel for i in 0..N chunk 2:
  for j in max(i - 2, 0)..min(M, i + 3) step 2:
    s[] += A[i, j]*B[j]/(2 - sqrt(x, 1)) < 3
  for k in 0..i reversed:
    C[k : 2] = A[i, k]
if 0 <= N:
  t = C[0]
else:
  pass]]
    local n = nw.nest.parse(text)
    assert.equal(tostring(n), tostring(nw.nest.parse(tostring(n))))
    assert.equal(text, tostring(n))
    assert.is_true(n == nw.nest.parse(text))
    assert.is_true(n ~= n:with {N = 13})
    assert.equal(tostring(n), tostring(n:show()))
  end)

  it("accepts other values for parameters", function()
    local n = nw.nest.parse "param N = 4, M = N + 1\narray A: f64[M]\nfor i in 0..N:\n  A[i]\n"
    assert.same({N = 4, M = 5}, n:params())
    assert.same({N = 7, M = 8}, n:with({N = 7}):params())
    assert.same({N = 7, M = 9}, n:with({N = 7}):with({M = 9}):params())
    assert.truthy(tostring(n:with {N = 7}):find "param N = 7\n")
    assert.equal(7, #n:with({N = 7}):accesses())
    fails("K is not a parameter", "invalid", n.with, n, {K = 1})
    fails("N: expected a whole number", "invalid", n.with, n, {N = 1.5})
  end)

  it("is refused with the place of the error", function()
    local function wrong(text, pattern, code) fails(pattern, code or "parse", nw.nest.parse, text) end
    wrong("array A: f64[4]\nA[k]\n", "2:3: k is neither a parameter nor a loop")
    wrong("B[1] = 2\n", "1:1: B is not an array")
    wrong("array A: f65[4]\n", "1:10: 'f65' is not a type")
    wrong("array A: f64[4]\nA[1, 2]\n", "2:1: A has 1 dimensions, not 2")
    wrong("array A: f64[4]\nfor A in 0..3:\n  A[0]\n", "2:5: A is already the name")
    wrong("for i in 0..3:\nx = 1\n", "2:1: expected an indented line")
    wrong("array A: f64[4]\n  A[0]\n", "2:3: this line is indented by 2")
    wrong("else:\n  x = 1\n", "1:1: there is no if")
    wrong("array A: f64[4]\nA[0] + 1 = 2\n", "2:10: the target of an assignment must be one reference")
    wrong("array A: f64[4]\nA[0] = \n", "expected a value, found the end of the line")
    wrong("for i in 0..4 step 0:\n  x = 1\n", "a step must be 1 or more")
    wrong("for i in 0..4:\n  i = 1\n", "2:3: i is a parameter or a loop")
    wrong("array A: f64[4]\nfor i in 0..4:\n  A[i*i]\n", "3:3: loop variables are multiplied", "limit")
    wrong("array A: f64[4]\nfor i in 0..4:\n  for j in 0..3:\n    if i*j < 2:\n      A[i]\n",
      "4:5: loop variables are multi", "limit")
    wrong("param N = M\n", "M is neither a parameter")
    wrong("param N = 3 // 0\n", "divisor", "limit")
    wrong("array A: f64[4]\nfor i in 0..5:\n  A[i]\n", "3:3: cannot prove that A stays inside its bounds", "range")
    wrong("array A: f64[4, 4]\nfor i in 0..3:\n  A[i, i + 2]\n", "3:3: cannot prove that A stays", "range")
    -- i = 2 is the only value of i that satisfies the condition
    local only_two = "for i in 0..3:\n  for j in 0..3:\n    if 2*i + 3*j == 7:\n      A[i - 2]\n"
    assert.equal(1, #nw.nest.parse("array A: f64[1]\n" .. only_two):accesses())
    wrong("array A: f64[1]\nfor o in 0..1000000:\n  " .. only_two:gsub("\n(.)", "\n  %1"), "6:9: cannot prove", "range")
    wrong("array A: f64[4] address 0\narray B: f64[4] address 8\n", "A and B share memory", "invalid")
    wrong("array A: f64[1000000, 1000000, 1000000]\n", "1:7: A is too large", "limit")
    wrong(("array A: f64[4]\n" .. ("for i%d in 0..2:\n"):rep(1)):format(1) .. ("("):rep(300), "expected", "parse")
    wrong("array A: f64[4]\nA[" .. ("("):rep(300), "nested deeper", "limit")
    wrong("x = " .. ("("):rep(300), "nested deeper", "limit")
    wrong("array A: f64[4]\nA[0" .. (" + 0"):rep(2000), "2:4001: this expression has more than 2000 operations", "limit")
    wrong("x = 1 \1 2\n", "found byte 1")
  end)

  it("is refused with the wrong line and a suggestion", function()
    local arrays = "param N = 9\narray A: f64[N]\n"
    local function hint(text)
      local ok, e = pcall(nw.nest.parse, text)
      assert.is_false(ok, text)
      return e.hint
    end
    assert.equal("array B: double[4]\n         ^\ndouble is f64: array A: f64[N, M]", hint "array B: double[4]\n")
    for line, want in pairs {["for (int i = 0; i < N; i++) {"] = "for i in 0..N:", ["for i in range(N):"] = "for i in 0..N:",
      ["for i in 0..<N:"] = "upper bound is excluded", ["for i in N..0 step -1:"] = "reversed",
      ["for i in 0..N: A[i] = 1"] = "on its own lines",
      ["A[0] = 1;"] = "remove the semicolon", ["// twice"] = "begins with #", ["A[0]++"] = "+= 1", ["if N > 3 && N < 5:"] = "and",
      ["while N > 0:"] = "loops need bounds", ["array B, C: f64[N]"] = "each array on its own line", ["int k;"] = "i32"} do
      assert.truthy(hint(arrays .. line .. "\n"):find(line, 1, true), line)
      assert.truthy(hint(arrays .. line .. "\n"):find(want, 1, true), line .. ": " .. hint(arrays .. line .. "\n"))
    end
    local data = hint(arrays .. "for i in 0..N:\n  if A[i] > 0:\n    A[i] = 0\n")
    assert.truthy(data:find("not elements of arrays", 1, true))
    assert.equal("  A[i]\n  ^\nMake the array larger, or put an if around the access.",
      hint(arrays .. "for i in 0..N + 1:\n  A[i]\n"))
    local _, e = pcall(nw.nest.parse, "array B: double[4]\n")
    assert.truthy(tostring(e):find("\n  hint: array B: double[4]\n                 ^\n        double is f64", 1, true), tostring(e))
    assert.is_nil(hint("x = 1 \1 2\n")) -- unprintable characters are not shown
  end)

  it("reads files, and names them in errors", function()
    local path = support.temporary ".nest"
    local file = assert(io.open(path, "w"))
    file:write "param N = 3\narray A: f64[N]\nfor i in 0..N:\n  A[i]\n"
    file:close()
    assert.equal("A0 A1", touched(nw.nest.read(path, {N = 2})))
    file = assert(io.open(path, "w"))
    file:write "array A: f64[3]\nA[x]\n"
    file:close()
    fails(path:gsub("%p", "%%%0") .. ":2:3: x is neither a parameter", "parse", nw.nest.read, path)
    os.remove(path)
    fails("No such file", "io", nw.nest.read, path)
  end)
end)

describe("a nest", function()
  local gemm = "tutorials/nests/gemm.nest"

  it("has the same counts by the model and by the simulator", function()
    local n = nw.nest.read(gemm, {NI = 20, NJ = 22, NK = 24})
    local model, brute = n:misses {levels = LEVELS}, n:misses {levels = LEVELS, simulate = true}
    assert.same({true, true}, model.exact)
    assert.equal(20 * 22 * 2 + 20 * 22 * 24 * 4, model.accesses)
    for key, list in pairs {by_access = brute.by_access, total = brute.total, by_loop = brute.by_loop} do
      assert.same(list, model[key])
    end
    assert.truthy(tostring(model):find "L1 exact, L2 exact; 43120 accesses$")
  end)

  it("can be limited to the share of one thread", function()
    local n = nw.nest.parse "array A: f64[8]\nA[7]\nparallel for i in 0..4:\n  A[i]\n"
    assert.equal("A7 A0 A1", touched(n, {threads = 2}))
    assert.equal("A2 A3", touched(n, {threads = 2, thread = 1}))
    assert.equal(2, n:misses({levels = LEVELS, threads = 2, thread = 1}).accesses)
    fails("thread: 2 is not in", "range", n.misses, n, {levels = LEVELS, threads = 2, thread = 2})
  end)

  it("gives misses as a function of sizes", function()
    local n = nw.nest.parse "param N = 4\narray A: f64[N]\nfor r in 0..2:\n  for i in 0..N:\n    A[i]\n"
    local s = n:sweep({N = {64, 512, 1024}}, {levels = {{bytes = 4096}}})
    assert.same({8, 64, 256}, {s[1].L1, s[2].L1, s[3].L1})
    assert.equal(2048, s[3].accesses)
    assert.truthy(tostring(s:plot {y = "L1"}):find "Counted by the cache model, not measured%.")
    assert.truthy(s:plot({y = "L1"}).script:find("misses of L1 over N", 1, true))
    fails("K is not a parameter", "invalid", n.sweep, n, {K = {1}})
  end)

  it("refuses impossible caches", function()
    local n = nw.nest.parse "array A: f64[8]\nA[7]\n"
    fails("there are no cache levels", "invalid", n.misses, n, {levels = {}})
    fails("not a multiple of the line", "invalid", n.misses, n, {levels = {{bytes = 100}}})
    fails("not a multiple of its 3 ways", "invalid", n.misses, n, {levels = {{bytes = 640, ways = 3}}})
    fails("unknown", nil, n.misses, n, {levels = LEVELS, way = 3})
    assert.equal(1, n:misses({levels = {{bytes = 3 * 640, ways = 10}}}).total[1].cold) -- three sets
  end)

  it("can be made from a schedule, with the same accesses", function()
    local A = nw.placeholder({20, 12}, "f32", "A")
    local B = nw.placeholder({12, 24}, "f32", "B")
    local k = nw.reduce_axis(12, "k")
    local C = nw.compute({20, 24}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    local s = nw.schedule(C)
    s:split("i", 8)
    s:split("j", 8)
    s:vectorize "j_i"
    local n = nw.nest.of(s)
    assert.is_nil(n:accesses():differs(nw.accesses(s)))
    local again = nw.nest.parse(tostring(n))
    assert.is_nil(again:accesses():differs(nw.accesses(s)))
    assert.equal(tostring(n), tostring(again))
    fails("no parameters", "invalid", n.with, n, {N = 3})
  end)

  it("of a symbolic schedule has the sizes as parameters", function()
    local N = nw.size "N"
    local A = nw.placeholder({N}, "f32", "A")
    local s = nw.schedule(nw.compute({N}, function(i) return A(i) + 1 end, "B"))
    assert.equal(14, #nw.nest.of(s, {sizes = {N = 7}}):accesses())
    fails("the size N has no value", "invalid", nw.nest.of, s)
  end)
end)

describe("the page on cost", function()
  local page = support.read "docs/cost.md"
  local examples = {}
  for block in page:gmatch "\n\n(    nest .-)\n\n" do examples[#examples + 1] = block:gsub("\n    ", "\n"):sub(5) end
  for block in page:gmatch "\n\n(    param .-)\n\n" do examples[#examples + 1] = block:gsub("\n    ", "\n"):sub(5) end

  it("contains only nests that can be read", function()
    assert.equal(4, #examples) -- three nests, and the description of the grammar
    assert.equal(1000 * 1100 * (2 + 4 * 1200), nw.nest.parse(examples[1]):misses({levels = {{bytes = 32768}}}).accesses)
    local jacobi = nw.nest.parse(examples[3], {T = 3, N = 20})
    assert.equal(3 * 2 * 18 * 18 * 6, #jacobi:accesses())
    assert.equal(40 * (2 + 3) + 40 * 39 // 2 * 4, #nw.nest.parse(examples[4], {N = 40}):accesses())
  end)

  it("shows what its example prints", function()
    local printed
    local code = page:match "with `(local L1.-)`" .. "\n" .. page:match "\n\n(    local n = .-)\n\n"
    local env = setmetatable({nw = nw, print = function(v) printed = tostring(v) end}, {__index = _G})
    assert(load(code, "=cost.md", "t", env))()
    assert.truthy(page:find("\n\n    " .. printed:gsub("\n", "\n    ") .. "\n\n", 1, true), printed)
  end)

  it("describes sweeps of nests, which work", function()
    local L1 = {{bytes = 32768, ways = 8}, {bytes = 1 << 20, ways = 16}}
    local rows = nw.nest.read("tutorials/nests/gemm.nest", "SMALL"):sweep({NI = {40, 50, 60}, NK = {80, 160}}, {levels = L1})
    assert.equal(6, #rows)
    if support.have_gnuplot() then support.picture(rows:plot {x = "NI", by = "NK", y = "L1"}) end
  end)
end)

describe("kernels of PolyBench", function()
  -- The number of accesses at size LARGE, from the loops in the source.
  local LARGE = {
    gemm = 5282200000, ["2mm"] = 6626640000, ["jacobi-2d"] = 10108824000, ["seidel-2d"] = 500 * 1998 * 1998 * 10,
  }

  it("can be read at both sizes, and parsing their printed text gives the same nests", function()
    local files = io.popen "ls tutorials/nests"
    local n = 0
    for name in files:lines() do
      local nest = nw.nest.read("tutorials/nests/" .. name)
      assert.is_true(nest == nw.nest.parse(tostring(nest)), name)
      assert.is_true(nest ~= nw.nest.read("tutorials/nests/" .. name, "SMALL"), name)
      n = n + 1
    end
    files:close()
    assert.is_true(n >= 16)
  end)

  it("make the published number of accesses", function()
    for name, accesses in pairs(LARGE) do
      local nest = nw.nest.read("tutorials/nests/" .. name .. ".nest")
      assert.equal(accesses, nest:misses({levels = {{bytes = 32768}}, feed = "full"}).accesses, name)
    end
  end)
end)

describe("the model", function()
  package.path = "tests/bench/?.lua;" .. package.path
  local random = require "_random_nests"

  local function missed(nest, levels)
    local out = {}
    for n, total in ipairs(nest:misses({levels = levels, feed = "full"}).total) do out[n] = total.asked - total.hits end
    return out
  end

  it("never finds more misses in a larger fully associative cache", function()
    local levels = {{bytes = 1024}, {bytes = 2048}, {bytes = 4096}, {bytes = 65536}}
    for seed = 1, 60 do
      local found = missed(nw.nest.parse(random.text(seed, random.kinds[seed % #random.kinds + 1], 2000)), levels)
      for n = 2, #found do assert.is_true(found[n] <= found[n - 1], "seed " .. seed) end
    end
  end)

  it("does not depend on the names of arrays and loops", function()
    local levels = {{bytes = 3072, ways = 8}, {bytes = 12288}}
    for seed = 61, 90 do
      local text = random.text(seed, random.kinds[seed % #random.kinds + 1], 2000)
      local renamed = text:gsub("%f[%w]A(%d)", "zebra_%1"):gsub(": i(%d+)%[", ": int%1["):gsub("%f[%w]i(%d+)", "q%1_")
        :gsub("int(%d+)", "i%1")
      assert.same(missed(nw.nest.parse(text), levels), missed(nw.nest.parse(renamed), levels))
    end
  end)

  it("equals the simulator on random nests", function()
    for seed = 1, 90 do
      local nest = nw.nest.parse(random.text(seed, random.kinds[seed % #random.kinds + 1], 1500))
      local o = {levels = {{bytes = 3072}, {bytes = 3072, ways = 8}, {bytes = 3072, ways = 12}},
        feed = seed % 2 == 0 and "full" or "misses"}
      local model = nest:misses(o)
      o.simulate = true
      local brute = nest:misses(o)
      for n, row in ipairs(brute.by_access) do
        if model.exact[row.level] then assert.same(row, model.by_access[n], "seed " .. seed) end
      end
    end
  end)

  -- An estimate states a bound of its error. Returns the share of estimates whose error is within this bound, and the number of
  -- estimates. The budget is the number of accesses divided by `part`.
  local function told(part, seeds)
    local covered, drawn = 0, 0
    for seed = 1, seeds do
      local nest = nw.nest.parse(random.text(seed, random.kinds[seed % #random.kinds + 1], 60000))
      local o = {levels = {{bytes = 8192 << seed % 3, ways = 2}}, feed = "full"}
      local brute = nest:misses {levels = o.levels, feed = "full", simulate = true}
      o.budget = brute.accesses // part
      local counted, about = pcall(nest.misses, nest, o)
      if counted and not about.exact[1] then
        local real, guess = brute.total[1].asked - brute.total[1].hits, about.total[1].asked - about.total[1].hits
        drawn, covered = drawn + 1, covered + (math.abs(guess - real) <= about.error[1] * guess and 1 or 0)
      end
    end
    return covered / drawn, drawn
  end

  it("states the possible error of an estimate", function()
    local walked, n = told(12, 110)
    assert.truthy(n >= 12 and walked >= 0.85, ("%d, %g"):format(n, walked))
    local sampled, m = told(20, 110)
    assert.truthy(m >= 12 and sampled >= 0.85, ("%d, %g"):format(m, sampled))
  end)

  it("counts a nest of 1e18 accesses, or gives the reason why it cannot", function()
    local nest = nw.nest.parse [[
param N = 1000000
array A: f64[N]
for i in 0..N:
  for j in 0..N:
    for k in 0..N:
      A[k]
]]
    local ok, m = pcall(nest.misses, nest, {levels = {{bytes = 32768, ways = 8}}, conflicts = false})
    if ok then
      assert.equal(1000000000000000000, m.accesses)
    else
      assert.equal("limit", m.code)
    end
    fails("more than 1000 accesses", "limit", nest.accesses, nest, {most = 1000})
  end)
end)
