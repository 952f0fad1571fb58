// isl's context of a session: its budget, its interrupt, its failures; and the rules that the mutant tests switch off.
#include "poly/internal.h"
#include <isl/options.h>
#include <stdlib.h>

// About a second of isl's work. Counted in its own operations, so that a verdict never depends on the clock.
#define DEFAULT_BUDGET 3000000

static const char *const rule_name[] = {
#define NW_JUDGE_RULE(name, test, doc) #name,
#include "poly/rules.def"
#undef NW_JUDGE_RULE
};

int nw_judge_rules(void) { return NW_RULE_COUNT; }

const char *nw_judge_rule_name(int i) { return i >= 0 && i < NW_RULE_COUNT ? rule_name[i] : NULL; }

// The environment may name a rule to switch off, in builds made for that test only.
static void read_mutant(nw_ctx *c) {
#ifdef NW_MUTANTS
  const char *name = getenv("NW_MUTANT");
  for (int i = 0; name && i < NW_RULE_COUNT; i++)
    if (!strcmp(name, rule_name[i])) c->mutants |= UINT64_C(1) << i;
#else
  (void)c;
#endif
}

// Programs may outlive the session; what they hold of isl keeps the context alive.
static void close_session(void *data) {
  nw_proofs *s = data;
  s->ctx = NULL;
  nw_proofs_release(s);
}

// Runs in a signal handler: isl only sets a flag.
static void interrupt(void *data) { isl_ctx_abort(((nw_proofs *)data)->isl); }

nw_proofs *nw_proofs_of(nw_ctx *c) {
  if (c->slot[NW_SLOT_POLY].data) return c->slot[NW_SLOT_POLY].data;
  read_mutant(c);
  nw_proofs *s = nw_xcalloc(1, sizeof *s);
  s->refs = 1;
  s->ctx = c;
  s->isl = isl_ctx_alloc();
  s->budget = DEFAULT_BUDGET;
  isl_options_set_on_error(s->isl, ISL_ON_ERROR_CONTINUE);
  nw_slot_fill(c, NW_SLOT_POLY, s, close_session, interrupt);
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

long nw_judge_budget(nw_ctx *c, long operations) {
  nw_proofs *s = nw_proofs_of(c);
  long was = s->budget;
  s->budget = operations > 0 ? operations : DEFAULT_BUDGET;
  return was;
}

char nw_judge_question(const nw_ctx *c) {
  const nw_proofs *s = c->slot[NW_SLOT_POLY].data;
  return s ? s->question : 0;
}

// The flag of an interrupt that came before is looked at after isl's own is cleared: none is lost between the two.
bool nw_proofs_begin(nw_proofs *s) {
  isl_ctx_resume(s->isl);
  isl_ctx_reset_error(s->isl);
  isl_ctx_set_max_operations(s->isl, (unsigned long)s->budget);
  isl_ctx_reset_operations(s->isl);
  return !nw_stopped(s->ctx);
}

nw_answer nw_proofs_lost(nw_proofs *s) {
  if (nw_stopped(s->ctx)) return NW_ABORTED;
  bool quota = isl_ctx_last_error(s->isl) == isl_error_quota;
  const char *why = quota ? "proving this step takes more work than a step may cost"
                          : "the polyhedral library could not represent this step";
  nw_refuse(s->ctx, &(nw_refusal){.kind = NW_REFUSE_UNDECIDED, .why = why});
  isl_ctx_reset_error(s->isl);
  return NW_ABORTED;
}

nw_answer nw_answer_of(nw_proofs *s, isl_bool holds) {
  return holds < 0 ? nw_proofs_lost(s) : holds ? NW_HOLDS : NW_FAILS;
}
