// Makes a refusal with the smallest executions in conflict. The sizes are the smallest possible, the source is the
// first one for these sizes, and the sink is the first one for this source.
#include "poly/internal.h"
#include <isl/ilp.h>
#include <isl/point.h>
#include <stdlib.h>

typedef struct point {
  const nw_model *m;
  int nparams;
  int64_t param[NW_MAX_DEPTH];
  const char *param_name[NW_MAX_DEPTH];
  int ndims;
  int64_t *dim;
} point;

// ---- the least point

static int64_t coordinate(isl_point *p, int at) {
  isl_val *v = isl_point_get_coordinate_val(p, isl_dim_set, at);
  int64_t n = isl_val_get_num_si(v);
  isl_val_free(v);
  return n;
}

// Fixes dimension d at its least value, if isl finds this value. isl finds no value for a product of unknown sizes. If
// the set has several pieces, isl may return a value that no point has. In this case, the function returns the least
// point of the set. Consumes `set`.
static isl_set *with_least(isl_set *set, unsigned d) {
  isl_val *least = isl_set_dim_min_val(isl_set_copy(set), (int)d);
  if (isl_val_is_int(least) == isl_bool_false) return isl_val_free(least), set;
  isl_set *fixed = isl_set_fix_val(isl_set_copy(set), isl_dim_set, d, least);
  if (isl_set_is_empty(fixed) != isl_bool_true) return isl_set_free(set), fixed;
  isl_set_free(fixed);
  return isl_set_lexmin(set);
}

// Returns the least point of a set. Finds one coordinate after the other, each by an integer program. isl_set_lexmin
// finds all coordinates at once, but is a thousand times slower for nests that are fused and split by odd factors.
// Consumes `set`.
static isl_point *least(isl_set *set) {
  isl_size n = isl_set_dim(set, isl_dim_set);
  for (unsigned d = 0; (isl_size)d < n; d++) set = with_least(set, d);
  return isl_set_sample_point(set);
}

// ---- products of sizes

// isl treats a product of sizes as an unknown that has nothing to do with the sizes. So its least point may have the
// product M*N = 1 and the sizes M = 2 and N = 3, which is no counterexample.

// Computes the product in parameter i from the sizes. Returns false if the product has no value, as n // 0.
static bool product_of_sizes(const nw_family *f, int i, const int64_t *size, int64_t *out) {
  const char *name[NW_MAX_DEPTH];
  for (int k = 0; k < f->nsizes; k++) name[k] = f->size[k].name;
  return nw_eval_size(f->product.at[i - f->nsizes], f->nsizes, name, size, out);
}

// Fixes the sizes in the set, whose parameters are dimensions, and all products of sizes. Consumes `set`.
static isl_set *with_sizes(const nw_model *m, isl_set *set, int np, const int64_t *size) {
  for (int i = 0; i < np; i++) {
    int64_t value = i < m->f->nsizes ? size[i] : 0;
    if (i >= m->f->nsizes && !product_of_sizes(m->f, i, size, &value)) {
      isl_set *none = isl_set_empty(isl_set_get_space(set));
      isl_set_free(set);
      return none;
    }
    set = isl_set_fix_val(set, isl_dim_set, (unsigned)i, isl_val_int_from_si(m->f->s->isl, value));
  }
  return set;
}

enum { MOST_SIZES = 6, TRIED = 3 };

// Advances the sizes to the next combination of small sizes. Returns false after the last one.
static bool next_sizes(const nw_family *f, int *above) {
  for (int i = 0; i < f->nsizes; i++) {
    if (++above[i] < TRIED) return true;
    above[i] = 0;
  }
  return false;
}

// Removes from the set, whose parameters are dimensions, the points at which a product differs from the product of the
// sizes: keeps the points with the sizes `found` if there are any, and otherwise the points of the first combination of
// small sizes that has any. Returns NULL if no combination has a point. Consumes `set`.
static isl_set *with_true_products(const nw_model *m, isl_set *set, int np, const int64_t *found) {
  const nw_family *f = m->f;
  int above[NW_MAX_DEPTH] = {0};
  int64_t size[NW_MAX_DEPTH];
  for (int k = 0; k < f->nsizes; k++) size[k] = found[k];
  isl_set *here = with_sizes(m, isl_set_copy(set), np, size);
  bool more = f->nsizes <= MOST_SIZES;
  while (isl_set_is_empty(here) == isl_bool_true && more) {
    isl_set_free(here);
    for (int k = 0; k < f->nsizes; k++) {
      int64_t lo = 0;
      nw_is_int(f->size[k].lo, &lo);
      size[k] = lo + above[k];
    }
    here = with_sizes(m, isl_set_copy(set), np, size);
    more = next_sizes(f, above);
  }
  isl_set_free(set);
  if (isl_set_is_empty(here) == isl_bool_false) return here;
  isl_set_free(here);
  return NULL;
}

static bool has_true_products(const nw_model *m, isl_point *p, int np) {
  int64_t size[NW_MAX_DEPTH], value;
  for (int i = 0; i < np && i < m->f->nsizes; i++) size[i] = coordinate(p, i);
  for (int i = m->f->nsizes; i < np; i++)
    if (!product_of_sizes(m->f, i, size, &value) || value != coordinate(p, i)) return false;
  return true;
}

// Says that nothing was proved. Used if a proof fails and no counterexample is found, because products of sizes, or
// other expressions that are not affine, are unknowns for isl.
static nw_answer tell_unknown(const nw_model *m) {
  return nw_tell(m, NW_REFUSE_UNDECIDED, NULL, NULL,
                 "this depends on products of sizes or loops, about which nothing could be proved");
}

typedef enum search { LOST, FOUND, UNKNOWN } search;

// Finds the smallest point. The parameters become the first dimensions, so that this point has the least sizes. Returns
// LOST if isl fails, and UNKNOWN if the set may have a point, but none was found in which every product of sizes has
// its value. Consumes `set`.
static search smallest(const nw_model *m, isl_set *set, point *out) {
  isl_size np = isl_set_dim(set, isl_dim_param), nd = isl_set_dim(set, isl_dim_set);
  if (np < 0 || nd < 0 || np > NW_MAX_DEPTH) {
    isl_set_free(set);
    return LOST;
  }
  *out = (point){.m = m, .nparams = np, .ndims = nd};
  for (int i = 0; i < np; i++)
    out->param_name[i] = nw_arena_strdup(m->arena, isl_set_get_dim_name(set, isl_dim_param, (unsigned)i));
  set = isl_set_move_dims(set, isl_dim_set, 0, isl_dim_param, 0, (unsigned)np);
  isl_point *p = least(isl_set_copy(set));
  if (p && isl_point_is_void(p) == isl_bool_false && !has_true_products(m, p, np)) {
    int64_t size[NW_MAX_DEPTH];
    for (int i = 0; i < m->f->nsizes && i < np; i++) size[i] = coordinate(p, i);
    isl_point_free(p);
    set = with_true_products(m, set, np, size);
    if (!set) return UNKNOWN;
    p = least(isl_set_copy(set));
  }
  isl_set_free(set);
  if (!p || isl_point_is_void(p) != isl_bool_false) {
    isl_point_free(p);
    return LOST;
  }
  out->dim = NW_NEW_N(m->arena, int64_t, nd + 1);
  for (int i = 0; i < np; i++) out->param[i] = coordinate(p, i);
  for (int i = 0; i < nd; i++) out->dim[i] = coordinate(p, np + i);
  isl_point_free(p);
  return FOUND;
}

// ---- values of expressions at the point

typedef struct place {
  const point *p;
  const nw_site *site;
  const int64_t *dim; // the values of the site's dimensions
} place;

static int64_t value_of(const place *at, const nw_expr *e, bool *known);

static int64_t loop_value(const place *at, int i) {
  const nw_stmt *l = at->site->loop[i];
  int64_t value = at->dim[at->site->dim[i]];
  bool known = true;
  for (int d = 1; d < l->loop.nfused; d++)
    value = value * value_of(at, l->loop.fused[d], &known) + at->dim[at->site->dim[i] + d];
  return value;
}

static const nw_expr *known_var(void *env, const nw_expr *var) {
  const place *at = env;
  nw_pool *pool = at->p->m->f->pool;
  for (int i = 0; i < at->p->nparams; i++)
    if (!strcmp(at->p->param_name[i], var->name)) return nw_index(pool, at->p->param[i]);
  for (int i = 0; at->site && i < at->site->nloops; i++)
    if (!strcmp(at->site->loop[i]->loop.var->name, var->name)) return nw_index(pool, loop_value(at, i));
  return NULL;
}

static const nw_expr *seen_from(const place *at, const nw_expr *e) {
  return nw_rewrite(at->p->m->f->pool, e, known_var, NULL, (void *)at);
}

static int64_t value_of(const place *at, const nw_expr *e, bool *known) {
  int64_t value = 0;
  *known &= nw_is_int(seen_from(at, e), &value);
  return value;
}

// ---- indices of which isl knows only bounds

// True if the index is an expression of loops and sizes, but isl knows only bounds of it. Then isl's point may access
// another element in fact.
static bool is_bounded_only(const nw_model *m, const nw_use *a) {
  nw_space v;
  bool some = false;
  nw_use_space(m->p, a, &v);
  for (int i = 0; i < v.opaque.n && !some; i++) some = nw_is_known_number(v.opaque.at[i]);
  nw_space_free(&v);
  return some;
}

static int64_t component(const place *at, const nw_use *a, int d, bool *known) {
  return value_of(at, nw_block_bound(at->p->m->p, a->site->block, a->index[d]), known);
}

// True if the access happens at this point, as far as its conditions can be computed.
static bool happens(const place *at, const nw_use *a) {
  bool all = true;
  for (int i = 0; i < a->nconds && all; i++) {
    bool known = true;
    int64_t value = value_of(at, nw_block_bound(at->p->m->p, a->site->block, a->cond[i].cond), &known);
    all = !known || (value != 0) == a->cond[i].want;
  }
  return all;
}

// True if the two accesses are shown to meet in one element, or if isl knows their indices exactly.
static bool really_meet(const place *at, const nw_use *a, const place *bt, const nw_use *b) {
  if (!is_bounded_only(at->p->m, a) && !is_bounded_only(at->p->m, b)) return true;
  bool known = true;
  for (int d = 0; d < a->n && d < b->n; d++)
    if (component(at, a, d, &known) != component(bt, b, d, &known)) return false;
  return known && happens(at, a) && happens(bt, b);
}

// True if the access is shown to be outside the stored part of its buffer, or if isl knows its index exactly. Any other
// story about a single access cannot be checked at one point.
static bool really_outside(const place *at, const nw_story *story) {
  const nw_use *a = story->sink;
  if (!a || !is_bounded_only(at->p->m, a)) return true;
  bool known = true, outside = false;
  for (int d = 0; d < a->n; d++) {
    int64_t i = component(at, a, d, &known), from = value_of(at, nw_stored_from(at->p->m->f, a, d), &known);
    outside |= i < from || i >= from + value_of(at, nw_stored_extent(a, d), &known);
  }
  return story->kind == NW_REFUSE_BOUNDS && known && outside && happens(at, a);
}

// ---- text

// Returns "(i=0, j=1)", or "(0, 1)" without names, for the first `loops` loops.
static const char *iteration(const place *at, int loops, bool names) {
  nw_str s = {0};
  nw_str_add(&s, "(");
  for (int i = 0; i < loops; i++) {
    nw_str_add(&s, i ? ", " : "");
    if (names) nw_str_fmt(&s, "%s=", at->site->loop[i]->loop.var->name);
    nw_str_fmt(&s, "%lld", (long long)loop_value(at, i));
  }
  nw_str_add(&s, ")");
  const char *text = nw_arena_strdup(at->p->m->arena, s.s);
  nw_str_free(&s);
  return text;
}

static const char *element(const place *at, const nw_use *a) {
  nw_str s = {0};
  const nw_expr *index[NW_MAX_DEPTH];
  int n = nw_user_index(at->p->m, a->buffer, a->n, a->index, index);
  nw_str_fmt(&s, "%s%s", a->buffer->name, n ? "[" : "");
  for (int d = 0; d < n; d++) {
    nw_str_add(&s, d ? ", " : "");
    nw_expr_print(&s, seen_from(at, nw_block_bound(at->p->m->p, a->site->block, index[d])));
  }
  nw_str_add(&s, n ? "]" : "");
  const char *text = nw_arena_strdup(at->p->m->arena, s.s);
  nw_str_free(&s);
  return text;
}

// ---- the conflict in numbers, so that it can be replayed

static nw_conflict *new_conflict(const point *p) {
  nw_arena *arena = p->m->arena;
  const nw_program *q = p->m->p;
  nw_conflict *w = NW_NEW(arena, nw_conflict);
  w->nsizes = q->nsizes;
  w->size = NW_NEW_N(arena, int64_t, q->nsizes + 1);
  for (int i = 0; i < q->nsizes; i++) {
    nw_is_int(q->size[i].lo, &w->size[i]);
    for (int k = 0; k < p->nparams; k++)
      if (!strcmp(p->param_name[k], q->size[i].name)) w->size[i] = p->param[k];
  }
  return w;
}

static nw_execution execution(const place *at, bool write) {
  nw_arena *arena = at->p->m->arena;
  const nw_site *s = at->site;
  nw_execution e = {.block = s->block->block.name, .init = s->init, .write = write, .n = s->nloops};
  e.loop = NW_NEW_N(arena, const char *, e.n + 1);
  e.at = NW_NEW_N(arena, int64_t, e.n + 1);
  for (int i = 0; i < e.n; i++) {
    e.loop[i] = s->loop[i]->loop.var->name;
    e.at[i] = loop_value(at, i);
  }
  return e;
}

// Sets the index of the element in the conflict. Also sets the buffer if the index does not depend on data.
static void set_element(nw_conflict *w, const place *at, const nw_use *a) {
  bool known = true;
  const nw_expr *index[NW_MAX_DEPTH];
  w->ndim = nw_user_index(at->p->m, a->buffer, a->n, a->index, index);
  w->index = NW_NEW_N(at->p->m->arena, int64_t, w->ndim + 1);
  for (int d = 0; d < w->ndim; d++)
    w->index[d] = value_of(at, nw_block_bound(at->p->m->p, a->site->block, index[d]), &known);
  if (known) w->buffer = a->buffer->name;
}

static const nw_conflict *pair_conflict(const nw_story *story, const place *a, const place *b) {
  nw_conflict *w = new_conflict(a->p);
  w->source = execution(a, story->source->write);
  w->sink = execution(b, story->sink->write);
  set_element(w, a, story->source);
  if (!w->buffer) set_element(w, b, story->sink);
  w->loop = story->loop ? story->loop->loop.var->name : NULL;
  return w;
}

static const nw_conflict *one_conflict(const nw_story *story, const place *at) {
  nw_conflict *w = new_conflict(at->p);
  w->sink = execution(at, story->sink && story->sink->write);
  if (story->sink) set_element(w, at, story->sink);
  return w;
}

static const nw_conflict *element_conflict(const point *p, const nw_buffer *b) {
  nw_conflict *w = new_conflict(p);
  const nw_expr *digit[NW_MAX_DEPTH], *index[NW_MAX_DEPTH];
  place at = {.p = p};
  bool known = true;
  for (int d = 0; d < p->ndims; d++) digit[d] = nw_index(p->m->p->pool, p->dim[d]);
  w->buffer = b->name;
  w->ndim = nw_user_index(p->m, b, p->ndims, digit, index);
  w->index = NW_NEW_N(p->m->arena, int64_t, w->ndim + 1);
  for (int d = 0; d < w->ndim; d++) w->index[d] = value_of(&at, index[d], &known);
  return w;
}

typedef struct words {
  const char *element, *other, *source, *sink, *source_block, *sink_block, *buffer;
} words;

static const char *word(const words *w, char key) {
  switch (key) {
  case 'e': return w->element;
  case 'f': return w->other;
  case 's': return w->source;
  case 't': return w->sink;
  case 'b': return w->source_block;
  case 'c': return w->sink_block;
  case 'n': return w->buffer;
  default: return NULL;
  }
}

// Replaces {e}, {s} and so on in a text, and adds the sizes, if there are any.
static char *fill(const point *p, const char *form, const words *w) {
  nw_str s = {0};
  for (; *form; form++) {
    if (form[0] == '{' && form[1] && form[2] == '}') {
      const char *by = word(w, form[1]);
      nw_str_add(&s, by ? by : "?");
      form += 2;
    } else {
      nw_str_addn(&s, form, 1);
    }
  }
  for (int i = 0, n = 0; i < p->nparams; i++)
    if (i < p->m->f->nsizes)
      nw_str_fmt(&s, "%s%s = %lld", n++ ? ", " : " when ", p->param_name[i], (long long)p->param[i]);
  return nw_str_take(&s);
}

// ---- the refusal

// Returns the first common loop whose iterations differ in the two executions; -1 if there is none.
static int carrying(const place *a, const place *b, int common) {
  for (int i = 0; i < common; i++)
    for (int d = a->site->dim[i]; d < a->site->dim[i + 1]; d++)
      if (a->dim[d] != b->dim[d]) return i;
  return -1;
}

// Returns the number of loops to print. The innermost loops are omitted if they are inside the carrying loop and at 0
// in both executions.
static int telling(const place *a, const place *b, int level) {
  int n = a->site->nloops;
  if (a->site != b->site || level < 0) return n;
  while (n > level + 1 && loop_value(a, n - 1) == 0 && loop_value(b, n - 1) == 0) n--;
  return n;
}

static const char *distance(const place *a, const place *b, int common, const nw_stmt *loop) {
  nw_arena *arena = a->p->m->arena;
  nw_str s = {0};
  for (int i = 0; i < common; i++) {
    long long by = (long long)(loop_value(b, i) - loop_value(a, i));
    if (loop && a->site->loop[i] == loop) {
      nw_str_free(&s);
      return nw_arena_printf(arena, "%lld", by);
    }
    nw_str_fmt(&s, "%s%lld", i ? ", " : "", by);
  }
  if (loop) common = 0; // the loop is not around both executions
  const char *text = common == 1 ? nw_arena_strdup(arena, s.s) : nw_arena_printf(arena, "(%s)", s.s ? s.s : "");
  nw_str_free(&s);
  return common ? text : NULL;
}

// True if the text mentions the sink first. Loop names are printed only for the execution that is mentioned first.
static bool tells_sink_first(const char *form) {
  const char *source = strstr(form, "{s}"), *sink = strstr(form, "{t}");
  return sink && (!source || sink < source);
}

// ---- brief refusals, which name the buffer and the blocks, but no iterations; used when a step is only tried

static const char *some_element(const nw_model *m, const char *buffer) {
  return buffer ? nw_arena_printf(m->arena, "%s[..]", buffer) : NULL;
}

static const char *some_iteration(const nw_model *m, const nw_site *s) {
  return s ? nw_arena_printf(m->arena, "an iteration of %s", s->block->block.name) : NULL;
}

static nw_answer tell_briefly(const nw_model *m, nw_refusal_kind kind, const char *form, const char *buffer,
                              const nw_site *source, const nw_site *sink) {
  words w = {.element = some_element(m, buffer),
             .source = some_iteration(m, source),
             .sink = some_iteration(m, sink),
             .source_block = source ? source->block->block.name : NULL,
             .sink_block = sink ? sink->block->block.name : NULL,
             .buffer = buffer};
  w.other = w.element;
  char *why = fill(&(point){.m = m}, form, &w);
  nw_refuse(m->p->ctx, &(nw_refusal){.kind = kind, .tensor = buffer, .why = why});
  free(why);
  return NW_FAILS;
}

// If the index is read from data, the refusal prints the index as the program writes it, and names no single element.
nw_answer nw_tell_pair(const nw_model *m, const nw_story *story, isl_map *bad) {
  point p;
  if (m->f->s->brief) {
    isl_map_free(bad);
    const nw_use *source = story->source, *sink = story->sink;
    return tell_briefly(m, story->kind, story->why, source->buffer->name, source->site, sink->site);
  }
  search found = smallest(m, isl_set_flatten(isl_map_wrap(bad)), &p);
  if (found != FOUND) return found == LOST ? nw_proofs_lost(m->f->s) : tell_unknown(m);
  const nw_site *x = story->source->site, *y = story->sink->site;
  place a = {&p, x, p.dim}, b = {&p, y, p.dim + x->view.ndims};
  if (!really_meet(&a, story->source, &b, story->sink)) return tell_unknown(m);
  int common = nw_common_loops(x, y), level = carrying(&a, &b, common);
  int na = telling(&a, &b, level), nb = x == y ? na : y->nloops;
  bool both = x != y, sink_first = tells_sink_first(story->why);
  bool data = story->source->exact && !story->sink->exact;
  words w = {.element = data ? element(&b, story->sink) : element(&a, story->source),
             .other = element(&b, story->sink),
             .source = iteration(&a, na, both || !sink_first),
             .sink = iteration(&b, nb, both || sink_first),
             .source_block = x->block->block.name,
             .sink_block = y->block->block.name,
             .buffer = story->source->buffer->name};
  char *why = fill(&p, story->why, &w);
  nw_refusal r = {.kind = story->kind,
                  .tensor = w.buffer,
                  .element = data ? NULL : w.element,
                  .source_block = w.source_block,
                  .source = iteration(&a, na, true),
                  .sink_block = w.sink_block,
                  .sink = iteration(&b, nb, true),
                  .distance = distance(&a, &b, common, story->loop),
                  .message = story->message,
                  .why = why,
                  .conflict = pair_conflict(story, &a, &b)};
  const nw_stmt *loop = story->loop ? story->loop : level >= 0 ? x->loop[level] : NULL;
  if (loop) r.loops[0] = loop->loop.var->name;
  nw_refuse(m->p->ctx, &r);
  free(why);
  return NW_FAILS;
}

nw_answer nw_tell_one(const nw_model *m, const nw_story *story, isl_set *bad) {
  point p;
  const nw_site *s = story->site;
  const nw_use *a = story->sink;
  if (m->f->s->brief) {
    isl_set_free(bad);
    return tell_briefly(m, story->kind, story->why, a ? a->buffer->name : NULL, NULL, s);
  }
  search found = smallest(m, bad, &p);
  if (found != FOUND) return found == LOST ? nw_proofs_lost(m->f->s) : tell_unknown(m);
  place at = {&p, s, p.dim};
  if (!really_outside(&at, story)) return tell_unknown(m);
  words w = {.element = a ? element(&at, a) : NULL,
             .sink = iteration(&at, s->nloops, true),
             .sink_block = s->block->block.name,
             .buffer = a ? a->buffer->name : NULL};
  char *why = fill(&p, story->why, &w);
  nw_refuse(m->p->ctx, &(nw_refusal){.kind = story->kind,
                                     .tensor = w.buffer,
                                     .element = w.element,
                                     .sink_block = w.sink_block,
                                     .sink = w.sink,
                                     .message = story->message,
                                     .why = why,
                                     .conflict = one_conflict(story, &at)});
  free(why);
  return NW_FAILS;
}

nw_answer nw_tell_element(const nw_model *m, nw_refusal_kind kind, const nw_buffer *b, const char *form, isl_set *bad) {
  point p;
  if (m->f->s->brief) {
    isl_set_free(bad);
    return tell_briefly(m, kind, form, b->name, NULL, NULL);
  }
  search found = smallest(m, bad, &p);
  if (found != FOUND) return found == LOST ? nw_proofs_lost(m->f->s) : tell_unknown(m);
  nw_str s = {0};
  const nw_conflict *conflict = element_conflict(&p, b);
  nw_str_fmt(&s, "%s%s", b->name, conflict->ndim ? "[" : "");
  for (int d = 0; d < conflict->ndim; d++) nw_str_fmt(&s, "%s%lld", d ? ", " : "", (long long)conflict->index[d]);
  nw_str_add(&s, conflict->ndim ? "]" : "");
  words w = {.element = s.s, .buffer = b->name};
  char *why = fill(&p, form, &w);
  nw_refuse(m->p->ctx,
            &(nw_refusal){.kind = kind, .tensor = b->name, .element = s.s, .why = why, .conflict = conflict});
  nw_str_free(&s);
  free(why);
  return NW_FAILS;
}

// Makes a refusal without executions.
nw_answer nw_tell(const nw_model *m, nw_refusal_kind kind, const nw_stmt *loop, const char *message, const char *fmt,
                  ...) {
  nw_str why = {0};
  va_list args;
  va_start(args, fmt);
  nw_str_vfmt(&why, fmt, args);
  va_end(args);
  nw_refusal r = {.kind = kind, .message = message, .why = why.s};
  if (loop) r.loops[0] = loop->loop.var->name;
  nw_refuse(m->p->ctx, &r);
  nw_str_free(&why);
  return NW_FAILS;
}
