// Checks cross-thread reductions (ir/program/cross.h). The judge makes the program in which each thread has a partial
// result and the threads combine them, and makes two checks of it. First, it must compute the same values: each element
// gets each contribution once, through the partial results, after its init and before it is read. Second, all threads
// of the block must reach the barriers, and must see the elements that they read.
#include "ir/program/cross.h"
#include "poly/internal.h"

typedef struct target {
  const char *buffer;
  bool found;
} target;

static bool see_target(void *env, const nw_path *path) {
  target *t = env;
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind != NW_BLOCK || !nw_block_writes(s, t->buffer)) return true;
  for (int i = 0; i < path->n - 1; i++) t->found |= nw_crosses(s, path->at[i]);
  return !t->found;
}

static bool is_target(const nw_program *p, const char *buffer) {
  target t = {buffer, false};
  nw_walk(p, see_target, &t);
  return t.found;
}

// Compares the values of the program with those of p. All other buffers than the results of cross-thread reductions
// and the new partial results have the same accesses in both programs.
static nw_answer same_values(const nw_model *m, const nw_model *crossed) {
  if (!NW_RULE(m->p->ctx, cross_values)) return NW_HOLDS;
  nw_answer answer = nw_same_values(m, crossed);
  for (int i = 0; i < crossed->p->nbuffers && answer == NW_HOLDS; i++) {
    const nw_buffer *b = crossed->p->buffer[i];
    if (!nw_find_buffer(m->seen, b->name) || is_target(m->seen, b->name)) answer = nw_check_buffer_values(crossed, b);
  }
  return answer == NW_HOLDS ? nw_check_bounds(crossed) : answer;
}

static nw_answer check_alone(const nw_model *m, const nw_model *crossed) {
  nw_answer answer = nw_check_storage(crossed);
  if (answer == NW_HOLDS) answer = nw_check_nesting(crossed);
  return answer == NW_HOLDS ? same_values(m, crossed) : answer;
}

// ---- refusals

// Removes the refusal of the program with partial results, and returns its reason.
static const char *take_reason(const nw_model *m) {
  const nw_diag *d = nw_error(m->p->ctx);
  const char *why = nw_arena_printf(m->arena, "%s", d && d->refusal ? d->refusal->why : d ? d->message : "");
  nw_clear(m->p->ctx);
  return why;
}

// Refuses the program with the conflict of two threads that update the same element, and adds the reason why they
// cannot have partial results. If there is no such conflict and `sure` is true, the reason alone is given.
static nw_answer cannot_share(const nw_model *m, const nw_program *before, bool sure, const char *why) {
  nw_answer answer = nw_check_threads(m, before, NULL);
  nw_refusal *r = answer == NW_FAILS ? nw_refusal_edit(m->p->ctx) : NULL;
  if (r && r->kind == NW_REFUSE_REDUCTION)
    r->why = nw_diag_printf(m->p->ctx, "%s; the threads cannot combine partial results: %s", r->why, why);
  if (answer != NW_HOLDS || !sure) return answer;
  return nw_tell(m, NW_REFUSE_STRUCTURE, NULL, NULL, "the threads cannot combine partial results: %s", why);
}

static const char *copied(const nw_model *m, const char *text) {
  return text ? nw_arena_printf(m->arena, "%s", text) : NULL;
}

static nw_refusal copied_refusal(const nw_model *m, const nw_refusal *r) {
  const nw_stmt *loop = r->loops[0] ? nw_find_loop(m->seen, r->loops[0]) : NULL;
  return (nw_refusal){.kind = r->kind,
                      .tensor = copied(m, r->tensor),
                      .element = copied(m, r->element),
                      .source_block = copied(m, r->source_block),
                      .source = copied(m, r->source),
                      .sink_block = copied(m, r->sink_block),
                      .sink = copied(m, r->sink),
                      .why = copied(m, r->why),
                      .loops = {loop ? loop->loop.var->name : NULL}};
}

// Refuses the program because of a conflict of the statements that combine the partial results. Usually the updates in
// the user's program are in conflict with the same reader, and this conflict is reported. Otherwise the conflict of the
// combination is told in words, without a witness, because its statements are not part of the user's program. Only a run
// of the whole lowered program shows this conflict.
static nw_answer cannot_use(const nw_model *m, const nw_program *before) {
  const nw_diag *d = nw_error(m->p->ctx);
  if (!d || !d->refusal) return NW_FAILS;
  nw_refusal kept = copied_refusal(m, d->refusal);
  nw_clear(m->p->ctx);
  nw_answer answer = nw_check_threads_but_sums(m, before);
  if (answer != NW_HOLDS) return answer;
  kept.why = nw_arena_printf(m->arena, "the threads combine partial results, and then %s", kept.why);
  nw_refuse(m->p->ctx, &kept);
  return NW_FAILS;
}

static nw_answer check_crossed(const nw_model *m, const nw_program *q, const nw_program *before) {
  const nw_model *crossed = nw_model_judged(q, m->f);
  if (!crossed) return NW_ABORTED;
  nw_answer answer = check_alone(m, crossed);
  if (answer == NW_FAILS) return cannot_share(m, before, true, take_reason(m));
  if (answer == NW_HOLDS && NW_RULE(m->p->ctx, cross_threads)) answer = nw_check_threads(crossed, before, NULL);
  return answer == NW_FAILS ? cannot_use(m, before) : answer;
}

// ---- the check

typedef struct unsafe {
  const nw_program *before;
  bool found;
} unsafe;

static bool see_unsafe(void *env, nw_stmt *s) {
  unsafe *x = env;
  x->found |= nw_is_thread_loop(s) && nw_known_unsafe(x->before, s);
  return !x->found;
}

nw_answer nw_check_crossing(const nw_model *m, const nw_program *before) {
  unsafe known = {before, false};
  if (before) nw_walk_from(m->seen->root, see_unsafe, &known);
  if (!nw_has_crossing(m->seen) || known.found) return nw_check_threads(m, before, NULL);
  const char *why = NULL;
  nw_program *q = nw_crossed(m->seen, &why);
  if (!q) return cannot_share(m, before, false, why ? why : "");
  nw_answer answer = check_crossed(m, q, before);
  nw_program_release(q);
  return answer;
}
