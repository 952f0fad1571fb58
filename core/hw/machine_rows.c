// The fields of the machine record: one row each.
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
    TEXT("name", nw_machine, name, NULL, "what it is called: letters, digits, _ and -"),
    TEXT("about", nw_machine, about, "", "one sentence about it"),
    WORD("kind", nw_machine, kind, "cpu", "cpu gpu accelerator", "what it is"),
    REAL("clock", "GHz", nw_machine, clock, 1e-3, 100, NULL, "clock while it computes"),
    WHOLE("loop_lanes", "iterations", nw_machine, loop_lanes, 1, NW_LANES_ROOM, "256",
          "that a vectorized loop may have: its lanes"),
    WHOLE("stack_bytes", "bytes", nw_machine, stack_bytes, 64, 1 << 30, "262144",
          "of scope local that a thread may have at once"),
};

#define NW_ISA(id, name, features, doc) " " name
static const char isas[] = NW_ISAS(NW_ISA);
#undef NW_ISA

static const nw_field cpu_rows[] = {
    WHOLE("cores", "logical cpus", nw_machine, cores, 1, 65536, NULL, "that threads can run on"),
    REAL("clock_ratio", "core cycles per cycle of the time-stamp counter", nw_machine, clock_ratio, 0, 100, "0",
         "measured; 0: not measured"),
    WORD("isa", nw_machine, isa, "x86_64", isas + 1, "its instruction set"),
    TEXT("cpu", nw_machine, cpu, "",
         "LLVM's name of it, for the code that is made for it; none: any of its instruction set with vectors of "
         "vector_bytes; host: the one that this session runs on"),
    WHOLE("vector_bytes", "bytes", nw_machine, vector_bytes, 8, 64, NULL, "the widest vector of floats"),
    WHOLE("vector_registers", "registers", nw_machine, vector_registers, 1, 1024, NULL, "that hold vectors"),
    REAL("dispatch", "instructions per cycle", nw_machine, dispatch, 0.1, 64, NULL, "that a core can begin at most"),
    REAL("gather", "cycles per lane", nw_machine, gather, 0, 1000, "1", "of a load with an address for each lane"),
    REAL("scatter", "cycles per lane", nw_machine, scatter, 0, 1000, "gather",
         "of a store with an address for each lane"),
    REAL("gather_least", "lanes", nw_machine, gather_least, 0, 64, "1",
         "a gather or scatter of fewer takes as long as one of so many"),
    REAL("gather_instructions", "instructions per lane", nw_machine, gather_instructions, 0, 1000, "1",
         "that a gather or scatter is, as they are dispatched"),
    REAL("line_crossing", "cycles", nw_machine, line_crossing, 0, 10000, "1",
         "what a load costs more when it crosses from a cache line into the next"),
    REAL("page_crossing", "cycles", nw_machine, page_crossing, 0, 10000, "line_crossing",
         "what a load costs more when it crosses from a page of 4096 bytes into the next"),
    REAL("store_crossing", "cycles", nw_machine, store_crossing, 0, 10000, "line_crossing",
         "what a store costs more when it crosses from a cache line into the next"),
    REAL("alias_4k", "cycles", nw_machine, alias_4k, 0, 10000, "0",
         "what a load costs more soon after a store a multiple of 4096 bytes away; nothing reads it"),
    REAL("window", "instructions", nw_machine, window, 1, 1e5, "224",
         "that can be under way at once: the reorder buffer"),
    REAL("scheduler", "instructions", nw_machine, scheduler, 1, 100000, "window",
         "of these that can wait for their operands: the reservation stations"),
    REAL("forward", "cycles", nw_machine, forward, 0, 1000, "5", "from a store to a load of what it stored"),
    REAL("forward_masked", "cycles", nw_machine, forward_masked, 0, 1000, "15",
         "from a store to a load that it answers in part only, because of a mask, or because the load reaches over "
         "more"),
    REAL("store_lines", "lines per cycle", nw_machine, store_lines, 0.01, 64, "1",
         "that stores can write to one after the other; what goes to one line goes together"),
    REAL("branch_miss", "cycles", nw_machine, branch_miss, 0, 1000, "15", "of a branch that was foretold wrongly"),
    REAL("loop", "cycles", nw_machine, loop, 0, 1000, "1", "of an iteration of a loop that does nothing else"),
    REAL("foretold", "iterations", nw_machine, foretold, 0, 1000000, "64", "of a loop whose end is predicted rightly"),
    REAL("call", "cycles", nw_machine, call, 0, 1000, "4",
         "of the call of a function that does nothing; nothing reads it: functions such as exp have classes of their "
         "own"),
    WORD("combine", nw_machine, combine, "max", "max ecm",
         "how times of core and levels become one. max: everything overlaps, the longest is the time. ecm: loads, "
         "stores and "
         "the levels that do not overlap take place one after the other, and the time is that sum or the rest of the "
         "core's "
         "work, whichever is longer"),
};

static const nw_field op_rows[] = {
    {"per_cycle", "instructions per cycle", NW_FIELD_REAL, offsetof(nw_op_cost, per_cycle), NW_WIDTHS, 0, 64, "0", NULL,
     "that a core can do for long: of one number, and of vectors of 16, 32 and 64 bytes; 0: one number after the "
     "other. A "
     "single number instead of four goes for all widths that the machine has"},
    REAL("latency", "cycles", nw_op_cost, latency, 0, 10000, "0", "until what needs the result can begin"),
};

static const nw_field level_rows[] = {
    WHOLE("bytes", "bytes", nw_machine_level, bytes, 1, MOST, NULL, "its size"),
    WHOLE("ways", "lines", nw_machine_level, ways, 1, MOST, NULL,
          "in a set: the line of an address can be in one set only; bytes // line for a fully associative cache"),
    WHOLE("line", "bytes", nw_machine_level, line, 1, 65536, "64", "of a line, a power of two"),
    WHOLE("shared_by", "logical cpus", nw_machine_level, shared_by, 1, 65536, "1", "that have one such cache together"),
    WHOLE("effective_bytes", "bytes", nw_machine_level, effective_bytes, 1, MOST, "bytes",
          "that a program can count on where others use it too"),
    REAL("latency", "cycles", nw_machine_level, latency, 0, 1e6, NULL, "from an address to the value"),
    REAL("bytes_per_cycle", "bytes per cycle", nw_machine_level, bytes_per_cycle, 1e-3, 1e6, NULL,
         "to the level above, or to the registers of one core"),
    REAL("back_per_cycle", "bytes per cycle", nw_machine_level, back_per_cycle, 1e-3, 1e6, "bytes_per_cycle",
         "written back into it by the level above; of the first level, by the stores of one core"),
    REAL("strided", "cycles per line", nw_machine_level, strided, 0, 1e6, "0",
         "that is loaded from it where none is next to the one before; 0: a quarter of the latency"),
    REAL("strided_store", "cycles per line", nw_machine_level, strided_store, 0, 1e6, "0",
         "that is fetched from it to be stored to, and goes back to it, likewise; 0: a third of the latency"),
    REAL("crowded_store", "cycles per line", nw_machine_level, crowded_store, 0, 1e6, "0",
         "the same where one after the other falls into few sets; 0: two thirds of the latency"),
    REAL("strided_across", "cycles per load", nw_machine_level, strided_across, 0, 1e6, "0",
         "that reaches into a second line, while lines come from it of which none is next to the one before; 0: "
         "line_crossing and no more"),
    FLAG("write_allocate", nw_machine_level, write_allocate, "true", "whether a line that is written is fetched first"),
    FLAG("overlaps", nw_machine_level, overlaps, "false",
         "whether its transfers go on beside others; for combine = \"ecm\""),
    REAL("read_pj", "pJ per byte", nw_machine_level, read_pj, 0, 1e6, "0", "energy of reading it; 0: not known"),
    REAL("write_pj", "pJ per byte", nw_machine_level, write_pj, 0, 1e6, "read_pj", "energy of writing it"),
};

static const nw_field memory_rows[] = {
    WHOLE("bytes", "bytes", nw_machine_memory, bytes, 1, MOST, NULL, "its size"),
    REAL("latency", "ns", nw_machine_memory, latency, 0, 1e6, "0",
         "from an address to the value; a cpu must say it; 0: not known"),
    REAL("bandwidth", "GB/s", nw_machine_memory, bandwidth, 1e-3, 1e6, NULL, "for one thread; of a GPU for all of it"),
    REAL("bandwidth_all", "GB/s", nw_machine_memory, bandwidth_all, 1e-3, 1e6, "bandwidth", "for all threads together"),
    FLAG("overlaps", nw_machine_memory, overlaps, "false",
         "whether its transfers go on beside others; for combine = \"ecm\""),
    REAL("read_pj", "pJ per byte", nw_machine_memory, read_pj, 0, 1e6, "0", "energy of reading it; 0: not known"),
    REAL("write_pj", "pJ per byte", nw_machine_memory, write_pj, 0, 1e6, "read_pj", "energy of writing it"),
};

static const nw_field team_rows[] = {
    WHOLE("threads", "threads", nw_machine_team, threads, 2, 65536, NULL, "that run a parallel loop"),
    REAL("spawn", "us", nw_machine_team, spawn, 0, 1e6, NULL, "until the last of them has begun"),
    REAL("barrier", "us", nw_machine_team, barrier, 0, 1e6, NULL,
         "from the end of the last one's work to the end of the loop"),
};

static const nw_field energy_rows[] = {
    REAL("instruction", "pJ", nw_machine_energy, instruction, 0, 1e6, "0", "of an instruction, whatever it does"),
    REAL("static_watts", "W", nw_machine_energy, static_watts, 0, 1e5, "0",
         "what one core takes when it does nothing, or a GPU or an accelerator as a whole"),
#define NW_CLASS(id, name, otherwise, doc)                                                                             \
  {name, "pJ", NW_FIELD_REAL, offsetof(nw_machine_energy, op_pj[NW_CLASS_##id]),     NW_ENERGY_BITS, 0,                \
   1e6,  "0",  NULL,          "of one number of 8, 16, 32 and 64 bits; 0: not known"},
    NW_CLASSES(NW_CLASS)
#undef NW_CLASS
};

#define LIMIT "of a launch"
static const nw_field gpu_rows[] = {
    WHOLE("sms", "multiprocessors", nw_machine_gpu, sms, 1, 65536, NULL, "that it has"),
    WHOLE("lanes", "f32 multiply-adds per cycle", nw_machine_gpu, lanes, 1, 65536, NULL, "of a multiprocessor"),
    WHOLE("lanes64", "f64 multiply-adds per cycle", nw_machine_gpu, lanes64, 0, 65536, "0", "of a multiprocessor"),
    REAL("special_per_cycle", "results per cycle", nw_machine_gpu, special_per_cycle, 0, 65536, "16",
         "of exp, log and the like, of a multiprocessor"),
    WHOLE("warp", "threads", nw_machine_gpu, warp, 1, 1024, "32", "that go on together"),
    WHOLE("warps", "warps", nw_machine_gpu, warps, 1, 4096, NULL, "on a multiprocessor at once, at most"),
    WHOLE("blocks", "blocks", nw_machine_gpu, blocks, 1, 4096, NULL, "on a multiprocessor at once, at most"),
    WHOLE("schedulers", "instructions per cycle", nw_machine_gpu, schedulers, 1, 64, "4",
          "that a multiprocessor begins"),
    WHOLE("registers", "registers", nw_machine_gpu, registers, 1, MOST, "65536", "of 32 bits, of a multiprocessor"),
    WHOLE("registers_thread", "registers", nw_machine_gpu, registers_thread, 1, 65536, "255", "of a thread, at most"),
    WHOLE("register_unit", "registers", nw_machine_gpu, register_unit, 1, 65536, "256",
          "by which a warp's are counted up"),
    WHOLE("shared", "bytes", nw_machine_gpu, shared, 0, MOST, NULL, "of shared memory of a multiprocessor"),
    WHOLE("shared_block", "bytes", nw_machine_gpu, limit.shared_bytes, 0, MOST, "49152",
          "of shared memory of a block, at most"),
    WHOLE("shared_reserved", "bytes", nw_machine_gpu, shared_reserved, 0, MOST, "1024",
          "of shared memory that each block loses"),
    WHOLE("shared_unit", "bytes", nw_machine_gpu, shared_unit, 1, MOST, "128",
          "by which a block's shared memory is counted up"),
    WHOLE("banks", "banks", nw_machine_gpu, banks, 1, 1024, "32", "of 4 bytes, of shared memory"),
    REAL("shared_per_cycle", "bytes per cycle", nw_machine_gpu, shared_per_cycle, 0, 1e6, "128",
         "from shared memory, of a multiprocessor"),
    WHOLE("l1_bytes", "bytes", nw_machine_gpu, l1_bytes, 0, MOST, "shared",
          "of first cache and shared memory together"),
    REAL("l1_per_cycle", "bytes per cycle", nw_machine_gpu, l1_per_cycle, 0, 1e6, "128", "from the first cache"),
    WHOLE("l2_bytes", "bytes", nw_machine_gpu, l2_bytes, 0, MOST, NULL, "of second cache"),
    REAL("l2_bandwidth", "GB/s", nw_machine_gpu, l2_bandwidth, 0, 1e6, "0", "from the second cache; 0: not known"),
    WHOLE("line", "bytes", nw_machine_gpu, line, 1, 65536, "128", "of a cache line"),
    WHOLE("sector", "bytes", nw_machine_gpu, sector, 1, 65536, "32", "that are fetched at once, of a line"),
    REAL("tensor_f16", "TFLOP/s", nw_machine_gpu, tensor_f16, 0, 1e6, "0", "of tensor cores, dense; 0: none"),
    REAL("tensor_tf32", "TFLOP/s", nw_machine_gpu, tensor_tf32, 0, 1e6, "0", "of tensor cores, dense; 0: none"),
    REAL("tensor_int8", "TOP/s", nw_machine_gpu, tensor_int8, 0, 1e6, "0", "of tensor cores, dense; 0: none"),
    REAL("launch", "us", nw_machine_gpu, launch, 0, 1e6, "5", "of a kernel that does nothing"),
    REAL("host_bandwidth", "GB/s", nw_machine_gpu, host_bandwidth, 0, 1e6, "12",
         "between the host's memory and its own"),
    WHOLE("threads", "threads", nw_machine_gpu, limit.threads, 1, 65536, "1024", "of a block, at most"),
    WHOLE("grid_x", "blocks", nw_machine_gpu, limit.extent[0], 1, INT32_MAX, "2147483647", LIMIT),
    WHOLE("grid_y", "blocks", nw_machine_gpu, limit.extent[1], 1, INT32_MAX, "65535", LIMIT),
    WHOLE("grid_z", "blocks", nw_machine_gpu, limit.extent[2], 1, INT32_MAX, "65535", LIMIT),
    WHOLE("block_x", "threads", nw_machine_gpu, limit.extent[3], 1, INT32_MAX, "1024", LIMIT),
    WHOLE("block_y", "threads", nw_machine_gpu, limit.extent[4], 1, INT32_MAX, "1024", LIMIT),
    WHOLE("block_z", "threads", nw_machine_gpu, limit.extent[5], 1, INT32_MAX, "64", LIMIT),
};

static const nw_field accelerator_rows[] = {
    WHOLE("rows", "units", nw_machine_accelerator, rows, 1, 65536, NULL,
          "of the array, along sums where it adds across"),
    WHOLE("columns", "units", nw_machine_accelerator, columns, 1, 65536, NULL, "of the array"),
    WHOLE("depth", "multiply-adds per cycle", nw_machine_accelerator, depth, 1, 65536, "1", "of a unit"),
    WHOLE("input_bits", "bits", nw_machine_accelerator, input_bits, 1, 64, "8", "of an input"),
    WHOLE("weight_bits", "bits", nw_machine_accelerator, weight_bits, 1, 64, "8", "of a weight"),
    WHOLE("sum_bits", "bits", nw_machine_accelerator, sum_bits, 1, 64, "32", "of a sum"),
    WHOLE("queue", "tokens", nw_machine_accelerator, queue, 0, 1 << 20, "0",
          "that wait between two modules; 0: it has no queues"),
    REAL("load_latency", "cycles", nw_machine_accelerator, load_latency, 0, 1e6, "0", "before the first byte is there"),
    REAL("load_per_cycle", "bytes per cycle", nw_machine_accelerator, load_per_cycle, 1e-3, 1e6, NULL, "from memory"),
    REAL("store_latency", "cycles", nw_machine_accelerator, store_latency, 0, 1e6, "load_latency",
         "before the first byte goes"),
    REAL("store_per_cycle", "bytes per cycle", nw_machine_accelerator, store_per_cycle, 1e-3, 1e6, "load_per_cycle",
         "to memory"),
    REAL("network_pj", "pJ per byte", nw_machine_accelerator, network_pj, 0, 1e6, "0", "from one unit to the next"),
};

static const nw_field buffer_rows[] = {
    TEXT("name", nw_machine_buffer, name, NULL, "what it holds"),
    WHOLE("bytes", "bytes", nw_machine_buffer, bytes, 1, MOST, NULL, "of one such buffer"),
    WHOLE("count", "buffers", nw_machine_buffer, count, 1, 1 << 20, "1", "of this kind"),
    WHOLE("word_bits", "bits", nw_machine_buffer, word_bits, 1, 65536, "8", "that are read or written at once"),
    REAL("bytes_per_cycle", "bytes per cycle", nw_machine_buffer, bytes_per_cycle, 0, 1e6, "0",
         "of one; 0: as many as asked for"),
    REAL("read_pj", "pJ per byte", nw_machine_buffer, read_pj, 0, 1e6, "0", "energy of reading it; 0: not known"),
    REAL("write_pj", "pJ per byte", nw_machine_buffer, write_pj, 0, 1e6, "read_pj", "energy of writing it"),
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
      ONE("", ALL, 0, all_rows, "of every machine"),
      ONE("", CPU, 0, cpu_rows, "of a cpu; what is said of a core is said of what one thread has"),
      {"ops", CPU, offsetof(nw_machine, op), sizeof(nw_op_cost), 0, NW_CLASS_COUNT, 0, class_key, ROWS(op_rows),
       "what operations cost, by class"},
      LIST("caches", CPU, , level, nlevels, 1, level_rows, "of data, the nearest to a core first"),
      ONE("memory", ALL, offsetof(nw_machine, memory), memory_rows, "behind the last cache"),
      LIST("teams", CPU, , team, nteams, 0, team_rows,
           "what a parallel loop costs beside its work, by how many threads run it"),
      ONE("energy", ALL, offsetof(nw_machine, energy), energy_rows, "of an estimate of energy, by class of operation"),
      ONE("gpu", GPU, offsetof(nw_machine, gpu), gpu_rows, "of a GPU"),
      ONE("accelerator", ACCELERATOR, offsetof(nw_machine, accelerator), accelerator_rows, "of an accelerator"),
      LIST("accelerator.buffers", ACCELERATOR, accelerator., buffer, nbuffers, 0, buffer_rows,
           "on the chip of an accelerator"),
  };
  *n = NW_COUNT(sections);
  return sections;
}
