// Declares the types and functions that the files of lua/host share. Other folders do not include this header.
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
  // The binding sets `ctx` when nestwright is loaded. The signal handler reads this field and the fields from `chain`
  // to `main`.
  nw_ctx *volatile ctx;
  // The main state and the running coroutines, innermost last. An interrupt sets a hook on each of them.
  lua_State *volatile chain[NWH_MAX_CHAIN];
  volatile sig_atomic_t depth;
  volatile sig_atomic_t running; // number of nested calls of nwh_run_begin
  volatile sig_atomic_t pending; // number of interrupts since nwh_run_begin
  bool stopped; // true if an interrupt ended the last call of nwh_call
  void (*idle)(void);
  pthread_t main;
  int64_t used, limit; // the number of bytes that Lua uses, and the largest number that it may use
  void *reserve; // memory that is freed so that an error about missing memory can be shown; then NULL
  int64_t grace; // while the reserve is freed: the bytes that Lua may use without a check; otherwise 0
  char refused[256]; // message about Lua's last failed request
  char *library; // directory of the Lua library, with a slash at its end
  char *traceback; // traceback of the last error, or NULL
};
