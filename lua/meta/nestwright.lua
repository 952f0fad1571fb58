---@meta nestwright
-- ./dev doc generates this file from the rows of the bindings; do not edit it.

---@class nw.schedule
---@field target nw.target The target that the schedule is made for.
local schedule = {}

---Puts a loop of one iteration around a stage or a loop. around: the stage or loop. Example: s:add_unit_loop(C)
---@param around nw.loop|nw.stage|nw.tensor|string
---@return loop
function schedule:add_unit_loop(around) end

---Sets a property of a stage that a pass honours. Without a value, removes the property. stage: the stage. key: fma: auto or never, whether a product and a sum may be rounded once, together. minmax: exact or fast, whether minimums and maximums of floats may lose NaN and the sign of 0. ignores: units of an accelerator, "compute" or "load compute": the instructions of the stage do not take tokens from them, so they do not wait for them; only s:unsafe allows this. note: a remark shown in the views. value: a word, depending on the key. Example: s:annotate(C, "fma", "never")
---@param stage nw.stage|nw.tensor|string
---@param key "fma"|"minmax"|"ignores"|"note"
---@param value? string|integer
function schedule:annotate(stage, key, value) end

---Takes a step, given by the name of the primitive and its positional arguments. The methods for the primitives call this method.
---@param primitive string
---@param arguments table
---@return any ...
function schedule:apply(primitive, arguments) end

---Assumes a fact about the sizes in all later proofs. A kernel rejects calls with sizes for which the fact is false. A fact such as "M == 16" makes extents constant. fact: a condition on sizes: nw.eq(M % 16, 0), or as text. Example: s:assume("M % 16 == 0")
---@param fact nw.expr|string
function schedule:assume(fact) end

---Makes a copy asynchronous, so that other work can overlap with it. Its elements arrive at some time before a wait for them ends. Lowering places the commits, which form groups of copies, and the waits. Code for a CPU copies at once. stage: a stage that only copies, such as a result of cache_read, into shared or global storage. Example: s:async_copy("A_shared")
---@param stage nw.stage|nw.tensor|string
function schedule:async_copy(stage) end

---Makes the updates of a reduction atomic, so that its loops can be parallel. stage: a reduction of one value; its loops can then be parallel, but not vectorized. Example: s:atomic(C)
---@param stage nw.stage|nw.tensor|string
function schedule:atomic(stage) end

---Binds a loop to an index of a GPU's grid: each block, thread or virtual thread runs one iteration. If threads share a reduction, each of them has a partial result, and the threads combine the partial results in pairs. s:check(), nw.interpret and nw.simulate run the program on any machine; with a target such as "cuda" or "opencl", s:build() makes kernels for a GPU. loop: the loop. tag: the index; the iterations of a vthread loop run interleaved in one thread. Example: s:bind("i_o", "blockIdx.x")
---@param loop nw.loop|string
---@param tag "blockIdx.x"|"blockIdx.y"|"blockIdx.z"|"threadIdx.x"|"threadIdx.y"|"threadIdx.z"|"vthread"
function schedule:bind(loop, tag) end

---Makes a nest a unit (a block in TVM). compute_at and reverse_compute_at move a unit as a whole: the loops around it get new ranges, and the nest in it stays as it is, so that a stage is computed in whole tiles. Loops inside and outside of a unit are not mixed. Where a step takes a loop, the name of a unit stands for its outermost loop. A unit has no effect on what the program computes. loop: the outermost loop of the nest. name: the name of the unit; by default the name of its last stage with _o. Example: s:blockize "i_i"
---@param loop nw.loop|string
---@param name? string
---@return unit
function schedule:blockize(loop, name) end

---Gives the current version a name, with which s:checkout finds it.
---@param name string
---@return nw.schedule
function schedule:branch(name) end

---Compiles the schedule. threads: the number of threads; all cores by default. f(a, b) returns the outputs; f(a, b, c) fills c. versions: versions of the schedule by number or branch, each with the facts that s:assume stated. A call runs the first version whose facts hold for its sizes; a decision tree finds this version. If there is none, the call runs the last version, which may assume only what all others assume. target: the schedule's own; code for another target is refused, and s:retarget(t) makes a schedule for it. Code for another CPU than this host's is not run; use f:show "asm" and f:export.
---@param options? {threads?: integer, opt?: integer, cache?: boolean, versions?: (integer|string)[], target?: string|table|nw.machine|nw.target}
---@return nw.kernel
function schedule:build(options) end

---Computes divisions in the indices of a stage once, in stages of their own, which the stage then reads: A[i // 3] is read as A[A_index[i]]. The proofs still know the index. stage: the stage whose indices have // or % of its axes. scope: memory of the numbers; global by default. name: name of the new stage, if there is only one. at: also moves the new stages into this loop, like compute_at. Example: s:cache_index(C)
---@param stage nw.stage|nw.tensor|string
---@param options? {scope?: "global"|"local"|"shared"|"warp"|string, name?: string, at?: nw.loop|string}
---@return stages
function schedule:cache_index(stage, options) end

---Reads a tensor through a copy, which can have another layout. tensor: the tensor to copy. scope: memory of the copy. readers: the stages that read the copy; all by default. layout: position of element (_0, _1, ...), as a function of the indices: function(k, j) return j // 32, k, j % 32 end; also a swizzle: function(i, j) return i, j ~ (i % 32) end. name: name of the copy. at: also moves the copy into this loop, like compute_at; on a grid, a copy of another scope than global is made inside the blocks (local: inside the threads) by default. accesses: the reads in each reader that use the copy, counted from 1 from left to right as s:show() prints them; equal reads count once, and a read in an index comes before the read that it indexes: {1} is A[i] in A[i] + A[i + 1]; all by default. Example: s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 32, k, j % 32 end})
---@param tensor nw.stage|nw.tensor|string
---@param scope "global"|"local"|"shared"|"warp"|string
---@param readers? (nw.stage|nw.tensor|string)[]
---@param options? {layout?: fun(...: nw.expr): nw.expr ..., name?: string, at?: nw.loop|string, accesses?: (integer)[]}
---@return nw.stage
function schedule:cache_read(tensor, scope, readers, options) end

---Computes a stage in a temporary buffer and then copies the result out. stage: the stage; the copy keeps its loops, the computation gets new ones. If an earlier step changed or moved the loops of its reduction, the computation keeps all loops, and the copy gets new ones. scope: memory of the buffer. layout: position of element (_0, _1, ...), as a function of the indices: function(k, j) return j // 32, k, j % 32 end; also a swizzle: function(i, j) return i, j ~ (i % 32) end. name: name of the buffer. at: also moves the computation into this loop, like compute_at. Example: s:cache_write(C, "local", {at = "j_o"})
---@param stage nw.stage|nw.tensor|string
---@param scope "global"|"local"|"shared"|"warp"|string
---@param options? {layout?: fun(...: nw.expr): nw.expr ..., name?: string, at?: nw.loop|string}
---@return nw.stage
function schedule:cache_write(stage, scope, options) end

---Compares the schedule with its definition in three ways: interpreted, lowered and interpreted, and compiled. Symbolic sizes get small values, such as 0, 1, primes, and sizes near those of the tiles; constant sizes keep their values. If the sizes are too large to interpret, only the compiled program is run, and it is compared at the corners and at some random elements. The instructions of an accelerator are not executed. The result states what was checked; an error names the first difference.
---@return string
function schedule:check() end

---Goes to a version, given by branch name or number.
---@param version string|integer
---@return nw.schedule
function schedule:checkout(version) end

---Moves the computation of a stage into a loop: each iteration computes the part that it reads. Stages that are computed in the loops of the stage, for this stage only, move with it. A reader that was cut off from the loop gets a computation of its own. A piece of a stage that was cut, such as B.head, moves alone. stage: the stage to move, or a unit (s:blockize). loop: a loop that encloses all readers of the stage. index: its position among the statements of the loop: 1 is the first, -1 as late as possible (before its first reader; the default), -2 as early as possible (after the last statement that it reads). others: the loops in which it is computed for readers that were cut off from the loop; by default the outermost ones. Example: s:compute_at(P, "j_o")
---@param stage nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@param options? {index?: integer, others?: (nw.loop|string)[]}
function schedule:compute_at(stage, loop, options) end

---Replaces every read of a stage by its expression. stage: a stage that is neither a reduction nor an output. Example: s:compute_inline(P)
---@param stage nw.stage|nw.tensor|string
function schedule:compute_inline(stage) end

---Computes the whole stage before its first reader. stage: the stage to move, or a unit (s:blockize). Example: s:compute_root(P)
---@param stage nw.stage|nw.tensor|string
function schedule:compute_root(stage) end

---Predicts with a model how long the schedule takes, and why; docs/cost.md describes the model. It assumes that the kernel is called repeatedly, so data that fits a cache is already there. machine: as in nw.machine; this host by default. sizes: values of symbolic sizes. threads: 1 by default, also if a loop is parallel; the answer says for how many threads it is computed. conflicts = false: conflict misses are counted as capacity misses, which is faster. feed = 'full': every level sees every access; by default ('misses') each level sees only the misses of the level before it. 'full' changes the misses of the second and later levels a little, and is often ten times faster for programs with many accesses. measure = true, or a list of arrays: the schedule is also compiled, run and timed on this host. mca = true: adds the report of llvm-mca on the innermost loop, if llvm-mca is installed; it names the CPU and LLVM's model of it, which may be that of another CPU. Printing the answer gives a table. Fields: seconds, cycles, bottleneck; terms (name, cycles: the time if this resource were the only limit); loops (name, depth, entered: the number of entries, times: the number of iterations, cycles, carried: the cycles from an iteration to the next one through the longest chain of dependent updates, or 0, parallel, bottleneck); by_access, by_tensor, by_loop and levels (level, tensor, loop; the numbers of lines asked (requested), hits, misses, cold, capacity, conflict, written_back; exact, a boolean; error, a fraction of the misses); traffic of each level (name, read, written, bytes, intensity in operations per byte); flops; instructions; spills (an estimate); memory (bytes by location) and buffers; threads (with work), idle (threads without work), shares (cycles of each thread), balance (their mean over their maximum; terms, loops and misses are those of the first thread), outside (cycles outside of parallel loops), team_seconds (to start and join threads); counts_both (true if a choice depends on data, so that both sides are counted), calls (true if intrinsics are called, whose code is assumed to be good vector code); joules and energy (name, count, unit, pj, joules), an estimate; measured, ratio (predicted / measured: cycles over the clock of the record, which nw.calibrate measures in CPU time, over wall-clock time); spills_emitted (spills of vector registers in the compiled code), address_spills_emitted (spills of other registers); measured_joules (of the CPU package, where it has energy counters), joules_ratio, why_no_joules (why energy was not measured); mca; machine. For a GPU, the options are machine, sizes and caches (true: simulates caches), and the fields are seconds, bottleneck, machine; kernels (seconds, bottleneck, limits with name and seconds, waves, grid, block, launches, resident, limiter, occupancy); loops (name, id, depth, kernel, times, issued, f32, f64, ints and special: instructions of warps, seconds, bottleneck); and counts, the answer of s:gpu_counts. For a schedule on an accelerator, the only option is sizes. The fields are seconds, cycles, machine, joules, energy, terms (the busy cycles of each unit, and those of the memory outside of the chip), bottleneck and bound (the most of these, and its cycles), and those of s:stream():model().
---@param options? {machine?: nw.machine|string|table, sizes?: table, threads?: integer, conflicts?: boolean, feed?: 'misses'|'full', measure?: boolean|nw.array[], mca?: boolean, caches?: boolean}
---@return nw.report
function schedule:cost(options) end

---Predicts the cost of a schedule for several values of one symbolic size (the first by default). The rows have size, cycles, seconds, bottleneck, flops, joules and misses by level; for a GPU, they have size, seconds and bottleneck. The method plot{y = 'seconds', 'cycles', 'joules' or 'misses'} draws them.
---@param options {values: integer[], size?: string, sizes?: table, machine?: any, threads?: integer, conflicts?: boolean, feed?: 'misses'|'full'}
---@return nw.report
function schedule:cost_curve(options) end

---Fuses nests horizontally: one loop runs over the iterations of all of them, and each body is a branch in it. The nests are proven to be independent. A statement between them, such as the init of a scan, moves before or after them. Notes report how the work is balanced. loops: the loops in program order, of any extents. Example: s:create_fused_loop("i", "i_1")
---@param ... nw.loop|string
---@return nw.loop
function schedule:create_fused_loop(...) end

---Cuts a loop into consecutive loops that are scheduled separately: i.head and i.rest, or i.1, i.2, ... for several cuts. Steps also accept i.1 and i.2 for i.head and i.rest. The name of a piece that is proven empty stays valid. loop: the loop. at: where the next piece begins: a number or an expression of sizes, "M // 2"; several points in ascending order make several cuts. Example: s:cut("i", 64)
---@param loop nw.loop|string
---@param ... integer|nw.expr|string
---@return nw.loop
---@return nw.loop
function schedule:cut(loop, ...) end

---Splits a stage whose value is select(condition, x, c), with a constant c, into a fill and a copy. The fill is a nest of its own, before a loop, and stores c. The copy keeps the nest of the stage, and its loops run only where the condition may hold. stage: the padded stage. loop: a loop around it; the fill runs before this loop. Example: s:decompose_padding(P, "y")
---@param stage nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@return nw.stage
function schedule:decompose_padding(stage, loop) end

---Moves the init of a reduction into a nest of its own, before a loop. stage: the reduction. loop: a loop around it; the init runs before this loop. Example: s:decompose_reduction(C, "k")
---@param stage nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@return nw.stage
function schedule:decompose_reduction(stage, loop) end

---The differences between the versions `a` and `b`. Without `a`, the view shows what the step to `b` changed. By default, `b` is the current version. Versions are numbers, where 0 is the naive program, or names of branches.
---@param a? integer|string
---@param b? integer|string
---@return nw.view
function schedule:diff(a, b) end

---Computes a stage one or more iterations ahead of its use, with separate storage for each iteration in flight, so that computing and using it can overlap. stage: a stage that compute_at has put into a loop. ahead: number of iterations ahead, 1 to 16; 1 by default. Example: s:double_buffer(P)
---@param stage nw.stage|nw.tensor|string
---@param ahead? integer
function schedule:double_buffer(stage, ahead) end

---Shows what would go wrong with the step that was just refused. It runs the program with this step in the interpreter, on small whole numbers. It shows the two iterations that conflict, as they run now and after the step, and the wrong value beside the right one. Fields: seen, true if the conflict showed; how (order, place, iterations, race, twice, outside, domain, unwritten, incomplete, value); visible, false if there is nothing to run, for example because the step is refused for its structure; refusal; and the method plot, which draws the conflict like refusal:plot().
---@return nw.lesson
function schedule:explain() end

---Splits a loop after a statement inside it: the first nest runs up to and including that statement, the second runs the rest. Loops in between are split too. Storage that both nests use is moved outside the loop. loop: the loop. after: the stage or the inner loop that ends the first nest. Example: s:fission("i", {after = X})
---@param loop nw.loop|string
---@param options {after: nw.loop|nw.stage|nw.tensor|string}
---@return nw.loop
---@return nw.loop
function schedule:fission(loop, options) end

---Gives a temporary of scope warp the layout of an operand ("A", "B", "C" or "D") of an instruction of a warp, by s:transform_layout: its last two dimensions become the tiles, the lane, and the place of an element in the lane.
---@param stage nw.stage|nw.tensor|string
---@param intrinsic nw.intrinsic
---@param operand string
---@return nw.schedule
function schedule:fragment(stage, intrinsic, operand) end

---Fuses two perfectly nested adjacent loops into one. outer: the outer loop. inner: the loop directly inside it. Example: s:fuse("i", "j")
---@param outer nw.loop|string
---@param inner nw.loop|string
---@return nw.loop
function schedule:fuse(outer, inner) end

---The counts of nw.simulate, without arrays, for schedules whose accesses do not depend on data. sizes: values of symbolic sizes, {M = 64}. Blocks whose conditions and addresses are alike are simulated once, and their counts are multiplied, so large grids take little time; kernels[n].simulated is the number of simulated blocks. classes = false simulates every block; the counts are the same. caches: also counts hits in caches, as nw.simulate does; two waves of blocks are then replayed in the caches (kernels[n].replayed of kernels[n].waves), and if they are very long, only their first requests (kernels[n].cut). ptxas = false: the registers are estimated. Races are found only in shared memory.
---@param options? {sizes?: table, threads?: integer, machine?: string|table|nw.machine, caches?: boolean, classes?: boolean, ptxas?: boolean}
---@return nw.simulation
function schedule:gpu_counts(options) end

---The requests of one warp for a load or a store, such as "load A" or "store C_shared" (the names that s:gpu_counts() prints), in order, from the simulated GPU. Each has lanes, a list of {lane, address (in bytes from the beginning of the buffer), wavefronts (for shared memory: of each word of 4 bytes, from 0)}; bytes (of each lane), sectors and wavefronts; and mean_sectors and mean_wavefronts, over all requests of the kernel for this access. first: the number of the first one; most: 100 by default. block: its indices, as in {2, 1}; the first by default. warp: its number in the block, from 0. kernel: its number, if several kernels have such an access. sizes: values of symbolic sizes. machine: a GPU of nw.machines(); by default the target of the schedule. Accesses that depend on data cannot be recorded.
---@param access string
---@param options? {first?: integer, most?: integer, sizes?: table, machine?: string|table|nw.machine, kernel?: integer, block?: integer|integer[], warp?: integer}
---@return table[]
function schedule:gpu_requests(access, options) end

---The tree of versions, with the names of branches and a mark at the current version.
---@return nw.report
function schedule:history() end

---Moves the storage of a stage out of loops, without making it larger: their iterations use the same positions, one after the other. The stage is still computed in each iteration. stage: a stage that compute_at has put into a loop. loop: the enclosing loop that allocates the storage; by default it is outside of all loops. Example: s:hoist_storage(P, "i_o")
---@param stage nw.stage|nw.tensor|string
---@param loop? nw.loop|string
function schedule:hoist_storage(stage, loop) end

---The inputs of the computation: name, dtype and shape() of each.
---@return table[]
function schedule:inputs() end

---Joins two consecutive loops that have the same body; undoes a cut. first: the first piece. second: the piece that follows it. Example: s:join("i.head", "i.rest")
---@param first nw.loop|string
---@param second nw.loop|string
---@return joined
function schedule:join(first, second) end

---Binds two loops over the rows and columns of a tile to the lanes of a warp, so that each lane computes the elements of the operand that it holds: splits and reorders the loops, fuses those of the lane, and binds the result to threadIdx.x.
---@param row nw.loop|string
---@param column nw.loop|string
---@param intrinsic nw.intrinsic
---@param operand string
---@return nw.loop
function schedule:lanes(row, column, intrinsic, operand) end

---Applies the steps of a saved schedule. Each step is judged again, so the computation may have another shape.
---@param path string
---@return nw.schedule
function schedule:load(path) end

---The places where a stage can be computed: for each loop, how many times the stage's values are computed there and how many bytes the stage's storage takes, or why the stage cannot be computed there. A list of {loop, legal, why, recompute, bytes, size, current}.
---@param stage nw.stage|nw.tensor|string
---@return nw.report
function schedule:locations(stage) end

---The history: one row per step, starting with the naive program. A row has the number of the version (for s:diff and s:checkout), the step, the statements added, removed and changed, the operations of one run, the bytes of inputs, outputs and temporaries that a run reads and writes, and the names of the temporaries. Fields of a row: version, step, branch, notes, unsafe, tested, added, removed, changed, operations (or formula, an expression in sizes), exact, bytes, buffers. cost = true: adds the time and the bottleneck that s:cost predicts for each version, as predicted (seconds) and bottleneck, or ? and the reason if it predicts none, such as for a GPU before a loop is bound; machine, sizes and threads as in s:cost.
---@param options? {cost?: boolean, machine?: any, sizes?: table, threads?: integer}
---@return nw.report
function schedule:log(options) end

---Returns the loop with that name.
---@param name string
---@return nw.loop
function schedule:loop(name) end

---Measures the time of each loop of the lowered program. The program is compiled with a clock around each loop; what the clocks cost is measured and subtracted. A loop is not timed if its executions are too short for a clock, or if a clock would change its code: its time is in the loop around it. If no arrays are given, they are random; sizes gives values to symbolic sizes. The answer has loops: records of loop, id, depth, timed, parallel, seconds (of all executions in a call; inside a parallel loop, the mean over the threads), most (of the slowest thread), work (for a parallel loop: the mean time in which a thread runs its parts), times (number of executions, of all threads) and busy (the seconds of all these executions together); seconds of a call without clocks, clocked (with clocks), clocks (the part that the clocks take), least (the shortest execution that is timed), threads, reps, disturbed, calls (true if intrinsics are called, whose loops are not listed); counts, records of event and count per call: cycles, instructions, misses and page faults, as far as the system lets this process count them. All times are wall-clock time, read from the counter of time stamps. s:show{cost = true} then shows the times of this version beside the predictions.
---@param ... nw.array|{threads?: integer, opt?: integer, reps?: integer, sizes?: table}
---@return nw.report
function schedule:loop_times(...) end

---The loops of one stage or of all stages, outermost first.
---@param stage? nw.stage|nw.tensor|string
---@return nw.loop[]
function schedule:loops(stage) end

---Merges two consecutive loops with the same number of iterations. Each iteration of the merged loop runs both bodies in order. Inner loops can then be merged in the same way. first: the first loop, which is kept. second: the loop that follows it. Example: s:merge("i", "i_1")
---@param first nw.loop|string
---@param second nw.loop|string
---@return merged
function schedule:merge(first, second) end

---The legal steps at a loop: every primitive is tried there with sensible arguments. Fields: legal, undecided and refused, lists of {primitive, step, why}.
---@param loop nw.loop|string
---@return nw.report
function schedule:moves(loop) end

---Returns the notes of the last step, or the empty string.
---@return string
function schedule:notes() end

---The outputs of the computation: name, dtype and shape() of each.
---@return table[]
function schedule:outputs() end

---s:pack(tensor, data) converts an input or an output from the shape of the computation to the shape that a kernel takes after transform_layout. Positions that hold no element get the pad_value of the step, or 0. If the schedule does not change its shape, returns the same array. s:pack "dir" writes a folder with all that is needed to run the kernels of a schedule for a GPU on another machine: the code, the launches, inputs, expected outputs, and run.sh, which prints a line of JSON with times. That machine needs a C compiler and an NVIDIA driver. sizes: values of symbolic sizes; arguments: the inputs, by default random ones; task: a name for the line of JSON.
---@param what nw.tensor|string
---@param data? nw.array|{sizes?: table, arguments?: nw.array[], task?: string}
---@return nw.array|nw.schedule
function schedule:pack(what, data) end

---Extends the loops of a reduction to multiples of the given numbers, so that they can be split and tensorized without tails. The reduction then reads copies of its inputs, which hold 0 beyond their ends (or another number that makes the added terms neutral), and writes a temporary, from which the result is copied. The loops stay with the computation; the stage of the copy keeps the name. stage: a reduction at the root whose axes are each bound to one whole loop; each index of an input is an axis, or depends only on axes that keep their extents. multiples: a number for each axis of the stage, in order, the axes of the reduction last; 1 keeps the extent. Example: s:pad_einsum(C, {16, 16, 8})
---@param stage nw.stage|nw.tensor|string
---@param ... integer
---@return nw.stage
function schedule:pad_einsum(stage, ...) end

---Distributes the iterations of a loop over threads. loop: the loop. Example: s:parallel "i_o"
---@param loop nw.loop|string
function schedule:parallel(loop) end

---Cuts a loop in three: i.pre, i.main and i.post. The iterations of i.main need no condition, such as the guard of a split, the edge of a padded read or a select. loop: the loop. at: begin and end (exclusive) of the main part; derived from the conditions by default: {1, 63}. Example: s:partition("y")
---@param loop nw.loop|string
---@param options? {at?: (integer|nw.expr|string)[]}
---@return nw.loop
---@return nw.loop
---@return nw.loop
function schedule:partition(loop, options) end

---Tries strategies for a loop whose extent is not a multiple of any tile, and ranks them. kernels: {rows = 8, schedule = function(s, piece) ... end}: the number of iterations of a tile, and a function that schedules a piece: piece.outer and piece.inner are its loops, piece:loop "k" is its copy of the loop k, piece:loops() are all loops around it. name: distinguishes kernels with the same number of rows. whole: the kernel handles whole tiles only (nw.xsmm.kernel). around: a function of the schedule that makes loops around `loop`, in which pieces share the data that they read; the function `inside` of a kernel then schedules a piece in these loops. Strategies: guard: every tile is guarded against iterations that do not exist; cut: tiles without conditions, followed by the smallest kernel for the remaining iterations; halves: tiles without conditions, followed by tiles of half the size, a quarter and so on; residues: tiles without conditions, and one version for each number of remaining iterations; sizes: one version for each number of remaining iterations, with the tiles that run them in the least measured time; these tiles may also replace the last full tiles; shift: the last tile begins earlier and repeats some iterations; pad: the last tile goes beyond the end, in a temporary; it reads copies of the last row there; predicate: the last vector runs under a mask; in a tile of rows, the last row is read again for each missing row, and only rows that exist are stored. cost: 'kernels' (measured times of the tiles, nw.microkernels), 'model' (s:cost), 'measured', or 'learned' (by `model`, from nw.cost.train). objective: cycles, energy, edp (joules times seconds) or size. sizes: values of the sizes, as in {M = {1, 7, 64}, N = 8, weights = {1, 1, 2}}. If several sizes vary, all combinations of their values are used, and weights are given by name, as in weights = {M = {1, 1, 2}}. sizes may also be a list of shapes, {{M = 1, N = 8}, {M = 7, N = 64}, weights = {3, 1}}. code_limit: bytes of machine code; strategies with more are ranked last. measure = true: also measures the median time of each strategy. If other work disturbs the measurements by which the rows are ranked, and their repetitions too, the rows are ranked by the cost model, and the answer has disturbed = true. threads: 1 by default. across: how several threads share the pieces, like `how` of nw.partition.parallel. With several threads, cost is 'model' by default. On a GPU, cost is 'model', a kernel leaves its outermost loop unbound if `across` is given, and each kernel is tried as the largest tile. Rows: strategy, tile (on a GPU, the largest one), versions, code_bytes, predicted (by shape, in seconds, or without a unit if learned), measured (medians, by shape), expected (the mean of predicted), seconds (the mean of measured), joules, energies (by shape), fits, figure, unsafe (some steps were not judged), intrinsics (the model prices intrinsic tiles as the loops that they replace), or refused and hint. Methods: take, build and dispatch; nw.help(list) describes them. The schedule does not change; the tried programs are versions of it. On an accelerator, {target = vta, kernels = true}: all loops are divided into blocks of whole tiles that fit into the memories, and their nests become instructions. Incomplete tiles are padded with zeros ("pad"), or cut off, for smaller tiles or the ALU ("cut"). Rows then have cycles (simulated), block, threads, and pieces (ranges, runs, kind, block, why: what is not a whole tile, and why). tries: schedules of each strategy that are made; 6 by default.
---@param options {loop?: nw.loop|string, kernels: table[]|boolean, around?: function, strategies?: string|string[], cost?: 'kernels'|'model'|'measured'|'learned', model?: nw.learner|{predict: function, [string]: any}, objective?: 'cycles'|'energy'|'edp'|'size', code_limit?: integer, sizes?: table, measure?: boolean, machine?: any, threads?: integer, across?: 'fused'|'apart', target?: any, tries?: integer}
---@return nw.ranking
function schedule:partition_auto(options) end

---Sets a property of a loop that the runtime or a pass honours. Without a value, removes the property. loop: the loop. key: schedule: static or dynamic; chunk: iterations that a thread takes at a time; both for parallel loops. partition: auto or never, whether the loop may be cut where a condition changes. note: a remark shown in the views. value: a word or a number, depending on the key. Example: s:pragma("i_o", "schedule", "dynamic")
---@param loop nw.loop|string
---@param key "schedule"|"chunk"|"partition"|"note"
---@param value? string|integer
function schedule:pragma(loop, key, value) end

---In each iteration of a loop, prefetches the part of a tensor that a later iteration uses, or a region of it. tensor: a tensor that the loop uses. loop: the loop. offset: number of iterations ahead; 1 by default, 0 with a region. region: positions along the first dimensions of the tensor, {"z + 1", "y + 8"}, as expressions of the loop and the loops around it: only the elements at these positions are prefetched. Along the other dimensions, the whole part that an iteration uses is prefetched. Example: s:prefetch(A, "i", 2)
---@param tensor nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@param offset? integer
---@param options? {region?: (integer|nw.expr|string)[]}
function schedule:prefetch(tensor, loop, offset, options) end

---Returns a random legal step that would change the program, drawn from all primitives, loops and sensible arguments; nil if 1,000 draws find none. To take the step, use s:apply(step.primitive, step.arguments). The same seed and program give the same step.
---@param seed integer
---@return {primitive: string, arguments: table, text: string, draws: integer, refused: integer}?
function schedule:random_step(seed) end

---Redoes one undone step, or the given number of them.
---@param steps? integer
---@return nw.schedule
function schedule:redo(steps) end

---Lets a stage read a tensor through a copy that has one dimension for each of the stage's variables in the read, in the order of the stage's axes. The copy may be larger than the tensor: A[y + r, x + s] is read as A_reindex[y, x, r, s] (im2col). For the result of the stage, which it names as the tensor, the stage writes a temporary with one dimension for each variable in the index of the result, and a copy writes the result. stage: the stage that reads the copy, or that writes it. operand: the tensor that the stage reads, or the result of the stage. access: the read that uses the copy, counted from 1 from left to right as for cache_read; needed if the stage reads the tensor in several ways. scope: memory of the copy; global by default. layout: position of element (_0, _1, ...), as a function of the indices: function(k, j) return j // 32, k, j % 32 end; also a swizzle: function(i, j) return i, j ~ (i % 32) end. name: name of the copy. at: also moves the copy into this loop, like compute_at; for a result, a loop of its stage, like cache_write. Example: s:reindex(C, A)
---@param stage nw.stage|nw.tensor|string
---@param operand nw.stage|nw.tensor|string
---@param options? {access?: integer, scope?: "global"|"local"|"shared"|"warp"|string, layout?: fun(...: nw.expr): nw.expr ..., name?: string, at?: nw.loop|string}
---@return nw.stage
function schedule:reindex(stage, operand, options) end

---Replaces a loop of one iteration by its body. loop: a loop that is proven to run exactly once. Example: s:remove_unit_loop "i"
---@param loop nw.loop|string
function schedule:remove_unit_loop(loop) end

---Permutes loops of a perfect nest. Other loops keep their positions. loops: the loops, outermost first. Example: s:reorder("k", "i", "j")
---@param ... nw.loop|string
function schedule:reorder(...) end

---Swaps two adjacent statements: the outermost statements that contain only one of the two given stages or loops. first: the stage or loop that runs first. second: the one that follows it. Example: s:reorder_stmts(X, Y)
---@param first nw.loop|nw.stage|nw.tensor|string
---@param second nw.loop|nw.stage|nw.tensor|string
function schedule:reorder_stmts(first, second) end

---Permutes the dimensions of a temporary in memory. tensor: a temporary. dims: its dimensions in their new order, counted from 0, outermost first. Example: s:reorder_storage(P, {1, 0})
---@param tensor nw.stage|nw.tensor|string
---@param ... integer
function schedule:reorder_storage(tensor, ...) end

---Returns true if parsing the text form of the program gives the same program.
---@return boolean, string?
function schedule:reparses() end

---Takes the steps of a trace in JSON; each step is checked again.
---@param trace string
---@return nw.schedule
function schedule:replay(trace) end

---A new schedule of the same computation for another target, with the steps up to the current version. Each step is judged again under the limits of that target; an error names the step that is refused.
---@param machine string|table|nw.machine|nw.target
---@return nw.schedule
function schedule:retarget(machine) end

---Runs the iterations of a loop from the last to the first. A dependence that points backward along the loop then points forward. loop: the loop. Example: s:reverse "i"
---@param loop nw.loop|string
function schedule:reverse(loop) end

---Moves a stage into a loop of the stage that it reads: each iteration computes the elements whose inputs are complete. stage: the stage to move, or a unit (s:blockize). loop: a loop around the stage that it reads. index: its position among the statements of the loop: 1 is the first, -1 as late as possible, -2 as early as possible (after the last statement that it reads; the default). Example: s:reverse_compute_at(C, "i_o")
---@param stage nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@param options? {index?: integer}
function schedule:reverse_compute_at(stage, loop, options) end

---Merges a stage into the only stage that it reads. Each element must depend on one element; its index may be a number in mixed radix, such as i*8 + j, or p//32 and p%32. stage: a stage of which each element depends on one element of another stage. Example: s:reverse_compute_inline(C)
---@param stage nw.stage|nw.tensor|string
function schedule:reverse_compute_inline(stage) end

---Replaces parts of a stage's body by an equal expression. A name that is neither a tensor nor a size stands for any expression. The step is refused if values are found at which the two sides differ by more than rounding. If the equality is tested, but not proved, the step is accepted and marked as tested on N values, not proved. stage: the stage. from: the form of the parts to replace; all parts of this form are replaced. to: the new form, with the names of `from`. Example: s:rewrite(C, "exp(x - y)", "exp(x)/exp(y)")
---@param stage nw.stage|nw.tensor|string
---@param from string
---@param to string
function schedule:rewrite(stage, from, to) end

---Splits a reduction into two stages: partial results along one of its loops, and their combination. stage: the reduction. loop: one of its reduction loops. factor_axis: position of the new dimension of the partial results: 0 (default) is the first, -1 the last. Example: s:rfactor(C, "k_i")
---@param stage nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@param options? {factor_axis?: integer}
---@return nw.stage
function schedule:rfactor(stage, loop, options) end

---Stores only the rows of a stage that are in use at the same time; a new row replaces one that is no longer needed. stage: a stage that store_at keeps over the iterations of a loop. dim: the dimension of the rows, counted from 1; by default the first along which the part in use moves. size: number of rows to store; by default the smallest sufficient power of two. Example: s:rolling_buffer(P)
---@param stage nw.stage|nw.tensor|string
---@param dim? integer
---@param options? {size?: integer}
function schedule:rolling_buffer(stage, dim, options) end

---Returns true if a step of this version may change the rounding of floats. This is so if a sum has another order, if a product is no longer stored before it is added, or if a condition that selects a product became constant.
---@return boolean
function schedule:rounds() end

---Writes the computation and the steps to a file.
---@param path string
---@return nw.schedule
function schedule:save(path) end

---Stores a temporary in another dtype. Stores round to this dtype and loads convert back, so that computation keeps its dtype: a copy in bf16 takes half the bytes, and sums of its elements are still added in f32. tensor: a temporary that is not the result of a reduction. dtype: the dtype of its storage; for integers, it is proven that every value fits. Example: s:set_dtype(P, "bf16")
---@param tensor nw.stage|nw.tensor|string
---@param dtype "bf16"|"f16"|"f32"|"f64"|"i8"|"i16"|"i32"|"i64"|"u8"|"u16"|"u32"|"u64"
function schedule:set_dtype(tensor, dtype) end

---Moves a temporary to another kind of memory. tensor: a temporary. scope: the new memory. Example: s:set_scope(P, "local")
---@param tensor nw.stage|nw.tensor|string
---@param scope "global"|"local"|"shared"|"warp"|string
function schedule:set_scope(tensor, scope) end

---Changes the first value of a loop's variable; the iterations stay the same. loop: the loop. begin: the new first value: a number, or an expression of sizes and enclosing loops. Example: s:shift("i", 1)
---@param loop nw.loop|string
---@param begin integer|nw.expr|string
function schedule:shift(loop, begin) end

---The loop nest, with the changes of the last step marked; or another view: loops, full, lowered, llvm, asm, ptx, c, cuda, opencl, stream, log, trace. For 'lowered', `pass` names the pass to stop after. In a long program, statements that an unrolled loop has repeated are folded; s:show("lowered", {fold = false}) shows them all. s:show{cost = true} is the lowered nest with the prediction of s:cost beside each loop: its share of the time, cycles including its body, misses of the first cache, bottleneck; machine, sizes and threads as in s:cost. The measured time of each loop is there too if s:loop_times has measured this version. measured = true: it is measured now, with random inputs and as many threads as the prediction; false: it is not shown. s:show("ptx", "a100") is the PTX of a schedule for another machine, after s:retarget to this GPU.
---@param what? 'loops'|'full'|'lowered'|'llvm'|'asm'|'ptx'|'c'|'cuda'|'opencl'|'stream'|'log'|'trace'|{cost?: boolean, machine?: any, sizes?: table, threads?: integer, measured?: boolean}
---@param pass? string|{pass?: string, fold?: boolean}
---@return nw.view
function schedule:show(what, pass) end

---Lets a loop begin later (or earlier) in each iteration of an enclosing loop: the loop j begins factor*i later. A dependence that points backward along j can then point forward, so that the loops can be tiled or interchanged. loop: the loop to skew. outer: an enclosing loop. factor: how much later it begins in each iteration of outer; may be negative. Example: s:skew("j", "i", 1)
---@param loop nw.loop|string
---@param outer nw.loop|string
---@param factor integer
function schedule:skew(loop, outer, factor) end

---Makes two versions of a loop nest: then/i runs where the condition holds, else/i where it does not. Proofs about then/i may use the condition. Each version is scheduled separately. condition: a condition on sizes and enclosing loops: nw.ge(M, 32), or as text. loop: the loop to duplicate; by default the whole program. stage: the stage, instead of a loop. Example: s:specialize("M % 16 == 0")
---@param condition nw.expr|string
---@param loop? nw.loop|string
---@param options? {stage?: nw.stage|nw.tensor|string}
---@return nw.loop
---@return nw.loop
function schedule:specialize(condition, loop, options) end

---Splits a loop into an outer and an inner loop. A list of n factors gives n + 1 loops. With tail = "cut" the loop of the tail is one more result. loop: the loop. factor: iterations of the inner loop: a number, or an expression of sizes that is at least 1. parts: iterations of the outer loop, instead of a factor; the last ones may be empty. tail: how to handle an extent that the factor does not divide: guard (an if), cut (a separate nest for the tail), shift (the last iteration begins earlier and repeats some work), pad (a temporary is computed beyond its end; a copy repeats its last element), predicate (the inner loop runs as masked vectors). factors: iterations of the inner loops, outermost first: {4, 8} makes i_0, i_1 of 4 and i_2 of 8. Example: s:split("i", 32)
---@param loop nw.loop|string
---@param factor? integer|nw.expr|string
---@param options? {parts?: integer|nw.expr|string, tail?: "guard"|"cut"|"shift"|"pad"|"predicate", factors?: (integer|nw.expr|string)[]}
---@return nw.loop
---@return nw.loop
function schedule:split(loop, factor, options) end

---The stages, in the order in which they run.
---@return nw.stage[]
function schedule:stages() end

---Pads a dimension of a temporary so that its stride is k*factor + offset: to align rows to cache lines, or to spread them over the cache sets. Programs show it as stride[0] = 4 of 16: neighbours along dimension 0 are 16*k + 4 elements apart. tensor: a temporary. axis: the dimension in memory, from 0. factor: the stride is k*factor + offset elements, for the smallest possible k. offset: 0 by default. Example: s:storage_align(P, 0, 16, 4)
---@param tensor nw.stage|nw.tensor|string
---@param axis integer
---@param factor integer
---@param offset? integer
function schedule:storage_align(tensor, axis, factor, offset) end

---Keeps the storage of a stage alive over the iterations of an outer loop; each iteration computes only new elements, along every loop in between along which the needed rows move in one direction. stage: a stage that compute_at has put into a loop. loop: the enclosing loop that allocates the storage; by default it is outside of all loops. Example: s:store_at(P, "i_o")
---@param stage nw.stage|nw.tensor|string
---@param loop? nw.loop|string
function schedule:store_at(stage, loop) end

---The instructions that an accelerator executes for the schedule, in one stream. Each unit executes its own instructions in order. Tokens in queues between units order the accesses that conflict. sizes: values of symbolic sizes, {M = 64}. #stream is the number of instructions.
---@param options? {sizes?: table}
---@return nw.stream
function schedule:stream(options) end

---Writes the result of a stage with non-temporal stores of whole vectors, which bypass the caches. stage: a vectorized stage whose result is not read again soon. Example: s:stream_stores(Z)
---@param stage nw.stage|nw.tensor|string
function schedule:stream_stores(stage) end

---Replaces a nest of loops by a call of an intrinsic. loop: the outermost loop of the nest, or the name of a unit. intrinsic: the result of nw.intrinsic or nw.xsmm.gemm, or its name. Example: s:tensorize("i_i", mm16)
---@param loop nw.loop|string
---@param intrinsic nw.intrinsic|string
function schedule:tensorize(loop, intrinsic) end

---The full text of the program, which can be read back.
---@param version? integer
---@return string
function schedule:text(version) end

---Splits loops of a perfect nest and moves their inner parts inside. s:tile("i", "j", "k", 32, 32, 8) makes a tile of three dimensions; s:tile({"i", "j", "k"}, {32, 32, 8}) does the same. loops: the loops, outermost first. factors: the extents of a tile, one for each loop. tail: how to handle an extent that the factor does not divide: guard (an if), cut (a separate nest for the tail), shift (the last iteration begins earlier and repeats some work), pad (a temporary is computed beyond its end; a copy repeats its last element), predicate (the inner loop runs as masked vectors). Example: s:tile("i", "j", 32, 32)
---@param loops (nw.loop|string)[]
---@param factors (integer|nw.expr|string)[]
---@param options? {tail?: "guard"|"cut"|"shift"|"pad"|"predicate"}
---@return nw.loop
---@return nw.loop
function schedule:tile(loops, factors, options) end

---Builds and times the schedule. If no inputs are given, they are random. The last argument may be a table of options of build and of f:time.
---@param ... nw.array|table
---@return nw.time
function schedule:time(...) end

---Measures every version from the naive program to the current one, in turn as nw.compare does, to show the effect of each step. If no inputs are given, they are random. The last argument may be a table of options: threads, opt; limit: seconds that one run may take (2); slower versions are stopped and listed as refused, like versions that cannot be built; rounds: 20 by default, fewer if they would take more than ten seconds; versions: the numbers of the versions to measure, as in s:log(); sizes: values of symbolic sizes, {N = 64}, for random inputs. align, offset, cold, cpu, pin, pages: the conditions, as in f:time. Its plot is a curve.
---@param ... nw.array|table
---@return nw.comparison
function schedule:time_steps(...) end

---Builds the schedule and draws the timeline of its threads. If no inputs are given, they are random. The last argument may be a table of options of build and of kernel:timeline.
---@param ... nw.array|table
---@return nw.plot
function schedule:timeline(...) end

---The steps as Lua code that can be run again, or as 'json'. Automatic choices are written as the values that were chosen.
---@param format? 'lua'|'json'
---@return string
function schedule:trace(format) end

---Places each element of a tensor at a position given by a one-to-one function of its indices. If the tensor is an input or an output, this changes the shape of the argument of the kernel: s:pack("A", a) converts a tensor to the new shape, and s:unpack("A", a) converts it back. All sizes must still follow from the shapes of the arguments. tensor: a temporary, an input or an output. layout: the position of an element. pad_value: for an input or an output: the value of the positions that hold no element, if the layout leaves such positions. An output needs it: the kernel writes it there. The kernel does not read such positions of an input; s:pack writes the value there, or 0 by default. Example: s:transform_layout(P, function(i, j) return j // 32, i, j % 32 end)
---@param tensor nw.stage|nw.tensor|string
---@param layout fun(...: nw.expr): nw.expr ...
---@param options? {pad_value?: number}
function schedule:transform_layout(tensor, layout, options) end

---The schedule tree: loops, storage with its scope and layout, guards, stages, prefetches and calls of intrinsics, each below the node that contains it. All nodes have kind and text; some also have name, mark, stream, async, unsafe or tested.
---@return nw.report
function schedule:tree() end

---Leaves out the iterations of a reduction's loop that add nothing. For a sum over nw.select(condition, x, 0) these are the iterations before the first and after the last in which the condition can hold. The init must be outside the loop: s:decompose_reduction. loop: the loop. Example: s:trim("k")
---@param loop nw.loop|string
---@return trimmed
function schedule:trim(loop) end

---Returns whether a step would be legal and, if not, the reason. The arguments are positional. The schedule does not change. This is much faster than a step: it makes no picture and no suggestions, and the reason names the buffer and the blocks in conflict, but not the iterations.
---@param primitive string
---@param arguments table
---@return boolean, string?
function schedule:try(primitive, arguments) end

---Removes a unit; its statements stay as they are. unit: the name of a unit that blockize has made. Example: s:unblockize "C_o"
---@param unit nw.stage|nw.tensor|string
function schedule:unblockize(unit) end

---Undoes one step, or the given number of steps.
---@param steps? integer
---@return nw.schedule
function schedule:undo(steps) end

---Removes the mark of a loop: its iterations run sequentially. loop: a loop that is unrolled, vectorized or parallel. Example: s:unmark "i"
---@param loop nw.loop|string
function schedule:unmark(loop) end

---Converts an input or an output back from the shape that a kernel takes after transform_layout. sizes: the values of the symbolic sizes that do not follow from the shape of the data: s:unpack(C, c, {M = 37}).
---@param tensor nw.tensor|string
---@param data nw.array
---@param sizes? table
---@return nw.array
function schedule:unpack(tensor, data, sizes) end

---Replaces a loop by copies of its body. With a factor, splits the loop and unrolls the inner loop. loop: a loop of constant extent; with a factor, any loop. factor: iterations to unroll; all by default. tail: how to handle an extent that the factor does not divide: guard (an if), cut (a separate nest for the tail), shift (the last iteration begins earlier and repeats some work), pad (a temporary is computed beyond its end; a copy repeats its last element), predicate (the inner loop runs as masked vectors). Example: s:unroll "k_i"
---@param loop nw.loop|string
---@param factor? integer
---@param options? {tail?: "guard"|"cut"|"shift"|"pad"|"predicate"}
---@return nw.loop
---@return nw.loop
function schedule:unroll(loop, factor, options) end

---Applies the steps of a function without judging them. This is the only way to bypass the judge. The steps stay marked as unsafe in every view, in the trace and in all measurements. A step that cannot be lowered is still refused, and machine code is made only if every access stays inside its buffer. Returns what the function returns.
---@param steps fun(s: nw.schedule, ...: any): any
---@param ... any
---@return any ...
function schedule:unsafe(steps, ...) end

---Runs the iterations of a loop as lanes of vectors. loop: a loop of constant extent, at most 256. reduce: for a loop of a reduction: each lane accumulates its own partial result, and the partial results are combined as a tree: of n lanes, the last n // 2 are combined with the first n // 2, and so on, until one is left. Example: s:vectorize "j_i"
---@param loop nw.loop|string
---@param options? {reduce?: "tree"}
function schedule:vectorize(loop, options) end

---Returns the number of the current version. Version 0 is the naive program, before any step.
---@return integer
function schedule:version() end

---The steps that made a line of s:show(). The line is given by its number or a part of its text. The steps are listed for the loop, its mark, each guard, each offset and the storage. With view = 'lowered', the line is one of s:show "lowered".
---@param line integer|string
---@param view? 'loops'|'lowered'
---@return nw.report
function schedule:why(line, view) end

---@class nw.stage
---@field op {name: string, axis: nw.loop[], reduce_axis: nw.loop[]} The operation of the stage, as in TVM: s[C].op.axis[1] is the loop of the first axis, and s[C].op.reduce_axis[1] that of the first reduce axis. The lists have the loops that the stage had before any step; Lua counts from 1.
local stage = {}

---The stage's own loops, outermost first. If the stage is computed in a loop of another stage, the loops of the other stage are left out.
---@return nw.loop ...
function stage:axes() end

---The loops around the stage as a list.
---@return nw.loop[]
function stage:loops() end

---@class nw.loop
---@field alive boolean False if a step has replaced the loop.
---@field begin string The first value of the loop variable, as an expression over sizes and enclosing loops. It can be used in conditions.
---@field extent string The number of iterations, as an expression over sizes and enclosing loops, such as "M // 8".
---@field forwarded nw.loop[] The loops that now stand for this loop: the loop itself, or the loops that steps have made from it, such as the two loops of a split.
---@field name string The name of the loop in the nest. Reading it is an error if a step has replaced the loop.
---@field schedule nw.schedule The schedule to which the loop belongs.
local loop = {}

---Returns the loop with that name inside this loop. In a piece of a cut, the name is the one that the loop had before: local piece = {s:cut("i", {8, 16})}, then piece[2]:loop "k" is the loop i.2/k.
---@param name string
---@return nw.loop
function loop:loop(name) end

---@class nw.tensor
---@field dtype string The type of the elements.
---@field is_input boolean True for a placeholder.
---@field name string The name in loop nests. In a schedule, the stage of the tensor has the same name.
---@field ndim integer The number of dimensions.
---@operator call(nw.expr|nw.axis|integer): nw.expr
local tensor = {}

---Returns the extents of the dimensions.
---@return (integer|nw.expr)[]
function tensor:shape() end

---@class nw.axis
---@field name string The name of the axis. Before any step, its loop has the same name.
---@field var nw.expr The index expression of the axis; arithmetic on the axis uses it.
---@operator add(nw.expr|nw.axis|number): nw.expr
---@operator sub(nw.expr|nw.axis|number): nw.expr
---@operator mul(nw.expr|nw.axis|number): nw.expr
---@operator div(nw.expr|nw.axis|number): nw.expr
---@operator idiv(nw.expr|nw.axis|number): nw.expr
---@operator mod(nw.expr|nw.axis|number): nw.expr
---@operator pow(nw.expr|nw.axis|number): nw.expr
---@operator unm: nw.expr
local axis = {}

---@class nw.expr
---@field dtype string The type of the value, such as 'f32', 'i64' or 'bool'.
---@operator add(nw.expr|nw.axis|number): nw.expr
---@operator sub(nw.expr|nw.axis|number): nw.expr
---@operator mul(nw.expr|nw.axis|number): nw.expr
---@operator div(nw.expr|nw.axis|number): nw.expr
---@operator idiv(nw.expr|nw.axis|number): nw.expr
---@operator mod(nw.expr|nw.axis|number): nw.expr
---@operator pow(nw.expr|nw.axis|number): nw.expr
---@operator unm: nw.expr
local expr = {}

---@class nw.array
---@field contiguous boolean True if the elements are in row-major order in memory, without gaps. Views made by slice and transpose may have another order.
---@field dtype string The type of the elements.
---@field ndim integer The number of dimensions.
local array = {}

---Copies all elements of another tensor of the same shape and dtype. Both may be views of one buffer: the result is as if all elements were read first. Example: a:slice(0):assign(a:slice(1))
---@param from nw.array
---@return nw.array
function array:assign(from) end

---Returns a copy of the tensor. Its elements are in row-major order, without gaps.
---@return nw.array
function array:copy() end

---Returns the number of elements.
---@return integer
function array:count() end

---Sets every element to the value.
---@param value number|boolean
---@return nw.array
function array:fill(value) end

---Sets all elements from a list in row-major order.
---@param values number[]
---@return nw.array
function array:fill_list(values) end

---Fills the tensor with random elements between lo and hi. Integer elements may also equal lo or hi. The same seed gives the same data.
---@param seed? integer
---@param lo? number
---@param hi? number
---@return nw.array
function array:fill_random(seed, lo, hi) end

---Returns one element. Indices count from 0. An element of u64 is an integer of Lua with the same 64 bits.
---@param ... integer
---@return number|boolean
function array:get(...) end

---Returns one element by its position in row-major order. Positions count from 1.
---@param position integer
---@return number|boolean
function array:getflat(position) end

---Returns the address of the first element, for other C libraries. The elements of a view have strides.
---@return lightuserdata
function array:pointer() end

---Returns the tensor with another shape and the same elements in row-major order, without copying. One extent may be -1; it follows from the others. If a view has no such order, this is an error, and a:copy():reshape(shape) makes a copy.
---@param shape integer|integer[]
---@return nw.array
function array:reshape(shape) end

---Writes the elements to a .npy file.
---@param path string
---@return nw.array
function array:save(path) end

---Sets one element. The arguments are its indices, which count from 0, and then the value.
---@param ... integer|number|boolean
function array:set(...) end

---Sets one element by its position in row-major order. Positions count from 1.
---@param position integer
---@param value number|boolean
function array:setflat(position, value) end

---Returns the extents of the dimensions.
---@return integer[]
function array:shape() end

---Returns a part of the tensor, without copying: an array that uses the same memory. There is one argument for each dimension; the rest is taken whole. An index takes one element and drops the dimension. A range {from, to, step} takes the elements from `from` on, before `to`; {} or nil takes all. Indices count from 0, or from the end if they are negative. A negative step reverses the order. Example: a:slice({2, 8}, {step = 2})
---@param ... integer|table|nil
---@return nw.array
function array:slice(...) end

---Returns the distances between neighbours along each dimension, in elements.
---@return integer[]
function array:strides() end

---Returns all elements as nested Lua tables.
---@return table
function array:totable() end

---Returns the tensor with its dimensions in another order, without copying. The arguments are the dimensions, counted from 0; without arguments, the order is reversed. Example: a:transpose(1, 0)
---@param ... integer
---@return nw.array
function array:transpose(...) end

---@class nw.kernel
---@field cached boolean True if the machine code came from the cache.
---@field code_bytes integer The bytes of machine code of all versions of the kernel.
---@field compile_ms number The time to lower, compile and link, in milliseconds.
---@field cpu string LLVM's name of the CPU that the code is made for, such as znver4.
---@field notes string Remarks on the code. There is a line for each function that has no vector form on the target.
---@field tested integer? If a rewrite or a reducer of the kernel was tested, but not proved: the least number of values on which one was tested.
---@field unsafe boolean True if the schedule of the kernel has steps that were not proven legal.
---@operator call(nw.array): nw.array
local kernel = {}

---The assembly of the kernel, as f:show "asm". loop: only that of one loop, with the loops in it, without directives. If the loop was copied, all copies follow. nw.beside{{"before", f:asm{loop = "k"}}, {"after", g:asm{loop = "k"}}} shows two versions side by side. Unrolled and vectorized loops are not loops of the code.
---@param options? {loop?: string|nw.loop}
---@return nw.view
function kernel:asm(options) end

---Runs the kernel and measures what each thread does in its parallel loops: when it starts and ends each part of a loop. The kernel runs `reps` times (11), each time directly after other calls, so that its threads are awake and its data are in the caches. A run in which a thread had to wait for its core is made again, as by f:time (retaken: how many); disturbed: true if most runs stayed disturbed. All times are wall-clock time, except cpu. The answer prints a table and describes the median run, or the fastest run if fastest = true: seconds, within (seconds in parallel loops), idle (the idle share of that time, over all threads); threads: records of thread, busy, idle, cpu (CPU time of the thread), rounds (iterations), parts; loops: within and idle of each loop, in the order in which the loops start; and records for nw.timeline, with the first and last iteration of each part. Fields over all runs: min, median, idle_low and idle_high (the ends of the middle half), and taken (the largest share of a thread's busy time that is not CPU time).
---@param ... nw.array|{reps?: integer, fastest?: boolean}
---@return nw.report
function kernel:busy(...) end

---Writes all versions of the kernel as one C function. A path such as "gemm.so" makes a shared library of the machine code, and the header gemm.h next to it; this needs a C compiler that links for the target of the schedule: this host, or another CPU (aarch64-linux-gnu-gcc). A path such as "gemm.ptx" writes the PTX of a kernel for an NVIDIA GPU, "gemm.cu" its CUDA C with a function that launches it, and "gemm.cl" the OpenCL C of a kernel for another one; gemm.c and gemm.h beside it have a function in C that launches it. A path such as "gemm.c" writes the text of f:show "c". Its first lines say how to compile it so that it is as quick as the library: vectors have the vector types of GNU C, for gcc and clang; other compilers get plain loops. symbol: the name of the function; by default it is made from the name of the output. The function takes the symbolic sizes, then pointers to row-major data; it returns 0 on success.
---@param path string
---@param options? {symbol?: string}
---@return nw.kernel
function kernel:export(path, options) end

---Returns the parameters: first the inputs, then the outputs.
---@return {name: string, output: boolean}[]
function kernel:params() end

---The code of the kernel: 'lowered', 'llvm', 'asm' (of a CPU), 'ptx' and 'cuda' (of an NVIDIA GPU), 'opencl' (of another GPU) or 'c'; or 'versions': the decision tree over the sizes that determines which of its versions a call runs.
---@param what? 'lowered'|'llvm'|'asm'|'ptx'|'cuda'|'opencl'|'c'|'versions'
---@return nw.view
function kernel:show(what) end

---Measures the kernel on these tensors, or on random inputs if none are given. sizes gives values to symbolic sizes then, as in f:time{sizes = {M = 64}}. The answer has min, median, spread, samples (all in seconds of wall-clock time), reps, threads and machine. spread, over the median: the interquartile range of the samples, or the distance between the medians of batches if that is larger. A sample in which a thread had to wait for its core is taken again (retaken: how many). disturbed: true if most samples stayed disturbed by other work; comparisons then give no verdict. align, offset: each array begins offset bytes after an address that is a multiple of align (a power of two), but not of 2*align; for this, the arrays are copied, and without it they are measured where they lie. pages = 'huge': the arrays are copied to huge pages, if the system gives them. cold = true: the caches are emptied before each call, by flushing the lines of the arrays ('flush', on x86) or by reading a buffer larger than the caches ('sweep'); the calls are then measured one by one. pin = {0, 2}: the CPU of each thread; cpu = 2: that of a single thread. The answer states its conditions: align (of the addresses of all arrays), offset, cold, clock (seconds that were subtracted from each cold call), cpus, huge_bytes (on huge pages) of mapped_bytes, and all of them as text in conditions.
---@param ... nw.array|{reps?: integer, min_seconds?: number, warmup?: integer, sizes?: table, align?: integer, offset?: integer, cold?: boolean|string, cpu?: integer, pin?: integer[], pages?: string}
---@return nw.time
function kernel:time(...) end

---Draws what kernel:busy measures: which iterations of the parallel loops each thread ran at which time, and how long threads were idle.
---@param ... nw.array|{reps?: integer, fastest?: boolean, title?: nw.label}
---@return nw.plot
function kernel:timeline(...) end

---@class nw.output
local output = {}

---Replaces the output by another value; outside of a notebook, the new value is shown below.
---@param value any
---@return nw.output
function output:update(value) end

---@class nw.progress
local progress = {}

---Advances the bar by one, or by n, up to the total. note: a short text about the current state.
---@param n? integer
---@param note? nw.label
---@return nw.progress
function progress:step(n, note) end

---@class nw.time
local time = {}

---Billions of operations per second in the median run. flop: the operations of one run, 2*M*N*K for a matrix product.
---@param flop number
---@return number
function time:gflops(flop) end

---Draws the time as a comparison with one entry; nw.timings draws several times.
---@param options? {style?: 'bars'|'points'|'speedup'|'steps', title?: nw.label}
---@return nw.plot
function time:plot(options) end

---The rate of the median run, and its share of the peak of as many threads: print(t:share(2*M*N*K)) for a matrix product. flop: the operations of one run; a multiply-add counts as two. The answer has share, gflops, peak (flop/s), threads, dtype and remark: why the share is doubtful, nil if it is not. Time and peak are both wall-clock time. The peak is the best of many samples, as in nw.roofs. It is measured once per process, and again if the share is above 1. If it stays above 1, the remark says so.
---@param flop number
---@param options? {dtype?: 'f32'|'f64'}
---@return nw.report
function time:share(flop, options) end

---@class nw.comparison
local comparison = {}

---Draws the times, one row each, in the given order. Each row shows the median, the middle half and the fastest time. style: 'bars', from zero; 'points', on a logarithmic axis if the times differ much; 'speedup', the speed-up over the first time; 'steps', a curve as for s:time_steps. The default is 'bars', or 'points' if one time is more than 20 times another. Times that are not distinguishable from the first are hatched; brackets join times that are not distinguishable from each other.
---@param options? {style?: 'bars'|'points'|'speedup'|'steps', title?: nw.label}
---@return nw.plot
function comparison:plot(options) end

---@class nw.sweep
local sweep = {}

---Draws two columns of numbers against each other, and the Pareto front: the points for which no other point is better in one of them and not worse in the other. Both columns should be small, such as cycles and joules. The name of a time stands for its median. The points of the front are numbered and listed with their parameters. by: a parameter whose values have marks of their own. where: values of parameters, {layer = "C2"}. Rows: the parameters, both columns, and front: the number of the point on the front.
---@param options {x: string, y: string, by?: string, where?: table, title?: nw.label}
---@return nw.plot
function sweep:front(options) end

---Draws the results over a parameter. style: 'lines' (x must be numbers), 'bars' or 'heat'. x: the parameter on the x axis, by default the first. y: the column to draw, or several; by default the median of times. The name of a time stands for its median. by: one curve for each value of another parameter. In a heat map x and y are parameters, and value is the column. where: values of the remaining parameters, {threads = 1}. The spread is drawn if the sweep has it. The best value, and all values that are not distinguishable from it, are marked for each curve or, with several columns, at each x. Columns of numbers, which may be predictions, are not compared with measured times. best: 'min' (the default for measured times), 'max' or false. Refused points are marked as refused; missing points are gaps. log: 'x', 'y', 'xy' or '' sets logarithmic axes; by default they are used for powers of two and for values of very different size. unit: the unit of the column; 's' for seconds.
---@param options? {x?: string, y?: string|string[], by?: string, value?: string, style?: 'lines'|'bars'|'heat', where?: table, log?: 'x'|'y'|'xy'|'', unit?: nw.label, best?: 'min'|'max'|boolean, title?: nw.label}
---@return nw.plot
function sweep:plot(options) end

---@class nw.plot
local plot = {}

---The picture for a notebook, by MIME type: text/html, an image; image/svg+xml; image/png, in base 64; and text/plain, the caption. The second result is its metadata. If nothing can be drawn, there is only text/plain, with the error and the text form.
---@return table<string, string>, table
function plot:bundle() end

---Writes the picture to a file: .svg, .png or .pdf; .csv for its data; .gp for a gnuplot script that contains the data.
---@param path string
---@return nw.plot
function plot:save(path) end

---Draws the picture on the terminal in the best way that the terminal supports: kitty's graphics, sixel, braille, or plain characters. The environment variable NESTWRIGHT_GRAPHICS (kitty, sixel, braille, dumb, none) overrides the choice. If the output is not a terminal, it prints the caption. The prompt draws a picture that is the value of a line; a notebook shows it as nw.display does.
function plot:show() end

---The picture as SVG text of at most 500 kB, with its caption as the description. The SVG contains lines and text or, if they would be too large, an image.
---@return string
function plot:svg() end

---The picture as text: its caption and the first rows of its data. This text is shown if no picture can be drawn.
---@return string
function plot:text() end

---Shows the picture in a desktop window, which stays open: a window of gnuplot, or the desktop's viewer for SVG files.
---@return nw.plot
function plot:window() end

---@class nw.misses
local misses = {}

---Draws the misses of each level. by: 'tensor' (the default) or 'loop'.
---@param options? {by?: 'tensor'|'loop', title?: nw.label}
---@return nw.plot
function misses:plot(options) end

---@class nw.curve
local curve = {}

---Draws the predictions over the size. y: the column to draw, by default the seconds, which is the only one for a GPU.
---@param options? {y?: 'seconds'|'cycles'|'joules'|'misses', title?: nw.label}
---@return nw.plot
function curve:plot(options) end

---@class nw.bound
local bound = {}

---Draws the misses of each level, as the method plot of nw.misses does. by: 'tensor' (the default) or 'loop'.
---@param options? {by?: 'tensor'|'loop', title?: nw.label}
---@return nw.plot
function bound:plot(options) end

---@class nw.audit
local audit = {}

---The n schedules (5 by default) whose predictions differ most from their measurements, each with its steps.
---@param n? integer
---@return nw.report
function audit:outliers(n) end

---Draws the predicted times over the measured times.
---@param options? {title?: nw.label}
---@return nw.plot
function audit:plot(options) end

---@class nw.lesson
local lesson = {}

---Draws the conflict, as refusal:plot() does.
---@param options? {title?: nw.label}
---@return nw.plot
function lesson:plot(options) end

---@class nw.machine
---@field name string The name of the machine. All other fields of the record are read the same way: m.clock, m.caches[1].bytes, m.ops.fma.per_cycle[4]; m:fields() lists them.
local machine = {}

---All fields of this kind of machine: path, value, unit, doc, source.
---@return table[]
function machine:fields() end

---The source of the value of a field: m:source "ops.fma.latency".
---@param path string
---@return string
function machine:source(path) end

---The record as a Lua table that can be read back: write it to a file, edit it, and nw.machine "that_file.lua" gives the new record.
---@return string
function machine:text() end

---@class nw.target
---@field backend string? The name of the code generator; nil if there is none.
---@field here boolean True if this host can run code for the target.
---@field machine nw.machine The record of the machine.
---@field model string? The name of the cost model; nil if there is none.
---@field name string The name of the machine record.
local target = {}

---Returns the features of the CPU that affect code generation, with LLVM's names.
---@return string[]
function target:features() end

---Returns the limits for programs: lanes of a vectorized loop, registers, threads of a block, and the extents of grid and block.
---@return table
function target:limits() end

---Returns the scopes of buffers: name, owner and bytes of each.
---@return table[]
function target:scopes() end

---@class nw.simulation
---@field accesses table[] The counts of each load and store, such as requests, lanes, sectors and wavefronts. Another list, kernels, has grid, block, instructions, shared_bytes, registers, occupancy and limiter of each kernel.
---@field findings table[] What is wrong: fault, buffer, element, first and second (the two accesses), and times.
---@field outputs nw.array[] The results of nw.simulate; nil for s:gpu_counts().
---@field seconds number How long the simulation took on this host.
local simulation = {}

---@class nw.gpusteps
local gpusteps = {}

---Draws how many times faster each schedule is than the first one, as predicted for each machine. Rows: step, machine, speedup.
---@param options? {title?: nw.label}
---@return nw.plot
function gpusteps:plot(options) end

---@class nw.accelerator
---@field machine nw.machine The record of the machine.
---@field name string The name of the machine. The other fields are the names of its instructions (intrinsics for s:tensorize) and of its memories.
---@field target nw.target The target, for which nw.schedule makes a schedule.
local accelerator = {}

---@class nw.stream
local stream = {}

---Changes the stream, and returns it: the instruction puts one more token into the queue, or takes one.
---@param instruction integer
---@param queue string
---@param which 'put'|'take'
---@return nw.stream
function stream:add(instruction, queue, which) end

---What is wrong with the tokens, at any latency: hazards (two instructions of different units access a byte, one of them writes it, and neither order nor tokens say which is first), instructions that wait forever, tokens that are left, and queues that are too short. Each finding has fault, text, first and second (instructions), first_step and second_step (the steps that made their statements), first_ignores and second_ignores (units whose tokens they ignore), memory, from and to (bytes), queue, times. If units wait forever, waits has the instruction at which the unit waits, that of the unit for which it waits, and so on; the last one waits for the unit of instruction again.
---@return table[]
function stream:check() end

---Changes the stream, and returns it: removes the token that the instruction puts into the queue or takes from it, at both of its ends. queue: for example "load->compute". which: removes only the put, or only the take, of this instruction. s:stream() makes another stream with all tokens.
---@param instruction integer
---@param queue string
---@param which? 'put'|'take'
---@return nw.stream
function stream:drop(instruction, queue, which) end

---The units (name, instructions), the queues (from, to, tokens) and the memories on the chip (name, used, bytes). unsafe: true if steps of the schedule were not judged. left_out: the number of tokens that would be needed, but that stages ignore.
---@return table
function stream:facts() end

---An instruction, counted from 1: name, unit, text, statement and step, takes and puts (numbers of queues), ignores (queues whose tokens its stage does not take, if there are some: s:annotate), elements, memory_bytes (moved to or from the memory outside of the chip), macs, cycles, and operands. An operand has memory, array, read, write, from and to (bytes; outside of the chip, they are counted in the array), bytes (that are accessed), row (consecutive bytes), times (numbers of rows) and strides (bytes from one row to the next).
---@param number integer
---@return table
function stream:instruction(number) end

---Predicts the cycles without executing all iterations: cycles, units (name, busy: cycles if the unit never waits), port (cycles of the memory outside of the chip), and steady: the loop that takes longest, if its iterations are alike, with its iterations, the interval between them in cycles, and the prologue before the interval is constant. Counts, as those of a run: instructions, macs, memory_read, memory_written, memories, pj. loops (name, id, depth): the same for all iterations of a loop of the lowered program. unsafe is true if steps of the schedule were not judged.
---@return table
function stream:model() end

---Draws the software's view, virtual threads in phases with barriers between them, beside the stream that they become, with what each instruction pops and pushes in the lecture's four colours. first, count: the instructions, 24 from the first one by default. Rows: instruction, unit, thread, phase, text.
---@param options? {first?: integer, count?: integer, title?: nw.label}
---@return nw.plot
function stream:plot_threads(options) end

---Changes the stream, and returns it: replaces all tokens by those of a text, which may be that of write_tokens, edited by hand. If a line of it is wrong, the stream stays as it is.
---@param text string
---@return nw.stream
function stream:read_tokens(text) end

---Runs the stream in time: cycles, units (name, busy, port, waits by queue), memory_read and memory_written in bytes, macs, memories (read and written, in bytes), energy (rows with name, bytes and joules; joules is their sum), depth of each queue, and findings as in check; seconds; utilisation (of the multiply-adds that the machine could do in this time); port (cycles that the memory outside of the chip needs for all bytes); bottleneck ("memory", or the unit that is busy for most cycles) and bound (these cycles). arguments: arrays; the values are then computed, and outputs has the results. mode: "monolithic": each instruction waits for the one before it; "decoupled": the units ignore all tokens; "raw": they ignore tokens from later units; by default, all tokens count. spans: also returns spans, with from, to, ready, put (when its tokens are in their queues; -1 if never; in cycles) and waits (a queue) of each instruction. With spans, and always up to 20000 instructions, happened has the hazards that happened (at most 4096), and times_happened their number. unsafe and left_out are those of facts.
---@param options? {arguments?: nw.array[], mode?: 'full'|'monolithic'|'decoupled'|'raw', spans?: boolean}
---@return nw.streamrun
function stream:run(options) end

---The stream as text. Consecutive iterations of a loop with the same instructions and tokens are shown once, with the operands of the first one. lines: most lines; all by default.
---@param lines? integer
---@return string
function stream:text(lines) end

---The tokens as text: a line for each instruction that takes or puts some, such as "7 compute: take load->compute, put compute->store".
---@return string
function stream:write_tokens() end

---@class nw.streamrun
local streamrun = {}

---Draws the units over time: a bar for each instruction, what the units waited for between them, an arrow for each token in the lecture's four colours, and in red the hazards that happened. from, to: cycles. colour: by virtual thread or by instruction. tokens = false leaves out the arrows. Rows: run, unit, instruction, name, thread, from, to.
---@param options? {from?: number, to?: number, colour?: 'thread'|'instruction', tokens?: boolean, title?: nw.label}
---@return nw.plot
function streamrun:plot(options) end

---Draws the bytes in use in each memory over time, by virtual thread. A value is in use from the beginning of the instruction that writes it to the end of the last one that reads it. from, to: cycles. Rows: panel, series, time, value.
---@param options? {from?: number, to?: number, title?: nw.label}
---@return nw.plot
function streamrun:plot_memories(options) end

---Draws the number of tokens in each queue over time. from, to: cycles. Rows: panel, series, time, value.
---@param options? {from?: number, to?: number, title?: nw.label}
---@return nw.plot
function streamrun:plot_queues(options) end

---@class nw.accesses
local accesses = {}

---Returns the n-th access, counted from 1: tensor, index (linear, of its first element), lanes (the number of adjacent elements), write, address, outcome. outcome is a list with 'hit', 'cold', 'capacity' or 'conflict' for each cache level. It always has four entries; only those of simulated levels have a meaning. If the access touches several cache lines, the worst outcome counts.
---@param n integer
---@return table?
function accesses:at(n) end

---Returns the position of the first access in which two lists differ, counted from 1; nil if the lists are equal.
---@param other nw.accesses
---@return integer?
function accesses:differs(other) end

---Returns the iterations of the loops, in the order in which they end. Each has `loop`, `depth` (the number of enclosing loops), `index` (counted from 0), `from` (the number of accesses before the iteration begins) and `to` (the number of accesses when it ends).
---@return table[]
function accesses:iterations() end

---@class nw.piece
---@field inner nw.loop The loop over the iterations of a tile.
---@field kernel table The kernel that tiles the piece.
---@field outer nw.loop The loop over the tiles of the piece.
---@field schedule nw.schedule The schedule that contains the piece.
---@field stage string The name of the stage of the piece. Steps that make copies for one piece need it: s:cache_read(A, "shared", {piece.stage}).
local piece = {}

---The loop of this piece that has this name in the original nest.
---@param name string
---@return nw.loop
function piece:loop(name) end

---The loops of the nest that contains this piece, outermost first.
---@return nw.loop[]
function piece:loops() end

---@class nw.ranking
local ranking = {}

---Compiles the versions that a strategy made into one kernel, list:build "cut". which: the number of the row (1 by default) or its strategy. Options as in s:build. The schedule does not change.
---@param which? integer|string
---@param options? {threads?: integer, opt?: integer, cache?: boolean}
---@return nw.kernel
function ranking:build(which, options) end

---Makes a small decision tree over the sizes that vary. Each leaf has the strategy that is best for its sizes by the objective. code_limit limits the code of all leaves together. Fields: versions: numbers of versions, for s:build{versions = ...}; ranges: an entry for each leaf, with row (of this table), facts (its conditions, as text) and below (the upper bound of the size, if only one size varies); tree: the root, which is a node {size, below, yes, no} or a leaf {way}. The schedule does not change.
---@return nw.report
function ranking:dispatch() end

---Moves the schedule to the program that a strategy made, so that it can be viewed and changed. which: the number of the row (1 by default), its name as printed ("halves 8"), or the name of its strategy: then the best of its rows. Returns the numbers of its versions; the schedule is at the last one.
---@param which? integer|string
---@return integer[]
function ranking:take(which) end

---@class nw.ranked
---@field block integer[]? For an accelerator, the iterations of a block along each axis.
---@field code_bytes integer? Bytes of machine code of all versions; nil for a GPU.
---@field cycles number? For an accelerator, the simulated cycles.
---@field disturbed boolean? True if other work disturbed the measurement, so rows are not ranked by it.
---@field expected number? An estimate: the weighted mean of `predicted`, in seconds or, for a learned model, as a score without a unit.
---@field figure number The number by which rows are ranked: the smallest is best.
---@field fits boolean True if the strategy has at most code_limit bytes of code.
---@field hint string? What to do about the refusal, or more about its reason.
---@field intrinsics boolean? True if some tiles of the strategy are intrinsics; the cost model prices them as the loops that they replace.
---@field joules number? An estimate: the weighted mean of `energies`, if the cost model was used.
---@field pieces table[]? For an accelerator, the pieces: ranges (text), runs (the name of an instruction), tensor (true if it computes whole tiles), kind ('main' or 'rest'), block (text), and why (text): what is not a whole tile.
---@field refused string? Why the strategy was refused. Such a row has only the fields strategy, refused and hint.
---@field same string[]? For a GPU, names of other strategies and tiles that make the same program.
---@field seconds number? The weighted mean of `measured`.
---@field strategy string The name of the row's strategy.
---@field tested integer? If a rewrite of the strategy was tested, but not proved: the number of values on which it was tested.
---@field threads integer? For an accelerator, the number of virtual threads.
---@field tile string? For a GPU, the number of iterations and the name of the largest tile.
---@field unsafe boolean? True if some steps of the strategy were not judged.
---@field versions integer[] Versions of the schedule; a call runs the first one whose facts hold.
local ranked = {}

---@class nw.learner
local learner = {}

---Kendall's tau of each held-out audit: kernel, schedules, analytic (of the cost model), transfer (of a model that learned from the other audits), with_64 (of a model that also learned from 64 schedules of this audit, on its remaining schedules) and analytic_64 (of the cost model, on these remaining schedules).
---@return table[]
function learner:held_out() end

---A score. If two schedules of one computation have different scores, the schedule with the higher score is predicted to be faster. The score is not a time. The schedule's cost is computed and its code is compiled, but not run.
---@param s nw.schedule
---@param options? {machine?: nw.machine|string|table, sizes?: table, threads?: integer}
---@return number
function learner:predict(s, options) end

---Writes the model to a file, as JSON.
---@param path string
---@return nw.learner
function learner:save(path) end

---@class nw.loopnest
local loopnest = {}

---All accesses in order, as nw.accesses lists those of a schedule. most: the largest number of accesses, one million by default.
---@param options? {most?: integer, levels?: table[], line?: integer, machine?: any, feed?: 'misses'|'full', threads?: integer, thread?: integer}
---@return nw.accesses
function loopnest:accesses(options) end

---The nest's arrays in the order of their addresses: name, address, bytes, element (bytes of one element).
---@return table[]
function loopnest:arrays() end

---A lower bound of the nest's time on a machine. It is the longest of several times: for each level, the cycles to move the bytes of its misses; and the cycles of the operations in the text at the machine's peak rate. (If the machine's field combine is 'ecm', transfers that do not overlap are added.) The text of a nest does not determine the compiled code, so instructions, latencies and registers are not modelled. machine: as in nw.machine; this host by default. feed, simulate, exact, budget: as in misses. conflicts = true: conflict misses are distinguished from capacity misses, which takes longer. Fields: seconds, cycles, bottleneck; terms (name, cycles); by_tensor, by_loop, by_access, levels, exact, error, accesses, as in misses; traffic of each level (name, read, written, bytes, intensity in operations per byte), where L1 has the bytes of the references, and other levels have whole lines; flops, operations (name, bits, count), calls (of functions without a cost), statements; counted: true if these counts are exact; energy (name, count, unit, pj, joules, memory), joules, memory_joules (of the data movement), an estimate. plot{by = 'tensor' or 'loop'} draws the misses.
---@param options? {machine?: nw.machine|string|table, feed?: 'misses'|'full', conflicts?: boolean, simulate?: boolean, exact?: boolean, budget?: integer}
---@return nw.bound
function loopnest:cost(options) end

---Hits, misses and lines written back of each level, by array, loop and reference, counted by the cache model. If the model is exact for a level (fields exact and error), its counts equal those of the simulator. levels, line, machine, feed, conflicts: as in nw.misses, but by default feed is 'full' and conflict misses are counted as capacity misses; feed = 'misses' is slow for many accesses. simulate = true: simulates every access instead. exact = true: raises an error if the result is an estimate. budget: the largest number of lines that the model may request. threads: the number of threads. thread: the thread whose accesses are counted, as a number from 0; it has its own caches. The answer has the fields of nw.misses, and accesses, touched (the lines that the model requested), exact and error.
---@param options? {levels?: table[], line?: integer, machine?: any, feed?: 'misses'|'full', conflicts?: boolean, simulate?: boolean, exact?: boolean, budget?: integer, threads?: integer, thread?: integer}
---@return nw.misses
function loopnest:misses(options) end

---The values of the nest's parameters, by name.
---@return table
function loopnest:params() end

---The text of the nest, which can be parsed again; tostring returns it too.
---@return nw.view
function loopnest:show() end

---Misses for several sizes: one row for each combination of values, with accesses and the misses of each level, L1, L2, ... options as in misses. Example: n:sweep({N = {100, 200}}, {levels = {{bytes = 32768, ways = 8}}}):plot{y = "L1"}.
---@param params table
---@param options? table
---@return nw.sweep
function loopnest:sweep(params, options) end

---The same nest with other values of some parameters: n:with{N = 500}.
---@param params table
---@return nw.loopnest
function loopnest:with(params) end

---@class nw.error
---@field code string The kind of error: invalid, type, range, memory, parse, limit, refused, undecided and others.
---@field hint string? What to do about the error.
---@field line integer? The line of the source in which the error was raised.
---@field message string One sentence.
---@field refusal nw.refusal? Why a step was refused.
---@field schedule string? The name of a variable that holds the schedule; the text of the error uses it.
---@field source string? Where the error was raised: the name of a file, or repl[7].
local error = {}

---@class nw.refusal
---@field alternatives string[] Other steps that were tried and are legal.
---@field distance string? The number of iterations between the two executions, along the loop that carries the conflict, or as a vector.
---@field element string? The element that both iterations access, such as C[0, 0].
---@field kind string The kind of conflict: raw, war, waw, reduction, value, bounds, cover, capacity, structure, undecided.
---@field loops string[] The loops that carry the conflict.
---@field message string A sentence that says what cannot be done.
---@field picture string? The loop nest, with the loops that carry the conflict marked.
---@field primitive string The primitive, such as parallel.
---@field sink string? The values of the loops of sink_block.
---@field sink_block string? The block that must run later.
---@field source string? The values of the loops of source_block, such as (i=0, k=0).
---@field source_block string? The block that must run first.
---@field step string The step as it was written, such as s:parallel "k".
---@field tensor string? The tensor that both iterations access, such as C.
---@field why string? One sentence about the two iterations that are in conflict.
---@field witness table? The conflict in numbers: sizes, index of the element, source and sink by loop, the marked loop.
local refusal = {}

---The two conflicting instances among their neighbours, at the smallest sizes that fail: the order in which they are visited now, and the order after the step (dashed). The arrow goes from the instance that must come first to the instance that depends on it. A refusal without two instances, such as one for structure or capacity, cannot be drawn; then the call raises an error.
---@param options? {title?: nw.label}
---@return nw.plot
function refusal:plot(options) end

---A text of one line, without control characters.
---@alias nw.label string

---@class nw.view
---@field render fun(style: 'plain'|'ansi'|'html'): string

---@class nestwright
local nw = {}

---The absolute value; for the least signed integer it wraps to that integer itself.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.abs(x) end

---A schedule of a two-dimensional convolution on an accelerator: height*height pixels with `channels` channels, kernel*kernel weights for each filter, padding kernel // 2; each sum is shifted right, and limited to 0..127. Channels and filters are in blocks, as the tiles of the product need them: the input is [block][y][x][channel]. tile: {f, y, x, c, keep}: blocks of filters, rows and columns of the result, and blocks of channels that a thread works on, and whether its weights stay on the chip. By default, it is the tile with the fewest simulated cycles among the `tries` (24) tiles with the best estimates. threads: virtual threads along the filters; a single thread has two copies of each array that it loads. Also returns input, weights, sums and result (tensors), tile, and threads.
---@param accelerator nw.accelerator
---@param options {height: integer, channels: integer, filters: integer, kernel?: integer, stride?: integer, shift?: integer, threads?: integer, tile?: table, tries?: integer}
---@return nw.schedule, table
function nw.acc_conv2d(accelerator, options) end

---An accelerator: its machine record, its target, and its instructions. The argument is a name of nw.machines(), a file, a table as in nw.machine, or a record. nw.schedule(C, {target = vdla}) makes a schedule for it. Its fields are the instructions, which s:tensorize takes (vdla.gemm8x8), and the names of its memories, which s:cache_read and s:cache_write take (vdla.acc or vdla.acc_buffer). An instruction that copies, fills or computes element by element replaces a nest of any size.
---@param machine string|table|nw.machine
---@return nw.accelerator
function nw.accelerator(machine) end

---All memory accesses of the lowered schedule, in order. Small buffers of scope local stay in registers; their accesses are not listed. sizes: values of symbolic sizes, {M = 64}. most: the largest number of accesses, one million by default. arguments: inputs and outputs; the interpreter then runs the schedule on them and records the accesses, for programs whose addresses depend on data. levels, line, machine, feed: caches to simulate, as in nw.misses; each access then also has its outcome, a hit or a miss. threads: the number of threads; only the accesses of the first thread are listed. a = nw.accesses(s) has #a accesses, and a:at(n) is one of them.
---@param s nw.schedule
---@param options? {most?: integer, arguments?: nw.array[], sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: 'misses'|'full', threads?: integer}
---@return nw.accesses
function nw.accesses(s, options) end

---True if all conditions are true. All of them are evaluated.
---@param ... nw.expr|boolean
---@return nw.expr
function nw.all(...) end

---True if |a - b| <= atol + rtol*|b| everywhere (atol is 1e-8 and rtol is 1e-5 by default; NaN equals NaN). Also returns the largest difference, and the position of the first element that differs, counted from 1 in row-major order.
---@param a nw.array
---@param b nw.array
---@param options? {rtol?: number, atol?: number}
---@return boolean, number, integer?
function nw.allclose(a, b, options) end

---True if at least one condition is true.
---@param ... nw.expr|boolean
---@return nw.expr
function nw.any(...) end

---Greatest value of the term and its position: the compute makes two tensors, value and index (i64). If the greatest value occurs several times, the lowest index is chosen.
---@param term nw.expr|nw.axis|number
---@param ... nw.axis|nw.axis[]
---@return nw.expr
function nw.argmax(term, ...) end

---Least value of the term and its position: the compute makes two tensors, value and index (i64). If the least value occurs several times, the lowest index is chosen.
---@param term nw.expr|nw.axis|number
---@param ... nw.axis|nw.axis[]
---@return nw.expr
function nw.argmin(term, ...) end

---The bytes per second that a loop over this many bytes of memory reads and writes on this machine. Returns the best of a dozen samples, and all samples, per second of wall-clock time. loop: 'read' (a), 'copy' (a = b) or 'triad' (a = b + x*c), as in STREAM; only the bytes of the arrays in the loop are counted. threads: 1 by default; each thread has its own part of the memory.
---@param bytes integer
---@param options? {loop?: 'read'|'copy'|'triad'|'write', threads?: integer}
---@return number, number[]
function nw.bandwidth(bytes, options) end

---Draws one request of a warp to shared memory: which bank sends a word to which lane in which wavefront. Different words in one bank need one wavefront each. access: a name that s:gpu_counts() prints, as "load A_shared". before: another schedule, or the number of a version, drawn above it at the same scale; before_access: the name of the access there, if it has another one. request: the number of the request; the first by default. block: its indices, as in {2, 1}; the first by default. warp: its number in the block, from 0. kernel: its number, if several kernels have such an access. sizes: values of symbolic sizes. machine: a GPU of nw.machines(); by default the target of the schedule. Rows: schedule, wavefront, bank, word, lanes.
---@param s nw.schedule
---@param access string
---@param options? {before?: nw.schedule|integer, before_access?: string, request?: integer, title?: nw.label, sizes?: table, machine?: string|table|nw.machine, kernel?: integer, block?: integer|integer[], warp?: integer}
---@return nw.plot
function nw.bank_conflicts(s, access, options) end

---Shows values side by side. Each column is a list whose first value is a heading; the others are schedules, pictures, tables, words and numbers. most: the largest number of columns in a row; further columns continue below. Without HTML, columns that are too wide together are shown one below the other.
---@param columns any[][]
---@param options? {most?: integer}
---@return nw.view
function nw.beside(columns, options) end

---x as bf16; short for nw.cast(x, "bf16").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.bf16(x) end

---The bits that are 1 in both integers; also written a & b.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.bitwise_and(a, b) end

---All bits of an integer inverted; also written ~x.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.bitwise_not(x) end

---The bits that are 1 in at least one of two integers; also written a | b.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.bitwise_or(a, b) end

---The bits that differ between two integers (exclusive or); also written a ~ b.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.bitwise_xor(a, b) end

---x as bool; short for nw.cast(x, "bool").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.bool(x) end

---How full each set of a cache level is over time, and how many different lines of each set are accessed in each part of the time. Where the number of lines exceeds the ways of the set, lines are evicted before they are used again. A stride of a large power of two maps all accesses to a few sets. Rows: column (the part of the time), set, held (lines in the set), asked (different lines accessed).
---@param s nw.schedule
---@param options? {level?: integer, title?: nw.label, sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: 'misses'|'full', threads?: integer}
---@return nw.plot
function nw.cache_sets(s, options) end

---Measures this machine for nw.machine(): the clock; instructions per cycle and latencies by class and width; functions such as exp; accesses that cross lines; branches; gathers; latency and bytes per cycle of each cache, the usable part of the last cache, and memory; the cost of threads. It takes some seconds. Each figure is that of almost the fastest of some short undisturbed runs, in cycles of the clock at that moment, and is measured again until two measurements agree. Cycles, the clock and the dispatch rate are computed from CPU time of one thread, which does not pass while another program has the core; the bandwidth of memory and the cost of threads are wall-clock time, because several threads take part. A figure on which no two agree, or that is not plausible, is not used: the record keeps the value of the CPU family, and `doubts` has the reason. Figures of the last cache, of memory and of teams depend on other programs; `intervals` has the least and the greatest value to expect. The result is kept in a file of the state directory, which later sessions read (keep = false: for this session only). The answer has machine, seconds, file, figures, intervals, doubts. x86-64 only.
---@param options? {keep?: boolean}
---@return nw.report
function nw.calibrate(options) end

---x converted to another dtype. A float becomes an integer by truncation and saturation; NaN becomes 0.
---@param x nw.expr|nw.axis|number
---@param dtype string
---@return nw.expr
function nw.cast(x, dtype) end

---The least whole number that is not less than x, as a float.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.ceil(x) end

---x, or the nearer end of low..high if x is outside: nw.min(nw.max(x, low), high).
---@param x nw.expr|nw.axis|number
---@param low nw.expr|nw.axis|number
---@param high nw.expr|nw.axis|number
---@return nw.expr
function nw.clamp(x, low, high) end

---Clears the output of the cell. wait = true: only when new output follows.
---@param wait? boolean
function nw.clear_output(wait) end

---TVM's name and arguments of nw.reducer.
---@param combine function
---@param init any
---@param name? string
---@return function
function nw.comm_reducer(combine, init, name) end

---Measures kernels in turn, round by round, and reports which are faster: nw.compare{f, g}, nw.compare({f, g}, a, b) or nw.compare{naive = f, tiled = g, args = {a, b}, rounds = 50, base = "naive"}. Lua does not keep the order of such names; nw.compare{{"naive", f}, {"tiled", g}} keeps the order in which they are written. base: the kernel that the others are compared with, by default the first. Times measured elsewhere are given as tables of numbers: {median = 0.0012, samples = {...}}. Two kernels are distinguishable if one was faster in more rounds than is likely by chance (sign test, 0.1 %), and by 3 % in the median round, in each half of the rounds too. With less than ten rounds, and for times measured elsewhere, the middle halves of the times must not overlap. rounds: 40 by default. If no arrays are given, they are random; sizes gives values to symbolic sizes then, as in nw.compare{f, g, sizes = {M = 64}}. align, offset, cold, cpu, pin, pages: the conditions, as in f:time.
---@param kernels table
---@param ... nw.array
---@return nw.comparison
function nw.compare(kernels, ...) end

---A tensor whose element at (i, j, ...) is body(i, j, ...); the axes are named after the parameters of the function. A body that returns several expressions makes several tensors. If the body is a plain number, the tensor is i32 for a whole number and f32 for any other number. strides: for an output, the strides of the array that a call gives; see nw.placeholder.
---@param shape integer|nw.expr|(integer|nw.expr)[]
---@param body fun(...: nw.expr): nw.expr ...
---@param name? string|{name?: string, strides?: (integer|nw.expr)[]}
---@return nw.tensor ...
function nw.compute(shape, body, name) end

---Measures the cycles per second of this core with a chain of dependent adds. The seconds are CPU time of the thread, which does not pass while another program has the core.
---@return number
function nw.core_hz() end

---A copy of an array that stays on the NVIDIA GPU of this machine, or on the device that OpenCL uses. Kernels for the GPU (nw.target "cuda" or nw.target "opencl") use it there, and their outputs stay there too, if an input does. The elements are copied back when something else reads them, such as a:get, print or a kernel for this host. Arrays that are only there are lost if the GPU fails or if a kernel on it is interrupted.
---@param array nw.array
---@param driver? 'cuda'|'opencl'
---@return nw.array
function nw.device_array(array, driver) end

---Shows a value immediately, while the cell is running; in a notebook it is shown as a picture or a table if possible. The method update(value) of the result replaces the value by another one. id: the display id of the output in the front end.
---@param value any
---@param options? {id?: nw.label}
---@return nw.output
function nw.display(value, options) end

---Returns the names of all dtypes.
---@return string[]
function nw.dtypes() end

---a == b, as an expression.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.eq(a, b) end

---The error function, as in GELU.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.erf(x) end

---Evaluates the definition element by element, without a schedule. This is slow, but the result is the reference for all other results.
---@param outputs nw.tensor|nw.tensor[]
---@param arguments nw.array[]
---@return nw.array[]
function nw.evaluate(outputs, arguments) end

---e to the power x.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.exp(x) end

---The i32 e with x = ldexp(mantissa(x), e); 0 if x is 0, infinite or NaN. See nw.frexp.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.exponent(x) end

---x as f16; short for nw.cast(x, "f16").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.f16(x) end

---x as f32; short for nw.cast(x, "f32").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.f32(x) end

---x as f64; short for nw.cast(x, "f64").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.f64(x) end

---States a fact about a size: nw.fact(M, nw.eq(M % 16, 0)) or, as text, nw.fact(M, "M % 16 == 0"). Kernels check the fact when they are called. A fact that contradicts the known facts is refused.
---@param size nw.expr
---@param condition nw.expr|string
---@return nw.expr
function nw.fact(size, condition) end

---The greatest whole number that is not greater than x, as a float.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.floor(x) end

---Integer division that rounds towards minus infinity; also written a // b.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.floordiv(a, b) end

---Remainder with the sign of the divisor, a - b*(a // b); also written a % b.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.floormod(a, b) end

---Returns the mantissa m and the exponent e of a float, with 0.5 <= |m| < 1 and x = ldexp(m, e).
---@param x nw.expr|nw.axis|number
---@return nw.expr, nw.expr
function nw.frexp(x) end

---An array with one value in all elements; f32 by default.
---@param shape integer|integer[]
---@param value number|boolean
---@param dtype? string
---@return nw.array
function nw.full(shape, value, dtype) end

---a >= b, as an expression.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.ge(a, b) end

---Compares schedules for GPUs, such as the steps of a tutorial: nw.gpu_steps{{"baseline", s1}, {"coalesced", s2}}. Nothing is measured. For each schedule, the answer has a row with step (its name), seconds and bottlenecks (as s:cost predicts for each of machines), speedups (over the first schedule), sectors (of a request to global memory), wavefronts (turns of a request to shared memory), occupancy (of the kernel that takes longest), and limiter, the resource that limits the occupancy. The last four are those on the first machine. machines: names or records of GPUs, by default a T4 and an A100. sizes: values of symbolic sizes. caches: as in s:cost.
---@param steps table
---@return nw.gpusteps
function nw.gpu_steps(steps) end

---a > b, as an expression.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.gt(a, b) end

---nw.help() lists everything; nw.help "timing" lists the functions of a topic with one line each; nw.help "split" or nw.help(nw.sum) describes one thing. nw.help(s), where s is an object, lists the object's methods and fields.
---@param what? any
---@return nw.view
function nw.help(what) end

---A piece of HTML. It is rendered in a notebook; elsewhere its source is shown.
---@param text string
---@return nw.view
function nw.html(text) end

---x as i16; short for nw.cast(x, "i16").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.i16(x) end

---x as i32; short for nw.cast(x, "i32").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.i32(x) end

---x as i64; short for nw.cast(x, "i64").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.i64(x) end

---x as i8; short for nw.cast(x, "i8").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.i8(x) end

---Reads a line from the user. password = true: the typed text is hidden.
---@param prompt? string
---@param options? {password?: boolean}
---@return string
function nw.input(prompt, options) end

---Shows controls for the arguments of a function in a notebook; the results and output of the function follow the controls. Example: nw.interact{tile = {8, 16, 32}, function(tile) ... end}. A list of numbers gets a slider. Another list gets a drop-down list. {min = 1, max = 64, step = 1} gets a slider. A boolean gets a checkbox. Arguments are matched by name, or given in order: {{"tile", {8, 16}}, {"unroll", true}, function(t, u) ... end}. A function that measures times, or is slow, is called when a slider is released; release = true or false overrides this. button = "measure": the function is called when the button is pressed; button = {"measure", g}: the button calls g, whose results appear below. start: initial values, {tile = 16}. A saved notebook keeps the last results; the prompt shows the results for the initial values.
---@param spec table
---@param options? {button?: nw.label|table, release?: boolean, start?: table}
function nw.interact(spec, options) end

---Runs the schedule in the interpreter, which checks every access. lowered = true: runs the lowered program, which is also the program that is compiled. steps: the largest number of executed statements; a longer run ends with an error (code 'limit').
---@param s nw.schedule
---@param arguments nw.array[]
---@param options? {lowered?: boolean, steps?: integer}
---@return nw.array[]
function nw.interpret(s, arguments, options) end

---Registers code for a small computation, for use by s:tensorize. args: the tensors of one compute with constant sizes, in the order in which the function takes them. The function gets a pointer to each tile, followed by the strides that are not fixed, as int64_t, in elements. strides: for each tensor, a list with a number or "any" for each dimension; by default the last dimension is contiguous and the others are "any". accumulate: a reduction adds to the values of the output. source: the C code of the function. library and symbol: a function of a shared library, in place of source. code = "shuffles", in place of both: for a computation that only moves elements, such as the transpose of a tile, the generated code itself loads vectors, shuffles their lanes and stores them; extents must be powers of two. jump_safe = true states that this function holds no lock and owns no memory, so that it can be stopped at any moment. The code is tested against its description in a separate process, for at most timeout seconds, and is registered only if its results are correct.
---@param spec {name: string, args: nw.tensor[], strides?: table, accumulate?: boolean, source?: string, library?: string, symbol?: string, code?: 'shuffles', jump_safe?: boolean, timeout?: number}
---@return nw.intrinsic
function nw.intrinsic(spec) end

---Measures the energy of a call of f with the energy counters of the CPU's packages and of their memory (RAPL, through the kernel's powercap). f is called repeatedly for `least` seconds (by default 0.2). The energy of other processes is included. The answer has joules, memory (joules; nil if it is not counted), seconds, runs, watts. It is an error if the machine has no counters, or if the user may not read them. root: the folder of the counters, /sys/class/powercap.
---@param f fun()
---@param options? {least?: number, root?: string}
---@return nw.report
function nw.joules(f, options) end

---Returns how the last step was checked: o (by the order of executions), v (by the computed values) or m (only by the marks of loops).
---@return string
function nw.judge_question() end

---Draws the lecture's five ways to run a schedule with virtual threads, on one time axis: monolithic; decoupled, without tokens; with RAW tokens only; with RAW and WAR tokens; and with virtual threads. The first four run the schedule without its steps that bind loops to virtual threads. sizes: values of symbolic sizes.
---@param s nw.schedule
---@param options? {from?: number, to?: number, colour?: 'thread'|'instruction', tokens?: boolean, title?: nw.label, sizes?: table}
---@return nw.plot
function nw.latency_hiding(s, options) end

---x times 2^n for an integer n, rounded once. The result is infinite or 0 if it is too large or too small.
---@param x nw.expr|nw.axis|number
---@param n nw.expr|nw.axis|number
---@return nw.expr
function nw.ldexp(x, n) end

---a <= b, as an expression.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.le(a, b) end

---Reads a .npy file.
---@param path string
---@return nw.array
function nw.load(path) end

---Natural logarithm.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.log(x) end

---a < b, as an expression.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.lt(a, b) end

---A machine record: the properties of a CPU, a GPU or an accelerator that the cost model uses. Without an argument, it is the record of this host: what the system reports about its cores and caches, and what nw.calibrate has measured. All other fields are those of its processor family; the sources in the record show this. The argument is a name of nw.machines(), "cuda" for the NVIDIA GPU of this machine, a table, or the name of a Lua file that returns a table, "mine.lua"; the file may use only math. extends = a name, a file or a record: the record that has the fields that the table omits; a list, such as caches, replaces the whole list. sources = {[""] = text, ops = text}: where the numbers come from. Fields that are missing, unknown or out of range are errors; nw.machine_fields() lists the fields with units and defaults.
---@param machine? string|table|nw.machine
---@return nw.machine
function nw.machine(machine) end

---The fields of machine records: of a 'cpu', a 'gpu' or an 'accelerator', or all of them. Each has a name, unit, default and meaning.
---@param kind? 'cpu'|'gpu'|'accelerator'
---@return nw.report
function nw.machine_fields(kind) end

---The names of the machine records that nw.machine accepts.
---@return string[]
function nw.machines() end

---The number m with 0.5 <= |m| < 1 and x = ldexp(m, exponent(x)); x itself if x is 0, infinite or NaN. See nw.frexp.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.mantissa(x) end

---The greatest of the arguments. If the first argument depends on reduce axes that follow it, the result is the greatest value of this argument over these axes: nw.max(A(i, k), k).
---@param a nw.expr|nw.axis|number
---@param ... nw.expr|nw.axis|number|nw.axis[]
---@return nw.expr
function nw.max(a, ...) end

---The greatest of its arguments; NaN if any is NaN.
---@param ... nw.expr|nw.axis|number
---@return nw.expr
function nw.maximum(...) end

---Measures tiles of a loop whose extent is a symbolic size, and keeps the times in $XDG_STATE_HOME/nestwright. kernels: as in s:partition_auto. The answer lists the kernels with their times: seconds (first: of one tile; more: of each following tile; guarded: of a tile with a guard that lacks one iteration) and seconds_inside (in the loops that `around` makes). A time is the median of several turns on one thread. again = true: measures again. A time that other work disturbed in too many turns is not kept: the kernel then has its earlier time, or disturbed = true, and s:partition_auto does not use it.
---@param options {schedule: nw.schedule, loop: nw.loop|string, kernels: table[], around?: function, sizes?: table, again?: boolean}
---@return nw.report
function nw.microkernels(options) end

---The least of the arguments. If the first argument depends on reduce axes that follow it, the result is the least value of this argument over these axes: nw.min(A(i, k), k).
---@param a nw.expr|nw.axis|number
---@param ... nw.expr|nw.axis|number|nw.axis[]
---@return nw.expr
function nw.min(a, ...) end

---The least of its arguments; NaN if any is NaN.
---@param ... nw.expr|nw.axis|number
---@return nw.expr
function nw.minimum(...) end

---Cache hits and misses of the schedule, found by simulating every access: set-associative or fully associative levels, LRU replacement, write-allocate, write-back. levels: {{bytes = 32768, ways = 8}, ...}, where ways = 0 means fully associative; the caches of this machine by default. machine = "zen5": the caches of a machine record; only the part of each cache that s:cost assumes to be available is used. feed: 'misses' (each level sees only the misses of the level before it) or 'full' (every level sees every access). threads: the number of threads; only the first thread is simulated, with its own caches. The answer prints a table by tensor and has by_tensor, by_loop, by_access and total: records with level, asked (requested), hits, cold, capacity, conflict, written_back, in lines. A miss that a fully associative cache of the same size would not have is a conflict miss; conflicts = false skips this distinction. The method plot{by = 'tensor' or 'loop'} draws the misses.
---@param s nw.schedule
---@param options? {conflicts?: boolean, sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: 'misses'|'full', threads?: integer}
---@return nw.misses
function nw.misses(s, options) end

---a ~= b, as an expression.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.ne(a, b) end

---The opposite of a condition.
---@param c nw.expr|boolean
---@return nw.expr
function nw.not_(c) end

---Draws how many blocks of a kernel a multiprocessor of a GPU runs at the same time, against the registers of a thread and against the shared memory of a block. what: a schedule, or numbers: threads of a block, registers of a thread (32 by default), shared: bytes of a block. machine: a GPU of nw.machines(); by default the target of the schedule. kernel: its number; by default the one that takes longest. sizes: values of symbolic sizes. Rows: resource, from, to, blocks, limiter.
---@param what nw.schedule|{threads: integer, registers?: integer, shared?: integer}
---@param options? {machine?: string|table|nw.machine, kernel?: integer, sizes?: table, title?: nw.label}
---@return nw.plot
function nw.occupancy(what, options) end

---The order in which the instances of a stage are visited, computed from the program. The picture is a grid of the stage's axes, with a path from visit to visit; later cells are darker, and tiles are outlined. A vector is drawn as a bar. Each iteration of a parallel loop has its own path, colour and times. An instance that is visited more than once is hatched. stage: by default the first stage with two axes. axes: one or two axes of the stage, the vertical one first; by default its first two. at: values of the other axes, as in {k = 0}; by default their smallest values. from, to: the part of each axis that is shown, as in from = {i = 8}; `to` is excluded. sizes: values of symbolic sizes. At most 64 values of each axis are drawn.
---@param s nw.schedule
---@param options? {stage?: any, axes?: string[], at?: table, from?: table, to?: table, sizes?: table, title?: nw.label}
---@return nw.plot
function nw.order(s, options) end

---Measures the peak rate of fused multiply-adds of 'f32' or 'f64' on this machine, in flop per second of wall-clock time. Returns the upper quartile of the samples, and all samples; their field disturbed is true if other work disturbed most of them. t:share(flop) compares a time with the peak.
---@param threads? integer
---@param dtype? string
---@return number, number[]
function nw.peak_flops(threads, dtype) end

---Returns the measured peak divided by the peak of two full-width FMA units at the measured clock. The ratio is near 1 if the measuring loop is good. It is formed from two clocks: the peak is measured in wall-clock time, and the cycles per second in CPU time. Other work can only make it smaller.
---@return number
function nw.peak_vs_ports() end

---The pieces into which cuts divided a stage's loops. Each piece has a name and a colour. Each also has a hatch, except the main piece and parts that no cut has named. Pieces of the same name have the same colour in all pictures, and white cells are not executed. Tiles are outlined; instances that run more than once are darker. width: pixels for the grid, 620 by default. stage: by default the first stage with two axes. axes: one or two axes of the stage, the vertical one first; by default its first two. at: values of the other axes, as in {k = 0}; by default their smallest values. from, to: the part of each axis that is shown, as in from = {i = 8}; `to` is excluded. sizes: values of symbolic sizes. If an axis has more than 256 values, only its first and last 64 are drawn, and the caption says so.
---@param s nw.schedule
---@param options? {stage?: any, axes?: string[], at?: table, from?: table, to?: table, sizes?: table, width?: integer, title?: nw.label}
---@return nw.plot
function nw.pieces(s, options) end

---An input of the computation. The dtype is f32 by default. A(i, k) reads an element. The last arguments may be given as {dtype = ..., name = ..., strides = ...}. strides: the distances between neighbours along each dimension of the array that a call gives, in elements, as numbers or sizes; by default the array is row-major. nw.placeholder({M, N}, {name = "A", strides = {lda, 1}}) takes views.
---@param shape integer|nw.expr|(integer|nw.expr)[]
---@param dtype? string|{dtype?: string, name?: string, strides?: (integer|nw.expr)[]}
---@param name? string|{name?: string, strides?: (integer|nw.expr)[]}
---@return nw.tensor
function nw.placeholder(shape, dtype, name) end

---The number of bits of an integer that are 1, in the dtype of the integer.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.popcount(x) end

---x to the power y; also written x ^ y.
---@param x nw.expr|nw.axis|number
---@param y nw.expr|nw.axis|number
---@return nw.expr
function nw.pow(x, y) end

---Product of the term over reduce axes.
---@param term nw.expr|nw.axis|number
---@param ... nw.axis|nw.axis[]
---@return nw.expr
function nw.prod(term, ...) end

---A progress bar that counts to total; p:step() advances it. At most ten changes per second are shown. The last change is always shown, and at the end of a cell the bar shows the final state.
---@param total integer
---@param title? nw.label
---@return nw.progress
function nw.progress(total, title) end

---Returns the dtype in which an operation on these two dtypes is computed.
---@param a string
---@param b string
---@return string
function nw.promote(a, b) end

---Calls f(...) and returns its results. The remarks of its steps, such as "i divides evenly", are not shown; s:notes() still returns them. For functions that make many steps.
---@param f function
---@param ... any
---@return any ...
function nw.quietly(f, ...) end

---An array of random elements: floats between lo and hi (0 and 1 by default), or integers from lo to hi (0 and 9 by default). The same seed gives the same data; without a seed, each call gives different data.
---@param shape integer|integer[]
---@param dtype? string|{seed?: integer, lo?: number, hi?: number}
---@param options? {seed?: integer, lo?: number, hi?: number}
---@return nw.array
function nw.random(shape, dtype, options) end

---An axis to reduce over. Its values are 0..extent, or begin..end if the extent is given as {begin, end}. The range may depend on other axes and on data, if the axis is made in the function of the compute: nw.reduce_axis(i + 1), or nw.reduce_axis({P(i), P(i + 1)}, {within = N}). Then only the values in 0..within count.
---@param extent integer|nw.expr|nw.axis|(integer|nw.expr|nw.axis)[]
---@param name? string|{name?: string, within?: integer|nw.expr}
---@return nw.axis
function nw.reduce_axis(extent, name) end

---A reduction of your own. The result is a function: R(term, k), or R({term, term}, k) for several terms; a compute of it makes an output for each term. combine(a, b) returns the state of two states together; with several terms, a and b are lists. init has the first state: a number, a list of numbers, or a function of the dtypes of the terms. `names` are the names of the outputs. The order of a reduction is not fixed. So combine must be associative and commutative, and init must change nothing; this is proved or else tested on values, and shown as tested.
---@param options {combine: function, init: any, name?: string, names?: string[]}
---@return function
function nw.reducer(options) end

---The bits of x as a value of another dtype of the same width. Every NaN gives the bits of the quiet NaN without a sign.
---@param x nw.expr|nw.axis|number
---@param dtype string
---@return nw.expr
function nw.reinterpret(x, dtype) end

---Reuse distances: how many bytes of other lines are accessed between two accesses to the same line, as one histogram per tensor with the cache sizes marked. Accesses to the right of a cache's mark miss in a fully associative cache of this size. The rows have tensor, `from` and `to` (bytes), and count; in the row of lines that are accessed for the first time, `from` and `to` are empty. The distances are exact, for all accesses.
---@param s nw.schedule
---@param options? {title?: nw.label, sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: 'misses'|'full', threads?: integer}
---@return nw.plot
function nw.reuse(s, options) end

---The roofline: operations per second over operations per byte, under the measured limits of this machine (nw.roofs). nw.roofline(s) draws a dot for each version of the schedule, with arrows from step to step, measured as by s:time_steps; nw.roofline{s1, s2} or {naive = s1, tiled = s2} draws one dot per schedule. An entry may be {schedule = s, time = t}, or numbers measured elsewhere: {flops = 2e9, bytes = 1e7, time = 0.01}. Operations are those of the definition; a multiply-add counts as two. For integers, whose peak is not measured, only bandwidths are drawn; for f64, the peak of f64 is drawn. Bytes are the traffic to memory, simulated as in nw.misses; versions with more than `simulate` operations (5e7) have the bytes of their inputs and outputs instead, each counted once. level: 'memory', or the cache whose traffic the axis shows, such as 'L2'. Each dot is compared with the lowest roof above it. predicted = true: adds a diamond for each dot, with the time and bytes that s:cost predicts. machine: as in nw.machine; then nothing is measured, the roofs are those of the record, and dots are predictions, except for entries with their own times. For a schedule whose target is a GPU that is not here, machine is this GPU; its levels are memory, L1, shared memory and, if its bandwidth is in the record, L2. simulate = false: the caches of the GPU are not simulated. Only versions with loops that are bound to blocks and threads have dots. For a schedule on an accelerator, and for a run of a stream (nw.roofline{before = s:stream():run()}), the operations are the multiply-adds of its instructions, which count as two, and the roofs are those of the record. limit, rounds, versions, threads: as in s:time_steps; arguments: the inputs; sizes: values of symbolic sizes; roofs: an answer of nw.roofs to use again.
---@param what nw.schedule|table
---@param options? {threads?: integer, opt?: integer, limit?: number, rounds?: integer, versions?: integer[], arguments?: nw.array[], sizes?: table, level?: string, simulate?: number, roofs?: table, machine?: any, predicted?: boolean, arrows?: boolean, title?: nw.label}
---@return nw.plot
function nw.roofline(what, options) end

---Measures the limits of this machine: the peak of f32 and f64 multiply-adds in flop/s, and, for each cache and for memory, the bytes per second of the fastest STREAM loop, all per second of wall-clock time. For a cache, the loop covers half of it; for memory, four times the last cache, but usually at most one gigabyte. threads: all cores by default. The answer has threads, machine, peak, peak_f64 and levels: records with best, median, spread, and disturbed if other work disturbed most samples although they were taken again; levels also have name, loop and over (bytes). remark: that more threads are not faster. The measurement takes some seconds. It is done once per process, or its result is kept with the results of nw.calibrate; fresh = true measures again.
---@param options? {threads?: integer, fresh?: boolean}
---@return nw.report
function nw.roofs(options) end

---The nearest whole number, as a float; if two are equally near, the even one.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.round(x) end

---1/sqrt(x), rounded twice.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.rsqrt(x) end

---Writes a .npy file.
---@param array nw.array
---@param path string
---@return nw.array
function nw.save(array, path) end

---A recurrence over the first dimension, in order. There are two forms: nw.scan(init, update, state, name), where `state` is nw.scan_state(shape), which `update` reads at earlier times; and nw.scan{shape = {T, n}, init = function(t, x) ... end, step = function(S, t, x) return S(t - 1, x) ... end}. Other computes that read the state are stages inside the scan, which each step of time computes. In the second form, `rows` is the number of first rows, `dtype` the dtype of the state (by default that of init), and init = {f, g} makes several states.
---@param init nw.tensor|nw.tensor[]|table
---@param update? nw.tensor|nw.tensor[]
---@param state? nw.tensor|nw.tensor[]
---@param name? string|{name?: string, strides?: (integer|nw.expr)[]}
---@return nw.tensor ...
function nw.scan(init, update, state, name) end

---The state of a scan. The update reads it at earlier times.
---@param shape integer|nw.expr|(integer|nw.expr)[]
---@param dtype? string|{dtype?: string, name?: string}
---@param name? string
---@return nw.tensor
function nw.scan_state(shape, dtype, name) end

---A schedule that computes these outputs (a list is accepted too). It starts as the naive program. Its methods are steps; each step is judged, and is refused with a reason if it would change the results. target, in a table after the outputs: the machine that the schedule is made for, as in nw.target; by default this host.
---@param ... nw.tensor|nw.tensor[]|{target?: string|table|nw.machine|nw.target}
---@return nw.schedule
function nw.schedule(...) end

---a if the condition holds, otherwise b. Only the selected branch is evaluated, so a read in the other branch does not happen.
---@param condition nw.expr
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.select(condition, a, b) end

---The bits of an integer moved up by n places; also written x << n. It is 0 if n is negative or not less than the width.
---@param x nw.expr|nw.axis|number
---@param n nw.expr|nw.axis|number
---@return nw.expr
function nw.shift_left(x, n) end

---The bits of an integer moved down by n places, which divides it by 2^n and rounds down; also written x >> n. If n is negative or not less than the width, it is 0, or -1 for a negative x.
---@param x nw.expr|nw.axis|number
---@param n nw.expr|nw.axis|number
---@return nw.expr
function nw.shift_right(x, n) end

---1/(1 + exp(-x)).
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.sigmoid(x) end

---Runs a schedule whose loops are bound to blockIdx and threadIdx on a simulated GPU: the threads of a warp execute each statement together. Finds races, reads of elements that were not written, accesses outside a buffer, and barriers that not all threads of a block reach. The answer has outputs; findings, each with fault, buffer, element, first and second (the two accesses: block, thread, write, step), and times; accesses, a row of counts for each load and store: requests of warps, lanes, sectors of global memory, wavefronts of shared memory, degrees[n] (requests with n wavefronts); kernels: grid, block, instructions by class, shared_bytes, registers, occupancy and limiter; and seconds. For NVIDIA GPUs, ptxas counts the registers if it is installed (kernels[n].assembled); otherwise, and with ptxas = false, they are an estimate. threads: of this host; all cores by default. machine: a GPU of nw.machines(); by default the target of the schedule. caches: also counts l1_hits and l2_hits of each access, in sectors, and dram_read and dram_written of each kernel, in bytes.
---@param s nw.schedule
---@param arguments nw.array[]
---@param options? {threads?: integer, machine?: string|table|nw.machine, caches?: boolean, ptxas?: boolean}
---@return nw.simulation
function nw.simulate(s, arguments, options) end

---A symbolic size. It is at least `min` (1 by default) and a multiple of `multiple`. Kernels check these facts when they are called.
---@param name string
---@param options? integer|{min?: integer, multiple?: integer}
---@return nw.expr
function nw.size(name, options) end

---The space-time diagram: one lane per tensor, one mark per access. The x axis is the time in accesses. Open marks are reads, filled marks are writes; shape and colour show a hit or a cold, capacity or conflict miss in `level` (1 by default). level = 'all' shows instead the level in which the data was found. Above, brackets show the loops with the number of each iteration; below, a curve compares the bytes touched so far with the cache sizes. y: 'index', 'address', 'line' or 'set'. before: another schedule, or the number of a version, drawn above it on the same axes. threads: the number of threads; each thread has its own lanes. sizes, levels, line, machine, feed: as in nw.misses; with a machine, the small print and the caption give the prediction of s:cost. Printing the plot gives its caption; plot:save "x.svg" writes the picture. More than 3,000 accesses become an image in which each pixel shows its worst access, so that every miss is visible.
---@param s nw.schedule
---@param options? {y?: 'index'|'address'|'line'|'set', level?: integer|'all'|string, before?: nw.schedule|integer, title?: nw.label, sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: 'misses'|'full', threads?: integer}
---@return nw.plot
function nw.spacetime(s, options) end

---Square root, correctly rounded.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.sqrt(x) end

---Sum of the term over reduce axes. The sum must be the whole body of a compute.
---@param term nw.expr|nw.axis|number
---@param ... nw.axis|nw.axis[]
---@return nw.expr
function nw.sum(term, ...) end

---Calls run(point) for every combination of the lists in params, and collects the results, one row per point. With csv or json, rows are written to a file after every point, and points already in the file are not run again. Other points in the file are kept, unless keep = false. A file that is not the result of a sweep over these parameters is refused. A parameter value is a number, a text, a boolean or a list of these; a result is a number, a text, a boolean or a time, which is kept as its median and its quartiles: {tiled = f:time()} gives the columns tiled_median, tiled_q1 and tiled_q3. A refused point gets an error column.
---@param options {params: table, run: fun(point: table): any, csv?: string, json?: string, keep?: boolean}
---@return nw.sweep
function nw.sweep(options) end

---Hyperbolic tangent.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.tanh(x) end

---A target: the machine that a schedule is made for. The argument is a name of nw.machines(), a file or a table as in nw.machine, or a record; by default this host. nw.schedule(C, {target = t}) makes a schedule for it; s:retarget(t) repeats the steps of a schedule under its limits. Code for another CPU than this host's can be shown (s:show "asm") and linked (f:export), but not run here: nw.target "aarch64". nw.target "cuda" is the NVIDIA GPU of this machine, which its driver runs; nw.target "a100" is an A100, for which PTX can be made anywhere (s:show "ptx"). nw.target "opencl" is the device that OpenCL finds: a GPU, or else a CPU. Its driver compiles and runs OpenCL C. nw.target "gpu" is a GPU that this host simulates: kernels run anywhere, and races and other faults are errors, but runs have no times. machine = "a100": the limits are those of this machine, not those that the driver reports. The simulated GPU is an A100 by default.
---@param machine? string|table|nw.machine|nw.target
---@param options? {machine?: string|table|nw.machine}
---@return nw.target
function nw.target(machine, options) end

---An array with the values and the shape of nested Lua tables. By default, the dtype is bool if the values are true and false, and f32 otherwise.
---@param values table|number|boolean
---@param dtype? string
---@return nw.array
function nw.tensor(values, dtype) end

---Registers an instruction that the 32 threads of a warp execute together, for use by s:tensorize: a product of tensor cores, such as "mma.m16n8k16.f16", or a load of matrices from shared memory, such as "ldmatrix.x4.f16". nw.tensor_cores() lists them. layouts says which lane holds which element of an operand: {A = function(lane, i) return row, column end}. By default these are the layouts of the hardware. A layout must be a bijection, and the instruction is tried lane by lane on the simulated GPU; it is registered only if its results are correct.
---@param instruction string
---@param options? {name?: string, layouts?: table<string, function>}
---@return nw.intrinsic
function nw.tensor_core(instruction, options) end

---The instructions that nw.tensor_core takes.
---@return {name: string, doc: string}[]
function nw.tensor_cores() end

---x as f32, rounded to the 10 bits after the point that tensor cores use for tf32; of two numbers that are equally near, the one with the greater magnitude.
---@param x nw.expr|number
---@return nw.expr
function nw.tf32(x) end

---Draws a timeline. It has one lane per thread or stage, and one bar per record, from the record's start to its end in seconds. A bar has a label if there is room for it, and each kind has its own fill. Lanes appear in the order of `lanes` (lanes without records included), then in the order of the records. Idle time is the time without a bar; its percentage is at the right. Where bars are too narrow to be distinguished, their height shows how much of the time they fill. arrows: each goes from the end of a record to the start of a record that depends on it; its ends are records or their numbers. unit: the unit of the numbers if it is not 's', for example 'cycles'. from and to: the time span for the idle percentage, if it is longer than the records. small: text at the foot, for example the origin of the records.
---@param records {lane: nw.label, from: number, to: number, label?: nw.label, kind?: nw.label, [string]: any}[]
---@param options? {arrows?: {from: integer|table, to: integer|table}[], title?: nw.label, unit?: nw.label, lanes?: nw.label[], from?: number, to?: number, small?: nw.label}
---@return nw.plot
function nw.timeline(records, options) end

---Collects separately measured times in one list to print and plot: nw.timings{naive = t1, tiled = t2, base = "naive"}, or nw.timings{{"naive", t1}, {"tiled", t2}} to keep the order in which they are written. An entry is an answer of s:time, or numbers measured elsewhere, in seconds: {median = 0.0012, min = 0.0011, samples = {...}, machine = "..."}. base: the entry that the others are compared with, by default the first. Prefer nw.compare, which measures in turn.
---@param times table
---@return nw.comparison
function nw.timings(times) end

---x as u16; short for nw.cast(x, "u16").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.u16(x) end

---x as u32; short for nw.cast(x, "u32").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.u32(x) end

---x as u64; short for nw.cast(x, "u64").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.u64(x) end

---x as u8; short for nw.cast(x, "u8").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.u8(x) end

---Draws several runs of streams above each other, on one time axis, as run:plot does: nw.unit_runs{{"before", one:run()}, {"after", two:run()}}. runs: runs, or {title, run}.
---@param runs table
---@param options? {from?: number, to?: number, colour?: 'thread'|'instruction', tokens?: boolean, title?: nw.label}
---@return nw.plot
function nw.unit_runs(runs, options) end

---The tensor after an update of its elements: body(S, i, ...) returns the index of an element as a list, its new value, and perhaps a condition under which it is stored. S is the stage while it is updated. Each axis is an extent or {begin, end}; the points are visited in order, the last axis fastest. Updates of updates are one stage with a list of definitions. If body updates S itself instead of returning a value, these updates share its axes: they run in turn at each point. nw.update(H, {n}, function(H, i) return {X(i)}, H(X(i)) + 1 end) counts.
---@param of nw.tensor
---@param axes integer|nw.expr|(integer|nw.expr|(integer|nw.expr)[])[]
---@param body fun(stage: nw.tensor, ...: nw.expr): any ...
---@param name? string|{name?: string, strides?: (integer|nw.expr)[]}
---@return nw.tensor?
function nw.update(of, axes, body, name) end

---Returns the index variable `name`; layouts use _0, _1, ...
---@param name string
---@return nw.expr
function nw.variable(name) end

---Returns the version of Nestwright.
---@return string
function nw.version() end

---Draws one request of a warp to global memory: the lanes, the addresses that they want, and the sectors that the memory sends, with the bytes that nobody wants. access: a name that s:gpu_counts() prints, as "load A". before: another schedule, or the number of a version, drawn above it at the same scale; before_access: the name of the access there, if it has another one. request: the number of the request; the first by default. block: its indices, as in {2, 1}; the first by default. warp: its number in the block, from 0. kernel: its number, if several kernels have such an access. sizes: values of symbolic sizes. machine: a GPU of nw.machines(); by default the target of the schedule. Rows: schedule, lane, address, bytes.
---@param s nw.schedule
---@param access string
---@param options? {before?: nw.schedule|integer, before_access?: string, request?: integer, title?: nw.label, sizes?: table, machine?: string|table|nw.machine, kernel?: integer, block?: integer|integer[], warp?: integer}
---@return nw.plot
function nw.warp_request(s, access, options) end

---Draws what each warp of some blocks executes, between barriers: one lane for each warp, with the iterations of the loops that are bound to the grid; one bar for each nest. Time is counted in stores that a warp executes, because the simulated GPU has no clock; where a lane has no bar, the warp waits at a barrier. blocks: the number of blocks, 2 by default; parts: the number of parts between barriers, 6 by default. block: the indices of the first block. kernel: its number. sizes, machine: as in s:gpu_counts.
---@param s nw.schedule
---@param options? {blocks?: integer, parts?: integer, sizes?: table, machine?: string|table|nw.machine, kernel?: integer, block?: integer|integer[], title?: nw.label}
---@return nw.plot
function nw.warps(s, options) end

---Draws the multiprocessors of a GPU over time, as the model predicts: full waves of blocks, and the last wave, in which some multiprocessors have fewer blocks or none. If blocks do not take equally long, such as those of a fused grid, each kind has a colour of its own. kernel: its number; by default the one that takes longest. caches: as in s:cost. sizes, machine: as in s:gpu_counts. Rows: from, to (seconds), first, last (multiprocessors), blocks (of each), and kind if there are several; then multiprocessors are counted in the order of the picture.
---@param s nw.schedule
---@param options? {machine?: string|table|nw.machine, kernel?: integer, sizes?: table, caches?: boolean, title?: nw.label}
---@return nw.plot
function nw.waves(s, options) end

---An array of zeros; f32 by default.
---@param shape integer|integer[]
---@param dtype? string
---@return nw.array
function nw.zeros(shape, dtype) end

nw.xsmm = {}

---True if this build has libxsmm.
---@return boolean
function nw.xsmm.available() end

---Registers libxsmm's small matrix product C[m, n] += A[m, k]*B[k, n], of f32 or f64, with any leading dimensions; with accumulate = false it computes C[m, n] = A[m, k]*B[k, n].
---@param spec {m: integer, n: integer, k: integer, dtype?: string, accumulate?: boolean}
---@return nw.intrinsic
function nw.xsmm.gemm(spec) end

---A tile of `rows` iterations that libxsmm's small matrix product computes, for the kernels of s:partition_auto and nw.microkernels: {rows, name = 'libxsmm', whole = true, schedule, inside}. columns and sum: the other two loops of the product ('j' and 'k'), of constant extent, or their inner parts if `around` splits them. The loops of a piece are reordered and passed to s:tensorize, which refuses a piece that is not such a product. The kernel handles whole tiles only, so the strategies guard and predicate use another kernel.
---@param spec {rows: integer, columns?: string, sum?: string, dtype?: string}
---@return table
function nw.xsmm.kernel(spec) end

nw.nest = {}

---The accesses of the lowered schedule as a nest, in the order of nw.accesses. sizes: values of symbolic sizes. A schedule whose addresses are not affine in its loops is refused (code 'limit').
---@param s nw.schedule
---@param options? {sizes?: table, version?: integer}
---@return nw.loopnest
function nw.nest.of(s, options) end

---Reads a loop nest from its text: arrays, loops with affine bounds, ifs, and statements. Each reference is an access. params: new values of parameters, {N = 500}, or the name of a set of sizes in the text, "SMALL", or both, {"SMALL", N = 500}. docs/cost.md has the grammar. Errors give the line and the column.
---@param text string
---@param params? table|string
---@return nw.loopnest
function nw.nest.parse(text, params) end

---Reads a loop nest from a text file, as nw.nest.parse does. Example: nw.nest.read("tutorials/nests/gemm.nest", "SMALL").
---@param path string
---@param params? table|string
---@return nw.loopnest
function nw.nest.read(path, params) end

nw.cost = {}

---Compares predictions with measurements. It draws random legal schedules of a computation (seed: 1 by default), measures them in turn (the median of seven rounds), checks their results against those of the naive program, and predicts their times with s:cost. Schedules that are more than 20 times slower than the best, or that have no prediction, are rejected; drawing continues until `schedules` (200) are accepted. kernel: the tensors computed, or one of blur, center, conv1d, conv2d, dense, depthwise, gemm, heat, pool, sobel, transpose. file: keeps the measurements as JSON, also after an interrupt; the next call continues from there, and a complete sample is not measured again. The answer prints a table: Kendall's tau-b, tau-b within the fastest quarter, Spearman's rho, the share of pairs in the right order, the median of |predicted - measured| / measured, and the loss t/best - 1, where t is the shortest measured time among the 1 or 5 schedules that are predicted fastest, and best is the shortest of all. Measured times are wall-clock time; predicted times are cycles over the clock of the record, which nw.calibrate measures in CPU time. Fields: points (trace, measured and predicted in seconds, schedule, cost), analytic (the figures of s:cost), measured (the figures of one half of the measuring rounds against the other half, the best that a prediction can reach), drawn, rejected, unpriced, disturbed (how many are excluded because other work disturbed their measurement; a file is completed by the next call); with a learned model also learned (its figures; each point then has its score as learned). a:outliers(n) gives the n worst predictions; a:plot() draws predicted over measured times on logarithmic axes.
---@param options {kernel: nw.tensor|nw.tensor[]|string, schedules?: integer, seed?: integer, threads?: integer, file?: string, machine?: nw.machine|string|table, model?: nw.learner}
---@return nw.audit
function nw.cost.audit(options) end

---The features of a schedule that a learned model sees: a list of {name, unit, doc}, with value if a schedule is given. The schedule is compiled for this, since some features describe the code that this host's compiler made.
---@param s? nw.schedule
---@param options? {machine?: nw.machine|string|table, sizes?: table, threads?: integer}
---@return table
function nw.cost.features(s, options) end

---Reads a model that model:save wrote. A model with other features than this version's is refused.
---@param path string
---@return nw.learner
function nw.cost.load(path) end

---Computes the energy of counted events from a machine's energy table. The answer has a row for each name (name, count, pj, joules), and the sum. For an accelerator, the names of counts are 'mac', 'network', 'memory' and the names of its buffers, in accesses of one word; the cycles are mac / (units * utilisation). For a CPU, the names are classes of operations with their width in bits, such as 'fma 32', and 'instruction', 'L1' and 'memory', the last two in bytes. pj: energies that the table does not have, or that replace those of the table.
---@param options {counts: table<string, number>, machine?: any, pj?: table<string, number>, utilisation?: number}
---@return nw.report
function nw.cost.price(options) end

---Learns from audits to rank schedules: nw.cost.train{a, b, c, rounds = 120}. The model is gradient-boosted trees (XGBoost, one thread) over the rows of nw.cost.features(). Only schedules of the same audit are compared. A score starts from the predictions of s:cost and of a simulation of the compiled code, so the trees learn the errors of these predictions. The model prints Kendall's tau for each held-out audit: of the cost model alone; of a model that learned from the other audits only; and of a model that also learned from 64 schedules of the held-out audit, evaluated on its remaining schedules. objective = 'times' (reg:squarederror): the trees learn the logarithm of measured / predicted, minus its mean over the audit. objective = 'pairs' (rank:pairwise): the trees learn the order of the schedules of each audit by speed. docs/cost.md compares the two objectives. own: the audit of the computation that the model is for; it has ten times the weight of another audit. Parameters of the training: rounds; depth; rate; forest, the trees per round, which are averaged; least, the minimum weight of a leaf; columns and sample, the shares of the features and of the rows that each tree sees; and seed. Their defaults are 120, 4, 0.08, 4, 5, 0.3, 0.8 and 1 for times, and 60, 3, 0.08, 1, 1, 0.5, 0.8 and 1 for pairs. held_out = false skips the figures of held-out audits.
---@param audits table
---@return nw.learner
function nw.cost.train(audits) end

nw.partition = {}

---The number of conditions (if, select, masks) in the lowered program of a schedule, or in one of its loops. A main piece has no conditions. loop: the name of a loop of s:show "lowered", or a loop of s.
---@param s nw.schedule
---@param loop? nw.loop|string
---@return integer
function nw.partition.conditions(s, loop) end

---Runs consecutive pieces in parallel threads. loops: their outermost loops, in order, the main piece first. how = 'fused' (the default): s:create_fused_loop makes one loop of all pieces. Each thread runs the next iteration as soon as it is free; larger iterations come first, so no thread waits while there is work in a tail. how = 'apart': each piece is a parallel loop, and all threads wait at its end. Returns the parallel loops.
---@param s nw.schedule
---@param loops (nw.loop|string)[]
---@param options? {how?: 'fused'|'apart'}
---@return nw.loop, ...
function nw.partition.parallel(s, loops, options) end

---Describes, by the cost model, a loop whose iterations overlap (s:double_buffer, s:prefetch) on a machine. It gives the interval (the cycles from the start of one iteration to the start of the next), what limits the interval, the parts of an iteration, and the cycles of the prologue and the epilogue. loop: its name in s:show "lowered". Fields: interval, bottleneck, rounds (iterations), parts (loop, cycles, bottleneck), alone (the parts one after the other), prologue, epilogue.
---@param s nw.schedule
---@param loop nw.loop|string
---@param options? {machine?: any, sizes?: table}
---@return nw.report
function nw.partition.pipeline(s, loop, options) end

---Pipelines a loop according to a machine's latencies. tensor: fetches this tensor before its use (s:prefetch). stage: computes this stage, which is inside the loop, in advance (s:double_buffer). The distance is ceil(latency / interval) iterations. interval: the predicted cycles of an iteration. latency: that of the farthest level (or memory) that supplies at least a tenth of the lines; for a stage, plus the cycles to compute the stage. Fields: ahead (the distance; it is 0 if all lines are in L1, and then no step is taken), latency and level, interval, bottleneck, rounds (iterations), prologue and epilogue (cycles), limited (the loop has too few iterations). sizes: values of symbolic sizes.
---@param s nw.schedule
---@param loop nw.loop|string
---@param options {tensor?: any, stage?: any, machine?: any, sizes?: table}
---@return nw.report
function nw.partition.pipelined(s, loop, options) end

---Tiles a loop as TVM's te.split and its pass LoopPartition do (src/tir/transforms/loop_partition.cc): guarded tiles, scheduled by the kernel. If the extent is not constant, or partition_const_loop is true, one interval without guards is cut out afterwards. It serves as a baseline for measurements.
---@param s nw.schedule
---@param loop nw.loop|string
---@param kernel table
---@param options? {partition_const_loop?: boolean}
---@return nw.schedule
function nw.partition.tvm_like(s, loop, kernel, options) end

nw.te = {}

---nw.argmax; the axes may be given as {axis = k} or {axis = {k, l}}.
---@param term nw.expr|nw.axis|number
---@param axis? nw.expr|nw.axis|number|nw.axis[]|{axis: nw.axis|nw.axis[]}
---@return nw.expr
function nw.te.argmax(term, axis) end

---nw.argmin; the axes may be given as {axis = k} or {axis = {k, l}}.
---@param term nw.expr|nw.axis|number
---@param axis? nw.expr|nw.axis|number|nw.axis[]|{axis: nw.axis|nw.axis[]}
---@return nw.expr
function nw.te.argmin(term, axis) end

---nw.cast(value, dtype): a constant of this dtype.
---@param value nw.expr|nw.axis|number
---@param dtype? string
---@return nw.expr
function nw.te.const(value, dtype) end

---nw.select(condition, a, b): only the chosen value is computed.
---@param condition nw.expr
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.te.if_then_else(condition, a, b) end

---a // b, for indices that are not negative.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.te.indexdiv(a, b) end

---a % b, for indices that are not negative.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.te.indexmod(a, b) end

---nw.max; the axes may be given as {axis = k} or {axis = {k, l}}.
---@param term nw.expr|nw.axis|number
---@param axis? nw.expr|nw.axis|number|nw.axis[]|{axis: nw.axis|nw.axis[]}
---@return nw.expr
function nw.te.max(term, axis) end

---nw.min; the axes may be given as {axis = k} or {axis = {k, l}}.
---@param term nw.expr|nw.axis|number
---@param axis? nw.expr|nw.axis|number|nw.axis[]|{axis: nw.axis|nw.axis[]}
---@return nw.expr
function nw.te.min(term, axis) end

---nw.placeholder with TVM's names of dtypes: te.placeholder({64, 64}, {name = "A", dtype = "float32"}).
---@param shape integer|nw.expr|(integer|nw.expr)[]
---@param dtype? string|{dtype?: string, name?: string, strides?: (integer|nw.expr)[]}
---@param name? string|{name?: string, strides?: (integer|nw.expr)[]}
---@return nw.tensor
function nw.te.placeholder(shape, dtype, name) end

---nw.pow(a, b), which is also written a ^ b.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.te.power(a, b) end

---nw.prod; the axes may be given as {axis = k} or {axis = {k, l}}.
---@param term nw.expr|nw.axis|number
---@param axis? nw.expr|nw.axis|number|nw.axis[]|{axis: nw.axis|nw.axis[]}
---@return nw.expr
function nw.te.prod(term, axis) end

---nw.size: a symbolic size, which is at least 1.
---@param name? string
---@param dtype? string
---@return nw.expr
function nw.te.size_var(name, dtype) end

---nw.sum; the axes may be given as {axis = k} or {axis = {k, l}}.
---@param term nw.expr|nw.axis|number
---@param axis? nw.expr|nw.axis|number|nw.axis[]|{axis: nw.axis|nw.axis[]}
---@return nw.expr
function nw.te.sum(term, axis) end

---The name itself: s:bind(loop, "threadIdx.x") takes the name of an index of the grid.
---@param name string
---@return string
function nw.te.thread_axis(name) end

---nw.size: a symbolic size, which is at least 1.
---@param name? string
---@param dtype? string
---@return nw.expr
function nw.te.var(name, dtype) end

return nw
