// Predicts the cost of a schedule with the cost model.
#include "bind.h"

static void push_terms(lua_State *L, const nw_cost *k) {
  lua_newtable(L);
  for (int i = 0; i < nw_cost_terms(k); i++) {
    nw_cost_term t = nw_cost_term_at(k, i);
    lua_createtable(L, 0, 2);
    nwl_set_text(L, "name", t.name);
    nwl_set_number(L, "cycles", t.cycles);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_cost_loops(lua_State *L, const nw_cost *k) {
  lua_createtable(L, nw_cost_loops(k), 0);
  for (int i = 0; i < nw_cost_loops(k); i++) {
    nw_cost_loop t = nw_cost_loop_at(k, i);
    lua_createtable(L, 0, 9);
    nwl_set_text(L, "name", t.name);
    nwl_set_count(L, "id", t.id);
    nwl_set_count(L, "depth", t.depth);
    nwl_set_count(L, "entered", t.entered);
    nwl_set_count(L, "times", t.times);
    nwl_set_number(L, "cycles", t.cycles);
    nwl_set_number(L, "carried", t.carried);
    lua_pushboolean(L, t.parallel);
    lua_setfield(L, -2, "parallel");
    nwl_set_text(L, "bottleneck", t.bound);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_cost_misses(lua_State *L, const nw_cost *k) {
  lua_createtable(L, nw_cost_misses(k), 0);
  for (int i = 0; i < nw_cost_misses(k); i++) {
    nw_missed m = nw_cost_missed_at(k, i);
    double error;
    nwl_push_missed(L, &m);
    lua_pushboolean(L, nw_cost_exact(k, m.level, &error));
    lua_setfield(L, -2, "exact");
    nwl_set_number(L, "error", error);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_moves(lua_State *L, const nw_cost *k) {
  lua_createtable(L, nw_cost_levels(k), 0);
  for (int i = 0; i < nw_cost_levels(k); i++) {
    double read, written;
    nw_cost_moved(k, i, &read, &written);
    lua_createtable(L, 0, 2);
    nwl_set_number(L, "read", read);
    nwl_set_number(L, "written", written);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_energies(lua_State *L, const nw_cost *k) {
  lua_createtable(L, nw_cost_energies(k), 0);
  for (int i = 0; i < nw_cost_energies(k); i++) {
    const nw_energy_row *r = nw_cost_energy(k, i);
    lua_createtable(L, 0, 5);
    nwl_set_text(L, "name", r->name);
    nwl_set_text(L, "unit", r->unit);
    nwl_set_number(L, "count", r->count);
    nwl_set_number(L, "pj", r->pj);
    nwl_set_number(L, "joules", r->joules);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_buffers(lua_State *L, const nw_cost *k) {
  lua_createtable(L, nw_cost_buffers(k), 0);
  for (int i = 0; i < nw_cost_buffers(k); i++) {
    nw_cost_buffer b = nw_cost_buffer_at(k, i);
    lua_createtable(L, 0, 3);
    nwl_set_text(L, "name", b.name);
    nwl_set_text(L, "where", b.where);
    nwl_set_count(L, "bytes", b.bytes);
    lua_rawseti(L, -2, i + 1);
  }
}

static void set_total(lua_State *L, const nw_cost *k) {
  nw_cost_total t = nw_cost_total_of(k);
  nwl_set_number(L, "cycles", t.cycles);
  nwl_set_number(L, "seconds", t.seconds);
  nwl_set_text(L, "bottleneck", t.bound);
  nwl_set_number(L, "flops", t.flops);
  nwl_set_number(L, "instructions", t.instructions);
  nwl_set_number(L, "spills", t.spills);
  nwl_set_number(L, "joules", t.joules);
  nwl_set_count(L, "threads", t.threads);
  nwl_set_number(L, "outside", t.outside_cycles);
  nwl_set_number(L, "team_seconds", t.team_seconds);
  nwl_set_flag(L, "counts_both", nw_cost_counts_both(k));
  nwl_set_flag(L, "calls", nw_cost_calls(k));
  lua_createtable(L, t.threads, 0);
  for (int i = 0; i < t.threads; i++) {
    lua_pushnumber(L, nw_cost_share(k, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "shares");
}

static int f_cost(lua_State *L) {
  typedef void push_fn(lua_State *, const nw_cost *);
  static const struct {
    const char *name;
    push_fn *push;
  } lists[] = {{"terms", push_terms}, {"loops", push_cost_loops}, {"by_access", push_cost_misses},
               {"moved", push_moves}, {"energy", push_energies},  {"buffers", push_buffers}};
  nwl_walk w;
  nwl_read_walk(L, &w);
  nw_cost_opts o = {.target = nwl_check(L, 3, &nwl_target_class, "target"),
                    .sizes = w.size,
                    .threads = w.walk.threads,
                    .conflicts = nwl_flag_in(L, 2, "conflicts"),
                    .full = nwl_flag_in(L, 2, "full"),
                    .in_cache = nwl_flag_in(L, 2, "in_cache")};
  nw_cost *k = nw_cost_of(nwl_ctx(L), w.program, &o);
  if (!k) return nwl_raise(L);
  lua_newtable(L);
  set_total(L, k);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    lists[i].push(L, k);
    lua_setfield(L, -2, lists[i].name);
  }
  nw_cost_free(k);
  return 1;
}

// cost_caches(machine, threads): returns the levels, and the bytes of a line.
static int f_caches(lua_State *L) {
  nw_sim_opts o =
      nw_cost_caches(nwl_check(L, 1, &nwl_machine_class, "machine"), nwl_count_or(L, 2, "threads", 0, 1024, 0));
  lua_createtable(L, o.nlevels, 0);
  for (int i = 0; i < o.nlevels; i++) {
    lua_createtable(L, 0, 2);
    nwl_set_count(L, "bytes", o.level[i].bytes);
    nwl_set_count(L, "ways", o.level[i].ways);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushinteger(L, o.line);
  return 2;
}

// code_time(assembly, machine, expected): returns a table {instructions, cycles, mispredicted, waits}.
static int f_code_time(lua_State *L) {
  const char *assembly = nwl_string(L, 1, "assembly");
  const nw_machine *machine = nwl_check(L, 2, &nwl_machine_class, "machine");
  nw_code_time t;
  nw_clear(nwl_ctx(L));
  if (!nw_code_simulate(nwl_ctx(L), assembly, machine, nwl_number_or(L, 3, "expected", 0), &t)) return nwl_raise(L);
  lua_createtable(L, 0, 4);
  nwl_set_number(L, "instructions", t.instructions);
  nwl_set_number(L, "cycles", t.cycles);
  nwl_set_number(L, "mispredicted", t.mispredicted);
  nwl_set_number(L, "waits", t.waits);
  return 1;
}

const nwl_row nwl_predict_rows[] = {
    {"cost", f_cost, "(s: nw.schedule, walk: table, target: nw.target): table",
     "Predicts the cost: cycles, seconds, bottleneck and other totals, and the lists terms, loops, by_access, moved, "
     "energy and buffers."},
    {"cost_caches", f_caches, "(machine: nw.machine, threads?: integer): table[], integer",
     "Returns the share of each cache level that the cost model assigns to one of `threads` threads (bytes and ways), "
     "and the bytes of a line."},
    {"code_time", f_code_time, "(assembly: string, machine: nw.machine, expected?: number): table",
     "Simulates compiled code with all data in the first-level cache. Returns instructions, cycles, mispredicted, "
     "waits."},
    {NULL, NULL, NULL, NULL},
};
