// Finds the loops that are bound to blocks and threads of a grid, and the launches of a program.
//
// A program with bound loops is a sequence of launches. Each outermost loop that is bound to blockIdx is a launch, and
// the host runs the statements around it in order. A nest without a loop that is bound to blockIdx is a launch of one
// block. If a statement in a launch is not inside a loop that is bound to some index, such as threadIdx.x, it runs only
// where this index is 0.
#include "ir/program/program.h"

const char *const nw_grid_index[NW_GRID_DIMS] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                                 "threadIdx.x", "threadIdx.y", "threadIdx.z"};

static bool marked(const nw_stmt *s, nw_loop_kind from, nw_loop_kind to) {
  return s->kind == NW_LOOP && s->loop.mark >= from && s->loop.mark <= to;
}

bool nw_is_block_loop(const nw_stmt *s) { return marked(s, NW_BLOCK_X, NW_BLOCK_Z); }
bool nw_is_thread_loop(const nw_stmt *s) { return marked(s, NW_THREAD_X, NW_THREAD_Z); }
bool nw_is_vthread_loop(const nw_stmt *s) { return marked(s, NW_VTHREAD, NW_VTHREAD); }
bool nw_is_bound_loop(const nw_stmt *s) { return marked(s, NW_BLOCK_X, NW_VTHREAD); }

int nw_grid_dim(const nw_stmt *s) { return marked(s, NW_BLOCK_X, NW_THREAD_Z) ? (int)(s->loop.mark - NW_BLOCK_X) : -1; }

static const nw_stmt *find(const nw_stmt *s, bool (*is)(const nw_stmt *s)) {
  if (is(s)) return s;
  for (int i = 0; i < s->nkids; i++) {
    const nw_stmt *found = find(s->kid[i], is);
    if (found) return found;
  }
  return NULL;
}

const nw_stmt *nw_find_bound(const nw_stmt *s) { return find(s, nw_is_bound_loop); }

bool nw_is_launch(const nw_program *p, const nw_stmt *s) {
  if (s->kind == NW_SEQ) return false;
  if (s->kind == NW_ALLOC && nw_find_buffer(p, s->alloc.buffer)->scope == NW_GLOBAL) return false;
  return nw_is_bound_loop(s) || !find(s, nw_is_block_loop);
}

int nw_launch_on(const nw_program *p, const nw_path *path) {
  if (!nw_find_bound(p->root)) return -1;
  for (int i = 0; i < path->n; i++)
    if (nw_is_launch(p, path->at[i])) return i;
  return -1;
}
