// Emits stores of vectors whose number of lanes is not a power of two.
//
// If such a vector is used in another basic block, LLVM usually splits the vector into single elements. LLVM does not
// split it if a register can hold as many lanes as the next power of two. Vectors of masks and indices are split in the
// same way. So the store of such a vector is emitted as several stores, the pieces. A piece has as many lanes as a
// register, or a smaller power of two.
#include "codegen/llvm/llvm.h"
#include "ir/expr/fold.h" // nw_intern

static const nw_expr *lanes_of(nw_memo *m, const nw_expr *e, nwc_piece piece);

static const nw_expr *ramp_of(const nw_expr *e, nwc_piece piece) {
  nw_pool *p = e->pool;
  const nw_expr *from = nw_int(p, (nw_dtype)e->type.dtype, piece.from);
  const nw_expr *base = nw_add(p, e->arg[0], nw_mul(p, e->arg[1], from));
  return piece.lanes > 1 ? nw_ramp(p, base, e->arg[1], piece.lanes) : base;
}

static const nw_expr *make_lanes(nw_memo *m, const nw_expr *e, nwc_piece piece) {
  if (e->op == NW_OP_RAMP) return ramp_of(e, piece);
  if (e->op == NW_OP_BROADCAST) return piece.lanes > 1 ? nw_broadcast(e->pool, e->arg[0], piece.lanes) : e->arg[0];
  const nw_expr *arg[4];
  nw_expr head = *e;
  head.type.lanes = (uint16_t)piece.lanes;
  for (int i = 0; i < e->n; i++) arg[i] = lanes_of(m, e->arg[i], piece);
  return nw_intern(e->pool, &head, arg);
}

// Returns the lanes of e that belong to the piece.
static const nw_expr *lanes_of(nw_memo *m, const nw_expr *e, nwc_piece piece) {
  if (e->type.lanes == 1) return e;
  const nw_expr *made = *nw_memo_at(m, e);
  if (made) return made;
  made = make_lanes(m, e, piece); // may move the entries of the memo, so the entry is searched again
  return *nw_memo_at(m, e) = made;
}

const nw_expr *nwc_lanes_of(const nw_expr *e, nwc_piece piece) {
  nw_memo m;
  nw_memo_init(&m);
  e = lanes_of(&m, e, piece);
  nw_memo_free(&m);
  return e;
}

// True if the store is emitted in pieces. A streaming store is not emitted in pieces, because its vector always fills
// whole registers.
bool nwc_in_pieces(const nw_stmt *s) {
  int lanes = s->store.index->type.lanes;
  return (lanes & (lanes - 1)) != 0 && !s->store.stream;
}

int nwc_pieces_of(const nwc *g, const nw_stmt *s, nwc_piece *piece) {
  int bytes = nwc_register_bytes(g), each = nw_dtype_bytes(s->store.value->type.dtype);
  int lanes = s->store.index->type.lanes, n = 0;
  for (int from = 0, width = bytes / each; from < lanes; from += width) {
    while (width > lanes - from) width /= 2;
    piece[n++] = (nwc_piece){from, width};
  }
  return n;
}
