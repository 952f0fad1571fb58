// Implements the memo, which is a table of the folds of loops, indexed by keys. model_rounds.h defines terms such as
// fold and region.
#include "cache/exact/model_rounds.h"
#include <stdlib.h>

// Makes the key of a loop. Two executions of a loop have the same effect if they run the same iterations and are equal
// in the following:
//
//   the position of each region within a line
//   the distances between regions, modulo the number of sets
//   for two regions that can share lines: the distance between them, or the fact that they do not share lines
int nw_run_key(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, int64_t *key) {
  int n = 0;
  int64_t line0 = 0;
  key[n++] = l->id;
  for (int i = 0; i < l->napart; i++) key[n++] = nw_linear_at(&l->apart[i], e->val, l->depth);
  for (int i = 0; i < l->nrivals; i++)
    if (!l->rivals[i].known) key[n++] = nw_shape_between(l, &l->rivals[i], e->val, e->job->line, first, rounds);
  for (int i = 0; i < l->nanchors; i++) {
    int64_t at = nw_run_address(e, l->anchor[i].region, &l->anchor[i].at, l->depth), line = at >> e->shift,
            sets = nw_run_sets(e);
    if (!i) line0 = line;
    int phase = nw_shape_phase(&l->anchor[i], (int)(at & (e->job->line - 1)));
    key[n++] = phase + e->job->line * (sets > 1 ? nw_floormod_i64(line - line0, sets) : 0);
  }
  return n + nw_shape_key(l, e->val, key + n);
}

static uint64_t hash_of(const int64_t *key, int n) { return nw_hash_bytes(key, (size_t)n * sizeof *key); }

static nw_known *slot_of(const nw_run *e, const int64_t *key, int n, uint64_t hash) {
  int mask = e->memo_room - 1, i = (int)(hash & (uint64_t)mask);
  for (;; i = (i + 1) & mask) {
    nw_known *k = &e->memo[i];
    if (!k->key || (k->hash == hash && k->n == n && !memcmp(k->key, key, (size_t)n * sizeof *key))) return k;
  }
}

static void grow_memo(nw_run *e) {
  nw_known *old = e->memo;
  int n = e->memo_room;
  e->memo_room *= 2;
  e->memo = nw_xask((size_t)e->memo_room, sizeof *e->memo);
  for (int i = 0; i < n; i++)
    if (old[i].key) *slot_of(e, old[i].key, old[i].n, old[i].hash) = old[i];
  nw_let_go(old);
}

nw_known *nw_run_recall(const nw_run *e, const int64_t *key, int n) {
  nw_known *k = slot_of(e, key, n, hash_of(key, n));
  return k->key ? k : NULL;
}

nw_fold *nw_run_keep(nw_run *e, const int64_t *key, int n, nw_fold *x) {
  nw_known *k = nw_run_recall(e, key, n);
  if (!k) {
    if (2 * ++e->nknown > e->memo_room) grow_memo(e);
    uint64_t hash = hash_of(key, n);
    k = slot_of(e, key, n, hash);
    *k = (nw_known){.hash = hash, .n = n, .key = NW_NEW_N(e->job->tallies.arena, int64_t, n)};
    memcpy(k->key, key, (size_t)n * sizeof *key);
  }
  k->fold = x;
  if (x) k->borrowed = x->kept, x->kept = true;
  return x;
}

static bool is_shared(const nw_run *e, const nw_shape *l) { return l->parallel && e->job->share.threads && !e->inside; }

void nw_run_rounds(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f) {
  if (is_shared(e, l))
    nw_run_share(e, l, first, rounds, f);
  else
    nw_run_range(e, l, first, 0, rounds, f);
}

static bool are_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds) {
  bool same;
  return !is_shared(e, l) && nw_run_end_of_class(e, l, first, 0, rounds, &same) == rounds && same &&
         nw_run_end_apart(e, l, first, 0, rounds, &same) == rounds && same;
}

// Makes the fold of the iterations of a loop. If nw_run_fold_alike makes a fold of all of them, returns this fold
// without a copy.
static nw_fold *fold_rounds(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds) {
  int64_t until = 0;
  bool alike = are_alike(e, l, first, rounds);
  nw_fold *x = alike ? nw_run_fold_alike(e, l, first, 0, rounds, &until) : NULL;
  if (x && until == rounds) return x;
  nw_folder *f = nw_run_take(e);
  if (x) nw_run_put_behind(e, f, x, l, 0);
  if (x) nw_run_drop(e, x);
  if (alike)
    nw_run_same(e, l, first, until, rounds, f);
  else
    nw_run_rounds(e, l, first, rounds, f);
  x = nw_run_end(e, f, l, 0);
  nw_run_give(e, f);
  return x;
}

// Returns the number of lines that a loop accesses, or 0 if it is not known. The number is in the memo of the run that
// found the accessed lines, under the same key.
static int64_t lines_of(const nw_run *e, const int64_t *key, int n) {
  const nw_fold_run *lines = e->job->lines;
  const nw_known *k = lines ? nw_run_recall(lines->run, key, n) : NULL;
  return k && k->fold ? k->fold->lines : 0;
}

// Makes the fold of a loop that is not in the memo.
static nw_fold *fold_anew(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, int n) {
  int64_t *key = memcpy(NW_NEW_N(e->job->tallies.arena, int64_t, n), e->key, (size_t)n * sizeof *key);
  if (e->room && lines_of(e, key, n) >= e->room) e->stop = true;
  double times = e->times;
  e->times = 1;
  nw_fold *x = e->stop ? NULL : fold_rounds(e, l, first, rounds);
  e->times = times;
  if (e->stop) { // an empty fold records that the lines do not fit, or that the run was stopped
    if (x) nw_run_drop(e, x);
    x = nw_run_fold_nothing(e, l);
  }
  e->record[l->id].made++;
  return nw_run_keep(e, key, n, x);
}

static int64_t rounds_of(const nw_shape *l, int64_t first, int64_t last) { return (last - first) / l->step + 1; }

nw_fold *nw_run_fold_in_sets(nw_run *e, const nw_shape *l, int64_t first, int64_t last) {
  int64_t rounds = rounds_of(l, first, last);
  int n = nw_run_key(e, l, first, rounds, e->key);
  const nw_known *k = nw_run_recall(e, e->key, n);
  if (!k || !k->fold) return fold_anew(e, l, first, rounds, n);
  e->record[l->id].used++;
  return k->fold;
}

// True if a new fold is unlikely to be reused. This is so if the key is new, and folds of this loop were reused less
// often than they were built. The key is recorded, so that the loop is folded when the key is seen again.
static bool is_new_in_vain(nw_run *e, const nw_shape *l, int64_t first, int64_t last) {
  enum { TRIED = 8 };
  const nw_record *r = &e->record[l->id];
  if (e->accesses >= 0 || r->made < TRIED || r->used >= r->made) return false;
  int n = nw_run_key(e, l, first, rounds_of(l, first, last), e->key);
  if (nw_run_recall(e, e->key, n)) return false;
  nw_run_keep(e, e->key, n, NULL);
  return true;
}

bool nw_run_is_new_in_vain(nw_run *e, const nw_shape *l) {
  int64_t first, last;
  nw_shape_bounds(l, e->val, &first, &last);
  return last >= first && is_new_in_vain(e, l, first, last);
}

nw_fold *nw_run_fold_or_run(nw_run *e, const nw_shape *l, int64_t first, int64_t last, nw_folder *f) {
  if (!is_new_in_vain(e, l, first, last)) return nw_run_fold_in_sets(e, l, first, last);
  nw_run_rounds(e, l, first, rounds_of(l, first, last), f);
  return NULL;
}
