// Describes the GPUs of this machine.
#include "bind.h"
#include "nestwright/run.h"

static const char *const drivers[] = {"cuda", "opencl", NULL};

static int f_gpu(lua_State *L) {
  static const char *const extents[] = {"block_x", "block_y", "block_z"};
  const char *driver = drivers[luaL_checkoption(L, 1, "cuda", drivers)];
  nw_gpu_info g;
  nw_clear(nwl_ctx(L));
  if (!nw_gpu_here(nwl_ctx(L), driver, &g)) return nwl_raise(L);
  lua_createtable(L, 0, 20);
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
  nwl_set_count(L, "threads_block", g.threads_block);
  for (int i = 0; i < 3; i++) nwl_set_count(L, extents[i], g.extent_block[i]);
  lua_pushboolean(L, g.is_gpu);
  lua_setfield(L, -2, "is_gpu");
  nwl_set_count(L, "worker", g.worker);
  return 1;
}

static int f_array_to_gpu(lua_State *L) {
  nw_array *a = nwl_check(L, 1, &nwl_array_class, "array");
  const char *driver = drivers[luaL_checkoption(L, 2, "cuda", drivers)];
  nw_clear(nwl_ctx(L));
  nwl_push_array(L, nw_array_to_gpu(nwl_ctx(L), a, driver));
  return 1;
}

static int f_array_on_gpu(lua_State *L) {
  lua_pushboolean(L, nw_array_on_gpu(nwl_check(L, 1, &nwl_array_class, "array")));
  return 1;
}

const nwl_row nwl_gpu_rows[] = {
    {"array_to_gpu", f_array_to_gpu, "(a: nw.array, driver?: 'cuda'|'opencl'): nw.array",
     "Returns a copy of an array that stays on the GPU that a driver uses."},
    {"array_on_gpu", f_array_on_gpu, "(a: nw.array): boolean", "True if the GPU has the elements of the array."},
    {"gpu", f_gpu, "(driver?: 'cuda'|'opencl'): table",
     "Returns what a driver reports about the GPU of this machine: NVIDIA's driver, or that of OpenCL. Raises an error "
     "if "
     "there is no GPU or no driver. A number that the driver does not report is 0."},
    {NULL, NULL, NULL, NULL},
};
