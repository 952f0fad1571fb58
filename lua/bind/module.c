// Makes the Lua module nestwright.core, which has the functions of all rows. Also returns the rows as data.
#include "bind.h"

int luaopen_nestwright_core(lua_State *L);

static const nwl_row *const functions[] = {
    nwl_error_rows,    nwl_ir_rows,         nwl_te_rows,      nwl_sched_rows,   nwl_data_rows,      nwl_place_rows,
    nwl_run_rows,      nwl_check_rows,      nwl_teach_rows,   nwl_hw_rows,      nwl_intrinsic_rows, nwl_memory_rows,
    nwl_trace_rows,    nwl_raster_rows,     nwl_predict_rows, nwl_visits_rows,  nwl_program_rows,   nwl_terminal_rows,
    nwl_log_rows,      nwl_loop_times_rows, nwl_hold_rows,    nwl_machine_rows, nwl_nest_rows,      nwl_learn_rows,
    nwl_file_rows,     nwl_record_rows,     nwl_lowered_rows, nwl_outline_rows, nwl_target_rows,    nwl_gpu_rows,
    nwl_simulate_rows, nwl_accelerator_rows};
static const nwl_class *const classes[] = {
    &nwl_expr_class,     &nwl_axis_class,     &nwl_tensor_class,  &nwl_build_class,
    &nwl_schedule_class, &nwl_loop_class,     &nwl_array_class,   &nwl_kernel_class,
    &nwl_trace_class,    &nwl_refused_class,  &nwl_visits_class,  &nwl_machine_class,
    &nwl_target_class,   &nwl_loopnest_class, &nwl_learner_class, &nwl_stream_class};

static void push_row(lua_State *L, const nwl_row *r, const char *class, const char *topic, bool field) {
  lua_createtable(L, 0, 6);
  lua_pushstring(L, class);
  lua_setfield(L, -2, "class");
  lua_pushstring(L, topic);
  lua_setfield(L, -2, "topic");
  lua_pushstring(L, r->name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, r->signature);
  lua_setfield(L, -2, "signature");
  lua_pushstring(L, r->doc);
  lua_setfield(L, -2, "doc");
  lua_pushboolean(L, field);
  lua_setfield(L, -2, "field");
}

static void add_rows(lua_State *L, const nwl_row *rows, const char *class, const char *topic, bool field) {
  for (; rows && rows->name; rows++) {
    push_row(L, rows, class, topic, field);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
}

// rows(): returns a row {class, topic, name, signature, doc, field} for every function, method and field. The functions
// of the core have no topic; the Lua library gives topics to those that it offers.
static int list_rows(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    add_rows(L, classes[i]->methods, classes[i]->name, classes[i]->topic, false);
    add_rows(L, classes[i]->fields, classes[i]->name, classes[i]->topic, true);
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) add_rows(L, functions[i], "core", NULL, false);
  return 1;
}

static void add_functions(lua_State *L, const nwl_row *rows) {
  for (; rows->name; rows++) {
    nwl_push_function(L, rows->fn);
    lua_setfield(L, -2, rows->name);
  }
}

// Sets the field `classes` to a table that maps the name of a class to its metatable.
static void add_classes(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    nwl_class_open(L, classes[i]);
    lua_setfield(L, -2, classes[i]->name);
  }
  lua_setfield(L, -2, "classes");
}

// A second call returns the same table, because the Lua library has added methods to the classes in it.
__attribute__((visibility("default"))) int luaopen_nestwright_core(lua_State *L) {
  static const char made;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &made) == LUA_TTABLE) return 1;
  nwl_session_open(L);
  nwl_show_progress(L);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &made);
  nwl_error_open(L);
  add_classes(L);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) add_functions(L, functions[i]);
  lua_pushcfunction(L, list_rows);
  lua_setfield(L, -2, "rows");
  return 1;
}
