// Calls from Lua into the core, and back.
#include "bind.h"

// Opens a recovery point, and calls the function in upvalue 1. If the core aborts the call, it jumps to the recovery
// point. After the jump, only p and L are used. If Lua raises an error, the recovery point stays open until the next
// call replaces it.
static int guarded(lua_State *L) {
  nw_recovery p;
  lua_CFunction fn = lua_tocfunction(L, lua_upvalueindex(1));
  nw_recovery_open(&p);
  if (setjmp(p.jump)) {
    nw_recovery_recover(nwl_ctx(L), &p);
    lua_settop(L, 0);
    return nwl_fail(L, p.code, p.hint, "%s", p.message);
  }
  int results = fn(L);
  nw_recovery_close(&p);
  return results;
}

void nwl_push_function(lua_State *L, lua_CFunction fn) {
  lua_pushcfunction(L, fn);
  lua_pushcclosure(L, guarded, 1);
}

void nwl_set_functions(lua_State *L, const luaL_Reg *list) {
  for (; list && list->name; list++) {
    nwl_push_function(L, list->func);
    lua_setfield(L, -2, list->name);
  }
}

int nwl_pcall(lua_State *L, int arguments, int results) {
  nw_recovery *here = nw_recovery_now();
  int status = lua_pcall(L, arguments, results, 0);
  nw_recovery_back(here);
  return status;
}
