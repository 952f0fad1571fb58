// Makes streams of instructions for accelerators, examines them and runs them in time.
#include "bind.h"
#include "nestwright/accelerator.h"
#include <stdlib.h>

#define MAX_ARGS 64
#define MOST_FINDINGS 64
#define MOST_HAPPENED 4096 // hazards of a run that a table lists
#define MOST_OPERANDS 16

static nw_acc *self(lua_State *L) { return nwl_check(L, 1, &nwl_stream_class, "stream"); }
static void release(void *s) { nw_acc_free(s); }

static int f_stream(lua_State *L) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "schedule");
  int64_t sizes[NWL_MAX_DIMS];
  nwl_read_sizes(L, 2, nw_sched_program(s), sizes);
  nw_clear(nwl_ctx(L));
  nwl_box *b = nwl_new(L, &nwl_stream_class, release);
  return nwl_hold(b, nw_acc_of(nwl_ctx(L), nw_sched_program(s), sizes)) ? 1 : nwl_raise(L);
}

static int f_facts(lua_State *L) {
  const nw_acc *s = self(L);
  lua_createtable(L, 0, 5);
  lua_createtable(L, nw_acc_units(s), 0);
  for (int i = 0; i < nw_acc_units(s); i++) {
    nw_acc_unit u = nw_acc_unit_at(s, i);
    lua_createtable(L, 0, 2);
    nwl_set_text(L, "name", u.name);
    nwl_set_integer(L, "instructions", u.instructions);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "units");
  lua_createtable(L, nw_acc_queues(s), 0);
  for (int i = 0; i < nw_acc_queues(s); i++) {
    nw_acc_queue q = nw_acc_queue_at(s, i);
    lua_createtable(L, 0, 3);
    nwl_set_text(L, "from", q.from);
    nwl_set_text(L, "to", q.to);
    nwl_set_integer(L, "tokens", q.tokens);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "queues");
  lua_createtable(L, nw_acc_memories(s), 0);
  for (int i = 0; i < nw_acc_memories(s); i++) {
    nw_acc_memory m = nw_acc_memory_at(s, i);
    lua_createtable(L, 0, 3);
    nwl_set_text(L, "name", m.name);
    nwl_set_integer(L, "used", m.used);
    nwl_set_integer(L, "bytes", m.bytes);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "memories");
  nwl_set_flag(L, "unsafe", nw_acc_unsafe(s));
  nwl_set_integer(L, "left_out", nw_acc_left_out(s));
  return 1;
}

static int f_length(lua_State *L) {
  lua_pushinteger(L, nw_acc_length(self(L)));
  return 1;
}

// Returns the number of an instruction, from 0.
static int instr_arg(lua_State *L, const nw_acc *s, int arg) {
  int64_t i = nwl_integer(L, arg, "instruction");
  if (i >= 1 && i <= nw_acc_length(s)) return (int)i - 1;
  return nwl_fail(L, NW_ERANGE, NULL, "instruction %lld is out of range: the stream has %d", (long long)i,
                  nw_acc_length(s));
}

static void set_queues(lua_State *L, const char *name, uint32_t set) {
  lua_newtable(L);
  for (int q = 0, n = 0; q < 32; q++) {
    if (!(set >> q & 1)) continue;
    lua_pushinteger(L, q + 1);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, name);
}

static void set_list(lua_State *L, const char *name, const int64_t *list, int n) {
  lua_createtable(L, n, 0);
  for (int k = 0; k < n; k++) {
    lua_pushinteger(L, list[k]);
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, name);
}

static int f_instruction(lua_State *L) {
  const nw_acc *s = self(L);
  int i = instr_arg(L, s, 2);
  nw_acc_instr in = nw_acc_instr_at(s, i);
  lua_createtable(L, 0, 13);
  nwl_set_text(L, "name", in.name);
  nwl_set_text(L, "unit", in.unit);
  if (in.id) nwl_set_integer(L, "statement", in.id);
  nwl_set_integer(L, "step", in.step);
  if (in.thread >= 0) nwl_set_integer(L, "thread", in.thread);
  set_queues(L, "takes", in.pop);
  set_queues(L, "puts", in.push);
  if (in.ignores) set_queues(L, "ignores", in.ignores);
  nwl_set_integer(L, "elements", in.elements);
  nwl_set_integer(L, "memory_bytes", in.dram_bytes);
  nwl_set_integer(L, "macs", in.macs);
  nwl_set_number(L, "cycles", in.cycles);
  char *text = nw_acc_instr_text(s, i);
  nwl_set_text(L, "text", text);
  free(text);
  return 1;
}

static int f_operands(lua_State *L) {
  const nw_acc *s = self(L);
  nw_acc_operand o[MOST_OPERANDS];
  int n = nw_acc_operands(s, instr_arg(L, s, 2), o, MOST_OPERANDS);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n && i < MOST_OPERANDS; i++) {
    lua_createtable(L, 0, 10);
    nwl_set_text(L, "memory", o[i].memory);
    nwl_set_text(L, "array", o[i].array);
    nwl_set_flag(L, "read", o[i].read);
    nwl_set_flag(L, "write", o[i].write);
    nwl_set_integer(L, "from", o[i].from);
    nwl_set_integer(L, "to", o[i].to);
    nwl_set_integer(L, "bytes", o[i].bytes);
    nwl_set_integer(L, "row", o[i].row);
    set_list(L, "times", o[i].times, o[i].ndims);
    set_list(L, "strides", o[i].stride, o[i].ndims);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// Returns the tokens that the instructions first..last put or take, as lists {queue, put, take}.
static int f_tokens(lua_State *L) {
  const nw_acc *s = self(L);
  int64_t first = nwl_integer(L, 2, "first") - 1, last = nwl_integer(L, 3, "last") - 1;
  int n = nw_acc_tokens(s, NULL, 0);
  nw_acc_token *t = lua_newuserdata(L, ((size_t)n + 1) * sizeof *t);
  nw_acc_tokens(s, t, n);
  lua_newtable(L);
  for (int i = 0, k = 0; i < n; i++) {
    bool puts = t[i].put >= first && t[i].put <= last, takes = t[i].take >= first && t[i].take <= last;
    if (!puts && !takes) continue;
    lua_createtable(L, 0, 3);
    nwl_set_integer(L, "queue", t[i].queue + 1);
    if (t[i].put >= 0) nwl_set_integer(L, "put", t[i].put + 1);
    if (t[i].take >= 0) nwl_set_integer(L, "take", t[i].take + 1);
    lua_rawseti(L, -2, ++k);
  }
  return 1;
}

static int f_text(lua_State *L) {
  const nw_acc *s = self(L);
  nwl_push_text(L, nw_acc_text(s, nwl_integer_or(L, 2, "lines", 0)));
  return 1;
}

static int queue_arg(lua_State *L, const nw_acc *s, int arg) {
  int64_t q = nwl_integer(L, arg, "queue");
  if (q >= 1 && q <= nw_acc_queues(s)) return (int)q - 1;
  return nwl_fail(L, NW_ERANGE, NULL, "queue %lld is out of range: there are %d", (long long)q, nw_acc_queues(s));
}

static int f_drop(lua_State *L) {
  nw_acc *s = self(L);
  int i = instr_arg(L, s, 2), q = queue_arg(L, s, 3);
  nw_clear(nwl_ctx(L));
  return nw_acc_drop(s, i, q, lua_toboolean(L, 4)) ? 0 : nwl_raise(L);
}

static int f_add(lua_State *L) {
  nw_acc *s = self(L);
  int i = instr_arg(L, s, 2), q = queue_arg(L, s, 3);
  nw_clear(nwl_ctx(L));
  return nw_acc_add(s, i, q, lua_toboolean(L, 4)) ? 0 : nwl_raise(L);
}

static void push_findings(lua_State *L, const nw_acc *s, const nw_acc_finding *f, int n) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_createtable(L, 0, 9);
    nwl_set_text(L, "fault", nw_acc_fault_name(f[i].fault));
    nwl_set_integer(L, "first", f[i].first + 1);
    nwl_set_integer(L, "second", f[i].second + 1);
    if (f[i].memory) {
      nwl_set_text(L, "memory", f[i].memory);
      nwl_set_integer(L, "from", f[i].from);
      nwl_set_integer(L, "to", f[i].to);
    }
    if (f[i].queue >= 0) nwl_set_integer(L, "queue", f[i].queue + 1);
    nwl_set_integer(L, "times", f[i].times);
    if (f[i].waiting) {
      int64_t at[NW_ACC_WAITS];
      for (int k = 0; k < f[i].waiting; k++) at[k] = f[i].wait[k] + 1;
      set_list(L, "waits", at, f[i].waiting);
      if (f[i].again >= 0) nwl_set_integer(L, "again", f[i].wait[f[i].again] + 1);
    }
    char *text = nw_acc_finding_text(s, &f[i]);
    nwl_set_text(L, "text", text);
    free(text);
    lua_rawseti(L, -2, i + 1);
  }
}

static int f_check(lua_State *L) {
  nw_acc *s = self(L);
  nw_acc_finding f[MOST_FINDINGS];
  nw_clear(nwl_ctx(L));
  int n = nw_acc_check(s, f, MOST_FINDINGS);
  if (n < 0) return nwl_raise(L);
  push_findings(L, s, f, n);
  return 1;
}

// ---- a run in time

static void push_usage(lua_State *L, const nw_acc *s, const nw_acc_report *r) {
  lua_createtable(L, r->units, 0);
  for (int u = 0; u < r->units; u++) {
    lua_createtable(L, 0, 5);
    nwl_set_text(L, "name", nw_acc_unit_at(s, u).name);
    nwl_set_number(L, "busy", r->usage[u].busy);
    nwl_set_number(L, "port", r->usage[u].port);
    nwl_set_number(L, "full", r->usage[u].full);
    lua_createtable(L, nw_acc_queues(s), 0);
    for (int q = 0; q < nw_acc_queues(s); q++) {
      lua_pushnumber(L, r->usage[u].waits[q]);
      lua_rawseti(L, -2, q + 1);
    }
    lua_setfield(L, -2, "waits");
    lua_rawseti(L, -2, u + 1);
  }
}

static void push_spans(lua_State *L, const nw_acc_report *r) {
  lua_createtable(L, r->instructions, 0);
  for (int i = 0; i < r->instructions; i++) {
    const nw_acc_span *t = &r->span[i];
    lua_createtable(L, 0, 6);
    nwl_set_number(L, "from", t->from);
    nwl_set_number(L, "to", t->to);
    nwl_set_number(L, "put", t->put);
    nwl_set_number(L, "ready", t->ready);
    if (t->waits >= 0) nwl_set_integer(L, "waits", t->waits + 1);
    nwl_set_number(L, "port", t->port);
    lua_rawseti(L, -2, i + 1);
  }
}

// Adds the hazards that happened to the table of a run. Returns false, with a diagnostic, on failure.
static bool set_happened(lua_State *L, nw_acc *s, const nw_acc_report *r) {
  nw_acc_finding *f = lua_newuserdata(L, MOST_HAPPENED * sizeof *f);
  int n = nw_acc_happened(s, r, f, MOST_HAPPENED);
  if (n < 0) return false;
  push_findings(L, s, f, n < MOST_HAPPENED ? n : MOST_HAPPENED);
  lua_setfield(L, -3, "happened");
  lua_pop(L, 1);
  nwl_set_integer(L, "times_happened", n);
  return true;
}

static void set_memories(lua_State *L, const nw_acc *s, const int64_t *read, const int64_t *written) {
  lua_createtable(L, nw_acc_memories(s), 0);
  for (int i = 0; i < nw_acc_memories(s); i++) {
    lua_createtable(L, 0, 3);
    nwl_set_text(L, "name", nw_acc_memory_at(s, i).name);
    nwl_set_integer(L, "read", read[i]);
    nwl_set_integer(L, "written", written[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "memories");
}

static int f_run(lua_State *L) {
  nw_acc *s = self(L);
  nw_array *args[MAX_ARGS];
  nwl_table(L, 2, "options");
  nw_acc_opts o = {.serial = nwl_flag_in(L, 2, "serial"),
                   .no_war = nwl_flag_in(L, 2, "no_war"),
                   .no_tokens = nwl_flag_in(L, 2, "no_tokens"),
                   .args = args};
  lua_getfield(L, 2, "arguments");
  int list = lua_gettop(L);
  o.values = !lua_isnil(L, list);
  o.nargs = o.values ? nwl_list_length(L, list, MAX_ARGS, "arguments") : 0;
  for (int i = 0; i < o.nargs; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, list, i + 1);
    args[i] = nwl_array_to_write(L, lua_gettop(L), "argument");
  }
  nw_acc_report r;
  nw_clear(nwl_ctx(L));
  if (!nw_acc_run(s, &o, &r)) return nwl_raise(L);
  lua_createtable(L, 0, 11);
  nwl_set_number(L, "cycles", r.cycles);
  nwl_set_integer(L, "memory_read", r.dram_read);
  nwl_set_integer(L, "memory_written", r.dram_written);
  nwl_set_integer(L, "macs", r.macs);
  nwl_set_number(L, "pj", r.pj);
  set_memories(L, s, r.read, r.written);
  nwl_set_flag(L, "stuck", r.stuck);
  push_usage(L, s, &r);
  lua_setfield(L, -2, "units");
  lua_createtable(L, nw_acc_queues(s), 0);
  for (int q = 0; q < nw_acc_queues(s); q++) {
    lua_pushinteger(L, r.depth[q]);
    lua_rawseti(L, -2, q + 1);
  }
  lua_setfield(L, -2, "depth");
  if (nwl_flag_in(L, 2, "spans")) {
    push_spans(L, &r);
    lua_setfield(L, -2, "spans");
  }
  bool good = !nwl_flag_in(L, 2, "happened") || set_happened(L, s, &r);
  nw_acc_report_free(&r);
  return good ? 1 : nwl_raise(L);
}

// Sets the fields of predicted work in the table on the top of the stack.
static void set_work(lua_State *L, const nw_acc *s, const nw_acc_work *w, int units) {
  nwl_set_number(L, "cycles", w->cycles);
  nwl_set_number(L, "port", w->port);
  nwl_set_integer(L, "instructions", w->instructions);
  nwl_set_integer(L, "macs", w->macs);
  nwl_set_integer(L, "memory_read", w->dram_read);
  nwl_set_integer(L, "memory_written", w->dram_written);
  nwl_set_number(L, "pj", w->pj);
  set_memories(L, s, w->read, w->written);
  lua_createtable(L, units, 0);
  for (int u = 0; u < units; u++) {
    lua_createtable(L, 0, 2);
    nwl_set_text(L, "name", nw_acc_unit_at(s, u).name);
    nwl_set_number(L, "busy", w->busy[u]);
    lua_rawseti(L, -2, u + 1);
  }
  lua_setfield(L, -2, "units");
}

static int f_model(lua_State *L) {
  const nw_acc *s = self(L);
  nw_acc_model m;
  nw_acc_predict(s, &m);
  lua_createtable(L, 0, 12);
  set_work(L, s, &m.all, m.units);
  lua_createtable(L, m.nparts, 0);
  for (int i = 0; i < m.nparts; i++) {
    lua_createtable(L, 0, 12);
    set_work(L, s, &m.part[i].work, m.units);
    nwl_set_text(L, "name", m.part[i].loop);
    nwl_set_integer(L, "id", m.part[i].id);
    nwl_set_integer(L, "depth", m.part[i].depth);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "loops");
  if (m.steady.loop) {
    lua_createtable(L, 0, 4);
    nwl_set_text(L, "loop", m.steady.loop);
    nwl_set_integer(L, "iterations", m.steady.iterations);
    nwl_set_number(L, "prologue", m.steady.prologue);
    nwl_set_number(L, "interval", m.steady.interval);
    lua_setfield(L, -2, "steady");
  }
  return 1;
}

const nwl_class nwl_stream_class = {"stream", "nestwright.stream", "accelerators", NULL, NULL, NULL};

const nwl_row nwl_accelerator_rows[] = {
    {"stream", f_stream, "(s: nw.schedule, sizes: table): nw.stream", "Returns the stream of a schedule."},
    {"stream_facts", f_facts, "(s: nw.stream): table", "Returns the units, queues and memories of a stream."},
    {"stream_length", f_length, "(s: nw.stream): integer", "Returns the number of instructions."},
    {"stream_instruction", f_instruction, "(s: nw.stream, number: integer): table", "Returns an instruction."},
    {"stream_operands", f_operands, "(s: nw.stream, number: integer): table[]",
     "Returns what an instruction accesses."},
    {"stream_tokens", f_tokens, "(s: nw.stream, first: integer, last: integer): table[]",
     "Returns the tokens that some instructions put or take."},
    {"stream_text", f_text, "(s: nw.stream, lines?: integer): string", "Returns the stream as text."},
    {"stream_drop", f_drop, "(s: nw.stream, instruction: integer, queue: integer, alone: boolean)", "Removes a token."},
    {"stream_add", f_add, "(s: nw.stream, instruction: integer, queue: integer, put: boolean)", "Adds a token."},
    {"stream_check", f_check, "(s: nw.stream): table[]", "Returns what is wrong with the tokens."},
    {"stream_run", f_run, "(s: nw.stream, options: table): table", "Runs a stream in time."},
    {"stream_model", f_model, "(s: nw.stream): table", "Predicts the cycles of a stream."},
    {NULL, NULL, NULL, NULL},
};
