// Checks that parallel loops, vectorized loops and virtual threads carry no dependence. That is, if an iteration of one
// of these loops writes an element, no other iteration accesses this element. Atomic updates of a reduction are an
// exception.
#include "ir/program/lanes.h"
#include "ir/program/lift.h"
#include "poly/internal.h"

static bool is_parallel(const nw_stmt *s) { return s->kind == NW_LOOP && s->loop.mark == NW_PARALLEL; }

static const char *cannot(const nw_model *m, const nw_stmt *loop) {
  const char *name = loop->loop.var->name;
  if (nw_is_vthread_loop(loop)) return NULL;
  return is_parallel(loop) ? nw_arena_printf(m->arena, "cannot run %s in parallel", name)
                           : nw_arena_printf(m->arena, "cannot vectorize %s", name);
}

// ---- structure

static nw_answer refuse(const nw_model *m, const nw_stmt *loop, const char *fmt, const char *other) {
  nw_str why = {0};
  nw_str_fmt(&why, fmt, loop->loop.var->name, other);
  nw_answer answer = nw_tell(m, NW_REFUSE_STRUCTURE, loop, cannot(m, loop), "%s", why.s);
  nw_str_free(&why);
  return answer;
}

static nw_answer check_nesting(const nw_model *m, const nw_stmt *s, const nw_stmt *around) {
  if (!NW_RULE(m->p->ctx, nested_marks) || !around) return NW_HOLDS;
  const char *outer = around->loop.var->name;
  if (is_parallel(s) && is_parallel(around))
    return refuse(m, s, "%s is inside %s, which already runs in parallel", outer);
  if (is_parallel(s)) return refuse(m, s, "%s is inside %s, which is vectorized", outer);
  if (nw_is_vector_loop(s) && nw_is_vector_loop(around))
    return refuse(m, s, "%s is inside %s, which is vectorized too", outer);
  return NW_HOLDS;
}

static nw_answer check_extent(const nw_model *m, const nw_stmt *s) {
  int64_t n;
  if (!NW_RULE(m->p->ctx, vector_extent)) return NW_HOLDS;
  if (!nw_is_int(s->loop.extent, &n)) return refuse(m, s, "the extent of %s is not a constant%s", "");
  if (n < 0) return refuse(m, s, "the extent of %s is negative%s", "");
  int64_t most = m->p->target->limit.lanes;
  if (n <= most) return NW_HOLDS;
  nw_str why = {0};
  nw_str_fmt(&why, ": it has %lld iterations; the limit for a vector loop is %lld", (long long)n, (long long)most);
  nw_answer answer = refuse(m, s, "%s is too wide%s", why.s);
  nw_str_free(&why);
  return answer;
}

static nw_answer check_copies(const nw_model *m, const nw_stmt *s) {
  int64_t n;
  if (!NW_RULE(m->p->ctx, unroll_extent) || nw_is_int(s->loop.extent, &n)) return NW_HOLDS;
  return refuse(m, s, "the extent of %s is not a constant, so it cannot be unrolled%s", "");
}

static bool depends_on(const nw_stmt *inner, const char *var) {
  return nw_uses_var(inner->loop.begin, var) || nw_uses_var(inner->loop.extent, var);
}

// Checks an atomic block. Threads may update the same element concurrently, but the lanes of a vector may not, since a
// vector store writes each element only once.
static nw_answer check_atomic(const nw_model *m, const nw_stmt *s, const nw_stmt *vector) {
  nw_ctx *c = m->p->ctx;
  const char *name = s->block.name;
  if (!s->block.atomic) return NW_HOLDS;
  if (s->block.ntargets > 1 && NW_RULE(c, atomic_single))
    return nw_tell(m, NW_REFUSE_STRUCTURE, NULL, NULL,
                   "%s updates two elements at a time, and no CPU can do this atomically", name);
  if (vector && NW_RULE(c, atomic_lanes) && !nw_accumulation_of(&(nw_accumulation){0}, m->seen, s))
    return nw_tell(m, NW_REFUSE_STRUCTURE, vector, NULL,
                   "the updates of %s are atomic, and the lanes of %s would make several updates at once", name,
                   vector->loop.var->name);
  return NW_HOLDS;
}

// Checks that a reduction in the lanes of a vector loop can have an accumulator in each lane.
static nw_answer check_accumulators(const nw_model *m, const nw_stmt *s, const nw_stmt *vector) {
  nw_accumulation x;
  if (!vector || !NW_RULE(m->p->ctx, vector_accumulators) || !nw_accumulation_of(&x, m->seen, s) || !x.why)
    return NW_HOLDS;
  return nw_tell(m, NW_REFUSE_STRUCTURE, vector, cannot(m, vector), x.why, s->block.name, x.about);
}

static bool not_atomic(void *env, nw_stmt *s) {
  const nw_stmt **found = env;
  if (s->kind == NW_BLOCK && s->block.atomic) *found = s;
  return !*found;
}

static nw_answer check_call(const nw_model *m, const nw_stmt *call) {
  const nw_stmt *block = NULL;
  if (!NW_RULE(m->p->ctx, atomic_single) || nw_walk_from(call, not_atomic, &block)) return NW_HOLDS;
  return nw_tell(m, NW_REFUSE_STRUCTURE, NULL, NULL, "the updates of %s are atomic, but an intrinsic's updates are not",
                 block->block.name);
}

static nw_answer check_uniform(const nw_model *m, const nw_stmt *loop, const nw_stmt *s) {
  if (s != loop && s->kind == NW_LOOP && depends_on(s, loop->loop.var->name))
    return refuse(m, loop, "the bounds of %2$s depend on %1$s, so the lanes would need different numbers of iterations",
                  s->loop.var->name);
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < s->nkids && answer == NW_HOLDS; i++) answer = check_uniform(m, loop, s->kid[i]);
  return answer;
}

// `parallel` and `vector` are the innermost enclosing loops with these marks.
static nw_answer check_structure(const nw_model *m, const nw_stmt *s, const nw_stmt *parallel, const nw_stmt *vector) {
  nw_answer answer = NW_HOLDS;
  if (is_parallel(s)) answer = check_nesting(m, s, vector ? vector : parallel);
  if (nw_is_vector_loop(s)) answer = check_nesting(m, s, vector);
  if (s->kind == NW_BLOCK) answer = check_atomic(m, s, vector);
  if (s->kind == NW_BLOCK && answer == NW_HOLDS) answer = check_accumulators(m, s, vector);
  if (s->kind == NW_CALL) answer = check_call(m, s);
  if (nw_is_vector_loop(s) && answer == NW_HOLDS) answer = check_extent(m, s);
  if (nw_is_vector_loop(s) && answer == NW_HOLDS && NW_RULE(m->p->ctx, vector_uniform)) answer = check_uniform(m, s, s);
  if (s->kind == NW_LOOP && s->loop.mark == NW_UNROLLED && answer == NW_HOLDS) answer = check_copies(m, s);
  if (is_parallel(s)) parallel = s;
  if (nw_is_vector_loop(s)) vector = s;
  for (int i = 0; i < s->nkids && answer == NW_HOLDS; i++) answer = check_structure(m, s->kid[i], parallel, vector);
  return answer;
}

// ---- dependences that a loop carries

bool nw_is_reduction(const nw_use *a, const nw_use *b) {
  bool both = a->write && b->write && (a->update || b->update);
  return both && !strcmp(a->site->block->block.origin, b->site->block->block.origin);
}

nw_refusal_kind nw_conflict_kind(const nw_use *a, const nw_use *b) {
  if (nw_is_reduction(a, b)) return NW_REFUSE_REDUCTION;
  return !a->write ? NW_REFUSE_WAR : b->write ? NW_REFUSE_WAW : NW_REFUSE_RAW;
}

// Returns the text for a conflict between two elements at the same location.
static const char *folded_form(const nw_use *a, const nw_use *b) {
  return !a->write  ? "{e} is read at {s}, and {f} is written to the same location at {t} %s"
         : b->write ? "{e} is written at {s}, and {f} is written to the same location at {t} %s"
                    : "{e} is written at {s}, and {f} is read from the same location at {t} %s";
}

const char *nw_conflict_why(const nw_model *m, const nw_use *a, const nw_use *b, const char *by_whom) {
  if (nw_own_places(m, a->buffer) == NW_FAILS) return nw_arena_printf(m->arena, folded_form(a, b), by_whom);
  if (nw_is_reduction(a, b) && a->site->block->block.atomic && !(a->update && b->update))
    return a->update ? "{e} gets a contribution at {s}, and another thread initializes it at {t}"
                     : "{e} is initialized at {s}, and another thread contributes to it at {t}";
  const char *form = nw_is_reduction(a, b) ? "{e} is written at {s}, and read and written again at {t} %s"
                     : !a->write           ? "{e} is read at {s}, and overwritten at {t} %s"
                     : b->write            ? "{e} is written at {s}, and again at {t} %s"
                                           : "{e} is written at {s}, and read at {t} %s";
  return nw_arena_printf(m->arena, form, by_whom);
}

bool nw_both_atomic(const nw_model *m, const nw_use *a, const nw_use *b) {
  bool first = a->site->block->block.atomic, second = b->site->block->block.atomic;
  return NW_RULE(m->p->ctx, atomic_all) ? first && second : first || second;
}

// True if the init runs before loop `level`. A lifted init (lift.c) runs before the loops of its reduction. So this
// function tests whether loop `level` is a loop of the reduction or is inside a loop of the reduction.
static bool init_before(const nw_model *m, const nw_use *init, int level) {
  const nw_site *s = init->site;
  if (!NW_RULE(m->p->ctx, atomic_init)) return true;
  if (!s->init || !nw_init_lifts(m->p, s->block)) return false;
  for (int i = 0; i <= level; i++)
    if (nw_binds_reduce(s->block, s->loop[i]->loop.var->name)) return true;
  return false;
}

// True if one thread of the loop may access an element by a while another thread accesses the element by b. This
// requires atomic updates, which lose no contribution in any order.
static bool shared_by_threads(const nw_model *m, const nw_stmt *loop, const nw_use *a, const nw_use *b, int level) {
  if (!is_parallel(loop) || !nw_is_reduction(a, b) || !nw_both_atomic(m, a, b)) return false;
  if (nw_own_places(m, a->buffer) != NW_HOLDS) return false;
  return (a->update && b->update) || init_before(m, a->update ? b : a, level);
}

// True if the lanes of the loop may share an element, because each of them accumulates its updates separately.
static bool shared_by_lanes(const nw_model *m, const nw_stmt *loop, const nw_stmt *at, const nw_use *a, const nw_use *b,
                            int level) {
  const char *var = at->loop.var->name;
  if (loop->loop.mark != NW_VECTOR_REDUCE || !nw_is_reduction(a, b)) return false;
  if (nw_own_places(m, a->buffer) != NW_HOLDS) return false;
  if (!nw_binds_reduce(a->site->block, var) || !nw_binds_reduce(b->site->block, var)) return false;
  return (a->update && b->update) || init_before(m, a->update ? b : a, level);
}

static bool rule_on(const nw_model *m, const nw_stmt *loop, bool reduction) {
  nw_ctx *c = m->p->ctx;
  if (nw_is_vthread_loop(loop)) return NW_RULE(c, vthread_carried);
  if (is_parallel(loop)) return reduction ? NW_RULE(c, parallel_reduction) : NW_RULE(c, parallel_carried);
  return reduction ? NW_RULE(c, vector_reduction) : NW_RULE(c, vector_carried);
}

// Returns the pairs of executions that access the same element in the same iteration of the outer loops, and in
// different iterations of loop `level`. The execution of a is in the earlier iteration.
static isl_map *carried(const nw_model *m, nw_use *a, nw_use *b, int level) {
  isl_map *pairs = nw_collide(m, a, b);
  for (int d = 0; d < a->site->dim[level]; d++) pairs = isl_map_equate(pairs, isl_dim_in, d, isl_dim_out, d);
  isl_map *out = isl_map_empty(isl_map_get_space(pairs));
  for (int d = a->site->dim[level]; d < a->site->dim[level + 1]; d++) {
    out = isl_map_union(out, isl_map_order_lt(isl_map_copy(pairs), isl_dim_in, d, isl_dim_out, d));
    pairs = isl_map_equate(pairs, isl_dim_in, d, isl_dim_out, d);
  }
  isl_map_free(pairs);
  return out;
}

static const char *by_whom(const nw_stmt *loop) {
  if (is_parallel(loop)) return "by another thread";
  return nw_is_vector_loop(loop) ? "in another lane" : "by another virtual thread";
}

static nw_answer check_pair(const nw_model *m, const nw_stmt *loop, const nw_stmt *at, nw_use *a, nw_use *b,
                            int level) {
  bool reduction = nw_is_reduction(a, b);
  if (!nw_may_meet(a, b) || a->depth > level || !rule_on(m, loop, reduction)) return NW_HOLDS;
  if (shared_by_threads(m, loop, a, b, level) || shared_by_lanes(m, loop, at, a, b, level)) return NW_HOLDS;
  if (!NW_RULE(m->p->ctx, private_storage) && a->buffer->role == NW_TEMP) return NW_HOLDS;
  int fact = nw_fact_of(m->f, 'p', a->number, b->number, level, nw_common_loops(a->site, b->site));
  if (a->buffer->nlayout) fact = nw_fact_of(m->f, 'P', fact, nw_layout_fact(m, 'I', a->buffer), 0, 0);
  if (nw_fact_proved(m->f, fact)) return NW_HOLDS;
  if (nw_own_places(m, a->buffer) == NW_HOLDS && nw_never_apart(m, a, b, level, true)) {
    nw_fact_prove(m->f, fact);
    return NW_HOLDS;
  }
  isl_map *bad = carried(m, a, b, level);
  nw_answer answer = nw_answer_of(m->f->s, isl_map_is_empty(bad));
  if (answer == NW_HOLDS) nw_fact_prove(m->f, fact);
  if (answer == NW_FAILS) {
    nw_story story = {.kind = nw_conflict_kind(a, b), .source = a, .sink = b, .loop = loop, .message = cannot(m, loop)};
    story.why = nw_conflict_why(m, a, b, by_whom(loop));
    return nw_tell_pair(m, &story, bad);
  }
  isl_map_free(bad);
  return answer;
}

// Removes the pairs in equal iterations of the loops between the parts of t: if the parts run in order, such pairs keep
// their order.
static isl_map *unless_ordered(const nw_together *t, const nw_use *a, const nw_use *b, int level, isl_map *bad) {
  int from = level + 1, to = from + t->between;
  if (!t->between || to > a->site->nloops || to > b->site->nloops) return bad;
  isl_map *same = isl_map_copy(bad);
  for (int d = a->site->dim[from]; d < a->site->dim[to] && !NW_MUTATED(whole_between); d++)
    same = isl_map_equate(same, isl_dim_in, d, isl_dim_out, d);
  return isl_map_subtract(bad, same);
}

static nw_answer check_free(const nw_model *m, const nw_together *t, nw_use *a, nw_use *b, int level) {
  if (!nw_may_meet(a, b) || a->depth > level || !NW_RULE(m->p->ctx, whole_order)) return NW_HOLDS;
  if (nw_is_reduction(a, b) && ((a->update && b->update) || init_before(m, a->update ? b : a, level))) return NW_HOLDS;
  isl_map *bad = unless_ordered(t, a, b, level, carried(m, a, b, level));
  nw_answer answer = nw_answer_of(m->f->s, isl_map_is_empty(bad));
  isl_map_free(bad);
  if (answer != NW_FAILS) return answer;
  return nw_tell(m, NW_REFUSE_UNDECIDED, t->part[0], NULL,
                 "%s and the other pieces of the same loop would run in another order, and their iterations access the "
                 "same element of %s",
                 t->part[0]->loop.var->name, a->buffer->name);
}

// Conflicts between two updates of one reduction are checked first, since they are the most informative for users.
static nw_answer check_sites(const nw_model *m, const nw_stmt *loop, const nw_stmt *at, nw_site *s, nw_site *t,
                             bool updates) {
  int level = nw_site_level(s, at);
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < s->nuses && answer == NW_HOLDS; i++)
    for (int j = 0; j < t->nuses && answer == NW_HOLDS; j++)
      if ((s->use[i].update && t->use[j].update) == updates)
        answer = check_pair(m, loop, at, &s->use[i], &t->use[j], level);
  return answer;
}

// Checks that lanes write different elements. This is required even if a guard selects a single lane, since a vector
// store cannot write only one lane.
static nw_answer check_lanes(const nw_model *m, const nw_stmt *loop, const nw_stmt *at, const nw_site *s) {
  int level = nw_site_level(s, at);
  if (!NW_RULE(m->p->ctx, vector_lanes)) return NW_HOLDS;
  if (loop->loop.mark == NW_VECTOR_REDUCE && nw_binds_reduce(s->block, at->loop.var->name)) return NW_HOLDS;
  for (int i = 0; i < s->nuses; i++) {
    const nw_use *a = &s->use[i];
    bool varies = !a->write || a->depth > level;
    for (int d = 0; d < a->n && !varies; d++)
      varies = nw_uses_var(nw_block_bound(m->p, s->block, a->index[d]), at->loop.var->name);
    if (!varies) return refuse(m, loop, "every lane of %s writes the same element of %s", a->buffer->name);
  }
  return NW_HOLDS;
}

// Checks that a loop carries no dependence. `at` is the loop itself, or the loop into which the loop was merged. If a
// merged loop does not carry a dependence, none of its parts does.
static nw_answer check_loop(const nw_model *m, const nw_stmt *loop, const nw_stmt *at) {
  nw_answer answer = NW_HOLDS;
  nw_sites below = nw_sites_below(m, at);
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < below.n && answer == NW_HOLDS; i++)
      for (int j = 0; j < below.n && answer == NW_HOLDS; j++)
        answer = check_sites(m, loop, at, below.at[i], below.at[j], pass == 0);
  for (int i = 0; i < below.n && answer == NW_HOLDS && nw_is_vector_loop(loop) && !nw_is_const(loop->loop.extent, 1);
       i++)
    answer = check_lanes(m, loop, at, below.at[i]);
  return answer;
}

// ---- calls

// An intrinsic may access the elements of a call in any order, so two of these elements must not share a position.

static nw_answer check_places(const nw_model *m, nw_use *a, nw_use *b, int level) {
  if (!nw_may_meet(a, b) || a->depth > (NW_MUTATED(call_depth) ? 0 : level)) return NW_HOLDS;
  nw_answer answer = nw_own_places(m, a->buffer);
  if (answer != NW_FAILS) return answer;
  isl_map *bad = isl_map_subtract(nw_collide(m, a, b), nw_meet(m, a, b));
  for (int d = 0; d < a->site->dim[level] && !NW_MUTATED(calls_at_once); d++)
    bad = isl_map_equate(bad, isl_dim_in, d, isl_dim_out, d);
  answer = nw_answer_of(m->f->s, isl_map_is_empty(bad));
  if (answer == NW_FAILS) {
    nw_story story = {.kind = nw_conflict_kind(a, b), .source = a, .sink = b};
    story.why = nw_conflict_why(m, a, b, "by the same call, which may use another order");
    return nw_tell_pair(m, &story, bad);
  }
  isl_map_free(bad);
  return answer;
}

static nw_answer check_call_places(const nw_model *m, const nw_stmt *call) {
  nw_answer answer = NW_HOLDS;
  if (call->nkids != 1 || !NW_RULE(m->p->ctx, call_unordered)) return answer;
  nw_sites below = nw_sites_below(m, call->kid[0]);
  for (int i = 0; i < below.n && answer == NW_HOLDS; i++)
    for (int j = 0; j < below.n && answer == NW_HOLDS; j++) {
      nw_site *s = below.at[i], *t = below.at[j];
      int level = nw_site_level(s, call->kid[0]);
      for (int k = 0; k < s->nuses && answer == NW_HOLDS; k++)
        for (int l = 0; l < t->nuses && answer == NW_HOLDS; l++)
          answer = check_places(m, &s->use[k], &t->use[l], level);
    }
  return answer;
}

// True if an earlier unsafe step made this mark. The mark is not checked again, since the program shows it as unsafe.
bool nw_known_unsafe(const nw_program *before, const nw_stmt *s) {
  nw_path path;
  if (!s->unsafe || !before || !nw_find(before, s->id, &path)) return false;
  const nw_stmt *was = path.at[path.n - 1];
  return was->kind == NW_LOOP && was->unsafe && was->loop.mark == s->loop.mark;
}

static bool is_asked(const nw_program *before, const nw_stmt *s) {
  return (is_parallel(s) || nw_is_vector_loop(s) || nw_is_vthread_loop(s)) && !nw_known_unsafe(before, s);
}

static nw_answer check_loops(const nw_model *m, const nw_program *before, const nw_stmt *s) {
  nw_answer answer = is_asked(before, s) ? check_loop(m, s, s) : NW_HOLDS;
  if (s->kind == NW_CALL && !(NW_MUTATED(call_later) && before && nw_find(before, s->id, &(nw_path){0})))
    answer = check_call_places(m, s);
  for (int i = 0; i < s->nkids && answer == NW_HOLDS; i++) answer = check_loops(m, before, s->kid[i]);
  return answer;
}

// ---- merged loops (whole.c)

// Checks a merged loop whose iterations are not executed in the order of their numbers. No two iterations may access a
// common element, except for updates of one reduction, which may run in any order after their init, and for executions
// that keep their order.
static nw_answer check_apart(const nw_model *m, const nw_together *t) {
  nw_answer answer = NW_HOLDS;
  nw_sites below = nw_sites_below(m, t->loop);
  for (int i = 0; i < below.n && answer == NW_HOLDS; i++)
    for (int j = 0; j < below.n && answer == NW_HOLDS; j++) {
      nw_site *x = below.at[i], *y = below.at[j];
      int level = nw_site_level(x, t->loop);
      for (int a = 0; a < x->nuses && answer == NW_HOLDS; a++)
        for (int b = 0; b < y->nuses && answer == NW_HOLDS; b++)
          answer = check_free(m, t, &x->use[a], &y->use[b], level);
    }
  return answer;
}

nw_answer nw_check_together(const nw_model *m) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; m->whole && i < m->whole->n && answer == NW_HOLDS; i++)
    if (m->whole->loop[i].apart) answer = check_apart(m, &m->whole->loop[i]);
  return answer;
}

static nw_answer check_parts(const nw_model *m, const nw_program *before) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; m->whole && i < m->whole->n; i++) {
    const nw_together *t = &m->whole->loop[i];
    for (int k = 0; k < t->n && answer == NW_HOLDS; k++)
      if (is_asked(before, t->part[k])) answer = check_loop(m, t->part[k], t->loop);
  }
  return answer;
}

nw_answer nw_check_nesting(const nw_model *m) {
  nw_answer answer = check_structure(m, m->seen->root, NULL, NULL);
  if (answer == NW_HOLDS) answer = nw_check_grid(m);
  return answer == NW_HOLDS ? nw_check_fragments(m) : answer;
}

nw_answer nw_check_marks(const nw_model *m, const nw_program *before) {
  nw_answer answer = nw_check_nesting(m);
  if (answer == NW_HOLDS) answer = check_loops(m, before, m->p->root);
  if (answer == NW_HOLDS) answer = check_parts(m, before);
  return answer == NW_HOLDS ? nw_check_crossing(m, before) : answer;
}
