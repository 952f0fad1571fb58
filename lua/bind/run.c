// Compiles and runs kernels, measures their times, and runs the interpreters.
#include "bind.h"
#include <limits.h>
#include <stdlib.h>

#define MAX_ARGS 64
#define MAX_REPS 100000
#define MAX_CASES 1023

// Returns an argument of a kernel, which may be on the GPU.
static nw_array *array_arg(lua_State *L, int arg, const char *name) {
  return nwl_check(L, arg, &nwl_array_class, name);
}

// ---- kernels

static nw_kernel *kernel_arg(lua_State *L, int arg) { return nwl_check(L, arg, &nwl_kernel_class, "kernel"); }
static void release_kernel(void *p) { nw_kernel_release(p); }

static int f_compile(lua_State *L) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "schedule");
  nw_build_opts o = {.threads = nwl_count_or(L, 2, "threads", 0, 1024, 0), .opt = nwl_count_or(L, 3, "opt", 0, 3, 1)};
  o.no_cache = lua_toboolean(L, 4);
  o.steps = s;
  nwl_box *b = nwl_new(L, &nwl_kernel_class, release_kernel);
  nw_clear(nwl_ctx(L));
  nwl_hold(b, nw_compile(nwl_ctx(L), nw_sched_program(s), &o));
  return b->p ? 1 : nwl_raise(L);
}

// kernel_dispatch({k, ...})
static int f_kernel_dispatch(lua_State *L) {
  nw_kernel *one[MAX_CASES];
  int n = nwl_list_length(L, 1, MAX_CASES, "kernels");
  for (int i = 0; i < n; i++) {
    lua_geti(L, 1, i + 1);
    one[i] = kernel_arg(L, -1);
    lua_pop(L, 1);
  }
  nwl_box *b = nwl_new(L, &nwl_kernel_class, release_kernel);
  nw_clear(nwl_ctx(L));
  nwl_hold(b, nw_kernel_dispatch(nwl_ctx(L), n, one));
  return b->p ? 1 : nwl_raise(L);
}

static int kernel_code_bytes(lua_State *L) {
  lua_pushinteger(L, nw_kernel_code_bytes(kernel_arg(L, 1)));
  return 1;
}

static int kernel_params(lua_State *L) {
  nw_kernel *k = kernel_arg(L, 1);
  int n = nw_kernel_params(k);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    bool out = false;
    lua_createtable(L, 0, 2);
    lua_pushstring(L, nw_kernel_param(k, i, &out));
    lua_setfield(L, -2, "name");
    lua_pushboolean(L, out);
    lua_setfield(L, -2, "output");
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int count_outputs(nw_kernel *k) {
  int outputs = 0;
  for (int i = 0, n = nw_kernel_params(k); i < n; i++) {
    bool out = false;
    nw_kernel_param(k, i, &out);
    outputs += out;
  }
  return outputs;
}

static int wrong_count(lua_State *L, nw_kernel *k, int got) {
  int n = nw_kernel_params(k), outputs = count_outputs(k);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 0; i < n; i++) {
    if (i) luaL_addstring(&b, i == n - outputs ? " -> " : ", ");
    luaL_addstring(&b, nw_kernel_param(k, i, NULL));
  }
  luaL_pushresult(&b);
  return nwl_fail(L, NW_EINVAL, lua_pushfstring(L, "its parameters are (%s)", lua_tostring(L, -1)),
                  "expected %d inputs, or %d tensors with the outputs; got %d", n - outputs, n, got);
}

static void read_arrays(lua_State *L, int list, int n, nw_kernel *k, nw_array **args) {
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, list, i + 1);
    const char *name = k && i < nw_kernel_params(k) ? nw_kernel_param(k, i, NULL) : "argument";
    args[i] = k ? array_arg(L, lua_gettop(L), name) : nwl_array_to_write(L, lua_gettop(L), name);
  }
}

// kernel_args(k, list): returns the list. If the list has only the inputs, first appends new outputs to it.
static int kernel_args(lua_State *L) {
  nw_kernel *k = kernel_arg(L, 1);
  int got = nwl_list_length(L, 2, MAX_ARGS, "arguments"), n = nw_kernel_params(k), outputs = count_outputs(k);
  nw_array *args[MAX_ARGS], *made[MAX_ARGS] = {0};
  if (got != n && got != n - outputs) return wrong_count(L, k, got);
  read_arrays(L, 2, got, k, args);
  lua_settop(L, 2);
  if (got == n) return 1;
  if (!nw_kernel_outputs(k, args, made)) return nwl_raise(L);
  for (int i = 0; i < outputs; i++) {
    nwl_push_array(L, made[i]);
    lua_rawseti(L, 2, got + i + 1);
  }
  return 1;
}

static int kernel_run(lua_State *L) {
  nw_kernel *k = kernel_arg(L, 1);
  nw_array *args[MAX_ARGS];
  int n = nwl_list_length(L, 2, MAX_ARGS, "arguments");
  read_arrays(L, 2, n, k, args);
  nw_clear(nwl_ctx(L));
  return nw_kernel_call(k, n, args) ? 0 : nwl_raise(L);
}

// Calls a kernel. f(a, b) makes the outputs and returns them. f(a, b, c) fills the given output c and returns it.
static int kernel_call(lua_State *L) {
  nw_kernel *k = kernel_arg(L, 1);
  int got = lua_gettop(L) - 1, outputs = count_outputs(k), n = nw_kernel_params(k);
  if (got > MAX_ARGS) return wrong_count(L, k, got);
  lua_createtable(L, got + outputs, 0);
  lua_insert(L, 2);
  for (int i = got; i >= 1; i--) lua_rawseti(L, 2, i);
  kernel_args(L);
  kernel_run(L);
  luaL_checkstack(L, outputs + 8, NULL);
  for (int i = n - outputs; i < n; i++) lua_rawgeti(L, 2, i + 1);
  return outputs;
}

static void push_time(lua_State *L, nw_time *t) {
  lua_createtable(L, 0, 10);
  lua_pushnumber(L, t->min);
  lua_setfield(L, -2, "min");
  lua_pushnumber(L, t->median);
  lua_setfield(L, -2, "median");
  lua_pushnumber(L, t->spread);
  lua_setfield(L, -2, "spread");
  lua_pushinteger(L, t->reps);
  lua_setfield(L, -2, "reps");
  lua_pushinteger(L, t->threads);
  lua_setfield(L, -2, "threads");
  lua_pushinteger(L, t->retaken);
  lua_setfield(L, -2, "retaken");
  lua_pushinteger(L, t->align);
  lua_setfield(L, -2, "align");
  if (t->clock > 0) {
    lua_pushnumber(L, t->clock);
    lua_setfield(L, -2, "clock");
  }
  if (t->disturbed) {
    lua_pushboolean(L, true);
    lua_setfield(L, -2, "disturbed");
  }
  lua_createtable(L, t->reps, 0);
  for (int i = 0; i < t->reps && t->sample; i++) {
    lua_pushnumber(L, t->sample[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "samples");
  free(t->sample);
  t->sample = NULL;
}

#define MAX_PINS 1024

// Reads the conditions of a measurement, {chill, offset, pin}. Without an argument, the caches are warm, the offset is
// 0 and threads are not pinned. `cpu` must have room for MAX_PINS entries.
static nw_conditions conditions_arg(lua_State *L, int arg, int *cpu) {
  static const char *const chills[] = {"warm", "flush", "sweep", NULL};
  nw_conditions how = {.cpu = cpu};
  if (lua_isnoneornil(L, arg)) return how;
  nwl_table(L, arg, "conditions");
  lua_getfield(L, arg, "chill");
  how.chill = (nw_chill)nwl_choice(L, lua_gettop(L), "chill", chills, 0);
  lua_getfield(L, arg, "offset");
  how.offset = nwl_integer_or(L, lua_gettop(L), "offset", 0);
  lua_getfield(L, arg, "pin");
  int list = lua_gettop(L);
  how.ncpus = lua_isnil(L, list) ? 0 : nwl_list_length(L, list, MAX_PINS, "pin");
  for (int i = 0; i < how.ncpus; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, list, i + 1);
    cpu[i] = nwl_count_or(L, -1, "pin", 0, INT_MAX, 0);
  }
  lua_pop(L, 3);
  return how;
}

static int f_kernel_time(lua_State *L) {
  nw_kernel *k = kernel_arg(L, 1);
  nw_array *args[MAX_ARGS];
  int n = nwl_list_length(L, 2, MAX_ARGS, "arguments");
  read_arrays(L, 2, n, k, args);
  int reps = nwl_count_or(L, 3, "reps", 1, MAX_REPS, 0);
  double seconds = nwl_number_or(L, 4, "min_seconds", 0);
  if (!(seconds >= 0 && seconds <= 86400))
    return nwl_fail(L, NW_ERANGE, NULL, "min_seconds: %g is not from 0 to 86400 (one day)", seconds);
  int cpu[MAX_PINS];
  nw_conditions how = conditions_arg(L, 5, cpu);
  nw_time t = {0};
  nw_clear(nwl_ctx(L));
  if (!nw_kernel_time(k, n, args, reps, seconds, &how, &t)) return nwl_raise(L);
  push_time(L, &t);
  return 1;
}

// kernel_has_times(k, what)
static int f_kernel_has_times(lua_State *L) {
  nw_kernel *k = kernel_arg(L, 1);
  const char *what = nwl_string(L, 2, "what");
  nw_clear(nwl_ctx(L));
  return nw_kernel_has_times(k, what) ? 0 : nwl_raise(L);
}

// kernel_once(k, arrays, limit): returns the time of one run in seconds.
static int f_kernel_once(lua_State *L) {
  nw_kernel *k = kernel_arg(L, 1);
  nw_array *args[MAX_ARGS];
  int n = nwl_list_length(L, 2, MAX_ARGS, "arguments");
  read_arrays(L, 2, n, k, args);
  double limit = nwl_number_or(L, 3, "limit", 1);
  nw_clear(nwl_ctx(L));
  double t = nw_kernel_once(k, n, args, limit);
  if (t < 0) return nwl_raise(L);
  lua_pushnumber(L, t);
  return 1;
}

// kernel_dispatch_seconds(k, arrays)
static int f_kernel_dispatch_seconds(lua_State *L) {
  nw_kernel *k = kernel_arg(L, 1);
  nw_array *args[MAX_ARGS];
  int n = nwl_list_length(L, 2, MAX_ARGS, "arguments");
  read_arrays(L, 2, n, k, args);
  nw_clear(nwl_ctx(L));
  double t = nw_kernel_dispatch_seconds(k, n, args);
  if (t < 0) return nwl_raise(L);
  lua_pushnumber(L, t);
  return 1;
}

// kernel_compare({{kernel, {arrays}}, ...}, rounds, conditions): returns a time record for each kernel. The kernels run
// in turn.
static int f_kernel_compare(lua_State *L) {
  nw_kernel *k[MAX_ARGS];
  int nargs[MAX_ARGS], n = nwl_list_length(L, 1, MAX_ARGS, "kernels"),
                       rounds = nwl_count_or(L, 2, "rounds", 1, MAX_REPS, 20);
  nw_array **args[MAX_ARGS];
  nw_time t[MAX_ARGS] = {{0}};
  luaL_checkstack(L, 3 * n + 8, NULL);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, 1, i + 1);
    nwl_table(L, -1, "entry");
    int entry = lua_gettop(L);
    lua_rawgeti(L, entry, 1);
    k[i] = kernel_arg(L, lua_gettop(L));
    lua_rawgeti(L, entry, 2);
    nargs[i] = nwl_list_length(L, lua_gettop(L), MAX_ARGS, "arguments");
    args[i] = lua_newuserdatauv(L, MAX_ARGS * sizeof **args, 0);
    read_arrays(L, lua_gettop(L) - 1, nargs[i], k[i], args[i]);
  }
  int cpu[MAX_PINS];
  nw_conditions how = conditions_arg(L, 3, cpu);
  nw_clear(nwl_ctx(L));
  if (!nw_kernel_compare(n, k, nargs, (nw_array *const *const *)args, rounds, &how, t)) return nwl_raise(L);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_time(L, &t[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int kernel_text(lua_State *L) {
  nw_kernel *k = kernel_arg(L, 1);
  nwl_push_text(L, nw_kernel_text(k, nwl_string(L, 2, "what")));
  return 1;
}

static int kernel_export(lua_State *L) {
  nw_kernel *k = kernel_arg(L, 1);
  const char *path = nwl_path(L, 2, "export: path"), *symbol = nwl_string_or(L, 3, "export: symbol", NULL);
  nw_clear(nwl_ctx(L));
  if (!nw_kernel_export(k, path, symbol)) return nwl_raise(L);
  lua_settop(L, 1);
  return 1;
}

static int kernel_compile_ms(lua_State *L) {
  lua_pushnumber(L, nw_kernel_compile_ms(kernel_arg(L, 1)));
  return 1;
}

static int kernel_cpu(lua_State *L) {
  nw_clear(nwl_ctx(L));
  const char *cpu = nw_kernel_cpu(kernel_arg(L, 1));
  if (!cpu) return nwl_raise(L);
  lua_pushstring(L, cpu);
  return 1;
}

static int kernel_notes(lua_State *L) {
  lua_pushstring(L, nw_kernel_notes(kernel_arg(L, 1)));
  return 1;
}

static int kernel_cached(lua_State *L) {
  lua_pushboolean(L, nw_kernel_was_cached(kernel_arg(L, 1)));
  return 1;
}

static const luaL_Reg kernel_meta[] = {{"__call", kernel_call}, {NULL, NULL}};
static const nwl_row kernel_methods[] = {
    {"params", kernel_params, "(self: nw.kernel): {name: string, output: boolean}[]",
     "Returns the parameters: first the inputs, then the outputs."},
    {NULL, NULL, NULL, NULL},
};
static int kernel_tested(lua_State *L) {
  int n = nw_kernel_tested(kernel_arg(L, 1));
  n ? lua_pushinteger(L, n) : lua_pushnil(L);
  return 1;
}

static int kernel_unsafe(lua_State *L) {
  lua_pushboolean(L, nw_kernel_unsafe(kernel_arg(L, 1)) > 0);
  return 1;
}

static const nwl_row kernel_fields[] = {
    {"tested", kernel_tested, "integer?",
     "If a rewrite or a reducer of the kernel was tested, but not proved: the least number of values on which one was "
     "tested."},
    {"unsafe", kernel_unsafe, "boolean", "True if the schedule of the kernel has steps that were not proven legal."},
    {"code_bytes", kernel_code_bytes, "integer", "The bytes of machine code of all versions of the kernel."},
    {"cpu", kernel_cpu, "string", "LLVM's name of the CPU that the code is made for, such as znver4."},
    {"compile_ms", kernel_compile_ms, "number", "The time to lower, compile and link, in milliseconds."},
    {"notes", kernel_notes, "string",
     "Remarks on the code. There is a line for each function that has no vector form on the target."},
    {"cached", kernel_cached, "boolean", "True if the machine code came from the cache."},
    {NULL, NULL, NULL, NULL},
};
const nwl_class nwl_kernel_class = {"kernel",       "nestwright.kernel", "kernels",
                                    kernel_methods, kernel_fields,       kernel_meta};

// ---- interpretation, and evaluation of a definition

static int f_interpret(lua_State *L) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "schedule");
  bool lowered = lua_toboolean(L, 2);
  nw_array *args[MAX_ARGS];
  int n = nwl_list_length(L, 3, MAX_ARGS, "arguments");
  read_arrays(L, 3, n, NULL, args);
  int most = nwl_count_or(L, 4, "steps", 1, INT_MAX, 0);
  nw_clear(nwl_ctx(L));
  return nw_interpret(nwl_ctx(L), nw_sched_program(s), lowered, most, n, args) ? 0 : nwl_raise(L);
}

static int f_evaluate(lua_State *L) {
  nw_tensor *out[NWL_MAX_DIMS];
  nw_array *args[MAX_ARGS];
  int nout = nwl_list_length(L, 1, NWL_MAX_DIMS, "outputs");
  for (int i = 0; i < nout; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, 1, i + 1);
    out[i] = nwl_check(L, -1, &nwl_tensor_class, "output");
  }
  int n = nwl_list_length(L, 2, MAX_ARGS, "arguments");
  read_arrays(L, 2, n, NULL, args);
  nw_clear(nwl_ctx(L));
  return nw_evaluate(nwl_ctx(L), nout, out, n, args) ? 0 : nwl_raise(L);
}

const nwl_row nwl_run_rows[] = {
    {"compile", f_compile, "(s: nw.schedule, threads?: integer, opt?: integer, no_cache?: boolean): nw.kernel",
     "Compiles a schedule to machine code."},
    {"kernel_dispatch", f_kernel_dispatch, "(kernels: nw.kernel[]): nw.kernel",
     "Combines several kernels into one. A call runs the first kernel whose facts about the sizes hold."},
    {"kernel_dispatch_seconds", f_kernel_dispatch_seconds, "(k: nw.kernel, arguments: nw.array[]): number",
     "Measures how long it takes to find the version for a call, in seconds."},
    {"kernel_args", kernel_args, "(k: nw.kernel, arguments: nw.array[]): nw.array[]",
     "Adds new outputs to the arguments if these are only the inputs."},
    {"kernel_export", kernel_export, "(k: nw.kernel, path: string, symbol?: string): nw.kernel",
     "Writes the kernel as a shared library with a header, or as a C file, as the end of the path says."},
    {"kernel_text", kernel_text, "(k: nw.kernel, what: string): string",
     "Returns the code of a kernel as text. what: 'lowered', 'llvm', 'asm', 'c' or 'versions'."},
    {"kernel_time", f_kernel_time,
     "(k: nw.kernel, arguments: nw.array[], reps?: integer, min_seconds?: number, conditions?: table): table",
     "Measures the time of a kernel. conditions: {chill = 'flush', offset = 16, pin = {0, 1}}."},
    {"kernel_has_times", f_kernel_has_times, "(k: nw.kernel, what: string)",
     "Raises an error, which begins with `what`, if runs of the kernel have no times."},
    {"kernel_once", f_kernel_once, "(k: nw.kernel, arguments: nw.array[], limit: number): number",
     "Returns the time of one run, in seconds. Raises a limit error if the run takes longer than `limit` seconds."},
    {"kernel_compare", f_kernel_compare, "(entries: table[], rounds: integer, conditions?: table): table[]",
     "Measures several kernels, alternating between them."},
    {"interpret", f_interpret, "(s: nw.schedule, lowered: boolean, arguments: nw.array[], steps?: integer)",
     "Runs the program in the interpreter."},
    {"evaluate", f_evaluate, "(outputs: nw.tensor[], arguments: nw.array[])",
     "Evaluates the definition without a schedule."},
    {NULL, NULL, NULL, NULL},
};
