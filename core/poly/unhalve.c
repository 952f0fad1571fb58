// Recognizes partial results that were combined in pairs (ir/program/halving.h). The reader combines the elements v of P,
// for v in 0..H, and these elements are
//
//   P[v] = Q[v] combined with U[v], if v < E - H, and otherwise Q[v] alone,   where U[u] = Q[u + H] for u in 0..E - H
//
// So the reader combines Q[v], for v in 0..E, each once. This follows from the form of the two blocks alone: v and u + H
// together have each value in 0..E once, since E - H <= H. Whether a reader finds U and Q written is checked elsewhere,
// as for every buffer.
#include "poly/internal.h"

typedef struct pair {
  const nw_model *m;
  nw_unhalving *x;
  const nw_stmt *own, *given; // the blocks that write Q and U
  int dim; // the dimension along which elements are combined
  int64_t half, others; // H and E - H
} pair;

// True if the block only stores values, each to the element whose index is the block's variables.
static bool stores_all(const nw_stmt *b) {
  if (b->block.combiner != NW_PLAIN || b->block.when || !nw_is_spread(b)) return false;
  for (int i = 0; i < b->block.nvars; i++)
    if (b->block.var[i].kind != NW_SPATIAL) return false;
  return true;
}

static const nw_block_var *var_of(const nw_stmt *b, const nw_expr *var) {
  for (int i = 0; i < b->block.nvars; i++)
    if (b->block.var[i].var == var) return &b->block.var[i];
  return NULL;
}

// Finds the distance along one dimension from the index of the block to the index of the load. Returns false if the
// index differs in another way.
static bool distance(const nw_model *m, const nw_stmt *b, const nw_expr *load, int *dim, int64_t *by) {
  const nw_block_target *g = &b->block.target[0];
  *dim = -1;
  for (int d = 0; d < g->n; d++) {
    int64_t n;
    if (load->arg[d] == g->index[d]) continue;
    if (*dim >= 0 || !nw_is_int(nw_sub(m->p->pool, load->arg[d], g->index[d]), &n)) return false;
    *dim = d, *by = n;
  }
  return *dim >= 0;
}

// True if U[u] = Q[u + H] for all targets. Sets p->dim, p->half and p->others.
static bool gives_away(pair *p) {
  const nw_stmt *b = p->given;
  for (int t = 0; t < b->block.ntargets; t++) {
    const nw_expr *load = b->block.target[t].value;
    int dim;
    int64_t by;
    if (load->op != NW_OP_LOAD || load->n != b->block.target[t].n ||
        strcmp(load->name, p->own->block.target[t].buffer) || !distance(p->m, b, load, &dim, &by) || by < 1)
      return false;
    if (t && (dim != p->dim || by != p->half)) return false;
    p->dim = dim, p->half = by;
  }
  const nw_block_var *u = var_of(b, b->block.target[0].index[p->dim]);
  return u && nw_is_const(u->lo, 0) && nw_is_int(u->extent, &p->others) && p->others >= 1 && p->others <= p->half;
}

// Returns the variable of the reader for the dimension, if it is the whole index, is used in no other dimension, and has
// as many values as the threads that take.
static nw_block_var *reader_var(const pair *p) {
  const nw_expr *read = p->x->is->block.target[0].value;
  const nw_expr *v = read->arg[p->dim];
  for (int d = 0; d < read->n; d++)
    if (d != p->dim && v->op == NW_OP_VAR && nw_uses_var(read->arg[d], v->name)) return NULL;
  for (int i = 0; i < p->x->is->block.nvars; i++) {
    nw_block_var *x = &p->x->var[i];
    if (x->kind == NW_REDUCE && x->var == v && nw_is_const(x->lo, 0) && nw_is_const(x->extent, p->half)) return x;
  }
  return NULL;
}

// True if the part's values are those of Q and U, combined by the combiner of the reader.
static bool combines(const pair *p) {
  const nw_stmt *part = p->x->part;
  nw_pool *pool = p->m->p->pool;
  int n = part->block.ntargets;
  nw_combiner combiner = p->x->is->block.combiner;
  const nw_expr *q[NW_MAX_REDUCED], *u[NW_MAX_REDUCED];
  const nw_block_target *g = &part->block.target[0];
  const nw_expr *some = p->others < p->half ? nw_lt(pool, g->index[p->dim], nw_index(pool, p->others)) : NULL;
  for (int t = 0; t < n; t++) {
    nw_type type = {(uint8_t)nw_find_buffer(p->m->p, part->block.target[t].buffer)->dtype, 1};
    const nw_expr *const *index = (const nw_expr *const *)g->index;
    q[t] = nw_load(pool, type, p->own->block.target[t].buffer, g->n, index);
    u[t] = nw_load(pool, type, p->given->block.target[t].buffer, g->n, index);
    if (some) u[t] = nw_choose(pool, some, u[t], nw_combiner_identity(pool, combiner, (nw_dtype)type.dtype, t));
  }
  for (int t = 0; t < n && NW_RULE(p->m->p->ctx, parts_halved); t++)
    if (part->block.target[t].value != nw_combine(pool, combiner, t, q, u)) return false;
  return true;
}

static bool is_pair(pair *p) {
  const nw_stmt *part = p->x->part;
  int n = part->block.ntargets, dims = part->block.target[0].n;
  if (!p->own || !p->given || p->own == p->given || p->own == part || p->given == part) return false;
  if (p->own->block.ntargets != n || p->given->block.ntargets != n || p->own->block.when) return false;
  if (!nw_is_spread(p->own) || !stores_all(p->given)) return false;
  if (p->own->block.target[0].n != dims || p->given->block.target[0].n != dims || !gives_away(p)) return false;
  nw_block_var *v = reader_var(p);
  if (!v || !combines(p)) return false;
  v->extent = nw_index(p->m->p->pool, p->half + p->others);
  p->x->part = p->own;
  p->x->given = p->given;
  return true;
}

typedef struct names {
  int n;
  const char *at[2 * NW_MAX_REDUCED];
} names;

static bool note_name(void *env, const nw_expr *e) {
  names *x = env;
  if (e->op != NW_OP_LOAD) return true;
  for (int i = 0; i < x->n; i++)
    if (!strcmp(x->at[i], e->name)) return true;
  if (x->n == NW_COUNT(x->at)) return false;
  x->at[x->n++] = e->name;
  return true;
}

bool nw_unhalve(const nw_model *m, nw_unhalving *x) {
  names all = {0};
  if (!stores_all(x->part) || x->part->block.ntargets > NW_MAX_REDUCED) return false;
  if (!nw_visit(x->part->block.target[0].value, note_name, &all)) return false;
  for (int i = 0; i < all.n; i++)
    for (int k = 0; k < all.n; k++) {
      if (i == k) continue;
      pair p = {.m = m, .x = x, .own = nw_only_writer(m, all.at[i]), .given = nw_only_writer(m, all.at[k])};
      if (is_pair(&p)) return true;
    }
  return false;
}
