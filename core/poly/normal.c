// Makes normal forms. A normal form is an expression for a value that a block computes, in terms of the values of other
// blocks. Copies, and blocks that the other program does not have, are replaced by their bodies. The section on
// normal.c in internal.h says how normal forms are used.
#include "ir/expr/fold.h"
#include "ir/expr/known.h"
#include "poly/internal.h"
#include <stdlib.h>

// True if the block only copies values.
bool nw_is_copy(const nw_stmt *b) {
  return b->block.combiner == NW_PLAIN && b->block.ntargets == 1 && !b->block.target[0].init &&
         b->block.target[0].value->op == NW_OP_LOAD;
}

// True if the block copies values where a condition holds, and stores a constant elsewhere.
static bool is_padded_copy(const nw_stmt *b) {
  if (b->block.combiner != NW_PLAIN || b->block.ntargets != 1 || b->block.target[0].init) return false;
  const nw_expr *e = b->block.target[0].value;
  return e->op == NW_OP_SELECT && e->arg[1]->op == NW_OP_LOAD && nw_is_constant(e->arg[2]) &&
         !nw_uses_load(e->arg[0], NULL);
}

// True if the block computes whole numbers from indices and sizes alone, for indices that a stage reads
// (ir/expr/known.h).
static bool is_index(const nw_stmt *b) {
  const nw_block_target *t = &b->block.target[0];
  return b->block.combiner == NW_PLAIN && b->block.ntargets == 1 && !t->init && !t->value->data &&
         t->value->type.dtype == NW_INDEX;
}

static const nw_block_target *target_of(const nw_stmt *block, const char *buffer) {
  for (int i = 0; i < block->block.ntargets; i++)
    if (!strcmp(block->block.target[i].buffer, buffer)) return &block->block.target[i];
  return NULL;
}

// True if each index is a different variable, and every variable of the block is an index. For an update, only its
// spatial variables must be indices.
bool nw_index_is_vars(const nw_stmt *block, int n, const nw_expr *const *index) {
  int vars = 0;
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    int uses = 0;
    for (int d = 0; d < n; d++) uses += index[d] == v->var;
    if (uses != (v->kind != NW_REDUCE)) return false;
    vars += uses;
  }
  return vars == n;
}

// Finds the writes of a buffer, except for those of inits that are a part of their blocks. Returns the number of these
// writes.
static int writers(const nw_model *m, const char *buffer, const nw_use ***out) {
  nw_uses u = nw_uses_of(m, nw_find_buffer(m->p, buffer));
  int n = 0;
  *out = NW_NEW_N(m->arena, const nw_use *, u.n + 1);
  for (int i = 0; i < u.n; i++)
    if (!u.at[i]->site->init && u.at[i]->write && (!n || (*out)[n - 1]->site != u.at[i]->site)) (*out)[n++] = u.at[i];
  return n;
}

static bool alike(const nw_use *a, const nw_use *b) {
  if (strcmp(a->site->block->block.origin, b->site->block->block.origin) || a->n != b->n) return false;
  for (int d = 0; d < a->n; d++)
    if (a->index[d] != b->index[d]) return false;
  return true;
}

// Writes the spatial variables of the instance that writes the element at `at` to `out`. Returns their number, or -1 if
// the element does not tell the instance, because several stages write the buffer, or because no inverse is found.
static int instance_at(const nw_normal *n, const nw_use *const *w, int nw, const nw_expr *const *at,
                       const nw_expr **out) {
  const nw_expr *other[NW_MAX_DEPTH];
  int all = nw ? nw_instance_at(n->m, w[0], n->pool, at, out) : -1;
  for (int i = 1; i < nw && all >= 0; i++) {
    bool same = alike(w[0], w[i]) && nw_instance_at(n->m, w[i], n->pool, at, other) == all;
    for (int k = 0; k < all && same; k++) same = other[k] == out[k];
    if (!same) return -1;
  }
  return all;
}

bool nw_told_by_element(const nw_normal *n, const char *buffer) {
  const nw_expr *at[NW_MAX_DEPTH], *out[NW_MAX_DEPTH];
  const nw_use **w;
  int nw = writers(n->m, buffer, &w), dims = nw_find_buffer(n->m->p, buffer)->ndim;
  for (int d = 0; d < dims; d++) at[d] = nw_var(n->pool, nw_dim_name(n->pool, d));
  return instance_at(n, w, nw, at, out) >= 0;
}

static bool has_origin(const nw_model *m, const char *origin) {
  for (int i = 0; i < m->nsites; i++)
    if (!strcmp(m->site[i]->block->block.origin, origin)) return true;
  return false;
}

static bool stands_for(const nw_stmt *b, const nw_stmt *other, const char *buffer) {
  if (strcmp(other->block.origin, b->block.origin) || other->block.combiner != NW_PLAIN || other->block.init_part)
    return false;
  const nw_block_target *s = target_of(b, buffer), *t = target_of(other, buffer);
  if (s->value != t->value || s->n != t->n) return false;
  for (int d = 0; d < s->n; d++)
    if (s->index[d] != t->index[d]) return false;
  return true;
}

static const nw_stmt *first_value(const nw_use *const *w, int nw) {
  for (int i = 0; i < nw; i++)
    if (!w[i]->site->block->block.init_part) return w[i]->site->block;
  return NULL;
}

// True if the block fills elements of a stage with a constant, before the stage stores its values.
static bool is_fill(const nw_stmt *block, const nw_stmt *stage) {
  return block->block.init_part && stage->block.combiner == NW_PLAIN &&
         !strcmp(block->block.origin, stage->block.origin);
}

// Loads of the buffer must be expanded if the other program has no block with the same origin. Returns a block whose
// body gives the values of the whole buffer. Returns NULL if loads need no expansion or cannot be expanded.
static const nw_stmt *seen_through(const nw_normal *n, const nw_use *const *w, int nw, const char *buffer) {
  if (!nw || !n->other || has_origin(n->other, w[0]->site->block->block.origin)) return NULL;
  const nw_stmt *b = first_value(w, nw);
  if (!b) return NULL;
  for (int i = 0; i < nw; i++) {
    const nw_stmt *s = w[i]->site->block;
    if (is_fill(s, b)) continue;
    if (!stands_for(b, s, buffer) || (n->copies_only && !nw_is_copy(s) && !is_padded_copy(s) && !is_index(s)))
      return NULL;
  }
  return nw_told_by_element(n, buffer) ? b : NULL;
}

const nw_stmt *nw_seen_through(const nw_normal *n, const char *buffer) {
  const nw_use **w;
  int nw = writers(n->m, buffer, &w);
  return seen_through(n, w, nw, buffer);
}

// Returns the value that the plain block stores in this instance.
static const nw_expr *body_at(nw_pool *pool, const nw_stmt *b, const char *buffer, const nw_expr *const *instance) {
  const char *var[NW_MAX_DEPTH];
  for (int k = 0; k < b->block.nvars; k++) var[k] = b->block.var[k].var->name;
  return nw_subst_n(pool, target_of(b, buffer)->value, b->block.nvars, var, instance);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

// Returns the name of a buffer's values: "C#0" if a value is told by its instance; otherwise "C@0", or "S@0+S_init@0" for
// a buffer that two blocks fill.
static const char *value_name(nw_pool *pool, const nw_use *const *w, int n, const char *buffer, bool by_instance) {
  char **part = nw_xcalloc((size_t)n, sizeof *part);
  for (int i = 0; i < n; i++) {
    const nw_stmt *b = w[i]->site->block;
    nw_str s = {0};
    nw_str_fmt(&s, "%s%c%d", b->block.origin, by_instance ? '#' : '@', (int)(target_of(b, buffer) - b->block.target));
    part[i] = nw_str_take(&s);
  }
  qsort(part, (size_t)n, sizeof *part, by_text);
  nw_str all = {0};
  for (int i = 0; i < n; i++)
    if (!i || strcmp(part[i], part[i - 1])) nw_str_fmt(&all, "%s%s", i ? "+" : "", part[i]);
  const char *name = nw_pool_name(pool, all.s);
  nw_str_free(&all);
  for (int i = 0; i < n; i++) free(part[i]);
  free(part);
  return name;
}

// Returns the dtype in which the other program stores the buffer of a load, if this is a temporary of both programs.
static nw_dtype dtype_of_storage(const nw_normal *n, const nw_expr *load) {
  const nw_buffer *b = n->as_stored ? nw_find_buffer(n->other->p, load->name) : NULL;
  return b && b->role == NW_TEMP ? b->dtype : (nw_dtype)load->type.dtype;
}

static const nw_expr *normal_load(void *env, const nw_expr *load) {
  nw_normal *n = env;
  const nw_use **w;
  const nw_expr *instance[NW_MAX_DEPTH];
  int nw = writers(n->m, load->name, &w);
  if (!nw) return load;
  const nw_stmt *body = seen_through(n, w, nw, load->name);
  int nvars = instance_at(n, w, nw, load->arg, instance);
  if (!body) {
    nw_type stored = {(uint8_t)dtype_of_storage(n, load), 1};
    const char *name = value_name(n->pool, w, nw, load->name, nvars >= 0);
    const nw_expr *value = nvars < 0 ? nw_load(n->pool, stored, name, load->n, load->arg)
                                     : nw_load(n->pool, stored, name, nvars, instance);
    return nw_convert(n->pool, (nw_dtype)load->type.dtype, value);
  }
  const nw_expr *value = body_at(n->pool, body, load->name, instance);
  if (!nw_is_rounded(value)) n->rounded = body;
  return nw_normal_form(n, value);
}

// The recursion ends because all values of a program come from its inputs. A buffer that is copied into itself should
// not occur, but the depth limit ends the recursion in this case too.
const nw_expr *nw_normal_form(nw_normal *n, const nw_expr *e) {
  if (n->depth > NW_MAX_DEPTH) return e;
  n->depth++;
  const nw_expr *form = nw_rewrite(n->pool, e, NULL, normal_load, n);
  n->depth--;
  return NW_RULE(n->m->p->ctx, value_known_index) ? form : nw_as_proved(n->pool, form);
}
