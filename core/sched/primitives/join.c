// join: combines two consecutive pieces that have the same body into one loop again.
#include "sched/primitives.h"
#include "sched/tree.h"

// ---- comparison of the bodies

typedef struct pair {
  nw_step *st;
  const nw_stmt *a; // the first piece; the ranges of the two pieces differ
  const char *differs;
} pair;

static bool same_exprs(int n, const nw_expr *const *a, const nw_expr *const *b) {
  for (int i = 0; i < n; i++)
    if (a[i] != b[i]) return false;
  return true;
}

static bool differ(pair *x, const nw_stmt *a, const nw_stmt *b) {
  x->differs = nw_arena_printf(x->st->scratch, "%s and %s differ", nw_tree_what(a), nw_tree_what(b));
  return false;
}

static bool same_header(const nw_stmt *a, const nw_stmt *b, bool ranges) {
  if (a->loop.mark != b->loop.mark || a->loop.nfused != b->loop.nfused) return false;
  if (!same_exprs(a->loop.nfused, a->loop.fused, b->loop.fused)) return false;
  return !ranges || (a->loop.begin == b->loop.begin && a->loop.extent == b->loop.extent);
}

static bool same_alloc(const nw_stmt *a, const nw_stmt *b) {
  return !strcmp(a->alloc.buffer, b->alloc.buffer) && same_exprs(a->alloc.n, a->alloc.min, b->alloc.min) &&
         same_exprs(a->alloc.n, a->alloc.extent, b->alloc.extent);
}

// Compares blocks without their conditions. The conditions may differ, because each piece has only the conditions that
// its own iterations need.
static bool same_block(const nw_stmt *a, const nw_stmt *b) {
  if (strcmp(a->block.origin, b->block.origin) || a->block.init_part != b->block.init_part ||
      a->block.has_init != b->block.has_init || a->block.nvars != b->block.nvars)
    return false;
  for (int i = 0; i < a->block.nvars; i++)
    if (a->block.var[i].bind != b->block.var[i].bind) return false;
  return true;
}

// Replaces the variable of loop b by the variable of loop a, so that the statements inside can be compared.
static void rename_loop(pair *x, const nw_stmt *a, nw_stmt *b) {
  nw_stmt_subst(x->st->p, b, b->loop.var->name, a->loop.var);
  b->loop.var = a->loop.var;
}

static bool same(pair *x, const nw_stmt *a, nw_stmt *b) {
  if (a->kind != b->kind || a->nkids != b->nkids) return differ(x, a, b);
  if (a->kind == NW_LOOP && !same_header(a, b, a != x->a)) return differ(x, a, b);
  if (a->kind == NW_LOOP) rename_loop(x, a, b);
  if (a->kind == NW_ALLOC && !same_alloc(a, b)) return differ(x, a, b);
  if (a->kind == NW_GUARD && a->guard.cond != b->guard.cond) return differ(x, a, b);
  if (a->kind == NW_BLOCK && !same_block(a, b)) return differ(x, a, b);
  if (a->kind == NW_CALL && strcmp(a->call.intrinsic, b->call.intrinsic)) return differ(x, a, b);
  for (int i = 0; i < a->nkids; i++)
    if (!same(x, a->kid[i], b->kid[i])) return false;
  return true;
}

// Adds the conditions of piece b to the blocks of piece a. The same instances still run: if only one piece has a
// condition, the condition holds in all iterations of the other piece.
static void merge_conditions(nw_step *st, nw_stmt *a, const nw_stmt *b) {
  const nw_expr *mine[NW_MAX_TERMS], *theirs[NW_MAX_TERMS];
  if (a->kind == NW_BLOCK) {
    int n = nw_conjuncts(a->block.where, NW_MAX_TERMS, mine), m = nw_conjuncts(b->block.where, NW_MAX_TERMS, theirs);
    for (int i = 0; i < m; i++) {
      bool has = false;
      for (int k = 0; k < n; k++) has |= mine[k] == theirs[i];
      if (!has) nw_block_guard(st->p, a, theirs[i]);
    }
  }
  for (int i = 0; i < a->nkids; i++) merge_conditions(st, a->kid[i], b->kid[i]);
}

// ---- adjacency

static bool adjacent(nw_step *st, const nw_path *pa, const nw_stmt *a, const nw_stmt *b) {
  nw_ranges r;
  nw_ranges_around(&r, st->p, pa);
  bool yes = nw_prove(&r, nw_eq(st->p->pool, nw_add(st->p->pool, a->loop.begin, a->loop.extent), b->loop.begin));
  nw_ranges_free(&r);
  return yes;
}

static bool can_join(nw_step *st, const nw_path *pa, const nw_path *pb) {
  const nw_stmt *a = pa->at[pa->n - 1], *b = pb->at[pb->n - 1];
  bool siblings = pa->n > 1 && pb->n > 1 && pa->at[pa->n - 2] == pb->at[pb->n - 2];
  if (!siblings || pb->pos[pb->n - 1] != pa->pos[pa->n - 1] + 1)
    return nw_step_refuse(st, "the second loop must directly follow the first", a, "they are not adjacent");
  if (!adjacent(st, pa, a, b))
    return nw_step_refuse(st, "the second loop must begin where the first ends", b, "their ranges are not contiguous");
  return true;
}

// ---- the name: i.head and i.rest become i again

static const char *stem(nw_step *st, const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && dot != name ? nw_arena_strndup(st->scratch, name, (size_t)(dot - name)) : name;
}

static const char *plain(nw_step *st, const char *piece, const char *name) {
  size_t n = strlen(piece);
  return !strncmp(name, piece, n) && name[n] == '/' ? nw_arena_printf(st->scratch, "%s", name + n + 1) : name;
}

// True if the name ends like that of the piece: C.head in i.head.
static bool has_suffix(nw_step *st, const char *name, const char *piece) {
  return strcmp(stem(st, name), name) && strchr(piece, '.') && !strcmp(strrchr(name, '.'), strrchr(piece, '.'));
}

static void rename_joined(nw_step *st, nw_stmt *s, const nw_stmt *top, const char *piece) {
  if (s->kind == NW_LOOP) {
    const char *old = s->loop.var->name, *want = s == top ? stem(st, piece) : plain(st, piece, old);
    if (strcmp(want, old)) {
      const nw_expr *var = nw_var(st->p->pool, nw_unique_loop_name(st->p, want));
      nw_stmt_subst(st->p, s, old, var);
      s->loop.var = var;
    }
  }
  if (s->kind == NW_BLOCK && has_suffix(st, s->block.name, piece))
    s->block.name = nw_unique_block_name(st->p, stem(st, s->block.name));
  if (s->kind == NW_UNIT && has_suffix(st, s->unit.name, piece))
    s->unit.name = nw_unique_unit_name(st->p, stem(st, s->unit.name));
  for (int i = 0; i < s->nkids; i++) rename_joined(st, s->kid[i], top, piece);
}

// Records that the joined loops replace the loops of both pieces.
static void say_where(nw_step *st, nw_stmt *a, const nw_stmt *b) {
  nw_vec now = {0}, old = {0};
  nw_tree_loops(a, &now);
  nw_tree_loops(b, &old);
  for (int i = 0; i < now.n; i++) {
    nw_stmt *s = now.at[i];
    int was = s->id;
    s->id = st->p->next_id++;
    nw_step_replaces(st, was, 1, &s, "joined");
    nw_step_replaces(st, ((nw_stmt *)old.at[i])->id, 1, &s, "joined");
  }
  nw_vec_free(&now);
  nw_vec_free(&old);
}

bool nw_apply_join(void *step) {
  nw_step *st = step;
  nw_path pa, pb;
  nw_stmt *a = nw_step_loop(st, 0, &pa), *b = a ? nw_step_loop(st, 1, &pb) : NULL;
  if (!b || !can_join(st, &pa, &pb)) return false;
  pair x = {.st = st, .a = a};
  const char *piece = a->loop.var->name;
  if (!same(&x, a, b)) return nw_step_refuse(st, "loops to join must have the same body", a, "%s", x.differs);
  merge_conditions(st, a, b);
  a->loop.extent = nw_add(st->p->pool, a->loop.extent, b->loop.extent);
  a->step = st->p->step;
  nw_kids_remove(st->p, pb.at[pb.n - 2], pb.pos[pb.n - 1]);
  rename_joined(st, a, a, piece);
  say_where(st, a, b);
  nw_step_returns_loop(st, a);
  return true;
}
