--- Tests storage of scope warp, which the threads of one warp share: as many threads as the target says, with the same indices
--- along y and z and consecutive indices along x.
local nw = require "nestwright"
local support = require "support"

-- Returns a schedule of Y, in which thread x of a row reads the element of X that thread lane(x) computes. X is in shared storage.
local function rows(height, width, lane, row, target)
  local A = nw.placeholder({height, width}, "i32", "A")
  local X = nw.compute({height, width}, function(y, x) return A(y, x) * 2 end, "X")
  local Y = nw.compute({height, width}, function(y, x) return X(row and row(y) or y, lane(x)) + A(y, x) end, "Y")
  local s = target and nw.schedule(Y, {target = target}) or nw.schedule(Y)
  s:set_scope(X, "shared")
  for _, stage in ipairs {X, Y} do
    local y, x = table.unpack(s:loops(stage))
    s:bind(y, "threadIdx.y")
    s:bind(x, "threadIdx.x")
  end
  return s, X, Y
end

local function next_in(n) return function(x) return x // n * n + (x + 1) % n end end

local function holds(s, Y)
  local input = s:inputs()[1]
  local a = nw.random(input:shape(), "i32", {seed = 1})
  local want = nw.evaluate(Y, {a})[1]
  for _, lowered in ipairs {false, true} do assert(nw.allclose(want, nw.interpret(s, {a}, {lowered = lowered})[1])) end
  support.simulates(s, {a})
  assert(s:check())
  assert(s:reparses())
  local other = nw.schedule(Y)
  other:replay(s:trace "json")
  assert.equal(s:text(), other:text())
end

local function refused(kind, why, s, X)
  local before = s:text()
  local ok, err = pcall(s.set_scope, s, X, "warp")
  assert.is_false(ok)
  assert.equal(kind, err.refusal and err.refusal.kind, tostring(err))
  assert.truthy(tostring(err):find(why, 1, true), tostring(err))
  assert.equal(before, s:text())
  return err
end

describe("storage of scope warp", function()
  it("is shared by the threads of one warp, with a barrier in between", function()
    for _, width in ipairs {32, 64, 8} do
      local s, X, Y = rows(2, width, next_in(math.min(width, 32)))
      s:set_scope(X, "warp")
      local text = tostring(s:show "lowered")
      assert.truthy(text:find("alloc X[" .. 2 * width .. "] warp", 1, true), text)
      assert.equal(1, select(2, text:gsub("barrier", "")))
      holds(s, Y)
    end
  end)

  it("needs no barrier if each thread reads only its own element", function()
    local s, X, Y = rows(2, 64, function(x) return x end)
    s:set_scope(X, "warp")
    assert.equal(0, select(2, tostring(s:show "lowered"):gsub("barrier", "")))
    holds(s, Y)
  end)

  it("cannot be read by another warp along x, and the conflict can be replayed", function()
    local s, X = rows(2, 64, next_in(64))
    local err = refused("raw", "by a thread of another warp, but X has scope warp: each warp has its own", s, X)
    assert.equal("X[0, 0]", err.refusal.element)
    local lesson = s:explain()
    assert.is_true(lesson.seen)
  end)

  it("cannot be read by another warp along y", function()
    local s, X = rows(2, 32, next_in(32), function(y) return 1 - y end)
    refused("raw", "by a thread of another warp", s, X)
  end)

  it("needs rows of threads that fill whole warps, or divide a warp", function()
    local s, X = rows(2, 24, next_in(24))
    refused("structure", "a constant number that 32 divides or that divides 32", s, X)
    local one, P, Q = rows(1, 24, next_in(24))
    one:unmark(one:loops(P)[1])
    one:unmark(one:loops(Q)[1])
    one:set_scope(P, "warp") -- a single row
    holds(one, Q)
  end)

  it("has the warps of the target", function()
    local sixteen = nw.machine {name = "sixteen", extends = "t4", gpu = {warp = 16, threads = 512}}
    local s, X = rows(2, 32, next_in(32), nil, sixteen)
    refused("raw", "by a thread of another warp", s, X)
    local t, P = rows(2, 32, next_in(16), nil, sixteen)
    t:set_scope(P, "warp")
    assert(t:check())
  end)

  it("belongs to a whole warp, and to one block", function()
    local A = nw.placeholder({4, 32}, "i32", "A")
    local X = nw.compute({4, 32}, function(y, x) return A(y, x) * 2 end, "X")
    local Y = nw.compute({4, 32}, function(y, x) return X(y, x) + 1 end, "Y")
    local function made() return nw.schedule(Y) end
    local s = made()
    s:compute_at(X, s:loops(Y)[2])
    s:bind(s:loops(Y)[2], "threadIdx.x")
    s:set_scope(X, "warp") -- holds what all threads of a row use, and is computed outside of their loop
    assert.truthy(s:notes():find("X is stored once for all threads of a warp", 1, true))
    assert.truthy(tostring(s):find("alloc X[1, 32] warp", 1, true), tostring(s))
    holds(s, Y)
    s = made()
    s:compute_at(X, s:loops(Y)[1])
    s:bind(s:loops(Y)[1], "threadIdx.y") -- allocated inside the loop along y
    s:set_scope(X, "warp")
    s:bind(s:loops(Y)[2], "threadIdx.x")
    local loops = s:loops(X)
    s:bind(loops[#loops], "threadIdx.x")
    holds(s, Y)
    s = made()
    s:bind(s:loops(X)[1], "blockIdx.x")
    s:bind(s:loops(Y)[1], "blockIdx.x")
    refused("structure", "its scope is warp: each warp has its own", s, X)
  end)

  it("has a limit", function()
    local A = nw.placeholder({400, 64}, "f32", "A")
    local X = nw.compute({400, 64}, function(y, x) return A(y, x) * 2 end, "X")
    local s = nw.schedule(nw.compute({400, 64}, function(y, x) return X(y, x) + 1 end, "Y"))
    refused("capacity", "at most 32640 fit in the registers of a warp", s, X)
    local found
    for _, scope in ipairs(nw.target "t4":scopes()) do if scope.name == "warp" then found = scope end end
    assert.same({name = "warp", owner = "a warp", bytes = 32640}, found)
  end)

  it("races in an unsafe schedule if another warp reads it", function()
    local s, X = rows(2, 64, next_in(64))
    s:unsafe(function() s:set_scope(X, "warp") end)
    local ok, err = pcall(nw.interpret, s, {nw.random({2, 64}, "i32", {seed = 1})}, {lowered = true})
    assert.is_false(ok)
    assert.equal("race", err.code)
    assert.truthy(tostring(err):find("each warp has its own storage", 1, true))
  end)

  it("is a temporary like others without a grid", function()
    local s, C, A = support.gemm(8)
    s:cache_read(A, "warp", {C}, {at = "i"})
    assert(s:check())
  end)
end)
