// Examines the tokens of a stream, at any latency.
//
// The instructions are executed in an order that the queues allow, without times: a unit executes its next instruction as
// soon as there are the tokens that it takes. The queues are first in, first out, so the k-th token taken is the k-th put,
// in every such order. The *clock* of an instruction says how many instructions of each unit have ended before it begins, in
// every order. An access conflicts with an earlier one that its clock does not include: then there is another order that
// exchanges the two. (Vector clocks: Mattern 1989; the last write and the last reads of a word are enough: Flanagan and
// Freund, "FastTrack", PLDI 2009.)
#include "device/dae/dae.h"
#include <stdlib.h>

typedef struct tokens { // in a queue: the instructions that put them
  int *by, head, n, cap;
} tokens;

typedef struct checking {
  nw_acc *s;
  nwd_shadow *shadow;
  int units, queues;
  int *storage, *list[NW_MACHINE_UNITS], length[NW_MACHINE_UNITS]; // the instructions of each unit
  int done[NW_MACHINE_UNITS]; // number of instructions that it has executed
  int fetched, of[NW_MACHINE_UNITS]; // numbers of instructions that were fetched: in all, and of each unit
  bool holds[NW_MACHINE_UNITS]; // the last of them has not put its tokens, because a queue had no room
  int32_t *clock;
  tokens queue[NW_MACHINE_QUEUES];
  nw_acc_finding *out;
  int n, most, all; // findings
  int instr; // being examined
} checking;

const char *nw_acc_fault_name(nw_acc_fault f) {
  static const char *const names[] = {"RAW hazard", "WAR hazard",  "WAW hazard",
                                      "deadlock",   "tokens left", "full queue"};
  return (unsigned)f < NW_ACC_FAULTS ? names[f] : NULL;
}

// ---- findings

static bool same_place(const checking *x, const nw_acc_finding *a, const nw_acc_finding *b) {
  const nwd_instr *in = x->s->instr;
  return a->fault == b->fault && a->queue == b->queue && in[a->first].site == in[b->first].site &&
         in[a->second].site == in[b->second].site && in[a->first].unit == in[b->first].unit &&
         in[a->second].unit == in[b->second].unit;
}

// Adds a finding, or counts it if the same two statements have it already.
static void find(checking *x, nw_acc_finding f) {
  for (int i = 0; i < x->n; i++)
    if (same_place(x, &x->out[i], &f)) {
      nw_acc_finding *g = &x->out[i];
      g->times++;
      if (g->first == f.first && g->second == f.second && f.from == g->to) g->to = f.to;
      return;
    }
  f.times = 1;
  x->all++;
  if (x->n < x->most) x->out[x->n++] = f;
}

static void conflict(void *env, const nwd_conflict *c) {
  checking *x = env;
  // Tokens may order the two, but the wrong way round.
  if ((c->with < x->instr || NW_MUTATED(dae_reversed)) && c->with < x->clock[(int64_t)x->instr * x->units + c->unit])
    return;
  int first = c->with < x->instr ? c->with : x->instr, second = c->with < x->instr ? x->instr : c->with;
  // The order of execution here may differ from the order of the program, which says what each access should be.
  bool swapped = first != c->with;
  nw_acc_fault fault = c->wrote && c->writes && !c->reads ? NW_ACC_WAW : c->wrote != swapped ? NW_ACC_RAW : NW_ACC_WAR;
  find(x, (nw_acc_finding){.fault = fault,
                           .first = first,
                           .second = second,
                           .memory = x->s->memory[c->memory].name,
                           .from = c->from,
                           .to = c->to,
                           .queue = -1});
}

// ---- execution without times

static void put(tokens *q, int by) {
  if (q->n == q->cap) {
    q->cap = q->cap ? 2 * q->cap : 64;
    q->by = nw_xrealloc(q->by, (size_t)q->cap * sizeof *q->by);
  }
  q->by[q->n++] = by;
}

static int missing_token(const checking *x, const nwd_instr *in) {
  for (int q = 0; q < x->queues; q++)
    if (in->pop >> q & 1 && x->queue[q].head == x->queue[q].n) return q;
  return -1;
}

// Returns a queue that has no room for a token of the instruction; -1 if there is none.
static int full_queue(const checking *x, const nwd_instr *in) {
  for (int q = 0; q < x->queues; q++) {
    int64_t room = x->s->machine->queue_of[q].tokens;
    if (in->push >> q & 1 && room && x->queue[q].n - x->queue[q].head >= room) return q;
  }
  return -1;
}

// Fetches instructions in the order of the stream, while there is room for them before their units.
static void fetch_more(checking *x, bool bounded) {
  while (x->fetched < x->s->ninstrs) {
    int u = x->s->instr[x->fetched].unit;
    int64_t room = x->s->machine->unit[u].queue;
    if (bounded && room && !NW_MUTATED(dae_fetched) && x->of[u] - x->done[u] >= room) return;
    x->of[u]++;
    x->fetched++;
  }
}

static void execute(checking *x, int i) {
  const nwd_instr *in = &x->s->instr[i];
  int32_t *clock = x->clock + (int64_t)i * x->units;
  int u = in->unit, before = x->done[u] ? x->list[u][x->done[u] - 1] : -1;
  for (int q = -1; q < x->queues; q++) {
    if (q >= 0 && !(in->pop >> q & 1)) continue;
    int from = q < 0 ? before : x->queue[q].by[x->queue[q].head++];
    if (from < 0) continue;
    for (int k = 0; k < x->units; k++) {
      int32_t known = x->clock[(int64_t)from * x->units + k];
      if (known > clock[k]) clock[k] = known;
    }
    int of = x->s->instr[from].unit;
    if (from + 1 > clock[of]) clock[of] = from + 1;
  }
  x->instr = i;
  if (x->shadow) nwd_shadow_look(x->shadow, in, conflict, x), nwd_shadow_keep(x->shadow, i);
  x->done[u]++;
  x->holds[u] = true;
}

// Puts the tokens of the instruction that the unit executed last. Returns false if a queue has no room.
static bool put_tokens(checking *x, int u, bool bounded) {
  int i = x->list[u][x->done[u] - 1];
  const nwd_instr *in = &x->s->instr[i];
  if (bounded && full_queue(x, in) >= 0) return false;
  for (int q = 0; q < x->queues; q++)
    if (in->push >> q & 1) put(&x->queue[q], i);
  x->holds[u] = false;
  return true;
}

// Executes all instructions that can be executed. If `bounded`, a unit waits while a queue has no room for its token, and an
// instruction is only fetched when there is room for it before its unit. Returns false if instructions are left.
static bool execute_all(checking *x, bool bounded) {
  bool moved = true, left = true;
  while (moved && left) {
    moved = left = false;
    fetch_more(x, bounded);
    for (int u = 0; u < x->units; u++) {
      for (;;) {
        if (x->holds[u]) {
          if (!put_tokens(x, u, bounded)) break;
          moved = true; // a unit that was looked at before may have waited for these tokens
        }
        if (x->done[u] == x->of[u]) break;
        int i = x->list[u][x->done[u]];
        if (missing_token(x, &x->s->instr[i]) >= 0) break;
        execute(x, i);
        moved = true;
        if (nw_stopped(x->s->ctx)) return false;
      }
      left |= x->done[u] < x->length[u] || x->holds[u];
    }
  }
  return !left;
}

static void restart(checking *x) {
  memset(x->done, 0, sizeof x->done);
  memset(x->holds, 0, sizeof x->holds);
  memset(x->of, 0, sizeof x->of);
  x->fetched = 0;
  for (int q = 0; q < x->queues; q++) x->queue[q].head = x->queue[q].n = 0;
  nwd_shadow_free(x->shadow);
  x->shadow = NULL;
}

// ---- units that wait forever

// Returns the instruction at which a unit waits; -1 if it has executed all its instructions.
static int waiting_at(const checking *x, int u) {
  if (x->holds[u]) return x->list[u][x->done[u] - 1];
  return x->done[u] < x->length[u] ? x->list[u][x->done[u]] : -1;
}

// True if a unit waits because its next instruction was not fetched: an instruction before it in the stream has no room.
static bool waits_for_fetch(const checking *x, int u) { return !x->holds[u] && x->done[u] == x->of[u]; }

// Returns the queue for whose token, or for whose room, a unit waits.
static int waited_queue(const checking *x, int u) {
  const nwd_instr *in = &x->s->instr[waiting_at(x, u)];
  return x->holds[u] ? full_queue(x, in) : missing_token(x, in);
}

_Static_assert(NW_ACC_WAITS >= NW_MACHINE_UNITS, "a finding has room for all units");

// Follows the units that wait for each other.
static void follow_waits(const checking *x, int u, nw_acc_finding *f) {
  int place[NW_MACHINE_UNITS];
  for (int k = 0; k < x->units; k++) place[k] = -1;
  while (place[u] < 0 && waiting_at(x, u) >= 0) {
    place[u] = f->waiting;
    f->wait[f->waiting++] = waiting_at(x, u);
    if (waits_for_fetch(x, u)) {
      u = x->s->instr[x->fetched].unit;
      continue;
    }
    const nw_machine_queue *q = &x->s->machine->queue_of[waited_queue(x, u)];
    u = nwd_unit_named(x->s, x->holds[u] ? q->to : q->from);
  }
  f->again = place[u];
}

static void find_stuck(checking *x) {
  for (int u = 0; u < x->units; u++) {
    int i = waiting_at(x, u);
    if (i < 0 || waits_for_fetch(x, u)) continue;
    nw_acc_finding f = {
        .fault = x->holds[u] ? NW_ACC_FULL : NW_ACC_DEADLOCK, .first = i, .second = i, .queue = waited_queue(x, u)};
    follow_waits(x, u, &f);
    find(x, f);
  }
}

static void find_left(checking *x) {
  for (int q = 0; q < x->queues; q++)
    for (int k = x->queue[q].head; k < x->queue[q].n; k++)
      find(x,
           (nw_acc_finding){.fault = NW_ACC_LEFT, .first = x->queue[q].by[k], .second = x->queue[q].by[k], .queue = q});
}

static checking new_checking(nw_acc *s) {
  checking x = {.s = s, .units = s->machine->nunits, .queues = s->machine->nqueues};
  x.storage = nwd_by_unit(s, x.list, x.length);
  x.clock = nw_xcalloc((size_t)s->ninstrs * (size_t)x.units + 1, sizeof *x.clock);
  return x;
}

static void end_checking(checking *x) {
  restart(x);
  for (int q = 0; q < x->queues; q++) free(x->queue[q].by);
  free(x->storage);
  free(x->clock);
}

uint32_t nwd_full_queues(nw_acc *s) {
  uint32_t full = 0;
  bool limited =
      false; // instructions that are not fetched can make units wait only if a queue of tokens is limited, too
  for (int q = 0; q < s->machine->nqueues; q++) limited |= s->machine->queue_of[q].tokens > 0;
  if (!limited) return 0;
  checking x = new_checking(s);
  bool ended = execute_all(&x, true);
  for (int u = 0; u < x.units && !ended; u++)
    if (x.holds[u]) full |= 1u << waited_queue(&x, u);
  end_checking(&x);
  return full;
}

int nw_acc_check(nw_acc *s, nw_acc_finding *out, int most) {
  checking x = new_checking(s);
  x.out = out;
  x.most = most;
  x.shadow = nwd_shadow_new(s);
  if (!x.shadow) return end_checking(&x), -1;
  bool ended = execute_all(&x, false);
  if (ended)
    find_left(&x);
  else
    find_stuck(&x);
  restart(&x);
  if (ended && !nw_stopped(s->ctx) && !execute_all(&x, true)) find_stuck(&x);
  end_checking(&x);
  return nw_stopped(s->ctx) ? -1 : x.n;
}

// ---- sentences

// Adds for what each unit waits, from one to the next.
static void add_waits(nw_str *t, const nw_acc *s, const nw_acc_finding *f) {
  for (int k = 1; k < f->waiting; k++) {
    char *text = nw_acc_instr_text(s, f->wait[k]);
    nw_str_fmt(t, ", which waits at instruction %d (%s)", f->wait[k] + 1, text);
    free(text);
    int to = k + 1 < f->waiting ? f->wait[k + 1] : f->again >= 0 ? f->wait[f->again] : -1;
    if (to >= 0) nw_str_fmt(t, " for %s", s->machine->unit[s->instr[to].unit].name);
  }
  if (f->again < 0)
    nw_str_fmt(t, "%s has executed all its instructions", f->waiting > 1 ? " for a unit that" : ", which");
  else
    nw_str_add(t, ": they wait for each other");
}

char *nw_acc_finding_text(const nw_acc *s, const nw_acc_finding *f) {
  char *first = nw_acc_instr_text(s, f->first), *second = nw_acc_instr_text(s, f->second);
  const nw_machine_queue *q = f->queue >= 0 ? &s->machine->queue_of[f->queue] : NULL;
  nw_str t = {0};
  switch (f->fault) {
  case NW_ACC_RAW:
    nw_str_fmt(&t,
               "RAW hazard: instruction %d (%s) reads bytes %lld to %lld of %s, and nothing makes it wait for "
               "instruction %d (%s), which writes them",
               f->second + 1, second, (long long)f->from, (long long)f->to, f->memory, f->first + 1, first);
    break;
  case NW_ACC_WAR:
    nw_str_fmt(&t,
               "WAR hazard: instruction %d (%s) overwrites bytes %lld to %lld of %s, and nothing makes it wait for "
               "instruction %d (%s), which reads them",
               f->second + 1, second, (long long)f->from, (long long)f->to, f->memory, f->first + 1, first);
    break;
  case NW_ACC_WAW:
    nw_str_fmt(&t, "WAW hazard: instructions %d (%s) and %d (%s) write bytes %lld to %lld of %s in any order",
               f->first + 1, first, f->second + 1, second, (long long)f->from, (long long)f->to, f->memory);
    break;
  case NW_ACC_DEADLOCK:
    nw_str_fmt(&t, "deadlock: instruction %d (%s) waits forever for a token from %s", f->second + 1, second, q->from);
    add_waits(&t, s, f);
    break;
  case NW_ACC_LEFT:
    nw_str_fmt(&t, "tokens left: %s never takes the token of instruction %d (%s)", q->to, f->first + 1, first);
    break;
  default:
    nw_str_fmt(
        &t,
        "full queue: instruction %d (%s) waits forever for room: the queue from %s holds at most %lld token%s for %s",
        f->first + 1, first, q->from, (long long)q->tokens, q->tokens == 1 ? "" : "s", q->to);
    add_waits(&t, s, f);
  }
  free(first);
  free(second);
  return nw_str_take(&t);
}
