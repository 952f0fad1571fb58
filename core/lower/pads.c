// Pass: writes the pad value to the positions of an output that hold no element.
//
// Such positions exist if the layout of an output does not fill its array. For example, with 37 rows, the layout
// i // 16, j, i % 16 has 3*16 rows. Here the layout has the digits of each index in mixed radix. So a position holds no
// element exactly if one of the indices that its digits make up is not less than the extent. There is a nest for each
// index. Its loop over the coarsest digit begins at the first value for which the index can be too large. The nests run
// after the program; no other statement uses these positions.
#include "ir/program/layout.h"
#include "lower/pass.h"

typedef struct pads {
  nw_program *p;
  const nw_buffer *b;
  const nw_physical *place;
  nw_ranges r;
  nw_stmt *loop[NW_MAX_DEPTH]; // one for each component of the position, outermost first
  const nw_expr *at[NW_MAX_DEPTH];
} pads;

static nw_stmt *new_loop(pads *x, int d, const nw_expr *begin) {
  nw_program *p = x->p;
  nw_str name = {0};
  nw_str_fmt(&name, "%s_pad%d", x->b->name, d);
  const nw_expr *extent = nw_simplify(&x->r, nw_sub(p->pool, x->b->layout_shape[d], begin));
  nw_stmt *loop = nw_new_loop(p, nw_unique_loop_name(p, name.s), begin, extent);
  loop->step = x->b->laid;
  nw_str_free(&name);
  return loop;
}

// Makes the nest for the positions at which this index is too large. Returns NULL if there are none.
static nw_stmt *nest_for(pads *x, int dim, const nw_radix *radix) {
  nw_pool *pool = x->p->pool;
  const nw_expr *extent = x->b->shape[dim], *zero = nw_index(pool, 0);
  int n = x->b->nlayout;
  for (int d = 0; d < n; d++) {
    bool coarsest = radix->n && d == radix->at[0];
    const nw_expr *begin = coarsest ? nw_floordiv(pool, extent, nw_index(pool, radix->weight[0])) : zero;
    x->loop[d] = new_loop(x, d, nw_simplify(&x->r, begin));
    x->at[d] = x->loop[d]->loop.var;
  }
  for (int d = 0; d < n; d++) nw_scope_push(&x->r, x->loop[d]);
  const nw_expr *out = nw_le(pool, extent, nw_radix_index(pool, radix, x->at));
  nw_stmt *nest = NULL;
  if (!nw_disprove(&x->r, out)) {
    nest = nw_new_like(x->p, NW_STORE, x->loop[0]);
    nest->store.buffer = x->b->name;
    nest->store.index = nw_physical_at(x->place, &x->r, x->at);
    nest->store.value = x->b->pad;
    nest = nw_guarded(x->p, nw_remaining(&x->r, out), nest);
  }
  for (int d = n - 1; d >= 0; d--) nw_scope_pop(&x->r, x->loop[d]);
  for (int d = n - 1; d >= 0 && nest; d--) {
    nw_kids_set(x->p, x->loop[d], 1, &nest);
    nest = x->loop[d];
  }
  return nest;
}

static void write_pads(nw_program *p, const nw_buffer *b) {
  pads x = {.p = p, .b = b, .place = nw_physical_param(p->arena, p, b)};
  nw_scope_open(&x.r, p);
  for (int d = 0; d < b->ndim; d++) {
    nw_radix radix;
    nw_stmt *nest = nw_radix_of(b, d, &radix) ? nest_for(&x, d, &radix) : NULL;
    if (nest) nw_kids_insert(p, p->root, p->root->nkids, nest);
  }
  nw_ranges_free(&x.r);
}

nw_program *nw_pass_pads(nw_program *p) {
  for (int i = 0; i < p->nbuffers; i++)
    if (p->buffer[i]->role == NW_OUTPUT && p->buffer[i]->pad) write_pads(p, p->buffer[i]);
  return p;
}
