// Checks non-temporal (streaming) stores. CPUs have streaming stores only for whole vectors at aligned addresses. So a
// stage with streaming stores must be vectorized. Its lanes must be adjacent, no lane may be masked, and the first lane
// must be aligned to the size of the vector.
#include "ir/program/physical.h"
#include "poly/internal.h"

typedef struct stream {
  const nw_model *m;
  const nw_path *path; // the path from the root to the block
  const nw_stmt *block, *vector;
  const nw_buffer *buffer;
  nw_ranges r; // ranges and facts at the block
  nw_answer answer;
} stream;

static bool refuse(stream *s, const nw_stmt *loop, const char *fmt, ...) NW_PRINTF(3, 4);
static bool refuse(stream *s, const nw_stmt *loop, const char *fmt, ...) {
  nw_str why = {0};
  va_list args;
  va_start(args, fmt);
  nw_str_fmt(&why, "%s streams its stores, but ", s->block->block.name);
  nw_str_vfmt(&why, fmt, args);
  va_end(args);
  s->answer = nw_tell(s->m, NW_REFUSE_STRUCTURE, loop, NULL, "%s", why.s);
  nw_str_free(&why);
  return false;
}

// ---- stores that may stream

static bool is_memory(stream *s) {
  if (s->block->block.combiner != NW_PLAIN)
    return refuse(s, NULL, "each update of %s reads the element it has just stored", s->buffer->name);
  if (s->buffer->scope == NW_LOCAL)
    return refuse(s, NULL, "%s has scope local: it stays on the stack and is not sent to memory", s->buffer->name);
  return true;
}

// ---- vectors and alignment

static const nw_stmt *vector_around(const nw_path *path) {
  for (int i = path->n - 2; i >= 0; i--)
    if (nw_is_vector_loop(path->at[i])) return path->at[i];
  return NULL;
}

static bool varies(const stream *s, const nw_expr *cond) {
  return cond && nw_uses_var(cond, s->vector->loop.var->name) && !nw_prove(&s->r, cond);
}

static bool is_whole(stream *s) {
  bool masked = varies(s, s->block->block.where);
  for (int i = 0; i < s->path->n; i++)
    masked |= s->path->at[i]->kind == NW_GUARD && varies(s, s->path->at[i]->guard.cond);
  if (masked) return refuse(s, s->vector, "a lane of %s may be masked off", s->vector->loop.var->name);
  return true;
}

// Returns the number of elements that one streaming store writes: the whole vector, or 64 bytes of a longer vector.
// Returns 0 if the CPU has no streaming store for this vector.
static int64_t piece(const stream *s) {
  int64_t lanes, each = nw_dtype_bytes(s->buffer->dtype);
  if (!nw_is_int(s->vector->loop.extent, &lanes)) return 0;
  int64_t bytes = lanes * each;
  if (bytes == 16 || bytes == 32) return lanes;
  return bytes > 0 && bytes % 64 == 0 ? 64 / each : 0;
}

static const nw_physical *physical(stream *s) {
  const nw_program *p = s->m->p;
  if (s->buffer->role != NW_TEMP) return nw_physical_param(s->m->arena, p, s->buffer);
  const char *loop[NW_MAX_DEPTH];
  int n = 0;
  nw_path upto = *s->path;
  const nw_stmt *alloc = s->buffer->alloc;
  for (upto.n = 0; !alloc && upto.n < s->path->n; upto.n++) {
    const nw_stmt *at = s->path->at[upto.n];
    if (at->kind == NW_LOOP) loop[n++] = at->loop.var->name;
    if (at->kind == NW_ALLOC && !strcmp(at->alloc.buffer, s->buffer->name)) alloc = at;
  }
  nw_ranges r;
  nw_ranges_of(&r, p, &upto);
  const nw_physical *place = alloc ? nw_physical_alloc(s->m->arena, p, &r, alloc, n, loop) : NULL;
  nw_ranges_free(&r);
  return place;
}

// Returns the linear index of the stored element, as an expression of loop variables.
static const nw_expr *linear(stream *s, const nw_block_target *t) {
  const nw_physical *place = physical(s);
  const nw_expr *index[NW_MAX_DEPTH];
  for (int d = 0; d < t->n; d++) index[d] = nw_simplify(&s->r, nw_block_bound(s->m->p, s->block, t->index[d]));
  return place ? nw_physical_index(place, &s->r, index) : NULL;
}

static bool is_aligned(stream *s, const nw_block_target *t) {
  const char *var = s->vector->loop.var->name;
  const nw_expr *at = linear(s, t), *rest;
  int64_t step, multiple = piece(s);
  if (!at) return s->answer = NW_ABORTED, false;
  if (!nw_affine(s->m->p->pool, at, 1, &var, &step, &rest) || step != 1)
    return refuse(s, s->vector, "adjacent lanes of %s are not adjacent in %s", var, s->buffer->name);
  if (!multiple)
    return refuse(s, s->vector,
                  "vectors of %s must have 16, 32 or a multiple of 64 bytes; those of %s have another size",
                  s->buffer->name, var);
  rest = nw_add(s->m->p->pool, rest, s->vector->loop.begin);
  if (!nw_divides(&s->r, rest, multiple))
    return refuse(s, s->vector, "not all of its vectors begin at a multiple of %lld elements of %s",
                  (long long)multiple, s->buffer->name);
  return true;
}

static bool check_target(stream *s, const nw_block_target *t) {
  nw_ctx *c = s->m->p->ctx;
  s->buffer = nw_find_buffer(s->m->p, t->buffer);
  if (NW_RULE(c, stream_plain) && !is_memory(s)) return false;
  if (!NW_RULE(c, stream_vector)) return true;
  s->vector = vector_around(s->path);
  if (!s->vector) return refuse(s, NULL, "they are scalar: no loop around %s is vectorized", s->block->block.name);
  return is_whole(s) && is_aligned(s, t);
}

static bool check_block(void *env, const nw_path *path) {
  stream *s = env;
  s->block = path->at[path->n - 1];
  s->path = path;
  bool any = false, good = true;
  for (int t = 0; s->block->kind == NW_BLOCK && t < s->block->block.ntargets; t++)
    any |= s->block->block.target[t].stream;
  if (!any) return true;
  nw_ranges_of(&s->r, s->m->p, path);
  for (int t = 0; good && t < s->block->block.ntargets; t++)
    if (s->block->block.target[t].stream) good = check_target(s, &s->block->block.target[t]);
  nw_ranges_free(&s->r);
  return good;
}

nw_answer nw_check_streams(const nw_model *m) {
  stream s = {.m = m, .answer = NW_HOLDS};
  nw_walk(m->p, check_block, &s);
  return s.answer;
}
