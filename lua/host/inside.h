// Private to lua/host: declarations that its files share.
#pragma once
#include "host.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#define NWH_MAX_CHAIN 256

void nwh_open_commands(nwh *h); // command.c
void nwh_spend_reserve(nwh *h); // host.c: frees the reserve after Lua ran out of memory
void nwh_keep_reserve(nwh *h); // host.c: allocates the reserve again, if enough memory is left
bool nwh_is_ours(const nwh *h, const lua_Debug *ar); // eval.c: true for a frame of the library, or of a C function

struct nwh {
  lua_State *L;
  // The fields from here on are shared with the binding and the signal handler. ctx is set when nestwright is loaded.
  nw_ctx *volatile ctx;
  // The main state and the running coroutines, innermost last: the hook must be set on all of them.
  lua_State *volatile chain[NWH_MAX_CHAIN];
  volatile sig_atomic_t depth;
  volatile sig_atomic_t running; // nesting of nwh_run_begin
  volatile sig_atomic_t pending; // number of interrupts since nwh_run_begin
  void (*idle)(void);
  pthread_t main;
  int64_t used, limit; // bytes of Lua's own memory
  void *reserve; // address space that is freed when memory runs out, so that the error can be shown; then NULL
  int64_t grace; // while the reserve is freed: total bytes that Lua may use without a check; otherwise 0
  char refused[256]; // message about Lua's last failed request
  char *library; // directory of the Lua library, with a slash at its end
  char *traceback; // of the last error, or NULL
};
