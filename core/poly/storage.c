// Checks that local buffers fit on the stack, that shared buffers fit in the memory of a GPU block, that a layout gives
// no position outside its own extents, and that the layout of a parameter gives every element its own position.
#include "ir/program/physical.h"
#include "poly/internal.h"
#include <stdlib.h>

// ---- capacity

enum { NO_CONSTANT = -1, NO_PLACE = -2, NO_SCOPE = -1 };

// Returns the maximal number of elements in memory for a buffer with a layout or aligned strides. Returns NO_CONSTANT
// if the number has no constant bound, and NO_PLACE with a diagnostic if the number has no bound.
static int64_t spread(const nw_model *m, const nw_path *path, const nw_stmt *alloc, const nw_ranges *r) {
  const char *loop[NW_MAX_DEPTH];
  int nloops = 0;
  int64_t n;
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_LOOP) loop[nloops++] = path->at[i]->loop.var->name;
  const nw_physical *place = nw_physical_alloc(m->arena, m->seen, r, alloc, nloops, loop);
  return !place ? NO_PLACE : nw_const_upper(r, place->elements, &n) ? n : NO_CONSTANT;
}

// Returns the maximal number of bytes of an allocation; -1 if no constant bounds it.
static int64_t bytes_of(const nw_model *m, const nw_path *path, const nw_stmt *alloc) {
  const nw_program *p = m->seen;
  const nw_buffer *b = nw_find_buffer(p, alloc->alloc.buffer);
  nw_ranges r;
  nw_ranges_of(&r, p, path);
  int64_t count = 1, n, bytes;
  for (int d = 0; d < alloc->alloc.n && count >= 0; d++) {
    bool known = nw_const_upper(&r, alloc->alloc.extent[d], &n);
    if (!known || __builtin_mul_overflow(count, n > 0 ? n : 0, &count)) count = -1;
  }
  int64_t box = count;
  if (b->nlayout || b->nstrides) count = spread(m, path, alloc, &r);
  // If the layout has no position without an element, a warp needs registers for as many positions as it has elements.
  int64_t own = b->scope == NW_WARP && count == box ? nw_warp_elements(m, path) : -1;
  if (own >= 0 && own < count) count = own;
  nw_ranges_free(&r);
  return count < 0 || __builtin_mul_overflow(count, nw_dtype_bytes(b->dtype), &bytes) ? -1 : bytes;
}

// ---- maximal sizes

// A buffer that is allocated inside loops is allocated once, with its maximal size. So its size must have a maximum.

typedef struct sizes {
  const nw_model *m;
  nw_answer answer;
} sizes;

static bool has_size(void *env, const nw_path *path) {
  sizes *x = env;
  const nw_stmt *s = path->at[path->n - 1];
  const nw_ctx *c = x->m->p->ctx;
  if (s->kind != NW_ALLOC || !NW_RULE(c, storage_size)) return true;
  nw_ranges r;
  nw_ranges_of(&r, x->m->seen, path);
  bool known = spread(x->m, path, s, &r) != NO_PLACE;
  nw_ranges_free(&r);
  const nw_diag *d = nw_error(c);
  if (known || !d) return true;
  char *text = nw_xstrdup(d->message);
  nw_clear((nw_ctx *)c);
  x->answer = nw_tell(x->m, NW_REFUSE_CAPACITY, NULL, NULL, "%s", text);
  free(text);
  return false;
}

static nw_answer check_sizes(const nw_model *m) {
  sizes x = {m, NW_HOLDS};
  nw_walk(m->seen, has_size, &x);
  return x.answer;
}

typedef struct load {
  const nw_model *m;
  nw_scope scope;
  const char *chip; // for NW_CHIP: the name of the buffer of the accelerator
  int64_t word; // bytes; a buffer begins at a multiple of it
  int64_t limit;
  const char *fit, *one; // texts for messages; fit: where the buffers must fit; one: the name of the scope
  nw_answer answer;
} load;

static bool has_scope(const load *l, const nw_stmt *s) {
  const nw_buffer *b = s->kind == NW_ALLOC ? nw_find_buffer(l->m->seen, s->alloc.buffer) : NULL;
  return b && b->scope == l->scope && (!l->chip || !strcmp(b->chip, l->chip));
}

static bool too_large(load *l, const nw_stmt *alloc, int64_t bytes) {
  if (bytes < 0)
    l->answer =
        nw_tell(l->m, NW_REFUSE_CAPACITY, NULL, NULL,
                "the size of %s has no constant bound, so it cannot have scope %s", alloc->alloc.buffer, l->one);
  else
    l->answer = nw_tell(l->m, NW_REFUSE_CAPACITY, NULL, NULL,
                        "with %s, buffers of scope %s take %lld bytes at the same time; at most %lld fit %s",
                        alloc->alloc.buffer, l->one, (long long)bytes, (long long)l->limit, l->fit);
  return false;
}

static bool no_such_scope(load *l, const nw_stmt *alloc) {
  const nw_target *t = l->m->p->target;
  nw_str all = {0};
  for (int i = 0; i < t->limit.nscopes; i++) nw_str_fmt(&all, "%s%s", i ? ", " : "", t->limit.scope[i].name);
  l->answer = nw_tell(l->m, NW_REFUSE_CAPACITY, NULL, NULL, "%s has scope %s, but the scopes of %s are %s",
                      alloc->alloc.buffer, l->one, t->machine.name, all.s);
  nw_str_free(&all);
  return false;
}

// True if every iteration of the loop has its own copies of the buffers that are allocated inside it.
static bool copies_storage(const nw_stmt *s) {
  return nw_is_vthread_loop(s) || (nw_is_vector_loop(s) && !NW_MUTATED(capacity_lanes));
}

// Returns the number of copies of a buffer. Every enclosing virtual thread and vector lane has its own copy.
static int64_t copies_of(const nw_path *path) {
  int64_t copies = 1, n;
  for (int i = 0; i < path->n; i++)
    if (copies_storage(path->at[i]) && nw_is_int(path->at[i]->loop.extent, &n) && n > 0 &&
        __builtin_mul_overflow(copies, n, &copies))
      return INT32_MAX;
  return copies;
}

static bool check_alloc(void *env, const nw_path *path) {
  load *l = env;
  const nw_stmt *s = path->at[path->n - 1];
  if (!has_scope(l, s)) return true;
  int64_t all = 0;
  if (l->limit == NO_SCOPE) return no_such_scope(l, s);
  for (int i = 0; i < path->n; i++) {
    if (!has_scope(l, path->at[i])) continue;
    nw_path upto = *path;
    upto.n = i + 1;
    int64_t bytes = bytes_of(l->m, &upto, path->at[i]);
    if (bytes < 0 || __builtin_mul_overflow(bytes, copies_of(&upto), &bytes) ||
        __builtin_add_overflow(bytes, (l->word - bytes % l->word) % l->word, &bytes) ||
        __builtin_add_overflow(all, bytes, &all))
      return too_large(l, path->at[i], -1);
  }
  return all <= l->limit || too_large(l, s, all);
}

static int64_t room(const nw_model *m, const char *scope) {
  const nw_scope_limit *l = nw_target_scope(m->p->target, scope);
  return l ? l->bytes : NO_SCOPE;
}

static nw_answer check_capacity(const nw_model *m) {
  load stack = {m, NW_LOCAL, NULL, 1, room(m, "local"), "on the stack", "local", NW_HOLDS};
  load shared = {m, NW_SHARED, NULL, 1, room(m, "shared"), "in a block", "shared", NW_HOLDS};
  if (NW_RULE(m->p->ctx, capacity_stack)) nw_walk(m->seen, check_alloc, &stack);
  if (stack.answer != NW_HOLDS) return stack.answer;
  if (NW_RULE(m->p->ctx, capacity_shared)) nw_walk(m->seen, check_alloc, &shared);
  if (shared.answer != NW_HOLDS) return shared.answer;
  load warp = {m, NW_WARP, NULL, 1, room(m, "warp"), "in the registers of a warp", "warp", NW_HOLDS};
  if (NW_RULE(m->p->ctx, capacity_warp)) nw_walk(m->seen, check_alloc, &warp);
  if (warp.answer != NW_HOLDS) return warp.answer;
  const nw_machine_accelerator *a = &m->p->target->machine.accelerator;
  load chip = {m, NW_CHIP, NULL, 1, 0, "in it", NULL, NW_HOLDS};
  for (int i = 0; i < a->nbuffers && chip.answer == NW_HOLDS && NW_RULE(m->p->ctx, capacity_chip); i++) {
    chip.chip = chip.one = a->buffer[i].name;
    chip.limit = a->buffer[i].bytes * a->buffer[i].count;
    chip.word = a->buffer[i].word_bits >= 8 ? a->buffer[i].word_bits / 8 : 1;
    nw_walk(m->seen, check_alloc, &chip);
  }
  return chip.answer;
}

// ---- layouts

static nw_answer bad_layout(const nw_model *m, const nw_buffer *b, const char *what) {
  return nw_tell(m, NW_REFUSE_STRUCTURE, NULL, NULL, "the layout of %s %s", b->name, what);
}

static nw_answer judge_layout(const nw_model *m, const nw_buffer *b) {
  isl_set *range = isl_map_range(nw_layout_map(m, b));
  isl_set *room = nw_shape_box(m->f, b->nlayout, (const nw_expr *const *)b->layout_shape);
  nw_answer fits = nw_answer_of(m->f->s, isl_set_is_subset(range, room));
  isl_set_free(range);
  isl_set_free(room);
  return fits == NW_FAILS ? bad_layout(m, b, "puts elements outside its own extents") : fits;
}

static nw_answer check_layout(const nw_model *m, const nw_buffer *b) {
  if (!b->nlayout || !NW_RULE(m->p->ctx, storage_layout)) return NW_HOLDS;
  int fact = nw_layout_fact(m, 'L', b);
  if (nw_fact_proved(m->f, fact)) return NW_HOLDS;
  nw_answer answer = judge_layout(m, b);
  if (answer == NW_HOLDS) nw_fact_prove(m->f, fact);
  return answer;
}

// True if there are as many elements as positions, so that elements at different positions fill all of them.
static bool as_many(const nw_model *m, const nw_buffer *b) {
  const nw_expr *elements = nw_index(m->f->pool, 1), *positions = elements;
  for (int d = 0; d < b->ndim; d++) elements = nw_mul(m->f->pool, elements, b->shape[d]);
  for (int d = 0; d < b->nlayout; d++) positions = nw_mul(m->f->pool, positions, b->layout_shape[d]);
  return elements == positions;
}

static const char unfilled[] = "leaves positions without an element, and an output needs a pad_value for them";

// Checks that every position in the caller's array is written.
static nw_answer judge_filled(const nw_model *m, const nw_buffer *b) {
  if (nw_layout_of_bits(b)) return as_many(m, b) ? NW_HOLDS : bad_layout(m, b, unfilled);
  int fact = nw_layout_fact(m, 'W', b);
  if (nw_fact_proved(m->f, fact)) return NW_HOLDS;
  isl_set *range = nw_set_with_quotients(m->f->s, isl_map_range(nw_layout_map(m, b)));
  isl_set *room = nw_shape_box(m->f, b->nlayout, (const nw_expr *const *)b->layout_shape);
  nw_answer full = nw_answer_of(m->f->s, isl_set_is_subset(room, range));
  isl_set_free(range);
  isl_set_free(room);
  if (full == NW_FAILS) return bad_layout(m, b, unfilled);
  if (full == NW_HOLDS) nw_fact_prove(m->f, fact);
  return full;
}

static nw_answer tell_shared(const nw_model *m, const nw_buffer *b) {
  isl_map *map = nw_layout_map(m, b),
          *same = isl_map_apply_range(isl_map_copy(map), isl_map_reverse(isl_map_copy(map)));
  isl_space *space = isl_space_domain(isl_map_get_space(map));
  isl_set *bad = isl_map_domain(isl_map_intersect(same, isl_map_lex_lt(space)));
  isl_map_free(map);
  return nw_tell_element(m, NW_REFUSE_STRUCTURE, b, "the layout puts {e} and another element at the same position",
                         bad);
}

// Checks the layout of an input or an output, whose array belongs to the caller.
static nw_answer check_param(const nw_model *m, const nw_buffer *b) {
  if (!b->nlayout || b->role == NW_TEMP) return NW_HOLDS;
  nw_answer own = NW_RULE(m->p->ctx, param_places) ? nw_own_places(m, b) : NW_HOLDS;
  if (own == NW_FAILS) return tell_shared(m, b);
  if (own != NW_HOLDS || b->role != NW_OUTPUT || b->pad || !NW_RULE(m->p->ctx, param_filled)) return own;
  return judge_filled(m, b);
}

nw_answer nw_check_storage(const nw_model *m) {
  nw_answer answer = check_sizes(m);
  if (answer == NW_HOLDS) answer = check_capacity(m);
  for (int i = 0; i < m->p->nbuffers && answer == NW_HOLDS; i++) {
    if (nw_layout_of_bits(m->p->buffer[i])) answer = nw_check_bits(m, m->p->buffer[i]);
    if (answer == NW_HOLDS) answer = check_layout(m, m->p->buffer[i]);
    if (answer == NW_HOLDS) answer = check_param(m, m->p->buffer[i]);
  }
  return answer;
}
