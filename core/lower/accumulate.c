// Pass: gives the lanes of a vector loop accumulators, if a reduction runs along the loop (ir/program/lanes.h).
//
// The update of an element E in lane l becomes an update of E_lanes[l], which starts from the neutral element. After
// the loops of the reduction, the lanes are combined as a tree: of n lanes, the last n//2 are combined with the first
// n//2, in their order, until one is left. That one is combined with the element:
//
//   alloc E_lanes:
//     vectorize for l: E_lanes[l] = neutral element
//     for k_o: vectorize for k_i: E_lanes[k_i] += term
//     vectorize for l in 0..n//2: E_lanes[l] += E_lanes[l + n - n//2]
//     ...
//     E += E_lanes[0]
//
// Loops over elements that are inside the loops of the reduction get accumulators of their own. The new statements are
// ordinary blocks. So every interpreter, model and back end runs the lanes in this order.
#include "ir/program/lanes.h"
#include "ir/program/lift.h"
#include "lower/pass.h"

typedef struct accumulators {
  nw_program *p;
  nw_accumulation x;
  nw_stmt *block;
  int64_t lanes;
  const nw_expr *where; // the guard of the combination
  int napart;
  const nw_stmt *apart[NW_MAX_DEPTH]; // the loops over elements, outermost first
  bool once; // true if each lane has one term, which is stored at once
  const char **name; // the buffer for each target
} accumulators;

static const nw_expr *from_zero(nw_pool *pool, const nw_stmt *loop) {
  return nw_sub(pool, loop->loop.var, loop->loop.begin);
}

// ---- block variables

static bool taken(const nw_stmt *block, const char *name) {
  for (int i = 0; i < block->block.nvars; i++)
    if (!strcmp(block->block.var[i].var->name, name)) return true;
  return false;
}

// Adds a variable to the block, and returns it.
static const nw_expr *add_var(nw_program *p, nw_stmt *block, const char *name, const nw_expr *extent,
                              const nw_expr *bind) {
  int n = block->block.nvars;
  nw_block_var *var = NW_NEW_N(p->arena, nw_block_var, n + 1);
  for (int i = 0; i < n; i++) var[i] = block->block.var[i];
  while (taken(block, name)) name = nw_arena_printf(p->arena, "%s_", name);
  var[n] = (nw_block_var){nw_var(p->pool, name), NW_SPATIAL, nw_index(p->pool, 0), extent, bind};
  block->block.var = var;
  block->block.nvars = n + 1;
  return var[n].var;
}

// Adds a variable for each loop over elements. `loop` has these loops, or copies of them. Returns the index of an
// accumulator; the caller sets the last component, the lane.
static const nw_expr **place(const accumulators *a, nw_stmt *block, const nw_stmt *const *loop) {
  const nw_expr **index = NW_NEW_N(a->p->arena, const nw_expr *, a->napart + 1);
  for (int i = 0; i < a->napart; i++)
    index[i] = add_var(a->p, block, a->apart[i]->loop.var->name, loop[i]->loop.extent, from_zero(a->p->pool, loop[i]));
  return index;
}

// ---- nests

// A nest of copies of the loops over elements.
typedef struct nest {
  const nw_stmt *loop[NW_MAX_DEPTH];
  nw_stmt *top, *inner; // NULL if there is no loop
} nest;

static nest new_nest(const accumulators *a) {
  nest n = {0};
  for (int i = 0; i < a->napart; i++) {
    const nw_stmt *of = a->apart[i];
    nw_stmt *copy = nw_new_loop(a->p, nw_unique_loop_name(a->p, of->loop.var->name), of->loop.begin, of->loop.extent);
    copy->step = a->block->step;
    copy->loop.mark = of->loop.mark;
    if (n.inner) nw_kids_set(a->p, n.inner, 1, &copy);
    n.inner = copy;
    n.loop[i] = copy;
    if (!n.top) n.top = copy;
  }
  return n;
}

// Puts the statements into the nest.
static nw_stmt *filled(const accumulators *a, nest *n, const nw_vec *kids) {
  if (!n->inner) return nw_sequence(a->p, kids);
  nw_kids_set(a->p, n->inner, kids->n, (nw_stmt **)kids->at);
  return n->top;
}

static nw_stmt *new_block(const accumulators *a, const char *form, nw_combiner combiner) {
  nw_stmt *s = nw_new_like(a->p, NW_BLOCK, a->block);
  s->block.name = nw_unique_block_name(a->p, nw_arena_printf(a->p->arena, form, a->block->block.name));
  s->block.origin = s->block.name;
  s->block.combiner = combiner;
  s->block.ntargets = a->block->block.ntargets;
  s->block.target = NW_NEW_N(a->p->arena, nw_block_target, s->block.ntargets);
  s->ntags = a->block->ntags;
  s->tag = a->block->tag;
  return s;
}

// Returns a loop over the first n lanes around the block, whose last variable is the lane. If n is 1, the lane is 0.
static nw_stmt *over_lanes(const accumulators *a, nw_stmt *block, int64_t n) {
  nw_pool *pool = a->p->pool;
  nw_block_var *lane = &block->block.var[block->block.nvars - 1];
  lane->bind = nw_index(pool, 0);
  if (n == 1) return block;
  const char *name = nw_unique_loop_name(a->p, a->x.path.at[a->x.vector]->loop.var->name);
  nw_stmt *loop = nw_new_loop(a->p, name, nw_index(pool, 0), nw_index(pool, n));
  loop->step = block->step;
  loop->loop.mark = NW_VECTORIZED;
  lane->bind = loop->loop.var;
  nw_kids_set(a->p, loop, 1, &block);
  return loop;
}

static nw_dtype dtype_of(const accumulators *a, int target) { return nw_find_buffer(a->p, a->name[target])->dtype; }

static const nw_expr *read(const accumulators *a, int target, const nw_expr *const *index) {
  return nw_load(a->p->pool, (nw_type){(uint8_t)dtype_of(a, target), 1}, a->name[target], a->napart + 1, index);
}

// Returns a copy of the index with another lane.
static const nw_expr **in_lane(const accumulators *a, const nw_expr *const *index, const nw_expr *lane) {
  const nw_expr **out = NW_NEW_N(a->p->arena, const nw_expr *, a->napart + 1);
  for (int i = 0; i < a->napart; i++) out[i] = index[i];
  out[a->napart] = lane;
  return out;
}

static nw_stmt *init_nest(const accumulators *a) {
  nest n = new_nest(a);
  nw_vec kids = {0};
  nw_stmt *b = new_block(a, "%s_lanes_init", NW_PLAIN);
  const nw_expr **at = place(a, b, n.loop);
  at[a->napart] = add_var(a->p, b, "lane", nw_index(a->p->pool, a->lanes), NULL);
  for (int t = 0; t < b->block.ntargets; t++)
    b->block.target[t] = (nw_block_target){
        a->name[t], a->napart + 1, at, nw_combiner_identity(a->p->pool, a->block->block.combiner, dtype_of(a, t), t),
        NULL,       false};
  nw_vec_push(&kids, over_lanes(a, b, a->lanes));
  nw_stmt *s = filled(a, &n, &kids);
  nw_vec_free(&kids);
  return s;
}

// Makes the statement that combines the lanes from `n - n//2` on with the first n//2 lanes.
static nw_stmt *halve(const accumulators *a, const nest *of, int64_t n) {
  nw_pool *pool = a->p->pool;
  nw_stmt *b = new_block(a, "%s_lanes", a->block->block.combiner);
  const nw_expr **at = place(a, b, of->loop);
  const nw_expr *lane = at[a->napart] = add_var(a->p, b, "lane", nw_index(pool, n / 2), NULL);
  const nw_expr **from = in_lane(a, at, nw_add(pool, lane, nw_index(pool, n - n / 2)));
  for (int t = 0; t < b->block.ntargets; t++)
    b->block.target[t] = (nw_block_target){a->name[t], a->napart + 1, at, read(a, t, from), NULL, false};
  return over_lanes(a, b, n / 2);
}

// Makes the block that combines lane 0 with the element. It is the update itself, without its reduction variables.
static nw_stmt *combine(const accumulators *a, const nest *of, const nw_stmt *was) {
  nw_stmt *s = nw_new_like(a->p, NW_BLOCK, was);
  const char *name[NW_MAX_DEPTH];
  const nw_expr *by[NW_MAX_DEPTH];
  for (int i = 0; i < a->napart; i++) name[i] = a->apart[i]->loop.var->name, by[i] = of->loop[i]->loop.var;
  s->block = was->block;
  s->ntags = was->ntags;
  s->tag = was->tag;
  s->block.name = nw_unique_block_name(a->p, was->block.name);
  s->block.has_init = false;
  s->block.var = NW_NEW_N(a->p->arena, nw_block_var, was->block.nvars + 1);
  s->block.nvars = 0;
  for (int i = 0; i < was->block.nvars; i++)
    if (was->block.var[i].kind != NW_REDUCE) {
      nw_block_var v = was->block.var[i];
      v.bind = nw_subst_n(a->p->pool, v.bind, a->napart, name, by);
      s->block.var[s->block.nvars++] = v;
    }
  s->block.where = a->where ? nw_subst_n(a->p->pool, a->where, a->napart, name, by) : NULL;
  const nw_expr **at = place(a, s, of->loop);
  at[a->napart] = nw_index(a->p->pool, 0);
  s->block.target = NW_NEW_N(a->p->arena, nw_block_target, s->block.ntargets);
  for (int t = 0; t < s->block.ntargets; t++) {
    s->block.target[t] = was->block.target[t];
    s->block.target[t].value = read(a, t, at);
  }
  return s;
}

static nw_stmt *combine_nest(const accumulators *a, const nw_stmt *was) {
  nest of = new_nest(a);
  nw_vec kids = {0};
  for (int64_t n = a->lanes; n > 1; n -= n / 2) nw_vec_push(&kids, halve(a, &of, n));
  nw_vec_push(&kids, combine(a, &of, was));
  nw_stmt *s = filled(a, &of, &kids);
  nw_vec_free(&kids);
  return s;
}

// Makes the block update the accumulators.
static void redirect(accumulators *a) {
  nw_pool *pool = a->p->pool;
  nw_stmt *b = a->block, *vector = a->x.path.at[a->x.vector];
  const nw_expr **at = place(a, b, a->apart);
  at[a->napart] = add_var(a->p, b, vector->loop.var->name, vector->loop.extent, from_zero(pool, vector));
  nw_block_target *target = NW_NEW_N(a->p->arena, nw_block_target, b->block.ntargets);
  for (int t = 0; t < b->block.ntargets; t++)
    target[t] = (nw_block_target){a->name[t], a->napart + 1, at, b->block.target[t].value, NULL, false};
  b->block.target = target;
  b->block.atomic = false;
  b->block.name = nw_unique_block_name(a->p, nw_arena_printf(a->p->arena, "%s_lanes", b->block.name));
  b->block.origin = b->block.name;
  if (a->once) b->block.combiner = NW_PLAIN;
}

// ---- storage

// Returns the number of bytes of the accumulators, or -1 if it is not constant.
static int64_t bytes_of(const accumulators *a, nw_dtype t) {
  int64_t n = a->lanes * nw_dtype_bytes(t), extent;
  for (int i = 0; i < a->napart; i++)
    if (!nw_is_int(a->apart[i]->loop.extent, &extent) || __builtin_mul_overflow(n, extent, &n)) return -1;
  return n;
}

static nw_stmt *allocate(accumulators *a, int target) {
  nw_pool *pool = a->p->pool;
  const nw_buffer *of = nw_find_buffer(a->p, a->block->block.target[target].buffer);
  const nw_expr *shape[NW_MAX_DEPTH];
  for (int i = 0; i < a->napart; i++) shape[i] = a->apart[i]->loop.extent;
  shape[a->napart] = nw_index(pool, a->lanes);
  nw_scope scope = nw_fits_on_stack(a->p, bytes_of(a, of->dtype)) ? NW_LOCAL : NW_GLOBAL;
  const char *name = nw_unique_buffer_name(a->p, nw_arena_printf(a->p->arena, "%s_lanes", of->name));
  nw_buffer *b = nw_add_buffer(a->p, name, of->dtype, scope, NW_TEMP, a->napart + 1, shape);
  a->name[target] = b->name;
  nw_stmt *alloc = nw_new_alloc(a->p, b);
  alloc->step = a->block->step;
  return alloc;
}

// ---- one reduction

static bool varies_with_lane(const accumulators *a) {
  return a->block->block.where && nw_uses_var(a->block->block.where, a->x.path.at[a->x.vector]->loop.var->name);
}

// True if no other loop of the reduction runs while the accumulators live.
static bool one_term_each(const accumulators *a) {
  for (int i = a->x.top; i < a->x.path.n - 1; i++) {
    const nw_stmt *s = a->x.path.at[i];
    if (i != a->x.vector && s->kind == NW_LOOP && nw_binds_reduce(a->block, s->loop.var->name)) return false;
  }
  return !a->block->block.where;
}

// Returns the guard of the combination: the guard of the init, or the part of the guard that is the same for the whole
// reduction.
static const nw_expr *guard_of(nw_program *p, const nw_accumulation *x) {
  const nw_stmt *b = x->block;
  if (!b->block.where) return NULL;
  nw_vec conds = {0};
  nw_lift l;
  nw_lift_of(&l, p, b->id);
  const nw_expr *left = NULL;
  if (b->block.has_init && nw_lift_starts(&l)) {
    left = nw_lift_begin(&l, nw_where_of_init(p, b));
  } else {
    nw_add_conjuncts(b->block.where, &conds);
    for (int i = conds.n - 1; i >= 0; i--)
      if (nw_accumulates_along(x, conds.at[i])) nw_vec_remove(&conds, i);
    left = nw_conjunction(p->pool, conds.n, conds.at);
  }
  nw_vec_free(&conds);
  nw_lift_free(&l);
  return left;
}

static void find_apart(accumulators *a) {
  for (int i = a->x.top; i < a->x.path.n - 1; i++)
    if (nw_accumulates_apart(&a->x, i)) a->apart[a->napart++] = a->x.path.at[i];
}

// Puts the nest at position `top`, with the init before it and the combination after it, into the allocations.
static void surround(accumulators *a, const nw_stmt *was) {
  nw_program *p = a->p;
  nw_stmt *parent = a->x.path.at[a->x.top - 1], *loop = a->x.path.at[a->x.top];
  int pos = a->x.path.pos[a->x.top], n = a->block->block.ntargets;
  a->name = NW_NEW_N(p->arena, const char *, n);
  nw_stmt *outer = NULL, *inner = NULL;
  for (int t = 0; t < n; t++) {
    nw_stmt *alloc = allocate(a, t);
    if (inner) nw_kids_set(p, inner, 1, &alloc);
    inner = alloc;
    if (!outer) outer = alloc;
  }
  nw_stmt *kid[3];
  int kids = 0;
  if (!a->once) kid[kids++] = init_nest(a);
  kid[kids++] = loop;
  kid[kids++] = combine_nest(a, was);
  redirect(a);
  nw_kids_set(p, inner, kids, kid);
  nw_kids_replace(parent, pos, outer);
}

static bool accumulate(nw_program *p, int id) {
  nw_path path;
  nw_find(p, id, &path);
  accumulators a = {.p = p, .block = path.at[path.n - 1]};
  if (!nw_accumulation_of(&a.x, p, a.block)) return true;
  if (a.x.why) return nw_fail(p->ctx, NW_ELIMIT, "Unmark the vector loop.", a.x.why, a.block->block.name, a.x.about);
  a.where = guard_of(p, &a.x);
  if (a.block->block.has_init) nw_split_init(p, id);
  nw_accumulation_of(&a.x, p, a.block);
  if (!nw_is_int(a.x.path.at[a.x.vector]->loop.extent, &a.lanes) || a.lanes < 1) return true;
  find_apart(&a);
  a.once = one_term_each(&a) && !varies_with_lane(&a);
  const nw_stmt was = *a.block;
  surround(&a, &was);
  return true;
}

static void collect(const nw_stmt *s, nw_vec *out) {
  if (s->kind == NW_BLOCK && s->block.combiner != NW_PLAIN) nw_vec_push(out, (void *)s);
  for (int i = 0; i < s->nkids; i++) collect(s->kid[i], out);
}

static void plain_marks(nw_stmt *s) {
  if (s->kind == NW_LOOP && s->loop.mark == NW_VECTOR_REDUCE) s->loop.mark = NW_VECTORIZED;
  for (int i = 0; i < s->nkids; i++) plain_marks(s->kid[i]);
}

nw_program *nw_pass_accumulate(nw_program *p) {
  if (!nw_reduces_in_lanes(p->root)) return p;
  nw_vec blocks = {0};
  bool ok = true;
  collect(p->root, &blocks);
  for (int i = 0; i < blocks.n && ok; i++) ok = accumulate(p, ((nw_stmt *)blocks.at[i])->id);
  nw_vec_free(&blocks);
  if (!ok) return NULL;
  plain_marks(p->root);
  return p;
}
