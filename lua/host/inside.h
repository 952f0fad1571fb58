// What the files of the host share.
#pragma once
#include "host.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#define NWH_MAX_CHAIN 256

void nwh_open_commands(nwh *h); // command.c
void nwh_spend_reserve(nwh *h); // host.c: after Lua had no memory
void nwh_keep_reserve(nwh *h); // has it again, if there is room
bool nwh_is_ours(const nwh *h, const lua_Debug *ar); // eval.c: a frame of the library, or in C

struct nwh {
  lua_State *L;
  nw_ctx *volatile ctx; // first of the fields the binding and the signal handler share; set when nestwright is loaded
  // The main state and the coroutines running in it, innermost last: those a hook must be armed on.
  lua_State *volatile chain[NWH_MAX_CHAIN];
  volatile sig_atomic_t depth;
  volatile sig_atomic_t running; // nesting of nwh_run_begin
  volatile sig_atomic_t pending; // interrupts since it began
  void (*idle)(void);
  pthread_t main;
  int64_t used, limit; // bytes of Lua's own memory
  void *reserve; // address space that is let go of where there is no memory, so that the error can be shown; or NULL
  int64_t grace; // what Lua may then use before a limit is looked at again
  char refused[256]; // what Lua last asked for in vain, and why, in words
  char *library; // directory of the Lua library, with the slash
  char *traceback; // of the last error, or NULL
};
