--- Tests what is recorded of single warps, and the pictures of it: requests to memory, banks, and blocks over time.
local nw = require "nestwright"
local support = require "support"
local kernels = require "device_kernels"
local fails = support.fails
kernels.target = "gpu"

-- Returns a transpose of n x n in tiles of 32 x 32. Without tiles in shared memory if `padding` is nil.
local function transpose(n, padding)
  local A = nw.placeholder({n, n}, "f32", "A")
  local T = nw.compute({n, n}, function(i, j) return A(j, i) end, "T")
  local s = nw.schedule(T, {target = "gpu"})
  local io, jo, ii, ji = s:tile("i", "j", 32, 32)
  local _, ty = s:split(ii, 8)
  s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ty, "threadIdx.y") s:bind(ji, "threadIdx.x")
  if not padding then return s end
  s:cache_read(A, "shared", {T}, {at = jo})
  local l = s:loops "A_shared"
  s:bind(l[#l], "threadIdx.x")
  local _, y = s:split(l[#l - 1], 8)
  s:bind(y, "threadIdx.y")
  if padding > 0 then s:storage_align("A_shared", 0, 32, padding) end
  return s
end

-- Returns the numbers that all requests of an access have together, over all warps of all blocks.
local function totals(s, a, counts)
  local k, sum = counts.kernels[a.kernel], {requests = 0, lanes = 0, sectors = 0, wavefronts = 0}
  local name = (a.async and "async " or "") .. (a.write and "store " or "load ") .. a.buffer
  for y = 0, k.grid[2] - 1 do
    for x = 0, k.grid[1] - 1 do
      for warp = 0, (k.block[1] * k.block[2] + 31) // 32 - 1 do
        for _, r in ipairs(s:gpu_requests(name, {block = {x, y}, warp = warp, kernel = a.kernel, most = 10000})) do
          sum.requests, sum.lanes = sum.requests + 1, sum.lanes + #r.lanes
          sum.sectors, sum.wavefronts = sum.sectors + r.sectors, sum.wavefronts + r.wavefronts
          local last = 0
          for _, lane in ipairs(r.lanes) do
            for _, wavefront in ipairs(lane.wavefronts) do last = math.max(last, wavefront + 1) end
          end
          if r.wavefronts ~= last then assert.equal(r.wavefronts, last, name) end -- luassert is slow
        end
      end
    end
  end
  return sum
end

describe("the requests of warps", function()
  it("have together the counts of the kernel", function()
    for _, s in ipairs {kernels.gemm_shared(32), kernels.gemm_async(32, 16, 2, 16, 4), kernels.transpose(64),
      kernels.transpose(64, 1)} do
      local counts, names = s:gpu_counts(), {}
      for _, a in ipairs(counts.accesses) do
        local key = a.buffer .. tostring(a.write)
        local all = names[key] or {requests = 0, lanes = 0, sectors = 0, wavefronts = 0, access = a}
        names[key] = all
        for _, field in ipairs {"requests", "lanes", "sectors", "wavefronts"} do all[field] = all[field] + a[field] end
      end
      for key, all in pairs(names) do
        local sum = totals(s, all.access, counts)
        for field, n in pairs(sum) do
          local local_ = all.access.scope ~= "shared" and field == "wavefronts"
          if not local_ then assert.equal(all[field], n, key .. " " .. field) end
        end
      end
    end
  end)

  it("have the addresses of a transpose", function()
    local r = transpose(64):gpu_requests("load A", {block = {1, 0}, warp = 3, first = 2, most = 1})
    assert.equal(1, #r)
    assert.same({"load A", 1, 3, 2, 4, 32, 32, 4}, {r[1].access, r[1].kernel, r[1].warp, r[1].number, r[1].of, #r[1].lanes,
      r[1].sectors, r[1].bytes})
    for n, lane in ipairs(r[1].lanes) do assert.equal(4 * (64 * (32 + n - 1) + 8 + 3), lane.address) end
  end)

  it("say which accesses there are, and which requests a warp makes", function()
    local s = transpose(64, 0)
    local err = fails("there is no access 'load X'", "invalid", s.gpu_requests, s, "load X")
    assert.truthy(err.hint:find "load A")
    fails("makes only 4 requests 'load A'", "range", s.gpu_requests, s, "load A", {first = 5})
    fails("there is no block %(2, 0, 0%): the grid of kernel 1 has 2 x 2 x 1", "range", s.gpu_requests, s, "load A", {block = 2})
    fails("there is no warp 8: a block of kernel 1 has 8", "range", s.gpu_requests, s, "load A", {warp = 8})
    fails("warp: %-1 is less than 0", "range", s.gpu_requests, s, "load A", {warp = -1})
    fails("three dimensions", "invalid", s.gpu_requests, s, "load A", {block = {0, 0, 0, 0}})
    fails("expected a string", "invalid", s.gpu_requests, s, 3)
    fails("no loop that is bound", "invalid", nw.warp_request, (support.gemm(32)), "load A")
  end)
end)

describe("the picture of a request", function()
  it("shows the bytes that nobody wants, before and after", function()
    local p = nw.warp_request(transpose(1024, 0), "load A", {before = transpose(1024)})
    assert.truthy(p.caption:find("before: load A, request 1 of 4 of warp 0 of block (0, 0, 0): 32 lanes, 32 sectors = 1024 bytes "
      .. "sent for 128 different bytes: 12.5 % wanted", 1, true), p.caption)
    assert.truthy(p.caption:find("32 lanes, 4 sectors = 128 bytes sent for 128 different bytes: 100 % wanted", 1, true))
    assert.equal(64, #p.rows)
    assert.same({"before", 1, 4096, 4}, p.rows[2])
    support.picture(p)
  end)

  it("compares with an earlier version, and with another access", function()
    local s = transpose(64)
    local before = s:version()
    s:cache_write("T", "local", {at = "j_i"})
    local p = nw.warp_request(s, "store T", {before = before, before_access = "load A"})
    assert.truthy(p.caption:find(("version %d: load A"):format(before), 1, true))
    assert.truthy(p.caption:find "version %d+: store T")
    fails("there is no version 99", "range", nw.warp_request, s, "load A", {before = 99})
  end)

  it("marks the lanes that take no part", function()
    local s = kernels.gemm_odd(33, 50, 20)
    local p = nw.warp_request(s, "store C", {block = {3, 2}}) -- the tile has one row and two columns of C
    assert.truthy(p.caption:find "2 lanes, 1 sector = 32 bytes sent for 8 different bytes: 25 %% wanted")
    assert.truthy(p.script:find("a lane that takes no part", 1, true))
    assert.same({{"", 0, 4 * (32 * 50 + 48), 4}, {"", 1, 4 * (32 * 50 + 49), 4}}, p.rows)
  end)

  it("is refused for shared memory, which has banks", function()
    local err = fails("A_shared is in shared memory", "invalid", nw.warp_request, transpose(64, 0), "load A_shared")
    assert.equal("nw.bank_conflicts draws it", err.hint)
  end)
end)

describe("the picture of banks", function()
  it("shows a conflict of 32 words in one bank, and none with padding", function()
    local p = nw.bank_conflicts(transpose(64, 1), "load A_shared", {before = transpose(64, 0)})
    assert.truthy(p.caption:find("before: load A_shared, request 1 of 4 of warp 0 of block (0, 0, 0): 32 words of 32 lanes in 32 "
      .. "wavefronts; bank 0 sends 32 words", 1, true), p.caption)
    assert.truthy(p.caption:find("after: .-in 1 wavefront; bank 0 sends 1 word"))
    assert.same({"before", 32, 0, 31 * 32, "31"}, p.rows[32])
    assert.same({"after", 1, 31, 31 * 33, "31"}, p.rows[64])
    support.picture(p)
  end)

  it("shows the quarters of a request of 16 bytes for each lane", function()
    local r = kernels.gemm_parts(128, 8):gpu_requests("store B_shared", {most = 1})[1]
    assert.equal(16, r.bytes)
    local p = nw.bank_conflicts(kernels.gemm_parts(128, 8), "store B_shared")
    assert.truthy(p.caption:find "the least is 4")
  end)

  it("is refused for global memory, which has sectors", function()
    local err = fails("A is in global memory", "invalid", nw.bank_conflicts, transpose(64), "load A")
    assert.equal("nw.warp_request draws it", err.hint)
  end)
end)

describe("the picture of warps", function()
  it("has the iterations of each warp, and the nests between barriers", function()
    local p = nw.warps(kernels.gemm_shared(32), {parts = 4})
    assert.truthy(p.caption:find "^16 lanes over")
    assert.truthy(p.caption:find("i_o is blockIdx.y, j_o is blockIdx.x", 1, true))
    assert.same({"block 0,0 warp 0: i_i_1=0..1 j_i_1=0..15", 0, 1, "", "writes C_local"}, p.rows[1])
    local seen = {}
    for _, row in ipairs(p.rows) do
      if row[1]:find "^block 1,0 warp 7" then seen[#seen + 1] = table.concat(row, "|", 2) end
    end
    assert.same({"0|1||writes C_local", "1|2|k_o=0|writes A_shared", "2|3|k_o=0|writes B_shared", "3|19|k_o=0|writes C_local",
      "19|20|k_o=1|writes A_shared", "20|21|k_o=1|writes B_shared"}, seen)
    support.picture(p)
  end)

  it("shows where warps wait", function()
    local A = nw.placeholder({64}, "f32", "A")
    local B = nw.compute({64}, function(i) return A(i) * 2 end, "B")
    local C = nw.compute({64}, function(i) return B(63 - i) + 1 end, "C")
    local s = nw.schedule(C, {target = "gpu"})
    local block, thread = s:split(s:loops "C"[1], 64)
    s:bind(block, "blockIdx.x")
    s:bind(thread, "threadIdx.x")
    s:compute_at("B", block)
    s:set_scope("B", "shared")
    local p = nw.warps(s) -- one thread computes B, so the second warp waits
    assert.truthy(p.caption:find "most in block 0 warp 1", p.caption)
    assert.matches("Where a lane has no bar, the warp waits at a barrier (a thick line). A lane ends where", p.caption, 1, true)
  end)

  it("ends the lanes of warps that have ended, which do not wait", function()
    local A, B = nw.placeholder({64}, "f32", "A"), nw.placeholder({64, 4}, "f32", "B")
    local X = nw.compute({64}, function(i) return A(i) * 2 end, "X")
    local Y = nw.compute({64, 4}, function(i, j) return B(i, j) * 3 end, "Y")
    local s = nw.schedule({X, Y}, {target = "gpu"})
    local x_o, x_i = s:split(s:loops(X)[1], 32)
    local y_o, y_i = s:split(s:loops(Y)[1], 32)
    s:bind(x_i, "threadIdx.x")
    s:bind(y_i, "threadIdx.x")
    s:bind(s:create_fused_loop(x_o, y_o), "blockIdx.x")
    local caption = nw.warps(s, {blocks = 4}).caption -- blocks of X store once, those of Y four times; nothing waits
    assert.matches("overall 0 % idle", caption, 1, true)
    assert.not_matches("barrier", caption, 1, true)
  end)

  it("has no iterations beyond the loop, if another kernel of a fused grid has more threads", function()
    local A, B = nw.placeholder({256}, "f32", "A"), nw.placeholder({60}, "f32", "B")
    local X = nw.compute({256}, function(i) return A(i) * 2 end, "X")
    local Y = nw.compute({60}, function(j) return B(j) * 3 end, "Y")
    local s = nw.schedule({X, Y}, {target = "gpu"})
    local x_o, x_i = s:split(s:loops(X)[1], 128)
    local y_o, y_i = s:split(s:loops(Y)[1], 30)
    s:bind(x_i, "threadIdx.x") s:bind(y_i, "threadIdx.x")
    s:bind(s:create_fused_loop(x_o, y_o), "blockIdx.x")
    local lanes = {}
    for _, row in ipairs(nw.warps(s, {blocks = 4}).rows) do lanes[row[1]] = true end
    assert.is_true(lanes["block 1 warp 3: i_i=96..127"])
    assert.is_true(lanes["block 3 warp 0: j_i=0..29"])
  end)

  it("has the nest of each block of a fused grid", function()
    local A, B = nw.placeholder({64}, "f32", "A"), nw.placeholder({64}, "f32", "B")
    local X = nw.compute({64}, function(i) return A(i) * 2 end, "X")
    local Y = nw.compute({64}, function(i) return B(63 - i) + 1 end, "Y")
    local s = nw.schedule({X, Y}, {target = "gpu"})
    local xo, xi = s:split(s:loops(X)[1], 32)
    local yo, yi = s:split(s:loops(Y)[1], 32)
    s:bind(s:create_fused_loop(xo, yo), "blockIdx.x")
    s:bind(xi, "threadIdx.x")
    s:bind(yi, "threadIdx.x")
    local p, seen = nw.warps(s, {blocks = 4}), {}
    for n, row in ipairs(p.rows) do seen[n] = row[1] .. " " .. row[5] end
    assert.same({"block 0 warp 0: i_i=0..31 writes X", "block 1 warp 0: i_i=0..31 writes X", "block 2 warp 0: i_1_i=0..31 writes Y",
      "block 3 warp 0: i_1_i=0..31 writes Y"}, seen)
  end)

  it("names what is too much", function()
    local s = kernels.gemm_shared(64)
    fails("128 warps are too many", "limit", nw.warps, s, {blocks = 100})
    fails("there is no kernel 2", "range", nw.warps, s, {kernel = 2})
    fails("parts: 0 is less than 1", "range", nw.warps, s, {parts = 0})
  end)
end)
