// Finds the position of a nest in a loop, and allocates storage around the nest and its readers.
#include "sched/site.h"
#include "sched/tree.h"

bool nw_reads_any(const nw_stmt *s, const nw_stmt *what) {
  for (int t = 0; what->kind == NW_BLOCK && t < what->block.ntargets; t++)
    if (nw_tree_reads(s, what->block.target[t].buffer)) return true;
  for (int i = 0; i < what->nkids; i++)
    if (nw_reads_any(s, what->kid[i])) return true;
  return false;
}

// ---- positions

int nw_spot_count(const nw_stmt *in) {
  int n = 0;
  for (int i = 0; i < in->nkids; i++) n += in->kid[i]->kind == NW_ALLOC ? nw_spot_count(in->kid[i]) : 1;
  return n;
}

nw_spot nw_spot_at(nw_stmt *in, int n) {
  for (int i = 0; i < in->nkids; i++) {
    nw_stmt *kid = in->kid[i];
    int inside = kid->kind == NW_ALLOC ? nw_spot_count(kid) : 1;
    if (n < inside) return kid->kind == NW_ALLOC ? nw_spot_at(kid, n) : (nw_spot){in, i};
    n -= inside;
  }
  return (nw_spot){in, in->nkids};
}

bool nw_feeds(const nw_stmt *s, const nw_stmt *what) {
  if (s->kind == NW_BLOCK)
    for (int t = 0; t < s->block.ntargets; t++)
      if (nw_tree_reads(what, s->block.target[t].buffer)) return true;
  for (int i = 0; i < s->nkids; i++)
    if (nw_feeds(s->kid[i], what)) return true;
  return false;
}

int nw_spot_first(const nw_stmt *in, const nw_stmt *what) {
  int n = nw_spot_count(in);
  for (; n > 0; n--) {
    nw_spot s = nw_spot_at((nw_stmt *)in, n - 1);
    if (nw_feeds(s.in->kid[s.pos], what)) break;
  }
  return n;
}

int nw_spot_last(const nw_stmt *in, const nw_stmt *what) {
  int at = 0, n = nw_spot_count(in);
  for (; at < n; at++) {
    nw_spot s = nw_spot_at((nw_stmt *)in, at);
    if (nw_reads_any(s.in->kid[s.pos], what)) break;
  }
  return at;
}

bool nw_spot_given(nw_step *st, int param, nw_stmt *in, const nw_stmt *what, int fallback, int *out) {
  *out = fallback;
  if (!param || !nw_step_given(st, param)) return true;
  int64_t n = nw_step_int(st, param, 0), places = nw_spot_count(in) + 1;
  if (n == 0 || n < -2 || n > places) {
    nw_fail(st->ctx, NW_ERANGE, "-1 is as late as possible, -2 as early as possible",
            "%s: index must be 1 to %lld, -1 or -2, not %lld", st->primitive->name, (long long)places, (long long)n);
    return false;
  }
  *out = n > 0 ? (int)n - 1 : n == -1 ? nw_spot_last(in, what) : nw_spot_first(in, what);
  return true;
}

// ---- storage

static nw_stmt *storage(nw_step *st, const char *buffer, const nw_box *box, int n, nw_stmt **kid) {
  nw_stmt *a = nw_new_alloc(st->p, nw_find_buffer(st->p, buffer));
  for (int d = 0; box && d < a->alloc.n; d++) {
    a->alloc.min[d] = box->lo[d];
    a->alloc.extent[d] = box->extent[d];
  }
  nw_kids_set(st->p, a, n, kid);
  return a;
}

static bool writes(const nw_stmt *s, const char *buffer) {
  if (s->kind == NW_BLOCK) return nw_block_writes(s, buffer);
  for (int i = 0; i < s->nkids; i++)
    if (writes(s->kid[i], buffer)) return true;
  return false;
}

static bool uses(const nw_stmt *s, const char *buffer) {
  return nw_tree_reads(s, buffer) || writes(s, buffer) || nw_tree_prefetches(s, buffer);
}

static bool uses_any(const nw_stmt *s, int n, const char *const *buffer) {
  for (int i = 0; i < n; i++)
    if (uses(s, buffer[i])) return true;
  return false;
}

void nw_store_buffers(nw_step *st, nw_stmt *in, int n, const char *const *buffer, const nw_box *box) {
  int first = -1, last = -1;
  for (int i = 0; i < in->nkids; i++) {
    if (!uses_any(in->kid[i], n, buffer)) continue;
    if (first < 0) first = i;
    last = i;
  }
  if (first == last && in->kid[first]->kind == NW_ALLOC) return nw_store_buffers(st, in->kid[first], n, buffer, box);
  int nkids = last - first + 1;
  nw_stmt **kid = NW_NEW_N(st->scratch, nw_stmt *, nkids), *around = NULL;
  for (int i = 0; i < nkids; i++) kid[i] = in->kid[first + i];
  for (int i = 0; i < nkids; i++) nw_kids_remove(st->p, in, first);
  for (int t = n - 1; t >= 0; t--) around = storage(st, buffer[t], box, around ? 1 : nkids, around ? &around : kid);
  nw_kids_insert(st->p, in, first, around);
}

static const char **outputs(nw_step *st, const nw_stmt *block) {
  const char **name = NW_NEW_N(st->scratch, const char *, block->block.ntargets + 1);
  for (int t = 0; t < block->block.ntargets; t++) name[t] = block->block.target[t].buffer;
  return name;
}

void nw_store_around(nw_step *st, nw_stmt *in, const nw_stmt *block, const nw_box *box) {
  nw_store_buffers(st, in, block->block.ntargets, outputs(st, block), box);
}

nw_kept nw_take_storage(nw_step *st, const nw_stmt *block) {
  nw_kept kept = {NULL};
  nw_path path;
  const nw_stmt *a = nw_find_alloc(st->p, block->block.target[0].buffer);
  if (!a || !nw_find(st->p, a->id, &path)) return kept;
  int up = path.n - 2;
  while (path.at[up]->kind == NW_ALLOC) up--;
  kept.in = path.at[up];
  kept.box = (nw_box){a->alloc.n, a->alloc.min, a->alloc.extent};
  for (int t = 0; t < block->block.ntargets; t++) nw_splice_alloc(st->p, block->block.target[t].buffer);
  return kept;
}

static bool has_all_uses(nw_step *st, const nw_stmt *in, const nw_stmt *block) {
  const char **name = outputs(st, block);
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < b.n; i++)
    if (uses_any(b.at[i], block->block.ntargets, name) && !nw_tree_has(in, b.at[i])) return false;
  return true;
}

void nw_put_storage(nw_step *st, const nw_stmt *block, const nw_kept *kept) {
  nw_path path = {.n = 1, .at = {st->p->root}};
  bool same = true;
  if (!kept->in) return;
  if (kept->in != st->p->root) nw_find(st->p, kept->in->id, &path);
  int i = path.n - 1;
  for (; !has_all_uses(st, path.at[i], block); i--) same &= path.at[i]->kind != NW_LOOP;
  nw_store_around(st, path.at[i], block, same ? &kept->box : NULL);
}

// ---- storage that becomes too narrow

typedef struct narrow {
  const nw_program *p;
  const char *buffer;
  nw_path common; // the statements around all uses and allocations of the buffer
  bool outside; // true if a use is outside of all allocations
} narrow;

static bool see_use(void *env, const nw_path *path) {
  narrow *x = env;
  const nw_stmt *s = path->at[path->n - 1];
  bool stored = s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, x->buffer);
  if (!stored && (s->nkids || !uses(s, x->buffer))) return true;
  int n = 0, most = path->n - 1;
  if (x->common.n && x->common.n < most) most = x->common.n;
  while (n < most && (!x->common.n || path->at[n] == x->common.at[n])) n++;
  if (!x->common.n) x->common = *path;
  x->common.n = n;
  if (!stored && !nw_is_allocated(path, x->p, x->buffer)) x->outside = true;
  return true;
}

void nw_widen_storage(nw_step *st) {
  for (int i = 0; i < st->p->nbuffers; i++) {
    const nw_buffer *b = st->p->buffer[i];
    narrow x = {.p = st->p, .buffer = b->name};
    if (b->role != NW_TEMP || b->alloc) continue;
    nw_walk(st->p, see_use, &x);
    if (!x.outside) continue;
    nw_stmt *in = x.common.at[x.common.n - 1];
    const nw_stmt *loop = NULL; // the innermost loop around all uses
    for (int k = 0; k < x.common.n; k++)
      if (x.common.at[k]->kind == NW_LOOP) loop = x.common.at[k];
    nw_splice_alloc(st->p, b->name);
    nw_box box;
    if (loop) box = nw_box_used(st, b, in, &x.common);
    nw_store_buffers(st, in, 1, &b->name, loop ? &box : NULL);
    if (loop)
      nw_step_note(st, "%s is now allocated inside %s, because it is used there too", b->name, loop->loop.var->name);
    else
      nw_step_note(st, "%s is now allocated outside of all loops, because it is used there too", b->name);
  }
}
