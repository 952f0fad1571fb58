// Merges loops that were made by splitting a fused loop.
//
// Let f be a loop that was fused from two loops with the symbolic extents M and N. A block in f binds i = f // N and
// j = f % N, which isl represents by the two original dimensions. After a split of f, i is (8*f_o + f_i) // N, which
// isl cannot represent. But the split does not change the order of execution. Suppose that the number e = 8*f_o + f_i
// has the values 0, 1, ... M*N - 1, each once and in this order. Then a single loop over e is equivalent to the loops
// f_o and f_i. The judge examines the program with the single loop instead. docs/fused.md has the theorem, and the
// conditions for loops that run in another order.
#include "poly/whole/whole.h"

// True if there may be loops to merge, because some block binds a quotient or a remainder by sizes.
static bool is_candidate(const nw_program *p) {
  nw_dividing x = {.p = p};
  nw_walk_from(p->root, nw_numbers_nothing, &x);
  nw_vec_free(&x.use);
  return x.base;
}

// ---- loops whose begin depends on an outer loop

// A loop whose begin depends on an outer loop is replaced by a loop that begins at 0 and executes the same instances in
// the same order.

typedef struct shifting {
  nw_program *p;
  int found; // the id of a loop whose begin depends on an outer loop
} shifting;

static bool begins_with_number(void *env, const nw_path *path) {
  shifting *x = env;
  const nw_stmt *s = path->at[path->n - 1];
  for (int i = 0; s->kind == NW_LOOP && i < path->n - 1 && !x->found; i++) {
    const nw_stmt *l = path->at[i];
    if (l->kind == NW_LOOP && nw_uses_var(s->loop.begin, l->loop.var->name) &&
        (nw_digits_only(l) || nw_binds_number(x->p, l)))
      x->found = s->id;
  }
  return !x->found;
}

static nw_program *shifted(const nw_program *p, int id) {
  nw_path path;
  nw_program *to = nw_program_clone(p);
  to->step = p->step;
  nw_find(to, id, &path);
  nw_stmt *loop = path.at[path.n - 1];
  const nw_expr *at = nw_add(to->pool, loop->loop.begin, loop->loop.var);
  for (int i = 0; i < loop->nkids; i++) nw_stmt_subst(to, loop->kid[i], loop->loop.var->name, at);
  loop->loop.begin = nw_index(to->pool, 0);
  return nw_program_freeze(to);
}

// ---- all loops

enum { MOST_MERGED = 8, MOST_SHIFTED = 16 };

typedef struct making {
  nw_whole *w;
  nw_program *p; // holds a reference; frozen
  nw_family *f;
  nw_vec id; // ids of the loops that may be merged
  bool lost;
} making;

static bool see_loop(void *env, nw_stmt *s) {
  making *x = env;
  if (s->kind == NW_LOOP && nw_binds_number(x->p, s)) nw_vec_push(&x->id, (void *)(intptr_t)s->id);
  return true;
}

static void take(making *x, nw_program *next) {
  nw_program_release(x->p);
  x->p = next;
}

static void shift_all(making *x) {
  for (int n = 0; n < MOST_SHIFTED && !x->lost; n++) {
    shifting s = {x->p, 0};
    nw_walk(x->p, begins_with_number, &s);
    if (!s.found) return;
    nw_program *next = shifted(x->p, s.found);
    x->lost = !next;
    if (next) take(x, next);
  }
}

// If parts of t were made by earlier merges, replaces them by the parts of these merges.
static void flatten(nw_whole *w, nw_together *t) {
  nw_together flat = {.id = t->id, .apart = t->apart, .between = t->between};
  for (int k = 0; k < t->n; k++) {
    nw_together *made = NULL;
    for (int i = 0; i < w->n; i++)
      if (w->loop[i].id == t->part_id[k]) made = &w->loop[i];
    if (!made) {
      flat.part_id[flat.n++] = t->part_id[k];
      continue;
    }
    for (int i = 0; i < made->n; i++) flat.part_id[flat.n++] = made->part_id[i];
    flat.apart |= made->apart;
    if (made->apart) flat.between = 0;
    *made = (nw_together){.id = 0};
  }
  *t = flat;
}

// Merges the outermost set of nested loops that can be merged. Returns false if no loops can be merged.
static bool merge_one(making *x) {
  bool done = false;
  x->id.n = 0;
  nw_walk_from(x->p->root, see_loop, x);
  for (int i = 0; i < x->id.n && !done && !x->lost; i++) {
    nw_together *t = &x->w->loop[x->w->n];
    nw_program *next = nw_merged(x->p, (int)(intptr_t)x->id.at[i], x->f, t, &x->lost);
    if (!next) continue;
    done = true;
    flatten(x->w, t);
    x->w->n++;
    take(x, next);
  }
  return done;
}

// Finds the parts in the user's program, and the merged loops in the program after all merges.
static void find_loops(making *x, const nw_program *seen) {
  for (int i = 0; i < x->w->n; i++) {
    nw_together *t = &x->w->loop[i];
    nw_path path;
    t->loop = nw_find(x->p, t->id, &path) ? path.at[path.n - 1] : NULL;
    for (int k = 0; k < t->n; k++) t->part[k] = nw_find(seen, t->part_id[k], &path) ? path.at[path.n - 1] : NULL;
  }
}

static void free_whole(void *data) {
  nw_whole *w = data;
  nw_program_release(w->p);
  free(w->loop);
  free(w);
}

void nw_whole_drop(const nw_program *p) {
  nw_program *own = (nw_program *)p;
  if (own->whole) own->whole_free(own->whole);
  own->whole = NULL;
  own->whole_free = NULL;
}

static nw_whole *make_whole(const nw_program *p, nw_family *f, const nw_program *other) {
  making x = {.w = nw_xcalloc(1, sizeof *x.w), .p = nw_program_retain(p), .f = f};
  x.w->other = other;
  x.w->plain = f->s->plain;
  x.w->loop = nw_xcalloc(MOST_MERGED, sizeof *x.w->loop);
  nw_program *digits = x.w->plain ? NULL : nw_expanded(p, other, &x.w->nsystems, x.w->system, &x.lost);
  if (digits) take(&x, digits);
  shift_all(&x);
  while (!x.lost && x.w->n < MOST_MERGED && merge_one(&x)) {}
  find_loops(&x, p);
  if (x.p != p) x.w->p = nw_program_retain(x.p);
  nw_program_release(x.p);
  nw_vec_free(&x.id);
  if (!x.lost) return x.w;
  free_whole(x.w);
  return NULL;
}

const nw_whole *nw_whole_of(const nw_program *p, nw_family *known, const nw_program *other) {
  static const nw_whole same = {0};
  nw_proofs *s = nw_proofs_of(p->ctx);
  nw_whole *w = p->whole;
  if (w && (w->other != other || w->plain != s->plain)) nw_whole_drop(p), w = NULL;
  if (w) return nw_price_charge(s, &w->price), w;
  if ((!is_candidate(p) && !nw_has_numbers(p)) || nw_find_bound(p->root)) return &same;
  nw_price price = {0};
  nw_price_begin(s, &price);
  nw_family *f = nw_family_for(p, known);
  w = make_whole(p, f, other);
  nw_family_release(f);
  if (!w) {
    if (!nw_error(p->ctx)) nw_proofs_lost(s);
    return NULL;
  }
  nw_price_end(s, &price);
  w->price = price;
  if (w->p) nw_arena_keep(w->p->arena);
  ((nw_program *)p)->whole = w;
  ((nw_program *)p)->whole_free = free_whole;
  return w;
}
