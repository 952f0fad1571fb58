// Finds conflicts between the blocks and threads of one launch.
//
// Blocks run in any order. So if one block writes an element, no other block may access this element. Between barriers,
// the threads of a block run in any order. A barrier can be placed at a *joint*, which is a place before or after a
// statement that all threads of the block reach together. So the loops around a joint must have the same bounds for all
// threads, and the thread loops among them must include all threads of the launch. The accesses of two threads to one
// element are ordered if a joint is between the accesses. That is, the accesses are in different iterations of a loop
// around the joint, or on different sides of the joint. With a barrier at the joint, all threads run the code before
// the joint first. So the access before the joint must also be first in the program.
//
// Storage is modelled as on a device: a buffer allocated inside a serial loop is the same memory in every iteration.
#include "poly/internal.h"

typedef struct place { // the place of a site in its launch
  nw_path path; // the path from the root to the block
  int launch; // position of the launch on the path; -1 if there is no launch
  int host; // number of loops outside the launch
  bool unsafe; // true if an unsafe step has bound a loop around the site
  bool one_warp; // true if the launch has one warp along x
  // map from executions to (execution, index in the grid along the dimensions in `along`); made on first use
  isl_map *indexed;
  unsigned along; // set of dimensions of the grid, as bits
  int alike; // up to this position on the path, all threads run the bodies of the statements together
} place;

typedef struct check {
  const nw_model *m;
  place *at; // one for each site, in the order of the sites
  nw_vec *syncs;
  bool no_sums; // true if conflicts between two writes of one reduction are ignored
} check;

typedef struct duo { // two accesses of one launch
  check *c;
  const nw_model *m;
  nw_use *a, *b;
  place *pa, *pb;
  int loops, stmts; // loops: number of common loops; stmts: number of common statements on the paths
  unsigned along; // dimensions of the grid whose index is added to both executions of each pair, as bits
} duo;

// ---- joints

static bool uses_thread(const nw_expr *e, const place *at, int upto) {
  for (int i = at->launch; i < upto; i++) {
    const nw_stmt *s = at->path.at[i];
    if (nw_is_thread_loop(s) && nw_uses_var(e, s->loop.var->name)) return true;
  }
  return false;
}

static bool all_threads(const nw_program *p, const nw_launch *l, const nw_stmt *loop) {
  nw_ranges r;
  nw_ranges_of(&r, p, NULL);
  bool all = nw_prove(&r, nw_eq(r.pool, loop->loop.extent, l->extent[nw_grid_dim(loop)]));
  nw_ranges_free(&r);
  return all;
}

// True if all threads that reach this statement execute its body the same number of times.
static bool lets_all_in(const nw_program *p, const nw_launch *l, const place *at, int i) {
  const nw_stmt *s = at->path.at[i];
  if (s->kind == NW_GUARD) return !uses_thread(s->guard.cond, at, i);
  if (s->kind != NW_LOOP) return s->kind != NW_BLOCK;
  if (nw_is_vector_loop(s)) return false;
  if (uses_thread(s->loop.begin, at, i) || uses_thread(s->loop.extent, at, i)) return false;
  return !nw_is_thread_loop(s) || all_threads(p, l, s);
}

static void place_site(const nw_model *m, const nw_program *before, const nw_site *s, place *out) {
  nw_launch l;
  *out = (place){.launch = -1};
  if (!nw_find(m->p, s->block->id, &out->path)) return;
  out->launch = nw_launch_on(m->p, &out->path);
  if (out->launch < 0) return;
  for (int i = 0; i < s->nloops; i++)
    out->unsafe |= nw_is_bound_loop(s->loop[i]) && nw_known_unsafe(before, s->loop[i]);
  for (int i = 0; i < out->launch; i++) out->host += out->path.at[i]->kind == NW_LOOP;
  nw_path upto = out->path;
  upto.n = out->launch + 1;
  out->alike = out->launch - 1;
  if (!nw_launch_extents(m->p, &upto, &l)) return;
  int64_t across;
  out->one_warp = l.extent[3] && nw_is_int(l.extent[3], &across) && across <= m->p->target->limit.launch.warp;
  while (out->alike + 1 < out->path.n && lets_all_in(m->p, &l, out, out->alike + 1)) out->alike++;
}

// Returns the position on the path of loop number `loop`.
static int loop_at(const place *p, int loop) {
  for (int i = 0; i < p->path.n; i++)
    if (p->path.at[i]->kind == NW_LOOP && loop-- == 0) return i;
  return -1;
}

// ---- locations that are accessed

// Returns the map execution -> location in memory. A location is given by the iterations of the bound loops around the
// allocation, and by the index from the start of the stored part.
static isl_map *touched(const nw_model *m, nw_use *a, int host) {
  nw_space v;
  nw_use_space(m->p, a, &v);
  const nw_expr *at[NW_MAX_DEPTH];
  for (int d = 0; d < a->n; d++) {
    at[d] = nw_sub(m->f->pool, nw_block_bound(m->p, a->site->block, a->index[d]), a->alloc->alloc.min[d]);
    nw_space_scan(&v, at[d]);
  }
  isl_set *domain = isl_set_add_dims(isl_set_copy(a->site->domain), isl_dim_set, (unsigned)v.opaque.n);
  isl_pw_aff_list *value = nw_values(&v);
  for (int i = host; i < a->depth; i++)
    if (nw_is_bound_loop(a->site->loop[i])) value = nw_values_dims(value, &v, a->site->dim[i], a->site->dim[i + 1]);
  for (int d = 0; d < a->n && !a->buffer->nlayout; d++) // meet_in_place handles layouts
    value = nw_values_expr(value, &v, at[d]);
  isl_map *map = nw_values_at(&v, isl_set_intersect(domain, nw_use_conditions(m->p, a, &v)), value);
  nw_space_free(&v);
  return map;
}

static const nw_stmt *bound_to(const nw_site *s, int host, int dim) {
  for (int i = host; i < s->nloops; i++)
    if (nw_grid_dim(s->loop[i]) == dim) return s->loop[i];
  return NULL;
}

// Returns the map execution -> (execution, index in the grid along the dimensions in `along`). The index is 0 in
// dimensions to which no loop is bound.
static isl_map *with_index(const nw_model *m, const nw_site *s, int host, unsigned along) {
  nw_space v;
  nw_space_init(&v, m->f);
  for (int i = 0; i < s->nloops; i++) nw_space_loop(&v, s->loop[i]);
  const nw_expr *index[NW_GRID_DIMS];
  int n = 0;
  for (int d = 0; d < NW_GRID_DIMS; d++) {
    if (!(along >> d & 1)) continue;
    const nw_stmt *loop = bound_to(s, host, d);
    index[n] = loop ? nw_sub(m->f->pool, loop->loop.var, loop->loop.begin) : nw_index(m->f->pool, 0);
    nw_space_scan(&v, index[n++]);
  }
  isl_map *map = nw_space_map(&v, isl_set_copy(s->domain), n, index);
  nw_space_free(&v);
  return isl_map_flat_range_product(isl_set_identity(isl_set_copy(s->domain)), map);
}

// A range of n dimensions to compare. It begins at dimension a of the first execution, and at dimension b of the second
// execution.
typedef struct range {
  int a, b, n;
} range;

static range loop_range(const duo *d, int i) {
  const nw_site *s = d->a->site;
  return (range){s->dim[i], s->dim[i], s->dim[i + 1] - s->dim[i]};
}

static bool starts_alike(const nw_site *s, int loop) {
  bool alike = true;
  for (int i = 0; i < loop; i++) alike &= !nw_uses_var(s->loop[loop]->loop.begin, s->loop[i]->loop.var->name);
  return alike;
}

// Returns a common loop whose variable alone determines the index in dimension `dim` of the grid; -1 if there is no
// such loop. With such a loop, the index need not be affine.
static int shared_loop(const duo *d, int dim) {
  for (int i = d->pa->host; i < d->loops; i++)
    if (nw_grid_dim(d->a->site->loop[i]) == dim && starts_alike(d->a->site, i)) return i;
  return -1;
}

// Returns the dimensions of the grid in which the index must be computed, as bits. In these dimensions, a loop is bound
// to the dimension, but no common loop alone determines the index.
static unsigned computed_dims(const duo *d) {
  unsigned along = 0;
  for (int dim = 0; dim < NW_GRID_DIMS; dim++) {
    bool bound = bound_to(d->a->site, d->pa->host, dim) || bound_to(d->b->site, d->pa->host, dim);
    bool in_warps =
        dim == 3 && d->a->buffer->scope == NW_WARP && !d->pa->one_warp; // the number of the warp follows from the index
    if (bound && (shared_loop(d, dim) < 0 || in_warps)) along |= 1u << dim;
  }
  return along;
}

// Returns the dimensions to compare for the index along dimension `dim` of the grid. The range is empty if no loop is
// bound to `dim`.
static range index_range(const duo *d, int dim) {
  const nw_site *s = d->a->site, *t = d->b->site;
  int loop = shared_loop(d, dim), before = __builtin_popcount(d->along & ((1u << dim) - 1));
  if (loop >= 0 && !(d->along >> dim & 1)) return loop_range(d, loop);
  return (range){s->dim[s->nloops] + before, t->dim[t->nloops] + before, (int)(d->along >> dim & 1)};
}

static isl_map *equal(isl_map *pairs, range r) {
  for (int i = 0; i < r.n; i++) pairs = isl_map_equate(pairs, isl_dim_in, r.a + i, isl_dim_out, r.b + i);
  return pairs;
}

// Returns the pairs that differ in at least one of these dimensions. With `want_less`, this includes the pairs whose
// first execution has the lower value in the first such dimension. With `want_greater`, it includes the other pairs.
static isl_map *by_first(const isl_map *pairs, range r, bool want_less, bool want_greater) {
  isl_map *rest = isl_map_copy((isl_map *)pairs), *out = isl_map_empty(isl_map_get_space(rest));
  for (int i = 0; i < r.n; i++) {
    int a = r.a + i, b = r.b + i;
    if (want_less)
      out = isl_map_union_disjoint(out, isl_map_order_lt(isl_map_copy(rest), isl_dim_in, a, isl_dim_out, b));
    if (want_greater)
      out = isl_map_union_disjoint(out, isl_map_order_gt(isl_map_copy(rest), isl_dim_in, a, isl_dim_out, b));
    if (i + 1 < r.n) rest = isl_map_equate(rest, isl_dim_in, r.a + i, isl_dim_out, r.b + i);
  }
  isl_map_free(rest);
  return out;
}

static isl_map *less(const isl_map *pairs, range r) { return by_first(pairs, r, true, false); }
static isl_map *greater(const isl_map *pairs, range r) { return by_first(pairs, r, false, true); }
static isl_map *unlike(const isl_map *pairs, range r) { return by_first(pairs, r, true, true); }

static isl_map *indexed(const duo *d, const nw_site *s, place *at) {
  if (at->indexed && at->along == d->along) return isl_map_copy(at->indexed);
  isl_map_free(at->indexed);
  at->along = d->along;
  at->indexed = with_index(d->m, s, d->pa->host, d->along);
  return isl_map_copy(at->indexed);
}

// Returns the pairs of executions that access the same location. Within one iteration of the loops around the
// allocation, the layout of the buffer gives the location of an element. In another iteration of these loops, a location
// of a buffer with a layout may hold any element.
static isl_map *meet_in_place(const duo *d, int host) {
  if (!d->a->alloc || d->a->depth <= host) return nw_collide(d->m, d->a, d->b);
  isl_map *pairs = isl_map_apply_range(touched(d->m, d->a, host), isl_map_reverse(touched(d->m, d->b, host)));
  const nw_site *s = d->a->site;
  if (!d->a->buffer->nlayout) return pairs;
  isl_map *other = unlike(pairs, (range){s->dim[host], s->dim[host], s->dim[d->a->depth] - s->dim[host]});
  isl_map_free(pairs);
  return isl_map_union(other, nw_collide(d->m, d->a, d->b));
}

// Returns the pairs of executions in one launch that access the same location or, if `logical` is true, the same
// element. In a pair, each execution is followed by its index in the grid.
static isl_map *pairs_of(const duo *d, bool logical) {
  int host = d->pa->host;
  isl_map *pairs = logical ? nw_meet(d->m, d->a, d->b) : meet_in_place(d, host);
  if (d->along) {
    pairs = isl_map_apply_domain(pairs, indexed(d, d->a->site, d->pa));
    pairs = isl_map_apply_range(pairs, indexed(d, d->b->site, d->pb));
  }
  for (int i = 0; i < d->a->site->dim[host]; i++) pairs = isl_map_equate(pairs, isl_dim_in, i, isl_dim_out, i);
  return pairs;
}

// ---- refusals

static isl_map *without_index(const duo *d, isl_map *pairs) {
  const nw_site *s = d->a->site, *t = d->b->site;
  unsigned n = (unsigned)__builtin_popcount(d->along);
  pairs = isl_map_project_out(pairs, isl_dim_in, (unsigned)s->dim[s->nloops], n);
  return isl_map_project_out(pairs, isl_dim_out, (unsigned)t->dim[t->nloops], n);
}

// Returns the pairs that differ in dimension `dim` of the grid, and agree in the other dimensions from..to - 1.
static isl_map *along(const duo *d, const isl_map *pairs, int dim, int from, int to) {
  isl_map *out = unlike(pairs, index_range(d, dim));
  for (int other = from; other < to; other++)
    if (other != dim) out = equal(out, index_range(d, other));
  return out;
}

static const nw_stmt *loop_of(const duo *d, int dim) {
  const nw_stmt *loop = bound_to(d->a->site, d->pa->host, dim);
  return loop ? loop : bound_to(d->b->site, d->pa->host, dim);
}

// Reports one of the pairs whose first execution is also first in the program, preferably a pair that differs along one
// dimension only. Returns NW_HOLDS if no pair is in this order. The pairs in the reverse order are reported when the
// two accesses are exchanged. Consumes `pairs`.
static nw_answer tell(const duo *d, isl_map *pairs, int from, int to, const char *form, const char *by_whom) {
  isl_map *bad = nw_before(without_index(d, isl_map_copy(pairs)), d->a, d->b);
  isl_bool none = isl_map_is_empty(bad);
  nw_story story = {.kind = nw_conflict_kind(d->a, d->b), .source = d->a, .sink = d->b};
  story.why = form ? form : nw_conflict_why(d->m, d->a, d->b, by_whom);
  for (int pass = 0; pass < 2 && none == isl_bool_false; pass++)
    for (int dim = from; dim < to && !story.loop; dim++) {
      isl_map *here = nw_before(without_index(d, along(d, pairs, dim, from, pass ? from : to)), d->a, d->b);
      bool differs = isl_map_is_empty(here) == isl_bool_false;
      isl_map_free(differs ? bad : here);
      if (differs) bad = here, story.loop = loop_of(d, dim);
    }
  isl_map_free(pairs);
  if (none == isl_bool_false) return nw_tell_pair(d->m, &story, bad);
  isl_map_free(bad);
  return none == isl_bool_true ? NW_HOLDS : nw_proofs_lost(d->m->f->s);
}

// True if the rule is enabled and its violations must be reported. If only the positions of barriers are needed,
// nothing is reported.
static bool rule_on(const duo *d, bool blocks) {
  nw_ctx *c = d->m->p->ctx;
  if (d->c->syncs) return false;
  if (nw_is_reduction(d->a, d->b)) return NW_RULE(c, grid_reduction);
  return blocks ? NW_RULE(c, block_carried) : NW_RULE(c, thread_ordered);
}

// ---- between blocks

// Checks the pairs of executions in different blocks. Leaves in *pairs only the pairs within one block.
static nw_answer check_blocks(const duo *d, isl_map **pairs) {
  isl_map *apart = isl_map_empty(isl_map_get_space(*pairs));
  for (int dim = 0; dim < 3; dim++) {
    apart = isl_map_union_disjoint(apart, unlike(*pairs, index_range(d, dim)));
    *pairs = equal(*pairs, index_range(d, dim));
  }
  isl_bool none = isl_map_is_empty(apart);
  if (none == isl_bool_false && rule_on(d, true)) return tell(d, apart, 0, 3, NULL, "by another block");
  isl_map_free(apart);
  return none < 0 ? nw_proofs_lost(d->m->f->s) : NW_HOLDS;
}

static isl_map *threads_apart(const duo *d, isl_map *pairs) {
  isl_map *apart = isl_map_empty(isl_map_get_space(pairs));
  for (int dim = 3; dim < NW_GRID_DIMS; dim++) {
    apart = isl_map_union_disjoint(apart, unlike(pairs, index_range(d, dim)));
    pairs = equal(pairs, index_range(d, dim));
  }
  isl_map_free(pairs);
  return apart;
}

// ---- between threads

// Checks pairs that a joint orders (in loop `level`, or after all common loops). Refuses the pairs whose second
// execution is first in the program, because an enclosing thread loop runs it earlier.
static nw_answer check_direction(const duo *d, isl_map *ordered, int level) {
  isl_map *rest = isl_map_copy(ordered), *bad = isl_map_empty(isl_map_get_space(ordered));
  for (int i = d->pa->host; i < level; i++) {
    if (!nw_is_thread_loop(d->a->site->loop[i])) continue;
    bad = isl_map_union_disjoint(bad, greater(rest, loop_range(d, i)));
    rest = equal(rest, loop_range(d, i));
  }
  isl_map_free(rest);
  // an element with one value gets the same value twice
  if (d->a == d->b && !d->a->update && nw_single_valued(d->m, d->a->buffer) == NW_HOLDS)
    bad = isl_map_subtract(bad, pairs_of(d, true));
  isl_bool none = isl_map_is_empty(bad);
  if (none == isl_bool_false && !d->c->syncs && NW_RULE(d->m->p->ctx, thread_direction)) {
    duo back = *d;
    back.a = d->b, back.b = d->a, back.pa = d->pb, back.pb = d->pa;
    return tell(&back, isl_map_reverse(bad), 3, NW_GRID_DIMS,
                "two threads access {e}, at {s} and later at {t}; a barrier would reverse their order", NULL);
  }
  isl_map_free(bad);
  return none < 0 ? nw_proofs_lost(d->m->f->s) : NW_HOLDS;
}

// Checks pairs that a joint orders. Consumes `pairs`.
static nw_answer ordered(const duo *d, isl_map *pairs, int level, const nw_stmt *loop) {
  isl_bool none = isl_map_is_empty(pairs);
  nw_answer answer = none < 0 ? nw_proofs_lost(d->m->f->s) : NW_HOLDS;
  if (none == isl_bool_false) answer = check_direction(d, pairs, level);
  if (none == isl_bool_false && d->c->syncs) {
    nw_sync *s = NW_NEW(d->m->p->arena, nw_sync);
    *s = (nw_sync){d->a->site->block->id, d->b->site->block->id, loop ? loop->id : 0, d->a->buffer->scope == NW_WARP};
    nw_vec_push(d->c->syncs, s);
  }
  isl_map_free(pairs);
  return answer;
}

static bool is_alike(const duo *d, int stmt) { return stmt <= d->pa->alike && stmt <= d->pb->alike; }

// True if a joint is between the statements that contain the two accesses.
static bool side_by_side(const duo *d) { return d->stmts < d->pa->path.n && is_alike(d, d->stmts - 1); }

static nw_answer check_apart(const duo *d, isl_map *apart) {
  nw_answer answer = NW_HOLDS;
  bool alike = true;
  for (int i = d->pa->host; i < d->loops && answer == NW_HOLDS; i++) {
    const nw_stmt *loop = d->a->site->loop[i];
    if (nw_grid_dim(loop) >= 0) continue;
    alike = is_alike(d, loop_at(d->pa, i));
    if (!alike) break;
    if (!nw_is_vthread_loop(loop)) answer = ordered(d, less(apart, loop_range(d, i)), i, loop);
    apart = equal(apart, loop_range(d, i));
  }
  if (answer != NW_HOLDS || (alike && side_by_side(d))) {
    bool first = answer == NW_HOLDS && d->a->site->seq < d->b->site->seq;
    if (first) return ordered(d, apart, d->loops, NULL);
    isl_map_free(apart);
    return answer;
  }
  isl_bool none = isl_map_is_empty(apart);
  if (none == isl_bool_false && rule_on(d, false))
    return tell(d, apart, 3, NW_GRID_DIMS, NULL, "by another thread, and no barrier can be placed between them");
  isl_map_free(apart);
  return none < 0 ? nw_proofs_lost(d->m->f->s) : NW_HOLDS;
}

// Checks accesses to a buffer of scope local. Each thread has its own copy of the buffer, so no barrier makes the
// elements of another thread visible.
static nw_answer check_local(const duo *d) {
  if (d->c->syncs || !NW_RULE(d->m->p->ctx, thread_local)) return NW_HOLDS;
  isl_map *pairs = pairs_of(d, true);
  for (int dim = 0; dim < 3; dim++) pairs = equal(pairs, index_range(d, dim));
  isl_map *apart = threads_apart(d, pairs);
  isl_bool none = isl_map_is_empty(apart);
  if (none == isl_bool_false)
    return tell(d, apart, 3, NW_GRID_DIMS, NULL, "by another thread, but {n} has scope local: each thread has its own");
  isl_map_free(apart);
  return none < 0 ? nw_proofs_lost(d->m->f->s) : NW_HOLDS;
}

// ---- within a warp

// Returns the pairs whose threads are in different warps (if `other` is true) or in the same warp. Consumes `pairs`.
static isl_map *by_warp(const duo *d, isl_map *pairs, bool other) {
  isl_map *apart = isl_map_empty(isl_map_get_space(pairs));
  for (int dim = 4; dim < NW_GRID_DIMS; dim++) {
    apart = isl_map_union_disjoint(apart, unlike(pairs, index_range(d, dim)));
    pairs = equal(pairs, index_range(d, dim));
  }
  range x = index_range(d, 3);
  if (x.n && !d->pa->one_warp) {
    int warp = (int)d->m->p->target->limit.launch.warp;
    unsigned b = (unsigned)x.b + (unsigned)isl_map_dim(pairs, isl_dim_in);
    isl_set *set = isl_map_wrap(pairs);
    isl_local_space *local = isl_local_space_from_space(isl_set_get_space(set));
    isl_aff *first = isl_aff_var_on_domain(isl_local_space_copy(local), isl_dim_set, (unsigned)x.a);
    isl_aff *second = isl_aff_var_on_domain(local, isl_dim_set, b);
    first = isl_aff_floor(isl_aff_scale_down_ui(first, (unsigned)warp));
    second = isl_aff_floor(isl_aff_scale_down_ui(second, (unsigned)warp));
    isl_set *same = isl_aff_eq_set(first, second);
    apart = isl_map_union_disjoint(apart, isl_set_unwrap(isl_set_subtract(isl_set_copy(set), isl_set_copy(same))));
    pairs = isl_set_unwrap(isl_set_intersect(set, same));
  }
  isl_map_free(other ? pairs : apart);
  return other ? apart : pairs;
}

static isl_map *in_one_block(const duo *d, bool logical) {
  isl_map *pairs = pairs_of(d, logical);
  for (int dim = 0; dim < 3; dim++) pairs = equal(pairs, index_range(d, dim));
  return pairs;
}

// Checks accesses to a buffer of scope warp. Each warp has its own copy of the buffer, so no barrier makes the elements
// of another warp visible. Accesses of two threads of one warp need a barrier in between.
static nw_answer check_warp(const duo *d) {
  if (!d->c->syncs && NW_RULE(d->m->p->ctx, thread_warp)) {
    isl_map *apart = by_warp(d, in_one_block(d, true), true);
    isl_bool none = isl_map_is_empty(apart);
    if (none == isl_bool_false)
      return tell(d, apart, 3, NW_GRID_DIMS, NULL,
                  "by a thread of another warp, but {n} has scope warp: each warp has its own");
    isl_map_free(apart);
    if (none < 0) return nw_proofs_lost(d->m->f->s);
  }
  return check_apart(d, threads_apart(d, by_warp(d, in_one_block(d, false), false)));
}

static nw_answer check_memory(const duo *d) {
  isl_map *pairs = pairs_of(d, false);
  nw_answer answer = check_blocks(d, &pairs);
  if (answer == NW_HOLDS) return check_apart(d, threads_apart(d, pairs));
  isl_map_free(pairs);
  return answer;
}

// ---- stored proofs

static void key_site(nw_key *k, const nw_site *s, const place *at) {
  nw_key_add(k, '|');
  for (int i = 0; i < s->nloops; i++) nw_key_add(k, s->loop[i]->loop.mark);
  for (int i = 0; i < at->path.n; i++) nw_key_add(k, (uintptr_t)at->path.at[i]->kind);
  nw_key_add(k, (uintptr_t)at->alike);
}

static int fact_of(const duo *d) {
  nw_key k = {0};
  nw_key_add(&k, 'G');
  nw_key_add(&k, (uintptr_t)d->a->number);
  nw_key_add(&k, (uintptr_t)d->b->number);
  nw_key_add(&k, (uintptr_t)d->loops);
  nw_key_add(&k, (uintptr_t)d->stmts);
  nw_key_add(&k, (uintptr_t)d->pa->host);
  nw_key_add(&k, d->a->site->seq < d->b->site->seq);
  nw_key_add(&k, d->a->buffer->scope);
  nw_key_add(&k, d->a->buffer->nlayout ? (uintptr_t)nw_layout_fact(d->m, 'I', d->a->buffer) : 0);
  key_site(&k, d->a->site, d->pa);
  key_site(&k, d->b->site, d->pb);
  for (int i = 0; d->a->alloc && i < d->a->alloc->alloc.n; i++) nw_key_ptr(&k, d->a->alloc->alloc.min[i]);
  int fact = nw_fact_number(d->m->f, &k);
  nw_key_free(&k);
  return fact;
}

static int common_stmts(const place *a, const place *b) {
  int n = 0;
  while (n < a->path.n && n < b->path.n && a->path.at[n] == b->path.at[n]) n++;
  return n;
}

// True if threads may update the same element by a and b at the same time: atomic updates lose no contribution.
static bool shared_by_updates(const nw_model *m, const nw_use *a, const nw_use *b) {
  nw_scope scope = a->buffer->scope;
  if (!a->update || !b->update || !nw_is_reduction(a, b) || !nw_both_atomic(m, a, b)) return false;
  return (scope == NW_GLOBAL || scope == NW_SHARED) && nw_own_places(m, a->buffer) == NW_HOLDS;
}

static nw_answer check_duo(check *c, int i, int j, nw_use *a, nw_use *b) {
  place *pa = &c->at[i], *pb = &c->at[j];
  if (!nw_may_meet(a, b) || pa->launch < 0 || pa->launch != pb->launch || pa->unsafe || pb->unsafe) return NW_HOLDS;
  if (c->no_sums && nw_is_reduction(a, b)) return NW_HOLDS;
  if (shared_by_updates(c->m, a, b)) return NW_HOLDS;
  duo d = {.c = c, .m = c->m, .a = a, .b = b, .pa = pa, .pb = pb};
  d.loops = nw_common_loops(a->site, b->site);
  d.stmts = common_stmts(pa, pb);
  d.along = computed_dims(&d);
  if (d.stmts <= pa->launch) return NW_HOLDS; // the accesses are in different launches
  int fact = c->syncs ? 0 : fact_of(&d);
  if (fact && nw_fact_proved(c->m->f, fact)) return NW_HOLDS;
  nw_scope scope = a->buffer->scope;
  nw_answer answer = scope == NW_LOCAL ? check_local(&d) : scope == NW_WARP ? check_warp(&d) : check_memory(&d);
  if (fact && answer == NW_HOLDS) nw_fact_prove(c->m->f, fact);
  return answer;
}

static nw_answer check_sites(check *c, int i, int j, bool updates) {
  nw_site *s = c->m->site[i], *t = c->m->site[j];
  nw_answer answer = NW_HOLDS;
  for (int k = 0; k < s->nuses && answer == NW_HOLDS; k++)
    for (int l = 0; l < t->nuses && answer == NW_HOLDS; l++)
      if ((s->use[k].update && t->use[l].update) == updates) answer = check_duo(c, i, j, &s->use[k], &t->use[l]);
  return answer;
}

// Checks conflicts between two updates of one reduction first, since they are the most informative for users.
static nw_answer check_all(check c, const nw_program *before) {
  nw_answer answer = NW_HOLDS;
  const nw_model *m = c.m;
  if (!nw_find_bound(m->p->root)) return answer;
  c.at = NW_NEW_N(m->arena, place, m->nsites + 1);
  for (int i = 0; i < m->nsites; i++) place_site(m, before, m->site[i], &c.at[i]);
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < m->nsites && answer == NW_HOLDS; i++)
      for (int j = 0; j < m->nsites && answer == NW_HOLDS; j++) answer = check_sites(&c, i, j, pass == 0);
  for (int i = 0; i < m->nsites; i++) isl_map_free(c.at[i].indexed);
  return answer;
}

nw_answer nw_check_threads(const nw_model *m, const nw_program *before, nw_vec *syncs) {
  return check_all((check){.m = m, .syncs = syncs}, before);
}

nw_answer nw_check_threads_but_sums(const nw_model *m, const nw_program *before) {
  return check_all((check){.m = m, .no_sums = true}, before);
}

// Frees the model at the end, since the caller will edit p.
bool nw_syncs(const nw_program *p, nw_vec *out) {
  NW_MUST(!p->model);
  nw_proofs *s = nw_proofs_of(p->ctx);
  nw_model *m = nw_proofs_begin(s, p) ? nw_model_of(p, NULL) : NULL;
  bool ok = m && nw_check_threads(m, NULL, out) == NW_HOLDS;
  if (m) nw_model_free(m);
  ((nw_program *)p)->model = NULL;
  ((nw_program *)p)->model_free = NULL;
  return ok;
}
