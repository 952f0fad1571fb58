// Lists the executions of a schedule's blocks, in order. After a refused step, the executions of two programs can be
// listed: the program before the step, and the program that the refused step made.
#include "bind.h"
#include <limits.h>

static void release_refused(void *p) { nw_refused_release(p); }
static void release_visits(void *p) { nw_visits_free(p); }

const nwl_class nwl_refused_class = {"refused", "nestwright.refused", NULL, NULL, NULL, NULL};
const nwl_class nwl_visits_class = {"visits", "nestwright.visits", NULL, NULL, NULL, NULL};

static const char programs_key; // registry key of a table that maps refusals, as weak keys, to their programs

static void push_programs(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &programs_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushstring(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &programs_key);
}

void nwl_keep_programs(lua_State *L, int refusal, nw_sched *s) {
  refusal = lua_absindex(L, refusal);
  push_programs(L);
  lua_pushvalue(L, refusal);
  nwl_box *b = nwl_new(L, &nwl_refused_class, release_refused);
  nwl_hold(b, nw_sched_refused(s));
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

static int f_programs(lua_State *L) {
  push_programs(L);
  lua_pushvalue(L, 1);
  lua_rawget(L, -2);
  return 1;
}

// Returns the refusal of the last step, or nil.
static int f_refusal(lua_State *L) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "schedule");
  nwl_box *b = nwl_new(L, &nwl_refused_class, release_refused);
  const nw_refused *r = b->p = nw_sched_refused(s);
  if (!r || !nw_refused_why(r)) return 0;
  nwl_push_refusal(L, nw_refused_why(r));
  nwl_keep_programs(L, -1, s);
  return 1;
}

// Returns the program that arguments 1 and 2 select: the program of a schedule, or one of the two programs of a refused
// step.
static const nw_program *program_arg(lua_State *L) {
  nw_sched *s = nwl_test(L, 1, &nwl_schedule_class);
  if (s) return nw_sched_program(s);
  const nw_program *p = nw_refused_program(nwl_check(L, 1, &nwl_refused_class, "refusal"), lua_toboolean(L, 2));
  if (!p) nwl_fail(L, NW_EINVAL, NULL, "the step did not produce a program");
  return p;
}

static void read_integers(lua_State *L, int arg, int max, int n, int64_t *out, const char *name) {
  int given = nwl_list_length(L, arg, max, name);
  if (given != n) nwl_fail(L, NW_EINVAL, NULL, "%s: expected %d, got %d", name, n, given);
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, arg, i + 1);
    out[i] = nwl_integer(L, -1, name);
  }
}

// Makes, pushes and returns a query for executions of the selected program, with the sizes in argument 3.
static nw_visits *new_visits(lua_State *L) {
  const nw_program *p = program_arg(L);
  int64_t sizes[NWL_MAX_DIMS];
  read_integers(L, 3, NWL_MAX_DIMS, nw_program_sizes(p), sizes, "sizes");
  nwl_box *b = nwl_new(L, &nwl_visits_class, release_visits);
  nw_clear(nwl_ctx(L));
  nwl_hold(b, nw_visits_new(nwl_ctx(L), p, sizes));
  if (!b->p) nwl_raise(L);
  return b->p;
}

static void push_integers(lua_State *L, int n, const int64_t *values) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, values[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

// ---- blocks

// Pushes an axis. Its field `step` is a list with an entry for each loop: the change of the axis per iteration, or
// false if this change is not constant.
static void push_axis(lua_State *L, const nw_visit_axis *a, int nloops) {
  lua_createtable(L, 0, 5);
  nwl_set_text(L, "name", a->name);
  nwl_set_text(L, "kind", a->kind == 's' ? "spatial" : a->kind == 'r' ? "reduce" : "ordered");
  nwl_set_integer(L, "lo", a->lo);
  nwl_set_integer(L, "extent", a->extent);
  lua_createtable(L, nloops, 0);
  for (int i = 0; i < nloops; i++) {
    if (a->step[i] == INT64_MIN)
      lua_pushboolean(L, 0);
    else
      lua_pushinteger(L, a->step[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "step");
}

static void push_loop(lua_State *L, const nw_visit_loop *l) {
  lua_createtable(L, 0, 2);
  nwl_set_text(L, "name", l->name);
  nwl_set_text(L, "mark", l->mark);
}

static void push_block(lua_State *L, const nw_visit_block *b) {
  lua_createtable(L, 0, 6);
  nwl_set_text(L, "name", b->name);
  nwl_set_text(L, "stage", b->stage);
  nwl_set_text(L, "buffer", b->buffer);
  lua_pushboolean(L, b->init);
  lua_setfield(L, -2, "init");
  lua_createtable(L, b->naxes, 0);
  for (int i = 0; i < b->naxes; i++) {
    push_axis(L, &b->axis[i], b->nloops);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "axes");
  lua_createtable(L, b->nloops, 0);
  for (int i = 0; i < b->nloops; i++) {
    push_loop(L, &b->loop[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "loops");
}

static int f_blocks(lua_State *L) {
  nw_visits *v = new_visits(L);
  int n = nw_visits_blocks(v);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_block(L, nw_visits_block(v, i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// ---- executions

static void push_visit(lua_State *L, const nw_visited *x, const nw_visit_block *b) {
  lua_createtable(L, 0, 4);
  nwl_set_integer(L, "block", x->block + 1);
  push_integers(L, b->naxes, x->axis);
  lua_setfield(L, -2, "axes");
  push_integers(L, b->nloops, x->loop);
  lua_setfield(L, -2, "loops");
  push_integers(L, b->nindex, x->index);
  lua_setfield(L, -2, "index");
}

#define MOST_VALUES 4096

static void read_values(lua_State *L, nw_visits *v, int block, int axis) {
  int at = lua_gettop(L), n = nwl_list_length(L, at, MOST_VALUES, "values");
  int64_t *value = lua_newuserdatauv(L, sizeof *value * (size_t)(n + 1), 0);
  read_integers(L, at, MOST_VALUES, n, value, "values");
  nw_visits_only(v, block, axis, n, value);
  lua_pop(L, 1);
}

// Reads the table on top, which has an entry for each axis: the list of wanted values, or false for all values.
static void read_asked(lua_State *L, nw_visits *v, int block) {
  int at = lua_gettop(L), n = nw_visits_block(v, block)->naxes;
  nwl_table(L, at, "axes");
  nw_visits_ask(v, block);
  for (int i = 0; i < n; i++, lua_pop(L, 1))
    if (lua_rawgeti(L, at, i + 1) == LUA_TTABLE) read_values(L, v, block, i);
}

static int f_visits(lua_State *L) {
  nwl_table(L, 4, "asked");
  lua_Integer most = nwl_integer(L, 5, "most");
  nw_visits *v = new_visits(L);
  for (int i = 0; i < nw_visits_blocks(v); i++, lua_pop(L, 1))
    if (lua_rawgeti(L, 4, i + 1) == LUA_TTABLE) read_asked(L, v, i);
  if (!nw_visits_walk(v, most)) return nwl_raise(L);
  int64_t n = nw_visits_count(v);
  lua_createtable(L, n < INT_MAX ? (int)n : 0, 0);
  for (int64_t i = 0; i < n; i++) {
    const nw_visited *x = nw_visits_at(v, i);
    push_visit(L, x, nw_visits_block(v, x->block));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int f_visit_there(lua_State *L) {
  nw_visits *v = new_visits(L);
  int block = nwl_count_or(L, 4, "block", 1, nw_visits_blocks(v), 1) - 1;
  int64_t loop[NWL_MAX_DIMS * 2];
  const nw_visit_block *b = nw_visits_block(v, block);
  read_integers(L, 5, NWL_MAX_DIMS * 2, b->nloops, loop, "loops");
  push_visit(L, nw_visits_there(v, block, loop), b);
  return 1;
}

const nwl_row nwl_visits_rows[] = {
    {"refused_programs", f_programs, "(refusal: nw.refusal): nw.refused?",
     "Returns the programs before and after the refused step."},
    {"schedule_refusal", f_refusal, "(s: nw.schedule): nw.refusal?", "Returns why the last step was refused."},
    {"visit_blocks", f_blocks, "(s: nw.schedule|nw.refused, after: boolean, sizes: integer[]): table[]",
     "Returns the blocks: name, stage, init, buffer, axes (name, kind, lo, extent, step by loop), loops (name, mark)."},
    {"visits", f_visits,
     "(s: nw.schedule|nw.refused, after: boolean, sizes: integer[], asked: table, most: integer): table[]",
     "Returns executions in order; each has block, axes, loops and index. `asked` has an entry for each block: a list "
     "with the wanted values of each axis."},
    {"visit_there", f_visit_there,
     "(s: nw.schedule|nw.refused, after: boolean, sizes: integer[], block: integer, loops: integer[]): table",
     "Returns the execution of a block for given values of its loops."},
    {NULL, NULL, NULL, NULL},
};
