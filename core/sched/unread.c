// Drops stages that no output needs. A computation may have such stages from the start, for example an output of a
// compute with several outputs that nothing reads. A step may also remove the last read of a stage, as a rewrite can.
//
// An output of a stage is needed if it is an output of the program, or if a block reads it to compute something that is
// needed. Stages that need only each other are dropped together.
#include "sched/unread.h"
#include "sched/tree.h"
#include <stdlib.h>

// ---- what is needed

typedef struct need {
  const nw_program *p;
  bool *of; // for each buffer of p
  bool grew;
} need;

static bool *flag_of(const need *n, const char *buffer) {
  for (int i = 0; i < n->p->nbuffers; i++)
    if (!strcmp(n->p->buffer[i]->name, buffer)) return &n->of[i];
  return NULL;
}

static bool is_needed(const need *n, const char *buffer) {
  const bool *flag = flag_of(n, buffer);
  return !flag || *flag;
}

static void mark(need *n, const char *buffer) {
  bool *flag = flag_of(n, buffer);
  if (!flag || *flag) return;
  *flag = n->grew = true;
}

static bool mark_load(void *env, const nw_expr *e) {
  if (e->op == NW_OP_LOAD) mark(env, e->name);
  return true;
}

static void mark_target(need *n, const nw_block_target *t) {
  mark(n, t->buffer);
  nw_visit(t->value, mark_load, n);
  nw_visit(t->init, mark_load, n);
  for (int d = 0; d < t->n && !NW_MUTATED(unread_index); d++) nw_visit(t->index[d], mark_load, n);
}

// True if all outputs of the last statement of the path, a block, are computed together: the components of a joint
// reduction use each other, and an intrinsic writes all its tiles.
static bool is_joint(const nw_path *path) {
  for (int i = 0; i < path->n - 1; i++)
    if (path->at[i]->kind == NW_CALL) return true;
  return nw_combiner_is_joint(path->at[path->n - 1]->block.combiner);
}

// Marks what a block reads, if one of its outputs is needed. A buffer that is prefetched is kept.
static bool mark_reads(void *env, const nw_path *path) {
  need *n = env;
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind == NW_PREFETCH) mark(n, s->alloc.buffer);
  if (s->kind == NW_GUARD) nw_visit(s->guard.cond, mark_load, n);
  if (s->kind != NW_BLOCK) return true;
  bool any = false;
  for (int t = 0; t < s->block.ntargets; t++) any |= is_needed(n, s->block.target[t].buffer);
  bool all = any && is_joint(path);
  for (int t = 0; t < s->block.ntargets; t++)
    if (all || is_needed(n, s->block.target[t].buffer)) mark_target(n, &s->block.target[t]);
  return true;
}

// Returns an array with an entry for each buffer: true if the buffer is needed. The caller frees it.
static bool *needed_buffers(const nw_program *p) {
  need n = {p, nw_xcalloc((size_t)p->nbuffers + 1, sizeof *n.of), true};
  for (int i = 0; i < p->nbuffers; i++) n.of[i] = p->buffer[i]->role != NW_TEMP;
  while (n.grew) {
    n.grew = false;
    nw_walk(p, mark_reads, &n);
  }
  return n.of;
}

// ---- the program without the rest

static void drop_block(nw_program *q, const nw_stmt *block) {
  nw_path path;
  nw_find(q, block->id, &path);
  nw_detach(q, &path, nw_path_exclusive(&path));
}

// Keeps the targets of a block that are needed. If there are none, removes the block.
static void keep_needed(const need *n, nw_program *q, nw_stmt *block) {
  int kept = 0, all = block->block.ntargets;
  nw_block_target *target = NW_NEW_N(q->arena, nw_block_target, all + 1);
  for (int t = 0; t < all; t++)
    if (is_needed(n, block->block.target[t].buffer)) target[kept++] = block->block.target[t];
  if (kept == all) return;
  if (!kept) return drop_block(q, block);
  block->block.target = target;
  block->block.ntargets = kept;
  block->step = q->step;
}

static void add_name(nw_str *names, const char *name, bool last) {
  nw_str_fmt(names, "%s%s", !names->n ? "" : last ? " and " : ", ", name);
}

nw_program *nw_without_unread(const nw_program *p, nw_str *names) {
  need n = {p, needed_buffers(p), false};
  int left = 0;
  for (int i = 0; i < p->nbuffers; i++) left += !n.of[i];
  nw_program *q = left ? nw_program_clone(p) : NULL;
  if (q) {
    q->step = p->step;
    nw_arena *scratch = nw_arena_scratch();
    nw_blocks b = nw_blocks_below(scratch, q->root);
    for (int i = 0; i < b.n; i++) keep_needed(&n, q, b.at[i]);
    nw_arena_free(scratch);
    for (int i = 0; i < p->nbuffers; i++) {
      if (n.of[i]) continue;
      add_name(names, p->buffer[i]->name, --left == 0);
      nw_splice_alloc(q, p->buffer[i]->name);
      nw_remove_buffer(q, p->buffer[i]->name);
    }
    q = nw_program_freeze(q);
  }
  free(n.of);
  return q;
}

// ---- with the judge

// Returns the program to use instead of p: p itself if there is nothing to drop, or if the judge does not agree. Takes
// over the reference to p. Returns NULL with an error if the user interrupts the judge.
static nw_program *dropped(nw_program *p, nw_str *names) {
  nw_program *q = nw_without_unread(p, names);
  bool ok = q && nw_judge(p, q);
  const nw_diag *e = nw_error(p->ctx);
  if (!ok && e && (e->code == NW_EINTERRUPT || e->code == NW_EMEMORY || e->code == NW_EINTERNAL)) {
    nw_program_release(p);
    nw_program_release(q);
    return NULL;
  }
  if (!ok) nw_clear(p->ctx);
  if (!ok) names->n = 0;
  nw_program_release(ok ? p : q);
  return ok ? q : p;
}

static char *sentence(const nw_str *names) {
  nw_str b = {0};
  bool several = strchr(names->s, ' ') != NULL;
  nw_str_fmt(&b, "dropped %s, since no output needs %s", names->s, several ? "them" : "it");
  return nw_str_take(&b);
}

// Records that the loops of `before` that p does not have were dropped.
static void forget_loops(nw_step *st, const nw_program *before, const nw_program *p) {
  nw_vec loops = {0};
  nw_path path;
  nw_tree_loops(before->root, &loops);
  for (int i = 0; i < loops.n; i++) {
    const nw_stmt *loop = loops.at[i];
    if (!nw_find(p, loop->id, &path)) nw_step_replaces(st, loop->id, 0, NULL, "dropped, since no output needs it");
  }
  nw_vec_free(&loops);
}

nw_program *nw_step_drop_unread(nw_step *st, nw_program *p) {
  if (st->sched->unsafe) return p;
  nw_str names = {0};
  nw_program *before = nw_program_retain(p), *after = dropped(p, &names);
  if (after && names.n) {
    char *note = sentence(&names);
    nw_step_note(st, "%s", note);
    forget_loops(st, before, after);
    free(note);
  }
  nw_program_release(before);
  nw_str_free(&names);
  return after;
}

nw_program *nw_first_drop_unread(nw_program *p, char **note) {
  nw_str names = {0};
  nw_program *q = nw_without_unread(p, &names);
  *note = q ? sentence(&names) : NULL;
  nw_str_free(&names);
  if (!q && !nw_error(p->ctx)) return p;
  nw_program_release(p);
  return q;
}
