// Takes some lanes of a vector expression: all operations are repeated for these lanes only.
#include "ir/expr/fold.h"

typedef struct slice {
  int from, lanes;
  nw_memo made;
} slice;

static const nw_expr *slice_of(slice *s, const nw_expr *e);

static const nw_expr *ramp_of(const slice *s, const nw_expr *e) {
  nw_pool *p = e->pool;
  const nw_expr *from = nw_int(p, (nw_dtype)e->type.dtype, s->from);
  const nw_expr *base = nw_add(p, e->arg[0], nw_mul(p, e->arg[1], from));
  return s->lanes > 1 ? nw_ramp(p, base, e->arg[1], s->lanes) : base;
}

static const nw_expr *make(slice *s, const nw_expr *e) {
  if (e->op == NW_OP_RAMP) return ramp_of(s, e);
  if (e->op == NW_OP_BROADCAST) return s->lanes > 1 ? nw_broadcast(e->pool, e->arg[0], s->lanes) : e->arg[0];
  const nw_expr *arg[4];
  nw_expr head = *e;
  head.type.lanes = (uint16_t)s->lanes;
  for (int i = 0; i < e->n; i++) arg[i] = slice_of(s, e->arg[i]);
  return nw_intern(e->pool, &head, arg);
}

static const nw_expr *slice_of(slice *s, const nw_expr *e) {
  if (e->type.lanes == 1) return e;
  const nw_expr *made = *nw_memo_at(&s->made, e);
  if (made) return made;
  made = make(s, e); // may move the entries of the memo, so the entry is searched again
  return *nw_memo_at(&s->made, e) = made;
}

const nw_expr *nw_take_lanes(const nw_expr *e, int from, int lanes) {
  slice s = {.from = from, .lanes = lanes};
  nw_memo_init(&s.made);
  e = slice_of(&s, e);
  nw_memo_free(&s.made);
  return e;
}
