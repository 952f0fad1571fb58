// prefetch: in each iteration of a loop, fetches data that a later iteration uses.
#include "sched/box.h"
#include "sched/primitives.h"
#include "sched/primitives/storage.h"
#include "sched/tree.h"

enum { TENSOR, LOOP, OFFSET, REGION, MOST = 1 << 20, MANY_LINES = 64, LINE = 64 };

static bool uses(const nw_stmt *s, const char *buffer) {
  if (s->kind == NW_BLOCK && (nw_block_writes(s, buffer) || nw_block_reads(s, buffer))) return true;
  for (int i = 0; i < s->nkids; i++)
    if (uses(s->kid[i], buffer)) return true;
  return false;
}

static bool offset_ok(nw_step *st, int64_t offset) {
  int least = st->resolved[REGION].kind == NW_ARG_NONE;
  if (offset >= least && offset <= MOST) return true;
  const char *hint = nw_arena_printf(st->scratch, "give %d to %d iterations", least, MOST);
  return nw_fail(st->ctx, NW_ERANGE, hint, "prefetch: offset = %lld is out of range", (long long)offset);
}

// Adds a note if one iteration prefetches many cache lines. Does nothing if the number of lines is not constant. Rows
// are assumed to begin at the start of a line.
static void note_lines(nw_step *st, const nw_buffer *b, const nw_box *box) {
  double lines = 1;
  int64_t n;
  for (int d = 0; d < box->n; d++) {
    if (!nw_is_int(box->extent[d], &n)) return;
    if (d == box->n - 1) n = (n * nw_dtype_bytes(b->dtype) + LINE - 1) / LINE;
    lines *= (double)n;
  }
  if (lines > MANY_LINES)
    nw_step_note(st, "the step prefetches %.0f cache lines in each iteration; prefetching pays off only for a few",
                 lines);
}

static void note_beyond(nw_step *st, const nw_stmt *loop, int64_t offset) {
  int64_t n;
  if (nw_is_int(loop->loop.extent, &n) && offset >= n)
    nw_step_note(st, "%s has %lld iterations: no iteration is %lld iterations after another", loop->loop.var->name,
                 (long long)n, (long long)offset);
}

// Checks the positions of the region.
static bool region_ok(nw_step *st, const nw_buffer *b, const nw_path *path) {
  const nw_arg *region = &st->resolved[REGION];
  bool good = region->n <= b->ndim && (region->n || region->kind == NW_ARG_NONE);
  if (!good)
    return nw_fail(st->ctx, NW_ERANGE, "give one for each of its first dimensions",
                   "prefetch: region has %d positions; %s has %d dimensions", region->n, b->name, b->ndim);
  for (int d = 0; d < region->n && good; d++) good = nw_expr_known_in(st, region->item[d].expr[0], "region", path);
  return good;
}

// Replaces the first dimensions of the box by the positions of the region.
static void take_region(const nw_step *st, nw_box *box) {
  const nw_arg *region = &st->resolved[REGION];
  for (int d = 0; d < region->n; d++) {
    box->lo[d] = region->item[d].expr[0];
    box->extent[d] = nw_index(st->p->pool, 1);
  }
}

static nw_stmt *prefetch_of(nw_step *st, const nw_buffer *b, const nw_box *box, const nw_stmt *loop, int64_t offset) {
  nw_pool *pool = st->p->pool;
  nw_stmt *s = nw_new_stmt(st->p, NW_PREFETCH);
  const nw_expr *later = nw_add(pool, loop->loop.var, nw_index(pool, offset));
  s->prefetch.buffer = b->name;
  s->prefetch.n = box->n;
  s->prefetch.min = NW_NEW_N(st->p->arena, const nw_expr *, box->n + 1);
  s->prefetch.extent = NW_NEW_N(st->p->arena, const nw_expr *, box->n + 1);
  for (int d = 0; d < box->n; d++) {
    s->prefetch.min[d] = nw_subst(pool, box->lo[d], loop->loop.var->name, later);
    s->prefetch.extent[d] = nw_subst(pool, box->extent[d], loop->loop.var->name, later);
  }
  return s;
}

bool nw_apply_prefetch(void *step) {
  nw_step *st = step;
  nw_path path;
  int64_t offset = nw_step_int(st, OFFSET, st->resolved[REGION].kind == NW_ARG_NONE);
  nw_buffer *b = nw_tensor_arg(st, TENSOR);
  nw_stmt *loop = b ? nw_step_loop(st, LOOP, &path) : NULL;
  if (!loop || !offset_ok(st, offset) || !region_ok(st, b, &path)) return false;
  if (!uses(loop, b->name))
    return nw_step_refuse(st, "prefetch fetches data that a later iteration uses", loop, "%s does not use it",
                          loop->loop.var->name);
  if (b->scope == NW_LOCAL)
    return nw_step_refuse(st, "it has scope local", loop, "the tensor is on the stack, which is already in the cache");
  nw_box box = nw_box_used(st, b, loop, &path);
  take_region(st, &box);
  note_lines(st, b, &box);
  note_beyond(st, loop, offset);
  nw_kids_insert(st->p, loop, 0, prefetch_of(st, b, &box, loop, offset));
  return true;
}

// Suggests prefetching in the loops that use the tensor, innermost first.
void nw_suggest_prefetch(void *step) {
  nw_step *st = step;
  nw_blocks b = nw_blocks_below(st->scratch, st->before->root);
  const nw_stmt *stage = nw_stage_block(st->before, st->resolved[TENSOR].name);
  const nw_buffer *buffer =
      nw_find_buffer(st->before, stage ? stage->block.target[0].buffer : st->resolved[TENSOR].name);
  for (int i = 0; i < b.n && buffer; i++) {
    nw_path path;
    nw_stmt *nest[NW_MAX_DEPTH];
    if (!uses(b.at[i], buffer->name) || !nw_find(st->before, b.at[i]->id, &path)) continue;
    for (int k = nw_path_loops(&path, nest) - 1; k >= 0; k--) {
      nw_arg args[] = {st->resolved[TENSOR], {.kind = NW_ARG_LOOP, .name = nest[k]->loop.var->name}};
      nw_step_suggest(st, "prefetch", args, 2);
    }
  }
}
