// Makes traces. A trace is a list of the accesses of a program. It is made without running the program (walker.h), or
// by running the program in the interpreter.
#include "cache/view/nest_trace.h"
#include "access/rounds.h"
#include "cache/sim/sim.h"
#include "interp/interp.h"
#include "run/formals.h"
#include <stdlib.h>

struct nw_trace {
  nw_ctx *ctx;
  nw_arena *arena; // holds the names
  nw_places places; // used only during construction
  int64_t n, cap, most;
  nw_touched *at;
  bool more; // true if there are more than `most` accesses, or more than fit in memory
  nw_rounds rounds;
};

static bool add(nw_trace *t, nw_touched x) {
  if (t->n == t->most) return t->more = true, false;
  if (t->n == t->cap) {
    int64_t cap = t->cap ? 2 * t->cap : 1024;
    nw_touched *more = nw_ask_more(t->ctx, "the accesses", t->at, (uint64_t)cap, sizeof *t->at);
    if (!more) return t->more = true, false;
    t->at = more;
    t->cap = cap;
  }
  t->at[t->n++] = x;
  return true;
}

static nw_trace *trace_new(nw_ctx *c, int64_t most) {
  nw_trace *t = nw_xask(1, sizeof *t);
  t->arena = t->rounds.arena = nw_arena_scratch();
  t->ctx = c;
  t->most = most;
  return t;
}

void nw_trace_free(nw_trace *t) {
  if (!t) return;
  nw_arena_free(t->arena);
  nw_rounds_free(&t->rounds);
  nw_let_go(t->at);
  nw_let_go(t);
}

// Copies the names of the buffers, since the trace may exist longer than the program.
static void keep_names(nw_trace *t, const nw_places *places) {
  const char **name = NW_NEW_N(t->arena, const char *, places->n + 1);
  for (int i = 0; i < places->n; i++) name[i] = nw_arena_strdup(t->arena, places->at[i].buffer->name);
  for (int64_t i = 0; i < t->n; i++)
    for (int k = 0; k < places->n; k++)
      if (t->at[i].tensor == places->at[k].buffer->name) {
        t->at[i].tensor = name[k];
        break;
      }
}

static nw_trace *finish(nw_ctx *c, nw_trace *t, const nw_places *places, bool ok) {
  if (t->more)
    ok = nw_fail(c, NW_ELIMIT, "Ask for a smaller shape, or raise the option most.",
                 "accesses: there are more than %lld accesses", (long long)t->most);
  if (ok) return keep_names(t, places), t;
  nw_trace_free(t);
  return NULL;
}

typedef struct watch {
  nw_trace *t;
  const nw_walker *w;
  const nw_places *places;
  nw_sim *sim; // NULL if no caches are simulated
} watch;

static bool see_refs(void *env, const nw_ref *ref, int n) {
  watch *x = env;
  for (int i = 0; i < n; i++) {
    const nw_placed *p = nw_walker_site(x->w, (int)ref[i].site)->place;
    int bytes = nw_dtype_bytes(p->buffer->dtype);
    nw_touched at = {.tensor = p->buffer->name,
                     .index = (int64_t)(ref[i].address - p->address) / bytes,
                     .lanes = ref[i].bytes / bytes,
                     .write = ref[i].write,
                     .address = ref[i].address};
    if (x->sim) nw_sim_feed(x->sim, &ref[i], 1, at.outcome);
    if (!add(x->t, at)) return false;
  }
  return true;
}

static void see_round(void *env, const nw_stmt *loop, int64_t index, int64_t time) {
  nw_rounds_see(&((watch *)env)->t->rounds, loop, index, time);
}

nw_trace *nw_trace_walk(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, int64_t most, const nw_sim_opts *o) {
  nw_walker *w = nw_walker_for(c, p, walk);
  if (!w) return NULL;
  watch x = {.t = trace_new(c, most), .w = w, .places = nw_walker_places(w)};
  if (o) x.sim = nw_sim_new(c, o, x.places->from, x.places->to, nw_walker_sites(w));
  bool ok = (!o || x.sim) && nw_walk_refs(w, see_refs, see_round, &x);
  nw_sim_free(x.sim);
  nw_trace *t = finish(c, x.t, x.places, ok);
  nw_walker_free(w);
  return t;
}

static void see_access(void *env, const nw_access *a) {
  watch *x = env;
  const nw_placed *p = nw_place_named(x->places, a->buffer);
  if (!p->memory || x->t->more) return;
  add(x->t, (nw_touched){.tensor = p->buffer->name,
                         .index = a->index,
                         .lanes = a->lanes,
                         .write = a->write,
                         .address = p->address + (uint64_t)(a->index * nw_dtype_bytes(p->buffer->dtype))});
}

static nw_trace *run_watched(nw_ctx *c, const nw_exec *e, const int64_t *sizes, int n, nw_array *const *args,
                             int64_t most) {
  nw_trace *t = trace_new(c, most);
  nw_view *view = nw_xask((size_t)n + 1, sizeof *view);
  for (int i = 0; i < n; i++) view[i] = nw_view_of(args[i]);
  bool ok = nw_place_all(c, t->arena, e, sizes, &t->places);
  watch x = {.t = t, .places = &t->places};
  ok = ok && nw_interp_exec(c, e, sizes, view, &(nw_interp_opts){.trace = see_access, .env = &x, .enough = &t->more});
  nw_let_go(view);
  return finish(c, t, &t->places, ok);
}

nw_trace *nw_trace_run(nw_ctx *c, const nw_program *p, int n, nw_array *const *args, int64_t most) {
  if (!p) return NULL;
  nw_formals f = nw_formals_of_program(p);
  int64_t *sizes = nw_xask((size_t)p->nsizes + 1, sizeof *sizes);
  bool ok = nw_formals_count(c, &f, n) && nw_formals_check(c, &f, n, args, sizes);
  nw_exec *e = ok ? nw_lower(p, NULL) : NULL;
  nw_trace *t = e ? run_watched(c, e, sizes, n, args, most) : NULL;
  nw_exec_release(e);
  nw_let_go(sizes);
  nw_formals_free(&f);
  return t;
}

// ---- the trace of a nest

typedef struct nest_watch {
  nw_trace *t;
  const nw_affine_nest *nest;
  const char **name; // copies of the names of the nest's arrays, which are freed with the trace
  nw_sim *sim; // NULL if no caches are simulated
} nest_watch;

static bool see_nest(void *env, const nw_ref *ref, int n) {
  nest_watch *x = env;
  for (int i = 0; i < n; i++) {
    int number = x->nest->site[ref[i].site].array;
    const nw_affine_array *a = &x->nest->array[number];
    nw_touched at = {.tensor = x->name[number],
                     .index = (int64_t)(ref[i].address - a->address) / a->elem,
                     .lanes = ref[i].bytes / a->elem,
                     .write = ref[i].write,
                     .address = ref[i].address};
    if (x->sim) nw_sim_feed(x->sim, &ref[i], 1, at.outcome);
    if (!add(x->t, at)) return false;
  }
  return true;
}

nw_trace *nw_trace_of_nest(nw_ctx *c, const nw_affine_nest *n, nw_affine_share share, int64_t most,
                           const nw_sim_opts *o) {
  static const nw_places none = {0};
  nest_watch x = {.t = trace_new(c, most), .nest = n};
  uint64_t from, to;
  nw_affine_span(n, &from, &to);
  x.name = NW_NEW_N(x.t->arena, const char *, n->narrays + 1);
  for (int i = 0; i < n->narrays; i++) x.name[i] = nw_arena_strdup(x.t->arena, n->array[i].name);
  if (o) x.sim = nw_sim_new(c, o, from, to, n->nsites);
  bool ok = (!o || x.sim) && nw_affine_refs(c, n, share, see_nest, &x);
  nw_sim_free(x.sim);
  return finish(c, x.t, &none, ok);
}

int64_t nw_trace_count(const nw_trace *t) { return t->n; }
const nw_touched *nw_trace_at(const nw_trace *t, int64_t i) { return &t->at[i]; }
int64_t nw_trace_iterations(const nw_trace *t) { return t->rounds.round.n; }
const nw_iteration *nw_trace_iteration(const nw_trace *t, int64_t i) { return t->rounds.round.at[i]; }

int64_t nw_trace_differs(const nw_trace *a, const nw_trace *b) {
  for (int64_t i = 0; i < a->n || i < b->n; i++) {
    if (i >= a->n || i >= b->n) return i;
    const nw_touched *x = &a->at[i], *y = &b->at[i];
    if (strcmp(x->tensor, y->tensor) || x->index != y->index || x->lanes != y->lanes || x->write != y->write) return i;
  }
  return -1;
}
