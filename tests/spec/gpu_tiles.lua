--- Makes a product of matrices with any number of rows for a GPU, and the tiles of its rows. Only public primitives are used.
local nw = require "nestwright"

local tiles = {N = 256, K = 256}

--- Returns a schedule of C = A * B, where A has M rows. target: a GPU; n, k: sizes, by default those of the bench.
function tiles.product(M, target, n, k)
  n, k = n or tiles.N, k or tiles.K
  local A, B = nw.placeholder({M, k}, "f32", "A"), nw.placeholder({k, n}, "f32", "B")
  local q = nw.reduce_axis(k, "k")
  return nw.schedule(nw.compute({M, n}, function(i, j) return nw.sum(A(i, q) * B(q, j), q) end, "C"), {target = target})
end

-- Copies a tile of an input to shared memory, by all threads of a block.
local function share(s, p, name, at, threads_y, threads_x)
  local l = s:loops(s:cache_read(name, "shared", {p.stage}, {at = at}))
  local _, threads = s:split(s:fuse(l[#l - 1], l[#l]), threads_y * threads_x)
  local y, x = s:split(threads, threads_x)
  s:bind(y, "threadIdx.y")
  s:bind(x, "threadIdx.x")
end

--- Returns a kernel whose block computes `rows` rows and `columns` columns; a thread computes `own[1]` by `own[2]` of them. The
--- outermost loop is over blocks, and not bound. depth: the rows of B that are copied to shared memory at a time; nil: A and B are
--- read directly.
function tiles.kernel(rows, columns, own, depth)
  local function schedule(s, p)
    local j_o, j_i = s:split(p:loop "j", columns)
    local i, k = p.inner, p:loop "k"
    s:reorder(p.outer, j_o, i, j_i, k)
    s:bind(j_o, "blockIdx.y")
    local y, i_i = s:split(i, own[1])
    local x, j = s:split(j_i, own[2])
    s:reorder(y, x, k, i_i, j)
    s:bind(y, "threadIdx.y")
    s:bind(x, "threadIdx.x")
    if depth then
      local k_o = s:split(k, depth)
      for _, name in ipairs {"A", "B"} do share(s, p, name, k_o, rows // own[1], columns // own[2]) end
    end
  end
  return {rows = rows, schedule = schedule, name = depth and "shared" or "direct"}
end

return tiles
