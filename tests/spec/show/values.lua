--- Makes one value of each kind that users get, and lists the writers that show values. values_spec.lua and the bench of truth use
--- this file.
local nw = require "nestwright" -- first: the modules below need what it prepares
local mime = require "nestwright.show.mime"
local prompt = require "nestwright.show.prompt"

local values = {}

local function gemm(n)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")), A, B, k
end

local function refusal()
  local s = gemm(8)
  local _, err = pcall(s.parallel, s, "k")
  return err
end

local function parallel()
  local s = gemm(8)
  s:parallel "i"
  return s
end

local function around(median)
  local samples = {}
  for n = 1, 9 do samples[n] = median * (0.9 + n / 50) end
  return {samples = samples}
end

local function timings() return nw.timings {naive = around(4e-3), tiled = around(1e-3)} end

local function sweep()
  return nw.sweep {params = {n = {1, 2, 4}}, run = function(p) return {seconds = p.n * 1e-3} end}
end

local function audit()
  local A, B = nw.placeholder({16, 16}, "f32", "A"), nw.placeholder({16, 16}, "f32", "B")
  local k = nw.reduce_axis(16, "k")
  local product = nw.compute({16, 16}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  return nw.cost.audit {kernel = product, schedules = 6, threads = 1}
end

-- Returns the product of two matrices with an unknown number of rows, and kernels for it. f(s, piece) is called for each piece.
local function rows_of_tiles(f)
  local M = nw.size "M"
  local A, B, k = nw.placeholder({M, 8}, "f32", "A"), nw.placeholder({8, 8}, "f32", "B"), nw.reduce_axis(8, "k")
  local s = nw.schedule(nw.compute({M, 8}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
  return s, {{rows = 4, schedule = f or function() end}}
end

local function tiles()
  local s, kernels = rows_of_tiles()
  return nw.microkernels {schedule = s, loop = "i", kernels = kernels}
end

-- Returns a piece of a version that is no longer current.
local function piece()
  local seen
  local s, kernels = rows_of_tiles(function(_, p) seen = seen or p end)
  s:partition_auto {loop = "i", kernels = kernels, cost = "model", sizes = {M = {8}}, strategies = {"guard"}}
  return seen
end

-- Returns a stream for an accelerator that executes a copy and an addition.
local function stream()
  local chip, A = nw.accelerator "vdla", nw.placeholder({8}, "i32", "A")
  local B = nw.compute({8}, function(i) return A(i) + A(i) end, "B")
  local s = nw.schedule(B, {target = chip})
  local BL, AL = s:cache_write(B, "acc"), s:cache_read(A, "acc")
  for stage, instruction in pairs {[AL] = chip.dma_copy2d, [BL] = chip.alu, [B] = chip.dma_copy2d} do
    s:tensorize(s:loops(stage)[1], instruction)
  end
  return s:stream()
end

-- Returns a stream in which an instruction does not wait for the one before it.
local function hazardous()
  local made = stream()
  return made:drop(#made, "compute->store")
end

local CACHE = {levels = {{bytes = 1024, ways = 4}}}

--- The kinds of values. A row has the name, a function that makes a value, and true if this takes seconds.
values.kinds = {
  {"nil", function() return nil end},
  {"boolean", function() return true end},
  {"number", function() return 3.25 end},
  {"string", function() return "text\nof two lines" end},
  {"table", function() return {1, 2, name = {3}} end},
  {"function", function() return print end},
  {"library", function() return nw end},
  {"tensor", function() return (select(2, gemm(8))) end},
  {"axis", function() return (select(4, gemm(8))) end},
  {"expression", function() return nw.size "N" * 2 + 1 end},
  {"array", function() return nw.zeros {2, 3} end},
  {"large array", function() return nw.zeros {100, 100} end},
  {"schedule", function() return (gemm(8)) end},
  {"loop", function() return gemm(8):loops()[1] end},
  {"loops", function() return gemm(8):loops() end},
  {"view of loops", function() return gemm(8):show "loops" end},
  {"view with costs", function() return gemm(8):show {cost = true} end},
  {"view of C", function() return gemm(8):show "c" end},
  {"view of a diff", function() return parallel():diff() end},
  {"log of steps", function() return parallel():log() end},
  {"error", refusal},
  {"refusal", function() return refusal().refusal end},
  {"why", function() local s = gemm(8) pcall(s.parallel, s, "k") return s:why "C[" end},
  {"kernel", function() return parallel():build {threads = 2} end},
  {"time", function() return gemm(8):time {threads = 1, reps = 2} end},
  {"comparison", timings},
  {"busy threads", function() return parallel():build({threads = 2}):busy {reps = 2} end},
  {"roofs", function() return nw.roofs {threads = 1} end, true},
  {"sweep", sweep},
  {"machine", function() return nw.machine "zen5" end},
  {"target", function() return nw.target "aarch64" end},
  {"accelerator", function() return nw.accelerator "vdla" end},
  {"stream", stream},
  {"run of a stream", function() return stream():run() end},
  {"stuck run", function() return hazardous():add(3, "compute->store", "take"):run() end},
  {"findings of a stream", function() return hazardous():check() end},
  {"no findings of a stream", function() return stream():check() end},
  {"prediction of a stream", function() return stream():model() end},
  {"plot of a run", function() return stream():run():plot() end},
  {"plot of queues", function() return stream():run():plot_queues() end},
  {"plot of virtual threads", function() return stream():plot_threads() end},
  {"cost", function() return gemm(8):cost {machine = "zen5"} end},
  {"misses", function() return nw.misses(gemm(8), CACHE) end},
  {"audit", audit},
  {"moves", function() return gemm(8):moves "i" end},
  {"help", function() return nw.help "split" end},
  {"check", function() return gemm(8):check() end},
  {"random step", function() return gemm(8):random_step(2) end},
  {"function of the library", function() return nw.compute end},
  {"coroutine", function() return coroutine.create(print) end},
  {"file", function() return io.tmpfile() end},
  {"table with odd keys", function() return {[print] = 1, [{}] = 2, [nw.compute] = 3} end},
  {"libxsmm", function() return nw.xsmm end},
  {"tile of libxsmm", function() return nw.xsmm.kernel {rows = 8} end},
  {"tiles of libxsmm", function() return {nw.xsmm.kernel {rows = 8}, nw.xsmm.kernel {rows = 4}} end},
  {"measured tiles", function() return tiles() end, true},
  {"measured tile", function() return tiles()[1] end, true},
  {"piece", piece},
  {"plot of times", function() return timings():plot() end},
  {"plot of steps", function() return timings():plot {style = "steps"} end},
  {"plot of a sweep", function() return sweep():plot() end},
  {"plot of a refusal", function() return refusal().refusal:plot() end},
  {"plot of the order", function() return nw.order((gemm(4))) end},
  {"plot of space and time", function() return nw.spacetime((gemm(4))) end},
  {"timeline", function() return nw.timeline {{lane = "a", from = 0, to = 1}} end},
  {"html", function() return nw.html "<b>x</b>" end},
}

-- Returns a plot as characters, as on a terminal without graphics. Returns nil for any other value.
local function letters(value)
  local meta = type(value) == "table" and debug.getmetatable(value)
  if type(meta) ~= "table" or meta.__name ~= "nestwright.plot" then return nil end
  return value:text()
end

local function picture(kind)
  return function(value)
    local bundle = mime.of(value, function(v) return prompt.text(false, v) end)
    return bundle[kind]
  end
end

--- The writers. A row has the name, and a function that returns the text of a value, or nil if the writer is not used for this kind
--- of value.
values.writers = {
  {"plain", function(value) return prompt.text(false, value) end},
  {"plain, in a table", function(value) return prompt.text(false, {value}) end},
  {"ansi", function(value) return prompt.text(true, value) end},
  {"html", function(value) return (mime.piece(value, function(v) return prompt.text(false, v) end)) end},
  {"notebook", function(value) return picture "text/plain"(value) end},
  {"svg", picture "image/svg+xml"},
  {"png", picture "image/png"},
  {"letters", letters},
}

--- Returns nil, or a message that says what is wrong with the text of a value of this kind.
function values.fault(kind, text)
  if type(text) ~= "string" then return "not a text" end
  if text == "" and kind ~= "nil" then return "empty" end
  if text:find "^iVBOR" then return nil end -- PNG
  if text:find "0x%x%x%x%x" then return "an address" end
  if text:find "%f[%w]nil%f[%W]" and kind ~= "nil" then return "the word nil" end
  if text:find "%-?nan%f[%W]" then return "nan" end
end

return values
