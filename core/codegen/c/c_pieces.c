// Writes the stores of vectors. A C compiler splits vectors that are longer than a register badly, so a store is written
// in pieces. A piece has as many lanes as fill a register, or a smaller power of two.
#include "codegen/c/c_vector.h"
#include "codegen/shuffle.h"

typedef struct piece {
  int from, lanes;
} piece;

static void line_start(nwt *g) { nw_str_indent(&g->out, 2 * g->depth); }

// ---- cutting a store

static bool see_bytes(void *env, const nw_expr *e) {
  int *most = env, bytes = nw_dtype_bytes((nw_dtype)e->type.dtype);
  bool data = e->type.lanes > 1 && e->type.dtype != NW_INDEX && e->type.dtype != NW_BOOL;
  if (data && bytes > *most) *most = bytes;
  return true;
}

// Returns the bytes of the widest elements from which the value is computed. Indices do not count: they are seldom kept
// in vectors.
static int widest(const nw_stmt *s) {
  int bytes = nw_dtype_bytes((nw_dtype)s->store.value->type.dtype);
  nw_visit(s->store.value, see_bytes, &bytes);
  return bytes;
}

static int cut(const nwt *g, const nw_stmt *s, piece *out) {
  int lanes = s->store.index->type.lanes, n = 0;
  for (int from = 0, width = g->vectors->register_bytes / widest(s); from < lanes; from += width) {
    while (width > lanes - from) width /= 2;
    out[n++] = (piece){from, width};
  }
  return n;
}

static bool no_other_load(void *env, const nw_expr *e) {
  const nw_stmt *s = env;
  return e->op != NW_OP_LOAD || strcmp(e->name, s->store.buffer) || e->arg[0] == s->store.index;
}

// True if each piece reads, of the buffer that it writes, only the elements that it writes. Then no value has to be
// computed before the first piece is stored.
static bool apart(const nw_stmt *s) {
  const nw_expr *part[] = {s->store.value, s->store.index, s->store.mask};
  bool line = s->store.index->op == NW_OP_RAMP, good = true;
  for (int i = 0; i < NW_COUNT(part) && good; i++)
    good = !part[i] || (line ? nw_visit(part[i], no_other_load, (void *)s) : !nw_uses_load(part[i], s->store.buffer));
  return good;
}

// ---- one piece

static void value_of(nwt *g, const nw_stmt *s, piece p) {
  const nw_expr *v = s->store.value;
  int lanes = s->store.index->type.lanes;
  if (v->type.lanes == 1 && lanes > 1) v = nw_broadcast(g->p->pool, v, lanes);
  v = nw_take_lanes(v, p.from, p.lanes);
  if (v->type.dtype != NW_BOOL || p.lanes == 1) {
    nwt_expr(g, v);
    return;
  }
  nw_str_add(&g->out, "(");
  nwv_type(g, &g->out, NW_BOOL, p.lanes);
  nw_str_add(&g->out, ")(");
  nwv_mask_expr(g, v, 1, nw_op_c_prec(NW_OP_NEG));
  nw_str_add(&g->out, " & ");
  nwv_call(g, NWV_SPLAT, NW_I8, p.lanes);
  nw_str_add(&g->out, "1))");
}

// Declares variables for the values of the pieces.
static void values(nwt *g, const nw_stmt *s, int n, const piece *p) {
  for (int i = 0; i < n; i++) {
    nw_dtype t = (nw_dtype)s->store.value->type.dtype;
    line_start(g);
    nw_str_add(&g->out, "const ");
    if (p[i].lanes > 1)
      nwv_type(g, &g->out, t, p[i].lanes);
    else
      nw_str_add(&g->out, nwt_type(t));
    nw_str_fmt(&g->out, " nw_value_%d = ", i);
    value_of(g, s, p[i]);
    nw_str_add(&g->out, ";\n");
  }
}

static void store_piece(nwt *g, const nw_stmt *s, piece p, int variable) {
  const nw_expr *index = nw_take_lanes(s->store.index, p.from, p.lanes);
  const nw_expr *mask = s->store.mask ? nw_take_lanes(s->store.mask, p.from, p.lanes) : NULL;
  int known = !mask ? 1 : mask->type.lanes > 1 ? nwv_known(mask) : -1;
  if (!known) {
    nw_str_add(&g->out, ";\n");
    return;
  }
  if (known > 0) mask = NULL;
  if (mask && mask->type.lanes == 1) {
    nw_str_add(&g->out, "if (");
    nwt_expr(g, mask);
    nw_str_add(&g->out, ") ");
    mask = NULL;
  }
  bool one = p.lanes == 1;
  if (one) {
    nw_str_fmt(&g->out, "%s[", nwt_name(g, s->store.buffer));
    nwt_expr(g, index);
    nw_str_add(&g->out, "] = ");
  } else {
    bool line = index->op == NW_OP_RAMP && nw_is_const(index->arg[1], 1);
    nw_dtype t = (nw_dtype)s->store.value->type.dtype;
    nwv_access(g, s->store.stream && line && !mask ? NWV_STREAM : NWV_STORE, s->store.buffer, index, t, mask);
    g->vectors->fence |= s->store.stream;
    nw_str_add(&g->out, ", ");
  }
  if (variable >= 0)
    nw_str_fmt(&g->out, "nw_value_%d", variable);
  else
    value_of(g, s, p);
  nw_str_add(&g->out, one ? ";\n" : ");\n");
}

// The start of the line is written already.
void nwv_store(nwt *g, const nw_stmt *s) {
  piece p[NW_LANES_ROOM];
  int n = cut(g, s, p);
  bool variables = n > 1 && (s->store.atomic || !apart(s)), block = variables || (s->store.atomic && n > 1);
  if (block) {
    nw_str_add(&g->out, "{\n");
    g->depth++;
  }
  if (variables) values(g, s, n, p);
  for (int i = 0; i < n && !g->failed; i++) {
    if (i || block) line_start(g);
    store_piece(g, s, p[i], variables ? i : -1);
  }
  if (!block) return;
  g->depth--;
  line_start(g);
  nw_str_add(&g->out, "}\n");
}

// ---- calls of intrinsics that only move elements

static const nw_expr *place(nwt *g, const nw_tile *tile, const int64_t *at, int lanes) {
  nw_pool *pool = g->p->pool;
  const nw_expr *index = tile->index;
  for (int d = 0; d < tile->n; d++) index = nw_add(pool, index, nw_mul(pool, tile->stride[d], nw_index(pool, at[d])));
  return nw_ramp(pool, index, nw_index(pool, 1), lanes);
}

static void mixed(nwt *g, const nw_shuffles *plan, const nw_shuffle *step) {
  nw_str_add(&g->out, "NW_SHUFFLE(");
  nwv_type(g, &g->out, nwv_mask(nw_dtype_bytes(plan->dtype)), plan->lanes);
  nw_str_fmt(&g->out, ", nw_v%d, nw_v%d", step->a, step->b);
  for (int l = 0; l < plan->lanes; l++) nw_str_fmt(&g->out, ", %d", step->lane[l]);
}

static void shuffle(nwt *g, const nw_stmt *call, const nw_shuffles *plan, const nw_shuffle *step) {
  const nw_tile *from = &call->call.tile[plan->input], *to = &call->call.tile[plan->output];
  line_start(g);
  if (step->kind != NW_SHUFFLE_STORE) {
    nw_str_add(&g->out, "const ");
    nwv_type(g, &g->out, plan->dtype, plan->lanes);
    nw_str_fmt(&g->out, " nw_v%d = ", step->to);
  }
  if (step->kind == NW_SHUFFLE_MIX)
    mixed(g, plan, step);
  else if (step->kind == NW_SHUFFLE_LOAD)
    nwv_access(g, NWV_LOAD, from->buffer, place(g, from, step->at, plan->lanes), plan->dtype, NULL);
  else
    nwv_access(g, NWV_STORE, to->buffer, place(g, to, step->at, plan->lanes), plan->dtype, NULL);
  if (step->kind == NW_SHUFFLE_STORE) nw_str_fmt(&g->out, ", nw_v%d", step->a);
  nw_str_add(&g->out, ");\n");
}

void nwv_shuffles(nwt *g, const nw_stmt *call, const nw_intrinsic *in) {
  nw_shuffles plan;
  bool good = nw_shuffles_of(g->p->ctx, in, g->vectors->register_bytes, &plan);
  g->failed |= !good;
  g->vectors->shuffles = true;
  nw_str_fmt(&g->out, "{ // the shuffles of %s\n", in->name);
  g->depth++;
  for (int i = 0; i < plan.n && good; i++) shuffle(g, call, &plan, &plan.at[i]);
  g->depth--;
  line_start(g);
  nw_str_add(&g->out, "}\n");
  nw_shuffles_free(&plan);
}
