// Plants mistakes in lowered programs: barriers that are missing, at another place or under a condition, arrays that too many
// threads share, and updates that are not atomic.
#include "mutants.h"
#include <stdio.h>
#include <stdlib.h>

typedef enum planted {
  NO_PLACE, // the program has fewer places for this mistake
  NO_MISTAKE, // this place does not allow the mistake
  PLANTED,
} planted;

// Plants a mistake at the n-th place of a program that is not frozen yet. `at` gets what is there.
typedef planted (*planting)(nw_exec *e, nw_program *p, int n, const char **at);

// ---- places

static nw_stmt *nth(nw_stmt *s, bool (*is)(const nw_stmt *s), int *n) {
  if (is(s) && (*n)-- == 0) return s;
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *found = nth(s->kid[i], is, n);
    if (found) return found;
  }
  return NULL;
}

static bool is_barrier(const nw_stmt *s) { return s->kind == NW_BARRIER; }
static bool is_atomic(const nw_stmt *s) { return s->kind == NW_STORE && s->store.atomic; }

static bool find_barrier(nw_program *p, int n, nw_path *out) {
  nw_stmt *barrier = nth(p->root, is_barrier, &n);
  return barrier && nw_find(p, barrier->id, out);
}

// Returns the position on the path of the innermost loop of this kind around its end; 0 if there is none.
static int loop_around(const nw_path *path, bool (*is)(const nw_stmt *s)) {
  for (int i = path->n - 2; i > 0; i--)
    if (path->at[i]->kind == NW_LOOP && is(path->at[i])) return i;
  return 0;
}

static bool is_serial(const nw_stmt *s) { return !nw_is_bound_loop(s); }

// ---- barriers at another place

static planted remove_barrier(nw_exec *e, nw_program *p, int n, const char **at) {
  nw_path path;
  (void)e, (void)at;
  if (!find_barrier(p, n, &path)) return NO_PLACE;
  nw_kids_remove(p, path.at[path.n - 2], path.pos[path.n - 1]);
  return PLANTED;
}

static planted move_by(nw_program *p, int n, int by) {
  nw_path path;
  if (!find_barrier(p, n, &path)) return NO_PLACE;
  nw_stmt *list = path.at[path.n - 2], *barrier = path.at[path.n - 1];
  int from = path.pos[path.n - 1], to = from + by;
  if (to < 0 || to >= list->nkids) return NO_MISTAKE;
  nw_kids_remove(p, list, from);
  nw_kids_insert(p, list, to, barrier);
  return PLANTED;
}

static planted move_up(nw_exec *e, nw_program *p, int n, const char **at) {
  return (void)e, (void)at, move_by(p, n, -1);
}
static planted move_down(nw_exec *e, nw_program *p, int n, const char **at) {
  return (void)e, (void)at, move_by(p, n, 1);
}

// Moves a barrier out of the innermost serial loop around it.
static planted move_out(nw_program *p, int n, int after, const char **at) {
  nw_path path;
  if (!find_barrier(p, n, &path)) return NO_PLACE;
  int loop = loop_around(&path, is_serial);
  if (!loop) return NO_MISTAKE;
  *at = path.at[loop]->loop.var->name;
  nw_kids_remove(p, path.at[path.n - 2], path.pos[path.n - 1]);
  nw_kids_insert(p, path.at[loop - 1], path.pos[loop] + after, path.at[path.n - 1]);
  return PLANTED;
}

static planted move_before(nw_exec *e, nw_program *p, int n, const char **at) { return (void)e, move_out(p, n, 0, at); }
static planted move_after(nw_exec *e, nw_program *p, int n, const char **at) { return (void)e, move_out(p, n, 1, at); }

// ---- barriers under a condition

static void put_under(nw_program *p, const nw_path *path, const nw_expr *cond) {
  nw_stmt *guard = nw_new_stmt(p, NW_GUARD), *barrier = path->at[path->n - 1];
  guard->guard.cond = cond;
  nw_kids_replace(path->at[path->n - 2], path->pos[path->n - 1], guard);
  nw_kids_set(p, guard, 1, &barrier);
}

typedef enum iterations { FIRST, NOT_FIRST, NOT_LAST } iterations;

static const nw_expr *in_iterations(nw_pool *pool, const nw_stmt *loop, iterations which) {
  const nw_expr *var = loop->loop.var, *begin = loop->loop.begin, *one = nw_index(pool, 1);
  const nw_expr *last = nw_sub(pool, nw_add(pool, begin, loop->loop.extent), one);
  if (which == FIRST) return nw_lt(pool, var, nw_add(pool, begin, one));
  return which == NOT_FIRST ? nw_lt(pool, begin, var) : nw_lt(pool, var, last);
}

static planted only_in(nw_program *p, int n, bool (*is)(const nw_stmt *s), iterations which, const char **at) {
  nw_path path;
  if (!find_barrier(p, n, &path)) return NO_PLACE;
  int loop = loop_around(&path, is);
  int64_t extent;
  if (!loop || (nw_is_int(path.at[loop]->loop.extent, &extent) && extent < 2)) return NO_MISTAKE;
  *at = path.at[loop]->loop.var->name;
  put_under(p, &path, in_iterations(p->pool, path.at[loop], which));
  return PLANTED;
}

static planted only_first(nw_exec *e, nw_program *p, int n, const char **at) {
  return (void)e, only_in(p, n, is_serial, FIRST, at);
}

static planted not_first(nw_exec *e, nw_program *p, int n, const char **at) {
  return (void)e, only_in(p, n, is_serial, NOT_FIRST, at);
}

static planted not_last(nw_exec *e, nw_program *p, int n, const char **at) {
  return (void)e, only_in(p, n, is_serial, NOT_LAST, at);
}

static planted first_block(nw_exec *e, nw_program *p, int n, const char **at) {
  return (void)e, only_in(p, n, nw_is_block_loop, FIRST, at);
}

static bool is_long_thread_loop(const nw_stmt *s) {
  int64_t extent;
  return nw_is_thread_loop(s) && nw_is_int(s->loop.extent, &extent) && extent > 1;
}

// Returns a loop over the threads of `like` that has a barrier in the first half of its iterations.
static nw_stmt *half(nw_program *p, const nw_stmt *like, nw_stmt *barrier) {
  nw_stmt *loop = nw_new_loop(p, nw_unique_loop_name(p, "half"), nw_index(p->pool, 0), like->loop.extent);
  nw_stmt *guard = nw_new_stmt(p, NW_GUARD);
  int64_t extent = 2;
  nw_is_int(like->loop.extent, &extent);
  loop->loop.mark = like->loop.mark;
  guard->guard.cond = nw_lt(p->pool, loop->loop.var, nw_index(p->pool, extent / 2));
  nw_kids_set(p, guard, 1, &barrier);
  nw_kids_set(p, loop, 1, &guard);
  return loop;
}

static planted half_of_threads(nw_exec *e, nw_program *p, int n, const char **at) {
  nw_path path;
  (void)e;
  if (!find_barrier(p, n, &path)) return NO_PLACE;
  nw_stmt *list = path.at[path.n - 2], *like = NULL;
  for (int i = 0; i < list->nkids && !like; i++) {
    int first = 0;
    like = nth(list->kid[i], is_long_thread_loop, &first);
  }
  if (!like) return NO_MISTAKE;
  *at = nw_loop_kind_name(like->loop.mark);
  nw_kids_replace(list, path.pos[path.n - 1], half(p, like, path.at[path.n - 1]));
  return PLANTED;
}

// ---- arrays

static nw_stmt *alloc_of(nw_stmt *s, const char *buffer, nw_stmt **parent, int *pos) {
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *kid = s->kid[i];
    if (kid->kind == NW_ALLOC && !strcmp(kid->alloc.buffer, buffer)) return *parent = s, *pos = i, kid;
    nw_stmt *found = alloc_of(kid, buffer, parent, pos);
    if (found) return found;
  }
  return NULL;
}

// All threads of a block share what each thread, or each warp, should have for itself.
static planted share_in_block(nw_exec *e, nw_program *p, int n, const char **at) {
  (void)e;
  if (n >= p->nbuffers) return NO_PLACE;
  nw_buffer *b = p->buffer[n];
  if (e->storage[n].kind != NW_STORE_GRID || (b->scope != NW_LOCAL && b->scope != NW_WARP)) return NO_MISTAKE;
  *at = b->name;
  b->scope = NW_SHARED;
  return PLANTED;
}

// All blocks share what each block should have for itself.
static planted share_in_grid(nw_exec *e, nw_program *p, int n, const char **at) {
  if (n >= p->nbuffers) return NO_PLACE;
  nw_buffer *b = p->buffer[n];
  nw_stmt *parent;
  int pos;
  nw_stmt *alloc =
      b->scope == NW_SHARED && e->storage[n].kind == NW_STORE_GRID ? alloc_of(p->root, b->name, &parent, &pos) : NULL;
  if (!alloc) return NO_MISTAKE;
  *at = b->name;
  b->scope = NW_GLOBAL;
  e->storage[n].kind = NW_STORE_WORKSPACE;
  nw_kids_remove(p, parent, pos);
  for (int i = 0; i < alloc->nkids; i++) nw_kids_insert(p, parent, pos + i, alloc->kid[i]);
  return PLANTED;
}

static planted update_plainly(nw_exec *e, nw_program *p, int n, const char **at) {
  (void)e;
  nw_stmt *store = nth(p->root, is_atomic, &n);
  if (!store) return NO_PLACE;
  *at = store->store.buffer;
  store->store.atomic = false;
  return PLANTED;
}

// ---- all mistakes

static const struct {
  const char *name; // a format for what is at the place
  planting plant;
} mistakes[] = {
    {"no barrier", remove_barrier},
    {"the barrier one statement earlier", move_up},
    {"the barrier one statement later", move_down},
    {"the barrier before the loop %s", move_before},
    {"the barrier after the loop %s", move_after},
    {"the barrier only in the first iteration of %s", only_first},
    {"the barrier not in the first iteration of %s", not_first},
    {"the barrier not in the last iteration of %s", not_last},
    {"the barrier only in the first iteration of the blocks %s", first_block},
    {"the barrier for half of the threads %s", half_of_threads},
    {"one array %s for all threads of a block", share_in_block},
    {"one array %s for all blocks", share_in_grid},
    {"the update of %s is not atomic", update_plainly},
};

static nw_exec *copy_of(const nw_exec *e, nw_program **p) {
  nw_exec *out = nw_exec_with_clocks(e, 0, NULL);
  *p = nw_program_clone(out->p);
  return out;
}

nw_exec *mutant_of(const nw_exec *e, int n, char name[MUTANT_NAME]) {
  for (int kind = 0; kind < NW_COUNT(mistakes); kind++)
    for (int place = 0;; place++) {
      nw_program *p;
      nw_exec *out = copy_of(e, &p);
      const char *at = "";
      planted done = mistakes[kind].plant(out, p, place, &at);
      bool wanted = done == PLANTED && n-- == 0;
      if (wanted) {
        int length = snprintf(name, MUTANT_NAME, "%d: ", place + 1);
        snprintf(name + length, (size_t)(MUTANT_NAME - length), mistakes[kind].name, at);
        nw_program_release(out->p);
        out->p = nw_program_freeze(p);
        return out;
      }
      nw_program_release(p);
      nw_exec_release(out);
      if (done == NO_PLACE) break;
    }
  return NULL;
}
