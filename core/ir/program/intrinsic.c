// Keeps the session's table of intrinsics, and checks descriptions.
#include "ir/program/intrinsic.h"
#include <stdlib.h>

// ---- the table

typedef struct table {
  nw_vec all; // nw_intrinsic*, oldest first
} table;

static void free_table(void *data) {
  table *t = data;
  for (int i = 0; i < t->all.n; i++) nw_intrinsic_free(t->all.at[i]);
  nw_vec_free(&t->all);
  free(t);
}

static table *table_of(nw_ctx *c) {
  nw_slot *slot = &c->slot[NW_SLOT_INTRINSICS];
  if (!slot->data) nw_slot_fill(c, NW_SLOT_INTRINSICS, nw_xcalloc(1, sizeof(table)), free_table, NULL);
  return slot->data;
}

int nw_intrinsic_count(nw_ctx *c) { return table_of(c)->all.n; }

const nw_intrinsic *nw_intrinsic_at(nw_ctx *c, int i) { return table_of(c)->all.at[i]; }

// Returns the latest intrinsic with that name, or the intrinsic with that id.
const nw_intrinsic *nw_intrinsic_find(nw_ctx *c, const char *name) {
  const table *t = table_of(c);
  for (int i = t->all.n - 1; name && i >= 0; i--) {
    const nw_intrinsic *in = t->all.at[i];
    if (!strcmp(in->name, name) || !strcmp(in->id, name)) return in;
  }
  return NULL;
}

const nw_intrinsic *nw_intrinsic_add(nw_ctx *c, nw_intrinsic *in) {
  table *t = table_of(c);
  for (int i = 0; i < t->all.n; i++) {
    nw_intrinsic *old = t->all.at[i];
    if (strcmp(old->id, in->id)) continue;
    nw_vec_remove(&t->all, i); // it was registered before; now its name refers to it again
    nw_vec_push(&t->all, old);
    nw_intrinsic_free(in);
    return old;
  }
  nw_vec_push(&t->all, in);
  return in;
}

// The library stays open: kernels may use its code.
void nw_intrinsic_free(nw_intrinsic *in) {
  if (!in) return;
  nw_program_release(in->description);
  free(in->name);
  free(in->id);
  free(in->library);
  free(in->symbol);
  free(in->special);
  free(in);
}

static void mix(uint64_t *h, const void *p, size_t n) { *h = nw_hash_mix(*h, nw_hash_bytes(p, n)); }

static void mix_text(uint64_t *h, const char *s) { mix(h, s ? s : "", s ? strlen(s) + 1 : 0); }

void nw_intrinsic_identify(nw_intrinsic *in, const char *content, size_t n) {
  uint64_t h = 1;
  char *description = in->description ? nw_program_print(in->description) : NULL;
  mix_text(&h, description);
  mix_text(&h, in->symbol);
  mix_text(&h, in->special);
  mix(&h, &(int64_t){in->init + 2 * in->jump_safe}, sizeof(int64_t));
  mix(&h, in->constant, sizeof *in->constant * (size_t)in->nconstants);
  if (in->chip) mix_text(&h, in->chip);
  if (in->instruction) mix_text(&h, in->instruction->name); // other intrinsics keep the ids that traces have
  for (int i = 0; i < in->nargs; i++) {
    mix_text(&h, in->arg[i].name);
    if (in->instruction) mix(&h, in->arg[i].fragment.element, sizeof in->arg[i].fragment.element);
    for (int d = 0; d < in->arg[i].ndim; d++) mix(&h, &in->arg[i].dim[d].stride, sizeof(int64_t));
  }
  if (content) mix(&h, content, n);
  nw_str id = {0};
  nw_str_fmt(&id, "%s:%08x", in->name, (unsigned)(h ^ h >> 32));
  free(in->id);
  in->id = nw_str_take(&id);
  free(description);
}

// ---- the description

typedef struct reading {
  nw_ctx *c;
  nw_intrinsic *in;
  const char *what; // the argument that is being examined
  bool ok;
} reading;

static bool cannot(nw_ctx *c, const char *hint, const char *fmt, const char *a, const char *b) {
  return nw_fail(c, NW_EINVAL, hint, fmt, a, b);
}

static bool one_nest(nw_ctx *c, nw_intrinsic *in) {
  const nw_stmt *s = in->description->root;
  if (in->description->nsizes)
    return cannot(c, NULL, "intrinsic %s: its description has the symbolic size %s; sizes must be constants", in->name,
                  in->description->size[0].name);
  while (s->kind != NW_BLOCK) {
    int64_t n;
    if (s->nkids != 1 || (s->kind != NW_LOOP && s->kind != NW_SEQ))
      return cannot(c, NULL, "intrinsic %s: its description has more than one stage%s", in->name, "");
    if (s->kind == NW_LOOP && (!nw_is_int(s->loop.extent, &n) || n < 1))
      return cannot(c, NULL, "intrinsic %s: the loop %s has no iterations", in->name, s->loop.var->name);
    if (s->kind == NW_LOOP && n > 1) in->loop[in->nloops++] = s;
    s = s->kid[0];
  }
  in->block = s;
  return true;
}

static nw_intrinsic_arg *arg_named(nw_intrinsic *in, const char *name) {
  for (int i = 0; i < in->nargs; i++)
    if (!strcmp(in->arg[i].name, name)) return &in->arg[i];
  return NULL;
}

// True if e uses variables only in indices. If the body used a variable elsewhere, the results would depend on the
// position of the tile.
static bool index_only(const nw_expr *e) {
  if (e->op == NW_OP_VAR) return false;
  for (int i = 0; e->op != NW_OP_LOAD && i < e->n; i++)
    if (!index_only(e->arg[i])) return false;
  return true;
}

bool nw_intrinsic_index(const nw_intrinsic *in, const nw_expr *e, int64_t *coef, int64_t *rest) {
  const char *var[NW_MAX_DEPTH];
  const nw_expr *left;
  for (int i = 0; i < in->nloops; i++) var[i] = in->loop[i]->loop.var->name;
  e = nw_block_bound(in->description, in->block, e);
  nw_ranges r;
  nw_path path;
  nw_find(in->description, in->block->id, &path);
  for (int i = 0; i < path.n; i++)
    if (path.at[i]->kind == NW_LOOP && nw_is_const(path.at[i]->loop.extent, 1))
      e = nw_subst(in->description->pool, e, path.at[i]->loop.var->name, path.at[i]->loop.begin);
  nw_ranges_of(&r, in->description, &path);
  e = nw_simplify(&r, e);
  nw_ranges_free(&r);
  return nw_affine(in->description->pool, e, in->nloops, var, coef, &left) && nw_is_int(left, rest);
}

static bool moves_another(const nw_intrinsic *in, const nw_expr *const *index, int ndim, int d, int loop) {
  int64_t coef[NW_MAX_DEPTH], rest;
  for (int k = 0; k < ndim; k++)
    if (k != d && nw_intrinsic_index(in, index[k], coef, &rest) && coef[loop]) return true;
  return false;
}

// Each dimension of more than one element needs a loop that moves along no other dimension. This loop determines the
// stride of the dimension.
static bool own_loop(nw_ctx *c, nw_intrinsic *in, nw_intrinsic_arg *a, const nw_expr *const *index, int d) {
  int64_t coef[NW_MAX_DEPTH], rest;
  nw_tile_dim *dim = &a->dim[d];
  dim->own = -1;
  if (!nw_intrinsic_index(in, index[d], coef, &rest))
    return cannot(c, NULL, "intrinsic %s: its description reads %s at an index that is not affine", in->name, a->name);
  for (int i = 0; i < in->nloops && dim->own < 0; i++)
    if (coef[i] && !moves_another(in, index, a->ndim, d, i)) dim->own = i, dim->step = coef[i];
  if (dim->own >= 0 || dim->extent == 1) return true;
  return cannot(c, NULL, "intrinsic %s: no loop of its description moves along only one dimension of %s", in->name,
                a->name);
}

static bool see_access(nw_ctx *c, nw_intrinsic *in, const char *buffer, int n, const nw_expr *const *index) {
  nw_intrinsic_arg *a = arg_named(in, buffer);
  for (int d = 0; d < n; d++)
    if (!own_loop(c, in, a, index, d)) return false;
  return true;
}

static bool see_load(void *env, const nw_expr *e) {
  reading *x = env;
  if (e->op == NW_OP_LOAD) x->ok = x->ok && see_access(x->c, x->in, e->name, e->n, e->arg);
  return x->ok;
}

static bool read_block(nw_ctx *c, nw_intrinsic *in) {
  reading x = {.c = c, .in = in, .ok = true};
  for (int t = 0; t < in->block->block.ntargets && x.ok; t++) {
    const nw_block_target *g = &in->block->block.target[t];
    if (!index_only(g->value))
      return cannot(c, NULL, "intrinsic %s: its description uses an axis outside of an index%s", in->name, "");
    x.ok = see_access(c, in, g->buffer, g->n, g->index);
    nw_visit(g->value, see_load, &x);
  }
  return x.ok;
}

static bool read_arg(nw_ctx *c, nw_intrinsic *in, nw_intrinsic_arg *a) {
  const nw_buffer *b = nw_find_buffer(in->description, a->name);
  if (!b || b->role == NW_TEMP)
    return cannot(c, NULL, "intrinsic %s: %s is neither read nor written by its description", in->name, a->name);
  a->dtype = b->dtype;
  a->output = b->role == NW_OUTPUT;
  a->ndim = b->ndim;
  if (b->ndim > NW_MAX_TILE_DIMS)
    return cannot(c, NULL, "intrinsic %s: %s has more than 8 dimensions", in->name, a->name);
  for (int d = 0; d < b->ndim; d++)
    if (!nw_is_int(b->shape[d], &a->dim[d].extent) || a->dim[d].extent < 1)
      return cannot(c, NULL, "intrinsic %s: %s is empty", in->name, a->name);
  return true;
}

static bool few_words(nw_ctx *c, nw_intrinsic *in) {
  int n = in->nargs + in->nconstants;
  for (int i = 0; i < in->nargs; i++)
    for (int d = 0; d < in->arg[i].ndim; d++) n += in->arg[i].dim[d].stride == NW_ANY_STRIDE;
  if (n <= NW_MAX_WORDS) return true;
  return nw_fail(c, NW_ELIMIT, "use constants for strides that never change",
                 "intrinsic %s: its function would take %d words; the limit is %d", in->name, n, NW_MAX_WORDS);
}

static bool all_given(nw_ctx *c, nw_intrinsic *in) {
  for (int i = 0; i < in->description->nbuffers; i++)
    if (!arg_named(in, in->description->buffer[i]->name))
      return cannot(c, "list every tensor in args, in the order of the function's parameters",
                    "intrinsic %s: %s is missing in args", in->name, in->description->buffer[i]->name);
  return true;
}

bool nw_intrinsic_describe(nw_ctx *c, nw_intrinsic *in, nw_program *description) {
  in->description = description;
  if (!description || !one_nest(c, in)) return false;
  for (int i = 0; i < in->nargs; i++)
    if (!read_arg(c, in, &in->arg[i])) return false;
  if (!all_given(c, in) || !few_words(c, in) || !read_block(c, in)) return false;
  nw_combiner k = in->block->block.combiner;
  if (k == NW_PLAIN) in->init = false;
  if (k >= NW_OWN)
    return cannot(c, "describe it with nw.sum, nw.prod, nw.min, nw.max, nw.argmin or nw.argmax",
                  "intrinsic %s: its description uses the reducer %s", in->name, nw_combiner_name(c, k));
  if (!in->init && (k == NW_ARGMIN || k == NW_ARGMAX))
    return cannot(c, "with init = true it computes the whole reduction",
                  "intrinsic %s: an arg-reduction cannot be continued%s", in->name, "");
  return true;
}
