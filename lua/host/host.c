// Opens the Lua state: sets its memory limit, its libraries and its search paths.
#include "inside.h"
#include <signal.h>
#include <limits.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// ---- memory

// If a script allocates too much, Lua raises an ordinary error before the machine runs out of memory.

// Each time Lua uses LOOK_EVERY more bytes, the allocator checks the memory that is left to this process on this
// machine.
enum { LOOK_EVERY = 64 << 20, RESERVE = 16 << 20, MEGABYTE = 1000000 };

// Stores a message about a refused request for memory, and returns NULL. The message says how much memory is left. The
// message is made here, because much of the memory is free again when the error is shown.
static void *refuse(nwh *h, size_t more) {
  char limit[160] = "Lua may use three quarters of the memory of this machine";
  if (h->used + (int64_t)more <= h->limit) nw_say_limit(limit, sizeof limit);
  snprintf(h->refused, sizeof h->refused, "no memory for %.*f %s more; Lua uses %.1f MB: %s", more >= MEGABYTE,
           more >= MEGABYTE ? (double)more / MEGABYTE : (double)more, more >= MEGABYTE ? "MB" : "bytes",
           (double)h->used / MEGABYTE, limit);
  return NULL;
}

static void *allocate(void *ud, void *p, size_t old, size_t bytes) {
  nwh *h = ud;
  if (!p) old = 0;
  if (bytes == 0) {
    h->used -= (int64_t)old;
    free(p);
    return NULL;
  }
  size_t more = bytes > old ? bytes - old : 0;
  int64_t all = h->used + (int64_t)more;
  if (more && all > h->grace) {
    if (all > h->limit) return refuse(h, more);
    if (all / LOOK_EVERY != h->used / LOOK_EVERY && nw_memory_left() < (int64_t)more + LOOK_EVERY)
      return refuse(h, more);
  }
  void *q = realloc(p, bytes);
  if (!q) return refuse(h, more);
  h->used += (int64_t)bytes - (int64_t)old;
  return q;
}

void nwh_spend_reserve(nwh *h) {
  if (!h->reserve) return;
  munmap(h->reserve, RESERVE);
  h->reserve = NULL;
  h->grace = h->used + RESERVE;
}

static void *reserve(void) {
  void *p = mmap(NULL, RESERVE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

// Allocates the reserve again if enough memory is left. If too little memory is left, `grace` stays set, because with a
// grace of 0 the next check would refuse even small requests.
void nwh_keep_reserve(nwh *h) {
  if (h->reserve) return;
  lua_gc(h->L, LUA_GCCOLLECT, 0);
  if (nw_memory_left() < LOOK_EVERY + 2 * RESERVE || h->used + 2 * RESERVE > h->limit) return;
  h->reserve = reserve();
  if (h->reserve) h->grace = 0;
}

// Pushes the message about the refused request. The library raises it as an error.
static int push_refused(lua_State *L) {
  const nwh *h = lua_touserdata(L, lua_upvalueindex(1));
  lua_pushstring(L, *h->refused ? h->refused : "Lua has no more memory");
  return 1;
}

static int64_t memory_limit(void) {
  int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  int64_t limit = pages > 0 && page > 0 ? pages * page / 4 * 3 : INT64_MAX / 2;
  return limit > 1LL << 30 ? limit : 1LL << 30;
}

// ---- paths

// An installation has PREFIX/bin/nestwright, PREFIX/share/lua/5.4/nestwright and PREFIX/lib/lua/5.4/nestwright/core.so.
// A build tree has BUILD/bin/nestwright, BUILD/lib/lua/nestwright/core.so and SOURCES/lua/nestwright. SOURCES is the
// innermost directory above the program that contains the library. If there is none, SOURCES is the source directory of
// the build.

static bool has_library(const char *dir) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/nestwright/init.lua", dir);
  return access(path, R_OK) == 0;
}

// Stores the path of the directory that contains nestwright/init.lua in `out`, which must have PATH_MAX bytes. Returns
// false if there is no such directory.
static bool find_library(const char *prefix, char *out) {
  char up[PATH_MAX];
  snprintf(up, sizeof up, "%s", prefix);
  snprintf(out, PATH_MAX, "%.*s/share/lua/5.4", PATH_MAX - 32, prefix);
  if (has_library(out)) return true;
  for (char *slash; (slash = strrchr(up, '/')); *slash = '\0') {
    snprintf(out, PATH_MAX, "%.*s/lua", PATH_MAX - 8, up);
    if (has_library(out)) return true;
    if (slash == up) break;
  }
#ifdef NW_SOURCE_DIR
  snprintf(out, PATH_MAX, "%s/lua", NW_SOURCE_DIR);
  if (has_library(out)) return true;
#endif
  return false;
}

static void prepend(lua_State *L, const char *field, const char *path) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, field);
  lua_pushfstring(L, "%s;%s", path, lua_tostring(L, -1));
  lua_setfield(L, -3, field);
  lua_pop(L, 2);
}

static void set_paths(nwh *h) {
  char exe[PATH_MAX], dir[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n <= 0) return;
  exe[n] = '\0';
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(exe, '/');
    if (slash) *slash = '\0';
  }
  lua_State *L = h->L;
  prepend(L, "cpath", lua_pushfstring(L, "%s/lib/lua/?.so;%s/lib/lua/5.4/?.so", exe, exe));
  if (find_library(exe, dir)) {
    prepend(L, "path", lua_pushfstring(L, "%s/?.lua;%s/?/init.lua", dir, dir));
    h->library = strdup(lua_pushfstring(L, "%s/nestwright/", dir));
  }
  lua_settop(L, 0);
}

// ---- opening

static int open_all(lua_State *L) {
  luaL_openlibs(L);
  lua_gc(L, LUA_GCGEN, 0, 0);
  return 0;
}

nwh *nwh_open(void) {
  nwh *h = calloc(1, sizeof *h);
  if (!h) return NULL;
  h->L = luaL_newstate();
  if (!h->L) {
    free(h);
    return NULL;
  }
  h->limit = memory_limit();
  h->chain[0] = h->L;
  lua_setallocf(h->L, allocate, h);
  lua_pushcfunction(h->L, open_all);
  lua_call(h->L, 0, 0);
  lua_pushlightuserdata(h->L, (void *)&h->ctx);
  lua_setfield(h->L, LUA_REGISTRYINDEX, "nestwright.host");
  lua_pushlightuserdata(h->L, h);
  lua_setfield(h->L, LUA_REGISTRYINDEX, "nestwright.host.state");
  lua_pushlightuserdata(h->L, h);
  lua_pushcclosure(h->L, push_refused, 1);
  lua_setfield(h->L, LUA_REGISTRYINDEX, "nestwright.host.memory");
  lua_getglobal(h->L, "require");
  lua_setfield(h->L, LUA_REGISTRYINDEX, "nestwright.require");
  set_paths(h);
  h->reserve = reserve();
  nwh_open_coroutines(h);
  nwh_open_commands(h);
  return h;
}

void nwh_close(nwh *h) {
  if (!h) return;
  signal(SIGINT, SIG_DFL);
  h->ctx = NULL;
  lua_close(h->L);
  if (h->reserve) munmap(h->reserve, RESERVE);
  free(h->library);
  free(h->traceback);
  free(h);
}

lua_State *nwh_lua(nwh *h) { return h->L; }

// The library looks for the module "nestwright.script", because it may be loaded later, by the script.
void nwh_in_script(nwh *h, bool runs) {
  lua_State *L = h->L;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushboolean(L, runs);
  lua_setfield(L, -2, "nestwright.script");
  lua_pop(L, 1);
}
