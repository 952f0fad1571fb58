// Checks streaming stores after vectorizing. The judge has already proved that the stores can be streaming stores. The
// result of the passes is checked again, because the generated instructions require aligned addresses.
#include "lower/pass.h"

static bool whole_vector(const nw_ranges *r, const nw_stmt *s) {
  const nw_expr *at = s->store.index;
  int64_t bytes = (int64_t)at->type.lanes * nw_dtype_bytes(s->store.value->type.dtype);
  if (at->op != NW_OP_RAMP || !nw_is_const(at->arg[1], 1) || s->store.mask) return false;
  if (bytes != 16 && bytes != 32 && bytes % 64) return false;
  return nw_divides(r, at->arg[0], (bytes < 64 ? bytes : 64) / nw_dtype_bytes(s->store.value->type.dtype));
}

bool nw_streams_hold(nw_program *p, nw_ranges *r, const nw_stmt *s) {
  bool ok = s->kind != NW_STORE || !s->store.stream || whole_vector(r, s);
  if (!ok)
    nw_fail(p->ctx, NW_ELIMIT, "Use ordinary stores, or vectorize it with whole aligned vectors.",
            "a streaming store of %s is not a whole aligned vector", s->store.buffer);
  nw_scope_push(r, s);
  for (int i = 0; ok && i < s->nkids; i++) ok = nw_streams_hold(p, r, s->kid[i]);
  nw_scope_pop(r, s);
  return ok;
}
