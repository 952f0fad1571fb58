// rolling_buffer: stores only the rows that are needed at the same time, and reuses their storage cyclically.
#include "poly/poly.h"
#include "sched/primitives/buffers/fold.h"
#include "sched/primitives/place.h"
#include "sched/primitives.h"
#include "sched/site.h"
#include "sched/tree.h"

enum { ROLL_STAGE, ROLL_DIM, ROLL_SIZE };

typedef struct roll {
  nw_step *st;
  nw_buffer *buffer;
  const nw_stmt *alloc;
  nw_stmt *loop; // the innermost loop around the stage; each iteration computes a part
  nw_box window; // the part that one iteration reads
} roll;

static bool can_roll(roll *x, const nw_path *path) {
  nw_step *st = x->st;
  const char *name = x->buffer->name;
  if (x->buffer->role != NW_TEMP)
    return nw_step_refuse(st, "the caller needs all of its elements", NULL, "%s is an %s", name,
                          x->buffer->role == NW_INPUT ? "input" : "output");
  if (!nw_can_fold_buffer(x->buffer))
    return nw_step_refuse(st, "only a layout that reorders the dimensions can become cyclic", NULL,
                          "%s already has a layout", name);
  x->loop = nw_loop_around(path);
  if (!x->loop)
    return nw_step_refuse(
        st, "all of it is needed at once; use compute_at and store_at so that only a moving window is needed", NULL,
        "%s is computed as a whole", name);
  x->alloc = nw_find_alloc(st->p, name);
  if (nw_tree_has(x->loop, x->alloc))
    return nw_step_refuse(st, "use store_at to keep it over the iterations of a loop; the rows in use then move",
                          x->loop, "%s is allocated anew in every iteration of %s", name, x->loop->loop.var->name);
  return true;
}

// Returns the number of rows of dimension d that one iteration reads. Returns 0 if the number is not constant, or if
// the iteration reads all stored rows.
static int64_t rows_in_use(const roll *x, int d) {
  int64_t rows, stored;
  if (!nw_is_int(x->window.extent[d], &rows)) return 0;
  return nw_is_int(x->alloc->alloc.extent[d], &stored) && stored <= rows ? 0 : rows;
}

static bool find_dim(const roll *x, int *out) {
  nw_step *st = x->st;
  int64_t dim = nw_step_int(st, ROLL_DIM, 0), n = x->buffer->ndim;
  if (nw_step_given(st, ROLL_DIM) && (dim < 1 || dim > n)) {
    nw_fail(st->ctx, NW_ERANGE, NULL, "rolling_buffer: dim must be 1 to %lld, not %lld", (long long)n, (long long)dim);
    return false;
  }
  for (int d = dim ? (int)dim - 1 : 0; d < (dim ? dim : n); d++)
    if (rows_in_use(x, d) || nw_step_given(st, ROLL_SIZE)) return *out = d, true;
  return nw_step_refuse(st, "an iteration uses all stored elements", x->loop,
                        "the elements of %s in use are the same in all iterations of %s", x->buffer->name,
                        x->loop->loop.var->name);
}

static int64_t power_of_two(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

static void fold(const roll *x, nw_program *p, const nw_stmt *block, int d, int64_t size) {
  for (int t = 0; t < block->block.ntargets; t++)
    nw_fold_buffer(p, nw_find_buffer(p, block->block.target[t].buffer), d, size);
  nw_find_alloc(p, x->buffer->name)->step = p->step;
}

// True if no row is overwritten while it is needed.
static bool suffices(const roll *x, const nw_stmt *block, int d, int64_t size) {
  nw_step *st = x->st;
  nw_program *q = nw_program_clone(st->p);
  q->step = st->p->step;
  fold(x, q, block, d, size);
  q = nw_program_freeze(q);
  bool ok = q && nw_judge(st->before, q);
  nw_program_release(q);
  if (!ok && !nw_stopped(st->ctx)) nw_clear(st->ctx);
  return ok;
}

// Returns the smallest power of two that suffices. The rows that one iteration reads may be too few, since other stages
// read the first rows before the loop. If none suffices, returns the first, so that the refusal is about this number.
static int64_t smallest_size(const roll *x, const nw_stmt *block, int d, int64_t rows) {
  enum { TRIED = 5 };
  int64_t least = power_of_two(rows), stored;
  bool limited = nw_is_int(x->alloc->alloc.extent[d], &stored);
  for (int64_t size = least; size < least << TRIED && !x->st->sched->unsafe; size *= 2) {
    if (limited && size >= stored && size > least) return least;
    if (nw_stopped(x->st->ctx) || suffices(x, block, d, size)) return size;
  }
  return least;
}

// Finds the number of rows to store. The default is a power of two, because a remainder by a power of two takes a
// single instruction.
static bool find_size(const roll *x, const nw_stmt *block, int d, int64_t *out) {
  enum { MOST = 1 << 30 };
  nw_step *st = x->st;
  int64_t rows = rows_in_use(x, d), given = nw_step_int(st, ROLL_SIZE, 1);
  if (given < 1 || given > MOST) {
    nw_fail(st->ctx, NW_ERANGE, NULL, "rolling_buffer: size must be 1 to %d, not %lld", MOST, (long long)given);
    return false;
  }
  *out = nw_step_given(st, ROLL_SIZE) ? given : smallest_size(x, block, d, rows);
  if (nw_stopped(st->ctx)) return false;
  if (*out > power_of_two(rows) && !nw_step_given(st, ROLL_SIZE))
    nw_step_note(st, "%lld rows of %s are stored: an iteration uses %lld, but a smaller power of two is too few",
                 (long long)*out, x->buffer->name, (long long)rows);
  else if (*out != rows && rows && !nw_step_given(st, ROLL_SIZE))
    nw_step_note(st, "%lld rows of %s are used at once; %lld are stored, a power of two", (long long)rows,
                 x->buffer->name, (long long)*out);
  return true;
}

bool nw_apply_rolling_buffer(void *step) {
  nw_step *st = step;
  roll x = {.st = st};
  nw_path own, at;
  int dim = 0;
  int64_t size = 0;
  nw_stmt *block = nw_step_block(st, ROLL_STAGE, &own);
  if (!block) return false;
  x.buffer = nw_find_buffer(st->p, block->block.target[0].buffer);
  if (!can_roll(&x, &own)) return false;
  nw_find(st->p, x.loop->id, &at);
  x.window = nw_box_read(st, block, x.loop, &at);
  if (!find_dim(&x, &dim) || !find_size(&x, block, dim, &size)) return false;
  fold(&x, st->p, block, dim, size);
  return true;
}
