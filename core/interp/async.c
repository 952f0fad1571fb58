// Runs asynchronous copies. An asynchronous store is in flight from the time when it is executed until a wait for its
// group ends. A copy engine may read the source and write the element at any time in between. The interpreter does both
// as late as possible, so that a wait that is missing or too weak is noticed: nobody may access the element while the
// store is in flight, nor write the source. Such an access ends the run.
#include "interp/code.h"

struct nwi_flight {
  struct nwi_flight *next;
  nwi_code *store;
  int64_t launch, index[NW_GRID_DIMS]; // the thread that executed the store
  bool inside[NW_GRID_DIMS];
  // Number of commits that this thread has executed since the store. If it is 0, the store is not in a group yet.
  int64_t commits;
  int64_t *slot; // the values of the variables
  nw_vec from; // pairs (buffer, position of an element that the store reads)
};

// ---- the elements that a store uses

static int64_t room(const nwi_buffer *b) { return (b->cap > b->count ? b->cap : b->count) + 1; }

void nwi_lend(nwi_program *x, nwi_buffer *b, int64_t at) {
  if (!b->lent) b->lent = nw_xask((uint64_t)room(b), sizeof *b->lent);
  b->lent[at]++;
  b->flights++;
  nw_vec_push(&x->leaving->from, b);
  nw_vec_push(&x->leaving->from, (void *)(intptr_t)at);
}

// Calls f for each element that the store writes.
static void each_target(nwi_program *x, const nwi_code *store, void (*f)(nwi_program *x, nwi_buffer *b, int64_t at)) {
  nwi_run *r = &x->run;
  nwi_target *t = store->target;
  const nwi_cell *mask = t->mask ? nwi_get(r, t->mask) : NULL, *index = nwi_get(r, t->index[0]);
  for (int l = 0; l < t->value->lanes && !r->failed; l++)
    if (!mask || mask[l].i) f(x, t->buffer, index[l].i);
}

static void return_loans(struct nwi_flight *f) {
  for (int i = 0; i < f->from.n; i += 2) {
    nwi_buffer *b = f->from.at[i];
    b->lent[(intptr_t)f->from.at[i + 1]]--;
    b->flights--;
  }
}

static void take(nwi_program *x, nwi_buffer *b, int64_t at) {
  if (at < 0 || at >= b->count || !b->written)
    return nwi_fail(&x->run, NW_ERANGE, "an asynchronous copy writes element %lld of %s, which has %lld elements",
                    (long long)at, b->name, (long long)b->count);
  nwi_touch(x, b, at, true);
  if (x->run.failed || !nwi_landed(x, b, at, true)) return;
  if (!b->arriving) b->arriving = nw_xask((uint64_t)room(b), sizeof *b->arriving);
  b->arriving[at] = 1;
  b->flights++;
}

static void give_back(nwi_program *x, nwi_buffer *b, int64_t at) {
  (void)x;
  b->arriving[at] = 0;
  b->flights--;
}

bool nwi_landed(nwi_program *x, const nwi_buffer *b, int64_t at, bool write) {
  bool arriving = b->arriving && b->arriving[at];
  if (!arriving && !(write && b->lent && b->lent[at])) return true;
  nw_str s = {0};
  nw_str_fmt(&s, "race: element %lld of %s is %s while an asynchronous copy %s it is in flight", (long long)at, b->name,
             write ? "written" : "read", arriving ? "into" : "of");
  nwi_where(x, &s);
  nwi_fail(&x->run, NW_ERACE, "%s", s.s);
  nw_str_free(&s);
  return false;
}

// ---- threads

static struct nwi_flight *new_flight(nwi_program *x, nwi_code *store) {
  struct nwi_flight *f = nw_xask(1, sizeof *f);
  f->store = store;
  f->launch = x->grid.launch;
  memcpy(f->index, x->grid.index, sizeof f->index);
  memcpy(f->inside, x->grid.inside, sizeof f->inside);
  f->slot = nw_xask((uint64_t)x->nslots + 1, sizeof *f->slot);
  memcpy(f->slot, x->run.slot, (size_t)x->nslots * sizeof *f->slot);
  return f;
}

static void free_flight(struct nwi_flight *f) {
  nw_vec_free(&f->from);
  nw_let_go(f->slot);
  nw_let_go(f);
}

void nwi_flights_free(nwi_program *x) {
  while (x->flight) {
    struct nwi_flight *next = x->flight->next;
    free_flight(x->flight);
    x->flight = next;
  }
}

// True if the current statement is executed by the thread of the store. A statement outside of the loops of a dimension
// of the grid is executed by all threads along this dimension.
static bool is_executed_by(const nwi_program *x, const struct nwi_flight *f) {
  if (f->launch != x->grid.launch) return false;
  for (int d = 0; d < NW_GRID_DIMS; d++)
    if (x->grid.inside[d] && f->index[d] != x->grid.index[d]) return false;
  return true;
}

void nwi_depart(nwi_program *x, nwi_code *store) {
  struct nwi_flight *f = new_flight(x, store);
  f->next = x->flight;
  x->flight = x->leaving = f;
  nwi_get(&x->run, store->target->value);
  x->leaving = NULL;
  if (!x->run.failed) each_target(x, store, take);
  if (!x->run.failed) nwi_tell_store(x, store->target);
}

void nwi_commit(nwi_program *x) {
  for (struct nwi_flight *f = x->flight; f; f = f->next) f->commits += is_executed_by(x, f);
}

// ---- arrival

// Exchanges the current thread and variables with those of the store.
static void exchange(nwi_program *x, struct nwi_flight *f) {
  int64_t *slot = x->run.slot, index[NW_GRID_DIMS];
  bool inside[NW_GRID_DIMS];
  x->run.slot = f->slot, f->slot = slot;
  memcpy(index, x->grid.index, sizeof index);
  memcpy(inside, x->grid.inside, sizeof inside);
  memcpy(x->grid.index, f->index, sizeof index);
  memcpy(x->grid.inside, f->inside, sizeof inside);
  memcpy(f->index, index, sizeof index);
  memcpy(f->inside, inside, sizeof inside);
  nwi_turn(&x->run);
}

static void arrive(nwi_program *x, struct nwi_flight *f) {
  nwi_target *t = f->store->target;
  const nw_interp_opts *opts = x->run.opts;
  exchange(x, f);
  x->run.opts = NULL; // the accesses were reported when the store was executed
  each_target(x, f->store, give_back);
  return_loans(f);
  const nwi_cell *mask = t->mask ? nwi_get(&x->run, t->mask) : NULL, *index = nwi_get(&x->run, t->index[0]);
  const nwi_cell *value = nwi_get(&x->run, t->value);
  if (!x->run.failed) nwi_store(x, t, value, mask, t->value->lanes, index);
  x->run.opts = opts;
  exchange(x, f);
}

void nwi_await(nwi_program *x, int64_t groups) {
  struct nwi_flight **at = &x->flight;
  while (*at && !x->run.failed) {
    struct nwi_flight *f = *at;
    if (!is_executed_by(x, f) || f->commits <= groups) {
      at = &f->next;
      continue;
    }
    *at = f->next;
    arrive(x, f);
    free_flight(f);
  }
}

// ---- copies that nobody waits for

static void trap(nwi_program *x, const char *what, const char *name, const char *when) {
  nw_str s = {0};
  nw_str_fmt(&s, "race: an asynchronous copy %s %s is in flight %s", what, name, when);
  nwi_where(x, &s);
  nwi_fail(&x->run, NW_ERACE, "%s", s.s);
  nw_str_free(&s);
}

void nwi_storage_ends(nwi_program *x, const nwi_buffer *b) {
  if (b->flights && !x->run.failed) trap(x, "that uses", b->name, "when its storage ends");
}

void nwi_launch_ends(nwi_program *x) {
  for (const struct nwi_flight *f = x->flight; f && !x->run.failed; f = f->next)
    if (f->launch == x->grid.launch) trap(x, "into", f->store->target->buffer->name, "at the end of the program");
}
