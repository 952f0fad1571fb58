// Inserts tokens into a stream, so that conflicting accesses of different units happen in the order of the program.
//
// The instructions are visited in the order of the program. For each of them, the *clock* says how many instructions of
// each unit have ended before it can begin, whatever the latencies are. If it depends on instruction j of another unit, and
// its clock does not include j, then j puts a token into the queue to its unit, and it takes the token. The last dependence
// on each unit is enough, since units execute in order. The k-th token taken is the k-th put, because both are added in the
// order of the program. docs/accelerator.md has the proof.
//
// If there is no queue between two units, the token takes a way over other units. Each unit on the way executes an
// instruction that only takes a token and puts another.
//
// j puts its token as soon as it can. If queues are short, units may then wait for each other forever: one for room in a queue,
// the other for a token that the first has yet to put. Then the tokens of the queues that were full are put as late as possible,
// by the last instruction of j's unit before i. Such a queue never holds more than one token in the order of the program.
//
// An unsafe step may say that the instructions of a stage ignore a unit. All tokens are placed as usual, and then those that
// these instructions would take are left out.
#include "device/dae/dae.h"
#include "ir/program/tags.h"
#include <stdlib.h>

typedef struct placing {
  nw_acc *s;
  nwd_shadow *shadow;
  int units;
  int32_t *clock; // for each instruction and unit; one row more for each new instruction
  int capclocks;
  int32_t last[NW_MACHINE_UNITS]; // the last instruction of each unit; -1 if there is none
  int32_t need[NW_MACHINE_UNITS]; // number of instructions of each unit that must have ended
  uint32_t late; // bit q: the tokens of queue q are put as late as possible
} placing;

int nwd_queue_between(const nw_acc *s, int from, int to) {
  const nw_machine_accelerator *a = s->machine;
  for (int q = 0; q < a->nqueues; q++)
    if (!strcmp(a->queue_of[q].from, a->unit[from].name) && !strcmp(a->queue_of[q].to, a->unit[to].name)) return q;
  return -1;
}

// Returns the first unit on a shortest way of queues between two units, or -1 if there is no way.
static int next_unit(const nw_acc *s, int from, int to) {
  int n = s->machine->nunits, first[NW_MACHINE_UNITS], list[NW_MACHINE_UNITS], count = 1;
  for (int i = 0; i < n; i++) first[i] = -1;
  first[from] = list[0] = from;
  for (int i = 0; i < count; i++)
    for (int u = 0; u < n; u++) {
      if (first[u] >= 0 || nwd_queue_between(s, list[i], u) < 0) continue;
      first[u] = list[i] == from ? u : first[list[i]];
      list[count++] = u;
    }
  return first[to];
}

static void depend(void *env, const nwd_conflict *c) {
  placing *p = env;
  if (c->with + 1 > p->need[c->unit]) p->need[c->unit] = c->with + 1;
}

static int32_t *clock_of(placing *p, int i) { return p->clock + (int64_t)i * p->units; }

static void join(placing *p, int to, int from) {
  int32_t *a = clock_of(p, to);
  const int32_t *b = clock_of(p, from);
  for (int u = 0; u < p->units; u++)
    if (b[u] > a[u]) a[u] = b[u];
  int unit = p->s->instr[from].unit;
  if (from + 1 > a[unit]) a[unit] = from + 1;
}

static int append(placing *p, nwd_instr in) {
  nw_acc *s = p->s;
  if (s->ninstrs >= p->capclocks) {
    p->capclocks = p->capclocks ? 2 * p->capclocks : 256;
    p->clock = nw_xrealloc(p->clock, (size_t)p->capclocks * (size_t)p->units * sizeof *p->clock);
  }
  int i = s->ninstrs;
  nwd_add_instr(s, in);
  memset(clock_of(p, i), 0, (size_t)p->units * sizeof *p->clock);
  if (p->last[in.unit] >= 0) join(p, i, p->last[in.unit]);
  p->last[in.unit] = i;
  return i;
}

static void connect(placing *p, int from, int to) {
  int q = nwd_queue_between(p->s, p->s->instr[from].unit, p->s->instr[to].unit);
  if (p->late >> q & 1) from = p->last[p->s->instr[from].unit];
  p->s->instr[from].push |= (uint16_t)(1 << q);
  p->s->instr[to].pop |= (uint16_t)(1 << q);
  join(p, to, from);
}

// Lets the next instruction of `unit` begin after instruction `from`, over the units on the way. Returns the instruction on
// the last of these units, which has a queue to `unit`; -1, with a diagnostic, if there is no way.
static int bring(placing *p, int from, int unit) {
  while (nwd_queue_between(p->s, p->s->instr[from].unit, unit) < 0) {
    int by = next_unit(p->s, p->s->instr[from].unit, unit);
    const nw_machine_accelerator *a = p->s->machine;
    if (by < 0) {
      nw_fail(p->s->ctx, NW_EINVAL, "accelerator.queues needs one, or several over other units",
              "there is no queue of tokens from %s to %s", a->unit[p->s->instr[from].unit].name, a->unit[unit].name);
      return -1;
    }
    int at = p->last[by];
    if (at < 0 || clock_of(p, at)[p->s->instr[from].unit] <= from) {
      at = append(p, (nwd_instr){.site = -1, .kind = -1, .unit = (uint8_t)by, .thread = -1});
      connect(p, from, at);
    }
    from = at;
  }
  return from;
}

// Adds an instruction, with the tokens that its accesses need.
static bool add(placing *p, nwd_instr in) {
  nw_acc *s = p->s;
  int from[NW_MACHINE_UNITS], n = 0, last = p->last[in.unit];
  memset(p->need, 0, sizeof p->need);
  nwd_shadow_look(p->shadow, &in, depend, p);
  for (int u = 0; u < p->units; u++) {
    if (!p->need[u] || (last >= 0 && p->need[u] <= clock_of(p, last)[u])) continue;
    from[n] = bring(p, p->need[u] - 1, in.unit);
    if (from[n++] < 0) return false;
  }
  int i = append(p, in);
  // A token from a later instruction may stand for one from an earlier instruction, but not the other way round.
  for (int a = n - 1; a > 0; a--)
    for (int b = 0; b < a; b++)
      if (from[b] < from[b + 1]) {
        int later = from[b + 1];
        from[b + 1] = from[b], from[b] = later;
      }
  for (int k = 0; k < n; k++)
    if (clock_of(p, i)[s->instr[from[k]].unit] <= from[k]) connect(p, from[k], i);
  nwd_shadow_keep(p->shadow, i);
  return true;
}

// Makes the stream of n instructions with their tokens. at: where the marks are in the stream without tokens.
static bool place_tokens(nw_acc *s, const nwd_instr *in, int n, const int *at, uint32_t late) {
  placing p = {.s = s, .units = s->machine->nunits, .late = late, .shadow = nwd_shadow_new(s)};
  for (int u = 0; u < p.units; u++) p.last[u] = -1;
  free(s->instr);
  s->instr = NULL, s->ninstrs = s->capinstrs = 0;
  bool good = p.shadow != NULL;
  int mark = 0;
  for (int i = 0; i < n && good; i++) {
    for (; mark < s->nmarks && at[mark] == i; mark++) s->mark[mark].at = s->ninstrs;
    good = !nw_stopped(s->ctx) && add(&p, in[i]);
  }
  for (; mark < s->nmarks; mark++) s->mark[mark].at = s->ninstrs;
  nwd_shadow_free(p.shadow);
  free(p.clock);
  return good;
}

// ---- tokens that instructions ignore

typedef struct ignoring {
  const char *from; // a unit
  bool found;
} ignoring;

static bool takes_from(void *env, nw_stmt *s) {
  ignoring *x = env;
  x->found |= nw_tag_has(s, "ignores", x->from);
  return !x->found;
}

uint16_t nwd_ignored(const nw_acc *s, const nw_stmt *call, int unit) {
  uint16_t out = 0;
  for (int q = 0; q < s->machine->nqueues; q++) {
    const nw_machine_queue *row = &s->machine->queue_of[q];
    if (strcmp(row->to, s->machine->unit[unit].name)) continue;
    ignoring x = {row->from, false};
    nw_walk_from(call, takes_from, &x);
    if (x.found) out |= (uint16_t)(1 << q);
  }
  return out;
}

// Leaves out the tokens that instructions ignore: neither do they take them, nor does another instruction put them. The k-th
// token that is taken from a queue is the k-th that was put, so the others keep their partners.
static void leave_out(nw_acc *s) {
  int *by = nw_xcalloc((size_t)s->ninstrs + 1, sizeof *by); // the instructions that put tokens into a queue
  for (int q = 0; q < s->machine->nqueues; q++) {
    int puts = 0, takes = 0, bit = 1 << q;
    for (int i = 0; i < s->ninstrs; i++)
      if (s->instr[i].push & bit) by[puts++] = i;
    for (int i = 0; i < s->ninstrs; i++) {
      nwd_instr *in = &s->instr[i];
      if (!(in->pop & bit)) continue;
      int from = by[takes++];
      if (in->site < 0 || !(s->site[in->site].ignores & bit)) continue;
      in->pop &= (uint16_t)~bit;
      s->instr[from].push &= (uint16_t)~bit;
      s->left_out++;
    }
  }
  s->edited |= s->left_out > 0;
  free(by);
}

bool nwd_tokens(nw_acc *s) {
  nwd_instr *in = s->instr;
  int n = s->ninstrs, *at = nw_xcalloc((size_t)s->nmarks + 1, sizeof *at);
  for (int i = 0; i < s->nmarks; i++) at[i] = s->mark[i].at;
  s->instr = NULL;
  bool good = place_tokens(s, in, n, at, 0);
  for (uint32_t late = 0, full; good && !NW_MUTATED(dae_late) && (full = nwd_full_queues(s) & ~late);) {
    late |= full;
    good = place_tokens(s, in, n, at, late);
  }
  free(in);
  free(at);
  if (good) leave_out(s);
  return good;
}
