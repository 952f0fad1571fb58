// The Lua module "peers" runs OpenBLAS and the programs of peers.h, which the benches compare with Nestwright. Arrays
// are passed as light userdata. A function returns the seconds of one call. With one thread, they are CPU seconds of
// the process, which do not include preemption. With several threads, they are wall-clock seconds.
#include "peers.h"
#include "programs.h"
#include <cblas.h>
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <time.h>

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static clockid_t clock_for(int threads) { return threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC; }

static int l_sgemm(lua_State *L) { // sgemm({m, n, k}, a, b, c, threads)
  int size[3], threads = (int)luaL_checkinteger(L, 5);
  for (int i = 0; i < 3; i++) {
    lua_geti(L, 1, i + 1);
    size[i] = (int)luaL_checkinteger(L, -1);
  }
  int m = size[0], n = size[1], k = size[2];
  const float *a = lua_touserdata(L, 2), *b = lua_touserdata(L, 3);
  float *c = lua_touserdata(L, 4);
  openblas_set_num_threads(threads);
  double t = seconds(clock_for(threads));
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
  lua_pushnumber(L, seconds(clock_for(threads)) - t);
  return 1;
}

static int l_corename(lua_State *L) {
  lua_pushstring(L, openblas_get_corename());
  return 1;
}

static int l_conv1d(lua_State *L) { // conv1d(n, taps, a, w, out, times)
  int n = (int)luaL_checkinteger(L, 1), taps = (int)luaL_checkinteger(L, 2), times = (int)luaL_checkinteger(L, 6);
  double t = seconds(clock_for(1));
  for (int i = 0; i < times; i++)
    peer_conv1d_scatter(n, taps, lua_touserdata(L, 3), lua_touserdata(L, 4), lua_touserdata(L, 5));
  lua_pushnumber(L, (seconds(clock_for(1)) - t) / times);
  return 1;
}

static int size_at(lua_State *L, int at) { return (int)luaL_checkinteger(L, at); }
static void *array_at(lua_State *L, int at) {
  luaL_checktype(L, at, LUA_TLIGHTUSERDATA);
  return lua_touserdata(L, at);
}

// Defines the Lua function of a kernel of kernels.c: NAME(sizes..., arrays..., times). The function calls the kernel
// `times` times and returns the CPU seconds of one call.
#define KERNEL(name, n, call)                                                                                          \
  static int l_##name(lua_State *L) {                                                                                  \
    int times = size_at(L, n);                                                                                         \
    double t = seconds(clock_for(1));                                                                                  \
    for (int i = 0; i < times; i++) call;                                                                              \
    lua_pushnumber(L, (seconds(clock_for(1)) - t) / times);                                                            \
    return 1;                                                                                                          \
  }
#define N(at) size_at(L, at)
#define P(at) array_at(L, at)
KERNEL(depthwise, 7, peer_depthwise(N(1), N(2), N(3), P(4), P(5), P(6)))
KERNEL(blur_u16, 6, peer_blur_u16(N(1), N(2), P(3), P(4), P(5)))
KERNEL(blur_f32, 6, peer_blur_f32(N(1), N(2), P(3), P(4), P(5)))
KERNEL(triad, 5, peer_triad(N(1), P(2), P(3), P(4)))
KERNEL(copy, 4, peer_copy(N(1), P(2), P(3)))
KERNEL(softmax, 5, peer_softmax(N(1), N(2), P(3), P(4)))

// exported(library, symbol, times, arrays...): calls an exported kernel without sizes, which takes at most four arrays.
static int l_exported(lua_State *L) {
  int times = size_at(L, 3);
  void *array[4] = {0}, *library = dlopen(luaL_checkstring(L, 1), RTLD_NOW | RTLD_LOCAL); // it stays open
  for (int i = 0; i < lua_gettop(L) - 3 && i < 4; i++) array[i] = array_at(L, 4 + i);
  int (*f)(void *, void *, void *, void *) = 0;
  if (library) *(void **)&f = dlsym(library, luaL_checkstring(L, 2));
  if (!f) return luaL_error(L, "%s", dlerror());
  double t = seconds(clock_for(1));
  for (int i = 0; i < times; i++)
    if (f(array[0], array[1], array[2], array[3])) return luaL_error(L, "the kernel failed");
  lua_pushnumber(L, (seconds(clock_for(1)) - t) / times);
  return 1;
}

static int l_cpu_ms(lua_State *L) { // returns the CPU milliseconds of this process so far
  lua_pushnumber(L, 1e3 * seconds(CLOCK_PROCESS_CPUTIME_ID));
  return 1;
}

static int l_now_ms(lua_State *L) {
  lua_pushnumber(L, 1e3 * seconds(CLOCK_MONOTONIC));
  return 1;
}

// rest(ms): waits, so that the idle threads of a library stop spinning before the next program is timed.
static int l_rest(lua_State *L) {
  double ms = luaL_checknumber(L, 1);
  struct timespec t = {(time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000};
  nanosleep(&t, NULL);
  return 0;
}

static int l_branch_miss(lua_State *L) {
  lua_pushnumber(L, peer_branch_miss());
  return 1;
}

static int l_line_crossing(lua_State *L) {
  lua_pushnumber(L, peer_line_crossing());
  return 1;
}

// program(name, sizes, arrays, times): calls a program of programs.h, and returns the CPU seconds of one call.
static int l_program(lua_State *L) {
#define ROW(name) {#name, program_##name},
  static const struct {
    const char *name;
    void (*run)(const long *n, void *const *p);
  } rows[] = {PROGRAMS(ROW)};
  long n[8];
  void *p[16];
  int sizes = (int)luaL_len(L, 2), arrays = (int)luaL_len(L, 3), times = size_at(L, 4);
  luaL_argcheck(L, sizes <= 8 && arrays <= 16, 2, "too many");
  for (int i = 0; i < sizes; i++, lua_pop(L, 1)) lua_geti(L, 2, i + 1), n[i] = (long)luaL_checkinteger(L, -1);
  for (int i = 0; i < arrays; i++, lua_pop(L, 1)) lua_geti(L, 3, i + 1), p[i] = lua_touserdata(L, -1);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].name, luaL_checkstring(L, 1)) != 0) continue;
    double t = seconds(clock_for(1));
    for (int k = 0; k < times; k++) rows[i].run(n, p);
    lua_pushnumber(L, (seconds(clock_for(1)) - t) / times);
    return 1;
  }
  return luaL_error(L, "there is no program %s", lua_tostring(L, 1));
}

int luaopen_peers(lua_State *L);
int luaopen_peers(lua_State *L) {
  static const luaL_Reg rows[] = {{"sgemm", l_sgemm},
                                  {"corename", l_corename},
                                  {"conv1d", l_conv1d},
                                  {"exported", l_exported},
                                  {"cpu_ms", l_cpu_ms},
                                  {"now_ms", l_now_ms},
                                  {"rest", l_rest},
                                  {"depthwise", l_depthwise},
                                  {"blur_u16", l_blur_u16},
                                  {"blur_f32", l_blur_f32},
                                  {"triad", l_triad},
                                  {"copy", l_copy},
                                  {"softmax", l_softmax},
                                  {"branch_miss", l_branch_miss},
                                  {"line_crossing", l_line_crossing},
                                  {"program", l_program},
                                  {NULL, NULL}};
  luaL_newlib(L, rows);
  return 1;
}
