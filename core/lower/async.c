// Pass: commits asynchronous copies in groups, and waits for a group before its elements are used.
//
// A commit is placed after the largest statement around a copy that contains only asynchronous copies. Neighbouring
// statements of this kind get one commit, except if they belong to the same stage, and so to different iterations of a
// loop. A wait is placed before a statement that uses copied elements. If barriers are between the copies and the use,
// the wait is placed before one of them, because a barrier shows the elements that have arrived to other threads. If a
// thread uses elements that other threads copy, only a wait right before a barrier counts.
//
// A wait says how many groups may be in flight when it ends. This is the least number of commits that are executed
// between the commit of a copy and the wait before its use. The judge (poly/async.c) says which blocks use a copy, and
// after how many iterations. This file counts the commits in between. Commits in loops whose number of iterations is not
// constant, and commits under conditions, do not count.
#include "lower/pass.h"
#include "poly/poly.h"
#include <stdlib.h>

enum { MOST_GROUPS = 1 << 20 };

typedef struct groups {
  nw_program *p;
  nw_vec need; // nw_arrival *
  nw_vec copy, commit; // the asynchronous blocks, and the commit of each
} groups;

static int index_of(const nw_vec *v, const void *at) {
  int i = 0;
  while (i < v->n && v->at[i] != at) i++;
  return i;
}

static bool collect(void *env, nw_stmt *s) {
  if (s->kind == NW_BLOCK && s->block.async) nw_vec_push(env, s);
  return true;
}

// ---- commits

// True if s contains only asynchronous copies, all of different stages.
static bool is_group(const nw_stmt *s, nw_vec *origins) {
  if (s->kind == NW_BARRIER || s->kind == NW_COMMIT || s->kind == NW_CALL) return false;
  if (s->kind == NW_BLOCK) {
    if (!s->block.async) return false;
    for (int i = 0; i < origins->n; i++)
      if (!strcmp(origins->at[i], s->block.origin)) return false;
    nw_vec_push(origins, (void *)s->block.origin);
  }
  for (int i = 0; i < s->nkids; i++)
    if (!is_group(s->kid[i], origins)) return false;
  return true;
}

// True if one of the blocks uses elements that another one copies. Then they cannot be in one group.
static bool depend(const groups *g, const nw_vec *blocks) {
  for (int i = 0; i < g->need.n; i++) {
    const nw_arrival *a = g->need.at[i];
    bool copies = false, uses = false;
    for (int k = 0; k < blocks->n; k++) {
      copies |= ((const nw_stmt *)blocks->at[k])->id == a->copy;
      uses |= ((const nw_stmt *)blocks->at[k])->id == a->use;
    }
    if (copies && uses) return true;
  }
  return false;
}

// True if the statements from..to of `list` can be one group.
static bool are_group(const groups *g, const nw_stmt *list, int from, int to) {
  nw_vec origins = {0}, blocks = {0};
  bool good = true;
  for (int i = from; i <= to && good; i++) {
    good = is_group(list->kid[i], &origins);
    nw_walk_from(list->kid[i], collect, &blocks);
  }
  good = good && !depend(g, &blocks);
  nw_vec_free(&origins);
  nw_vec_free(&blocks);
  return good;
}

static bool has_commit(const groups *g, const nw_stmt *s) {
  nw_vec blocks = {0};
  bool has = false;
  nw_walk_from(s, collect, &blocks);
  for (int i = 0; i < blocks.n; i++) has |= g->commit.at[index_of(&g->copy, blocks.at[i])] != NULL;
  nw_vec_free(&blocks);
  return has;
}

// Places the commit of a copy.
static void commit(groups *g, const nw_stmt *copy) {
  nw_path path;
  nw_find(g->p, copy->id, &path);
  int top = path.n - 1;
  while (top > 1 && are_group(g, path.at[top - 2], path.pos[top - 1], path.pos[top - 1])) top--;
  nw_stmt *list = path.at[top - 1], *s = nw_new_like(g->p, NW_COMMIT, copy);
  int from = path.pos[top], to = from;
  while (to + 1 < list->nkids && are_group(g, list, from, to + 1) && !has_commit(g, list->kid[to + 1])) to++;
  nw_vec blocks = {0};
  for (int i = from; i <= to; i++) nw_walk_from(list->kid[i], collect, &blocks);
  for (int i = 0; i < blocks.n; i++) g->commit.at[index_of(&g->copy, blocks.at[i])] = s;
  nw_vec_free(&blocks);
  nw_kids_insert(g->p, list, to + 1, s);
}

// ---- the number of commits between two statements

static int64_t capped(int64_t n) { return n < MOST_GROUPS ? n : MOST_GROUPS; }

// Returns the least number of commits that a thread executes in s.
static int64_t commits_in(const nw_stmt *s) {
  int64_t n = s->kind == NW_COMMIT, times = 1;
  if (s->kind == NW_GUARD || nw_is_thread_loop(s)) return 0;
  for (int i = 0; i < s->nkids; i++) n = capped(n + commits_in(s->kid[i]));
  if (s->kind == NW_LOOP && (!nw_is_int(s->loop.extent, &times) || times < 0)) return 0;
  return capped(n * capped(times));
}

static int64_t commits_among(const nw_stmt *list, int from, int to) {
  int64_t n = 0;
  for (int i = from; i < to; i++) n = capped(n + commits_in(list->kid[i]));
  return n;
}

// Returns the least number of commits after the end of the path, in the same iteration of the loops on the path, until
// the end of the statement at position `at`.
static int64_t commits_after(const nw_path *path, int at) {
  int64_t n = 0;
  for (int i = at; i < path->n - 1; i++)
    n = capped(n + commits_among(path->at[i], path->pos[i + 1] + 1, path->at[i]->nkids));
  return n;
}

// Returns the least number of commits before the end of the path, from the start of the iteration of the statement at
// position `at`.
static int64_t commits_before(const nw_path *path, int at) {
  int64_t n = 0;
  for (int i = at; i < path->n - 1; i++) n = capped(n + commits_among(path->at[i], 0, path->pos[i + 1]));
  return n;
}

static int64_t commits_each(const nw_stmt *loop) { return commits_among(loop, 0, loop->nkids); }

// Returns the least number of commits after the commit c of a copy, and before the wait w for this copy. `within` is
// true if both are in the same iteration of the loop in which the use is a later iteration.
static int64_t commits_between(const nw_arrival *a, const nw_path *c, const nw_path *w, bool within) {
  if (a->loop && !within) {
    int at = nw_path_at(c, a->loop);
    int64_t whole = capped(commits_each(c->at[at]) * (capped(a->apart) - 1));
    return capped(commits_after(c, at) + whole + commits_before(w, at));
  }
  int at = nw_path_common(c, w) - 1, inner = at + 1;
  int64_t n = commits_after(c, at + 1) + commits_among(c->at[at], c->pos[at + 1] + 1, w->pos[at + 1]);
  while (inner < w->n - 1 && w->at[inner]->kind != NW_LOOP) inner++;
  if (!a->loop && inner < w->n - 1) n += commits_each(w->at[inner]) * capped(a->apart);
  return capped(n + commits_before(w, at + 1));
}

// ---- waits

typedef struct search {
  const nw_arrival *a;
  nw_path c, use; // paths to the commit and to the block that uses the copies
  int list; // position, on both paths, of the statement among whose children the wait is placed by default
} search;

static search search_of(const groups *g, const nw_arrival *a) {
  search x = {.a = a};
  int i = 0;
  while (((const nw_stmt *)g->copy.at[i])->id != a->copy) i++;
  nw_find(g->p, ((const nw_stmt *)g->commit.at[i])->id, &x.c);
  nw_find(g->p, a->use, &x.use);
  x.list = a->loop ? nw_path_at(&x.use, a->loop) : nw_path_common(&x.c, &x.use) - 1;
  return x;
}

// A position that every thread reaches after the commit and before the use: before child `at` of `list`.
typedef struct spot {
  nw_stmt *list;
  int at;
  bool within; // see commits_between
} spot;

typedef bool (*fits)(groups *g, const search *x, spot s);

// Calls f for the children from..to-1 of the list, the last one first.
static bool scan(groups *g, const search *x, fits f, nw_stmt *list, int from, int to, bool within) {
  for (int i = to - 1; i >= from; i--)
    if (f(g, x, (spot){list, i, within})) return true;
  return false;
}

// True if a thread that executes the commit may not reach the statements inside s.
static bool shuts_out(const nw_stmt *s) {
  if (s->kind == NW_LOOP && (s->loop.mark == NW_PARALLEL || nw_is_block_loop(s))) return true;
  return s->kind == NW_CALL || s->kind == NW_GUARD || nw_is_vector_loop(s);
}

// Finds a statement between the commit and the use for which f returns true. Looks first in the list of x, then in the
// lists inside it, on the path to the use, and then on the path to the commit.
static bool find(groups *g, const search *x, fits f) {
  const nw_path *c = &x->c, *use = &x->use;
  bool carried = x->a->loop;
  nw_stmt *list = use->at[x->list];
  if (scan(g, x, f, list, carried ? 0 : c->pos[x->list + 1] + 1, use->pos[x->list + 1], false)) return true;
  for (int i = x->list + 1; i < use->n - 1 && !shuts_out(use->at[i]); i++)
    if (scan(g, x, f, use->at[i], 0, use->pos[i + 1], false)) return true;
  for (int i = carried ? x->list : x->list + 1; i < c->n - 1; i++)
    if (scan(g, x, f, c->at[i], c->pos[i + 1] + 1, c->at[i]->nkids, true)) return true;
  return false;
}

static bool is_block_barrier(const nw_stmt *s) { return s->kind == NW_BARRIER && !s->barrier.warp; }

static bool is_barrier(groups *g, const search *x, spot s) {
  (void)g, (void)x;
  return is_block_barrier(s.list->kid[s.at]);
}

static int64_t allowed(groups *g, const search *x, const nw_stmt *wait, bool within) {
  nw_path w;
  nw_find(g->p, wait->id, &w);
  return commits_between(x->a, &x->c, &w, within);
}

// True if the statement is a wait that is strong enough. All threads must reach it, so it is not in a thread loop that is
// not around the copy, unless a barrier follows. If the use is in another thread than the copy, a barrier must follow.
static bool is_enough(groups *g, const search *x, spot s) {
  const nw_stmt *at = s.list->kid[s.at];
  if (at->kind != NW_WAIT || at->wait.groups > allowed(g, x, at, s.within)) return false;
  bool joint = s.at + 1 < s.list->nkids && is_block_barrier(s.list->kid[s.at + 1]), threads = false;
  for (int i = x->list + 1; i < x->use.n; i++) threads |= nw_is_thread_loop(x->use.at[i]);
  return joint || (!x->a->others && (!threads || s.list == x->use.at[x->list]));
}

static bool place(groups *g, const search *x, spot s) {
  nw_stmt *wait = s.at > 0 ? s.list->kid[s.at - 1] : NULL;
  bool known = wait && wait->kind == NW_WAIT;
  if (!known) {
    wait = nw_new_like(g->p, NW_WAIT, x->use.at[x->use.n - 1]);
    wait->wait.groups = MOST_GROUPS;
    nw_kids_insert(g->p, s.list, s.at, wait);
  }
  search now = search_of(g, x->a);
  int64_t most = allowed(g, &now, wait, s.within);
  if (NW_MUTATED(async_wait_weak)) most++;
  if (wait->wait.groups > most) wait->wait.groups = (int)most;
  return true;
}

static bool place_before_barrier(groups *g, const search *x, spot s) { return is_barrier(g, x, s) && place(g, x, s); }

static void wait_for(groups *g, const nw_arrival *a) {
  search x = search_of(g, a);
  if (find(g, &x, is_enough)) return;
  if (!NW_MUTATED(async_wait_late) && find(g, &x, place_before_barrier)) return;
  spot s = {x.use.at[x.list], x.use.pos[x.list + 1], false};
  if (a->others) nw_kids_insert(g->p, s.list, s.at, nw_new_like(g->p, NW_BARRIER, x.use.at[x.use.n - 1]));
  place(g, &x, s);
}

// Waits for all copies of a stage before their storage ends.
static void wait_at_end(groups *g, const nw_arrival *a) {
  nw_path path;
  nw_find(g->p, a->copy, &path);
  nw_stmt *list = path.at[0];
  for (int i = 0; i < path.n; i++)
    if (path.at[i]->kind == NW_ALLOC && !strcmp(path.at[i]->alloc.buffer, path.at[path.n - 1]->block.target[0].buffer))
      list = path.at[i];
  const nw_stmt *last = list->kid[list->nkids - 1];
  if (last->kind == NW_WAIT && !last->wait.groups) return;
  nw_kids_insert(g->p, list, list->nkids, nw_new_like(g->p, NW_WAIT, path.at[path.n - 1]));
}

typedef struct rank {
  const nw_arrival *a;
  // Needs are sorted by these fields. Uses in later iterations come first, and those of inner lists before those of
  // outer lists. Then the position of the use decides.
  int once, list, at, order;
} rank;

static int by_rank(const void *a, const void *b) {
  const rank *x = a, *y = b;
  if (x->once != y->once) return x->once - y->once;
  if (x->list != y->list) return y->list - x->list;
  return x->at != y->at ? x->at - y->at : x->order - y->order;
}

static void place_waits(groups *g) {
  rank *all = nw_xcalloc((size_t)g->need.n + 1, sizeof *all);
  for (int i = 0; i < g->need.n; i++) {
    const nw_arrival *a = g->need.at[i];
    all[i] = (rank){a, .order = i};
    if (!a->use) continue;
    search x = search_of(g, a);
    all[i].once = !a->loop, all[i].list = x.list, all[i].at = x.use.pos[x.list + 1];
  }
  qsort(all, (size_t)g->need.n, sizeof *all, by_rank);
  for (int i = 0; i < g->need.n; i++)
    if (all[i].a->use) wait_for(g, all[i].a);
  for (int i = 0; i < g->need.n; i++)
    if (!all[i].a->use) wait_at_end(g, all[i].a);
  free(all);
}

nw_program *nw_pass_async(nw_program *p) {
  groups g = {.p = p};
  nw_walk_from(p->root, collect, &g.copy);
  bool ok = !g.copy.n || nw_arrivals(p, &g.need);
  for (int i = 0; ok && i < g.copy.n; i++) nw_vec_push(&g.commit, NULL);
  for (int i = 0; ok && i < g.copy.n; i++)
    if (!g.commit.at[i]) commit(&g, g.copy.at[i]);
  if (ok) place_waits(&g);
  nw_vec_free(&g.copy);
  nw_vec_free(&g.commit);
  nw_vec_free(&g.need);
  return ok ? p : NULL;
}
