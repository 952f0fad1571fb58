// Replaces numbers that consist of digits by these digits, in the whole program.
//
// Let a buffer B have the extent n*m. If its elements are accessed as B[i*m + j], or computed by a block with a variable
// p that is read as p // m and p % m, then the numbers 0..n*m have the digits n and m. The buffer gets the dimensions n
// and m, B[i*m + j] becomes B[i, j], and the variable p becomes the variables p // m and p % m. In this program, all
// indices are affine. The two programs are equivalent if every digit of an access is inside its dimension, because
// (i, j) -> i*m + j is then one-to-one. The judge checks this before it uses the program. See
// docs/fused.md.
#include "poly/whole/expand.h"

// ---- expressions

// Returns the position of the digit with this weight, and the rest of the weight, which must be a number.
static int digit_at(const nw_system *s, const nw_factors *weight, int64_t *rest) {
  for (int k = 0; k < s->n; k++) {
    nw_factors own = {.number = 1}, left;
    if (!nw_multiply(&own, s->weight[k]) || !nw_divide_factors(weight, &own, &left) || left.n) continue;
    *rest = left.number;
    return k;
  }
  return -1;
}

// Adds an expression of sizes, such as m in (i + 1)*m + j = i*m + m + j, to the digits.
static bool add_sizes(nw_pool *pool, const nw_system *s, const nw_expr *e, int64_t sign, const nw_expr **out) {
  nw_factors x = {.number = 1};
  int64_t c;
  if (e->op == NW_OP_ADD) return add_sizes(pool, s, e->arg[0], sign, out) && add_sizes(pool, s, e->arg[1], sign, out);
  for (int side = 0; e->op == NW_OP_MUL && side < 2; side++)
    if (nw_is_int(e->arg[side], &c) && c < 0) return add_sizes(pool, s, e->arg[1 - side], sign * c, out);
  if (nw_is_int(e, &c)) {
    out[s->n - 1] = nw_add(pool, out[s->n - 1], nw_index(pool, sign * c));
    return true;
  }
  if (!nw_multiply(&x, e)) return false;
  int k = digit_at(s, &x, &c);
  // The size itself is not a multiple of a weight other than 1: it is added to the last digit.
  const nw_expr *term = k < 0 || k == s->n - 1 ? e : nw_index(pool, c);
  if (k < 0) k = s->n - 1;
  out[k] = nw_add(pool, out[k], nw_mul(pool, nw_index(pool, sign), term));
  return true;
}

// Writes the number e in the digits of s. Returns false if e is not a sum of variables with weights of these digits.
static bool in_digits(const nw_program *p, const nw_system *s, const nw_expr *e, const nw_expr **out) {
  nw_weighted sum;
  if (!nw_weighted_of(p, e, &sum)) return false;
  for (int k = 0; k < s->n; k++) out[k] = nw_index(p->pool, 0);
  for (int i = 0; i < sum.n; i++) {
    int64_t rest;
    int k = digit_at(s, &sum.term[i].weight, &rest);
    if (k < 0) return false;
    out[k] = nw_add(p->pool, out[k], nw_mul(p->pool, nw_index(p->pool, rest), sum.term[i].var));
  }
  return !sum.rest || add_sizes(p->pool, s, sum.rest, 1, out);
}

static const char *digit_name(const nw_expanding *x, const nw_expr *var, int k) {
  return nw_arena_printf(x->p->arena, "%s.%d", var->name, k);
}

static const nw_expr *digit_var(const nw_expanding *x, const nw_expr *var, int k) {
  return nw_var(x->p->pool, digit_name(x, var, k));
}

// Returns the number that the digits from..to-1 of a variable form.
static const nw_expr *from_digits(const nw_expanding *x, const nw_system *s, const nw_expr *var, int from, int to) {
  nw_pool *pool = x->p->pool;
  const nw_expr *sum = nw_index(pool, 0), *weight = nw_index(pool, 1);
  for (int k = to - 1; k >= from; k--) {
    sum = nw_add(pool, sum, nw_mul(pool, digit_var(x, var, k), weight));
    weight = nw_mul(pool, weight, s->digit[k]);
  }
  return sum;
}

// Finds the digits of a variable that a chain of divisions selects, as in p // m % k.
static bool selected(const nw_expanding *x, const nw_system *s, const nw_expr *e, int *from, int *to) {
  if (e->op == NW_OP_VAR) return *from = 0, *to = s->n, true;
  if (!selected(x, s, e->arg[0], from, to)) return false;
  const nw_expr *product = nw_index(x->p->pool, 1);
  for (int at = *to; at >= *from; at--) {
    if (product == e->arg[1]) return *(e->op == NW_OP_FLOORDIV ? to : from) = at, true;
    if (at > *from) product = nw_mul(x->p->pool, s->digit[at - 1], product);
  }
  return false;
}

static const nw_expr *expanded(const nw_looking *l, const nw_expr *e);

// Simplifies a quotient or a remainder by the ranges of the block's variables: (i*m + j) // m is i if j is in 0..m.
static const nw_expr *divided(const nw_looking *l, const nw_expr *e) {
  nw_ranges r;
  nw_pool *pool = l->x->p->pool;
  nw_ranges_of(&r, l->x->p, NULL);
  for (int i = 0; i < l->block->block.nvars; i++) {
    const nw_block_var *v = &l->block->block.var[i];
    nw_ranges_push(&r, v->var->name, v->lo, nw_sub(pool, nw_add(pool, v->lo, v->extent), nw_index(pool, 1)));
  }
  e = nw_simplify(&r, e);
  nw_ranges_free(&r);
  return e;
}

static const nw_expr *access_in_digits(const nw_looking *l, const nw_expr *load) {
  const nw_expanding *x = l->x;
  const nw_buffer *b = nw_find_buffer(x->p, load->name);
  const nw_expr *index[NW_MAX_DEPTH], *digit[NW_MOST_DIGITS];
  int n = 0;
  for (int d = 0; d < load->n; d++) {
    const nw_expr *own = expanded(l, load->arg[d]);
    int system = nw_system_at(x, b->shape[d]);
    if (system < 0)
      index[n++] = own;
    else if (!in_digits(x->p, &x->system[system], own, digit) || n + x->system[system].n > NW_MAX_DEPTH)
      return l->x->failed = true, load;
    else
      for (int k = 0; k < x->system[system].n; k++) index[n++] = digit[k];
  }
  return nw_load(x->p->pool, load->type, load->name, n, index);
}

// Returns e with the digits of variables in place of these variables.
static const nw_expr *expanded(const nw_looking *l, const nw_expr *e) {
  const nw_expr *base = e, *arg[NW_MAX_DEPTH];
  if (e->op == NW_OP_LOAD) return access_in_digits(l, e);
  if (e->op == NW_OP_VAR || nw_is_chain(e, &base)) {
    int system = nw_system_of_var(l->x, l->block, base), from, to;
    const nw_system *s = &l->x->system[system];
    if (system >= 0 && selected(l->x, s, e, &from, &to)) return from_digits(l->x, s, base, from, to);
  }
  if (nw_divides_by_size(e)) {
    const nw_expr *simple = divided(l, e);
    if (simple != e) return expanded(l, simple);
  }
  if (!e->n) return e;
  if (e->n > NW_MAX_DEPTH) return l->x->failed = true, e;
  for (int i = 0; i < e->n; i++) arg[i] = expanded(l, e->arg[i]);
  return nw_make(l->x->p->pool, e->op, e->type, e->n, arg);
}

// ---- blocks

static void divide_digits(const nw_expanding *x, const nw_system *s, const nw_expr *number, const nw_expr **out) {
  for (int k = 0; k < s->n; k++) {
    out[k] = nw_floordiv(x->p->pool, number, s->weight[k]);
    if (k) out[k] = nw_floormod(x->p->pool, out[k], s->digit[k]);
  }
}

// Writes the number e in digits. Returns false if the lower digits are not proven to be inside their ranges, for all
// iterations of the loops on the path.
static bool proven_digits(const nw_expanding *x, const nw_system *s, const nw_path *path, const nw_expr *e,
                          const nw_expr **out) {
  nw_pool *pool = x->p->pool;
  if (!in_digits(x->p, s, e, out)) return false;
  bool inside = true;
  nw_ranges r;
  nw_ranges_of(&r, x->p, path);
  for (int k = 1; k < s->n && inside; k++)
    inside = nw_prove(&r, nw_le(pool, nw_index(pool, 0), out[k])) && nw_prove(&r, nw_lt(pool, out[k], s->digit[k]));
  nw_ranges_free(&r);
  return inside;
}

static void expand_target(const nw_looking *l, nw_block_target *t) {
  nw_program *p = l->x->p;
  nw_type type = nw_scalar((nw_dtype)nw_find_buffer(p, t->buffer)->dtype);
  const nw_expr *to = access_in_digits(l, nw_load(p->pool, type, t->buffer, t->n, t->index));
  t->value = expanded(l, t->value);
  if (t->init) t->init = expanded(l, t->init);
  t->n = to->n;
  t->index = NW_NEW_N(p->arena, const nw_expr *, to->n + 1);
  for (int d = 0; d < to->n; d++) t->index[d] = to->arg[d];
}

static void expand_vars(const nw_expanding *x, const nw_path *path, nw_stmt *b) {
  nw_block_var *var = NW_NEW_N(x->p->arena, nw_block_var, b->block.nvars * NW_MOST_DIGITS + 1);
  const nw_expr *bind[NW_MOST_DIGITS];
  int n = 0;
  for (int i = 0; i < b->block.nvars; i++) {
    const nw_block_var *v = &b->block.var[i];
    int system = nw_system_of_var(x, b, v->var);
    if (system < 0) {
      var[n++] = *v;
      continue;
    }
    const nw_system *s = &x->system[system];
    if (!proven_digits(x, s, path, v->bind, bind)) divide_digits(x, s, v->bind, bind);
    for (int k = 0; k < s->n; k++)
      var[n++] = (nw_block_var){digit_var(x, v->var, k), v->kind, v->lo, s->digit[k], bind[k]};
  }
  b->block.var = var;
  b->block.nvars = n;
}

static bool expand_block(void *env, const nw_path *path) {
  nw_expanding *x = env;
  nw_stmt *s = path->at[path->n - 1];
  if (s->kind != NW_BLOCK) return true;
  if (s->block.when) return !(x->failed = true); // its condition uses the numbers
  nw_looking l = {x, s};
  for (int t = 0; t < s->block.ntargets; t++) expand_target(&l, &s->block.target[t]);
  expand_vars(x, path, s);
  return !x->failed;
}

// ---- boxes of buffers: allocations and prefetches

// Writes a box min..min + extent of the number as a box of its digits: the whole range, consecutive numbers that have the
// same leading digits, or one number.
static bool expand_range(const nw_expanding *x, const nw_system *s, const nw_path *path, const nw_expr *min,
                         const nw_expr *extent, const nw_expr **mins, const nw_expr **extents) {
  nw_pool *pool = x->p->pool;
  const nw_expr *product = nw_index(pool, 1);
  int whole = s->n;
  for (; whole > 0 && product != extent; whole--) product = nw_mul(pool, s->digit[whole - 1], product);
  if (product != extent) return false;
  if (!proven_digits(x, s, path, min, mins)) divide_digits(x, s, min, mins);
  for (int k = 0; k < s->n; k++) {
    extents[k] = k < whole ? nw_index(pool, 1) : s->digit[k];
    if (k >= whole && !nw_is_const(mins[k], 0)) return false;
  }
  return true;
}

static void expand_box(nw_expanding *x, const nw_path *path, const nw_buffer *b, int *n, const nw_expr ***min,
                       const nw_expr ***extent) {
  const nw_expr **mins = NW_NEW_N(x->p->arena, const nw_expr *, NW_MAX_DEPTH);
  const nw_expr **extents = NW_NEW_N(x->p->arena, const nw_expr *, NW_MAX_DEPTH);
  int to = 0;
  for (int d = 0; d < *n; d++) {
    int system = nw_system_at(x, b->shape[d]);
    if (system < 0) {
      mins[to] = (*min)[d];
      extents[to++] = (*extent)[d];
    } else if (to + x->system[system].n > NW_MAX_DEPTH ||
               !expand_range(x, &x->system[system], path, (*min)[d], (*extent)[d], mins + to, extents + to)) {
      x->failed = true;
      return;
    } else {
      to += x->system[system].n;
    }
  }
  *n = to;
  *min = mins;
  *extent = extents;
}

static bool expand_boxes(void *env, const nw_path *path) {
  nw_expanding *x = env;
  nw_stmt *s = path->at[path->n - 1];
  if (s->kind == NW_ALLOC)
    expand_box(x, path, nw_find_buffer(x->p, s->alloc.buffer), &s->alloc.n, &s->alloc.min, &s->alloc.extent);
  if (s->kind == NW_PREFETCH)
    expand_box(x, path, nw_find_buffer(x->p, s->prefetch.buffer), &s->prefetch.n, &s->prefetch.min,
               &s->prefetch.extent);
  return !x->failed;
}

static bool expand_shape(nw_expanding *x, nw_buffer *b) {
  const nw_expr **shape = NW_NEW_N(x->p->arena, const nw_expr *, NW_MAX_DEPTH);
  int n = 0;
  bool changes = false;
  for (int d = 0; d < b->ndim; d++) {
    int system = nw_system_at(x, b->shape[d]);
    if (system < 0) {
      shape[n++] = b->shape[d];
      continue;
    }
    changes = true;
    if (n + x->system[system].n > NW_MAX_DEPTH) return false;
    for (int k = 0; k < x->system[system].n; k++) shape[n++] = x->system[system].digit[k];
  }
  if (changes && (b->nlayout || b->nstrides || b->pitch)) return false;
  b->shape = shape;
  b->ndim = n;
  return true;
}

// ---- the program

// Replaces the extent of a fused loop by its digits. The loop numbers the same iterations.
static void expand_fused(nw_expanding *x, nw_stmt *loop) {
  const nw_expr **fused = NW_NEW_N(x->p->arena, const nw_expr *, loop->loop.nfused *NW_MOST_DIGITS + 1);
  int n = 0;
  for (int i = 0; i < loop->loop.nfused; i++) {
    int system = nw_system_at(x, loop->loop.fused[i]);
    if (system < 0) fused[n++] = loop->loop.fused[i];
    for (int k = 0; system >= 0 && k < x->system[system].n; k++) fused[n++] = x->system[system].digit[k];
  }
  loop->loop.nfused = n;
  loop->loop.fused = fused;
}

// Replaces the variable of each loop with one iteration by its value, and the extents of fused loops by their digits.
static bool settle(void *env, nw_stmt *s) {
  nw_expanding *x = env;
  if (s->kind == NW_LOOP && s->loop.nfused) expand_fused(x, s);
  if (s->kind == NW_LOOP && nw_is_const(s->loop.extent, 1) && !s->loop.nfused)
    for (int i = 0; i < s->nkids; i++) nw_stmt_subst(x->p, s->kid[i], s->loop.var->name, s->loop.begin);
  return true;
}

static void expand(nw_expanding *x, const nw_program *other) {
  if (!nw_find_systems(x, other)) return;
  nw_walk_from(x->p->root, settle, x);
  nw_walk(x->p, expand_block, x);
  if (!x->failed) nw_walk(x->p, expand_boxes, x);
  for (int i = 0; i < x->p->nbuffers && !x->failed; i++) x->failed = !expand_shape(x, x->p->buffer[i]);
}

nw_program *nw_expanded(const nw_program *p, const nw_program *other, int *n, nw_system *out, bool *lost) {
  if (!nw_has_numbers(p) || p->unsafe) return NULL;
  nw_expanding x = {.p = nw_program_clone(p)};
  x.p->step = p->step;
  expand(&x, other);
  if (x.failed) {
    nw_program_release(x.p);
    return NULL;
  }
  *n = x.n;
  memcpy(out, x.system, (size_t)x.n * sizeof *out);
  nw_program *made = nw_program_freeze(x.p);
  *lost |= !made;
  return made;
}
