--- The schedules that the benches measure. Only public primitives are used.
local core = require "nestwright.core"
local nw = require "nestwright"

local schedules = {}

--- Returns the options that depend on the vectors of this host. A register tile of a GEMM has two vectors in each row. Its sums,
--- two vectors of B and an element of A need a register each.
function schedules.host_tile()
  local h = core.machine_host()
  local lanes = h.vector_bytes // 4
  return {lanes = lanes, mr = h.vector_registers >= 32 and 8 or 6, nr = 2 * lanes}
end

local function matmul(m, n, depth)
  local A, B = nw.placeholder({m, depth}, "f32", "A"), nw.placeholder({depth, n}, "f32", "B")
  local k = nw.reduce_axis(depth, "k")
  local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  return C, A, B
end
schedules.matmul = matmul

-- Returns a number of rows of A that stay in the second-level cache while a panel of B is read. Prefers a number that divides the
-- rows without a remainder.
local function row_block(m, mr)
  for mb = 128 // mr * mr, mr, -mr do
    if m % mb == 0 then return mb end
  end
  return 128 // mr * mr
end

--- Makes a GEMM of any shape. B is packed into panels of `nr` columns. The register tile has mr rows and nr columns. The rows are
--- divided into blocks of mb rows. A large B is packed and used `jb` columns at a time, so that the packed columns are still in the
--- third-level cache when they are used.
--- @param n integer|integer[]   n, or {m, n, k}; sizes may be symbolic, with o.mb given
function schedules.gemm(n, threads, o)
  o = o or {}
  local mr, nr, jb = o.mr or 8, o.nr or 32, o.jb or 512
  local shape = type(n) == "table" and n or {n, n, n}
  local mb = o.mb or row_block(shape[1], mr)
  local C, _, B = matmul(table.unpack(shape))
  local s = nw.schedule(C)
  local tail = "guard"
  local packed = s:cache_read(B, "global", {C}, {layout = function(k, j) return j // nr, k, j % nr end})
  local i_b, i = s:split("i", {factor = mb, tail = tail})
  local i_o, i_i = s:split(i, {factor = mr, tail = tail})
  local j, j_b = "j", nil
  if math.type(shape[2]) and shape[2] >= 2 * jb then j_b, j = s:split("j", {factor = jb, tail = tail}) end
  local j_o, j_i = s:split(j, {factor = nr, tail = tail})
  if j_b then
    s:reorder(j_b, i_b, j_o, i_o, i_i, j_i)
    s:compute_at(packed, j_b)
  else
    s:reorder(i_b, j_o, i_o, i_i, j_i)
  end
  local block = s:cache_write(C, "local", {at = i_o})
  local loops = s:loops(block) -- i_b, j_o and i_o around the block; i, j and k in it
  local bi, bj, bk = loops[#loops - 2], loops[#loops - 1], loops[#loops]
  if (o.kf or 1) > 1 then
    local k_o, k_i = s:split(bk, {factor = o.kf, tail = tail})
    s:reorder(k_o, k_i, bi, bj)
    s:unroll(k_i)
  else
    s:reorder(bk, bi, bj)
  end
  s:vectorize(bj)
  s:unroll(bi)
  s:vectorize(j_i)
  s:unroll(i_i)
  -- Packs eight rows at a time, so that B is read as sequential streams and written in whole kilobytes.
  local around = s:loops(packed)
  local p_k, p_j = around[#around - 1], around[#around]
  local p_jo, p_ji = s:split(p_j, {factor = nr, tail = tail})
  local p_ko, p_ki = s:split(p_k, {factor = o.pk or 8, tail = tail})
  s:reorder(p_ko, p_jo, p_ki, p_ji)
  s:vectorize(p_ji)
  if threads > 1 then
    s:parallel(i_b)
    s:parallel(p_ko)
  end
  return s
end

--- Schedules a GEMM in seventeen steps, with blocks, packing, a write cache and threads. Calls `apply(s, name, ...)` for each step.
function schedules.walk(n, apply)
  local C, _, B = matmul(n, n, n)
  local s = nw.schedule(C)
  local i_o, j_o, i_i, j_i = apply(s, "tile", "i", "j", 128, 32)
  local k_o, k_i = apply(s, "split", "k", 4)
  apply(s, "reorder", i_o, j_o, k_o, k_i, i_i, j_i)
  apply(s, "vectorize", j_i)
  apply(s, "reorder", i_o, j_o, k_o, i_i, k_i, j_i)
  local packed = apply(s, "cache_read", B, "global", {C}, {layout = function(k, j) return j // 32, k, j % 32 end})
  local px, py = table.unpack(s:loops(packed))
  local panel, lane = apply(s, "split", py, 32)
  apply(s, "reorder", panel, px, lane)
  apply(s, "vectorize", lane)
  local i_t, i_r = apply(s, "split", i_i, 8)
  local block = apply(s, "cache_write", C, "local", {at = i_t})
  local x, y, r = table.unpack(s:loops(block), #s:loops(block) - 2)
  apply(s, "reorder", r, x, y)
  apply(s, "vectorize", y)
  apply(s, "unroll", x)
  apply(s, "unroll", i_r)
  apply(s, "parallel", i_o)
  apply(s, "parallel", panel)
  return s
end

--- Makes a full convolution, out[i] = sum over t of a[i - t] * w[t], where elements outside a count as zero. The input is copied
--- with padding, and outputs are computed in register tiles.
function schedules.conv1d(n, taps, o)
  o = o or {}
  local lanes, tile = o.lanes or 16, o.tile or 8
  local A, W = nw.placeholder({n}, "f32", "A"), nw.placeholder({taps}, "f32", "W")
  local total = n + taps - 1
  local P = nw.compute({n + 2 * (taps - 1)}, function(i)
    return nw.select(nw.all(nw.ge(i, taps - 1), nw.lt(i, n + taps - 1)), A(i - (taps - 1)), 0)
  end, "P")
  local t = nw.reduce_axis(taps, "t")
  local C = nw.compute({total}, function(i) return nw.sum(P(i + taps - 1 - t) * W(t), t) end, "C")
  local s = nw.schedule(C)
  local p_lane = select(2, s:split(s:loops(P)[1], {factor = lanes, tail = "cut"}))
  s:vectorize(p_lane)
  local c, k = table.unpack(s:loops(C))
  local c_o, c_i = s:split(c, {factor = lanes * tile, tail = "cut"})
  local b_o, b_i = s:split(c_i, lanes)
  -- For neighbouring blocks, taps t and t + 16 read the same vector of P. If both taps are in one loop body, one load serves
  -- two products.
  local k_o, k_i = s:split(k, lanes)
  s:reorder(c_o, k_i, k_o, b_o, b_i)
  s:vectorize(b_i)
  s:unroll(b_o)
  s:unroll(k_o)
  if (o.threads or 1) > 1 then s:parallel(c_o) end
  return s
end

--- Makes Z = (A + 1) * (B + 3). The size depends on n, so that a caller can avoid compiled programs in a cache.
function schedules.pointwise(n)
  local size = {1000003 + n}
  local A, B = nw.placeholder(size, "f32", "A"), nw.placeholder(size, "f32", "B")
  local Z = nw.compute(size, function(i) return (A(i) + 1) * (B(i) + 3) end, "Z")
  local s = nw.schedule(Z)
  local _, lane = s:split("i", {factor = 16, tail = "cut"})
  s:vectorize(lane)
  return s
end

--- Makes a depthwise 3x3 convolution with padding that keeps the shape. Each channel is first padded and then computed, a few rows
--- at a time, in vectors along x.
function schedules.depthwise(c, h, w, threads, o)
  o = o or {}
  local rows, lanes = o.rows or 4, o.lanes or 16
  local A, K = nw.placeholder({c, h, w}, "f32", "A"), nw.placeholder({c, 3, 3}, "f32", "K")
  local P = nw.compute({c, h + 2, w + 2}, function(ch, y, x)
    return nw.select(nw.all(nw.ge(y, 1), nw.le(y, h), nw.ge(x, 1), nw.le(x, w)), A(ch, y - 1, x - 1), 0)
  end, "P")
  local dy, dx = nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
  local D = nw.compute({c, h, w}, function(ch, y, x)
    return nw.sum(P(ch, y + dy, x + dx) * K(ch, dy, dx), {dy, dx})
  end, "D")
  local s = nw.schedule(D)
  local ch, y, x = table.unpack(s:loops(D))
  local y_o, y_i = s:split(y, rows)
  local x_o, x_i = s:split(x, lanes)
  s:reorder(y_o, x_o, y_i, x_i)
  s:compute_at(P, ch)
  s:set_scope(P, o.scope or "local")
  local p = s:loops(P)
  local _, p_x = s:split(p[#p], {factor = o.plane or 58, tail = "cut"})
  s:vectorize(p_x)
  local block = s:cache_write(D, "local", {at = x_o})
  local b = s:loops(block)
  local n = #b
  s:reorder(b[n - 1], b[n], b[n - 3], b[n - 2])
  s:vectorize(b[n - 2])
  for _, at in ipairs {n - 3, n, n - 1} do s:unroll(b[at]) end
  s:vectorize(x_i)
  s:unroll(y_i)
  if o.stream then s:stream_stores(D) end
  if threads > 1 then s:parallel(ch) end
  return s
end

--- Makes a separable 3x3 blur.
function schedules.blur(h, w, dtype, threads, o)
  o = o or {}
  local lanes, rows = o.lanes or (dtype == "u16" and 32 or 16), o.rows or 4
  local A = nw.placeholder({h + 2, w + 2}, dtype, "A")
  local function mean(a, b, c) return dtype == "f32" and (a + b + c) * nw.f32(1 / 3) or (a + b + c) // 3 end
  local X = nw.compute({h + 2, w}, function(y, x) return mean(A(y, x), A(y, x + 1), A(y, x + 2)) end, "X")
  local Y = nw.compute({h, w}, function(y, x) return mean(X(y, x), X(y + 1, x), X(y + 2, x)) end, "Y")
  local s = nw.schedule(Y)
  local y, x = table.unpack(s:loops(Y))
  local y_o, y_i = s:split(y, rows)
  local x_o, x_i = s:split(x, lanes)
  s:reorder(y_o, x_o, y_i, x_i)
  s:compute_at(X, x_o)
  s:set_scope(X, "local")
  local l = s:loops(X)
  s:vectorize(l[#l])
  s:unroll(l[#l - 1])
  s:vectorize(x_i)
  s:unroll(y_i)
  if o.stream ~= false then s:stream_stores(Y) end
  if threads > 1 then s:parallel(y_o) end
  return s
end

--- Makes Z = (A + 1) * (B + 3), with streaming stores.
function schedules.elementwise(n, threads, o)
  o = o or {}
  local A, B = nw.placeholder({n}, "f32", "A"), nw.placeholder({n}, "f32", "B")
  local Z = nw.compute({n}, function(i) return (A(i) + 1) * (B(i) + 3) end, "Z")
  local s = nw.schedule(Z)
  local i_o, lane = s:split("i", {factor = 16, tail = "cut"})
  s:vectorize(lane)
  if o.plain then return s end
  if threads > 1 then
    s:parallel(i_o)
  else
    local _, unrolled = s:split(i_o, {factor = o.unroll or 4, tail = "cut"})
    s:unroll(unrolled)
  end
  s:stream_stores(Z)
  return s
end

--- Makes a convolution of `taps` taps, without a border. The loop over the taps stays a loop, or is unrolled.
function schedules.taps(n, taps, o)
  o = o or {}
  local X, F = nw.placeholder({n + taps - 1}, "f32", "X"), nw.placeholder({taps}, "f32", "F")
  local r = nw.reduce_axis(taps, "r")
  local Y = nw.compute({n}, function(x) return nw.sum(X(x + r) * F(r), r) end, "Y")
  local s = nw.schedule(Y)
  local x_o, x_i = s:split("x", o.lanes or 64)
  s:reorder(x_o, "r", x_i)
  s:vectorize(x_i)
  if o.unroll then s:unroll "r" end
  return s
end

--- Makes a GEMM with a register tile of `rows` rows and `lanes` columns. tail: "cut" or "predicate", how the last columns run.
function schedules.tile(m, n, k, rows, lanes, tail)
  local s = nw.schedule((matmul(m, n, k)))
  local i_o, i_i = s:split("i", {factor = rows, tail = "shift"})
  s:reorder("j", i_o, "k", i_i)
  local function schedule(path, lane)
    s:reorder(path .. i_o.name, path .. "k", path .. i_i.name, lane)
    s:unroll(path .. i_i.name)
  end
  local _, lane, rest = s:split("j", {factor = lanes, tail = tail})
  schedule("", lane)
  if rest then
    s:vectorize(lane)
    schedule(rest.name .. "/", rest)
    s:vectorize(rest)
  end
  return s
end

--- Makes the sum or the maximum of each row, in vectors of `lanes` elements that are combined as a tree at the end of the row.
function schedules.rows(kind, m, n, lanes)
  local S, k = nw.placeholder({m, n}, "f32", "S"), nw.reduce_axis(n, "k")
  local s = nw.schedule(nw.compute({m}, function(i) return nw[kind](S(i, k), k) end, "R"))
  local _, lane = s:split("k", lanes or 16)
  s:vectorize(lane, {reduce = "tree"})
  return s
end

--- Makes the softmax of each row. The sums have as many lanes as those of gcc, because the order of a sum decides its last bits.
function schedules.softmax(m, n, o)
  o = o or {}
  local lanes = o.lanes or nw.machine().vector_bytes // 4
  local X = nw.placeholder({m, n}, "f32", "X")
  local k, l = nw.reduce_axis(n, "k"), nw.reduce_axis(n, "l")
  local M = nw.compute({m}, function(i) return nw.max(X(i, k), k) end, "M")
  local E = nw.compute({m, n}, function(i, j) return nw.exp(X(i, j) - M(i)) end, "E")
  local Z = nw.compute({m}, function(i) return nw.sum(E(i, l), l) end, "Z")
  local P = nw.compute({m, n}, function(i, j) return E(i, j) * (1 / Z(i)) end, "P")
  local s = nw.schedule(P)
  local row = s:loops(P)[1]
  for _, stage in ipairs {Z, E, M} do
    s:compute_at(stage, row)
    s:set_scope(stage, "local")
  end
  for _, stage in ipairs {P, E} do
    local loops = s:loops(stage)
    s:split(loops[#loops], {factor = lanes, tail = "predicate"})
  end
  for _, stage in ipairs {Z, M} do
    local loops = s:loops(stage)
    local _, lane = s:split(loops[#loops], lanes)
    s:vectorize(lane, {reduce = "tree"})
  end
  if (o.threads or 1) > 1 then s:parallel(row) end
  return s
end

-- Registers the transpose of a tile of `rows` x `columns` elements, as shuffles.
local function turned(rows, columns)
  local A = nw.placeholder({rows, columns}, "f32", "A")
  local B = nw.compute({columns, rows}, function(i, j) return A(j, i) end, "B")
  return nw.intrinsic {name = ("turn_%dx%d"):format(rows, columns), args = {A, B}, code = "shuffles"}
end

--- Makes B[i, j] = A[j, i] in blocks. A block is turned by shuffles into storage that stays in the first cache. From there, its
--- rows are written with streaming stores of whole lines.
function schedules.turned(n, threads, o)
  o = o or {}
  local rows, columns = o.rows or 32, o.columns or 64 -- of a block of B
  local tile_rows, tile_columns = o.tile_rows or 8, o.tile_columns or 16 -- of a tile of A
  local A = nw.placeholder({n, n}, "f32", "A")
  local B = nw.compute({n, n}, function(i, j) return A(j, i) end, "B")
  local s = nw.schedule(B)
  local i_o, j_o, _, j_i = s:tile("i", "j", rows, columns)
  local i_b, i_m = s:split(i_o, (o.strip or 512) // rows)
  s:reorder(i_b, j_o, i_m)
  local at = i_m
  local T = s:cache_write(B, "local", {at = at})
  if o.pad then s:storage_align(T, 0, 16, o.pad) end
  local around = s:loops(T)
  local t_i, t_j = around[#around - 1], around[#around]
  local t_io, t_ii = s:split(t_i, tile_columns)
  local t_jo, t_ji = s:split(t_j, tile_rows)
  s:reorder(t_jo, t_io, t_ii, t_ji)
  if o.columns_first then s:reorder(t_io, t_jo) end
  s:tensorize(t_ii, turned(tile_rows, tile_columns).name)
  s:unroll(o.columns_first and t_jo or t_io)
  local _, lane = s:split(j_i, 16)
  s:vectorize(lane)
  if o.stream ~= false then s:stream_stores(B) end
  if o.prefetch then s:prefetch("A", t_jo, {region = o.prefetch}) end
  if threads > 1 then s:parallel(j_o) end
  return s
end

--- Makes B[i, j] = A[j, i].
function schedules.transpose(n, threads, o)
  o = o or {}
  local A = nw.placeholder({n, n}, "f32", "A")
  local B = nw.compute({n, n}, function(i, j) return A(j, i) end, "B")
  local s = nw.schedule(B)
  if o.plain then return s end
  local i_o, _, _, j_i = s:tile("i", "j", o.rows or 16, o.lanes or 16)
  s:vectorize(j_i)
  if threads > 1 then s:parallel(i_o) end
  return s
end

return schedules
