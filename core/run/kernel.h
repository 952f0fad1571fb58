// Inside run/: a compiled program with everything a call needs.
#pragma once
#include "run/formals.h"
#include "run/session.h"

struct nw_kernel {
  int refs;
  nw_ctx *ctx;
  nw_exec *exec; // counted
  nw_formals formals;
  nw_machine_code *code;
  nw_entry entry;
  int threads;
  double compile_ms;
  bool cached;
  int64_t *sizes; // of the call in progress
  nw_frame frame;
  void **params, **work; // by buffer of the lowered program
  int64_t *stride;
};

// The JIT of the session, opened at the first compile; NULL and a diagnostic when it cannot be.
nw_jit *nw_session_jit(nw_ctx *c);
// Between these two k->frame can be run; begin checks the arrays and makes the workspaces.
bool nw_kernel_begin(nw_kernel *k, int n, nw_array *const *args);
void nw_kernel_end(nw_kernel *k);
