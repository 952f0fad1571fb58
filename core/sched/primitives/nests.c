// merge and reorder_stmts: work on adjacent statements.
#include "sched/primitives/nests.h"
#include "sched/primitives.h"
#include "sched/tree.h"

// ---- neighbours

// Describes one of two statements that are made adjacent. The parting is the innermost statement around both of them.
typedef struct side {
  nw_path path;
  int top; // index on the path of the outermost statement inside the parting that is not an allocation
} side;

static void find_side(nw_step *st, const nw_stmt *s, int parting, side *x) {
  nw_find(st->p, s->id, &x->path);
  x->top = parting + 1;
  while (x->top < x->path.n - 1 && x->path.at[x->top]->kind == NW_ALLOC) x->top++;
}

static int parting_of(const nw_path *a, const nw_path *b) {
  int i = 0;
  while (i + 1 < a->n && i + 1 < b->n && a->at[i + 1] == b->at[i + 1]) i++;
  return i;
}

static bool refuse_apart(nw_step *st, const nw_stmt *a, const nw_stmt *b, const char *how, const char *why) {
  return nw_step_refuse(st, why, a, "%s and %s %s", nw_tree_what(a), nw_tree_what(b), how);
}

static bool refuse_nested(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  const nw_stmt *outer = nw_tree_has(a, b) ? a : b, *inner = outer == a ? b : a;
  const char *why = nw_arena_printf(st->scratch, "%s is inside %s, but the two must follow each other",
                                    nw_tree_what(inner), nw_tree_what(outer));
  return refuse_apart(st, a, b, "are nested", why);
}

// True if the statement path.at[top] is at the end (if `end` is true) or at the beginning (if `end` is false) of each
// allocation between the parting and the statement.
static bool at_edge(const side *x, int parting, bool end) {
  for (int i = parting + 2; i <= x->top; i++) {
    int at = x->path.pos[i], last = x->path.at[i - 1]->nkids - 1;
    if (at != (end ? last : 0)) return false;
  }
  return true;
}

static bool allocates(const nw_stmt *s, const char *buffer) {
  if (s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, buffer)) return true;
  for (int i = 0; i < s->nkids; i++)
    if (allocates(s->kid[i], buffer)) return true;
  return false;
}

// Returns a buffer that both sides allocate, or NULL. An allocation cannot be inside another allocation of the same
// buffer.
static const char *in_both(const side *x, int parting, const nw_stmt *other) {
  for (int i = parting + 1; i < x->top; i++)
    if (allocates(other, x->path.at[i]->alloc.buffer)) return x->path.at[i]->alloc.buffer;
  return NULL;
}

static void bring_together(nw_step *st, int parting, side *a, side *b) {
  nw_stmt *in = a->path.at[parting];
  if (a->top > parting + 1) {
    nw_stmt *into = a->path.at[a->top - 1], *moved = b->path.at[parting + 1];
    nw_kids_remove(st->p, in, b->path.pos[parting + 1]);
    nw_kids_insert(st->p, into, into->nkids, moved);
  }
  if (b->top > parting + 1) {
    nw_stmt *from = a->path.at[a->top - 1];
    nw_kids_remove(st->p, from, a->path.pos[a->top]);
    nw_kids_insert(st->p, b->path.at[b->top - 1], 0, a->path.at[a->top]);
  }
}

#define IN_ORDER "give them in program order; only storage may be between them"

static bool find_pair(nw_step *st, const nw_stmt *a, const nw_stmt *b, side *x, side *y, int *parting) {
  nw_path pa, pb;
  nw_find(st->p, a->id, &pa);
  nw_find(st->p, b->id, &pb);
  *parting = parting_of(&pa, &pb);
  if (a == b || *parting == pa.n - 1 || *parting == pb.n - 1)
    return a == b ? refuse_apart(st, a, b, "are the same", "give two different ones") : refuse_nested(st, a, b);
  find_side(st, a, *parting, x);
  find_side(st, b, *parting, y);
  if (pb.pos[*parting + 1] != pa.pos[*parting + 1] + 1 || !at_edge(x, *parting, true) || !at_edge(y, *parting, false))
    return refuse_apart(st, a, b, "are not adjacent", IN_ORDER);
  const char *both = in_both(x, *parting, pb.at[*parting + 1]);
  if (!both) both = in_both(y, *parting, x->path.at[x->top]);
  return !both || refuse_apart(st, a, b, nw_arena_printf(st->scratch, "each have storage for %s", both), IN_ORDER);
}

bool nw_adjoin(nw_step *st, const nw_stmt *a, const nw_stmt *b, nw_adjacent *out) {
  side x, y;
  int parting;
  if (!find_pair(st, a, b, &x, &y, &parting)) return false;
  const nw_stmt *first = x.path.at[x.top];
  bring_together(st, parting, &x, &y);
  nw_find(st->p, first->id, &x.path);
  out->in = x.path.at[x.path.n - 2];
  out->pos = x.path.pos[x.path.n - 1];
  out->in->kid[out->pos]->step = out->in->kid[out->pos + 1]->step = st->p->step;
  return true;
}

static bool is_whole(nw_step *st, const nw_stmt *top, const nw_stmt *loop) {
  if (top == loop) return true;
  const char *why = nw_arena_printf(st->scratch, "%s is inside %s, but the other loop is not", loop->loop.var->name,
                                    nw_tree_what(top));
  return nw_step_refuse(st, why, loop, "the loops are not in the same nest");
}

static bool adjoin_pair(nw_step *st, nw_stmt *const *loop, nw_adjacent *out) {
  return nw_adjoin(st, loop[0], loop[1], out) && is_whole(st, out->in->kid[out->pos], loop[0]) &&
         is_whole(st, out->in->kid[out->pos + 1], loop[1]);
}

// Makes n loops adjacent, pair by pair. A first pass, from the last pair to the first, moves each loop into the storage
// around the loops after it. A second pass, from the first pair to the last, moves each loop into the storage around
// the loops before it.
bool nw_adjoin_loops(nw_step *st, int n, nw_stmt *const *loop, nw_adjacent *out) {
  for (int i = n - 2; i >= 0; i--)
    if (!adjoin_pair(st, loop + i, out)) return false;
  nw_adjacent next;
  for (int i = 1; i < n - 1; i++)
    if (!adjoin_pair(st, loop + i, &next)) return false;
  return true;
}

// ---- merge

static bool equal_extents(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  nw_path path;
  nw_ranges r;
  nw_find(st->p, a->id, &path);
  path.n--;
  nw_ranges_of(&r, st->p, &path);
  bool equal = nw_prove(&r, nw_eq(st->p->pool, a->loop.extent, b->loop.extent));
  nw_ranges_free(&r);
  return equal;
}

static bool same_dims(const nw_stmt *a, const nw_stmt *b) {
  if (a->loop.nfused != b->loop.nfused) return false;
  for (int i = 0; i < a->loop.nfused; i++)
    if (a->loop.fused[i] != b->loop.fused[i]) return false;
  return true;
}

static bool can_merge(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  if (a->loop.mark != b->loop.mark)
    return nw_step_refuse(st, "the resulting loop can have only one mark", a, "they have different marks");
  if (!equal_extents(st, a, b))
    return nw_step_refuse(
        st, "only loops with the same number of iterations can be merged: cut a piece off the longer one", b,
        "%s and %s are not known to have the same number of iterations", a->loop.var->name, b->loop.var->name);
  return true;
}

bool nw_apply_merge(void *step) {
  nw_step *st = step;
  nw_adjacent at;
  nw_stmt *loop[2] = {nw_step_loop(st, 0, NULL), nw_step_loop(st, 1, NULL)}, *a = loop[0], *b = loop[1];
  if (!a || !b || !nw_adjoin_loops(st, 2, loop, &at) || !can_merge(st, a, b)) return false;
  nw_pool *pool = st->p->pool;
  const nw_expr *same = nw_add(pool, nw_sub(pool, a->loop.var, a->loop.begin), b->loop.begin);
  if (!same_dims(a, b)) a->loop.nfused = 0;
  for (int i = 0; i < b->nkids; i++) {
    nw_stmt_subst(st->p, b->kid[i], b->loop.var->name, same);
    nw_kids_insert(st->p, a, a->nkids, b->kid[i]);
  }
  nw_kids_remove(st->p, at.in, at.pos + 1);
  nw_step_replaces(st, b->id, 1, &a, "merged");
  nw_step_returns_loop(st, a);
  return true;
}

// ---- reorder_stmts

bool nw_apply_reorder_stmts(void *step) {
  nw_step *st = step;
  nw_adjacent at;
  nw_stmt *a = nw_step_stmt(st, 0, NULL), *b = nw_step_stmt(st, 1, NULL);
  if (!a || !b || !nw_adjoin(st, a, b, &at)) return false;
  nw_stmt *first = at.in->kid[at.pos];
  at.in->kid[at.pos] = at.in->kid[at.pos + 1];
  at.in->kid[at.pos + 1] = first;
  return true;
}
