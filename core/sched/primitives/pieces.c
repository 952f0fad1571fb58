// cut: splits a loop into consecutive loops that are scheduled separately.
//
// One piece keeps the blocks, so that the name of the stage refers to this piece. The other pieces are copies. All
// pieces, and the loops in them, are named by path. The init of a reduction stays in every piece, because it runs only
// with the first reduce instance.
#include "sched/primitives/pieces.h"
#include "sched/empty.h"
#include "sched/primitives.h"
#include "sched/tree.h"

// limit on the statements of a program, so that people can read the program and proofs do not take too long
enum { MAX_STATEMENTS = 4000 };

// ---- points

void nw_cut_points(const nw_program *p, const nw_stmt *loop, int n, const nw_expr *const *at, const nw_expr **out) {
  nw_pool *pool = p->pool;
  const nw_expr *end = nw_add(pool, loop->loop.begin, loop->loop.extent);
  out[0] = loop->loop.begin;
  for (int i = 0; i < n; i++) out[i + 1] = nw_min(pool, nw_max(pool, at[i], out[i]), end);
  out[n + 1] = end;
}

bool nw_points_ok(nw_step *st, const nw_stmt *loop, int param) {
  const nw_arg *list = &st->resolved[param];
  const char *name = st->primitive->param[param].name;
  nw_path path;
  nw_ranges r;
  bool ok = true;
  nw_find(st->p, loop->id, &path);
  if (list->n < 1 || list->n > NW_MAX_PIECES - 1) {
    nw_fail(st->ctx, NW_ERANGE, st->primitive->example, "%s: %s lists %d points; give 1 to %d", st->primitive->name,
            name, list->n, NW_MAX_PIECES - 1);
    return false;
  }
  nw_ranges_of(&r, st->p, &path);
  for (int i = 0; ok && i < list->n; i++) {
    const nw_expr *at = list->item[i].expr[0], *before = i ? list->item[i - 1].expr[0] : NULL;
    if (!nw_expr_known_at(st, at, name, &path))
      ok = false;
    else if (before && nw_prove(&r, nw_lt(st->p->pool, at, before)))
      ok = nw_fail(st->ctx, NW_EINVAL, "give the points in ascending order", "%s: the points of %s are not in order",
                   st->primitive->name, name);
  }
  nw_ranges_free(&r);
  return ok;
}

// ---- pieces

static bool count(void *env, nw_stmt *s) {
  (void)s;
  ++*(int *)env;
  return true;
}

bool nw_affordable(nw_step *st, const nw_stmt *loop, int n) {
  int all = 0, own = 0;
  nw_walk_from(st->p->root, count, &all);
  nw_walk_from(loop, count, &own);
  if (all + (n - 1) * own <= MAX_STATEMENTS) return true;
  nw_fail(st->ctx, NW_ELIMIT, "cut a loop further inside, or give fewer points",
          "%s: the program would have %d statements; the limit is %d", st->primitive->name, all + (n - 1) * own,
          MAX_STATEMENTS);
  return false;
}

static bool collect_loop(void *env, nw_stmt *s) {
  if (s->kind == NW_LOOP) nw_vec_push(env, s);
  return true;
}

// Finds the pieces that are proven empty. If piece *first is empty, sets *first to a piece that is not empty. If all
// pieces are empty, piece *first is kept as a loop.
static void find_empty(nw_step *st, const nw_stmt *loop, int n, const nw_loop_piece *piece, int *first, bool *empty) {
  nw_path path;
  nw_ranges r;
  nw_find(st->p, loop->id, &path);
  nw_ranges_around(&r, st->p, &path);
  for (int i = 0; i < n; i++) empty[i] = nw_prove(&r, nw_le(st->p->pool, piece[i].end, piece[i].begin));
  nw_ranges_free(&r);
  for (int i = 0; empty[*first] && i < n; i++)
    if (!empty[i]) *first = i;
  empty[*first] = false;
}

static void set_range(nw_step *st, nw_stmt *loop, const nw_loop_piece *piece) {
  loop->loop.begin = piece->begin;
  loop->loop.extent = nw_sub(st->p->pool, piece->end, piece->begin);
  loop->loop.nfused = 0;
  loop->loop.fused = NULL;
}

// Records that the loops in the pieces replace the loops of the original.
static void say_where(nw_step *st, const char *verb, int n, const nw_vec *ids, const nw_vec *loops) {
  for (int k = 0; k < ids->n; k++) {
    nw_stmt *into[NW_MAX_PIECES];
    int m = 0;
    for (int i = 0; i < n; i++)
      if (loops[i].n) into[m++] = loops[i].at[k];
    nw_step_replaces(st, (int)(intptr_t)ids->at[k], m, into, "%s", verb);
  }
}

static void copy_pieces(nw_step *st, nw_stmt *loop, int n, nw_loop_piece *piece, int first, const bool *empty,
                        nw_stmt **out) {
  const char *name = loop->loop.var->name;
  for (int i = 0; i < n; i++) {
    out[i] = NULL;
    const char *path = nw_arena_printf(st->scratch, "%s.%s", name, piece[i].suffix);
    if (empty[i]) piece[i].id = nw_empty_piece(st, loop, loop, piece[i].suffix);
    if (!empty[i] && i != first) out[i] = nw_copy_stmt_as(st->p, loop, path);
  }
  out[first] = loop;
  nw_rename_as(st->p, loop, nw_arena_printf(st->scratch, "%s.%s", name, piece[first].suffix));
}

static void put_pieces(nw_step *st, const nw_path *at, int n, nw_loop_piece *piece, int first, nw_stmt *const *made) {
  int pos = at->pos[at->n - 1];
  for (int i = 0; i < n; i++) {
    if (!made[i]) continue;
    set_range(st, made[i], &piece[i]);
    piece[i].id = made[i]->id;
    if (i != first) nw_kids_insert(st->p, at->at[at->n - 2], pos, made[i]);
    pos++;
  }
}

bool nw_make_pieces(nw_step *st, nw_stmt *loop, const char *verb, int n, nw_loop_piece *piece, int first) {
  nw_vec ids = {0}, loops[NW_MAX_PIECES] = {{0}};
  bool empty[NW_MAX_PIECES];
  nw_stmt *made[NW_MAX_PIECES];
  nw_path at;
  if (!nw_affordable(st, loop, n)) return false;
  nw_find(st->p, loop->id, &at);
  find_empty(st, loop, n, piece, &first, empty);
  nw_walk_from(loop, collect_loop, &ids);
  for (int i = 0; i < ids.n; i++) ids.at[i] = (void *)(intptr_t)((nw_stmt *)ids.at[i])->id;
  copy_pieces(st, loop, n, piece, first, empty, made);
  put_pieces(st, &at, n, piece, first, made);
  for (int i = 0; i < n; i++)
    if (made[i]) nw_walk_from(made[i], collect_loop, &loops[i]);
  say_where(st, verb, n, &ids, loops);
  for (int i = 0; i < n; i++) nw_vec_free(&loops[i]);
  nw_vec_free(&ids);
  return true;
}

// ---- cut

enum { CUT_LOOP, CUT_AT };

const char *nw_piece_suffix(nw_step *st, int i, int n) {
  if (n == 2) return i ? "rest" : "head";
  return nw_arena_printf(st->scratch, "%d", i + 1);
}

static void note_empty(nw_step *st, int n, const nw_loop_piece *piece) {
  for (int i = 0; i < n; i++)
    if (!nw_find(st->p, piece[i].id, NULL)) nw_step_note(st, "%s.%s is empty", st->resolved[0].name, piece[i].suffix);
}

bool nw_apply_cut(void *step) {
  nw_step *st = step;
  nw_stmt *loop = nw_step_loop(st, CUT_LOOP, NULL);
  if (!loop || !nw_points_ok(st, loop, CUT_AT)) return false;
  const nw_arg *list = &st->resolved[CUT_AT];
  const nw_expr *at[NW_MAX_PIECES], *point[NW_MAX_PIECES + 1];
  nw_loop_piece piece[NW_MAX_PIECES];
  int n = list->n + 1;
  for (int i = 0; i < list->n; i++) at[i] = list->item[i].expr[0];
  nw_cut_points(st->p, loop, list->n, at, point);
  for (int i = 0; i < n; i++) piece[i] = (nw_loop_piece){nw_piece_suffix(st, i, n), point[i], point[i + 1], 0};
  if (!nw_make_pieces(st, loop, "cut", n, piece, 0)) return false;
  for (int i = 0; i < n; i++) st->out.loop[st->out.n++] = piece[i].id;
  note_empty(st, n, piece);
  return true;
}
