// Emits stores of vectors whose number of lanes is not a power of two.
//
// If such a vector is used in another basic block, LLVM usually splits the vector into single elements. LLVM does not
// split it if a register can hold as many lanes as the next power of two. Vectors of masks and indices are split in the
// same way. So the store of such a vector is emitted as several stores, the pieces. A piece has as many lanes as a
// register, or a smaller power of two.
#include "codegen/llvm/llvm.h"

const nw_expr *nwc_lanes_of(const nw_expr *e, nwc_piece piece) { return nw_take_lanes(e, piece.from, piece.lanes); }

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
