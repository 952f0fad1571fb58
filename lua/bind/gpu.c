// Describes the GPU of this machine.
#include "bind.h"
#include "nestwright/run.h"

static int f_gpu(lua_State *L) {
  nw_gpu_info g;
  nw_clear(nwl_ctx(L));
  if (!nw_gpu_here(nwl_ctx(L), &g)) return nwl_raise(L);
  lua_createtable(L, 0, 14);
  nwl_set_text(L, "name", g.name);
  lua_pushnumber(L, g.capability);
  lua_setfield(L, -2, "capability");
  nwl_set_count(L, "memory", g.memory);
  nwl_set_count(L, "driver", g.driver);
  nwl_set_count(L, "multiprocessors", g.multiprocessors);
  nwl_set_count(L, "clock_khz", g.clock_khz);
  nwl_set_count(L, "memory_khz", g.memory_khz);
  nwl_set_count(L, "memory_bits", g.memory_bits);
  nwl_set_count(L, "l2_bytes", g.l2_bytes);
  nwl_set_count(L, "threads", g.threads);
  nwl_set_count(L, "blocks", g.blocks);
  nwl_set_count(L, "shared", g.shared);
  nwl_set_count(L, "shared_block", g.shared_block);
  nwl_set_count(L, "worker", g.worker);
  return 1;
}

static int f_array_to_gpu(lua_State *L) {
  nw_array *a = nwl_check(L, 1, &nwl_array_class, "array");
  nw_clear(nwl_ctx(L));
  nwl_push_array(L, nw_array_to_gpu(nwl_ctx(L), a));
  return 1;
}

static int f_array_on_gpu(lua_State *L) {
  lua_pushboolean(L, nw_array_on_gpu(nwl_check(L, 1, &nwl_array_class, "array")));
  return 1;
}

const nwl_row nwl_gpu_rows[] = {
    {"array_to_gpu", f_array_to_gpu, "(a: nw.array): nw.array", "Returns a copy of an array that stays on the GPU."},
    {"array_on_gpu", f_array_on_gpu, "(a: nw.array): boolean", "True if the GPU has the elements of the array."},
    {"gpu", f_gpu, "(): table",
     "Returns what the driver reports about the NVIDIA GPU of this machine. Raises an error if there is no GPU or no "
     "driver."},
    {NULL, NULL, NULL, NULL},
};
