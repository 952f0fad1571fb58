// Describes and measures this machine. Also returns the version of this library.
#include "bind.h"
#include <stdlib.h>
#include <time.h>

static int f_machine(lua_State *L) {
  nwl_push_text(L, nw_machine_text(nwl_ctx(L)));
  return 1;
}

static int f_caches(lua_State *L) {
  int64_t bytes;
  int ways, line;
  lua_newtable(L);
  for (int i = 0; nw_machine_cache(i, &bytes, &ways, &line); i++) {
    lua_createtable(L, 0, 4);
    lua_pushinteger(L, nw_machine_cache_cpus(i));
    lua_setfield(L, -2, "cpus");
    lua_pushinteger(L, bytes);
    lua_setfield(L, -2, "bytes");
    lua_pushinteger(L, ways);
    lua_setfield(L, -2, "ways");
    lua_pushinteger(L, line);
    lua_setfield(L, -2, "line");
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// Pushes the samples as a list with the fields retaken and disturbed, and frees them.
static void push_rates(lua_State *L, nw_rates *r) {
  lua_createtable(L, r->n, 2);
  for (int i = 0; i < r->n; i++) {
    lua_pushnumber(L, r->rate[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushinteger(L, r->retaken);
  lua_setfield(L, -2, "retaken");
  lua_pushboolean(L, r->disturbed);
  lua_setfield(L, -2, "disturbed");
  free(r->rate);
}

// peak(threads, dtype): returns the peak and all samples, in flop/s.
static int f_peak(lua_State *L) {
  nw_rates r;
  nw_dtype type = lua_isnoneornil(L, 2) ? NW_F32 : nwl_dtype(L, 2, "dtype");
  if (type != NW_F32 && type != NW_F64) nwl_fail(L, NW_EINVAL, NULL, "peak_flops: dtype is 'f32' or 'f64'");
  int threads = nwl_count_or(L, 1, "threads", 0, 1024, 1);
  nw_clear(nwl_ctx(L));
  if (!nw_peak_flops(nwl_ctx(L), type, threads, &r)) return nwl_raise(L);
  lua_pushnumber(L, nw_rates_peak(&r));
  push_rates(L, &r);
  return 2;
}

// bandwidth(loop, bytes, threads): returns samples in bytes per second.
static int f_bandwidth(lua_State *L) {
  static const char *const loops[] = {"read", "copy", "triad", "write", NULL};
  nw_rates r;
  int loop = nwl_choice(L, 1, "loop", loops, -1), threads = nwl_count_or(L, 3, "threads", 0, 1024, 1);
  lua_Integer bytes = nwl_integer(L, 2, "bytes");
  nw_clear(nwl_ctx(L));
  if (!nw_bandwidth(nwl_ctx(L), (nw_stream)loop, bytes, threads, &r)) return nwl_raise(L);
  push_rates(L, &r);
  return 1;
}

static int f_peak_vs_ports(lua_State *L) {
  double ratio = nw_peak_vs_ports(nwl_ctx(L));
  if (!(ratio > 0)) return nwl_raise(L);
  lua_pushnumber(L, ratio);
  return 1;
}

static int f_core_hz(lua_State *L) {
  lua_pushnumber(L, nw_core_hz());
  return 1;
}

static int f_now(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (lua_Number)t.tv_sec + 1e-9 * (lua_Number)t.tv_nsec);
  return 1;
}

static int f_memory_left(lua_State *L) {
  lua_pushinteger(L, nw_memory_left());
  return 1;
}

static int f_version(lua_State *L) {
  lua_pushstring(L, nw_version());
  return 1;
}

const nwl_row nwl_hw_rows[] = {
    {"machine_text", f_machine, "(): string", "Returns a text about the CPU, its features, caches and cores."},
    {"machine_caches", f_caches, "(): table[]",
     "Returns bytes, ways, line size and number of sharing CPUs of each cache. The cache nearest to a core comes "
     "first."},
    {"peak_flops", f_peak, "(threads?: integer, dtype?: string): number, number[]",
     "Measures the peak rate of fused multiply-adds of 'f32' or 'f64' on this machine, in flop per second of "
     "wall-clock "
     "time. Returns the upper quartile of the samples, and all samples; their field disturbed is true if other work "
     "disturbed most of them. t:share(flop) compares a time with the peak."},
    {"bandwidth", f_bandwidth, "(loop: string, bytes: integer, threads: integer): number[]",
     "Measures the bandwidth of a 'read', 'copy', 'triad' or 'write' loop over `bytes` bytes of memory. Returns "
     "samples in bytes per second of wall-clock time, with the fields retaken and disturbed."},
    {"peak_vs_ports", f_peak_vs_ports, "(): number",
     "Returns the measured peak divided by the peak of two full-width FMA units at the measured clock. The ratio is "
     "near 1 if the measuring loop is good. It is formed from two clocks: the peak is measured in wall-clock time, and "
     "the cycles per second in CPU time. Other work can only make it smaller."},
    {"core_hz", f_core_hz, "(): number",
     "Measures the cycles per second of this core with a chain of dependent adds. The seconds are CPU time of the "
     "thread, which does not pass while another program has the core."},
    {"now", f_now, "(): number", "Returns the seconds since an arbitrary time; only differences are meaningful."},
    {"memory_left", f_memory_left, "(): integer",
     "Returns the bytes that can still be allocated under the tightest limit of this process and the machine."},
    {"version", f_version, "(): string", "Returns the version of Nestwright."},
    {NULL, NULL, NULL, NULL},
};
