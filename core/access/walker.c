// Lists the accesses of a program in batches. In a flat loop (ready.h), each address is incremented from one iteration
// to the next instead of being computed anew.
#include "access/walker.h"
#include "base/share.h"
#include "access/tables.h"
#include "ir/program/tags.h"
#include <stdlib.h>

// ---- construction and queries

static int count_loops(const nw_stmt *s) {
  int n = s->kind == NW_LOOP;
  for (int i = 0; i < s->nkids; i++) n += count_loops(s->kid[i]);
  return n;
}

static void name_sizes(nw_walker *w, const int64_t *sizes) {
  const nw_program *p = w->exec->p;
  w->slot = NW_NEW_N(w->arena, int64_t, p->nsizes + count_loops(p->root) + 1);
  nw_name_sizes(&w->names, p);
  for (int i = 0; i < p->nsizes; i++) w->slot[i] = sizes[i];
  w->nslots = w->names.nsizes = p->nsizes;
  w->names.size = w->slot;
  w->names.table = &w->tables;
}

static nw_walker *walker_new(nw_ctx *c, const nw_exec *e, const int64_t *sizes, bool estimates) {
  if (!e) return NULL;
  nw_walker *w = nw_xcalloc(1, sizeof *w);
  w->ctx = c;
  w->estimates = estimates;
  w->exec = nw_exec_retain((nw_exec *)e);
  w->arena = nw_arena_scratch();
  name_sizes(w, sizes);
  if (nw_place_all(c, w->arena, e, w->slot, &w->places) && nw_walker_ready(w)) return w;
  nw_walker_free(w);
  return NULL;
}

nw_walker *nw_walker_new(nw_ctx *c, const nw_exec *e, const int64_t *sizes) { return walker_new(c, e, sizes, false); }

nw_walker *nw_walker_estimating(nw_ctx *c, const nw_exec *e, const int64_t *sizes) {
  return walker_new(c, e, sizes, true);
}

bool nw_walker_estimated(const nw_walker *w) { return w->estimated; }

void nw_walker_free(nw_walker *w) {
  if (!w) return;
  nw_exec_release(w->exec);
  nw_arena_free(w->arena);
  nw_vec_free(&w->names.name);
  nw_vec_free(&w->names.slot);
  nw_vec_free(&w->site);
  nw_vec_free(&w->tables);
  nw_vec_free(&w->filling);
  free(w->batch);
  free(w);
}

int nw_walker_sites(const nw_walker *w) { return w->site.n; }
const nw_ref_site *nw_walker_site(const nw_walker *w, int i) { return &((nw_site_code *)w->site.at[i])->site; }
const nw_places *nw_walker_places(const nw_walker *w) { return &w->places; }

// ---- passing accesses to the caller

// Progress is reported after every TELL accesses, that is, every few milliseconds.
enum { TELL = 1 << 18 };

static void tell(nw_walker *w) {
  w->tell = w->time + TELL;
  nw_progress(w->ctx, w->what ? w->what : "walking the accesses", nw_walk_part(w));
}

static void flush(nw_walker *w) {
  if (w->n && !w->stop) w->stop = !w->f(w->env, w->batch, w->n);
  w->time += w->n;
  w->n = 0;
  if (w->time >= w->tell) tell(w);
  if (!w->stop && nw_stopped(w->ctx)) w->stop = true;
}

static void put(nw_walker *w, const nw_site_code *s, uint32_t site, int64_t index, int lanes) {
  if (w->n == NW_BATCH) flush(w);
  w->batch[w->n++] = (nw_ref){.address = s->base + (uint64_t)(index * s->elem),
                              .site = site,
                              .bytes = (uint16_t)(lanes * s->elem),
                              .write = s->site.write};
}

static int64_t index_at(const nw_walker *w, const nw_site_code *s, int lane) {
  return s->affine ? nw_form_at(&s->at, w->slot) + lane * s->at.step : nw_calc_at(s->index, w->slot, lane);
}

static bool lane_on(const nw_walker *w, const nw_site_code *s, int lane) {
  return !s->mask || nw_calc_at(s->mask, w->slot, lane);
}

static void touch(nw_walker *w, uint32_t site) {
  nw_site_code *s = w->site.at[site];
  if (s->repeated && s->done == w->execution) return;
  s->done = w->execution;
  int lanes = s->site.lanes;
  int64_t first = index_at(w, s, 0);
  bool together = true;
  for (int l = 0; l < lanes && together; l++) together = lane_on(w, s, l) && index_at(w, s, l) == first + l;
  if (together) return put(w, s, site, first, lanes);
  for (int l = 0; l < lanes; l++)
    if (lane_on(w, s, l)) put(w, s, site, index_at(w, s, l), 1);
}

// True if this thread does not run the current code. Only the first thread runs code outside of parallel loops.
static bool is_idle(const nw_walker *w) { return w->silent || (w->thread && !w->inside); }

static void run_acts(nw_walker *w, const nw_nest *c) {
  w->execution++;
  for (int i = 0; i < c->nacts;) {
    const nw_act *a = &c->act[i++];
    if (a->kind == NW_ACT_TOUCH) touch(w, a->site);
    if (a->kind == NW_ACT_JUMP || (a->kind == NW_ACT_UNLESS && !nw_calc_at(a->cond, w->slot, 0))) i = a->to;
  }
}

static void run_store(nw_walker *w, const nw_nest *c) {
  if (!is_idle(w)) run_acts(w, c);
  if (c->keep) nw_table_store(c->keep, w->slot);
}

// ---- loops

static void run(nw_walker *w, nw_nest *c);

static void run_kids(nw_walker *w, nw_nest *c) {
  for (c->at = 0; c->at < c->nkids; c->at++) run(w, c->kid[c->at]);
}

static void tick(nw_walker *w) {
  if (++w->ticks % 65536 == 0 && !w->stop && nw_stopped(w->ctx)) w->stop = true;
}

// Runs the iterations `from` to `to` - 1 of the loop.
static void run_flat(nw_walker *w, nw_nest *c, int64_t begin, int64_t from, int64_t to) {
  if (is_idle(w)) return;
  w->slot[c->slot] = begin + from;
  for (int k = 0; k < c->nrefs; k++)
    c->ref[k].address = c->from[k]->base + (uint64_t)(c->from[k]->elem * nw_form_at(&c->from[k]->at, w->slot));
  for (int64_t i = from; i < to && !w->stop; i++) {
    if (NW_BATCH - w->n < c->nrefs) flush(w);
    if (w->round) w->round(w->env, c->stmt, i, w->time + w->n);
    nw_ref *out = w->batch + w->n;
    for (int k = 0; k < c->nrefs; k++) {
      out[k] = c->ref[k];
      c->ref[k].address += c->step[k];
    }
    w->n += c->nrefs;
  }
}

static void run_rounds(nw_walker *w, nw_nest *c, int64_t begin, int64_t from, int64_t to) {
  for (int64_t i = from; i < to && !w->stop; i++) {
    w->slot[c->slot] = begin + i;
    if (w->round && !w->silent) w->round(w->env, c->stmt, i, w->time + w->n);
    tick(w);
    run_kids(w, c);
  }
}

static void run_part(nw_walker *w, nw_nest *c, int64_t begin, int64_t from, int64_t to) {
  (c->flat ? run_flat : run_rounds)(w, c, begin, from, to);
}

// Runs the iterations of other threads without passing their accesses on, if they fill tables that later accesses of
// this thread need.
static void run_others(nw_walker *w, nw_nest *c, int64_t begin, int64_t from, int64_t to) {
  if (!c->keeps || NW_MUTATED(tables_of_thread)) return;
  w->silent = true;
  run_part(w, c, begin, from, to);
  w->silent = false;
}

static void run_share(nw_walker *w, nw_nest *c, int64_t begin, int64_t extent) {
  nw_share share = nw_share_of(extent, nw_chunk_of(c->stmt), w->thread, w->threads);
  int64_t done = 0;
  w->inside = true;
  for (int64_t from, to; !w->stop && nw_share_next(&share, &from, &to); done = to) {
    run_others(w, c, begin, done, from);
    run_part(w, c, begin, from, to);
  }
  run_others(w, c, begin, done, extent);
  w->inside = false;
}

static void run_loop(nw_walker *w, nw_nest *c) {
  int64_t begin = nw_calc_at(c->begin, w->slot, 0), extent = nw_calc_at(c->extent, w->slot, 0);
  if (w->threads && !w->inside && c->stmt->loop.mark == NW_PARALLEL)
    run_share(w, c, begin, extent);
  else
    run_part(w, c, begin, 0, extent);
  if (w->round && !w->silent) w->round(w->env, c->stmt, -1, w->time + w->n);
}

static void run(nw_walker *w, nw_nest *c) {
  if (w->stop || (w->silent && !c->keeps)) return;
  if (c->stmt->kind == NW_LOOP) return run_loop(w, c);
  if (c->stmt->kind == NW_STORE) return run_store(w, c);
  if (c->stmt->kind == NW_GUARD && !nw_calc_at(c->cond, w->slot, 0)) return;
  run_kids(w, c);
}

void nw_walker_does(nw_walker *w, const char *what) { w->what = what; }

bool nw_walk_refs(nw_walker *w, nw_refs_fn f, nw_round_fn round, void *env) {
  if (!w->batch) w->batch = nw_xmalloc(sizeof *w->batch * NW_BATCH);
  w->f = f;
  w->round = round;
  w->env = env;
  w->n = 0;
  w->time = 0;
  w->tell = TELL;
  w->stop = false;
  run(w, w->root);
  if (!w->stop) flush(w);
  nw_progress_end(w->ctx);
  return !w->stop;
}
