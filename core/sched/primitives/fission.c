// fission: splits a nest in two. The first nest runs the statements up to and including a given statement, and the
// second nest runs the statements after this statement.
#include "sched/box.h"
#include "sched/primitives.h"
#include "sched/primitives/units/unit.h"
#include "sched/tree.h"

typedef struct fission {
  nw_step *st;
  nw_path path; // from the root through the loop to the statement
  int loop;
  const char *name[NW_MAX_DEPTH]; // names that the loops of the path get in the second nest
  nw_vec moved; // storage that only the second nest uses
} fission;

// ---- storage that both nests use (it is moved outside both nests)

static bool used_behind(fission *x, const nw_stmt *alloc) {
  const nw_stmt *point = x->path.at[x->path.n - 1];
  nw_blocks all = nw_blocks_below(x->st->scratch, alloc), at = nw_blocks_below(x->st->scratch, point);
  int last = 0;
  while (all.at[last] != at.at[at.n - 1]) last++;
  bool front = false, behind = false;
  for (int i = 0; i < all.n; i++) {
    bool uses = nw_block_reads(all.at[i], alloc->alloc.buffer) || nw_block_writes(all.at[i], alloc->alloc.buffer);
    *(i <= last ? &front : &behind) |= uses;
  }
  return front && behind;
}

// Enlarges an allocation that is moved out of loops.
static void widen(fission *x, int at) {
  const char *over[NW_MAX_DEPTH];
  int n = 0;
  for (int i = x->loop; i < at; i++)
    if (x->path.at[i]->kind == NW_LOOP) over[n++] = x->path.at[i]->loop.var->name;
  nw_box_widen(x->st, &x->path, at, n, over);
}

static void find_path(fission *x) {
  int id = x->path.at[x->path.n - 1]->id, loop = x->path.at[x->loop]->id;
  nw_find(x->st->p, id, &x->path);
  for (x->loop = 0; x->path.at[x->loop]->id != loop;) x->loop++;
}

// Replaces an allocation by the statements inside it.
static void dissolve(nw_program *p, nw_stmt *alloc) {
  nw_path path;
  nw_find(p, alloc->id, &path);
  nw_stmt *in = path.at[path.n - 2];
  int pos = path.pos[path.n - 1];
  nw_kids_remove(p, in, pos);
  for (int i = 0; i < alloc->nkids; i++) nw_kids_insert(p, in, pos + i, alloc->kid[i]);
}

typedef struct others {
  const nw_stmt *alloc;
  nw_vec at;
} others;

static bool add_other(void *env, nw_stmt *s) {
  others *o = env;
  if (s->kind == NW_ALLOC && s != o->alloc && !strcmp(s->alloc.buffer, o->alloc->alloc.buffer)) nw_vec_push(&o->at, s);
  return true;
}

// If other pieces of the loop allocate the same buffer, their allocations are removed, and all pieces use the
// allocation around both nests. This allocation then stores the whole buffer.
static void share(fission *x, nw_stmt *alloc) {
  others o = {.alloc = alloc};
  nw_walk_from(alloc, add_other, &o);
  const nw_buffer *b = nw_find_buffer(x->st->p, alloc->alloc.buffer);
  for (int d = 0; o.at.n && d < alloc->alloc.n; d++) {
    alloc->alloc.min[d] = nw_index(x->st->p->pool, 0);
    alloc->alloc.extent[d] = b->shape[d];
  }
  for (int i = 0; i < o.at.n; i++) dissolve(x->st->p, o.at.at[i]);
  nw_vec_free(&o.at);
}

static void lift(fission *x, int at) {
  nw_stmt *alloc = x->path.at[at], *loop = x->path.at[x->loop];
  widen(x, at);
  dissolve(x->st->p, alloc);
  nw_kids_replace(x->path.at[x->loop - 1], x->path.pos[x->loop], alloc);
  nw_kids_set(x->st->p, alloc, 1, &loop);
  share(x, alloc);
  alloc->step = x->st->p->step;
  nw_step_note(x->st, "%s is now stored outside both nests, for all iterations of %s at once", alloc->alloc.buffer,
               loop->loop.var->name);
  find_path(x);
}

static void lift_storage(fission *x) {
  for (int i = x->path.n - 1; i > x->loop; i--)
    if (x->path.at[i]->kind == NW_ALLOC && used_behind(x, x->path.at[i])) {
      lift(x, i);
      i = x->path.n;
    }
}

// ---- the two nests

// Chooses the names of the loops in the second nest. The names are unique, because all loops are still in the tree.
static void choose_names(fission *x) {
  const char *second = NULL;
  for (int i = x->loop; i < x->path.n; i++) {
    const nw_stmt *s = x->path.at[i];
    if (s->kind != NW_LOOP) continue;
    const char *own = s->loop.var->name;
    x->name[i] = nw_unique_loop_name(x->st->p, second ? nw_arena_printf(x->st->scratch, "%s/%s", second, own)
                                                      : nw_arena_printf(x->st->scratch, "%s.after", own));
    if (!second) second = x->name[i];
  }
}

// Returns a copy of the loop, guard or allocation path.at[at], with the n statements `kid` inside.
static nw_stmt *again(fission *x, int at, int n, nw_stmt **kid) {
  nw_program *p = x->st->p;
  nw_stmt *s = x->path.at[at];
  nw_stmt *copy = nw_new_stmt(p, s->kind);
  int id = copy->id;
  *copy = *s;
  copy->id = id;
  copy->step = p->step;
  nw_kids_set(p, copy, n, kid);
  if (s->kind == NW_LOOP) {
    copy->loop.var = nw_var(p->pool, x->name[at]);
    for (int i = 0; i < n; i++) nw_stmt_subst(p, copy->kid[i], s->loop.var->name, copy->loop.var);
  }
  return copy;
}

static bool uses(nw_step *st, const nw_vec *statements, const char *buffer) {
  for (int k = 0; k < statements->n; k++) {
    nw_blocks b = nw_blocks_below(st->scratch, statements->at[k]);
    for (int i = 0; i < b.n; i++)
      if (nw_block_reads(b.at[i], buffer) || nw_block_writes(b.at[i], buffer)) return true;
  }
  return false;
}

// Removes from path.at[at] the statements after the last statement of the path, and appends them to `out`, inside
// copies of the loops around them. Storage that only these statements use is moved with them.
static void cut_behind(fission *x, int at, nw_vec *out) {
  nw_stmt *s = x->path.at[at];
  nw_vec rest = {0};
  if (at == x->path.n - 1) return;
  cut_behind(x, at + 1, &rest);
  int keep = x->path.pos[at + 1] + 1;
  for (int i = keep; i < s->nkids; i++) nw_vec_push(&rest, s->kid[i]);
  if (rest.n) {
    nw_kids_set(x->st->p, s, keep, s->kid);
    s->step = x->st->p->step;
  }
  bool theirs = s->kind == NW_ALLOC && uses(x->st, &rest, s->alloc.buffer);
  if (theirs) nw_vec_push(&x->moved, s);
  if (rest.n && (theirs || s->kind != NW_ALLOC))
    nw_vec_push(out, again(x, at, rest.n, (nw_stmt **)rest.at));
  else
    for (int i = 0; i < rest.n; i++) nw_vec_push(out, rest.at[i]);
  nw_vec_free(&rest);
}

// Removes from the first nest the storage that was moved to the second nest.
static void drop_moved(fission *x) {
  for (int i = 0; i < x->moved.n; i++) dissolve(x->st->p, x->moved.at[i]);
  nw_vec_free(&x->moved);
}

enum { FISSION_LOOP, FISSION_AFTER };

bool nw_apply_fission(void *step) {
  nw_step *st = step;
  fission x = {.st = st};
  nw_vec second = {0};
  nw_stmt *loop = nw_step_loop(st, FISSION_LOOP, NULL), *point = nw_step_stmt(st, FISSION_AFTER, &x.path);
  if (!loop || !point) return false;
  x.loop = nw_path_index(&x.path, loop);
  if (x.loop < 0 || point == loop)
    return nw_step_refuse(st, "a loop can be split only after a statement inside it", loop, "%s is not inside %s",
                          nw_tree_what(point), loop->loop.var->name);
  const nw_stmt *unit = nw_unit_around(&x.path, x.loop);
  if (unit)
    return nw_step_refuse(st, "the loop is outside of the unit, and the statement is in it", loop,
                          "it would take the unit %s apart", unit->unit.name);
  lift_storage(&x);
  choose_names(&x);
  cut_behind(&x, x.loop, &second);
  nw_stmt *other = second.n ? second.at[0] : NULL;
  nw_vec_free(&second);
  if (other) nw_kids_insert(st->p, x.path.at[x.loop - 1], x.path.pos[x.loop] + 1, other);
  drop_moved(&x);
  if (!other)
    return nw_step_refuse(st, "the second nest would be empty", loop, "nothing comes after %s in %s",
                          nw_tree_what(point), loop->loop.var->name);
  nw_step_returns_loop(st, loop);
  nw_step_returns_loop(st, other);
  return true;
}
