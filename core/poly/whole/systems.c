// Finds the numbers of a program that consist of digits, and the extents of the digits.
//
// A number is an index or a variable whose range is a product of sizes, such as n*m. Divisions and the weights of
// indices cut it into digits. See docs/fused.md.
#include "poly/whole/expand.h"

// ---- extents that are products

static bool is_product(const nw_expr *e) {
  nw_factors x = {.number = 1};
  return e->type.dtype == NW_INDEX && nw_multiply(&x, e) && x.n > 0 && x.n + (x.number > 1) > 1;
}

int nw_system_at(const nw_expanding *x, const nw_expr *whole) {
  int i = 0;
  while (i < x->n && x->system[i].whole != whole) i++;
  return i < x->n ? i : -1;
}

static void add_system(nw_expanding *x, const nw_expr *whole) {
  if (!is_product(whole) || !nw_uses_only_sizes(x->p, whole) || nw_system_at(x, whole) >= 0) return;
  if (x->n == NW_MOST_SYSTEMS) return;
  x->system[x->n++] = (nw_system){.whole = whole};
}

static bool find_extents(void *env, nw_stmt *s) {
  nw_expanding *x = env;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++) add_system(x, s->block.var[i].extent);
  return true;
}

// ---- the digits, which follow from divisions and from the weights of indices

bool nw_is_chain(const nw_expr *e, const nw_expr **base) {
  for (*base = e; (*base)->op == NW_OP_FLOORDIV || (*base)->op == NW_OP_FLOORMOD;) *base = (*base)->arg[0];
  return *base != e && (*base)->op == NW_OP_VAR && e->type.dtype == NW_INDEX;
}

static const nw_block_var *var_of(const nw_stmt *block, const nw_expr *e) {
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].var == e) return &block->block.var[i];
  return NULL;
}

int nw_system_of_var(const nw_expanding *x, const nw_stmt *block, const nw_expr *e) {
  const nw_block_var *v = var_of(block, e);
  return v && nw_is_const(v->lo, 0) ? nw_system_at(x, v->extent) : -1;
}

// Cuts the system by the weights of an index. The number in a weight stays with the digit: in i*32*m + j, the digit is
// 32*i.
static void cut_by_index(nw_expanding *x, int system, const nw_expr *index) {
  nw_weighted sum;
  if (!nw_weighted_of(x->p, index, &sum) || !sum.symbolic) return;
  for (int i = 0; i < sum.n; i++) {
    nw_factors cut = sum.term[i].weight;
    cut.number = 1;
    if (cut.n && !nw_add_cut(&x->cuts[system], &cut)) x->failed = true;
  }
}

static void look_at_index(const nw_looking *l, const char *buffer, int n, const nw_expr *const *index) {
  const nw_buffer *b = nw_find_buffer(l->x->p, buffer);
  for (int d = 0; d < n; d++) {
    int system = nw_system_at(l->x, b->shape[d]);
    if (system >= 0) cut_by_index(l->x, system, index[d]);
  }
}

static bool look(void *env, const nw_expr *e) {
  nw_looking *l = env;
  const nw_expr *base;
  if (e->op == NW_OP_LOAD) look_at_index(l, e->name, e->n, e->arg);
  if (!nw_is_chain(e, &base)) return true;
  int system = nw_system_of_var(l->x, l->block, base);
  nw_factors weight;
  if (system >= 0 && !nw_cut_by(&l->x->cuts[system], e, &weight)) l->x->failed = true;
  return true;
}

static bool find_cuts(void *env, nw_stmt *s) {
  nw_looking l = {env, s};
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++) {
    const nw_block_target *to = &s->block.target[t];
    nw_visit(to->value, look, &l);
    if (to->init) nw_visit(to->init, look, &l);
    for (int d = 0; d < to->n; d++) nw_visit(to->index[d], look, &l);
    look_at_index(&l, to->buffer, to->n, to->index);
  }
  return true;
}

// Cuts the variables of a block by the weights of their bindings. The binding i_o*n + i_i of a variable in 0..n*m cuts it
// into the digits m and n.
static bool cut_by_bindings(void *env, nw_stmt *s) {
  nw_expanding *x = env;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++) {
    int system = nw_system_of_var(x, s, s->block.var[i].var);
    if (system >= 0) cut_by_index(x, system, s->block.var[i].bind);
  }
  return true;
}

// A product of two negative extents is positive, but a digit has no values if its extent is negative.
static bool has_values(const nw_ranges *r, const nw_system *s) {
  for (int k = 0; k < s->n && !NW_MUTATED(digits_negative); k++)
    if (!nw_prove(r, nw_le(r->pool, nw_index(r->pool, 0), s->digit[k]))) return false;
  return true;
}

// Keeps the systems that have several digits.
static void make_digits(nw_expanding *x) {
  int n = 0;
  nw_ranges r;
  nw_ranges_of(&r, x->p, NULL);
  for (int i = 0; i < x->n; i++) {
    nw_system s = x->system[i];
    const nw_expr *weight = nw_index(x->p->pool, 1);
    s.n = nw_cut_extents(x->p->pool, &x->cuts[i], s.whole, s.digit);
    for (int k = s.n - 1; k >= 0; k--) {
      s.weight[k] = weight;
      weight = nw_mul(x->p->pool, s.digit[k], weight);
    }
    if (s.n > 1 && !has_values(&r, &s)) x->failed = true;
    if (s.n > 1) x->system[n++] = s;
  }
  nw_ranges_free(&r);
  x->n = n;
}

bool nw_find_systems(nw_expanding *x, const nw_program *other) {
  for (int i = 0; i < x->p->nbuffers; i++)
    for (int d = 0; d < x->p->buffer[i]->ndim; d++) add_system(x, x->p->buffer[i]->shape[d]);
  nw_walk_from(x->p->root, find_extents, x);
  nw_walk_from(x->p->root, find_cuts, x);
  if (other) nw_walk_from(x->p->root, cut_by_bindings, x);
  if (other) nw_walk_from(other->root, cut_by_bindings, x);
  if (!x->failed) make_digits(x);
  return !x->failed;
}

// ---- whether there may be numbers

static bool divides_no_size(void *env, const nw_expr *e) {
  (void)env;
  return !nw_divides_by_size(e);
}

static bool divides_nothing(void *env, nw_stmt *s) {
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++) {
    const nw_block_target *to = &s->block.target[t];
    if (!nw_visit(to->value, divides_no_size, env) || (to->init && !nw_visit(to->init, divides_no_size, env)))
      return false;
  }
  return true;
}

bool nw_has_numbers(const nw_program *p) {
  for (int i = 0; i < p->nbuffers; i++)
    for (int d = 0; d < p->buffer[i]->ndim; d++)
      if (is_product(p->buffer[i]->shape[d])) return true;
  return !nw_walk_from(p->root, divides_nothing, NULL);
}
static bool binds_numbers(void *env, nw_stmt *s) {
  nw_weighted sum;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++)
    if (nw_weighted_of(env, s->block.var[i].bind, &sum) && sum.symbolic) return false;
  return true;
}

bool nw_binds_weights(const nw_program *p) { return !nw_walk_from(p->root, binds_numbers, (void *)p); }

// ---- from digits back to numbers

static const nw_system *system_of(const nw_whole *w, const nw_expr *whole) {
  for (int i = 0; w && i < w->nsystems; i++)
    if (w->system[i].whole == whole) return &w->system[i];
  return NULL;
}

bool nw_is_lower_digit(const nw_model *m, const nw_buffer *b, int d) {
  const nw_buffer *user = m->whole ? nw_find_buffer(m->seen, b->name) : NULL;
  for (int i = 0, at = 0; user && i < user->ndim && at <= d; i++) {
    const nw_system *s = system_of(m->whole, user->shape[i]);
    if (s && d > at && d < at + s->n) return true;
    at += s ? s->n : 1;
  }
  return false;
}

int nw_user_index(const nw_model *m, const nw_buffer *b, int n, const nw_expr *const *index, const nw_expr **out) {
  const nw_buffer *user = m->whole ? nw_find_buffer(m->seen, b->name) : NULL;
  nw_pool *pool = m->p->pool;
  int at = 0, to = 0;
  for (; user && to < user->ndim; to++) {
    const nw_system *s = system_of(m->whole, user->shape[to]);
    out[to] = s ? nw_index(pool, 0) : index[at];
    for (int k = 0; s && k < s->n; k++) out[to] = nw_add(pool, out[to], nw_mul(pool, index[at + k], s->weight[k]));
    at += s ? s->n : 1;
  }
  for (; !user && to < n; to++) out[to] = index[to];
  return to;
}
