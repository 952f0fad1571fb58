// partition: splits a loop in three: pre, main and post. No iteration of main needs a condition.
#include "poly/poly.h"
#include "sched/primitives/pieces.h"
#include "sched/primitives.h"
#include "sched/tree.h"

enum { PARTITION_LOOP, PARTITION_AT };
enum { PRE, MAIN, POST, PARTS };

static void fill(nw_loop_piece *piece, const nw_expr *const *point) {
  static const char *const suffix[] = {"pre", "main", "post"};
  for (int i = 0; i < PARTS; i++) piece[i] = (nw_loop_piece){suffix[i], point[i], point[i + 1], 0};
}

// Removes the conditions that use the loop's variable, because they hold in all iterations of main.
static void drop_conditions(nw_step *st, nw_stmt *s, const char *var) {
  const nw_expr *term[NW_MAX_TERMS], *left = NULL;
  if (s->kind == NW_BLOCK && s->block.where) {
    int n = nw_conjuncts(s->block.where, NW_MAX_TERMS, term);
    for (int i = 0; i < n; i++)
      if (!nw_uses_var(term[i], var)) left = nw_and(st->p->pool, left, term[i]);
    s->block.where = left;
  }
  for (int i = 0; i < s->nkids; i++) drop_conditions(st, s->kid[i], var);
}

static bool can_ask(nw_step *st, const nw_stmt *loop) {
  return !loop->loop.nfused || nw_step_refuse(st, "its iterations combine several loops: use partition before fuse",
                                              loop, "%s is a fused loop", loop->loop.var->name);
}

// Makes pieces for a loop that cannot be cut. If there are no conditions, main is the whole loop. If some condition
// always fails, main is empty, and post is the whole loop. Therefore a trace with steps on main can be replayed for any
// shape.
static void whole(nw_step *st, const nw_stmt *loop, const nw_interval *x, nw_loop_piece *piece) {
  const nw_expr *b = loop->loop.begin, *e = nw_add(st->p->pool, b, loop->loop.extent);
  const char *name = loop->loop.var->name;
  fill(piece, x->nconds ? (const nw_expr *[]){b, b, b, e} : (const nw_expr *[]){b, b, e, e});
  if (x->nconds)
    nw_step_note(st, "no iteration of %s satisfies all conditions", name);
  else
    nw_step_note(st, "no condition inside depends on %s", name);
}

// Cuts the loop into three pieces. All conditions hold in the iterations from lo to hi. The cut points are clamped to
// the range of the loop, so that the pieces make up the whole loop for any values of lo and hi. If lo and hi need no
// clamping, they are the bounds of main, so that the conditions in main can be proven.
static bool by_conditions(nw_step *st, const nw_stmt *loop, nw_loop_piece *piece) {
  nw_interval x;
  nw_path before;
  const nw_expr *point[PARTS + 1];
  nw_find(st->before, loop->id, &before);
  if (!can_ask(st, loop) || !nw_holding_rounds(st->before, before.at[before.n - 1], &x)) return false;
  if (x.apart)
    return nw_step_refuse(st, "give the begin and the end (exclusive) of the main part: {at = {1, 63}}", loop,
                          "the iterations that satisfy all conditions are not consecutive");
  if (!x.lo && x.branches)
    return nw_step_refuse(st, "every iteration needs one of the branches; use cut to separate them", loop,
                          "the conditions inside %s select between branches", loop->loop.var->name);
  if (!x.lo) return whole(st, loop, &x, piece), true;
  nw_cut_points(st->p, loop, 2, (const nw_expr *[]){x.lo, x.hi}, point);
  fill(piece, point);
  if (!x.stands) return true;
  piece[MAIN].begin = x.lo;
  piece[MAIN].end = x.hi;
  return true;
}

static bool by_points(nw_step *st, const nw_stmt *loop, nw_loop_piece *piece) {
  const nw_arg *list = &st->resolved[PARTITION_AT];
  const nw_expr *point[PARTS + 1];
  if (!nw_points_ok(st, loop, PARTITION_AT)) return false;
  if (list->n != 2) {
    nw_fail(st->ctx, NW_EINVAL, "s:partition(\"i\", {at = {1, 63}})",
            "partition: at must list the begin and the end (exclusive) of the main part");
    return false;
  }
  nw_cut_points(st->p, loop, 2, (const nw_expr *[]){list->item[0].expr[0], list->item[1].expr[0]}, point);
  fill(piece, point);
  return true;
}

static void note(nw_step *st, const nw_loop_piece *piece) {
  for (int i = 0; i < PARTS; i++)
    if (!nw_find(st->p, piece[i].id, NULL)) nw_step_note(st, "%s.%s is empty", st->resolved[0].name, piece[i].suffix);
}

bool nw_apply_partition(void *step) {
  nw_step *st = step;
  nw_loop_piece piece[PARTS];
  nw_stmt *loop = nw_step_loop(st, PARTITION_LOOP, NULL);
  bool given = nw_step_given(st, PARTITION_AT);
  if (!loop || !(given ? by_points(st, loop, piece) : by_conditions(st, loop, piece))) return false;
  if (!nw_make_pieces(st, loop, "partitioned", PARTS, piece, MAIN)) return false;
  if (!given && piece[MAIN].id == loop->id) drop_conditions(st, loop, loop->loop.var->name);
  for (int i = 0; i < PARTS; i++) st->out.loop[st->out.n++] = piece[i].id;
  note(st, piece);
  return true;
}
