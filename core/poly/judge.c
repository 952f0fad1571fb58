// Finds the verdict on a step. Decides whether the step is judged by order, by value, or by its marks alone, and makes
// the checks that apply to every step.
#include "poly/whole/whole.h"
#include <isl/options.h>
#include <stdlib.h>

// ---- the question

static nw_answer refuse(const nw_model *m, nw_refusal_kind kind, const char *fmt, const char *block,
                        const char *buffer) {
  return nw_tell(m, kind, NULL, NULL, fmt, block, buffer);
}

// True if another block writes the buffer at a known index.
static bool is_defined_elsewhere(const nw_model *m, const nw_use *w) {
  nw_uses u = nw_uses_of(m, w->buffer);
  for (int i = 0; i < u.n; i++)
    if (u.at[i]->write && strcmp(u.at[i]->site->block->block.origin, w->site->block->block.origin) &&
        nw_index_exact(u.at[i]))
      return true;
  return false;
}

// Checks that the access can be judged. The index of a write must be affine, the buffer must be allocated where it is
// used, and an input must not be written. The index of an update (nw.update) need not be affine; it may depend on data.
// This is safe because all elements have values before the update, and because accesses that may be to the same element
// keep their order.
static nw_answer check_access(const nw_model *m, const nw_use *a) {
  const char *block = a->site->block->block.name, *buffer = a->buffer->name;
  const nw_ctx *c = m->p->ctx;
  if (NW_RULE(c, inside_allocation) && a->buffer->role == NW_TEMP && !a->alloc)
    return refuse(m, NW_REFUSE_STRUCTURE, "%s uses %s outside its allocation", block, buffer);
  if (NW_RULE(c, input_kept) && a->write && a->buffer->role == NW_INPUT)
    return refuse(m, NW_REFUSE_STRUCTURE, "%s writes the input %s", block, buffer);
  if (NW_RULE(c, affine_write) && a->write && !nw_index_exact(a) && !is_defined_elsewhere(m, a))
    return refuse(m, NW_REFUSE_UNDECIDED,
                  "%s writes %s at an index that is not affine, so nothing can be proved about it", block, buffer);
  return NW_HOLDS;
}

static nw_answer check_decidable(const nw_model *m) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < m->nsites && answer == NW_HOLDS; i++) {
    const nw_site *s = m->site[i];
    if (NW_RULE(m->p->ctx, affine_domain) && !s->exact)
      answer = refuse(m, NW_REFUSE_UNDECIDED,
                      "the bounds or bindings around %s are not affine in its loops and sizes, so nothing can "
                      "be proved about it",
                      s->block->block.name, NULL);
    for (int j = 0; j < s->nuses && answer == NW_HOLDS; j++) answer = check_access(m, &s->use[j]);
  }
  return answer;
}

static nw_answer both_once(const nw_model *before, const nw_model *after) {
  if (!nw_same_blocks(before, after)) return NW_FAILS;
  nw_answer answer = nw_each_once(before);
  return answer == NW_HOLDS ? nw_each_once(after) : answer;
}

// Checks every buffer that exists more than once. Such a buffer can be judged by order only if its elements do not
// change their value, since an instance does not tell which copy of the buffer it uses.
static nw_answer orderly_storage(const nw_model *m) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < m->p->nbuffers && answer == NW_HOLDS; i++)
    if (!nw_exists_once(m, m->p->buffer[i])) answer = nw_single_valued(m, m->p->buffer[i]);
  return answer;
}

static nw_answer check_many_valued(const nw_model *before, const nw_model *after) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < after->p->nbuffers && answer == NW_HOLDS; i++) {
    const nw_buffer *b = after->p->buffer[i];
    nw_answer single = nw_single_valued(after, b);
    if (single == NW_ABORTED) return single;
    if (single == NW_FAILS) answer = nw_check_deps(before, after, b);
  }
  return answer;
}

static nw_answer by_order(const nw_model *before, const nw_model *after) {
  nw_answer answer = nw_check_buffers(after, NULL, false);
  return answer == NW_HOLDS ? check_many_valued(before, after) : answer;
}

static nw_answer by_value(const nw_model *before, const nw_model *after) {
  nw_answer answer = nw_same_values(before, after);
  return answer == NW_HOLDS ? nw_check_buffers(after, before, false) : answer;
}

static nw_answer ask(const nw_model *before, const nw_model *after) {
  nw_answer order = both_once(before, after);
  if (order == NW_HOLDS) order = orderly_storage(before);
  if (order == NW_HOLDS) order = orderly_storage(after);
  if (order == NW_ABORTED) return order;
  after->f->s->question = order == NW_HOLDS ? 'o' : 'v';
  return order == NW_HOLDS ? by_order(before, after) : by_value(before, after);
}

// Checks that the facts about sizes do not contradict each other, since anything could be proven from a contradiction.
static nw_answer check_facts(const nw_model *m) {
  if (!NW_RULE(m->p->ctx, facts_agree)) return NW_HOLDS;
  isl_bool none = isl_set_is_empty(m->f->context);
  if (none == isl_bool_true)
    return nw_tell(m, NW_REFUSE_STRUCTURE, NULL, NULL, "no sizes satisfy both this fact and the facts already known");
  return none < 0 ? nw_proofs_lost(m->f->s) : NW_HOLDS;
}

static nw_answer judge(const nw_model *before, const nw_model *after) {
  nw_proofs *s = after->f->s;
  bool marks = nw_only_marks(before->p, after->p);
  s->question = marks ? 'm' : 'o';
  nw_answer answer = check_facts(after);
  if (answer == NW_HOLDS) answer = check_decidable(after);
  if (answer == NW_HOLDS) answer = nw_check_together(after);
  if (answer == NW_HOLDS && before->seen->unsafe) answer = nw_check_together(before);
  if (answer == NW_HOLDS) answer = nw_check_storage(after);
  // Digits stand for numbers only if they are inside their ranges, so this is checked first.
  bool digits = after->whole && after->whole->nsystems;
  if (answer == NW_HOLDS && !marks && digits) answer = nw_check_bounds(after);
  if (answer == NW_HOLDS && !marks) answer = ask(before, after);
  if (answer == NW_HOLDS && !marks && !digits) answer = nw_check_bounds(after);
  if (answer == NW_HOLDS) answer = nw_check_marks(after, before->seen);
  if (answer == NW_HOLDS) answer = nw_check_streams(after);
  if (answer == NW_HOLDS) answer = nw_check_prefetches(after, false);
  if (answer == NW_HOLDS) answer = nw_check_async(before->seen, after);
  if (answer == NW_HOLDS) answer = nw_check_tokens(before, after);
  return answer == NW_HOLDS ? nw_check_tags(before, after, marks) : answer;
}

static void forget(const nw_program *p) {
  nw_whole_drop(p);
  nw_model_drop(p);
}

enum { MANY_SITES = 64 };

// A program with units may have two models: questions about a loop are answered with the units.
void nw_judge_forget(const nw_program *p) {
  const nw_model *m = p->model;
  if (m && m->nsites > MANY_SITES && !nw_family_abandoned(m->f)) forget(p);
  if (p->bare) nw_judge_forget(p->bare);
}

typedef bool (*question)(const nw_program *before, const nw_program *after);

// Returns false for a positive answer if isl has given up. If isl could not compute a set, a check may believe that the
// set is empty.
static bool confirmed(nw_proofs *s, bool holds) {
  if (!holds || !nw_proofs_gave_up(s) || NW_MUTATED(limit_holds)) return holds;
  nw_proofs_lost(s);
  return false;
}

// Answers a question about two programs by calling `once`. For a question about one program, `before` is NULL. If
// stored results may have affected the answer, frees these results and calls `once` again.
static bool asked(const nw_program *before, const nw_program *after, question once) {
  nw_proofs *s = after ? nw_proofs_of(after->ctx) : NULL;
  before = nw_without_units(before);
  after = nw_without_units(after);
  if (!s || !nw_proofs_begin(s, after)) return false;
  bool holds = confirmed(s, once(before, after));
  if (nw_stopped(after->ctx) || !nw_proofs_from_nothing(s)) return holds;
  nw_clear(after->ctx);
  if (before) forget(before);
  forget(after);
  return nw_proofs_begin(s, after) && confirmed(s, once(before, after));
}

// Lets the first refusal stand after another attempt. Other errors of the attempt, such as an interrupt, remain.
static void refuse_again(nw_ctx *c, const nw_refusal *first) {
  const nw_diag *d = nw_error(c);
  if (d && d->code != NW_EUNDECIDED && d->code != NW_EREFUSED) return;
  nw_clear(c);
  nw_refuse(c, first);
}

static bool is_undecided(nw_ctx *c) {
  const nw_diag *d = nw_error(c);
  return d && d->code == NW_EUNDECIDED && !nw_stopped(c);
}

// Answers an undecided question again, with products of sizes as parameters instead of numbers that consist of digits.
// Then isl sees the bounds of an index such as i*m + j (opaque.c), but not which elements it reaches. This suffices if one
// program cuts a number in two ways, as i*m + j and p // n, or if stages read whole arrays. If the question stays
// undecided, the first refusal stands. The models are freed, so that the next question does not depend on this one.
static bool asked_without_digits(const nw_program *before, const nw_program *after, question once) {
  before = nw_without_units(before);
  after = nw_without_units(after);
  if (!after || !is_undecided(after->ctx) || (!nw_has_numbers(after) && !(before && nw_has_numbers(before))))
    return false;
  nw_ctx *c = after->ctx;
  nw_proofs *s = nw_proofs_of(c);
  nw_arena *arena = nw_arena_scratch();
  nw_refusal first = nw_refusal_copy(arena, nw_error(c)->refusal);
  nw_clear(c);
  s->plain = true;
  bool holds = asked(before, after, once);
  s->plain = false;
  if (before) forget(before);
  forget(after);
  if (!holds) refuse_again(c, &first);
  nw_arena_free(arena);
  return holds;
}

static bool asked_twice(const nw_program *before, const nw_program *after, question once) {
  return asked(before, after, once) || asked_without_digits(before, after, once);
}

static bool has_extent(const nw_stmt *s, const nw_expr *extent) {
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++)
    if (s->block.var[i].extent == extent) return true;
  for (int i = 0; i < s->nkids; i++)
    if (has_extent(s->kid[i], extent)) return true;
  return false;
}

// True if m writes the numbers of system x in the same digits, or if it does not have such numbers.
static bool agrees(const nw_model *m, const nw_system *x) {
  for (int i = 0; m->whole && i < m->whole->nsystems; i++) {
    const nw_system *y = &m->whole->system[i];
    if (x->whole == y->whole) return x->n == y->n && nw_same_pointers(x->n, x->digit, y->digit);
  }
  for (int i = 0; i < m->seen->nbuffers; i++)
    for (int d = 0; d < m->seen->buffer[i]->ndim; d++)
      if (m->seen->buffer[i]->shape[d] == x->whole) return false;
  return !has_extent(m->seen->root, x->whole);
}

// True if both programs write the same numbers in the same digits. Otherwise their buffers have different dimensions.
static bool same_digits(const nw_model *before, const nw_model *after) {
  bool same = true;
  for (int i = 0; before->whole && i < before->whole->nsystems; i++)
    same = same && agrees(after, &before->whole->system[i]);
  for (int i = 0; after->whole && i < after->whole->nsystems; i++)
    same = same && agrees(before, &after->whole->system[i]);
  return same || nw_tell(after, NW_REFUSE_UNDECIDED, NULL, NULL,
                         "an index contains a product of sizes, about which nothing could be proved") == NW_HOLDS;
}

static bool judge_models(const nw_model *old, const nw_model *new) {
  const nw_program *before = old ? old->seen : NULL, *after = new ? new->seen : NULL;
  if (!new) return false;
  if (!nw_same_params(before, after))
    return nw_tell(new, NW_REFUSE_STRUCTURE, NULL, NULL, "the kernel would have other arguments than before") ==
           NW_HOLDS;
  return same_digits(old, new) && judge(old, new) == NW_HOLDS;
}

static bool judge_once(const nw_program *before, const nw_program *after) {
  const nw_model *old = nw_model_judged(before, NULL);
  return judge_models(old, old ? nw_model_judged(after, old->f) : NULL);
}

static bool judge_in_digits(const nw_program *before, const nw_program *after) {
  const nw_model *old = nw_model_cut(before, NULL, after);
  return judge_models(old, old ? nw_model_cut(after, old->f, before) : NULL);
}

// A loop that was split by a size, with other stages inside its outer part, cannot be judged as one loop. If its
// variable runs over a product of sizes, the split cuts the variable into digits, and the loop can be judged in these
// digits. Usually one loop is simpler, and steps that split it have no digits in the program before the step, so this
// is tried last. The models are freed, so that the next question does not depend on this one.
static bool judge_product(const nw_program *before, const nw_program *after) {
  if (asked(before, after, judge_once)) return true;
  if (!is_undecided(after->ctx) || !nw_binds_weights(after)) return false;
  nw_clear(after->ctx);
  bool holds = asked(before, after, judge_in_digits);
  forget(before);
  forget(after);
  return holds;
}

// Judges the step in programs that compute the same, or that run more instances of the same kind (nw_rounded).
static bool judge_instead(const nw_program *before, const nw_program *after, bool changed) {
  nw_program *was, *is;
  nw_ctx *c = after->ctx;
  if (changed && judge_product(before, after)) return true;
  if ((nw_error(c) && !is_undecided(c)) || !nw_rounded(before, after, &was, &is)) return false;
  nw_clear(c);
  bool holds = judge_product(was, is);
  nw_program_release(was);
  nw_program_release(is);
  return holds;
}

// Judges the step without tails that begin earlier, and with sizes that are rounded up. If this does not show that the
// step is legal, the first answer stays.
static bool judge_other_forms(const nw_program *before, const nw_program *after) {
  nw_program *was, *is;
  nw_ctx *c = after->ctx;
  nw_arena *arena = nw_arena_scratch();
  nw_refusal first = nw_refusal_copy(arena, nw_error(c)->refusal);
  nw_clear(c);
  nw_proofs_begin(nw_proofs_of(c), after);
  bool brief = nw_judge_briefly(c, true), changed = nw_unshifted(before, &was);
  changed |= nw_unshifted(after, &is);
  bool holds = judge_instead(was, is, changed);
  nw_judge_briefly(c, brief);
  if (!holds) refuse_again(c, &first);
  if (holds) nw_clear(c);
  nw_program_release(was);
  nw_program_release(is);
  nw_arena_free(arena);
  return holds;
}

bool nw_judge(const nw_program *before, const nw_program *after) {
  if (!before) return false;
  if (judge_product(before, after) || asked_without_digits(before, after, judge_once)) return true;
  before = nw_without_units(before);
  after = nw_without_units(after);
  return after && is_undecided(after->ctx) && judge_other_forms(before, after);
}

static bool rewrite_once(const nw_program *before, const nw_program *after, const nw_rewriting *w) {
  const nw_model *new = nw_model_judged(after, NULL);
  if (!new) return false;
  new->f->s->question = 'v';
  nw_answer answer = nw_check_rewritten(before, new, w);
  if (answer == NW_HOLDS) answer = check_decidable(new);
  if (answer == NW_HOLDS) answer = nw_check_together(new);
  if (answer == NW_HOLDS) answer = nw_check_storage(new);
  if (answer == NW_HOLDS) answer = nw_check_bounds(new);
  if (answer == NW_HOLDS) answer = nw_check_marks(new, before);
  if (answer == NW_HOLDS) answer = nw_check_streams(new);
  if (answer == NW_HOLDS) answer = nw_check_prefetches(new, false);
  return (answer == NW_HOLDS ? nw_check_async(before, new) : answer) == NW_HOLDS;
}

bool nw_judge_rewrite(const nw_program *before, const nw_program *after, const nw_rewriting *w) {
  nw_proofs *s = after ? nw_proofs_of(after->ctx) : NULL;
  before = nw_without_units(before);
  after = nw_without_units(after);
  if (!s || !nw_proofs_begin(s, after)) return false;
  bool holds = confirmed(s, rewrite_once(before, after, w));
  if (nw_stopped(after->ctx) || !nw_proofs_from_nothing(s)) return holds;
  nw_clear(after->ctx);
  forget(after);
  return nw_proofs_begin(s, after) && confirmed(s, rewrite_once(before, after, w));
}

static bool keeps_sums_once(const nw_program *before, const nw_program *after) {
  const nw_model *old = nw_model_of(before, NULL), *new = old ? nw_model_of(after, old->f) : NULL;
  return new &&nw_sums_keep_order(old, new) == NW_HOLDS;
}

bool nw_judge_sums(const nw_program *before, const nw_program *after) {
  bool holds = before && asked(before, after, keeps_sums_once);
  if (before && !holds && !nw_stopped(after->ctx)) nw_clear(after->ctx);
  return holds;
}

// Makes the checks that apply even to unsafe steps. They ensure that the program can be lowered, that its storage and
// marks fit the target, and that properties set by the user are kept.
static bool structure_once(const nw_program *before, const nw_program *after) {
  const nw_model *old = nw_model_judged(before, NULL), *new = old ? nw_model_judged(after, old->f) : NULL;
  if (!new) return false;
  if (!nw_same_params(before, after))
    return nw_tell(new, NW_REFUSE_STRUCTURE, NULL, NULL, "the kernel would have other arguments than before") ==
           NW_HOLDS;
  if (!same_digits(old, new)) return false;
  nw_answer answer = check_decidable(new);
  if (answer == NW_HOLDS) answer = nw_check_storage(new);
  if (answer == NW_HOLDS) answer = nw_check_nesting(new);
  if (answer == NW_HOLDS) answer = nw_check_streams(new);
  if (answer == NW_HOLDS && !NW_MUTATED(prefetch_unsafe)) answer = nw_check_prefetches(new, true);
  if (answer == NW_HOLDS) answer = nw_check_async_structure(before, new);
  return (answer == NW_HOLDS ? nw_check_tags(old, new, nw_only_marks(before, after)) : answer) == NW_HOLDS;
}

bool nw_judge_structure(const nw_program *before, const nw_program *after) {
  return before && asked_twice(before, after, structure_once);
}

static bool bounds_once(const nw_program *before, const nw_program *p) {
  (void)before;
  const nw_model *m = nw_model_judged(p, NULL);
  return m && nw_check_bounds(m) == NW_HOLDS;
}

bool nw_judge_bounds(const nw_program *p) { return asked_twice(NULL, p, bounds_once); }

bool nw_judge_harmless(const nw_program *p, const char *what) {
  if (!p->unsafe || NW_MUTATED(unsafe_anywhere) || nw_judge_bounds(p)) return true;
  if (nw_stopped(p->ctx)) return false;
  const nw_diag *d = nw_error(p->ctx);
  const char *why = d && d->refusal && d->refusal->why ? d->refusal->why : "an access may be outside its buffer";
  char *text = nw_xstrdup(why);
  nw_clear(p->ctx);
  nw_fail(p->ctx, NW_ECODEGEN, "nw.interpret can run it up to that access",
          "an unsafe schedule is %s only if all accesses stay inside their buffers: %s", what, text);
  free(text);
  return false;
}

static bool first_once(const nw_program *before, const nw_program *p) {
  (void)before;
  const nw_model *m = nw_model_judged(p, NULL);
  if (!m) return false;
  m->f->s->question = 'v';
  nw_answer answer = check_decidable(m);
  if (answer == NW_HOLDS) answer = nw_check_storage(m);
  if (answer == NW_HOLDS) answer = nw_check_bounds(m);
  if (answer == NW_HOLDS) answer = nw_check_buffers(m, NULL, true);
  return (answer == NW_HOLDS ? nw_check_marks(m, NULL) : answer) == NW_HOLDS;
}

bool nw_judge_first(const nw_program *p) { return asked_twice(NULL, p, first_once); }
