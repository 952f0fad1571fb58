// Estimates the number of instructions of a program. Compiling cannot be interrupted, so programs that are too long are
// not compiled.
#include "lower/pass.h"

#define VECTOR_BYTES 64
#define LOOP_OPS 4
#define CALL_OPS 8

typedef struct count {
  int64_t ops;
} count;

static bool count_op(void *env, const nw_expr *e) {
  count *c = env;
  if (nw_op_has(e->op, 'L')) return true;
  int64_t bytes = (int64_t)e->type.lanes * nw_dtype_bytes(e->type.dtype);
  int64_t vectors = (bytes + VECTOR_BYTES - 1) / VECTOR_BYTES;
  bool gather = e->op == NW_OP_LOAD && e->type.lanes > 1 && e->arg[0]->op != NW_OP_RAMP;
  bool address = e->op == NW_OP_RAMP || e->op == NW_OP_BROADCAST;
  c->ops += gather ? e->type.lanes : address ? 1 : vectors;
  return true;
}

int64_t nw_expr_ops(const nw_expr *e) {
  count c = {0};
  if (e) nw_visit(e, count_op, &c);
  return c.ops;
}

static int64_t call_size(const nw_stmt *s) {
  int64_t n = CALL_OPS;
  for (int i = 0; i < s->call.ntiles; i++) {
    n += nw_expr_ops(s->call.tile[i].index);
    for (int d = 0; d < s->call.tile[i].n; d++) n += nw_expr_ops(s->call.tile[i].stride[d]);
  }
  return n;
}

static int64_t own_size(const nw_stmt *s) {
  switch (s->kind) {
  case NW_LOOP: return LOOP_OPS + nw_expr_ops(s->loop.begin) + nw_expr_ops(s->loop.extent);
  case NW_GUARD: return 1 + nw_expr_ops(s->guard.cond);
  case NW_PREFETCH: return 1 + nw_expr_ops(s->prefetch.min[0]);
  case NW_STORE: return 1 + nw_expr_ops(s->store.index) + nw_expr_ops(s->store.value) + nw_expr_ops(s->store.mask);
  default: return 0;
  }
}

// Returns the estimated number of instructions. The nest inside a call does not count, because no code is generated for
// the nest.
int64_t nw_code_size(const nw_stmt *s) {
  if (s->kind == NW_CALL) return call_size(s);
  int64_t own = own_size(s), kids = 0, times = 1;
  for (int i = 0; i < s->nkids; i++) kids += nw_code_size(s->kid[i]);
  if (s->kind == NW_LOOP && s->loop.mark == NW_UNROLLED && nw_is_int(s->loop.extent, &times)) own = 0;
  int64_t all;
  if (__builtin_mul_overflow(kids, times, &all) || all > INT64_MAX / 4) return INT64_MAX / 4;
  return own + all;
}
