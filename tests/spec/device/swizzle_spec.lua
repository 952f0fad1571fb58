--- Tests layouts that combine bits of the indices, such as (i, j ~ (i % 8)). See docs/swizzle.md.
local nw = require "nestwright"
local support = require "support"
local kernels = require "device_kernels"

kernels.target = "a100"

-- Checks that a layout of a tensor is refused for this reason.
local function refused(why, s, tensor, at)
  support.untouched(s, function() support.fails_saying(why, function() s:transform_layout(tensor, at) end) end)
end

-- Returns a schedule of X = A + i in two stages, and the stages. P, the copy of A, gets the layouts.
local function stages(rows, columns)
  local A = nw.placeholder({rows, columns}, "i32", "A")
  local P = nw.compute({rows, columns}, function(i, j) return A(i, j) * 3 end, "P")
  local X = nw.compute({rows, columns}, function(i, j) return P(i, j) + nw.cast(i, "i32") end, "X")
  return nw.schedule(X), X, A
end

-- True if the function gives all indices of a box different positions.
local function one_to_one(rows, columns, at)
  local seen = {}
  for i = 0, rows - 1 do
    for j = 0, columns - 1 do
      local key = table.concat({at(i, j)}, ",")
      if seen[key] then return false end
      seen[key] = true
    end
  end
  return true
end

describe("a layout that combines bits", function()
  it("is accepted if it is one-to-one, and gives the same results", function()
    for _, at in pairs {
      swizzled = function(i, j) return i, j ~ (i % 8) end,
      ["by other bits"] = function(i, j) return i, j ~ (i // 2 % 4) * 4 end,
      ["rows, too"] = function(i, j) return i ~ (j // 4), j end,
      ["the code of Gray"] = function(i, j) return i ~ (i // 2), j end,
      ["in one row"] = function(i, j) return i * 32 + (j ~ (i % 32)) end,
      ["with other bits added"] = function(i, j) return i, j // 8 * 8 + (j % 8 ~ i % 8) end,
      ["digits in another order"] = function(i, j) return j // 8, i, j % 8 ~ i // 2 % 8 end,
      ["bits from both"] = function(i, j) return i // 2, (j | i % 2 * 32) ~ (i // 8) end,
    } do
      for _, shape in ipairs {{16, 32}, {13, 27}} do
        local s, X = stages(table.unpack(shape))
        s:transform_layout("P", at)
        support.computes(s, {X})
      end
    end
  end)

  it("is refused if two elements share a position, and the refusal names one of them", function()
    local s = stages(16, 32)
    refused("the layout puts P[0, 2] and another element at the same position", s, "P",
      function(i, j) return i, j ~ (j // 2 * 2) end)
    s = stages(8, 8)
    refused("the layout puts P[1, 1] and another element at the same position", s, "P", function(i, j) return i ~ j, i ~ j end)
    for _, tensor in ipairs {"A", "X"} do
      s = stages(8, 8)
      refused("the layout puts " .. tensor .. "[1, 1] and another element at the same position", s, tensor,
        function(i, j) return 3, i ~ j end)
    end
  end)

  it("is refused if nothing is proved", function()
    for _, at in ipairs {
      function(i, j) return i, j | (i % 8) end, function(i, j) return i, j + (i % 8 ~ j % 8) end,
      function(i, j) return i, (j ~ i) * 3 end, function(i, j) return i, (j & i) ~ j end,
      function(i, j) return i, j + (i ~ j // 8) % 8 end, -- without carries, it would be one-to-one
    } do
      refused("is not the exclusive or of bits of the indices", stages(16, 32), "P", at)
    end
    refused("nothing proves that the layout of P puts its elements at different positions", stages(12, 32), "P",
      function(i, j) return i % 8, j ~ (i // 8) end) -- rows 0 and 8 share positions, but the judge looks at rows 0 to 15
  end)

  it("is accepted exactly if an enumeration finds no shared position, for random matrices", function()
    local seed = 20
    local function random(n)
      seed = (seed * 1103515245 + 12345) % (1 << 31)
      return (seed >> 8) % n
    end
    -- Returns the text of a random component: an exclusive or of parts of the indices, moved to other places.
    local function component()
      local terms = {}
      for t = 1, 1 + random(3) do
        local index, low, width, up = random(2) == 0 and "i" or "j", random(3), 1 + random(3), random(2)
        terms[t] = ("%s // %d %% %d * %d"):format(index, 1 << low, 1 << width, 1 << up)
      end
      return "(" .. table.concat(terms, " ~ ") .. ")"
    end
    local good_ones, bad_ones = 0, 0
    while good_ones < 15 or bad_ones < 15 do
      local text = ("return function(i, j) return %s, %s ~ i, j %% 2 ~ %s end"):format(component(), component(), component())
      local at = load(text)()
      local good, s = one_to_one(8, 8, at), stages(8, 8)
      local ok, err = pcall(s.transform_layout, s, "P", at)
      assert(ok == good, text .. "\n" .. tostring(err))
      if ok then good_ones = good_ones + 1 else bad_ones = bad_ones + 1 end
    end
  end)

  it("of an argument changes its shape", function()
    local s, X = stages(8, 16)
    local at = function(i, j) return i, j ~ (i * 2) end
    s:transform_layout("A", at)
    s:transform_layout("X", at)
    support.agrees_with(s, {X}, {8, 16}, "i32")
    s = stages(8, 12)
    refused("leaves positions without an element", s, "X", at)
    s:transform_layout("A", at)
    assert(s:check())
  end)

  it("may have rows of any number", function()
    local M = nw.size("M", {min = 1})
    local A = nw.placeholder({M, 16}, "i32", "A")
    local P = nw.compute({M, 16}, function(i, j) return A(i, j) * 3 end, "P")
    local s = nw.schedule(nw.compute({M, 16}, function(i, j) return P(i, j) + 1 end, "X"))
    s:transform_layout("P", function(i, j) return i, j ~ (i % 16) end)
    assert(s:check())
  end)

  it("counts all bits of an index if the allocation does not begin at a multiple of its extent", function()
    local A = nw.placeholder({72}, "i32", "A")
    local P = nw.compute({72}, function(i) return A(i) * 3 end, "P")
    local X = nw.compute({64}, function(i) return P(i + 3) end, "X")
    local function made()
      local s = nw.schedule(X)
      local o = s:split(s:loops(X)[1], 8)
      s:compute_at(P, o)
      return s
    end
    local s = made()
    -- 8*o + 3 and 8*o + 10 agree in the remainder, but not in the bits above it
    s:transform_layout("P", function(i) return i % 8 ~ 0, i // 8 ~ i // 16 end)
    support.computes(s, {X})
    refused("nothing proves", made(), "P", function(i) return i % 4 ~ i // 8 % 2, i // 4 % 2 end)
  end)
end)

-- Returns the wavefronts of a request, for the loads of a buffer in shared storage.
local function wavefronts(s, buffer)
  for _, a in ipairs(s:gpu_counts {ptxas = false}.accesses) do
    if a.buffer == buffer and not a.write then return a.wavefronts / a.requests end
  end
end

-- Checks a schedule for a GPU in each way of running it, and returns the report of the simulated GPU.
local function runs(s)
  assert(s:check())
  assert(s:reparses())
  local data = {}
  for n, t in ipairs(s:inputs()) do data[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  return support.simulates(s, data)
end

describe("the layout of a copy", function()
  -- C(i, j) = A(j, i)
  local A = nw.placeholder({64, 64}, "i32", "A")
  local C = nw.compute({64, 64}, function(i, j) return A(j, i) end, "C")

  it("may be any layout that is proved one-to-one", function()
    local a = nw.random({64, 64}, "i32", {seed = 1, lo = -99, hi = 99})
    local want = nw.evaluate(C, {a})[1]
    for name, at in pairs {
      swizzled = function(i, j) return i, j ~ (i % 32) end,
      rotated = function(i, j) return i, (i + j) % 64 end,
      diagonal = function(i, j) return i + j, j end,
      packed = function(i, j) return j // 16, i, j % 16 end,
    } do
      for _, step in ipairs {"cache_read", "cache_write"} do
        local s = nw.schedule(C)
        if step == "cache_read" then s:cache_read(A, "global", {C}, {layout = at}) end
        if step == "cache_write" then s:cache_write(C, "global", {layout = at}) end
        assert.is_true((nw.allclose(want, s:build()(a))), name)
        assert.is_true((nw.allclose(want, nw.interpret(s, {a})[1])), name)
      end
    end
  end)

  it("is refused if elements share a position, or if it is not made of integers", function()
    local s = nw.schedule(C)
    local function refuses(why, at)
      support.untouched(s, function()
        local err = support.error_of(s.cache_read, s, A, "global", {C}, {layout = at})
        assert.truthy(tostring(err):find(why), tostring(err))
      end)
    end
    refuses("A_packed%[0, 0%] is read at %(i=0, j=0%), but A_packed%[0, 63%] overwrites it",
      function(i, j) return i, (i + j) % 63 end)
    refuses("two elements that differ in index 1 can have the same position", function(i, j) return i, j // 2 end)
    refuses("the layout puts A_packed%[0, 32%] and another element at the same position", function(i, j) return i, (j ~ i) % 32 end)
    refuses("cache_read: a layout must return integer expressions of the indices of A_packed", function(i, j) return i * 1.5, j end)
  end)
end)

describe("a swizzled tile in shared memory", function()
  it("of a transpose has no bank conflicts", function()
    local s = kernels.transpose(64)
    assert.equal(32, wavefronts(s, "A_shared"))
    s:transform_layout("A_shared", function(i, j) return i, (j ~ i) % 32 end)
    assert.equal(1, wavefronts(s, "A_shared"))
    assert.equal(4096, s:gpu_counts {ptxas = false}.kernels[1].shared_bytes)
    runs(s)
    local text = tostring(s:show "cuda")
    assert.truthy(text:find("float A_shared[1024];", 1, true), text)
    assert.truthy(text:find("A_shared[32 * tx + (tx ^ (8 * i_i_o + ty))]", 1, true), text)
    assert.truthy(tostring(s:show "opencl"):find(" ^ ", 1, true))
    assert.truthy(tostring(s:show "ptx"):find("xor.b", 1, true))
  end)

  it("of a product has no bank conflicts", function()
    local n = 64
    local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
    local k = nw.reduce_axis(n, "k")
    local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(j, k), k) end, "C") -- B is read by columns
    local s = nw.schedule(C, {target = "a100"})
    local io, jo, ii, ji = s:tile("i", "j", 32, 32)
    local ty = s:split(ii, 4)
    s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ty, "threadIdx.y") s:bind(ji, "threadIdx.x")
    s:cache_write(C, "local", {at = ji})
    local ko = s:split("k", 32)
    for _, name in ipairs {"A", "B"} do
      s:cache_read(name, "shared", {"C_local"}, {at = ko})
      local l = s:loops(name .. "_shared")
      s:bind(l[#l], "threadIdx.x")
      local y = s:split(l[#l - 1], 4)
      s:bind(y, "threadIdx.y")
    end
    assert.equal(32, wavefronts(s, "B_shared"))
    s:transform_layout("B_shared", function(j, k_) return j, (k_ ~ j) % 32 end)
    assert.equal(1, wavefronts(s, "B_shared"))
    runs(s)
  end)

  it("takes vectors of four: in one piece if the layout keeps groups of four, otherwise lane by lane", function()
    local function made(at)
      local s = kernels.transpose_vectors(64)
      s:transform_layout("A_shared", at)
      return s
    end
    local whole = made(function(i, j) return i, (j // 4 ~ i % 8) * 4 + j % 4 end)
    local apart = made(function(i, j) return i, (j ~ i) % 32 end)
    assert.truthy(tostring(whole:show "cuda"):find("*(float4 *)&A_shared[", 1, true))
    assert.truthy(tostring(whole:show "ptx"):find("st.shared.v4.f32", 1, true))
    assert.truthy(tostring(apart:show "cuda"):find("] = nw_lanes.w;", 1, true))
    assert.falsy(tostring(apart:show "ptx"):find("st.shared.v4.f32", 1, true))
    local a = nw.random({64, 64}, "f32", {seed = 1})
    for _, s in ipairs {whole, apart} do
      local r = nw.simulate(s, {a})
      assert.same({}, r.findings)
      for i = 0, 63 do for j = 0, 63 do assert(r.outputs[1][{i, j}] == a[{j, i}]) end end
    end
  end)

end)
