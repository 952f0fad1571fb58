// Finds where waits for asynchronous copies are needed. The stores of a copy arrive at some time after the copy was
// executed, and before a wait for its group ends (lower/async.c). So a wait is needed before each reader.
#include "poly/internal.h"
#include <isl/ilp.h>

// ---- pairs of executions, by the loop that separates them

static bool runs_together(const nw_stmt *loop) {
  return nw_is_bound_loop(loop) || loop->loop.mark == NW_PARALLEL || nw_is_vector_loop(loop);
}

static nw_answer give(const nw_model *m, nw_on_pairs f, void *env, const nw_stmt *loop, int level, isl_map *pairs) {
  isl_bool none = isl_map_is_empty(pairs);
  nw_answer answer = none < 0 ? nw_proofs_lost(m->f->s) : NW_HOLDS;
  if (none == isl_bool_false) answer = f(env, loop, level, pairs);
  isl_map_free(pairs);
  return answer;
}

nw_answer nw_each_class(const nw_model *m, const nw_use *a, const nw_use *b, isl_map *pairs, nw_on_pairs f, void *env) {
  nw_answer answer = NW_HOLDS;
  const nw_site *s = a->site;
  int common = nw_common_loops(s, b->site);
  for (int i = 0; i < common; i++) {
    if (nw_is_thread_loop(s->loop[i])) continue;
    for (int d = s->dim[i]; d < s->dim[i + 1]; d++) {
      if (!runs_together(s->loop[i]) && answer == NW_HOLDS)
        answer = give(m, f, env, s->loop[i], i,
                      isl_map_order_lt(isl_map_copy(pairs), isl_dim_in, (unsigned)d, isl_dim_out, (unsigned)d));
      pairs = isl_map_equate(pairs, isl_dim_in, d, isl_dim_out, d);
    }
  }
  if (answer == NW_HOLDS && s->seq < b->site->seq) return give(m, f, env, NULL, common, pairs);
  isl_map_free(pairs);
  return answer;
}

nw_use *nw_write_of(const nw_site *s) {
  for (int i = 0; i < s->nuses; i++)
    if (s->use[i].write) return &s->use[i];
  return NULL;
}

// ---- readers

// Returns the map from the executions of a reader to the elements that it reads. The conditions of the reader, and of the
// read, are ignored: a wait does not depend on them.
static isl_map *reads(const nw_model *m, const nw_use *r) {
  const nw_site *s = r->site;
  int guards = s->nwhere - (s->block->block.where != NULL);
  nw_space v;
  nw_space_init(&v, m->f);
  for (int i = 0; i < s->nloops; i++) nw_space_loop(&v, s->loop[i]);
  for (int i = 0; i < s->nloops; i++) nw_scan_loop(&v, s->loop[i]);
  for (int i = 0; i < guards; i++) nw_space_scan(&v, s->where[i]);
  for (int i = 0; i < r->n; i++) nw_space_scan(&v, r->bound[i]);
  isl_set *set = isl_set_intersect_params(nw_space_all(&v), isl_set_copy(m->f->context));
  for (int i = 0; i < s->nloops; i++) set = nw_loop_bounds(&v, s->loop[i], set);
  for (int i = 0; i < guards; i++) set = isl_set_intersect(set, nw_space_cond(&v, s->where[i], true));
  isl_pw_aff_list *value = nw_values_dims(nw_values(&v), &v, 0, s->dim[r->depth]);
  for (int i = 0; i < r->n; i++) value = nw_values_expr(value, &v, r->bound[i]);
  isl_map *map = nw_values_at(&v, set, value);
  nw_space_free(&v);
  return map;
}

isl_map *nw_copy_reads(const nw_model *m, nw_use *copy, const nw_use *reader) {
  nw_use r = *reader;
  r.map = reads(m, reader);
  isl_map *pairs = nw_collide(m, copy, &r);
  isl_map_free(r.map);
  return pairs;
}

// ---- places that need a wait

typedef struct need {
  const nw_model *m;
  const nw_use *copy, *use;
  isl_set *used; // the executions of the copy whose elements are read later
  nw_vec *out;
} need;

// Returns the least value of dimension d of the set, if isl finds it; otherwise `unknown`. Consumes set.
static int64_t least_of(isl_set *set, unsigned d, int64_t unknown) {
  isl_val *v = isl_set_dim_min_val(set, (int)d);
  int64_t least = isl_val_is_int(v) == isl_bool_true ? isl_val_get_num_si(v) : unknown;
  isl_val_free(v);
  return least;
}

static isl_map *only_dims(isl_map *pairs, enum isl_dim_type type, unsigned d) {
  unsigned n = (unsigned)isl_map_dim(pairs, type);
  pairs = isl_map_project_out(pairs, type, d + 1, n - d - 1);
  return isl_map_project_out(pairs, type, 0, d);
}

// Returns the least number of iterations of a common loop from the first to the second execution of a pair.
static int64_t distance(const need *x, int level, const isl_map *pairs) {
  const nw_site *s = x->copy->site;
  unsigned d = (unsigned)s->dim[level];
  if (s->dim[level + 1] - s->dim[level] != 1) return 1;
  isl_map *two = only_dims(only_dims(isl_map_copy((isl_map *)pairs), isl_dim_in, d), isl_dim_out, d);
  int64_t least = least_of(isl_map_deltas(two), 0, 1);
  return least < 1 ? 1 : least;
}

// Returns the least number of iterations, before the second execution, of the outermost loop that is only around the
// second execution.
static int64_t lead(const need *x, int level, const isl_map *pairs) {
  const nw_site *s = x->use->site;
  int64_t begin, least;
  if (level == s->nloops || s->dim[level + 1] - s->dim[level] != 1 || !nw_is_int(s->loop[level]->loop.begin, &begin))
    return 0;
  least = least_of(isl_map_range(isl_map_copy((isl_map *)pairs)), (unsigned)s->dim[level], begin) - begin;
  return least < 0 ? 0 : least;
}

static void add_arrival(const need *x, int use, int loop, int64_t apart) {
  nw_arrival *a = NW_NEW(x->m->p->arena, nw_arrival);
  *a = (nw_arrival){x->copy->site->block->id, use, loop, apart, false};
  nw_vec_push(x->out, a);
}

static nw_answer note_need(void *env, const nw_stmt *loop, int level, isl_map *pairs) {
  need *x = env;
  x->used = isl_set_union(x->used, isl_map_domain(isl_map_copy(pairs)));
  add_arrival(x, x->use->site->block->id, loop ? loop->id : 0,
              loop ? distance(x, level, pairs) : lead(x, level, pairs));
  return NW_HOLDS;
}

static nw_answer needs_of(const nw_model *m, nw_use *copy, nw_vec *out) {
  isl_set *all = isl_map_domain(isl_map_copy(nw_use_map(m, copy)));
  need x = {.m = m, .copy = copy, .used = isl_set_empty(isl_set_get_space(all)), .out = out};
  nw_uses u = nw_uses_of(m, copy->buffer);
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < u.n && answer == NW_HOLDS; i++) {
    x.use = u.at[i];
    if (u.at[i]->write || !nw_may_meet(copy, u.at[i])) continue;
    answer = nw_each_class(m, copy, u.at[i], nw_copy_reads(m, copy, u.at[i]), note_need, &x);
  }
  isl_bool waited = isl_set_is_subset(all, x.used);
  if (waited == isl_bool_false) add_arrival(&x, 0, 0, 0);
  isl_set_free(all);
  isl_set_free(x.used);
  return answer == NW_HOLDS && waited < 0 ? nw_proofs_lost(m->f->s) : answer;
}

// Finds the uses of copies that other threads make. A barrier is needed between such a copy and its use.
static nw_answer find_others(const nw_model *m, const nw_vec *arrivals) {
  nw_vec syncs = {0};
  nw_answer answer = NW_MUTATED(async_wait_alone) ? NW_HOLDS : nw_check_threads(m, NULL, &syncs);
  for (int i = 0; i < arrivals->n; i++) {
    nw_arrival *a = arrivals->at[i];
    for (int k = 0; k < syncs.n; k++) {
      const nw_sync *s = syncs.at[k];
      a->others |= s->before == a->copy && s->after == a->use && s->loop == a->loop;
    }
  }
  nw_vec_free(&syncs);
  return answer;
}

// Frees the model at the end, since the caller will edit p.
bool nw_arrivals(const nw_program *p, nw_vec *out) {
  NW_MUST(!p->model);
  nw_proofs *s = nw_proofs_of(p->ctx);
  nw_model *m = nw_proofs_begin(s, p) ? nw_model_of(p, NULL) : NULL;
  nw_answer answer = m ? NW_HOLDS : NW_ABORTED;
  for (int i = 0; answer == NW_HOLDS && i < m->nsites; i++)
    if (m->site[i]->block->block.async) answer = needs_of(m, nw_write_of(m->site[i]), out);
  if (answer == NW_HOLDS) answer = find_others(m, out);
  if (m) nw_model_free(m);
  ((nw_program *)p)->model = NULL;
  ((nw_program *)p)->model_free = NULL;
  return answer == NW_HOLDS;
}
