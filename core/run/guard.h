// Native code under guard: how the threads of one call enter it, and how they are told to leave.
#pragma once
#include "run/run.h"
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

#define NW_MAX_TEAM 1024

// One guarded call in progress. The memory is static: a signal handler may look at it at any moment.
typedef struct nw_call {
  atomic_bool used;
  atomic_bool stop; // every thread inside native code is to jump to its point
  atomic_int signal; // what crashed, 0 if nothing did
  _Atomic(void *) address; // where, for a bad access
  atomic_int member[NW_MAX_TEAM]; // kernel thread ids of those that run the call; [0] is the caller's
} nw_call;

// What a thread of a team needs before it runs native code; `worker` ones also stop taking the user's signals.
void nw_guard_seat(bool worker);
void nw_guard_block_user(sigset_t *old);
// Runs fn(arg) as native code of this call, as its member number m. False if it was made to jump out.
bool nw_guard_run(nw_call *call, int m, void (*fn)(void *arg), void *arg);
// Between these two a thread is inside the runtime: it is not made to jump. nw_guard_back jumps if it was told to.
void nw_guard_out(nw_call *call);
void nw_guard_back(nw_call *call);

// Runs fn(arg, t) for t in 0..threads, each on a thread of its own, 0 on the caller's, and waits for all.
void nw_team_run(int threads, void (*fn)(void *arg, int t), void *arg);
// Makes the threads, so that they exist, with signals blocked, before native code needs them. False: the system makes no more.
bool nw_team_prepare(int threads);
