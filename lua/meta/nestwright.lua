---@meta nestwright
-- Made from the rows of the bindings by ./dev doc; do not edit.

---@class nw.schedule
---@field target nw.target What it is made for.
local schedule = {}

---Puts a loop of one iteration around a stage or a loop. around: the stage or loop. Example: s:add_unit_loop(C)
---@param around nw.loop|nw.stage|nw.tensor|string
---@return loop
function schedule:add_unit_loop(around) end

---Says something of a stage that whoever computes it honours; without a value, takes it back. stage: the stage. key: fma: auto or never, whether a product and a sum may be rounded together; note: a remark for the views. value: a word, as the key wants. Example: s:annotate(C, "fma", "never")
---@param stage nw.stage|nw.tensor|string
---@param key "fma"|"note"
---@param value? string|integer
function schedule:annotate(stage, key, value) end

---Takes one step by name, arguments by position; the methods named after the primitives use it.
---@param primitive string
---@param arguments table
---@return any ...
function schedule:apply(primitive, arguments) end

---Takes a fact about the sizes for granted in every proof from here on; a kernel that is called with other sizes refuses to run. fact: a condition on sizes: nw.eq(M % 16, 0), or as text. Example: s:assume("M % 16 == 0")
---@param fact nw.expr|string
function schedule:assume(fact) end

---Makes the updates of a reduction atomic, so that a parallel loop may run along it. stage: a reduction of one value; its loops may then be parallel, not vectors. Example: s:atomic(C)
---@param stage nw.stage|nw.tensor|string
function schedule:atomic(stage) end

---Binds a loop to an index of a GPU's grid: each block, thread or virtual thread does one iteration. It is judged, and s:check() and nw.interpret run it; no code for GPUs is generated yet. loop: the loop. tag: the index; a vthread is a part of a thread, interleaved with the others. Example: s:bind("i_o", "blockIdx.x")
---@param loop nw.loop|string
---@param tag "blockIdx.x"|"blockIdx.y"|"blockIdx.z"|"threadIdx.x"|"threadIdx.y"|"threadIdx.z"|"vthread"
function schedule:bind(loop, tag) end

---Names the current version.
---@param name string
---@return nw.schedule
function schedule:branch(name) end

---Compiles the schedule. threads: how many the kernel uses, all cores unless said. f(a, b) then makes the outputs; f(a, b, c) fills c. versions: versions of the schedule by number or branch, each with what s:assume said; a call runs the first whose facts hold for its sizes, found by a tree of questions, and the last where none does: it assumes nothing that the others do not. target: the schedule's own; code for another is refused, s:retarget(t) makes a schedule for it. Code for a processor that is not this host's is not run: f:show "asm" and f:export are what it is for.
---@param options? {threads?: integer, opt?: integer, cache?: boolean, versions?: (integer|string)[], target?: string|table|nw.machine|nw.target}
---@return nw.kernel
function schedule:build(options) end

---Reads a tensor through a copy, laid out anew if asked. tensor: what is read. scope: where the copy lives. readers: the stages that read the copy; all if left out. layout: where element (_0, _1, ...) is put, as a function of the indices: function(k, j) return j // 32, k, j % 32 end. name: name of the copy. at: makes the copy inside this loop at once, as compute_at does. Example: s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 32, k, j % 32 end})
---@param tensor nw.stage|nw.tensor|string
---@param scope "global"|"local"|"shared"
---@param readers? (nw.stage|nw.tensor|string)[]
---@param options? {layout?: fun(...: nw.expr): nw.expr ..., name?: string, at?: nw.loop|string}
---@return nw.stage
function schedule:cache_read(tensor, scope, readers, options) end

---Computes a stage in a buffer of its own, and copies the result out. stage: the stage; its loops stay with the copy, the computation gets fresh ones. scope: where the buffer lives. layout: where element (_0, _1, ...) is put, as a function of the indices: function(k, j) return j // 32, k, j % 32 end. name: name of the buffer. at: computes inside this loop at once, as compute_at does. Example: s:cache_write(C, "local", {at = "j_o"})
---@param stage nw.stage|nw.tensor|string
---@param scope "global"|"local"|"shared"
---@param options? {layout?: fun(...: nw.expr): nw.expr ..., name?: string, at?: nw.loop|string}
---@return nw.stage
function schedule:cache_write(stage, scope, options) end

---Runs the schedule against its definition in all three ways: interpreted, lowered and interpreted, compiled. Symbolic sizes get small awkward values; constant ones are as they are, and where these are too large to interpret only the compiled program is run, and compared at the corners and some random elements. The result says what was checked; an error names the first difference.
---@return string
function schedule:check() end

---Goes to a version, by the name of its branch or by number.
---@param version string|integer
---@return nw.schedule
function schedule:checkout(version) end

---Computes what a loop needs of a stage inside that loop. stage: the stage to move. loop: a loop around everything that reads it. index: which statement of the loop it becomes: 1 is the first, -1 as late as possible (before the first that reads it, as if left out), -2 as early as possible (behind the last that it reads). Example: s:compute_at(P, "j_o")
---@param stage nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@param options? {index?: integer}
function schedule:compute_at(stage, loop, options) end

---Replaces every read of a stage by its expression. stage: a stage that is neither a reduction nor an output. Example: s:compute_inline(P)
---@param stage nw.stage|nw.tensor|string
function schedule:compute_inline(stage) end

---Computes a stage whole, before what reads it. stage: the stage to move. Example: s:compute_root(P)
---@param stage nw.stage|nw.tensor|string
function schedule:compute_root(stage) end

---What the schedule should take, by a model; docs/cost.md says how. It is called again and again, so that what fits a cache is there. machine: as nw.machine takes it; this host unless said. sizes: values of symbolic sizes. threads: one unless said. conflicts = false: conflict misses are not told from those of capacity, which is quicker. feed = 'full': every level is asked everything, not only what the one before has not ('misses'): other misses behind the first level, by little, and where many accesses are made often ten times as quick. measure: true, or the arrays: it is compiled, run and timed as well (this host). mca = true: what llvm-mca says of the innermost loop, where it is installed. Printing it gives a table. Fields: seconds, cycles, bottleneck; terms (name, cycles: of each resource if all else were free); loops (name, depth, entered, times, cycles, bottleneck); by_access, by_tensor, by_loop and levels (level, tensor, loop; asked, hits, misses, cold, capacity, conflict, written_back, in lines; exact or not, and error, a part of the misses); traffic (name, read, written, bytes, intensity in operations per byte) of each level; flops; instructions; spills (an estimate); memory (bytes by where they are) and buffers; threads (that have something to do), idle (that have not), shares, balance, outside, team_seconds; joules and energy (name, count, unit, pj, joules), an estimate; measured, ratio (predicted / measured), spills_emitted (the same as spills, read off the compiled code), address_spills_emitted (of registers that hold none); measured_joules (of the package, where it counts them), joules_ratio, why_no_joules (why it does not); mca; machine.
---@param options? {machine?: nw.machine|string|table, sizes?: table, threads?: integer, conflicts?: boolean, feed?: string, measure?: boolean|nw.array[], mca?: boolean}
---@return nw.report
function schedule:cost(options) end

---The cost of a schedule of symbolic sizes for each of the values of one of them (the first unless said): rows with size, cycles, seconds, bottleneck, flops, joules and misses by level. Its method plot{y = 'seconds', 'cycles', 'joules' or 'misses'} draws it.
---@param options {values: integer[], size?: string, sizes?: table, machine?: any, threads?: integer, conflicts?: boolean, feed?: string}
---@return nw.report
function schedule:cost_curve(options) end

---Fuses nests that follow each other horizontally: one loop over all their iterations, one after the other, in which each body is a branch. The nests are proven to be independent; notes say how the work is balanced. loops: the loops in their order, of any extents. Example: s:create_fused_loop("i", "i_1")
---@param ... nw.loop|string
---@return nw.loop
function schedule:create_fused_loop(...) end

---Cuts a loop into pieces that follow each other: each is a loop to schedule on its own, i.head and i.rest, or i.1, i.2, ... where there are several cuts. A piece proven empty can still be named. loop: the loop. at: where the next piece begins: a number or an expression in sizes, "M // 2", or several in order. Example: s:cut("i", 64)
---@param loop nw.loop|string
---@param ... integer|nw.expr|string
---@return nw.loop
---@return nw.loop
function schedule:cut(loop, ...) end

---Splits the init of a reduction off into a nest of its own. stage: the reduction. loop: a loop around it; the init is done before. Example: s:decompose_reduction(C, "k")
---@param stage nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@return nw.stage
function schedule:decompose_reduction(stage, loop) end

---What differs between two versions: what the step to b (the current one unless said) changed, when a is left out. Versions are numbers, 0 being the naive program, or names of branches.
---@param a? integer|string
---@param b? integer|string
---@return nw.view
function schedule:diff(a, b) end

---Computes a stage one round of its loop ahead, or more, into storage for all rounds under way, so that the work of one can overlap the next. stage: a stage that compute_at has put into a loop. ahead: how many rounds ahead, up to 16; 1 if left out. Example: s:double_buffer(P)
---@param stage nw.stage|nw.tensor|string
---@param ahead? integer
function schedule:double_buffer(stage, ahead) end

---Replays the step that was just refused on small whole numbers in the interpreter, and shows what would go wrong: the two iterations as they are and as they would be, and the wrong value beside the right one. Its fields: seen, whether the conflict showed; how (order, place, iterations, race, twice, outside, domain, unwritten, incomplete, value); visible, false when there is nothing to run, as for a step that is refused for its structure; refusal, and plot, a method, which draws it as refusal:plot() does.
---@return nw.report
function schedule:explain() end

---Parts a loop behind a statement inside it: one nest runs up to that statement, and then one runs the rest. The loops between are parted too; storage that both need is made to last for all iterations. loop: the loop. after: the stage or the inner loop that ends the first nest. Example: s:fission("i", {after = X})
---@param loop nw.loop|string
---@param options {after: nw.loop|nw.stage|nw.tensor|string}
---@return nw.loop
---@return nw.loop
function schedule:fission(loop, options) end

---Makes one loop of two perfectly nested neighbours. outer: the outer loop. inner: the loop directly inside it. Example: s:fuse("i", "j")
---@param outer nw.loop|string
---@param inner nw.loop|string
---@return nw.loop
function schedule:fuse(outer, inner) end

---The tree of versions with the names of branches, and the one that is current.
---@return nw.report
function schedule:history() end

---What the computation reads: name, dtype, shape() of each.
---@return table[]
function schedule:inputs() end

---Makes one loop of two pieces that follow each other and have the same body: undoes a cut. first: the first piece. second: the piece that follows it. Example: s:join("i.head", "i.rest")
---@param first nw.loop|string
---@param second nw.loop|string
---@return joined
function schedule:join(first, second) end

---Takes the steps of a saved schedule; each is judged anew, so the computation may have another shape.
---@param path string
---@return nw.schedule
function schedule:load(path) end

---Where a stage can be computed: at each loop, how many times over its values are computed, and the bytes its storage takes; or why not. A list of {loop, legal, why, recompute, bytes, size, current}.
---@param stage nw.stage|nw.tensor|string
---@return nw.report
function schedule:locations(stage) end

---The history, one row a step from the naive program on: the number of its version, as s:diff and s:checkout take it, the step, statements added, removed and changed, operations of one run, bytes it reads and writes of inputs, outputs and temporaries, and the temporaries. Rows have the fields version, step, branch, notes, unsafe, added, removed, changed, operations (or formula, in sizes), exact, bytes, buffers. cost = true: what each version should take by s:cost, and its bottleneck, as predicted (seconds) and bottleneck; machine, sizes and threads as there.
---@param options? {cost?: boolean, machine?: any, sizes?: table, threads?: integer}
---@return nw.report
function schedule:log(options) end

---The loop with that name.
---@param name string
---@return nw.loop
function schedule:loop(name) end

---The loops, outermost first; of one stage, or of all.
---@param stage? nw.stage|nw.tensor|string
---@return nw.loop[]
function schedule:loops(stage) end

---Makes one loop of two that follow each other and run equally often: the bodies follow each other in it. The loops inside can then be merged as well. first: the first loop, which stays. second: the loop that follows it. Example: s:merge("i", "i_1")
---@param first nw.loop|string
---@param second nw.loop|string
---@return merged
function schedule:merge(first, second) end

---What is legal at a loop: every primitive is tried there with sensible arguments. Fields legal, undecided and refused, lists of {primitive, step, why}.
---@param loop nw.loop|string
---@return nw.report
function schedule:moves(loop) end

---Remarks of the last step, or the empty string.
---@return string
function schedule:notes() end

---What the computation makes: name, dtype, shape() of each.
---@return table[]
function schedule:outputs() end

---Shares the iterations of a loop out among threads. loop: the loop. Example: s:parallel "i_o"
---@param loop nw.loop|string
function schedule:parallel(loop) end

---Takes the rounds of a loop that need no condition (the guard of a split, the edge of a padded read, a select) out as a loop of their own, i.main, between i.pre and i.post. loop: the loop. at: the first round of the main part and the one behind its last, instead of what the conditions say: {1, 63}. Example: s:partition("y")
---@param loop nw.loop|string
---@param options? {at?: (integer|nw.expr|string)[]}
---@return nw.loop
---@return nw.loop
---@return nw.loop
function schedule:partition(loop, options) end

---Tries strategies for a loop whose rounds no tile divides, and ranks them. kernels: {rows = 8, schedule = function(s, piece) ... end}, tiles of so many rounds, and the steps that schedule one: piece.outer and piece.inner are its loops, piece:loop "k" is its copy of the loop k, piece:loops() all around it. name tells kernels of as many rounds apart; whole: does whole tiles only (nw.xsmm.kernel). around: a function of the schedule that makes loops around `loop` inside which pieces share what they read; a kernel's `inside` then schedules a piece there. Strategies: guard: every tile is guarded against iterations that do not exist; cut: tiles without conditions, and the rest by the smallest kernel; halves: tiles without conditions, and the rest in tiles of half the size, a quarter, and so on; residues: tiles without conditions, and one version for each number of remaining iterations; sizes: for each residue, the tiles with the least total measured time, including the last tiles; shift: the last tile begins earlier and repeats some iterations; pad: the last tile goes beyond the end, in a temporary; it reads copies of the last row there; predicate: the last tile runs under masks; a tile of rows reads the last row again for missing rows, and stores only rows that exist. cost: 'kernels' (the measured times of the tiles, nw.microkernels), 'model' (s:cost), 'measured', or 'learned' (by model, of nw.cost.train). objective: cycles, energy, edp (joules times seconds) or size. sizes: values of the sizes, {M = {1, 7, 64}, N = 8, weights = {1, 1, 2}}; where several vary, each with each, and weights by name, {M = {1, 1, 2}}; or a list of shapes, {{M = 1, N = 8}, {M = 7, N = 64}, weights = {3, 1}}. code_limit: bytes of machine code; what has more is ranked behind. measure = true: also times each. threads: one unless said; with more, across says how they share the pieces out, as `how` of nw.partition.parallel, and cost is 'model' unless said. Rows: strategy, versions, code_bytes, predicted and measured (by shape; without a unit where learned), expected and seconds (their means), joules, energies (by shape), fits, figure, unsafe (steps were not judged), intrinsics (tiles that the model prices as the loops they stand for), or refused and hint. Methods: take, build and dispatch; nw.help(list) says more. The schedule stays as it was; what was tried are versions of it.
---@param options {loop: nw.loop|string, kernels: table[], around?: function, strategies?: string|string[], cost?: string, model?: nw.learner|{predict: function, [string]: any}, objective?: string, code_limit?: integer, sizes?: table, measure?: boolean, machine?: any, threads?: integer, across?: string}
---@return nw.ranking
function schedule:partition_auto(options) end

---Says something of a loop that whoever runs it honours; without a value, takes it back. loop: the loop. key: schedule: static or dynamic, and chunk: rounds at a time, both for the threads of a parallel loop; partition: auto or never, for loops cut where a condition changes; note: a remark for the views. value: a word or a number, as the key wants. Example: s:pragma("i_o", "schedule", "dynamic")
---@param loop nw.loop|string
---@param key "schedule"|"chunk"|"partition"|"note"
---@param value? string|integer
function schedule:pragma(loop, key, value) end

---Brings near, while a loop is at one round, the part of a tensor that a later round will use. tensor: what the loop uses. loop: the loop. offset: how many rounds ahead; 1 if left out. Example: s:prefetch(A, "i", 2)
---@param tensor nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@param offset? integer
function schedule:prefetch(tensor, loop, offset) end

---A legal step that would change the program, drawn from all primitives, loops and sensible arguments; nil where 1,000 draws find none. It is not taken: s:apply(step.primitive, step.arguments) takes it. The same seed draws the same step from the same program.
---@param seed integer
---@return {primitive: string, arguments: table, text: string, draws: integer, refused: integer}?
function schedule:random_step(seed) end

---Takes the step again that undo took back, or several.
---@param steps? integer
---@return nw.schedule
function schedule:redo(steps) end

---Takes a loop away that runs once, and leaves its body. loop: a loop that is known to run exactly once. Example: s:remove_unit_loop "i"
---@param loop nw.loop|string
function schedule:remove_unit_loop(loop) end

---Permutes loops of a perfect nest among the places they have. loops: the loops, outermost first. Example: s:reorder("k", "i", "j")
---@param ... nw.loop|string
function schedule:reorder(...) end

---Lets two statements that follow each other change places: what holds the two stages or loops where their nests part. first: the stage or loop that comes first. second: the one that follows it. Example: s:reorder_stmts(X, Y)
---@param first nw.loop|nw.stage|nw.tensor|string
---@param second nw.loop|nw.stage|nw.tensor|string
function schedule:reorder_stmts(first, second) end

---Permutes the dimensions of a temporary in memory. tensor: a temporary. dims: its dimensions in memory, from 0, outermost first. Example: s:reorder_storage(P, {1, 0})
---@param tensor nw.stage|nw.tensor|string
---@param ... integer
function schedule:reorder_storage(tensor, ...) end

---Whether the text form of the program reads back to the same program.
---@return boolean, string?
function schedule:reparses() end

---Takes the steps of a trace in JSON; each is judged anew.
---@param trace string
---@return nw.schedule
function schedule:replay(trace) end

---A new schedule of the same computation for another target, with the steps up to the current version; each is judged anew, under the limits of that target, and an error names the step that is refused there.
---@param machine string|table|nw.machine|nw.target
---@return nw.schedule
function schedule:retarget(machine) end

---Computes a stage inside a loop of what it reads: in every round, what has become ready. stage: the stage to move. loop: a loop around what it reads. index: which statement of the loop it becomes: 1 is the first, -1 as late as possible, -2 as early as possible (behind the last that it reads, as if left out). Example: s:reverse_compute_at(C, "i_o")
---@param stage nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@param options? {index?: integer}
function schedule:reverse_compute_at(stage, loop, options) end

---Makes a stage part of the one stage that it reads, element by element. stage: a stage whose elements are each made of one element of another stage. Example: s:reverse_compute_inline(C)
---@param stage nw.stage|nw.tensor|string
function schedule:reverse_compute_inline(stage) end

---Makes two stages of a reduction: partial results along one of its loops, and their combination. stage: the reduction. loop: one of its loops along the reduction. factor_axis: which dimension of the partial results counts the loop: 0, unless said, is the first, -1 the last. Example: s:rfactor(C, "k_i")
---@param stage nw.stage|nw.tensor|string
---@param loop nw.loop|string
---@param options? {factor_axis?: integer}
---@return nw.stage
function schedule:rfactor(stage, loop, options) end

---Stores only as many rows of a stage as are in use at once, each in the place of one that is not needed any more. stage: a stage that store_at keeps over the rounds of a loop. dim: the dimension along which rows are used in turn, from 1; the first that moves if left out. size: how many rows are stored; the least power of two that is enough if left out. Example: s:rolling_buffer(P)
---@param stage nw.stage|nw.tensor|string
---@param dim? integer
---@param options? {size?: integer}
function schedule:rolling_buffer(stage, dim, options) end

---True if a step to this version may change how floats are rounded: their order in a sum, a product that is no longer stored before it is added, or one under a condition that has become known.
---@return boolean
function schedule:rounds() end

---Writes the computation and the steps to a file.
---@param path string
---@return nw.schedule
function schedule:save(path) end

---Moves a temporary to another kind of memory. tensor: a temporary. scope: where it shall live. Example: s:set_scope(P, "local")
---@param tensor nw.stage|nw.tensor|string
---@param scope "global"|"local"|"shared"
function schedule:set_scope(tensor, scope) end

---Lets a loop run from another number on, its iterations as they are. loop: the loop. begin: where it begins: a number, or an expression in sizes and in the loops around. Example: s:shift("i", 1)
---@param loop nw.loop|string
---@param begin integer|nw.expr|string
function schedule:shift(loop, begin) end

---The loop nest, with what the last step changed marked; or another view: loops, full, lowered, llvm, asm, c, log, trace. 'lowered' may name the pass to stop after. s:show{cost = true} is the lowered nest with what s:cost predicts beside each loop: its part of the time, cycles with all that is inside, misses of the first cache, bottleneck; machine, sizes and threads as there.
---@param what? string|{cost?: boolean, machine?: any, sizes?: table, threads?: integer}
---@param pass? string
---@return nw.view
function schedule:show(what, pass) end

---Lets a loop begin later (or earlier) with each iteration of a loop around it: j runs from j + factor*i on. So a dependence that points back along j points forward, and the loops can be tiled or change places. loop: the loop to skew. outer: a loop around it. factor: what an iteration of outer adds to its begin; may be negative. Example: s:skew("j", "i", 1)
---@param loop nw.loop|string
---@param outer nw.loop|string
---@param factor integer
function schedule:skew(loop, outer, factor) end

---Makes two versions: one for where the condition holds, then/i, which knows it, and one for where it does not, else/i. Each is scheduled on its own. condition: a condition on sizes and on loops around: nw.ge(M, 32), or as text. loop: the loop of which there are two; the whole if left out. stage: the stage, instead of a loop. Example: s:specialize("M % 16 == 0")
---@param condition nw.expr|string
---@param loop? nw.loop|string
---@param options? {stage?: nw.stage|nw.tensor|string}
---@return nw.loop
---@return nw.loop
function schedule:specialize(condition, loop, options) end

---Splits a loop in two, an outer and an inner one; by a list of factors into one loop more than there are factors. With tail = "cut" the loop over the rest is one more result. loop: the loop. factor: iterations of the inner loop. parts: iterations of the outer loop, instead of a factor; the last of them may have nothing to do. tail: what happens where the factor does not divide: an if (guard), a nest of its own (cut), a last round that begins earlier and repeats some iterations (shift), a temporary that is computed beyond its end (pad; a copy repeats its last element), an inner loop that runs as masked vectors (predicate). factors: iterations of the inner loops, outermost first: {4, 8} makes i_0, i_1 of 4 and i_2 of 8. Example: s:split("i", 32)
---@param loop nw.loop|string
---@param factor? integer
---@param options? {parts?: integer, tail?: "guard"|"cut"|"shift"|"pad"|"predicate", factors?: (integer)[]}
---@return nw.loop
---@return nw.loop
function schedule:split(loop, factor, options) end

---The stages, in the order they run.
---@return nw.stage[]
function schedule:stages() end

---Makes the stride of a dimension of a temporary leave a given rest: rows on cache lines, or spread over the sets. Programs show it as stride[0] = 4 of 16: elements next to one another along dimension 0 are 16*k + 4 apart. tensor: a temporary. axis: the dimension in memory, from 0. factor: the stride is k*factor + offset elements, for the least k that will do. offset: 0 if left out. Example: s:storage_align(P, 0, 16, 4)
---@param tensor nw.stage|nw.tensor|string
---@param axis integer
---@param factor integer
---@param offset? integer
function schedule:storage_align(tensor, axis, factor, offset) end

---Keeps a stage computed at an inner loop over the rounds of an outer one, and computes only what is new in each. stage: a stage that compute_at has put into a loop. loop: a loop around that one, which holds the storage; all loops share it if left out. Example: s:store_at(P, "i_o")
---@param stage nw.stage|nw.tensor|string
---@param loop? nw.loop|string
function schedule:store_at(stage, loop) end

---Stores what a stage computes past the caches, in whole vectors. stage: a vectorized stage whose result is not needed again soon. Example: s:stream_stores(Z)
---@param stage nw.stage|nw.tensor|string
function schedule:stream_stores(stage) end

---Lets an intrinsic do a nest of loops. loop: the outermost loop of the nest. intrinsic: what nw.intrinsic or nw.xsmm.gemm returned, or its name. Example: s:tensorize("i_i", mm16)
---@param loop nw.loop|string
---@param intrinsic nw.intrinsic|string
function schedule:tensorize(loop, intrinsic) end

---The full text form of the program, which reads back.
---@param version? integer
---@return string
function schedule:text(version) end

---Splits loops of a perfect nest and moves their inner parts inside: s:tile("i", "j", "k", 32, 32, 8) is a tile of three dimensions, which s:tile({"i", "j", "k"}, {32, 32, 8}) says as well. loops: the loops, outermost first. factors: the extents of a tile, one for each loop. tail: what happens where the factor does not divide: an if (guard), a nest of its own (cut), a last round that begins earlier and repeats some iterations (shift), a temporary that is computed beyond its end (pad; a copy repeats its last element), an inner loop that runs as masked vectors (predicate). Example: s:tile("i", "j", 32, 32)
---@param loops (nw.loop|string)[]
---@param factors (integer)[]
---@param options? {tail?: "guard"|"cut"|"shift"|"pad"|"predicate"}
---@return nw.loop
---@return nw.loop
function schedule:tile(loops, factors, options) end

---Builds and times the schedule; without inputs, on random ones. The last argument may be the options of build and time.
---@param ... nw.array|table
---@return nw.time
function schedule:time(...) end

---Measures every version from the naive program to the current one, in turn as nw.compare does: what each step was worth. Without inputs, on random ones. The last argument may be options: threads, opt; limit: seconds that one run may take (2), slower versions are stopped and said to be refused, as are those that cannot be built; rounds: 20 unless said, fewer where they would take more than ten seconds; versions: numbers of those wanted, as s:log() has them; sizes: values of symbolic sizes, {N = 64}, for random inputs. Its plot is a curve.
---@param ... nw.array|table
---@return nw.comparison
function schedule:time_steps(...) end

---Builds the schedule and draws the timeline of its threads; without inputs, on random ones. The last argument may be the options of build and of kernel:timeline.
---@param ... nw.array|table
---@return nw.plot
function schedule:timeline(...) end

---The steps as Lua to paste back, or as 'json'; automatic choices as resolved.
---@param format? string
---@return string
function schedule:trace(format) end

---Puts the elements of a temporary where a function of their indices says, no two in one place. tensor: a temporary. layout: the position of an element. Example: s:transform_layout(P, function(i, j) return j // 32, i, j % 32 end)
---@param tensor nw.stage|nw.tensor|string
---@param layout fun(...: nw.expr): nw.expr ...
function schedule:transform_layout(tensor, layout) end

---The schedule tree: loops, storage with its scope and layout, guards, stages, prefetches and calls of intrinsics, each inside what it stands in. Nodes have kind and text; name, mark, stream and unsafe where they apply.
---@return nw.report
function schedule:tree() end

---Leaves out the rounds of a reduction's loop that add nothing: of a sum over nw.select(condition, x, 0), those before the first in which the condition can hold, and behind the last. The init must stand outside: s:decompose_reduction. loop: the loop. Example: s:trim("k")
---@param loop nw.loop|string
---@return trimmed
function schedule:trim(loop) end

---Whether a step would be legal, else why not; arguments by position. The schedule stays as it is. Nothing is drawn and no advice is looked for, so it takes a fraction of the time of a step.
---@param primitive string
---@param arguments table
---@return boolean, string?
function schedule:try(primitive, arguments) end

---Goes back one step, or several.
---@param steps? integer
---@return nw.schedule
function schedule:undo(steps) end

---Takes the mark of a loop away: it runs one iteration after the other. loop: a loop that is unrolled, vectorized or parallel. Example: s:unmark "i"
---@param loop nw.loop|string
function schedule:unmark(loop) end

---Repeats the body of a loop instead of looping; with a factor, splits it and repeats the body that often. loop: a loop of constant extent; with a factor, any loop. factor: iterations that are unrolled, instead of all. tail: what happens where the factor does not divide: an if (guard), a nest of its own (cut), a last round that begins earlier and repeats some iterations (shift), a temporary that is computed beyond its end (pad; a copy repeats its last element), an inner loop that runs as masked vectors (predicate). Example: s:unroll "k_i"
---@param loop nw.loop|string
---@param factor? integer
---@param options? {tail?: "guard"|"cut"|"shift"|"pad"|"predicate"}
---@return nw.loop
---@return nw.loop
function schedule:unroll(loop, factor, options) end

---Takes the steps of a function without judging them; the one way past the judge. They stay marked in every view, in the trace and in whatever is measured. What cannot be lowered at all is still refused, and machine code is made only if every access stays inside its buffer. Returns what the function returns.
---@param steps fun(s: nw.schedule, ...: any): any
---@param ... any
---@return any ...
function schedule:unsafe(steps, ...) end

---Runs the iterations of a loop as lanes of vectors. loop: a loop of constant extent, at most 256. Example: s:vectorize "j_i"
---@param loop nw.loop|string
function schedule:vectorize(loop) end

---Number of the current version; 0 is the naive program.
---@return integer
function schedule:version() end

---Which steps made a line of s:show(), by its number or a part of its text: the loop and its mark, each guard, each offset, the storage. With view = 'lowered', a line of s:show "lowered".
---@param line integer|string
---@param view? string
---@return nw.report
function schedule:why(line, view) end

---@class nw.stage
local stage = {}

---The loops around the stage, outermost first.
---@return nw.loop ...
function stage:axes() end

---The loops around the stage as a list.
---@return nw.loop[]
function stage:loops() end

---@class nw.loop
---@field alive boolean False once a step has consumed the loop.
---@field begin string The value its variable begins with, in sizes and in the loops around it; conditions take it as it is.
---@field extent string How many rounds it has, in sizes and in the loops around it: "M // 8".
---@field forwarded nw.loop[] The loops that stand for it now: itself, or those that steps made of it: of a loop that was split, the parts.
---@field name string The loop's name in the nest; an error when a step has consumed it.
---@field schedule nw.schedule The schedule it belongs to.
local loop = {}

---@class nw.tensor
---@field dtype string The type of an element.
---@field is_input boolean True for a placeholder.
---@field name string The name in loop nests; schedules call the stage by it.
---@field ndim integer How many dimensions it has.
---@operator call(nw.expr|nw.axis|integer): nw.expr
local tensor = {}

---The extents of the dimensions.
---@return (integer|nw.expr)[]
function tensor:shape() end

---@class nw.axis
---@field name string The name of the axis; its loop starts with the same.
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
---@field dtype string The type of the value: 'f32', 'i64', 'bool'.
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
---@field dtype string The type of an element.
---@field ndim integer How many dimensions it has.
local array = {}

---How many elements it has.
---@return integer
function array:count() end

---Sets every element.
---@param value number|boolean
---@return nw.array
function array:fill(value) end

---Sets all elements, in row-major order.
---@param values number[]
---@return nw.array
function array:fill_list(values) end

---Random elements between lo and hi; whole numbers lo..hi for integers. The same seed gives the same data.
---@param seed? integer
---@param lo? number
---@param hi? number
---@return nw.array
function array:fill_random(seed, lo, hi) end

---One element; indices count from 0.
---@param ... integer
---@return number|boolean
function array:get(...) end

---One element by its place in row-major order, from 1.
---@param position integer
---@return number|boolean
function array:getflat(position) end

---Address of the data, for other C libraries.
---@return lightuserdata
function array:pointer() end

---Writes a .npy file.
---@param path string
---@return nw.array
function array:save(path) end

---Sets one element: indices from 0, then the value.
---@param ... integer|number|boolean
function array:set(...) end

---Sets one element by its place in row-major order, from 1.
---@param position integer
---@param value number|boolean
function array:setflat(position, value) end

---The extents of the dimensions.
---@return integer[]
function array:shape() end

---Nested Lua tables with all elements.
---@return table
function array:totable() end

---@class nw.kernel
---@field cached boolean Whether the machine code came from the cache.
---@field code_bytes integer Bytes of machine code, of all its versions.
---@field compile_ms number Milliseconds it took to lower, compile and link.
---@field notes string Remarks on the code: a line for each function that the target has no vector form of.
---@field unsafe boolean Whether steps of its schedule were not judged.
---@operator call(nw.array): nw.array
local kernel = {}

---Runs the kernel and measures what each thread does in its parallel loops: when it begins and ends each part of a loop. The answer prints a table and holds, of the median run (the fastest, if asked for) of reps (11): seconds, within (in parallel loops), idle (a part of that, over all threads), threads: records of thread, busy, idle, cpu (what it ran, by its own clock), rounds, parts; loops: of each within and idle, in the order in which they begin; and records for nw.timeline, with the first and last round of each part. Over all runs: min, median, idle_low and idle_high (the middle half).
---@param ... nw.array|{reps?: integer, fastest?: boolean}
---@return nw.report
function kernel:busy(...) end

---Writes a shared library, "gemm.so", with the kernel, all its versions, as a plain C function, and gemm.h beside it: pointers to row-major data, symbolic sizes first; 0 is success. Needs a C compiler, which links for the target of the schedule: this host's processor, or another's (aarch64-linux-gnu-gcc).
---@param path string
---@return nw.kernel
function kernel:export(path) end

---Its parameters: inputs, then outputs.
---@return {name: string, output: boolean}[]
function kernel:params() end

---The kernel's code: 'lowered', 'llvm', 'asm' or 'c'; 'versions': which of several a call runs, as the tree of questions about its sizes.
---@param what? string
---@return nw.view
function kernel:show(what) end

---Measures the kernel on these tensors, or on random inputs when none are given: minimum, median, spread (interquartile range over the median), repetitions, threads, machine, and the samples, in seconds.
---@param ... nw.array|{reps?: integer, min_seconds?: number, warmup?: integer}
---@return nw.time
function kernel:time(...) end

---Draws what kernel:busy measures: who ran which rounds of the parallel loops when, and how long threads were idle.
---@param ... nw.array|{reps?: integer, fastest?: boolean, title?: nw.label}
---@return nw.plot
function kernel:timeline(...) end

---@class nw.output
local output = {}

---Shows another value in the place of the output; elsewhere than in a notebook, below it.
---@param value any
---@return nw.output
function output:update(value) end

---@class nw.progress
local progress = {}

---One more is done, or n more: no more than there are. note: a word on the state of things.
---@param n? integer
---@param note? nw.label
---@return nw.progress
function progress:step(n, note) end

---@class nw.time
local time = {}

---Billions of operations a second, by the fastest run. flop: the operations of one run, 2*M*N*K of a matrix product.
---@param flop number
---@return number
function time:gflops(flop) end

---Draws the time as a comparison of one: nw.timings of several says more.
---@param options? {style?: string, title?: nw.label}
---@return nw.plot
function time:plot(options) end

---@class nw.comparison
local comparison = {}

---Draws the times, a row each, in the order given: the median, the middle half and the fastest. style: 'bars' from zero; 'points', on an axis of powers where the times lie far apart; 'speedup', how many times as fast as the first; 'steps', a curve, as for s:time_steps. bars unless one is 20 times as fast as another, then points. Those not distinguishable from the first are hatched; brackets join those that are not distinguishable from each other.
---@param options? {style?: string, title?: nw.label}
---@return nw.plot
function comparison:plot(options) end

---@class nw.sweep
local sweep = {}

---Draws what was measured over a parameter. style 'lines' (where x is numbers), 'bars' or 'heat'. x: the parameter along the axis, the first unless said; y: the column drawn, or several, the median of times unless said; by: a curve for each value of another parameter. heat: x and y are parameters, value is the column. where: values of the parameters that are left, {threads = 1}. Spread is drawn where the sweep has it; the best is marked with all that is not distinguishable from it (best: 'min', the default for times, 'max' or false; of each curve, of several columns at each x). What was refused is shown as refused, what is missing is a gap. log: 'x', 'y', 'xy' or '' for axes of powers, which are otherwise taken for powers of two and for values far apart. unit: of the column; 's' for seconds.
---@param options? {x?: string, y?: string|string[], by?: string, value?: string, style?: string, where?: table, log?: string, unit?: nw.label, best?: string|boolean, title?: nw.label}
---@return nw.plot
function sweep:plot(options) end

---@class nw.machine
---@field name string Its name; every other field of the record is read in the same way: m.clock, m.caches[1].bytes, m.ops.fma.per_cycle[4]; m:fields() lists them.
local machine = {}

---Every field that this kind of machine has: path, value, unit, doc, source.
---@return table[]
function machine:fields() end

---Where the number of a field comes from: m:source "ops.fma.latency".
---@param path string
---@return string
function machine:source(path) end

---The record as a Lua table that reads back: write it into a file, change it, and nw.machine "that_file.lua" is the new one.
---@return string
function machine:text() end

---@class nw.target
---@field backend string? What makes code for it; nil: nothing does.
---@field here boolean Whether this host runs what is made for it.
---@field machine nw.machine The record of the machine.
---@field model string? What says how long programs take on it; nil: it is not modelled.
---@field name string The name of its machine record.
local target = {}

---Features of its processor that code depends on, by LLVM's names.
---@return string[]
function target:features() end

---What programs are held to: lanes of a vectorized loop, registers, threads of a block, and the extents of grid and block.
---@return table
function target:limits() end

---Where buffers may be kept: name, owner, bytes of each.
---@return table[]
function target:scopes() end

---@class nw.accesses
local accesses = {}

---The n-th access, from 1: tensor, index (linear, of its first element), lanes (elements side by side), write, address; outcome, by level of the caches simulated: 'hit', 'cold', 'capacity' or 'conflict', the worst of its lines.
---@param n integer
---@return table?
function accesses:at(n) end

---The number of the first access in which two lists differ, or nil.
---@param other nw.accesses
---@return integer?
function accesses:differs(other) end

---The iterations of its loops, in the order in which they end: loop, depth (loops around), index from 0, and from and to: the accesses made before it begins, and when it ends.
---@return table[]
function accesses:iterations() end

---@class nw.ranking
local ranking = {}

---Compiles what a strategy made into one kernel, list:build "cut"; which: the row's number (1 unless said) or its strategy. Options as those of s:build. The schedule stays where it is.
---@param which? integer|string
---@param options? {threads?: integer, opt?: integer, cache?: boolean}
---@return nw.kernel
function ranking:build(which, options) end

---A small decision tree over the sizes that vary, with the strategy that is best in each of its leaves by the objective, within code_limit. Fields: versions, numbers for s:build{versions = ...}; ranges, of each leaf row (of this table), facts (texts of what holds there) and below (where one size varies); tree, a node {size, below, yes, no}, a leaf {way}. The schedule stays where it is.
---@return nw.report
function ranking:dispatch() end

---Leaves the schedule at what a strategy made of it, to be looked at and changed; which: the row's number (1 unless said) or the name of its strategy. The numbers of its versions, of which the schedule is at the last.
---@param which? integer|string
---@return integer[]
function ranking:take(which) end

---@class nw.ranked
---@field code_bytes integer Bytes of machine code of all of them.
---@field expected number? The mean of `predicted` by weight: seconds, or without a unit where learned. An estimate.
---@field figure number What the rows are ranked by: the least is best.
---@field fits boolean Whether it has at most code_limit bytes of code.
---@field hint string? What to do about it, or why it is so.
---@field intrinsics boolean? Whether tiles of it are intrinsics: the cost model prices them as the loops they stand for.
---@field joules number? The mean of `energies` by weight, where the model was asked. An estimate.
---@field refused string? Why the strategy cannot be taken; then nothing but `hint` is said.
---@field seconds number? The mean of `measured` by weight.
---@field strategy string The name of the row's strategy.
---@field unsafe boolean? Whether steps of it were not judged.
---@field versions integer[] Versions of the schedule, of which a call runs the first whose facts hold.
local ranked = {}

---@class nw.learner
local learner = {}

---Kendall's tau by audit: kernel, schedules, analytic (the cost model), transfer (learned from the others), with_64 and analytic_64 (64 of its schedules seen, on the rest).
---@return table[]
function learner:held_out() end

---A score: of two schedules of one computation the one with the higher score should be faster. Its unit is no time. The schedule is priced and compiled, not run.
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

---Every access in order, as nw.accesses gives those of a schedule; most: how many there may be, a million unless said.
---@param options? {most?: integer, levels?: table[], line?: integer, machine?: any, feed?: string, threads?: integer, thread?: integer}
---@return nw.accesses
function loopnest:accesses(options) end

---Its arrays in the order of their addresses: name, address, bytes, element (bytes of one).
---@return table[]
function loopnest:arrays() end

---What the nest costs a machine at least: the misses of its caches, the bytes that they move, the cycles that takes, and the operations as they are written at the machine's peak; the longest is the bound (with combine = 'ecm' the sum of transfers that do not overlap). A text does not tell the code: of instructions, latencies and registers nothing is said. machine: as nw.machine takes it; this host unless said. feed, simulate, exact, budget: as in misses; conflicts = true: conflict misses are told from those of capacity, which takes longer. Fields: seconds, cycles, bottleneck; terms (name, cycles); by_tensor, by_loop, by_access, levels, exact, error, accesses as misses has them; traffic (name, read, written, bytes, intensity in operations per byte) of each level: of L1 what the references name, of the others lines; flops, operations (name, bits, count), calls (of functions without a price), statements; counted: whether these are exact; energy (name, count, unit, pj, joules, memory), joules, memory_joules (of the bytes alone), an estimate. plot{by = 'tensor' or 'loop'} draws the misses.
---@param options? {machine?: nw.machine|string|table, feed?: string, conflicts?: boolean, simulate?: boolean, exact?: boolean, budget?: integer}
---@return nw.report
function loopnest:cost(options) end

---Hits, misses and lines written back of each level, by array, loop and reference, counted by the cache model: equal to the simulator where it says exact (fields exact and error, by level). levels, line, machine, feed, conflicts: as in nw.misses, but feed is 'full' and conflicts are not told from capacity unless said; for 'misses' there is no short cut. simulate: by brute force, every access through the simulator. exact: fail rather than estimate. budget: lines the model may ask for. threads, thread: what one of so many threads does, from 0, with caches of its own. The answer is that of nw.misses, with accesses, touched (lines asked for to count), exact, error.
---@param options? {levels?: table[], line?: integer, machine?: any, feed?: string, conflicts?: boolean, simulate?: boolean, exact?: boolean, budget?: integer, threads?: integer, thread?: integer}
---@return nw.report
function loopnest:misses(options) end

---The values of its parameters, by name.
---@return table
function loopnest:params() end

---Its text, which reads back to the same nest; so does tostring.
---@return nw.view
function loopnest:show() end

---Misses as a function of sizes: one row for each combination of values, with accesses and the misses of each level, L1, L2, ... options as in misses. Example: n:sweep({N = {100, 200}}, {levels = {{bytes = 32768, ways = 8}}}):plot{y = "L1"}.
---@param params table
---@param options? table
---@return nw.sweep
function loopnest:sweep(params, options) end

---The same nest with other values of some parameters: n:with{N = 500}.
---@param params table
---@return nw.loopnest
function loopnest:with(params) end

---@class nw.error
---@field code string The kind of failure: invalid, type, range, memory, parse, limit, refused, undecided and others.
---@field hint string? What to do about it.
---@field line integer? The line in it.
---@field message string One sentence.
---@field refusal nw.refusal? Why a step was refused.
---@field schedule string? The name of a variable that holds the schedule of the step; the text of the error speaks of it.
---@field source string? Where it was raised: the name of a file, or repl[7].
local error = {}

---@class nw.refusal
---@field alternatives string[] Steps that were tried and work.
---@field distance string? Iterations between the two, along the loop that carries them or as a vector.
---@field element string? The element: C[0, 0].
---@field kind string Of conflict: raw, war, waw, reduction, value, bounds, cover, capacity, structure, undecided.
---@field loops string[] The loops that carry the conflict.
---@field message string What cannot be done.
---@field picture string? The nest with those loops marked.
---@field primitive string The primitive: parallel.
---@field sink string? Where its loops stand.
---@field sink_block string? The block that must come later.
---@field source string? Where its loops stand: (i=0, k=0).
---@field source_block string? The block that comes first.
---@field step string The step as typed: s:parallel "k".
---@field tensor string? The tensor they meet at: C.
---@field why string? One sentence about the two iterations.
---@field witness table? The same in numbers: sizes, index of the element, source and sink by loop, the marked loop.
local refusal = {}

---The two instances in conflict among their neighbours, at the smallest sizes that fail: the order in which they are visited now, and dashed the one after the step. The arrow goes from the instance that must come first to the one that needs it. A refusal without two executions, as for structure or capacity, is an error that says so.
---@param options? {title?: nw.label}
---@return nw.plot
function refusal:plot(options) end

---A text of one line, without control characters.
---@alias nw.label string

---@class nw.view
---@field render fun(style: 'plain'|'ansi'|'html'): string

---@class nestwright
local nw = {}

---Absolute value. The least signed integer wraps to itself.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.abs(x) end

---Every access to memory of the lowered schedule, in order; small storage of scope local is in registers and none. sizes: values of symbolic sizes, {M = 64}. most: how many there may be, a million unless said. arguments: inputs and outputs; then the interpreter runs the schedule and tells them, for programs whose addresses depend on data. levels, line, machine, feed: caches to simulate, as in nw.misses; each access then says what became of it. threads: those of the first of so many. a = nw.accesses(s) has #a accesses, a:at(n) is one of them.
---@param s nw.schedule
---@param options? {most?: integer, arguments?: nw.array[], sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: string, threads?: integer}
---@return nw.accesses
function nw.accesses(s, options) end

---True when every condition is; both sides are evaluated.
---@param ... nw.expr|boolean
---@return nw.expr
function nw.all(...) end

---Whether |a - b| <= atol + rtol*|b| everywhere (1e-8, 1e-5 unless said; NaN equals NaN); then the largest difference, and the place of the first element outside, in row-major order from 1.
---@param a nw.array
---@param b nw.array
---@param options? {rtol?: number, atol?: number}
---@return boolean, number, integer?
function nw.allclose(a, b, options) end

---True when at least one condition is.
---@param ... nw.expr|boolean
---@return nw.expr
function nw.any(...) end

---Greatest value of the term and where it is: the compute makes two tensors, value and index (i64). Ties go to the lowest index.
---@param term nw.expr|nw.axis|number
---@param ... nw.axis|nw.axis[]
---@return nw.expr
function nw.argmax(term, ...) end

---Least value of the term and where it is: the compute makes two tensors, value and index (i64). Ties go to the lowest index.
---@param term nw.expr|nw.axis|number
---@param ... nw.axis|nw.axis[]
---@return nw.expr
function nw.argmin(term, ...) end

---Bytes a second that a loop over so many bytes of memory reads and writes on this machine: the best of a dozen samples, then all of them. loop: 'read' (a), 'copy' (a = b) or 'triad' (a = b + x*c), of STREAM, which counts the bytes that the loop names. threads: one unless said; each has a part of its own.
---@param bytes integer
---@param options? {loop?: string, threads?: integer}
---@return number, number[]
function nw.bandwidth(bytes, options) end

---Values side by side: each column is a list, its first value a heading; schedules, pictures, tables, words and numbers. most: columns beside each other, then the next begin below. Where there are no pages, one below the other.
---@param columns any[][]
---@param options? {most?: integer}
---@return nw.view
function nw.beside(columns, options) end

---x as bf16; short for nw.cast(x, "bf16").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.bf16(x) end

---x as bool; short for nw.cast(x, "bool").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.bool(x) end

---How full each set of a level is over time, and how many different lines it is asked for in each part of the time: where that is more than it has ways, lines go before they are used again. A stride of a large power of two sends all to few sets. Rows: column (of the time), set, held, asked (lines).
---@param s nw.schedule
---@param options? {level?: integer, title?: nw.label, sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: string, threads?: integer}
---@return nw.plot
function nw.cache_sets(s, options) end

---Measures this machine for nw.machine(): clock, instructions per cycle and latencies by class and width, functions such as exp, accesses that cross lines, branches, gathers; latency and bytes per cycle of each cache, how much of the last can be counted on, memory; what threads cost. About two seconds; each figure is the least of several short turns, in cycles of the clock at that moment. Kept in a file of the state directory (keep = false: for this session only), which later sessions read. The answer has machine, seconds, file, figures. x86-64 only.
---@param options? {keep?: boolean}
---@return nw.report
function nw.calibrate(options) end

---x in another dtype. Floats become integers by truncation, saturating, NaN becomes 0.
---@param x nw.expr|nw.axis|number
---@param dtype string
---@return nw.expr
function nw.cast(x, dtype) end

---Least whole number not below x, still a float.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.ceil(x) end

---x, or the nearer end where it is outside of low..high: nw.min(nw.max(x, low), high).
---@param x nw.expr|nw.axis|number
---@param low nw.expr|nw.axis|number
---@param high nw.expr|nw.axis|number
---@return nw.expr
function nw.clamp(x, low, high) end

---Takes away what the cell has shown so far; wait: once it shows something new.
---@param wait? boolean
function nw.clear_output(wait) end

---Measures kernels in turn, round after round, and says which are faster: nw.compare{f, g}, nw.compare({f, g}, a, b) or nw.compare{naive = f, tiled = g, args = {a, b}, rounds = 50, base = "naive"}. base: the one that the others are compared with, the first unless said. A peer's times, measured elsewhere, are a table of numbers: {median = 0.0012, samples = {...}}. Those whose middle halves of times overlap are not distinguishable.
---@param kernels table
---@param ... nw.array
---@return nw.comparison
function nw.compare(kernels, ...) end

---A tensor whose element at (i, j, ...) is body(i, j, ...); the axes are called as the parameters of the function. A body that returns several expressions makes several tensors. Whole numbers alone are i32, other numbers f32.
---@param shape integer|nw.expr|(integer|nw.expr)[]
---@param body fun(...: nw.expr): nw.expr ...
---@param name? string|{name?: string}
---@return nw.tensor ...
function nw.compute(shape, body, name) end

---Cycles a second of this core, from a chain of dependent adds.
---@return number
function nw.core_hz() end

---Shows a value now, while the cell runs on; in a notebook as the picture or table it is. The answer's update(value) shows another in its place. id: by which it is known to the front end.
---@param value any
---@param options? {id?: nw.label}
---@return nw.output
function nw.display(value, options) end

---The names of all dtypes.
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

---Evaluates the definition itself, element by element, without any schedule. Slow, and the judge of the others.
---@param outputs nw.tensor|nw.tensor[]
---@param arguments nw.array[]
---@return nw.array[]
function nw.evaluate(outputs, arguments) end

---e to the power x.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.exp(x) end

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

---States what is known of a size, as in nw.fact(M, nw.eq(M % 16, 0)), or as text, nw.fact(M, "M % 16 == 0"); checked when a kernel is called. A fact that is never true with those that are known already is refused.
---@param size nw.expr
---@param condition nw.expr|string
---@return nw.expr
function nw.fact(size, condition) end

---Greatest whole number not above x, still a float.
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

---Every element the same; f32 unless said.
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

---a > b, as an expression.
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.gt(a, b) end

---What there is, or what one thing does: nw.help(), nw.help "split", nw.help(nw.sum); of an object, what it has: nw.help(s).
---@param what? any
---@return nw.view
function nw.help(what) end

---A piece of HTML to be shown in a notebook; elsewhere its source.
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

---Asks the user for a line. password: what is typed is not shown.
---@param prompt? string
---@param options? {password?: boolean}
---@return string
function nw.input(prompt, options) end

---Controls for the arguments of a function, in a notebook; what it returns, shows and prints follows them. nw.interact{tile = {8, 16, 32}, function(tile) ... end}: a list of numbers is a slider, one of words a drop-down list, {min = 1, max = 64, step = 1} a slider, true or false a checkbox; arguments are found by their names, or stand in order: {{"tile", {8, 16}}, {"unroll", true}, function(t, u) ... end}. A function that measures times, or takes long, is called when a slider is let go; release = true or false decides it. button = "measure": it is called when that is pressed; button = {"measure", g}: so is g, whose results stand below. start: values to begin with, {tile = 16}. A saved notebook keeps the last results; at the prompt there are those of the first values.
---@param spec table
---@param options? {button?: nw.label|table, release?: boolean, start?: table}
function nw.interact(spec, options) end

---Runs the schedule in the interpreter, which checks every access; with lowered = true the very program that is compiled. steps: after so many executed statements it gives up with a limit error.
---@param s nw.schedule
---@param arguments nw.array[]
---@param options? {lowered?: boolean, steps?: integer}
---@return nw.array[]
function nw.interpret(s, arguments, options) end

---Registers somebody else's code for a small computation, to be used by s:tensorize. args: the tensors of one compute of constant sizes, in the order the function takes them. The function gets a pointer to each tile, then (int64_t) the strides that are not fixed, in elements. strides: by tensor, a list of numbers or "any"; unless said the last dimension is contiguous and the others are any. accumulate: a reduction adds to what the output holds. source: C text; library and symbol: a shared library instead, jump_safe if the function holds no lock and owns no memory. It is run against its description in a process of its own, timeout seconds at most, and is registered only if it is right.
---@param spec {name: string, args: nw.tensor[], strides?: table, accumulate?: boolean, source?: string, library?: string, symbol?: string, jump_safe?: boolean, timeout?: number}
---@return nw.intrinsic
function nw.intrinsic(spec) end

---Energy of a call of f, measured: what the counters of the processor (RAPL, by the kernel's powercap) say of its packages and of their memory, over calls of f for `least` seconds (0.2). All that runs meanwhile is counted. The answer has joules, memory (joules; nil where it is not counted), seconds, runs, watts. An error where the machine has no counters or the user may not read them. root: the folder of the counters, /sys/class/powercap.
---@param f fun()
---@param options? {least?: number, root?: string}
---@return nw.report
function nw.joules(f, options) end

---What the judge was asked last: o by order, v by value, m about marks only.
---@return string
function nw.judge_question() end

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

---A machine record: what the cost model knows of a processor, a GPU or an accelerator. Without an argument this host: what the system says of its cores and caches, and what nw.calibrate has measured; where nothing was measured, the numbers of its family, and the record says so. A name of nw.machines(); a file that returns a table, "mine.lua", and may use math and nothing else; or the table. extends = a name, a file or a record: what the table does not say is as there; a list, such as caches, stands for the whole list. sources = {[""] = text, ops = text}: where numbers come from. Fields that are missing, unknown or out of range are errors; nw.machine_fields() lists them with units and defaults.
---@param machine? string|table|nw.machine
---@return nw.machine
function nw.machine(machine) end

---The fields of machine records, of a 'cpu', a 'gpu', an 'accelerator' or of all: name, unit, default and meaning.
---@param kind? string
---@return nw.report
function nw.machine_fields(kind) end

---The names that nw.machine knows.
---@return string[]
function nw.machines() end

---With reduce axes after a value that depends on them, the greatest over them: nw.max(A(i, k), k). Otherwise the greatest of its arguments.
---@param a nw.expr|nw.axis|number
---@param ... nw.expr|nw.axis|number|nw.axis[]
---@return nw.expr
function nw.max(a, ...) end

---The greatest of its arguments; NaN if any is NaN.
---@param ... nw.expr|nw.axis|number
---@return nw.expr
function nw.maximum(...) end

---Measures tiles of a loop whose rounds are a size, and keeps the times in $XDG_STATE_HOME/nestwright: kernels as s:partition_auto takes them, with seconds (first: of one tile; more: of each that follows; guarded: of one that lacks a round and asks) and seconds_inside, in the loops that around makes. One thread; the least of several turns. again = true measures what is known.
---@param options {schedule: nw.schedule, loop: nw.loop|string, kernels: table[], around?: function, sizes?: table, again?: boolean}
---@return nw.report
function nw.microkernels(options) end

---With reduce axes after a value that depends on them, the least over them: nw.min(A(i, k), k). Otherwise the least of its arguments.
---@param a nw.expr|nw.axis|number
---@param ... nw.expr|nw.axis|number|nw.axis[]
---@return nw.expr
function nw.min(a, ...) end

---The least of its arguments; NaN if any is NaN.
---@param ... nw.expr|nw.axis|number
---@return nw.expr
function nw.minimum(...) end

---Cache hits and misses of the schedule, simulated access by access: set-associative or fully associative levels, least recently used, write-allocate, write-back. levels: {{bytes = 32768, ways = 8}, ...}, ways = 0 fully associative; this machine's unless said, or those of a machine record, machine = "zen5", as much of each as s:cost counts on. feed: 'misses' (a level is asked what the one before has not) or 'full' (each is asked everything). threads: what the first of so many does, with caches of its own. The answer prints a table by tensor and holds by_tensor, by_loop, by_access and total: records with level, asked, hits, cold, capacity, conflict, written_back, in lines. Conflicts are told from capacity by a fully associative cache of the same size; conflicts = false leaves that out. Its method plot{by = 'tensor' or 'loop'} draws it.
---@param s nw.schedule
---@param options? {conflicts?: boolean, sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: string, threads?: integer}
---@return nw.report
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

---The order in which the instances of a stage are visited, found from the program: a grid of the stage's axes, a path from visit to visit, cells darker with time, tiles outlined. A vector is a bar; each round of a loop that threads share has a path, a colour and times of its own; what is visited more than once is hatched. stage: the first with two axes unless said. axes: one or two of its own axes, the one that goes down first; its first two unless said. at: values of the others, {k = 0}; their smallest unless said. from, to: the part of an axis that is shown, {i = 8}; to is the first value that is not; at most 64 of each. sizes: values of symbolic sizes.
---@param s nw.schedule
---@param options? {stage?: any, axes?: string[], at?: table, from?: table, to?: table, sizes?: table, title?: nw.label}
---@return nw.plot
function nw.order(s, options) end

---Measured peak of fused multiply-adds of 'f32' or 'f64' on this machine, flop/s.
---@param threads? integer
---@param dtype? string
---@return number
function nw.peak_flops(threads, dtype) end

---That peak against two full-width units at the measured clock: near 1 when the peak loop is honest.
---@return number
function nw.peak_vs_ports() end

---The pieces that cuts made of a stage's loops, each with a colour, a hatch and its name, the main one, or what no cut has named, without a hatch; pieces of one name have one colour in all pictures, and white is where nothing runs. Tiles are outlined; what runs more than once is darker. width: pixels that the grid may take, 620 unless said. stage: the first with two axes unless said. axes: one or two of its own axes, the one that goes down first; its first two unless said. at: values of the others, {k = 0}; their smallest unless said. from, to: the part of an axis that is shown, {i = 8}; to is the first value that is not; at most 64 of each. sizes: values of symbolic sizes.
---@param s nw.schedule
---@param options? {stage?: any, axes?: string[], at?: table, from?: table, to?: table, sizes?: table, width?: integer, title?: nw.label}
---@return nw.plot
function nw.pieces(s, options) end

---An input of the computation. The dtype is f32 unless said. Elements are read with parentheses: A(i, k). The last arguments may be given as {dtype = ..., name = ...}.
---@param shape integer|nw.expr|(integer|nw.expr)[]
---@param dtype? string|{dtype?: string, name?: string}
---@param name? string
---@return nw.tensor
function nw.placeholder(shape, dtype, name) end

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

---A bar that counts to total: p:step() for each that is done. At most ten changes a second are shown, and the last; when a cell ends, the bar is as far as the work.
---@param total integer
---@param title? nw.label
---@return nw.progress
function nw.progress(total, title) end

---The dtype in which an operation on these two is computed.
---@param a string
---@param b string
---@return string
function nw.promote(a, b) end

---Random elements: floats between lo and hi (0 and 1 unless said), integers whole numbers lo..hi (0..9). The same seed gives the same data; without one each call differs.
---@param shape integer|integer[]
---@param dtype? string|{seed?: integer, lo?: number, hi?: number}
---@param options? {seed?: integer, lo?: number, hi?: number}
---@return nw.array
function nw.random(shape, dtype, options) end

---An axis to reduce over: 0..extent, or begin..end when given as {begin, end}.
---@param extent integer|nw.expr|(integer|nw.expr)[]
---@param name? string|{name?: string}
---@return nw.axis
function nw.reduce_axis(extent, name) end

---How far apart, in bytes of other lines, a line is asked for and asked for again: a histogram a tensor, with what the caches hold marked. What stands to the right of a cache's mark misses in it, were it fully associative. Rows: tensor, from, to (bytes), count; of lines that never were asked for before, from and to are empty. Exact, for all accesses.
---@param s nw.schedule
---@param options? {title?: nw.label, sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: string, threads?: integer}
---@return nw.plot
function nw.reuse(s, options) end

---The roofline: operations a second over operations a byte, under the measured roofs of this machine (nw.roofs). nw.roofline(s): a dot for each version of the schedule, arrows from step to step, measured as s:time_steps does; nw.roofline{s1, s2} or {naive = s1, tiled = s2}; an entry may be {schedule = s, time = t}, or numbers measured elsewhere: {flops = 2e9, bytes = 1e7, time = 0.01}. Operations are the definition's, a multiply-add two; over integers, whose peak is not measured, only bandwidths are roofs, over f64 the peak is that of f64. Bytes are those beyond the last cache, simulated as in nw.misses; of versions with more than `simulate` operations (5e7) the inputs and outputs once. level: 'memory', or the cache whose traffic the axis counts, such as 'L2'. Each dot is told against the lowest of the roofs over it. predicted = true: beside each dot a diamond, what s:cost foretells of its time and bytes. machine: as nw.machine takes it; then nothing is measured, roofs are those of the record, and dots are predictions, but for entries with times of their own. limit, rounds, versions, threads: as in s:time_steps; arguments: the inputs; sizes: of symbolic sizes; roofs: those of nw.roofs, kept.
---@param what nw.schedule|table
---@param options? {threads?: integer, opt?: integer, limit?: number, rounds?: integer, versions?: integer[], arguments?: nw.array[], sizes?: table, level?: string, simulate?: number, roofs?: table, machine?: any, predicted?: boolean, arrows?: boolean, title?: nw.label}
---@return nw.plot
function nw.roofline(what, options) end

---What this machine can do at most, measured: the peak of multiply-adds of f32 and of f64 in flop/s, and for each cache and for memory the bytes a second of the fastest of STREAM's loops over half of what the level holds (for memory four times the last cache, or a gigabyte). threads: all cores unless said. The answer has threads, machine, peak, peak_f64 and levels: records with best, median and spread, levels also name, loop and over (bytes). Takes seconds; measured once a process, or once for all and kept beside what nw.calibrate keeps, and again with fresh = true.
---@param options? {threads?: integer, fresh?: boolean}
---@return nw.report
function nw.roofs(options) end

---Nearest whole number, still a float; of two as near, the even one.
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

---A recurrence over the first dimension, whose order is kept. Either nw.scan(init, update, state, name), where `state` is nw.scan_state(shape), which `update` reads at earlier times; or nw.scan{shape = {T, n}, init = function(t, x) ... end, step = function(S, t, x) return S(t - 1, x) ... end}.
---@param init nw.tensor|nw.tensor[]|table
---@param update? nw.tensor|nw.tensor[]
---@param state? nw.tensor|nw.tensor[]
---@param name? string|{name?: string}
---@return nw.tensor ...
function nw.scan(init, update, state, name) end

---Stands for the state of a scan: the update reads it at earlier times.
---@param shape integer|nw.expr|(integer|nw.expr)[]
---@param dtype? string|{dtype?: string, name?: string}
---@param name? string
---@return nw.tensor
function nw.scan_state(shape, dtype, name) end

---A schedule of the computation of these outputs (a list will do), naive at first. Steps are its methods; each is judged, and refused with a reason if it would change what is computed. target, in a table after the outputs: what it is made for, as of nw.target; this host if left out.
---@param ... nw.tensor|nw.tensor[]|{target?: string|table|nw.machine|nw.target}
---@return nw.schedule
function nw.schedule(...) end

---a where the condition holds, else b. Lazy: a read in the branch not taken does not happen, so padding is written with it.
---@param condition nw.expr
---@param a nw.expr|nw.axis|number
---@param b nw.expr|nw.axis|number
---@return nw.expr
function nw.select(condition, a, b) end

---1/(1 + exp(-x)).
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.sigmoid(x) end

---A symbolic size, at least `min` (1 unless said), known to be a multiple of `multiple`. Kernels check what is known of a size when they are called.
---@param name string
---@param options? integer|{min?: integer, multiple?: integer}
---@return nw.expr
function nw.size(name, options) end

---The space-time diagram: a lane a tensor, time to the right in accesses, a mark an access: open is read, filled is written, shape and colour say hit, cold, capacity or conflict miss in the level asked for (1); level = 'all' says instead in which level it was found. Loops stand above as brackets with the number of each iteration, below is what was touched so far against what the caches hold. y: 'index', 'address', 'line' or 'set'. before: another schedule, or the number of a version, drawn beside it on the same axes. threads: lanes for each of so many threads. sizes, levels, line, machine, feed: as in nw.misses; with a machine the small print and the caption say what s:cost foretells there. Printing the plot gives its caption; plot:save "x.svg" writes it. More than 3,000 accesses become a raster in which the worst of a pixel shows, so that no miss is lost.
---@param s nw.schedule
---@param options? {y?: string, level?: integer|string, before?: nw.schedule|integer, title?: nw.label, sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: string, threads?: integer}
---@return nw.plot
function nw.spacetime(s, options) end

---Square root, correctly rounded.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.sqrt(x) end

---Sum of the term over reduce axes; the whole body of a compute.
---@param term nw.expr|nw.axis|number
---@param ... nw.axis|nw.axis[]
---@return nw.expr
function nw.sum(term, ...) end

---Calls run(point) for every combination of the lists in params, and collects what it returns, one row a point. With csv or json the rows are kept in a file after every point, and points already there are not run again. Points in the file that this sweep does not have stay there, unless keep = false; a file that is not the result of a sweep over these parameters is refused. A value is a number, a text, a boolean or a list of these, a result a number, a text, a boolean or a time. A point that is refused gets an error column.
---@param options {params: table, run: fun(point: table): any, csv?: string, json?: string, keep?: boolean}
---@return nw.sweep
function nw.sweep(options) end

---Hyperbolic tangent.
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.tanh(x) end

---What a schedule is made for: a machine of nw.machines(), a file or a table as of nw.machine, or a record; without an argument this host. nw.schedule(C, {target = t}) is a schedule for it, s:retarget(t) takes the steps of one again under its limits. Code for a processor that is not this host's can be looked at (s:show "asm") and linked (f:export), and is not run here: nw.target "aarch64".
---@param machine? string|table|nw.machine|nw.target
---@return nw.target
function nw.target(machine) end

---Data from nested Lua tables; the shape is theirs. The dtype is f32 unless said, bool for true and false.
---@param values table|number|boolean
---@param dtype? string
---@return nw.array
function nw.tensor(values, dtype) end

---Draws who does what when: a lane a thread or stage, in the order of lanes (those without a record too), then of the records, a bar a record from one second to another, its label where it fits, a fill a kind; idle time is what is left, in per cent at the right. Where bars are too narrow to be told apart, they are drawn as high as they fill the time. arrows go from the end of a record to the beginning of one that needs it; records are meant by number or by themselves. unit: of the numbers, when not 's', as 'cycles'. from and to: the time against which idle is counted, when more than the records cover. small: print at the foot, as where the records are from.
---@param records {lane: nw.label, from: number, to: number, label?: nw.label, kind?: nw.label, [string]: any}[]
---@param options? {arrows?: {from: integer|table, to: integer|table}[], title?: nw.label, unit?: nw.label, lanes?: nw.label[], from?: number, to?: number, small?: nw.label}
---@return nw.plot
function nw.timeline(records, options) end

---Times that were measured apart, as one list to print and to plot: nw.timings{naive = t1, tiled = t2, base = "naive"}. An entry is what s:time answers, or numbers measured elsewhere: {median = 0.0012, min = 0.0011, samples = {...}, machine = "..."}, in seconds. base: the one that the others are compared with, the first unless said. What is measured in turn, by nw.compare, is compared better.
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

---x as u8; short for nw.cast(x, "u8").
---@param x nw.expr|nw.axis|number
---@return nw.expr
function nw.u8(x) end

---An index variable by name; layouts are written over _0, _1, ...
---@param name string
---@return nw.expr
function nw.variable(name) end

---The version of Nestwright.
---@return string
function nw.version() end

---Zeros; f32 unless said.
---@param shape integer|integer[]
---@param dtype? string
---@return nw.array
function nw.zeros(shape, dtype) end

nw.xsmm = {}

---Whether this build has libxsmm.
---@return boolean
function nw.xsmm.available() end

---Registers libxsmm's small matrix product C[m, n] += A[m, k]*B[k, n], of f32 or f64, with any leading dimensions; with accumulate = false it starts from 0.
---@param spec {m: integer, n: integer, k: integer, dtype?: string, accumulate?: boolean}
---@return nw.intrinsic
function nw.xsmm.gemm(spec) end

---A tile of so many rounds that libxsmm's small matrix product does, for the kernels of s:partition_auto and nw.microkernels: {rows, name = 'libxsmm', whole = true, schedule, inside}. columns and sum: the loops of the nest, of constant extent, that are the other two of the product ('j' and 'k'), or their inner parts where `around` split them. A piece's loops are put in order and given to s:tensorize, which refuses what is no such product. It does whole tiles only, so the strategies guard and predicate take another kernel.
---@param spec {rows: integer, columns?: string, sum?: string, dtype?: string}
---@return table
function nw.xsmm.kernel(spec) end

nw.nest = {}

---What the lowered schedule touches, as a nest: the accesses of nw.accesses, in their order. sizes: values of symbolic sizes. A schedule whose addresses are no affine forms of its loops is refused (code 'limit').
---@param s nw.schedule
---@param options? {sizes?: table, version?: integer}
---@return nw.loopnest
function nw.nest.of(s, options) end

---A loop nest from its text: arrays, loops with affine bounds, ifs, and statements, whose references are accesses. params: values for parameters that are not to be as written, {N = 500}, or the name of sizes that the text has, "SMALL", or both, {"SMALL", N = 500}. docs/cost.md has the grammar. Errors say line and column.
---@param text string
---@param params? table|string
---@return nw.loopnest
function nw.nest.parse(text, params) end

---A loop nest from a file of text, as nw.nest.parse has it. Example: nw.nest.read("tutorials/nests/gemm.nest", "SMALL").
---@param path string
---@param params? table|string
---@return nw.loopnest
function nw.nest.read(path, params) end

nw.cost = {}

---Holds predictions against measurements: draws random legal schedules of a computation (by a seed, 1 unless said), measures each in turn, the least of seven rounds, its results compared with those of the naive program, and prices each with s:cost. Those slower than 20 times the best, and those that cannot be priced, are no part of the sample: it goes on until there are so many (200) others. kernel: the tensors computed, or one of blur, center, conv1d, conv2d, dense, depthwise, gemm, heat, pool, sobel, transpose. file: keeps what was measured, as JSON, also when it is stopped; it goes on from there, and what is complete is not measured again. The answer prints a table: Kendall's tau-b, the same within the best quarter, Spearman's rho, the share of pairs in the right order, the median of |predicted - measured| / measured, and how much longer the best of the 1 or 5 that are predicted fastest takes than the best of all. Fields: points (trace, measured, predicted in seconds, schedule, cost), analytic (the figures), measured (those of every other round of the measurement beside the rounds between: what no prediction can be expected to exceed), drawn, rejected, unpriced; with a learned model also learned: the score of each point, and the figures. a:outliers(n): the n worst predictions; a:plot(): both times of each, on logarithmic axes.
---@param options {kernel: nw.tensor|nw.tensor[]|string, schedules?: integer, seed?: integer, threads?: integer, file?: string, machine?: nw.machine|string|table, model?: nw.learner}
---@return nw.report
function nw.cost.audit(options) end

---What a learned model is told of a schedule: a list of {name, unit, doc}, with value where a schedule is given, which is compiled for that: what this host's compiler made of it is among them.
---@param s? nw.schedule
---@param options? {machine?: nw.machine|string|table, sizes?: table, threads?: integer}
---@return table
function nw.cost.features(s, options) end

---A model that model:save wrote; of the same features, or it is refused.
---@param path string
---@return nw.learner
function nw.cost.load(path) end

---The energy of counts by a machine's table: rows of name, count, pj and joules, and their sum. Of an accelerator: 'mac', 'network', 'memory' and the names of its buffers, in accesses of a word, and cycles = mac / (units * utilisation). Of a processor: 'fma 32' and other classes with their bits, 'instruction', and 'L1', 'memory' in bytes. pj: energies that the table does not have, or others.
---@param options {counts: table<string, number>, machine?: any, pj?: table<string, number>, utilisation?: number}
---@return nw.report
function nw.cost.price(options) end

---Learns from audits to rank schedules: nw.cost.train{a, b, c, rounds = 120}. Gradient-boosted trees (XGBoost, one thread) over the rows of nw.cost.features(). Only schedules of one audit are compared. A score begins with what s:cost and a simulation of the compiled code say, so the trees learn where these are wrong. It prints Kendall's tau of what was held out, by audit: of the cost model alone, of a model that learned from the audits of other computations only, and of one that saw 64 of its schedules, on the rest. objective = 'times' (reg:squarederror): the trees add up to measured / predicted, as a logarithm, less the mean of the audit; 'pairs' (rank:pairwise): the order of speeds relative to the best of the audit; docs/cost.md says which is better. own: one of the audits, that of the computation the model is for: it weighs as ten others. rounds (120; 60 of pairs), depth (4; 3), rate (0.08), forest (trees of a round, averaged: 4; 1), least (weight of a leaf: 5; 1), columns (0.3; 0.5) and sample (0.8): shares of features and rows that a tree sees; seed; held_out = false leaves those figures out.
---@param audits table
---@return nw.learner
function nw.cost.train(audits) end

nw.partition = {}

---How many conditions (if, select, masks) the lowered program of a schedule has, or a loop of it: 0 in a main piece. loop: one that s:show "lowered" has, by its name or as a loop of s.
---@param s nw.schedule
---@param loop? nw.loop|string
---@return integer
function nw.partition.conditions(s, loop) end

---Runs pieces that follow each other in threads; loops: their outermost loops, in order, the main piece first. how = 'fused', unless said: s:create_fused_loop makes one loop of them, whose rounds, the larger ones first, threads take when they are done with the last one, so that no thread waits while there is a tail. 'apart': each is a parallel loop, and all threads wait for the last one behind each. The parallel loops.
---@param s nw.schedule
---@param loops (nw.loop|string)[]
---@param options? {how?: string}
---@return nw.loop, ...
function nw.partition.parallel(s, loops, options) end

---A loop whose rounds overlap (s:double_buffer, s:prefetch) as the machine's record has it, by the model: interval, the cycles from the begin of one round to the begin of the next, and what it waits for; the parts of a round; cycles of prologue and epilogue. loop: its name in s:show "lowered". Fields: interval, bottleneck, rounds, parts (loop, cycles, bottleneck), alone (the parts one after the other), prologue, epilogue.
---@param s nw.schedule
---@param loop nw.loop|string
---@param options? {machine?: any, sizes?: table}
---@return nw.report
function nw.partition.pipeline(s, loop, options) end

---Pipelines a loop from a machine's latencies: takes the step that fetches a tensor ahead of its use (tensor: s:prefetch), or computes a stage ahead that stands in the loop (stage: s:double_buffer), by as many rounds as it takes until all is there: ceil(latency / interval). interval: the cycles of a round by the model; latency: of the farthest level or memory that a tenth of the lines come from, by the model, as the record has it; of a stage, and the cycles that it takes. Fields: ahead (rounds; 0: all lines are in L1, and no step was taken), latency and level, interval, bottleneck, rounds, prologue and epilogue (cycles), limited (there are not rounds enough). sizes: values of symbolic sizes.
---@param s nw.schedule
---@param loop nw.loop|string
---@param options {tensor?: any, stage?: any, machine?: any, sizes?: table}
---@return nw.report
function nw.partition.pipelined(s, loop, options) end

---Tiles a loop as TVM's te.split and its pass LoopPartition do (src/tir/transforms/loop_partition.cc): guarded tiles, scheduled by the kernel, and one interval without guards cut out afterwards, where the extent is no constant or partition_const_loop is true. To be measured against.
---@param s nw.schedule
---@param loop nw.loop|string
---@param kernel table
---@param options? {partition_const_loop?: boolean}
---@return nw.schedule
function nw.partition.tvm_like(s, loop, kernel, options) end

return nw
