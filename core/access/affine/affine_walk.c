// Lists the accesses of an affine nest by running its loops.
#include "access/affine/affine_walk.h"
#include "base/share.h"
#include <stdlib.h>

// Progress is reported after every TELL accesses, that is, every few milliseconds.
enum { TELL = 1 << 18 };

typedef struct walk {
  nw_ctx *ctx;
  const nw_affine_nest *nest;
  nw_affine_share share;
  bool inside; // true inside a parallel loop
  int64_t *slot;
  nw_ref batch[NW_BATCH];
  int n;
  nw_ref now[NW_BATCH]; // in an innermost loop: the accesses of the next iteration
  uint64_t add[NW_BATCH]; // in an innermost loop: the step of each address
  int64_t time; // number of accesses passed to the caller
  int64_t tell; // the value of `time` at which progress is reported next
  unsigned ticks;
  double part; // approximate fraction of the walk that is done
  bool stop;
  nw_refs_fn f;
  void *env;
} walk;

// ---- bounds

static int64_t ceil_div(int64_t a, int64_t b) { return -nw_floordiv_i64(-a, b); }

void nw_affine_bounds(const nw_affine_node *loop, const int64_t *slot, int64_t *first, int64_t *last) {
  *first = INT64_MIN;
  *last = INT64_MAX;
  for (int i = 0; i < loop->nbegin; i++) {
    int64_t v = ceil_div(nw_form_at(&loop->begin[i].form, slot), loop->begin[i].div);
    if (v > *first) *first = v;
  }
  for (int i = 0; i < loop->nend; i++) {
    int64_t v = nw_floordiv_i64(nw_form_at(&loop->end[i].form, slot), loop->end[i].div);
    if (v < *last) *last = v;
  }
}

int64_t nw_affine_rounds(const nw_affine_node *loop, int64_t first, int64_t last) {
  return last < first ? 0 : (last - first) / loop->step + 1;
}

bool nw_affine_holds(const nw_affine_node *guard, const int64_t *slot) {
  for (int i = 0; i < guard->nconds; i++)
    if (nw_form_at(&guard->cond[i], slot) < 0) return false;
  return true;
}

void nw_affine_span(const nw_affine_nest *n, uint64_t *from, uint64_t *to) {
  *from = *to = n->narrays ? n->array[0].address : 0;
  for (int i = 0; i < n->narrays; i++) {
    const nw_affine_array *x = &n->array[i];
    if (x->address < *from) *from = x->address;
    if (x->address + (uint64_t)x->bytes > *to) *to = x->address + (uint64_t)x->bytes;
  }
}

// ---- passing accesses to the caller

static void flush(walk *w) {
  if (w->n && !w->stop) w->stop = !w->f(w->env, w->batch, w->n);
  w->time += w->n;
  w->n = 0;
  if (w->time >= w->tell) {
    w->tell = w->time + TELL;
    nw_progress(w->ctx, "walking the accesses", w->part);
  }
  if (!w->stop && nw_stopped(w->ctx)) w->stop = true;
}

static nw_ref ref_at(const walk *w, const nw_affine_ref *r) {
  return (nw_ref){.address = w->nest->array[r->array].address + (uint64_t)nw_form_at(&r->at, w->slot),
                  .site = (uint32_t)r->site,
                  .bytes = (uint16_t)r->bytes,
                  .write = r->write};
}

// True if this thread does not run the current code. Only the first thread runs code outside of parallel loops.
static bool is_idle(const walk *w) { return w->share.thread && !w->inside; }

static void run_stmt(walk *w, const nw_affine_node *s) {
  if (is_idle(w)) return;
  for (int i = 0; i < s->nrefs; i++) {
    if (w->n == NW_BATCH) flush(w);
    w->batch[w->n++] = ref_at(w, &s->ref[i]);
  }
}

// ---- loops

// Returns the number of accesses per iteration of a loop that contains only statements. Returns 0 if the loop contains
// other nodes, or if an iteration has too many accesses.
static int flat_refs(const nw_affine_node *loop) {
  int n = 0;
  for (int i = 0; i < loop->nkids; i++) {
    if (loop->kid[i]->kind != NW_AFFINE_STMT) return 0;
    n += loop->kid[i]->nrefs;
    if (n > NW_BATCH) return 0;
  }
  return n;
}

static void begin_flat(walk *w, const nw_affine_node *loop) {
  int k = 0;
  for (int i = 0; i < loop->nkids; i++)
    for (int r = 0; r < loop->kid[i]->nrefs; r++, k++) {
      w->now[k] = ref_at(w, &loop->kid[i]->ref[r]);
      w->add[k] = (uint64_t)(loop->step * nw_form_coef(&loop->kid[i]->ref[r].at, loop->slot));
    }
}

static void run_flat(walk *w, const nw_affine_node *loop, int nrefs, int64_t rounds) {
  if (is_idle(w)) return;
  begin_flat(w, loop);
  for (int64_t i = 0; i < rounds && !w->stop; i++) {
    if (NW_BATCH - w->n < nrefs) flush(w);
    nw_ref *out = w->batch + w->n;
    for (int k = 0; k < nrefs; k++) {
      out[k] = w->now[k];
      w->now[k].address += w->add[k];
    }
    w->n += nrefs;
  }
}

static void run(walk *w, const nw_affine_node *x, double whole);

static void run_kids(walk *w, const nw_affine_node *x, double whole) {
  double part = w->part;
  for (int i = 0; i < x->nkids && !w->stop; i++) {
    w->part = part + whole * i / x->nkids;
    run(w, x->kid[i], whole / x->nkids);
  }
}

// Runs the iterations `from` to `to` - 1 of a loop, counted from 0.
static void run_rounds(walk *w, const nw_affine_node *loop, int64_t first, int64_t from, int64_t to, double whole) {
  int nrefs = flat_refs(loop);
  double part = w->part, share = to > from ? whole / (double)(to - from) : 0;
  w->slot[loop->slot] = first + from * loop->step;
  if (nrefs) return run_flat(w, loop, nrefs, to - from);
  for (int64_t i = from; i < to && !w->stop; i++) {
    w->slot[loop->slot] = first + i * loop->step;
    w->part = part + share * (double)(i - from);
    if (++w->ticks % 65536 == 0 && nw_stopped(w->ctx)) w->stop = true;
    run_kids(w, loop, share);
  }
}

static void run_share(walk *w, const nw_affine_node *loop, int64_t first, int64_t rounds, double whole) {
  nw_share share = nw_share_of(rounds, loop->chunk, w->share.thread, w->share.threads);
  w->inside = true;
  for (int64_t from, to; !w->stop && nw_share_next(&share, &from, &to);)
    run_rounds(w, loop, first, from, to, share.chunk ? 0 : whole);
  w->inside = false;
}

static void run_loop(walk *w, const nw_affine_node *loop, double whole) {
  int64_t first, last;
  nw_affine_bounds(loop, w->slot, &first, &last);
  int64_t rounds = nw_affine_rounds(loop, first, last);
  if (w->share.threads && !w->inside && loop->parallel)
    run_share(w, loop, first, rounds, whole);
  else
    run_rounds(w, loop, first, 0, rounds, whole);
}

static void run(walk *w, const nw_affine_node *x, double whole) {
  switch (x->kind) {
  case NW_AFFINE_LOOP: return run_loop(w, x, whole);
  case NW_AFFINE_STMT: return run_stmt(w, x);
  case NW_AFFINE_GUARD:
    if (!nw_affine_holds(x, w->slot)) return;
    break;
  case NW_AFFINE_SEQ: break;
  }
  run_kids(w, x, whole);
}

bool nw_affine_refs(nw_ctx *c, const nw_affine_nest *n, nw_affine_share share, nw_refs_fn f, void *env) {
  walk *w = nw_xcalloc(1, sizeof *w);
  *w = (walk){.ctx = c, .nest = n, .share = share, .tell = TELL, .f = f, .env = env};
  w->slot = nw_xcalloc((size_t)n->nslots + 1, sizeof *w->slot);
  run(w, n->root, 1);
  if (!w->stop) flush(w);
  bool done = !w->stop;
  nw_progress_end(c);
  free(w->slot);
  free(w);
  return done;
}
