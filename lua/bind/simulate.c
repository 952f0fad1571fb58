// Runs schedules on the simulated GPU.
#include "bind.h"
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 64

static void set_three(lua_State *L, const char *name, const int64_t *v) {
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, v[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

// Sets a field to an access: {block, thread, step, statement, write}.
static void set_place(lua_State *L, const char *name, const nw_gpu_place *p) {
  lua_createtable(L, 0, 5);
  set_three(L, "block", p->block);
  set_three(L, "thread", p->thread);
  if (p->id) {
    nwl_set_integer(L, "statement", p->id);
    nwl_set_integer(L, "step", p->step);
  }
  nwl_set_flag(L, "write", p->write);
  lua_setfield(L, -2, name);
}

static void push_finding(lua_State *L, const nw_gpu_finding *f) {
  lua_createtable(L, 0, 9);
  nwl_set_text(L, "fault", nw_gpu_fault_name(f->fault));
  nwl_set_integer(L, "kernel", f->kernel + 1);
  nwl_set_text(L, "buffer", f->buffer);
  if (f->buffer) nwl_set_integer(L, "element", f->element);
  if (f->has_first) set_place(L, "first", &f->first);
  set_place(L, "second", &f->second);
  nwl_set_integer(L, "times", f->times);
  char *text = nw_gpu_finding_text(f);
  nwl_set_text(L, "text", text);
  free(text);
}

static void push_access(lua_State *L, const nw_gpu_access *a) {
  lua_createtable(L, 0, 18);
  nwl_set_integer(L, "kernel", a->kernel + 1);
  nwl_set_integer(L, "statement", a->id);
  nwl_set_integer(L, "step", a->step);
  nwl_set_text(L, "buffer", a->buffer);
  nwl_set_text(L, "scope", a->scope);
  nwl_set_integer(L, "bytes", a->bytes);
  nwl_set_flag(L, "write", a->write);
  nwl_set_flag(L, "atomic", a->atomic);
  nwl_set_flag(L, "async", a->async);
  nwl_set_integer(L, "requests", a->requests);
  nwl_set_integer(L, "lanes", a->lanes);
  nwl_set_integer(L, "sectors", a->sectors);
  nwl_set_integer(L, "lines", a->lines);
  nwl_set_integer(L, "wavefronts", a->wavefronts);
  nwl_set_number(L, "compiled", a->compiled);
  nwl_set_number(L, "compiled_wavefronts", a->compiled_wavefronts);
  nwl_set_integer(L, "l1_hits", a->l1_hits);
  nwl_set_integer(L, "l2_hits", a->l2_hits);
  lua_newtable(L);
  for (int i = 1; i < NW_GPU_DEGREES; i++) {
    if (!a->degree[i]) continue;
    lua_pushinteger(L, a->degree[i]);
    lua_rawseti(L, -2, i);
  }
  lua_setfield(L, -2, "degrees");
}

static void push_kernel(lua_State *L, const nw_gpu_kernel *k) {
  lua_createtable(L, 0, 22);
  set_three(L, "grid", k->extent);
  set_three(L, "block", k->extent + 3);
  nwl_set_integer(L, "launches", k->launches);
  nwl_set_integer(L, "blocks", k->blocks);
  nwl_set_integer(L, "simulated", k->simulated);
  nwl_set_integer(L, "warps", k->warps);
  nwl_set_integer(L, "barriers", k->barriers);
  nwl_set_integer(L, "statements", k->issued);
  nwl_set_integer(L, "active", k->active);
  nwl_set_integer(L, "shared_bytes", k->shared_bytes);
  nwl_set_integer(L, "registers", k->registers);
  nwl_set_flag(L, "assembled", k->assembled);
  nwl_set_integer(L, "local_bytes", k->local_bytes);
  if (k->waves) {
    nwl_set_integer(L, "waves", k->waves);
    nwl_set_integer(L, "replayed", k->replayed);
    nwl_set_flag(L, "cut", k->cut);
    nwl_set_integer(L, "dram_read", k->dram_read);
    nwl_set_integer(L, "dram_written", k->dram_written);
  }
  if (k->limiter) {
    nwl_set_integer(L, "resident", k->resident);
    nwl_set_number(L, "occupancy", k->occupancy);
    nwl_set_text(L, "limiter", k->limiter);
  }
  lua_newtable(L);
  for (int i = 0; nw_gpu_class(i); i++)
    if (k->instructions[i]) nwl_set_integer(L, nw_gpu_class(i), k->instructions[i]);
  lua_setfield(L, -2, "instructions");
}

static void push_report(lua_State *L, const nw_gpu_report *r) {
  lua_createtable(L, 0, 8);
  lua_createtable(L, nw_gpu_findings(r), 0);
  for (int i = 0; i < nw_gpu_findings(r); i++) {
    push_finding(L, nw_gpu_finding_at(r, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "findings");
  lua_createtable(L, nw_gpu_accesses(r), 0);
  for (int i = 0; i < nw_gpu_accesses(r); i++) {
    push_access(L, nw_gpu_access_at(r, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "accesses");
  lua_createtable(L, nw_gpu_kernels(r), 0);
  for (int i = 0; i < nw_gpu_kernels(r); i++) {
    push_kernel(L, nw_gpu_kernel_at(r, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "kernels");
  nwl_set_number(L, "seconds", nw_gpu_seconds(r));
  nwl_set_text(L, "machine", nw_gpu_machine(r));
}

static void push_part(lua_State *L, const nw_gpu_part *p, const nw_gpu_part_time *t) {
  lua_createtable(L, 0, 12);
  nwl_set_integer(L, "kernel", p->kernel + 1);
  if (p->name) nwl_set_text(L, "name", p->name);
  if (p->id) nwl_set_integer(L, "id", p->id);
  nwl_set_integer(L, "depth", p->depth);
  nwl_set_number(L, "times", p->times);
  nwl_set_number(L, "issued", p->issued);
  nwl_set_number(L, "f32", p->f32);
  nwl_set_number(L, "f64", p->f64);
  nwl_set_number(L, "ints", p->ints);
  nwl_set_number(L, "special", p->special);
  nwl_set_number(L, "tensor", p->tensor + p->tensor_tf32);
  nwl_set_number(L, "tensor_tf32", p->tensor_tf32);
  nwl_set_number(L, "seconds", t->seconds);
  nwl_set_text(L, "bottleneck", nw_gpu_limit_name(t->bound));
}

static void push_time(lua_State *L, const nw_gpu_time *t) {
  lua_createtable(L, 0, 4);
  nwl_set_number(L, "seconds", t->seconds);
  nwl_set_number(L, "waves", t->waves);
  nwl_set_text(L, "bottleneck", nw_gpu_limit_name(t->bound));
  lua_newtable(L);
  for (int i = 0; i < NW_GPU_LIMIT_COUNT; i++) {
    lua_createtable(L, 0, 2);
    nwl_set_text(L, "name", nw_gpu_limit_name((nw_gpu_limit)i));
    nwl_set_number(L, "seconds", t->limit[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "limits");
}

// Sets the seconds in which a multiprocessor executes 1, 2, ... blocks at the same time.
static void push_block_times(lua_State *L, const nw_gpu_cost *k, int kernel, int64_t resident) {
  lua_createtable(L, (int)resident, 0);
  for (int64_t n = 1; n <= resident; n++) {
    lua_pushnumber(L, nw_gpu_cost_blocks(k, kernel, n));
    lua_rawseti(L, -2, n);
  }
  lua_setfield(L, -2, "blocks_seconds");
}

// True if access i is a store to global memory, and the first one to its array.
static bool is_first_store(const nw_gpu_block_kind *k, int i) {
  const nw_gpu_access *a = &k->access[i];
  if (!a->write || !a->requests || strcmp(a->scope, "global")) return false;
  for (int j = 0; j < i; j++)
    if (k->access[j].write && k->access[j].requests && !strcmp(k->access[j].buffer, a->buffer)) return false;
  return true;
}

// Sets the kinds of blocks of a kernel, if there are several: {blocks (their number), writes (arrays in global memory)}.
static void set_kinds(lua_State *L, const nw_gpu_report *r, int kernel) {
  int n = nw_gpu_block_kinds(r, kernel);
  if (!n) return;
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    const nw_gpu_block_kind *k = nw_gpu_block_kind_at(r, kernel, i);
    lua_createtable(L, 0, 2);
    nwl_set_integer(L, "blocks", k->blocks);
    lua_newtable(L);
    for (int a = 0; a < k->naccesses; a++) {
      if (!is_first_store(k, a)) continue;
      lua_pushstring(L, k->access[a].buffer);
      lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
    lua_setfield(L, -2, "writes");
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "kinds");
}

// Sets the times of the first `most` blocks of a kernel, if there are several kinds of them.
static void set_schedule(lua_State *L, const nw_gpu_cost *k, int kernel, int most) {
  nw_gpu_block_time *block = lua_newuserdatauv(L, (size_t)most * sizeof *block, 0);
  int64_t n = nw_gpu_cost_schedule(k, kernel, most, block);
  lua_createtable(L, (int)n, 0);
  for (int64_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 5);
    nwl_set_integer(L, "sm", block[i].sm);
    nwl_set_integer(L, "place", block[i].place);
    nwl_set_integer(L, "kind", block[i].kind + 1);
    nwl_set_number(L, "from", block[i].from);
    nwl_set_number(L, "to", block[i].to);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -3, "schedule");
  lua_pop(L, 1);
}

// Pushes the predicted times of a report's kernels and parts. schedule: the number of blocks whose times are wanted.
static void push_cost(lua_State *L, const nw_gpu_report *r, const nw_gpu_cost *k, int schedule) {
  lua_createtable(L, 0, 2);
  lua_createtable(L, nw_gpu_kernels(r), 0);
  for (int i = 0; i < nw_gpu_kernels(r); i++) {
    nw_gpu_time t = nw_gpu_cost_kernel(k, i);
    push_time(L, &t);
    push_block_times(L, k, i, nw_gpu_kernel_at(r, i)->resident);
    set_kinds(L, r, i);
    if (schedule && nw_gpu_block_kinds(r, i)) set_schedule(L, k, i, schedule);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "kernels");
  lua_createtable(L, nw_gpu_parts(r), 0);
  for (int i = 0; i < nw_gpu_parts(r); i++) {
    nw_gpu_part_time t = nw_gpu_cost_part(k, i);
    push_part(L, nw_gpu_part_at(r, i), &t);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "parts");
}

static nw_gpu_opts read_options(lua_State *L, int at) {
  nwl_table(L, at, "options");
  nw_gpu_opts o = {.caches = nwl_flag_in(L, at, "caches"),
                   .classes = nwl_flag_in(L, at, "classes"),
                   .estimates = nwl_flag_in(L, at, "estimates")};
  lua_getfield(L, at, "threads");
  o.threads = nwl_count_or(L, lua_gettop(L), "threads", 1, 64, 0);
  lua_getfield(L, at, "machine");
  if (!lua_isnil(L, -1)) o.machine = nwl_check(L, lua_gettop(L), &nwl_machine_class, "machine");
  lua_pop(L, 2);
  return o;
}

static int f_simulate(lua_State *L) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "schedule");
  nw_array *args[MAX_ARGS];
  int n = nwl_list_length(L, 2, MAX_ARGS, "arguments");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, 2, i + 1);
    args[i] = nwl_array_to_write(L, lua_gettop(L), "argument");
  }
  nw_gpu_opts o = read_options(L, 3);
  nw_clear(nwl_ctx(L));
  nw_gpu_report *r = nw_gpu_simulate(nwl_ctx(L), nw_sched_program(s), &o, n, args);
  if (!r) return nwl_raise(L);
  push_report(L, r);
  nw_gpu_report_free(r);
  return 1;
}

// ---- what single warps do

static void set_request_lane(lua_State *L, const nw_warp_request *r, int l) {
  lua_createtable(L, 0, 3);
  nwl_set_integer(L, "lane", l);
  nwl_set_integer(L, "address", r->address[l]);
  lua_createtable(L, r->words, 0);
  for (int i = 0; i < r->words; i++) {
    lua_pushinteger(L, r->wavefront[l][i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "wavefronts");
}

static void push_request(lua_State *L, const nw_warp_request *r) {
  lua_createtable(L, 0, 8);
  nwl_set_integer(L, "statement", r->id);
  nwl_set_integer(L, "step", r->step);
  nwl_set_text(L, "scope", r->scope);
  nwl_set_integer(L, "bytes", r->bytes);
  nwl_set_integer(L, "sectors", r->sectors);
  nwl_set_integer(L, "wavefronts", r->wavefronts);
  lua_createtable(L, NW_GPU_LANES, 0);
  for (int l = 0, n = 0; l < NW_GPU_LANES; l++) {
    if (!(r->lanes >> l & 1)) continue;
    set_request_lane(L, r, l);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "lanes");
}

static void push_span(lua_State *L, const nw_warp_span *s) {
  lua_createtable(L, 0, 8);
  set_three(L, "block", s->block);
  nwl_set_integer(L, "warp", s->warp);
  nwl_set_integer(L, "part", s->part);
  nwl_set_integer(L, "statements", s->statements);
  nwl_set_text(L, "buffer", s->buffer);
  nwl_set_integer(L, "statement", s->id);
  nwl_set_integer(L, "step", s->step);
  lua_createtable(L, s->nloops, 0);
  for (int i = 0; i < s->nloops; i++) {
    lua_createtable(L, 0, 2);
    nwl_set_text(L, "name", s->loop[i].name);
    nwl_set_integer(L, "value", s->loop[i].value);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "loops");
}

static void push_record(lua_State *L, const nw_gpu_report *r) {
  nw_gpu_units units = nw_gpu_units_of(r);
  lua_createtable(L, 0, 8);
  lua_createtable(L, nw_warp_requests(r), 0);
  for (int i = 0; i < nw_warp_requests(r); i++) {
    push_request(L, nw_warp_request_at(r, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "requests");
  lua_createtable(L, nw_warp_spans(r), 0);
  for (int i = 0; i < nw_warp_spans(r); i++) {
    push_span(L, nw_warp_span_at(r, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "spans");
  nwl_set_integer(L, "seen", nw_warp_requests_seen(r));
  nwl_set_integer(L, "sector", units.sector);
  nwl_set_integer(L, "line", units.line);
  nwl_set_integer(L, "banks", units.banks);
  nwl_set_integer(L, "warp", units.warp);
  nwl_set_text(L, "machine", nw_gpu_machine(r));
}

#define MOST_RECORDED 100000

static int64_t field_integer(lua_State *L, int at, const char *name) {
  lua_getfield(L, at, name);
  int64_t v = nwl_integer_or(L, lua_gettop(L), name, 0);
  lua_pop(L, 1);
  return v;
}

static nw_gpu_watch read_watch(lua_State *L, int at) {
  nwl_table(L, at, "watch");
  nw_gpu_watch w = {.kernel = (int)field_integer(L, at, "kernel") - 1,
                    .warp = (int)field_integer(L, at, "warp"),
                    .blocks = field_integer(L, at, "blocks"),
                    .skip = field_integer(L, at, "skip"),
                    .requests = field_integer(L, at, "requests"),
                    .spans = field_integer(L, at, "spans"),
                    .write = nwl_flag_in(L, at, "write")};
  if (w.requests > MOST_RECORDED || w.spans > MOST_RECORDED)
    nwl_fail(L, NW_ELIMIT, NULL, "at most %d requests or spans are recorded", MOST_RECORDED);
  lua_getfield(L, at, "buffer"); // stays on the stack, which keeps the text
  if (!lua_isnil(L, -1)) w.buffer = nwl_string(L, lua_gettop(L), "buffer");
  lua_getfield(L, at, "block");
  for (int d = 0; d < 3 && lua_istable(L, -1); d++, lua_pop(L, 1)) {
    lua_rawgeti(L, -1, d + 1);
    w.block[d] = nwl_integer(L, lua_gettop(L), "block");
  }
  lua_pop(L, 1);
  return w;
}

static int f_watch(lua_State *L) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "schedule");
  int64_t sizes[NWL_MAX_DIMS];
  nwl_read_sizes(L, 2, nw_sched_program(s), sizes);
  nw_gpu_opts o = read_options(L, 3);
  nw_gpu_watch watch = read_watch(L, 4);
  o.watch = &watch;
  nw_clear(nwl_ctx(L));
  nw_gpu_report *r = nw_gpu_count(nwl_ctx(L), nw_sched_program(s), &o, sizes);
  if (!r) return nwl_raise(L);
  push_record(L, r);
  nw_gpu_report_free(r);
  return 1;
}

// ---- counts

// Reads the arguments (schedule, sizes, options), and makes the counts.
static nw_gpu_report *counted(lua_State *L, nw_gpu_opts *o) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "schedule");
  int64_t sizes[NWL_MAX_DIMS];
  nwl_read_sizes(L, 2, nw_sched_program(s), sizes);
  *o = read_options(L, 3);
  nw_clear(nwl_ctx(L));
  nw_gpu_report *r = nw_gpu_count(nwl_ctx(L), nw_sched_program(s), o, sizes);
  if (!r) nwl_raise(L);
  return r;
}

static int f_counts(lua_State *L) {
  nw_gpu_opts o;
  nw_gpu_report *r = counted(L, &o);
  push_report(L, r);
  nw_gpu_report_free(r);
  return 1;
}

static int f_cost(lua_State *L) {
  nw_gpu_opts o;
  nw_gpu_report *r = counted(L, &o);
  nw_gpu_cost *k = nw_gpu_cost_of(nwl_ctx(L), r, o.machine);
  if (!k) {
    nw_gpu_report_free(r);
    return nwl_raise(L);
  }
  lua_getfield(L, 3, "schedule");
  int schedule = nwl_count_or(L, lua_gettop(L), "schedule", 1, 1 << 20, 0);
  push_report(L, r);
  push_cost(L, r, k, schedule);
  nw_gpu_cost_free(k);
  nw_gpu_report_free(r);
  return 2;
}

static int f_occupancy(lua_State *L) {
  const nw_machine *m = nwl_check(L, 1, &nwl_machine_class, "machine");
  int threads = nwl_count_or(L, 2, "threads", 1, 1 << 16, 1),
      registers = nwl_count_or(L, 3, "registers", 0, 1 << 16, 0);
  int bytes = nwl_count_or(L, 4, "shared", 0, INT32_MAX, 0);
  nw_gpu_occupancy o;
  nw_clear(nwl_ctx(L));
  if (!nw_gpu_occupancy_of(nwl_ctx(L), m, threads, registers, bytes, &o)) return nwl_raise(L);
  lua_createtable(L, 0, 4);
  nwl_set_integer(L, "blocks", o.blocks);
  nwl_set_number(L, "occupancy", o.share);
  nwl_set_text(L, "limiter", nw_gpu_resource_name(o.limiter));
  lua_createtable(L, 0, NW_GPU_RESOURCES);
  for (int i = 0; i < NW_GPU_RESOURCES; i++)
    if (o.limit[i] != NW_GPU_UNLIMITED) nwl_set_integer(L, nw_gpu_resource_name((nw_gpu_resource)i), o.limit[i]);
  lua_setfield(L, -2, "limits");
  return 1;
}

const nwl_row nwl_simulate_rows[] = {
    {"simulate", f_simulate, "(s: nw.schedule, arguments: nw.array[], options: table): table",
     "Runs the lowered schedule on a simulated GPU. Returns the faults that were found, and counts for each load and "
     "store and for each kernel. options: {threads, machine, caches}."},
    {"gpu_counts", f_counts, "(s: nw.schedule, sizes: integer[], options: table): table",
     "Makes the counts without arrays. options: {threads, machine, caches, classes}."},
    {"gpu_cost", f_cost, "(s: nw.schedule, sizes: integer[], options: table): table, table",
     "Makes the counts, and predicts the times of kernels and loops on options.machine. options.schedule: the number "
     "of "
     "blocks whose times are wanted, for kernels with several kinds of blocks."},
    {"gpu_occupancy", f_occupancy, "(m: nw.machine, threads: integer, registers: integer, shared: integer): table",
     "The number of blocks that a multiprocessor runs at the same time: {blocks, occupancy, limiter, limits (blocks if "
     "a "
     "resource were the only one, by its name)}. shared: bytes of a block."},
    {"gpu_watch", f_watch, "(s: nw.schedule, sizes: integer[], options: table, watch: table): table",
     "Simulates some blocks of a kernel, without arrays, and returns what was recorded. watch: {kernel, block, blocks; "
     "buffer, "
     "write, warp, skip and requests select requests; spans}. The answer has requests, seen (the number of requests of "
     "the warp), spans, and the units of memory: sector, line, banks and warp."},
    {NULL, NULL, NULL, NULL},
};
