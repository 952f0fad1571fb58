// Makes the state of a run of the model, and builds folds.
#include "cache/exact/model_rounds.h"
#include <stdlib.h>

void nw_run_touch(nw_run *e, int64_t n) {
  e->job->touched += n;
  if (e->job->touched < e->polled) return;
  e->polled = e->job->touched + NW_RUN_POLL;
  if (e->job->touched > e->job->most || nw_stopped(e->job->ctx)) e->stop = true;
}

// ---- folders

void nw_run_check_room(nw_run *e, nw_folder *f) {
  if (e->room && nw_level_lines(f) >= e->room) e->stop = true;
}

nw_folder *nw_run_take(nw_run *e) {
  if (!e->folders.n) return e->kind->open(e->job->of);
  nw_folder *f = e->folders.at[--e->folders.n];
  e->kind->clear(f);
  return f;
}

void nw_run_give(nw_run *e, nw_folder *f) { nw_vec_push(&e->folders, f); }

int64_t nw_run_address(const nw_run *e, int region, const nw_linear *f, int depth) {
  return nw_linear_at(f, e->val, depth) + e->job->nest->jitter * e->job->nest->ground[region];
}

void nw_run_place(nw_run *e, const nw_shape *l, int64_t round) {
  for (int i = 0; i < l->nanchors; i++) {
    const nw_anchor *a = &l->anchor[i];
    e->origin[a->region] = (nw_run_address(e, a->region, &a->at, l->depth) + a->move * round) >> e->shift;
  }
}

nw_fold *nw_run_end(nw_run *e, nw_folder *f, const nw_shape *l, int64_t round) {
  nw_run_place(e, l, round);
  nw_fold *x = e->kind->end(f, e->origin);
  x->tally = nw_counting_end(&f->count, &e->job->tallies);
  nw_run_touch(e, x->weight);
  return x;
}

nw_fold *nw_run_fold_nothing(nw_run *e, const nw_shape *l) {
  nw_folder *f = nw_run_take(e);
  nw_fold *x = nw_run_end(e, f, l, 0);
  nw_run_give(e, f);
  return x;
}

void nw_run_put_behind(nw_run *e, nw_folder *f, const nw_fold *x, const nw_shape *l, int64_t round) {
  nw_run_place(e, l, round);
  e->kind->apply(f, x, e->origin);
  nw_counting_part(&f->count, x->tally, 1);
  nw_run_touch(e, x->weight);
  nw_run_check_room(e, f);
}

void nw_run_drop(nw_run *e, nw_fold *x) {
  if (!x->kept) e->kind->drop(e->job->of, x);
}

static void most_room(const nw_shape *s, int *key, int *facts) {
  if (s->kind == NW_AFFINE_LOOP) {
    int n = 1 + s->napart + s->nrivals + s->nanchors + nw_shape_key_room(s), m = nw_shape_facts(s);
    if (n > *key) *key = n;
    if (m > *facts) *facts = m;
  }
  for (int i = 0; i < s->nkids; i++) most_room(s->kid[i], key, facts);
}

void nw_run_open(nw_run *e, nw_fold_run *r) {
  int key = 1, facts = 1;
  most_room(r->nest->root, &key, &facts);
  *e = (nw_run){.job = r,
                .kind = r->kind,
                .shift = __builtin_ctz((unsigned)r->line),
                .memo_room = 256,
                .accesses = -1,
                .times = 1};
  if (r->kind == &nw_lines_kind) e->accesses = r->nest->nsites;
  e->origin = nw_xask((size_t)r->nest->nregions + 1, sizeof *e->origin);
  e->by = nw_xask((size_t)r->nest->nregions + 1, sizeof *e->by);
  e->key = nw_xask((size_t)(key + NW_RUN_KEY), sizeof *e->key);
  for (int i = 0; i < 2; i++) e->fact[i] = nw_xask((size_t)facts, 1);
  e->memo = nw_xask((size_t)e->memo_room, sizeof *e->memo);
  e->held = nw_xask((size_t)r->sets, sizeof *e->held);
  e->record = nw_xask((size_t)r->nest->nloops + 1, sizeof *e->record);
  e->fitted = nw_xask((size_t)r->nest->nloops + 1, sizeof *e->fitted);
}

void nw_run_close(nw_run *e) {
  for (int i = 0; i < e->folders.n; i++) e->kind->free(e->folders.at[i]);
  for (int i = 0; i < e->memo_room; i++)
    if (e->memo[i].fold && !e->memo[i].borrowed && e->memo[i].fold->kept) e->kind->drop(e->job->of, e->memo[i].fold);
  nw_vec_free(&e->folders);
  nw_let_go(e->memo);
  nw_let_go(e->origin);
  nw_let_go(e->by);
  nw_let_go(e->key);
  nw_let_go(e->held);
  nw_let_go(e->record);
  nw_let_go(e->fitted);
  for (int i = 0; i < 2; i++) nw_let_go(e->fact[i]);
}

static void fold_root(nw_run *e) {
  nw_fold_run *r = e->job;
  nw_folder *f = nw_run_take(e);
  nw_run_node(e, r->nest->root, f);
  memset(e->origin, 0, (size_t)r->nest->nregions * sizeof *e->origin);
  r->fold = e->kind->end(f, e->origin);
  r->fold->tally = nw_counting_end(&f->count, &r->tallies);
  nw_run_give(e, f);
}

bool nw_fold_nest(nw_fold_run *r) {
  nw_run *e = r->run = nw_xask(1, sizeof *e);
  nw_run_open(e, r);
  nw_tallies_open(&r->tallies);
  e->roomy = r->roomy;
  if (e->roomy) e->roomy->room = r->sets * ((const nw_level_of *)r->of)->ways;
  const nw_shape *root = r->nest->root;
  if (e->accesses < 0 && root->kind == NW_AFFINE_LOOP)
    r->fold = nw_run_fold_loop(e, root); // this fold is correct for all positions of its regions
  if (r->fold)
    r->fold->kept = false;
  else
    fold_root(e);
  return !e->stop;
}

void nw_fold_run_free(nw_fold_run *r) {
  nw_run_close(r->run);
  nw_let_go(r->run);
  if (r->fold) r->kind->drop(r->of, r->fold);
  nw_tallies_close(&r->tallies);
}
