// Declares the functions that the files of this folder share. Together, these files make the Lua module
// nestwright.core, through which Lua calls the core.
//
// Every C function that Lua can call has a row with its name, the C function, its signature (in the notation of LuaLS)
// and its documentation. Functions that are written in Lua have rows of the same kind (language/rows.lua). The
// metatables, nw.help, completion, lua/meta and docs/reference.md are made from the rows, so nothing is documented
// twice.
//
// lua_error never jumps across frames of the core. A function here works in three phases. It reads its arguments, which
// may raise an error. It calls the core, which raises no error. It pushes the results, which raises an error only if
// memory runs out. A userdata gets its metatable while its pointer is still NULL. If an error is raised later, __gc
// frees the object that the userdata owns by then.
#pragma once
#include "nestwright/nestwright.h"
#include <lauxlib.h>
#include <lua.h>

#define NWL_MAX_DIMS 32

typedef struct nwl_row {
  const char *name;
  lua_CFunction fn;
  const char *signature, *doc;
} nwl_row;

// A class of userdata. `fields` are read without parentheses, as in `t.dtype` for a tensor t. `meta` holds the
// metamethods.
typedef struct nwl_class {
  const char *name; // "tensor"; its metatable is registered as "nestwright.tensor"
  const char *metatable;
  const char *topic; // the subject under which nw.help lists its methods and fields; NULL if it has none
  const nwl_row *methods, *fields;
  const luaL_Reg *meta;
} nwl_class;

// The memory of every userdata. `p` points to an object of the core. `release` releases the reference of the userdata
// to this object; NULL if the userdata holds no reference. User value 1 is a Lua object that must exist as long as the
// userdata. User value 2 is not used.
typedef struct nwl_box {
  void *p;
  void (*release)(void *p);
} nwl_box;

extern const nwl_class nwl_expr_class, nwl_axis_class, nwl_tensor_class, nwl_build_class, nwl_schedule_class,
    nwl_loop_class, nwl_array_class, nwl_kernel_class, nwl_trace_class, nwl_refused_class, nwl_visits_class,
    nwl_machine_class, nwl_target_class, nwl_loopnest_class, nwl_learner_class, nwl_stream_class;
extern const nwl_row nwl_ir_rows[], nwl_te_rows[], nwl_sched_rows[], nwl_data_rows[], nwl_place_rows[], nwl_run_rows[],
    nwl_check_rows[], nwl_teach_rows[], nwl_hw_rows[], nwl_intrinsic_rows[], nwl_memory_rows[], nwl_trace_rows[],
    nwl_raster_rows[], nwl_predict_rows[], nwl_visits_rows[], nwl_program_rows[], nwl_terminal_rows[], nwl_log_rows[],
    nwl_loop_times_rows[], nwl_hold_rows[], nwl_machine_rows[], nwl_target_rows[], nwl_gpu_rows[], nwl_nest_rows[],
    nwl_learn_rows[], nwl_file_rows[], nwl_record_rows[], nwl_lowered_rows[], nwl_outline_rows[], nwl_simulate_rows[],
    nwl_accelerator_rows[];

// ---- session, objects, identity (box.c)
nw_ctx *nwl_ctx(lua_State *L);
nw_pool *nwl_pool(lua_State *L); // the current pool for user expressions
void nwl_session_open(lua_State *L);
void nwl_class_open(lua_State *L, const nwl_class *c);
nwl_box *nwl_new(lua_State *L, const nwl_class *c, void (*release)(void *)); // pushes an object whose pointer is NULL
void *nwl_hold(nwl_box *b, void *p); // stores p in the object, which owns it from then on; returns p
void *nwl_test(lua_State *L, int arg, const nwl_class *c); // NULL if the value has another class
bool nwl_push_known(lua_State *L, const void *p); // pushes the Lua value that represents p; false if there is none
void nwl_remember(lua_State *L, const void *p); // from now on, the value on top represents p
// Each of these functions raises the current failure of the context as an error if the pointer is NULL.
void nwl_push_expr(lua_State *L, const nw_expr *e);
void nwl_push_tensor(lua_State *L, nw_tensor *t); // takes over the reference
void nwl_push_array(lua_State *L, nw_array *a); // takes over the reference
void nwl_push_text(lua_State *L, char *s); // frees the heap string
// Returns an array, whose elements are in the memory of this host. nwl_array_to_write is for a function that may write them.
nw_array *nwl_array(lua_State *L, int arg, const char *name);
nw_array *nwl_array_to_write(lua_State *L, int arg, const char *name);

// ---- calls into the core (call.c), and fields of results (box.c)

// Each of these functions sets a field of the table on top.
void nwl_set_number(lua_State *L, const char *field, double value);
void nwl_set_integer(lua_State *L, const char *field, int64_t value);
void nwl_set_flag(lua_State *L, const char *field, bool value);
void nwl_set_text(lua_State *L, const char *field, const char *value); // if value is NULL, the field is nil
// Works like lua_pushcfunction, for a function without upvalues that calls the core. If the core aborts a call of this
// function (nw_recovery), the function raises an error.
void nwl_push_function(lua_State *L, lua_CFunction fn);
void nwl_set_functions(lua_State *L, const luaL_Reg *list); // sets fields of the table on top by nwl_push_function
// Works like lua_pcall, and then restores the recovery point (nw_recovery), so that the caller can call the core again.
int nwl_pcall(lua_State *L, int arguments, int results);

// ---- accesses and caches (memory.c)
nw_sim_opts nwl_read_caches(lua_State *L, int at); // reads {levels, line, misses, conflicts}
void nwl_push_missed(lua_State *L, const nw_missed *m); // pushes a table with the fields of *m
void nwl_push_misses(lua_State *L, nw_misses *m); // pushes a list of the tables of nwl_push_missed; frees m
typedef struct nwl_walk { // the accesses to enumerate; argument 2 is {sizes, version?, thread?, threads?}
  const nw_program *program;
  int64_t size[NWL_MAX_DIMS];
  nw_walk_opts walk;
} nwl_walk;
void nwl_read_walk(lua_State *L, nwl_walk *w); // reads *w; argument 1 is the schedule
// Reads the values of the sizes of a program from the list at a stack index, in the order of the program.
void nwl_read_sizes(lua_State *L, int list, const nw_program *p, int64_t *sizes);
void nwl_set_count(lua_State *L, const char *name, int64_t value); // sets a field of the table on top
bool nwl_flag_in(lua_State *L, int at, const char *name); // true if the field of the table at `at` is a true value

// ---- views of arrays (view.c): methods and a field of arrays
int nwl_array_slice(lua_State *L);
int nwl_array_transpose(lua_State *L);
int nwl_array_reshape(lua_State *L);
int nwl_array_copy(lua_State *L);
int nwl_array_assign(lua_State *L);
int nwl_array_strides(lua_State *L);
int nwl_array_contiguous(lua_State *L);

// ---- lists of accesses (trace.c)
extern const char *const nwl_outcomes[NW_OUTCOMES];
nwl_box *nwl_new_trace(lua_State *L); // pushes an object whose pointer is NULL
void nwl_push_iteration(lua_State *L, const nw_iteration *x); // pushes a table with the fields of *x

// Pushes the inputs and outputs of a program (outline.c). `sizes` is the index of the argument with the sizes.
void nwl_push_signature(lua_State *L, const nw_program *p, int sizes);

void nwl_show_progress(lua_State *L); // program.c: shows the progress of long work on standard error

// ---- reading arguments (args.c)
//
// Every error names the argument.
void *nwl_check(lua_State *L, int arg, const nwl_class *c, const char *name);
void nwl_is_string(lua_State *L, int arg, const char *name);
const char *nwl_string(lua_State *L, int arg, const char *name);
const char *nwl_path(lua_State *L, int arg, const char *name); // file.c: reads a file name, which must not be empty
const char *nwl_string_or(lua_State *L, int arg, const char *name, const char *fallback);
// Returns the index of the argument in `words`, a list that ends with NULL. Returns `fallback` if there is no argument.
// If `fallback` is negative, the argument is required. Raises an error if the argument is not in the list.
int nwl_choice(lua_State *L, int arg, const char *name, const char *const *words, int fallback);
void nwl_function(lua_State *L, int arg, const char *name);
lua_Integer nwl_integer(lua_State *L, int arg, const char *name);
// Raises an error if v is not a value of the type t. The hint of the error gives the range of the type. The text `or`
// is appended to the hint.
void nwl_fits(lua_State *L, nw_dtype t, int64_t v, const char *name, const char * or);
lua_Integer nwl_integer_or(lua_State *L, int arg, const char *name, lua_Integer fallback);
// Returns a whole number from `least` to `most`. Returns `fallback`, which may be outside of this range, if there is no
// argument.
int nwl_count_or(lua_State *L, int arg, const char *name, int least, int most, int fallback);
double nwl_number_or(lua_State *L, int arg, const char *name, double fallback);
nw_dtype nwl_dtype(lua_State *L, int arg, const char *name);
// Returns the name of the dtype that has the name s in other libraries: "f32" for "float32". Returns NULL if there is
// none. The result may be a string on the stack of L.
const char *nwl_dtype_elsewhere(lua_State *L, const char *s);
void nwl_table(lua_State *L, int arg, const char *name);
int nwl_list_length(lua_State *L, int arg, int max, const char *name);
int nwl_shape(lua_State *L, int arg, int64_t *shape); // reads {m, n} or m; returns the number of dimensions
const char *nwl_typename(lua_State *L, int arg); // "a tensor", "a string", ...

// ---- expressions (ir.c)

// Returns the value at arg as an expression. The value may be an expression, an axis, a number or a boolean; any other
// value raises an error that names the argument. The comment on literals in ir.c gives the dtypes of numbers.
const nw_expr *nwl_expr(lua_State *L, int arg, const char *name);
// Like nwl_expr, but a number gets the dtype `like` if it is not negative.
const nw_expr *nwl_expr_like(lua_State *L, int arg, int like, const char *name);
void nwl_not_lua_boolean(lua_State *L, int arg, const char *name);
const nw_expr *nwl_index_expr(lua_State *L, int arg, const char *name); // numbers become i64
// Reads a list of index expressions and returns its length.
int nwl_expr_list(lua_State *L, int arg, int max, const nw_expr **out, const char *name);

// ---- schedules, loops, steps (sched.c, loop.c, steps.c)
void nwl_push_loop(lua_State *L, int sched, int id); // pushes a loop of the schedule at stack slot `sched`
nw_sched *nwl_loop_sched(lua_State *L, int arg); // pushes and returns the schedule of the loop at arg
void nwl_read_stage(lua_State *L, int at, const char *name, nw_arg *out);
int nwl_apply(lua_State *L); // apply(schedule, primitive, {arguments}): takes one step
int nwl_try(lua_State *L); // try(schedule, primitive, {arguments}): returns whether the step is legal
int nwl_random_step(lua_State *L); // random_step(schedule, seed): returns a legal step as a table
int nwl_primitives(lua_State *L); // primitives(): returns the table of primitives as data

// ---- executions of blocks (visits.c)

// Keeps the programs of the last refused step as long as the refusal at this stack index exists.
void nwl_keep_programs(lua_State *L, int refusal, nw_sched *s);

// ---- errors (error.c)

// Raises the current failure of the context as a nestwright.error.
int nwl_raise(lua_State *L);
void nwl_push_refusal(lua_State *L, const nw_refusal *r);
int nwl_raise_step(lua_State *L, nw_sched *s); // raises the failure of a step; keeps the programs of a refusal
int nwl_fail(lua_State *L, nw_code code, const char *hint, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void nwl_error_open(lua_State *L);
extern const nwl_row nwl_error_rows[];
