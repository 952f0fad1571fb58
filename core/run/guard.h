// Declares the functions with which the threads of a call enter native code and leave it.
#pragma once
#include "run/run.h"
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

#define NW_MAX_TEAM 1024

// A guarded call in progress. Its memory is static, because a signal handler may read it at any moment.
typedef struct nw_call {
  atomic_bool used;
  atomic_bool stop; // true if every thread in native code must jump back to where it entered
  atomic_int signal; // the signal of a crash, or 0
  _Atomic(void *) address; // the address of a bad access
  atomic_int member[NW_MAX_TEAM]; // kernel thread ids of the call's threads; [0] is the caller
} nw_call;

// Prepares the calling thread for native code. If `worker` is true, also blocks the signals that the user may send.
void nw_guard_seat(bool worker);
void nw_guard_block_user(sigset_t *old);
// Runs fn(arg) as native code of this call, on its thread number m. Returns false if the thread jumped out of fn, or if
// the call was stopped before fn began.
bool nw_guard_run(nw_call *call, int m, void (*fn)(void *arg), void *arg);
// Between nw_guard_out and nw_guard_back, a thread is in the runtime and does not jump. If a stop was requested,
// nw_guard_back jumps.
void nw_guard_out(nw_call *call);
void nw_guard_back(nw_call *call);

// Runs fn(arg, t) for each t in 0..threads-1, and waits for all calls. t = 0 runs on the caller's thread, each other t
// on its own thread.
void nw_team_run(int threads, void (*fn)(void *arg, int t), void *arg);
// Creates the threads, with signals blocked, before native code needs them. Returns false if the system cannot create
// more threads.
bool nw_team_prepare(int threads);
