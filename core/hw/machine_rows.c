// Holds the table of the fields of the machine record, with one row for each field.
#include "hw/machine.h"

#define CPU (1u << NW_MACHINE_CPU)
#define GPU (1u << NW_MACHINE_GPU)
#define ACCELERATOR (1u << NW_MACHINE_ACCELERATOR)
#define ALL (CPU | GPU | ACCELERATOR)

#define MOST 1e18
#define REAL(name, unit, type, member, least, most, otherwise, doc)                                                    \
  { name, unit, NW_FIELD_REAL, offsetof(type, member), 1, least, most, otherwise, NULL, doc }
#define WHOLE(name, unit, type, member, least, most, otherwise, doc)                                                   \
  { name, unit, NW_FIELD_WHOLE, offsetof(type, member), 1, least, most, otherwise, NULL, doc }
#define FLAG(name, type, member, otherwise, doc)                                                                       \
  { name, "", NW_FIELD_FLAG, offsetof(type, member), 1, 0, 1, otherwise, NULL, doc }
#define WORD(name, type, member, otherwise, words, doc)                                                                \
  { name, "", NW_FIELD_WORD, offsetof(type, member), 1, 0, 0, otherwise, words, doc }
#define TEXT(name, type, member, otherwise, doc)                                                                       \
  { name, "", NW_FIELD_TEXT, offsetof(type, member), sizeof(((type *)0)->member), 0, 0, otherwise, NULL, doc }

static const nw_field all_rows[] = {
    TEXT("name", nw_machine, name, NULL, "name of the machine: letters, digits, _ and -"),
    TEXT("about", nw_machine, about, "", "one sentence about the machine"),
    WORD("kind", nw_machine, kind, "cpu", "cpu gpu accelerator", "kind of machine"),
    REAL("clock", "GHz", nw_machine, clock, 1e-3, 100, NULL, "cycles per second of CPU time of a thread that computes"),
    WHOLE("loop_lanes", "iterations", nw_machine, loop_lanes, 1, NW_LANES_ROOM, "256",
          "maximal number of iterations (lanes) of a vectorized loop"),
    WHOLE("stack_bytes", "bytes", nw_machine, stack_bytes, 64, 1 << 30, "262144",
          "maximal total size of the buffers of scope local that a thread has at the same time"),
};

#define NW_ISA(id, name, features, doc) " " name
static const char isas[] = NW_ISAS(NW_ISA);
#undef NW_ISA

static const nw_field cpu_rows[] = {
    WHOLE("cores", "logical cpus", nw_machine, cores, 1, 65536, NULL, "number of logical CPUs that can run threads"),
    REAL("clock_ratio", "core cycles per cycle of the time-stamp counter", nw_machine, clock_ratio, 0, 100, "0",
         "measured ratio; 0: not measured"),
    WORD("isa", nw_machine, isa, "x86_64", isas + 1, "instruction set"),
    TEXT("cpu", nw_machine, cpu, "",
         "LLVM's name of the CPU for which code is generated; empty: any CPU with this instruction set and vectors of "
         "vector_bytes; host: the CPU of this session"),
    WHOLE("vector_bytes", "bytes", nw_machine, vector_bytes, 8, 64, NULL, "size of the widest vector of floats"),
    WHOLE("vector_registers", "registers", nw_machine, vector_registers, 1, 1024, NULL, "number of vector registers"),
    REAL("dispatch", "instructions per cycle", nw_machine, dispatch, 0.1, 64, NULL,
         "maximal number of instructions that a core can dispatch; a ratio of two CPU times if it was measured"),
    REAL("gather", "cycles per lane", nw_machine, gather, 0, 1000, "1",
         "cost of a gather: a load with an address for each lane"),
    REAL("scatter", "cycles per lane", nw_machine, scatter, 0, 1000, "gather",
         "cost of a scatter: a store with an address for each lane"),
    REAL("gather_least", "lanes", nw_machine, gather_least, 0, 64, "1",
         "a gather or scatter with fewer lanes costs as much as one with this many"),
    REAL("gather_instructions", "instructions per lane", nw_machine, gather_instructions, 0, 1000, "1",
         "dispatched instructions of a gather or scatter"),
    REAL("line_crossing", "cycles", nw_machine, line_crossing, 0, 10000, "1",
         "extra cost of a load that crosses a cache line"),
    REAL("page_crossing", "cycles", nw_machine, page_crossing, 0, 10000, "line_crossing",
         "extra cost of a load that crosses a page of 4096 bytes"),
    REAL("store_crossing", "cycles", nw_machine, store_crossing, 0, 10000, "line_crossing",
         "extra cost of a store that crosses a cache line"),
    REAL("alias_4k", "cycles", nw_machine, alias_4k, 0, 10000, "0",
         "extra cost of a load soon after a store to an address that differs by a multiple of 4096 bytes; the cost "
         "model does not use it"),
    REAL("window", "instructions", nw_machine, window, 1, 1e5, "224",
         "size of the reorder buffer: instructions in flight"),
    REAL("scheduler", "instructions", nw_machine, scheduler, 1, 100000, "window",
         "size of the reservation stations: instructions that wait for their operands"),
    REAL("forward", "cycles", nw_machine, forward, 0, 1000, "5", "latency from a store to a load of the stored value"),
    REAL("forward_masked", "cycles", nw_machine, forward_masked, 0, 1000, "15",
         "latency from a store to a load that needs further bytes, because the store was masked or the load is wider"),
    REAL("store_lines", "lines per cycle", nw_machine, store_lines, 0.01, 64, "1",
         "number of different lines that stores can write; stores to the same line are combined"),
    REAL("branch_miss", "cycles", nw_machine, branch_miss, 0, 1000, "15", "cost of a mispredicted branch"),
    REAL("loop", "cycles", nw_machine, loop, 0, 1000, "1", "cost of an iteration of an empty loop"),
    REAL("foretold", "iterations", nw_machine, foretold, 0, 1000000, "64",
         "maximal number of iterations of a loop whose end is predicted correctly"),
    REAL("call", "cycles", nw_machine, call, 0, 1000, "4",
         "cost of calling an empty function; the cost model does not use it: functions such as exp have their own "
         "classes"),
    WORD("combine", nw_machine, combine, "max", "max ecm",
         "how the times of the core and of the cache levels are combined. max: everything overlaps; the result is the "
         "longest time. ecm: loads, stores and the levels that do not overlap run one after the other; the result is "
         "the larger of their sum and the time of the core's other work"),
};

static const nw_field op_rows[] = {
    {"per_cycle", "instructions per cycle", NW_FIELD_REAL, offsetof(nw_op_cost, per_cycle), NW_WIDTHS, 0, 64, "0", NULL,
     "sustained rate of a core: for scalars, and for vectors of 16, 32 and 64 bytes. 0: a vector is computed one "
     "element at a time. If one value is given instead of four, it is used for all widths of the machine"},
    REAL("latency", "cycles", nw_op_cost, latency, 0, 10000, "0", "time until a dependent instruction can begin"),
};

static const nw_field level_rows[] = {
    WHOLE("bytes", "bytes", nw_machine_level, bytes, 1, MOST, NULL, "its size"),
    WHOLE("ways", "lines", nw_machine_level, ways, 1, MOST, NULL,
          "lines per set; for a fully associative cache, bytes / line"),
    WHOLE("line", "bytes", nw_machine_level, line, 1, 65536, "64", "size of a line, a power of two"),
    WHOLE("shared_by", "logical cpus", nw_machine_level, shared_by, 1, 65536, "1",
          "number of logical CPUs that share one such cache"),
    WHOLE("effective_bytes", "bytes", nw_machine_level, effective_bytes, 1, MOST, "bytes",
          "part of the size that a program can expect when other programs use the cache too"),
    REAL("latency", "cycles", nw_machine_level, latency, 0, 1e6, NULL, "time from the address to the value"),
    REAL("bytes_per_cycle", "bytes per cycle", nw_machine_level, bytes_per_cycle, 1e-3, 1e6, NULL,
         "bandwidth to the next level nearer to the core; for the first level, to the registers of one core"),
    REAL("back_per_cycle", "bytes per cycle", nw_machine_level, back_per_cycle, 1e-3, 1e6, "bytes_per_cycle",
         "bandwidth of writes from the next level nearer to the core; for the first level, of the stores of one core"),
    REAL(
        "strided", "cycles per line", nw_machine_level, strided, 0, 1e6, "0",
        "cost of loading a line from this level that is not adjacent to the previous one; 0: a quarter of the latency"),
    REAL("strided_store", "cycles per line", nw_machine_level, strided_store, 0, 1e6, "0",
         "cost of fetching and writing back a stored line that is not adjacent to the previous one; 0: a third of the "
         "latency"),
    REAL("crowded_store", "cycles per line", nw_machine_level, crowded_store, 0, 1e6, "0",
         "like strided_store, but if the stored lines map to few sets; 0: two thirds of the latency"),
    REAL("strided_across", "cycles per load", nw_machine_level, strided_across, 0, 1e6, "0",
         "cost of a load that crosses a line while non-adjacent lines are loaded from this level; 0: only "
         "line_crossing"),
    FLAG("write_allocate", nw_machine_level, write_allocate, "true", "whether a written line is fetched first"),
    FLAG("overlaps", nw_machine_level, overlaps, "false",
         "whether its transfers overlap other transfers; for combine = \"ecm\""),
    REAL("read_pj", "pJ per byte", nw_machine_level, read_pj, 0, 1e6, "0", "energy of a read; 0: not known"),
    REAL("write_pj", "pJ per byte", nw_machine_level, write_pj, 0, 1e6, "read_pj", "energy of a write"),
};

static const nw_field memory_rows[] = {
    WHOLE("bytes", "bytes", nw_machine_memory, bytes, 1, MOST, NULL, "its size"),
    REAL("latency", "ns", nw_machine_memory, latency, 0, 1e6, "0",
         "time from the address to the value; required for a CPU; 0: not known"),
    REAL("bandwidth", "GB/s", nw_machine_memory, bandwidth, 1e-3, 1e6, NULL,
         "bandwidth of one thread; for a GPU, of the whole GPU"),
    REAL("bandwidth_all", "GB/s", nw_machine_memory, bandwidth_all, 1e-3, 1e6, "bandwidth",
         "bandwidth of all threads together"),
    FLAG("overlaps", nw_machine_memory, overlaps, "false",
         "whether its transfers overlap other transfers; for combine = \"ecm\""),
    REAL("read_pj", "pJ per byte", nw_machine_memory, read_pj, 0, 1e6, "0", "energy of a read; 0: not known"),
    REAL("write_pj", "pJ per byte", nw_machine_memory, write_pj, 0, 1e6, "read_pj", "energy of a write"),
};

static const nw_field team_rows[] = {
    WHOLE("threads", "threads", nw_machine_team, threads, 2, 65536, NULL, "number of threads that run a parallel loop"),
    REAL("spawn", "us", nw_machine_team, spawn, 0, 1e6, NULL, "time until the last thread has started"),
    REAL("barrier", "us", nw_machine_team, barrier, 0, 1e6, NULL,
         "time from the end of the last thread's work to the end of the loop"),
};

static const nw_field energy_rows[] = {REAL("instruction", "pJ", nw_machine_energy, instruction, 0, 1e6, "0",
                                            "energy of an instruction, without the energy of its operation"),
                                       REAL("static_watts", "W", nw_machine_energy, static_watts, 0, 1e5, "0",
                                            "power of one idle core, or of a whole GPU or accelerator"),
#define NW_CLASS(id, name, otherwise, doc)                                                                             \
  {name,                                                                                                               \
   "pJ",                                                                                                               \
   NW_FIELD_REAL,                                                                                                      \
   offsetof(nw_machine_energy, op_pj[NW_CLASS_##id]),                                                                  \
   NW_ENERGY_BITS,                                                                                                     \
   0,                                                                                                                  \
   1e6,                                                                                                                \
   "0",                                                                                                                \
   NULL,                                                                                                               \
   "energy for one number of 8, 16, 32 and 64 bits; 0: not known"},
                                       NW_CLASSES(NW_CLASS)
#undef NW_CLASS
};

#define LIMIT "limit of a launch"
static const nw_field gpu_rows[] = {
    REAL("capability", "", nw_machine_gpu, capability, 0, 20, "0",
         "compute capability of an NVIDIA GPU, for which PTX is made, for example 8.0; 0: another GPU"),
    WHOLE("sms", "multiprocessors", nw_machine_gpu, sms, 1, 65536, NULL, "number of multiprocessors"),
    REAL("clock_base", "GHz", nw_machine_gpu, clock_base, 0, 100, "0",
         "clock that is guaranteed if all units are busy; 0: the machine's clock"),
    WHOLE("lanes", "f32 multiply-adds per cycle", nw_machine_gpu, lanes, 1, 65536, NULL, "rate of a multiprocessor"),
    WHOLE("lanes_shared", "lanes", nw_machine_gpu, lanes_shared, 0, 65536, "0",
          "number of these lanes that compute an f32 or an integer operation, but not both in one cycle"),
    WHOLE("lanes64", "f64 multiply-adds per cycle", nw_machine_gpu, lanes64, 0, 65536, "0", "rate of a multiprocessor"),
    REAL("special_per_cycle", "results per cycle", nw_machine_gpu, special_per_cycle, 0, 65536, "16",
         "rate at which a multiprocessor computes exp, log and similar functions"),
    WHOLE("warp", "threads", nw_machine_gpu, limit.warp, 1, 1024, "32", "number of threads that execute together"),
    WHOLE("warps", "warps", nw_machine_gpu, warps, 1, 4096, NULL,
          "maximal number of warps that run on a multiprocessor at the same time"),
    WHOLE("blocks", "blocks", nw_machine_gpu, blocks, 1, 4096, NULL,
          "maximal number of blocks that run on a multiprocessor at the same time"),
    WHOLE("schedulers", "instructions per cycle", nw_machine_gpu, schedulers, 1, 64, "4",
          "instructions that a multiprocessor can issue"),
    WHOLE("registers", "registers", nw_machine_gpu, registers, 1, MOST, "65536",
          "number of 32-bit registers of a multiprocessor"),
    WHOLE("registers_thread", "registers", nw_machine_gpu, limit.registers, 1, 65536, "255",
          "maximal number of registers of a thread"),
    WHOLE("register_unit", "registers", nw_machine_gpu, register_unit, 1, 65536, "256",
          "allocation unit of a warp's registers"),
    WHOLE("shared", "bytes", nw_machine_gpu, shared, 0, MOST, NULL, "shared memory of a multiprocessor"),
    WHOLE("shared_block", "bytes", nw_machine_gpu, limit.shared_bytes, 0, MOST, "49152",
          "limit on the shared memory of a block"),
    WHOLE("shared_reserved", "bytes", nw_machine_gpu, shared_reserved, 0, MOST, "1024",
          "shared memory that is reserved in each block"),
    WHOLE("shared_unit", "bytes", nw_machine_gpu, shared_unit, 1, MOST, "128",
          "allocation unit of a block's shared memory"),
    WHOLE("banks", "banks", nw_machine_gpu, banks, 1, 1024, "32", "number of shared-memory banks, of 4 bytes each"),
    REAL("shared_per_cycle", "bytes per cycle", nw_machine_gpu, shared_per_cycle, 0, 1e6, "128",
         "shared-memory bandwidth of a multiprocessor"),
    WHOLE("l1_bytes", "bytes", nw_machine_gpu, l1_bytes, 0, MOST, "shared",
          "size of the L1 cache including shared memory"),
    REAL("l1_per_cycle", "bytes per cycle", nw_machine_gpu, l1_per_cycle, 0, 1e6, "128", "bandwidth of the L1 cache"),
    WHOLE("l2_bytes", "bytes", nw_machine_gpu, l2_bytes, 0, MOST, NULL, "size of the L2 cache"),
    REAL("l2_bandwidth", "GB/s", nw_machine_gpu, l2_bandwidth, 0, 1e6, "0", "bandwidth of the L2 cache; 0: not known"),
    REAL("shared_latency", "cycles", nw_machine_gpu, shared_latency, 0, 1e6, "24",
         "time from the address to the value of a load from shared memory"),
    REAL("l1_latency", "cycles", nw_machine_gpu, l1_latency, 0, 1e6, "33", "the same for a hit in the L1 cache"),
    REAL("l2_latency", "cycles", nw_machine_gpu, l2_latency, 0, 1e6, "220", "the same for a hit in the L2 cache"),
    WHOLE("line", "bytes", nw_machine_gpu, line, 1, 65536, "128", "size of a cache line"),
    WHOLE("sector", "bytes", nw_machine_gpu, sector, 1, 65536, "32",
          "size of a sector, the part of a line that is fetched at once"),
    REAL("tensor_f16", "TFLOP/s", nw_machine_gpu, tensor_f16, 0, 1e6, "0", "dense peak of the tensor cores; 0: none"),
    REAL("tensor_tf32", "TFLOP/s", nw_machine_gpu, tensor_tf32, 0, 1e6, "0", "dense peak of the tensor cores; 0: none"),
    REAL("tensor_int8", "TOP/s", nw_machine_gpu, tensor_int8, 0, 1e6, "0", "dense peak of the tensor cores; 0: none"),
    REAL("launch", "us", nw_machine_gpu, launch, 0, 1e6, "5", "time of launching an empty kernel"),
    REAL("host_bandwidth", "GB/s", nw_machine_gpu, host_bandwidth, 0, 1e6, "12",
         "bandwidth between the host's memory and the GPU's"),
    TEXT("simulates", nw_machine_gpu, simulates, "",
         "name of the GPU that this host simulates; empty if this is a GPU of its own"),
    WHOLE("threads", "threads", nw_machine_gpu, limit.threads, 1, 65536, "1024", "limit for a block"),
    WHOLE("grid_x", "blocks", nw_machine_gpu, limit.extent[0], 1, INT32_MAX, "2147483647", LIMIT),
    WHOLE("grid_y", "blocks", nw_machine_gpu, limit.extent[1], 1, INT32_MAX, "65535", LIMIT),
    WHOLE("grid_z", "blocks", nw_machine_gpu, limit.extent[2], 1, INT32_MAX, "65535", LIMIT),
    WHOLE("block_x", "threads", nw_machine_gpu, limit.extent[3], 1, INT32_MAX, "1024", LIMIT),
    WHOLE("block_y", "threads", nw_machine_gpu, limit.extent[4], 1, INT32_MAX, "1024", LIMIT),
    WHOLE("block_z", "threads", nw_machine_gpu, limit.extent[5], 1, INT32_MAX, "64", LIMIT),
};

static const nw_field accelerator_rows[] = {
    WHOLE("rows", "units", nw_machine_accelerator, rows, 1, 65536, NULL,
          "rows of the array of units; sums may be passed between neighbouring units"),
    WHOLE("columns", "units", nw_machine_accelerator, columns, 1, 65536, NULL, "columns of the array of units"),
    WHOLE("depth", "multiply-adds per cycle", nw_machine_accelerator, depth, 1, 65536, "1",
          "multiply-adds per cycle of a unit"),
    WHOLE("input_bits", "bits", nw_machine_accelerator, input_bits, 1, 64, "8", "width of an input"),
    WHOLE("weight_bits", "bits", nw_machine_accelerator, weight_bits, 1, 64, "8", "width of a weight"),
    WHOLE("sum_bits", "bits", nw_machine_accelerator, sum_bits, 1, 64, "32", "width of a sum"),
    WHOLE("queue", "tokens", nw_machine_accelerator, queue, 0, 1 << 20, "0",
          "capacity of a queue between two modules; 0: no queues"),
    REAL("load_latency", "cycles", nw_machine_accelerator, load_latency, 0, 1e6, "0",
         "time until the first byte arrives"),
    REAL("load_per_cycle", "bytes per cycle", nw_machine_accelerator, load_per_cycle, 1e-3, 1e6, NULL,
         "load bandwidth"),
    REAL("store_latency", "cycles", nw_machine_accelerator, store_latency, 0, 1e6, "load_latency",
         "time until the first byte is sent"),
    REAL("store_per_cycle", "bytes per cycle", nw_machine_accelerator, store_per_cycle, 1e-3, 1e6, "load_per_cycle",
         "store bandwidth"),
    REAL("network_pj", "pJ per byte", nw_machine_accelerator, network_pj, 0, 1e6, "0",
         "energy of a transfer from one unit to the next"),
    REAL("fetch", "cycles", nw_machine_accelerator, fetch, 0, 1e6, "0",
         "time between the starts of two instructions, for all units together"),
};

static const nw_field unit_rows[] = {
    TEXT("name", nw_machine_unit, name, NULL, "name of the unit"),
    WHOLE("queue", "instructions", nw_machine_unit, queue, 0, 1 << 20, "0",
          "instructions that can wait for the unit; 0: unlimited"),
};

static const nw_field queue_rows[] = {
    TEXT("from", nw_machine_queue, from, NULL, "the unit that puts tokens into the queue"),
    TEXT("to", nw_machine_queue, to, NULL, "the unit that waits for them"),
    WHOLE("tokens", "tokens", nw_machine_queue, tokens, 0, 1 << 20, "0", "capacity; 0: unlimited"),
};

static const nw_field instruction_rows[] = {
    TEXT("name", nw_machine_instruction, name, NULL, "name of the instruction"),
    WORD("kind", nw_machine_instruction, kind, NULL, "copy fill tensor alu", "what the instruction does"),
    TEXT("unit", nw_machine_instruction, unit, NULL, "the unit that executes it"),
    TEXT("from", nw_machine_instruction, from, "",
         "the memories that it reads, separated by spaces; for a product, one for each operand, in order"),
    TEXT("to", nw_machine_instruction, to, NULL, "the memories that it writes, separated by spaces"),
    REAL("latency", "cycles", nw_machine_instruction, latency, 0, 1e6, "0", "time before the first element"),
    REAL("interval", "cycles", nw_machine_instruction, interval, 0, 1e6, "1",
         "for a product: time of a tile; for an ALU: time of one operation on `lanes` elements"),
    REAL("bytes_per_cycle", "bytes per cycle", nw_machine_instruction, bytes_per_cycle, 1e-3, 1e6, "8",
         "for copy and fill: bandwidth"),
    WHOLE("dims", "dimensions", nw_machine_instruction, dims, 1, 8, "2",
          "for copy and fill: dimensions of the box; the last one is consecutive in memory"),
    FLAG("pads", nw_machine_instruction, pads, "false", "for copy: elements outside of the tensor become a constant"),
    FLAG("multicast", nw_machine_instruction, multicast, "false",
         "for copy: an element that is copied to several places is read and sent only once"),
    TEXT("uncounted", nw_machine_instruction, uncounted, "",
         "memories whose accesses by this instruction are not counted and cost no energy, for example since a value is "
         "passed on as it is computed"),
    WHOLE("lanes", "elements", nw_machine_instruction, lanes, 1, 65536, "1", "for an ALU: elements of one operation"),
    WHOLE("loops", "loops", nw_machine_instruction, loops, 0, 8, "0",
          "for tensor: loops around the tile that one instruction executes"),
    WHOLE("micro_ops", "tiles", nw_machine_instruction, micro_ops, 1, 1 << 20, "1",
          "for tensor: tiles inside these loops, each with addresses of its own"),
    TEXT("stationary", nw_machine_instruction, stationary, "",
         "for tensor: the operand whose tile stays in the array during these loops: input, weight or sum"),
    TEXT("form", nw_machine_instruction, form, "",
         "for tensor: the operands and the result of a product, for example mk,kn->mn, which adds to the result; "
         "without a "
         "sum, mn,mn=mn sets the result to the products, and mn,mn,mn=mn adds them to a third operand"),
    WHOLE("m", "elements", nw_machine_instruction, m, 1, 4096, "1", "for tensor: extent of m"),
    WHOLE("n", "elements", nw_machine_instruction, n, 1, 4096, "1", "for tensor: extent of n"),
    WHOLE("k", "elements", nw_machine_instruction, k, 1, 4096, "1", "for tensor: extent of k"),
    TEXT("input", nw_machine_instruction, input, "i8", "for tensor: dtype of the first operand"),
    TEXT("weight", nw_machine_instruction, weight, "i8", "for tensor: dtype of the second operand"),
    TEXT("sum", nw_machine_instruction, sum, "i32", "for tensor: dtype of the result"),
    REAL("pj", "pJ", nw_machine_instruction, pj, 0, 1e9, "0",
         "energy of a tile, of an operation on one element, or of a byte that is copied or filled"),
};

static const nw_field buffer_rows[] = {
    TEXT("name", nw_machine_buffer, name, NULL, "name of its contents"),
    WHOLE("bytes", "bytes", nw_machine_buffer, bytes, 1, MOST, NULL, "size of one such buffer"),
    WHOLE("count", "buffers", nw_machine_buffer, count, 1, 1 << 20, "1", "number of buffers of this kind"),
    WHOLE("word_bits", "bits", nw_machine_buffer, word_bits, 1, 65536, "8", "bits that are read or written at once"),
    REAL("bytes_per_cycle", "bytes per cycle", nw_machine_buffer, bytes_per_cycle, 0, 1e6, "0",
         "bandwidth of one buffer; 0: unlimited"),
    REAL("read_pj", "pJ per byte", nw_machine_buffer, read_pj, 0, 1e6, "0", "energy of a read; 0: not known"),
    REAL("write_pj", "pJ per byte", nw_machine_buffer, write_pj, 0, 1e6, "read_pj", "energy of a write"),
};

const char *nw_class_name(nw_class k) {
  static const char *const names[] = {
#define NW_CLASS(id, name, otherwise, doc) name,
      NW_CLASSES(NW_CLASS)
#undef NW_CLASS
  };
  return (unsigned)k < NW_CLASS_COUNT ? names[k] : NULL;
}

nw_class nw_class_of_f64(nw_class k) {
  const char *name = nw_class_name(k), *next = name ? nw_class_name(k + 1) : NULL;
  size_t n = name ? strlen(name) : 0;
  return next && !strncmp(next, name, n) && !strcmp(next + n, "64") ? k + 1 : k;
}

static const char *class_key(int i) { return nw_class_name((nw_class)i); }

#define ROWS(rows) rows, NW_COUNT(rows)
#define ONE(path, kinds, offset, rows, doc)                                                                            \
  { path, kinds, offset, 0, 0, 1, 1, NULL, ROWS(rows), doc }
#define LIST(path, kinds, base, array, n, least, rows, doc)                                                            \
  {                                                                                                                    \
    path, kinds, offsetof(nw_machine, base array), sizeof(((nw_machine *)0)->base array[0]),                           \
        offsetof(nw_machine, base n), NW_COUNT(((nw_machine *)0)->base array), least, NULL, ROWS(rows), doc            \
  }

const nw_section *nw_machine_sections(int *n) {
  static const nw_section sections[] = {
      ONE("", ALL, 0, all_rows, "every machine"),
      ONE("", CPU, 0, cpu_rows, "a CPU; the fields about a core describe the resources of one thread"),
      {"ops", CPU, offsetof(nw_machine, op), sizeof(nw_op_cost), 0, NW_CLASS_COUNT, 0, class_key, ROWS(op_rows),
       "costs of operations, by class"},
      LIST("caches", CPU, , level, nlevels, 1, level_rows, "data caches, the nearest to a core first"),
      ONE("memory", ALL, offsetof(nw_machine, memory), memory_rows, "memory after the last cache"),
      LIST("teams", CPU, , team, nteams, 0, team_rows, "overhead of a parallel loop, by number of threads"),
      ONE("energy", ALL, offsetof(nw_machine, energy), energy_rows,
          "figures of the energy estimate, by class of operation"),
      ONE("gpu", GPU, offsetof(nw_machine, gpu), gpu_rows, "a GPU"),
      ONE("accelerator", ACCELERATOR, offsetof(nw_machine, accelerator), accelerator_rows, "an accelerator"),
      LIST("accelerator.buffers", ACCELERATOR, accelerator., buffer, nbuffers, 0, buffer_rows,
           "on-chip buffers of an accelerator"),
      LIST("accelerator.units", ACCELERATOR, accelerator., unit, nunits, 0, unit_rows,
           "units of an accelerator, which execute instructions at the same time"),
      LIST("accelerator.queues", ACCELERATOR, accelerator., queue_of, nqueues, 0, queue_rows,
           "queues of tokens between the units"),
      LIST("accelerator.instructions", ACCELERATOR, accelerator., instruction, ninstructions, 0, instruction_rows,
           "instructions of an accelerator"),
  };
  *n = NW_COUNT(sections);
  return sections;
}
