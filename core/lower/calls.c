// Lowers a call of an intrinsic. The nest of the call was matched with the intrinsic's description when the call was
// made. Here it is matched again, because the layouts of the buffers are now known. The result is a tile for each
// argument of the call. A tile is the part of a buffer that is passed. The nest stays inside the call, for the
// interpreter.
#include "ir/program/intrinsic.h"
#include "lower/pass.h"

static bool fail(nw_program *p, const nw_stmt *call, const char *why) {
  return nw_fail(p->ctx, NW_ECODEGEN, NULL, "the call of %s: %s", call->call.intrinsic, why);
}

static int buffer_at(const nw_program *p, const char *name) {
  int i = 0;
  while (strcmp(p->buffer[i]->name, name)) i++;
  return i;
}

// Returns the stride of a dense tile along dimension d, in elements. It is used for dimensions of extent 1, for which
// every stride is correct.
static int64_t natural(const nw_intrinsic_arg *a, int d) {
  int64_t n = 1;
  for (int k = d + 1; k < a->ndim; k++) n *= a->dim[k].extent;
  return n;
}

static const nw_expr *stride_of(nw_program *p, const nw_ranges *r, const nw_intrinsic_arg *a, const nw_window *w, int d,
                                const nw_physical *place) {
  const nw_tile_dim *dim = &a->dim[d];
  if (dim->own < 0) return nw_index(p->pool, dim->stride == NW_ANY_STRIDE ? natural(a, d) : dim->stride);
  const nw_expr *sum = nw_index(p->pool, 0);
  for (int k = 0; k < w->n; k++)
    sum = nw_add(p->pool, sum, nw_mul(p->pool, nw_index(p->pool, w->step[d][k]), place->stride[k]));
  return nw_simplify(r, sum);
}

// Makes the tile of a fragment, which begins with place 0 of lane 0. The places of a lane are adjacent, and so are the lanes.
static bool make_fragment(nw_program *p, const nw_ranges *r, const nw_stmt *call, const nw_intrinsic_arg *a,
                          const nw_window *w, const nw_physical *place, nw_tile *t) {
  int lane = w->n - 2, n = a->fragment.n;
  *t = (nw_tile){.buffer = w->buffer, .index = nw_physical_at(place, r, w->at)};
  bool good = nw_is_const(place->stride[lane], n) && nw_is_const(place->stride[lane + 1], 1) &&
              nw_divides(r, t->index, (int64_t)n * NW_FRAGMENT_LANES);
  return good || fail(p, call, "a fragment does not have a place for each element of each lane");
}

static bool is_aligned(const nw_ranges *r, const nw_intrinsic_arg *a, const nw_tile *t) {
  int64_t n = 16 / nw_dtype_bytes(a->dtype), stride;
  return nw_divides(r, t->index, n) && nw_is_int(t->stride[0], &stride) && stride % n == 0;
}

static bool make_tile(nw_program *p, const nw_ranges *r, const nw_stmt *call, const nw_intrinsic_arg *a,
                      const nw_window *w, const nw_physical *place, bool warp, nw_tile *t) {
  if (a->fragment.n) return make_fragment(p, r, call, a, w, place, t);
  *t = (nw_tile){.buffer = w->buffer, .n = a->ndim, .index = nw_physical_at(place, r, w->at)};
  t->stride = NW_NEW_N(p->arena, const nw_expr *, a->ndim + 1);
  for (int d = 0; d < a->ndim; d++) {
    t->stride[d] = stride_of(p, r, a, w, d, place);
    if (a->dim[d].stride != NW_ANY_STRIDE && !nw_is_const(t->stride[d], a->dim[d].stride))
      return fail(p, call, "a tile does not have the memory layout with which it was scheduled");
  }
  if (warp && !is_aligned(r, a, t)) return fail(p, call, "the rows of a tile do not begin at multiples of 16 bytes");
  return true;
}

bool nw_lower_call(nw_program *p, const nw_ranges *r, nw_stmt *call, nw_physical *const *place, const nw_expr **where) {
  const nw_intrinsic *in = nw_intrinsic_find(p->ctx, call->call.intrinsic);
  nw_match m;
  if (!in) return fail(p, call, "no such intrinsic is registered in this session");
  if (in->chip && in->kind != NW_CHIP_TENSOR) return *where = NULL, true; // a nest of any size, with its own conditions
  if (!nw_unify(p, call, in, &m)) return nw_match_free(&m), fail(p, call, "its nest does not match the intrinsic");
  call->call.ntiles = in->nargs;
  call->call.tile = NW_NEW_N(p->arena, nw_tile, in->nargs);
  for (int i = 0; i < in->nargs; i++)
    if (!make_tile(p, r, call, &in->arg[i], &m.window[i], place[buffer_at(p, m.window[i].buffer)],
                   in->instruction != NULL, &call->call.tile[i]))
      return false;
  nw_stmt *block = (nw_stmt *)m.block;
  *where = m.where;
  block->block.where = NULL; // conditions that are not proven become a guard of the call
  if (block->block.has_init) nw_split_init(p, block->id);
  return true;
}
