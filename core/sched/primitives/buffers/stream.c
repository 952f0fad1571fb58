// stream_stores: makes the stores of a stage non-temporal. The judge decides whether this is possible. This file
// estimates whether it pays off.
#include "sched/primitives.h"
#include "sched/advice/suggest.h"
#include "sched/tree.h"

// Returns the number of bytes of a buffer, or 0 if the number is not a 64-bit constant.
static int64_t bytes_of(const nw_buffer *b) {
  int64_t bytes = nw_dtype_bytes(b->dtype), n;
  for (int d = 0; d < b->ndim; d++)
    if (!nw_is_int(b->shape[d], &n) || __builtin_mul_overflow(bytes, n, &bytes)) return 0;
  return bytes;
}

// Returns the bytes of all tensors in memory that the program uses, or 0 if a number is not a 64-bit constant.
static int64_t bytes_of_all(const nw_program *p) {
  int64_t all = 0;
  for (int i = 0; i < p->nbuffers; i++) {
    int64_t bytes = bytes_of(p->buffer[i]);
    if (p->buffer[i]->scope != NW_GLOBAL) continue;
    if (!bytes || __builtin_add_overflow(all, bytes, &all)) return 0;
  }
  return all;
}

// Adds a note if ordinary stores would keep the result in the cache. There, it needs room beside everything else that
// the program reads and writes.
static void note_size(nw_step *st, const nw_block_target *t) {
  const nw_machine *m = &st->p->target->machine;
  int64_t own = bytes_of(nw_find_buffer(st->p, t->buffer)), all = bytes_of_all(st->p);
  int64_t cache = m->nlevels ? m->level[m->nlevels - 1].bytes : 0;
  if (own && all && all <= cache)
    nw_step_note(st,
                 "%s takes %lld KiB, the program %lld KiB, and the cache has %lld KiB: ordinary stores would keep %s "
                 "there",
                 t->buffer, (long long)(own + 1023) / 1024, (long long)(all + 1023) / 1024, (long long)cache / 1024,
                 t->buffer);
}

// Adds a note about a reader inside a loop of the stage, because this reader must fetch the stored data from memory.
static void note_reader(nw_step *st, const nw_path *path, const nw_block_target *t) {
  for (int i = path->n - 2; i > 0; i--) {
    const nw_stmt *loop = path->at[i], *reader = loop->kind == NW_LOOP ? nw_tree_reader(loop, t->buffer) : NULL;
    if (!reader) continue;
    nw_step_note(st, "%s reads %s back inside %s: each line is fetched from memory again", reader->block.name,
                 t->buffer, loop->loop.var->name);
    return;
  }
}

bool nw_apply_stream_stores(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_stmt *block = nw_step_block(st, 0, &path);
  if (!block) return false;
  if (block->block.target[0].stream)
    return nw_step_refuse(st, "repeating the step has no effect", NULL, "its stores already stream");
  for (int i = 0; i < block->block.ntargets; i++) {
    block->block.target[i].stream = true;
    note_size(st, &block->block.target[i]);
    note_reader(st, &path, &block->block.target[i]);
  }
  block->step = st->p->step;
  return true;
}

// Suggests splitting the loop into whole vectors, vectorizing the inner loop, and then the refused step.
static void first_whole_vectors(nw_step *st, const nw_stmt *loop) {
  nw_arg split[] = {loop_arg(loop), int_arg(16), {0}, str_arg("cut")};
  nw_arg inner = {.kind = NW_ARG_LOOP, .name = nw_arena_printf(st->scratch, "%s_i", loop->loop.var->name)};
  nw_candidate *lanes = nw_step_candidate(st, "vectorize", &inner, 1);
  lanes->then = nw_step_again(st);
  nw_step_suggest(st, "split", split, NW_COUNT(split))->then = lanes;
}

// Suggests steps that make whole vectors. For a reduction, also suggests computing into a copy first, so that each
// element of the output is stored only once.
void nw_suggest_stream_stores(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_stmt *nest[NW_MAX_DEPTH], *block = nw_stage_block(st->before, st->resolved[0].name);
  int n = block && nw_find(st->before, block->id, &path) ? nw_path_loops(&path, nest) : 0;
  nw_arg copy[] = {stage_arg(st->resolved[0].name), str_arg("local"), {0}, {0}, {0}};
  for (int i = n - 1; i >= 0; i--) {
    first1(st, "vectorize", loop_arg(nest[i]));
    first_whole_vectors(st, nest[i]);
    copy[4] = loop_arg(nest[i]);
    if (block->block.combiner != NW_PLAIN)
      nw_step_suggest(st, "cache_write", copy, NW_COUNT(copy))->then = nw_step_again(st);
  }
  int around = 0;
  while (around < n && !nw_is_vector_loop(nest[around])) around++;
  if (n) nw_suggest_unguarded(st, block, around, nest, nw_step_again(st));
}
