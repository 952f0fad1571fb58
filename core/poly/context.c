// Manages isl's context for a session: the limit on its operations, interrupts and failures. Also holds the names of
// the rules that the mutation tests disable.
#include "poly/internal.h"
#include <gmp.h>
#include <isl/options.h>
#include <stdlib.h>

// The limit on the isl operations for a question. This number of operations takes less than a second. A question that
// is answered again without stored results (nw_proofs_from_nothing) may take twice as long. isl itself counts the
// operations, so a verdict never depends on the clock.
#define DEFAULT_BUDGET 2150000

static const char *const rule_name[] = {
#define NW_JUDGE_RULE(name, test, doc) #name,
#include "poly/rules.def"
#undef NW_JUDGE_RULE
};

int nw_judge_rules(void) { return NW_RULE_COUNT; }

const char *nw_judge_rule_name(int i) { return i >= 0 && i < NW_RULE_COUNT ? rule_name[i] : NULL; }

// In builds for the mutation tests, the environment variable NW_MUTANT may name a rule to disable.
static void read_mutant(nw_ctx *c) {
#ifdef NW_MUTANTS
  const char *name = getenv("NW_MUTANT");
  for (int i = 0; name && i < NW_RULE_COUNT; i++)
    if (!strcmp(name, rule_name[i])) c->rule_off = i + 1;
#else
  (void)c;
#endif
}

// Programs may outlive the session. Their isl objects keep isl's context alive.
static void close_session(void *data) {
  nw_proofs *s = data;
  s->ctx = NULL;
  nw_proofs_release(s);
}

// This function can run in a signal handler, since isl_ctx_abort only sets a flag.
static void interrupt(void *data) { isl_ctx_abort(((nw_proofs *)data)->isl); }

// Runs after a call of the library was abandoned (base.h). The state of isl's objects is then unknown, so they are not
// used again, and no proof relies on them. The session continues with a new context and the usual budget.
static void abandon(void *data) {
  nw_slot *slot = &((nw_proofs *)data)->ctx->slot[NW_SLOT_POLY];
  slot->interrupt = NULL;
  slot->data = NULL;
}

// Enlarges a block of memory for GMP, the library of big integers that isl uses. GMP's own allocator would end the
// process if memory runs out.
static void *more_number(void *p, size_t old, size_t bytes) {
  (void)old;
  return nw_xrealloc(p, bytes);
}

static void free_number(void *p, size_t bytes) {
  (void)bytes;
  free(p);
}

nw_proofs *nw_proofs_of(nw_ctx *c) {
  if (c->slot[NW_SLOT_POLY].data) return c->slot[NW_SLOT_POLY].data;
  read_mutant(c);
  nw_proofs *s = nw_xcalloc(1, sizeof *s);
  s->refs = 1;
  s->ctx = c;
  mp_set_memory_functions(nw_xmalloc, more_number, free_number);
  s->isl = isl_ctx_alloc();
  if (!s->isl) nw_out_of_memory(sizeof(isl_ctx *));
  s->budget = DEFAULT_BUDGET;
  isl_options_set_on_error(s->isl, ISL_ON_ERROR_CONTINUE);
  nw_slot_fill(c, NW_SLOT_POLY, s, close_session, interrupt);
  c->slot[NW_SLOT_POLY].abandon = abandon;
  return s;
}

nw_proofs *nw_proofs_retain(nw_proofs *s) {
  s->refs++;
  return s;
}

void nw_proofs_release(nw_proofs *s) {
  if (--s->refs) return;
  isl_ctx_free(s->isl);
  free(s);
}

long nw_judge_budget(nw_ctx *c, long most) {
  nw_proofs *s = nw_proofs_of(c);
  long was = s->glance ? -s->budget : s->budget;
  s->glance = most < 0;
  s->budget = most ? labs(most) : DEFAULT_BUDGET;
  return was;
}

bool nw_judge_briefly(nw_ctx *c, bool brief) {
  nw_proofs *s = nw_proofs_of(c);
  bool was = s->brief;
  s->brief = brief;
  return was;
}

char nw_judge_question(const nw_ctx *c) {
  const nw_proofs *s = c->slot[NW_SLOT_POLY].data;
  return s ? s->question : 0;
}

// ---- the cost of a verdict

// A verdict must not depend on earlier questions. So a question that uses stored results of earlier questions (facts,
// models, the maps of accesses) is charged the original cost of these results. If the sum of the operations and the
// charges is below half of the limit, the question has the same answer with and without stored results. Otherwise the
// question is answered again without stored results, and the second answer is used. The margin of one half is needed
// because isl also caches results in its own objects, and these results are not charged. (In 1,000 random schedules,
// isl's caches saved a thousandth of the operations of large questions, and 1,400 operations of small questions.) A
// quick check does not give a verdict, so it may use stored results without charge.

// isl exports these functions, but does not declare them in its headers.
isl_stat isl_ctx_next_operation(isl_ctx *ctx);
void isl_blk_clear_cache(isl_ctx *ctx);

// Restarts isl's counter of operations, with the remaining part of the limit.
static void count_anew(nw_proofs *s) {
  isl_ctx_reset_operations(s->isl);
  isl_ctx_set_max_operations(s->isl, s->done < s->limit ? (unsigned long)(s->limit - s->done) : 1);
  if (s->done >= s->limit) isl_ctx_next_operation(s->isl); // reaches the limit of 1; isl takes 0 as "no limit"
}

// Returns the number of isl operations since the question began. isl does not report this number. isl reports only
// whether a limit is reached, so this function finds the number by a binary search for the largest limit that is
// reached. isl counts a test of a limit that is not reached as an operation. `asked` is the number of these tests. The
// tests make the counter too high, so the counter is restarted after the search.
static long operations(nw_proofs *s) {
  if (isl_ctx_last_error(s->isl) != isl_error_none) return s->limit;
  long lo = 0, hi = s->limit - s->done, asked = 0;
  while (lo < hi) {
    long middle = lo + (hi - lo + 1) / 2;
    isl_ctx_set_max_operations(s->isl, (unsigned long)(middle + asked));
    if (isl_ctx_next_operation(s->isl) < 0) {
      isl_ctx_reset_error(s->isl);
      lo = middle;
    } else {
      hi = middle - 1;
      asked++;
    }
  }
  s->done += lo;
  count_anew(s);
  return s->done;
}

// Returns the greatest number of nested loops in s; a fused loop counts as its original loops.
static int depth_of(const nw_stmt *s) {
  int most = 0, own = s->kind != NW_LOOP ? 0 : s->loop.nfused ? s->loop.nfused : 1;
  for (int i = 0; i < s->nkids; i++) {
    int inside = depth_of(s->kid[i]);
    if (inside > most) most = inside;
  }
  return own + most;
}

static int blocks_of(const nw_stmt *s) {
  int n = s->kind == NW_BLOCK;
  for (int i = 0; i < s->nkids; i++) n += blocks_of(s->kid[i]);
  return n;
}

// If a program has more than MANY_BLOCKS blocks, its budget grows in proportion to the number of blocks. The number of
// operations of a question grows in the same way, since the judge makes one or two small checks for each block.
enum { MANY_BLOCKS = 64 };

// Returns the limit for a question about p. The limit is lower for deep nests, because an operation takes longer there.
// An operation works on one row of a tableau, and the tableau has a column for each dimension. In measurements, an
// operation took 0.3 us with 3 loops, 2 us with 16 loops, and 4.5 us with 23 loops.
static long limit_for(const nw_proofs *s, const nw_program *p) {
  double depth = depth_of(p->root);
  double budget = (double)s->budget * (1 + blocks_of(p->root) / MANY_BLOCKS);
  return (long)(budget / (1 + depth * depth / 20)) + 1;
}

// The session's interrupt flag is read after isl's own flag is cleared, so that no interrupt is lost in between.
bool nw_proofs_begin(nw_proofs *s, const nw_program *p) {
  s->before = s->asked ? s->before + (double)operations(s) : 0;
  s->asked++;
  s->charged = 0;
  isl_ctx_resume(s->isl);
  isl_ctx_reset_error(s->isl);
  s->limit = limit_for(s, p);
  s->done = 0;
  if (!NW_MUTATED(memory_for_free))
    isl_blk_clear_cache(s->isl); // isl counts no operation for memory that it kept from an earlier question
  count_anew(s);
  return !nw_stopped(s->ctx);
}

// isl finds the quotients (the integer divisions) of a projected set by parametric integer programming. The tableaux of
// this method grow during the work, so the time grows with the square of the number of operations. Therefore this work
// gets only a share of the budget. On a fused loop that was split three times, 130,000 operations took 0.6 s, and
// 2,000,000 took 62 s. Proofs that succeed take at most 25,000 operations.
enum { SHARE_OF_QUOTIENTS = 16 };

isl_map *nw_with_quotients(nw_proofs *s, isl_map *map) {
  long whole = s->limit, share = operations(s) + whole / SHARE_OF_QUOTIENTS;
  if (s->done >= whole) return map;
  if (share < whole) s->limit = share;
  count_anew(s);
  map = isl_map_compute_divs(map);
  bool lost = operations(s) >= s->limit;
  s->limit = whole;
  if (lost) s->done = whole; // the next operation then reaches the limit, so the question gets no answer
  count_anew(s);
  return map;
}

isl_set *nw_set_with_quotients(nw_proofs *s, isl_set *set) {
  return isl_map_range(nw_with_quotients(s, isl_map_from_range(set)));
}

bool nw_proofs_gave_up(nw_proofs *s) { return operations(s) >= s->limit; }

nw_answer nw_proofs_lost(nw_proofs *s) {
  if (nw_stopped(s->ctx)) return NW_ABORTED;
  if (isl_ctx_last_error(s->isl) == isl_error_alloc) {
    char why[160];
    nw_say_limit(why, sizeof why);
    nw_fail(s->ctx, NW_EMEMORY, "nothing was changed", "no memory to prove this step: %s", why);
    isl_ctx_reset_error(s->isl);
    return NW_ABORTED;
  }
  bool quota = isl_ctx_last_error(s->isl) == isl_error_quota || s->done >= s->limit;
  const char *why = quota ? "proving this step exceeds the limit on proof work for one step"
                          : "the polyhedral library could not represent this step";
  nw_refuse(s->ctx, &(nw_refusal){.kind = NW_REFUSE_UNDECIDED, .why = why});
  isl_ctx_reset_error(s->isl);
  return NW_ABORTED;
}

nw_answer nw_answer_of(nw_proofs *s, isl_bool holds) {
  return holds < 0 ? nw_proofs_lost(s) : holds ? NW_HOLDS : NW_FAILS;
}

double nw_proofs_meter(nw_proofs *s) { return s->before + (double)operations(s) + s->nested; }

void nw_price_begin(nw_proofs *s, nw_price *price) { price->from = nw_proofs_meter(s); }

void nw_price_end(nw_proofs *s, nw_price *price) {
  price->cost = nw_proofs_meter(s) - price->from;
  price->asked = s->asked;
}

void nw_price_charge(nw_proofs *s, nw_price *price) {
  s->nested += price->cost;
  if (price->asked == s->asked) return;
  price->asked = s->asked;
  s->charged += price->cost;
}

// True if the current question must be answered again without stored results. A question that reached its limit is not
// answered again, since it takes at least as many operations without stored results, and reaches the limit again.
bool nw_proofs_from_nothing(nw_proofs *s) {
  if (s->charged == 0 || s->glance || NW_MUTATED(facts_for_free)) return false;
  long took = operations(s);
  return took < s->limit && (double)took + s->charged > (double)s->limit / 2;
}
