// Suggests steps after the refusal of a step that changes where a stage is computed, how it is stored, or how it is
// reduced.
#include "sched/primitives.h"
#include "sched/advice/suggest.h"
#include "sched/tree.h"

// Returns the buffer that the stage writes, or the last stage of the unit.
static const char *buffer_of(nw_step *st, const char *stage) {
  const nw_stmt *unit = stage ? nw_find_unit(st->before, stage) : NULL;
  if (unit) {
    nw_blocks b = nw_blocks_below(st->scratch, unit);
    if (b.n) return b.at[b.n - 1]->block.target[0].buffer;
  }
  const nw_stmt *block = stage ? nw_stage_block(st->before, stage) : NULL;
  return block ? block->block.target[0].buffer : stage;
}

// Suggests computing the stage in each loop around its first reader, innermost loop first. If `then` is not NULL, this
// step must be legal after the move.
static void offer_places(nw_step *st, const char *stage, nw_candidate *then) {
  nw_path path;
  nw_stmt *nest[NW_MAX_DEPTH];
  const char *buffer = buffer_of(st, stage);
  const nw_stmt *reader = buffer ? nw_tree_reader(st->before->root, buffer) : NULL;
  if (!reader || !nw_find(st->before, reader->id, &path)) return;
  int n = nw_path_loops(&path, nest);
  for (int i = n - 1; i >= 0; i--)
    nw_step_suggest(st, "compute_at", (nw_arg[]){stage_arg(stage), loop_arg(nest[i])}, 2)->then = then;
}

static bool is_temp(const nw_program *p, const char *buffer) {
  const nw_buffer *b = buffer ? nw_find_buffer(p, buffer) : NULL;
  return b && b->role == NW_TEMP;
}

// For an output of the program, suggests a copy. The output itself cannot be moved, but the copy can.
static void offer_copy(nw_step *st, const char *stage) {
  if (!is_temp(st->before, buffer_of(st, stage))) offer2(st, "cache_write", stage_arg(stage), str_arg("global"));
}

// Suggests a primitive that takes one stage, for every temporary other than `except`.
static void offer_other_stages(nw_step *st, const char *primitive, const char *except) {
  nw_blocks b = nw_blocks_below(st->scratch, st->before->root);
  for (int i = 0; i < b.n; i++)
    if (strcmp(b.at[i]->block.name, except) && is_temp(st->before, b.at[i]->block.target[0].buffer))
      offer1(st, primitive, stage_arg(b.at[i]->block.name));
}

void nw_suggest_compute_at(void *step) {
  nw_step *st = step;
  const char *stage = st->resolved[0].name;
  offer_places(st, stage, NULL);
  offer1(st, "compute_root", stage_arg(stage));
  offer1(st, "compute_inline", stage_arg(stage));
  offer_copy(st, stage);
}

static nw_candidate *store_whole(nw_step *st, const char *stage) {
  return nw_step_candidate(st, "store_at", (nw_arg[]){stage_arg(stage)}, 1);
}

// Suggests storage at other loops. Also suggests removing the marks of loops around the stage, or first computing the
// stage inside a loop.
void nw_suggest_store_at(void *step) {
  nw_step *st = step;
  nw_stmt *nest[NW_MAX_DEPTH];
  const char *stage = st->resolved[0].name;
  int n = nw_suggest_nest_of(st, stage, nest);
  first_unmarks(st, n, nest);
  for (int i = n - 1; i >= 0; i--) offer2(st, "store_at", stage_arg(stage), loop_arg(nest[i]));
  offer1(st, "store_at", stage_arg(stage));
  offer_places(st, stage, store_whole(st, stage));
}

// Suggests removing the marks of loops, whose threads would share the storage, other loops around the storage, and first
// computing the stage inside a loop.
void nw_suggest_hoist_storage(void *step) {
  nw_step *st = step;
  nw_stmt *nest[NW_MAX_DEPTH];
  const char *stage = st->resolved[0].name;
  int n = nw_suggest_nest_of(st, stage, nest);
  first_unmarks(st, n, nest);
  for (int i = 0; i < n; i++) offer2(st, "hoist_storage", stage_arg(stage), loop_arg(nest[i]));
  offer_places(st, stage, nw_step_again(st));
}

// Suggests moving the stage into another loop of its input, innermost loop first. Also suggests moving the input to the
// stage instead.
void nw_suggest_reverse_compute_at(void *step) {
  nw_step *st = step;
  nw_stmt *nest[NW_MAX_DEPTH];
  const char *stage = st->resolved[0].name;
  const nw_stmt *block = nw_stage_block(st->before, stage);
  nw_blocks b = nw_blocks_below(st->scratch, st->before->root);
  for (int i = 0; block && i < b.n; i++) {
    if (b.at[i] == block || !nw_block_reads(block, b.at[i]->block.target[0].buffer)) continue;
    int n = nw_suggest_nest_of(st, b.at[i]->block.name, nest);
    for (int k = n - 1; k >= 0; k--) offer2(st, "reverse_compute_at", stage_arg(stage), loop_arg(nest[k]));
    n = nw_suggest_nest_of(st, stage, nest);
    for (int k = n - 1; k >= 0; k--) offer2(st, "compute_at", stage_arg(b.at[i]->block.name), loop_arg(nest[k]));
  }
}

void nw_suggest_compute_inline(void *step) {
  nw_step *st = step;
  const char *stage = st->resolved[0].name;
  offer_places(st, stage, NULL);
  offer_other_stages(st, "compute_inline", stage);
  offer_copy(st, stage);
}

// Suggests inlining the stage's input instead, or moving the stage into a loop of its input.
void nw_suggest_reverse_compute_inline(void *step) {
  nw_step *st = step;
  const char *stage = st->resolved[0].name;
  const nw_stmt *block = nw_stage_block(st->before, stage);
  nw_blocks b = nw_blocks_below(st->scratch, st->before->root);
  for (int i = 0; block && i < b.n; i++)
    if (b.at[i] != block && nw_block_reads(block, b.at[i]->block.target[0].buffer))
      offer1(st, "compute_inline", stage_arg(b.at[i]->block.name));
  nw_suggest_reverse_compute_at(step);
  offer_other_stages(st, "reverse_compute_inline", stage);
  offer1(st, "compute_inline", stage_arg(stage));
}

void nw_suggest_compute_root(void *step) {
  nw_step *st = step;
  offer_places(st, st->resolved[0].name, NULL);
  offer_other_stages(st, "compute_root", st->resolved[0].name);
  offer_copy(st, st->resolved[0].name);
}

// ---- storage

// Suggests a copy inside the requested loop, for the readers in that loop only.
static void offer_readers_inside(nw_step *st, const char *buffer) {
  nw_path path;
  nw_arg args[] = {st->resolved[0], st->resolved[1], {.kind = NW_ARG_LIST}, st->resolved[3],
                   st->resolved[4], st->resolved[5], st->resolved[6]};
  if (!buffer || !args[5].i || !nw_find(st->before, (int)args[5].i, &path)) return;
  nw_blocks b = nw_blocks_below(st->scratch, path.at[path.n - 1]);
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, b.n + 1);
  for (int i = 0; i < b.n; i++)
    if (nw_block_reads(b.at[i], buffer)) item[args[2].n++] = stage_arg(b.at[i]->block.name);
  args[2].item = item;
  if (args[2].n) nw_step_suggest(st, "cache_read", args, NW_COUNT(args));
}

// On a grid, suggests the same copy for each thread, without the loop that was given, and the same copy in other scopes of the
// target.
static void offer_scopes(nw_step *st) {
  nw_arg args[] = {st->resolved[0], st->resolved[1],       st->resolved[2], st->resolved[3],
                   st->resolved[4], {.kind = NW_ARG_NONE}, st->resolved[6]};
  const nw_limits *limit = &st->before->target->limit;
  const char *scope = st->resolved[1].name;
  if (!scope || !nw_find_bound(st->before->root)) return;
  if (st->resolved[5].i && !strcmp(scope, "local")) nw_step_suggest(st, "cache_read", args, NW_COUNT(args));
  args[5] = st->resolved[5];
  for (int i = 0; i < limit->nscopes; i++) {
    args[1] = str_arg(limit->scope[i].name);
    if (strcmp(scope, limit->scope[i].name) && strcmp("global", limit->scope[i].name))
      nw_step_suggest(st, "cache_read", args, NW_COUNT(args));
  }
}

void nw_suggest_cache_read(void *step) {
  nw_step *st = step;
  const char *tensor = st->resolved[0].name;
  offer_readers_inside(st, buffer_of(st, tensor));
  offer_scopes(st);
  offer2(st, "cache_read", stage_arg(tensor), str_arg("global"));
  const nw_stmt *block = tensor ? nw_stage_block(st->before, tensor) : NULL;
  for (int i = 0; i < st->before->nbuffers; i++) {
    const char *other = st->before->buffer[i]->name;
    if (strcmp(other, tensor) && block && nw_block_reads(block, other))
      offer2(st, "cache_read", stage_arg(other), str_arg("global"));
  }
  offer2(st, "cache_write", stage_arg(tensor), str_arg("global"));
}

// Suggests a buffer inside the innermost loop along the output, because a part of the output may fit where the whole
// output does not. Also suggests the global scope, and other stages.
void nw_suggest_cache_write(void *step) {
  nw_step *st = step;
  nw_stmt *nest[NW_MAX_DEPTH];
  const char *stage = st->resolved[0].name;
  const nw_stmt *block = nw_stage_block(st->before, stage);
  int n = nw_suggest_nest_of(st, stage, nest);
  for (int i = n - 1; i >= 0; i--) {
    if (nw_loop_binds(block, nest[i], true) || nw_is_vector_loop(nest[i])) continue;
    nw_arg args[] = {
        stage_arg(stage), st->resolved[1], {.kind = NW_ARG_NONE}, {.kind = NW_ARG_NONE}, loop_arg(nest[i])};
    nw_step_suggest(st, "cache_write", args, NW_COUNT(args));
    break;
  }
  offer2(st, "cache_write", stage_arg(stage), str_arg("global"));
  nw_blocks b = nw_blocks_below(st->scratch, st->before->root);
  for (int i = 0; i < b.n; i++) offer2(st, "cache_write", stage_arg(b.at[i]->block.name), str_arg("global"));
}

// Suggests the first read, other tensors that the stage reads, and a copy with the dimensions of the tensor.
void nw_suggest_reindex(void *step) {
  nw_step *st = step;
  const char *stage = st->resolved[0].name, *tensor = st->resolved[1].name;
  const nw_stmt *block = stage ? nw_stage_block(st->before, stage) : NULL;
  nw_arg args[] = {st->resolved[0], st->resolved[1], int_arg(1)};
  if (!nw_step_given(st, 2)) nw_step_suggest(st, "reindex", args, NW_COUNT(args));
  for (int i = 0; block && i < st->before->nbuffers; i++) {
    const char *other = st->before->buffer[i]->name;
    if (strcmp(other, tensor) && nw_block_reads(block, other))
      offer2(st, "reindex", stage_arg(stage), stage_arg(other));
  }
  offer2(st, "cache_read", stage_arg(tensor), str_arg("global"));
  if (!block || !nw_block_writes(block, buffer_of(st, tensor))) return;
  offer2(st, "reindex", stage_arg(stage), stage_arg(tensor));
  offer2(st, "cache_write", stage_arg(stage), str_arg("global"));
}

// Suggests the other stages, and the whole stage if a loop was given.
void nw_suggest_cache_index(void *step) {
  nw_step *st = step;
  nw_blocks b = nw_blocks_below(st->scratch, st->before->root);
  nw_arg whole[] = {st->resolved[0]};
  if (st->resolved[0].name) nw_step_suggest(st, "cache_index", whole, 1);
  for (int i = 0; i < b.n; i++) {
    nw_arg other[] = {stage_arg(b.at[i]->block.name)};
    nw_step_suggest(st, "cache_index", other, 1);
  }
}

// Suggests other dimensions. Also suggests steps before the refused step: removing marks, so that threads do not share
// the buffer, and moving the stage or its storage, so that each iteration uses only a moving window of rows.
void nw_suggest_rolling_buffer(void *step) {
  nw_step *st = step;
  nw_stmt *nest[NW_MAX_DEPTH];
  const char *stage = st->resolved[0].name, *buffer = buffer_of(st, stage);
  const nw_buffer *b = buffer ? nw_find_buffer(st->before, buffer) : NULL;
  first_unmarks(st, nw_suggest_nest_of(st, stage, nest), nest);
  for (int d = 1; b && d <= b->ndim; d++) offer2(st, "rolling_buffer", stage_arg(stage), int_arg(d));
  first1(st, "store_at", stage_arg(stage));
  nw_candidate *window = store_whole(st, stage);
  window->then = nw_step_again(st);
  offer_places(st, stage, window);
}

// Suggests removing the marks of loops around the stage, or computing the stage in another loop.
void nw_suggest_double_buffer(void *step) {
  nw_step *st = step;
  nw_stmt *nest[NW_MAX_DEPTH];
  const char *stage = st->resolved[0].name;
  first_unmarks(st, nw_suggest_nest_of(st, stage, nest), nest);
  offer_places(st, stage, nw_step_again(st));
}

// Suggests computing the tensor inside a loop, so that only a part of it is stored at a time. Also suggests a copy in
// the requested scope.
void nw_suggest_set_scope(void *step) {
  nw_step *st = step;
  const char *tensor = st->resolved[0].name;
  if (is_temp(st->before, buffer_of(st, tensor))) offer_places(st, tensor, nw_step_again(st));
  if (nw_find_bound(st->before->root)) offer2(st, "set_scope", stage_arg(tensor), str_arg("shared"));
  offer2(st, "cache_read", stage_arg(tensor), st->resolved[1]);
  offer2(st, "cache_write", stage_arg(tensor), st->resolved[1]);
}

// Suggests dtypes of the same kind, those with the fewest bits first. For the result of a reduction, suggests a buffer
// for the updates, after which the refused step is possible; for a parameter, a copy, which can have another dtype.
void nw_suggest_set_dtype(void *step) {
  static const char *const dtypes[] = {"bf16", "f16", "f32", "f64", "i8",  "u8",
                                       "i16",  "u16", "i32", "u32", "i64", "u64"};
  nw_step *st = step;
  const char *tensor = st->resolved[0].name, *name = buffer_of(st, tensor);
  const nw_buffer *b = name ? nw_find_buffer(st->before, name) : NULL;
  nw_dtype to;
  if (!is_temp(st->before, name)) {
    offer2(st, "cache_read", stage_arg(tensor), str_arg("global"));
    offer2(st, "cache_write", stage_arg(tensor), str_arg("global"));
    return;
  }
  first2(st, "cache_write", stage_arg(tensor), str_arg("global"));
  for (int i = 0; i < NW_COUNT(dtypes); i++)
    if (nw_dtype_parse(dtypes[i], &to) && to != b->dtype && nw_dtype_is_float(to) == nw_dtype_is_float(b->dtype) &&
        nw_dtype_bytes(to) <= nw_dtype_bytes(b->dtype))
      offer2(st, "set_dtype", stage_arg(tensor), str_arg(dtypes[i]));
}

// ---- reductions

void nw_suggest_decompose_reduction(void *step) {
  nw_step *st = step;
  nw_stmt *nest[NW_MAX_DEPTH];
  const char *stage = st->resolved[0].name;
  const nw_stmt *block = nw_stage_block(st->before, stage);
  int n = nw_suggest_nest_of(st, stage, nest), first = n - 1;
  for (int i = n - 1; i >= 0; i--)
    if (nw_loop_binds(block, nest[i], true)) first = i;
  for (int i = first; i >= 0; i--) offer2(st, "decompose_reduction", stage_arg(stage), loop_arg(nest[i]));
}

// Suggests other loops around the stage. If the stage is a reduction, suggests splitting off its init.
void nw_suggest_decompose_padding(void *step) {
  nw_step *st = step;
  nw_stmt *nest[NW_MAX_DEPTH];
  const char *stage = st->resolved[0].name;
  const nw_stmt *block = nw_stage_block(st->before, stage);
  for (int i = nw_suggest_nest_of(st, stage, nest) - 1; i >= 0; i--)
    offer2(st, "decompose_padding", stage_arg(stage), loop_arg(nest[i]));
  if (block && block->block.has_init) nw_suggest_decompose_reduction(step);
}

void nw_suggest_rfactor(void *step) {
  nw_step *st = step;
  nw_stmt *nest[NW_MAX_DEPTH];
  nw_blocks b = nw_blocks_below(st->scratch, st->before->root);
  for (int other = 0; other < 2; other++)
    for (int i = 0; i < b.n; i++) {
      const char *stage = b.at[i]->block.name;
      bool asked = !strcmp(stage, st->resolved[0].name);
      if (asked == (other > 0) || !b.at[i]->block.has_init) continue;
      for (int n = nw_suggest_nest_of(st, stage, nest); n > 0; n--)
        if (nw_loop_binds(b.at[i], nest[n - 1], true)) offer2(st, "rfactor", stage_arg(stage), loop_arg(nest[n - 1]));
    }
}

void nw_suggest_atomic(void *step) {
  nw_step *st = step;
  nw_blocks b = nw_blocks_below(st->scratch, st->before->root);
  nw_suggest_rfactor(st);
  for (int i = 0; i < b.n; i++)
    if (b.at[i]->block.combiner != NW_PLAIN) offer1(st, "atomic", stage_arg(b.at[i]->block.name));
}
