// Makes and describes the targets of schedules.
#include "bind.h"
#include "target/target.h"
#include <stdlib.h>
#include <string.h>

static nw_target *self(lua_State *L) { return nwl_check(L, 1, &nwl_target_class, "target"); }
static void release(void *p) { nw_target_release(p); }

static void push(lua_State *L, nw_target *t) { nwl_hold(nwl_new(L, &nwl_target_class, release), nw_target_retain(t)); }

static int f_target(lua_State *L) {
  const nw_machine *m = nwl_check(L, 1, &nwl_machine_class, "machine");
  nw_target *t = nw_target_new(nwl_ctx(L), m);
  push(L, t);
  nw_target_release(t);
  return 1;
}

static int f_of_schedule(lua_State *L) {
  push(L, nw_sched_target(nwl_check(L, 1, &nwl_schedule_class, "schedule")));
  return 1;
}

static int f_of_kernel(lua_State *L) {
  push(L, nw_kernel_target(nwl_check(L, 1, &nwl_kernel_class, "kernel")));
  return 1;
}

static int target_name(lua_State *L) {
  lua_pushstring(L, self(L)->machine.name);
  return 1;
}

static int target_here(lua_State *L) {
  lua_pushboolean(L, nw_target_here(self(L)));
  return 1;
}

static int target_backend(lua_State *L) {
  const nw_backend *b = self(L)->backend;
  lua_pushstring(L, b ? b->name : NULL);
  return 1;
}

static int target_model(lua_State *L) {
  const nw_cost_model *m = self(L)->model;
  lua_pushstring(L, m ? m->name : NULL);
  return 1;
}

static int target_features(lua_State *L) {
  nw_features f = self(L)->features;
  lua_newtable(L);
  for (int i = 0; i < NW_FEATURE_COUNT; i++) {
    if (!(f >> i & 1)) continue;
    lua_pushstring(L, nw_feature_at(i)->name);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  return 1;
}

static int target_scopes(lua_State *L) {
  const nw_limits *l = &self(L)->limit;
  lua_createtable(L, l->nscopes, 0);
  for (int i = 0; i < l->nscopes; i++) {
    lua_createtable(L, 0, 3);
    nwl_set_text(L, "name", l->scope[i].name);
    nwl_set_text(L, "owner", l->scope[i].owner);
    nwl_set_count(L, "bytes", l->scope[i].bytes);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int target_limits(lua_State *L) {
  const nw_limits *l = &self(L)->limit;
  static const char *const extent[] = {"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"};
  lua_createtable(L, 0, 9);
  nwl_set_count(L, "lanes", l->lanes);
  nwl_set_count(L, "registers", l->registers);
  nwl_set_count(L, "threads", l->launch.threads);
  for (int i = 0; i < 6; i++) nwl_set_count(L, extent[i], l->launch.extent[i]);
  return 1;
}

static int same(lua_State *L) {
  const nw_target *a = nwl_test(L, 1, &nwl_target_class), *b = nwl_test(L, 2, &nwl_target_class);
  bool host = a && b && nw_target_here(a) && nw_target_here(b) && !memcmp(&a->limit, &b->limit, sizeof a->limit);
  lua_pushboolean(L, a && b && (a == b || host || !memcmp(&a->machine, &b->machine, sizeof a->machine)));
  return 1;
}

// Returns a copy of the machine record. Returns nil if the record has no clock rate, without which no cost can be
// predicted.
static int f_machine(lua_State *L) {
  const nw_target *t = self(L);
  if (!(t->machine.clock > 0)) return 0;
  nwl_box *b = nwl_new(L, &nwl_machine_class, free);
  nw_machine *m = b->p = malloc(sizeof *m);
  if (!m) return nwl_fail(L, NW_ELIMIT, NULL, "no memory for a machine record");
  *m = t->machine;
  return 1;
}

static const nwl_row methods[] = {
    {"limits", target_limits, "(self: nw.target): table",
     "Returns the limits for programs: lanes of a vectorized loop, registers, threads of a block, and the extents of "
     "grid and block."},
    {"scopes", target_scopes, "(self: nw.target): table[]",
     "Returns the scopes of buffers: name, owner and bytes of each."},
    {"features", target_features, "(self: nw.target): string[]",
     "Returns the features of the CPU that affect code generation, with LLVM's names."},
    {NULL, NULL, NULL, NULL},
};
static const nwl_row fields[] = {
    {"name", target_name, "string", "The name of the machine record."},
    {"here", target_here, "boolean", "True if this host can run code for the target."},
    {"backend", target_backend, "string?", "The name of the code generator; nil if there is none."},
    {"model", target_model, "string?", "The name of the cost model; nil if there is none."},
    {NULL, NULL, NULL, NULL},
};
static const luaL_Reg meta[] = {{"__eq", same}, {NULL, NULL}};
const nwl_class nwl_target_class = {"target", "nestwright.target", "hardware", methods, fields, meta};

const nwl_row nwl_target_rows[] = {
    {"target", f_target, "(machine: nw.machine): nw.target", "Returns the target for a machine."},
    {"target_machine", f_machine, "(t: nw.target): nw.machine?",
     "Returns the machine record of a target. Returns nil for this host if it has no record."},
    {"schedule_target", f_of_schedule, "(s: nw.schedule): nw.target", "Returns the target of a schedule."},
    {"kernel_target", f_of_kernel, "(k: nw.kernel): nw.target", "Returns the target of a kernel."},
    {NULL, NULL, NULL, NULL},
};
