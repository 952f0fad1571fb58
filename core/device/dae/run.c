// Runs a stream in time.
//
// A unit begins its next instruction when the instruction was fetched, when the unit is free, and when the queues hold the
// tokens that it takes. It puts its tokens when it has ended; if a queue has no room, it waits. All copies to and from the
// memory outside of the chip share one port, which transfers one after another, in the order in which they ask for it.
//
// There are two kinds of events: a unit begins its next instruction, and a copy asks for the port, after its latency. Events
// are handled in the order of their times. This order is right, because whatever an event makes possible happens after it.
#include "device/dae/dae.h"
#include "run/formals.h"
#include <math.h>
#include <stdlib.h>

#define NEVER 1e300

typedef struct times { // in a queue, when tokens were put and taken
  double *put, *taken;
  int nput, ntaken, capput, captaken;
} times;

typedef struct unit {
  int *list, n, next; // its instructions, and the number of those that began
  int fetched; // the number of those that were fetched
  double free; // when its last instruction ended
  bool asks; // the last instruction will ask for the port at `asking`
  double asking;
  bool holds; // the last instruction waits until a queue has room for its token
} unit;

typedef struct running {
  nw_acc *s;
  const nw_acc_opts *o;
  nw_acc_report *out;
  int units, queues;
  unit unit[NW_MACHINE_UNITS];
  times queue[NW_MACHINE_QUEUES];
  double port; // when the port began to transfer without a pause
  int64_t moved; // bytes that it was asked to transfer since then
  double rate; // bytes that the port transfers in a cycle; 0: unlimited
  int fetched; // number of instructions that were fetched
  double fetch; // when the last one was
  double serial; // when the last instruction ended, if the units take turns
  int nserial; // number of instructions that ended, in the order of the stream
} running;

// ---- queues

// True if the tokens of the queue order an instruction after one of a later unit, which only reuses its memory.
static bool is_backward(const nw_acc *s, int q) {
  const nw_machine_queue *row = &s->machine->queue_of[q];
  return nwd_unit_named(s, row->from) > nwd_unit_named(s, row->to);
}

static bool counts(const running *x, int q) {
  return !x->o->serial && !x->o->no_tokens && !(x->o->no_war && is_backward(x->s, q));
}

static void note(double **list, int *n, int *cap, double v) {
  if (*n == *cap) {
    *cap = *cap ? 2 * *cap : 64;
    *list = nw_xrealloc(*list, (size_t)*cap * sizeof **list);
  }
  (*list)[(*n)++] = v;
}

// Puts the tokens of an instruction that ended. Returns false if a queue has no room yet. Otherwise sets *at to the time.
static bool put_tokens(running *x, int i, double *at) {
  const nwd_instr *in = &x->s->instr[i];
  for (int q = 0; q < x->queues; q++) {
    int64_t room = x->s->machine->queue_of[q].tokens;
    const times *t = &x->queue[q];
    if (!(in->push >> q & 1) || !counts(x, q) || !room || t->nput < room) continue;
    if (t->nput - room >= t->ntaken) return false;
    if (t->taken[t->nput - room] > *at) *at = t->taken[t->nput - room];
  }
  for (int q = 0; q < x->queues; q++) {
    times *t = &x->queue[q];
    if (!(in->push >> q & 1) || !counts(x, q)) continue;
    note(&t->put, &t->nput, &t->capput, *at);
  }
  return true;
}

// ---- when an instruction can begin

// The units get their instructions in the order of the stream. An instruction is fetched when its unit's queue has room: when
// the instruction before it by the length of the queue has begun.
static void fetch_more(running *x) {
  while (x->fetched < x->s->ninstrs) {
    unit *v = &x->unit[x->s->instr[x->fetched].unit];
    int64_t room = x->s->machine->unit[v - x->unit].queue;
    double at = x->fetch + (x->fetched ? x->s->machine->fetch : 0);
    if (room && v->fetched >= room) {
      if (v->fetched - room >= v->next) return; // the queue is full
      double began = x->out->span[v->list[v->fetched - room]].from;
      if (began > at) at = began;
    }
    x->out->span[x->fetched].ready = at; // for now, the time at which it was fetched
    x->fetch = at;
    x->fetched++;
    v->fetched++;
  }
}

// Returns the time at which the unit can begin its next instruction, or NEVER if this is not known yet. Sets *waits to the
// queue whose token comes last, if the unit waits for it.
static double begins(const running *x, int u, int *waits) {
  const unit *v = &x->unit[u];
  *waits = -1;
  if (v->holds || v->asks || v->next == v->n) return NEVER;
  int i = v->list[v->next];
  if (i >= x->fetched) return NEVER;
  const nwd_instr *in = &x->s->instr[i];
  double at = x->out->span[i].ready > v->free ? x->out->span[i].ready : v->free;
  if (x->o->serial) return i == x->nserial ? (x->serial > at ? x->serial : at) : NEVER;
  for (int q = 0; q < x->queues; q++) {
    const times *t = &x->queue[q];
    if (!(in->pop >> q & 1) || !counts(x, q)) continue;
    if (t->ntaken >= t->nput) return NEVER;
    if (t->put[t->ntaken] > at) at = t->put[t->ntaken], *waits = q;
  }
  return at;
}

// ---- execution

static void take_tokens(running *x, const nwd_instr *in, double at) {
  for (int q = 0; q < x->queues; q++)
    if (in->pop >> q & 1 && counts(x, q)) note(&x->queue[q].taken, &x->queue[q].ntaken, &x->queue[q].captaken, at);
}

// The last instruction that the unit began ends.
static void end(running *x, int u, double at) {
  unit *v = &x->unit[u];
  nw_acc_span *span = &x->out->span[v->list[v->next - 1]];
  x->out->usage[u].busy += at - span->from;
  x->out->usage[u].port += span->port;
  span->to = v->free = at;
  v->holds = true;
  x->nserial++;
  x->serial = at;
  if (at > x->out->cycles) x->out->cycles = at;
}

static void begin(running *x, int u, double at, int waits) {
  unit *v = &x->unit[u];
  int i = v->list[v->next++];
  const nwd_instr *in = &x->s->instr[i];
  nw_acc_span *span = &x->out->span[i];
  double fetched = span->ready;
  *span =
      (nw_acc_span){.from = at, .to = -1, .put = -1, .ready = fetched > v->free ? fetched : v->free, .waits = waits};
  if (waits >= 0) x->out->usage[u].waits[waits] += at - span->ready;
  take_tokens(x, in, at);
  if (in->site < 0) {
    end(x, u, at + 1);
    return;
  }
  const nwd_site *t = &x->s->site[in->site];
  nwd_work room;
  const nwd_work *w = nwd_work_of(x->s, in, &room);
  int64_t bytes = w->dram_bytes;
  bool writes = t->access[0].memory >= x->s->machine->nbuffers;
  *(writes ? &x->out->dram_written : &x->out->dram_read) += bytes;
  x->out->macs += w->macs;
  x->out->pj += w->pj;
  for (int m = 0; m < x->s->machine->nbuffers; m++) {
    x->out->read[m] += w->read[m];
    x->out->written[m] += w->written[m];
  }
  v->asks = bytes && x->rate > 0;
  if (v->asks)
    v->asking = NW_MUTATED(dae_port) ? at : at + t->row->latency;
  else
    end(x, u, at + w->cycles);
}

// The copy that the unit began gets the port: it transfers its bytes after those that asked before. Bytes of several copies may
// be transferred in one cycle; but each copy takes at least as long as if it were alone, and ends with a whole cycle.
static void transfer(running *x, int u) {
  unit *v = &x->unit[u];
  int i = v->list[v->next - 1];
  const nwd_instr *in = &x->s->instr[i];
  double asks = v->asking, free = x->port + (double)x->moved / x->rate;
  if (free <= asks) x->port = asks, x->moved = 0, free = asks;
  x->moved += nwd_dram_bytes(x->s, in);
  double gets = fmax(floor(free), asks);
  double alone = gets + nwd_cycles(x->s, in) - x->s->site[in->site].row->latency;
  double last = x->port + (double)x->moved / x->rate;
  x->out->span[i].port = gets - asks;
  v->asks = false;
  end(x, u, ceil(fmax(alone, last) - 1e-6)); // less than the errors of rounding
}

static bool let_go(running *x, int u) {
  unit *v = &x->unit[u];
  double at = v->free;
  if (!put_tokens(x, v->list[v->next - 1], &at)) return false;
  x->out->usage[u].full += at - v->free;
  x->out->span[v->list[v->next - 1]].put = v->free = at;
  v->holds = false;
  return true;
}

// Handles the first event: at the same time, beginnings come before requests for the port, and units come in the order of
// the pipeline. Returns false if there is none.
static bool step(running *x) {
  int best = -1, waits = -1;
  double first = NEVER;
  fetch_more(x);
  for (int u = 0; u < x->units; u++) {
    int w;
    double at = begins(x, u, &w);
    if (at < first) first = at, best = u, waits = w;
  }
  bool asks = false;
  for (int u = 0; u < x->units; u++)
    if (x->unit[u].asks && x->unit[u].asking < first) first = x->unit[u].asking, best = u, asks = true;
  if (best < 0) return false;
  if (asks)
    transfer(x, best);
  else
    begin(x, best, first, waits);
  return true;
}

// Finds the most tokens that were in each queue at the same time.
static void find_depths(running *x) {
  for (int q = 0; q < x->queues; q++) {
    const times *t = &x->queue[q];
    for (int put = 0, taken = 0; put < t->nput; put++) {
      while (taken < t->ntaken && taken < put && t->taken[taken] <= t->put[put]) taken++;
      if (put + 1 - taken > x->out->depth[q]) x->out->depth[q] = put + 1 - taken;
    }
  }
}

static bool simulate(running *x) {
  for (;;) {
    bool moved = false;
    for (int u = 0; u < x->units; u++)
      if (x->unit[u].holds) moved |= let_go(x, u);
    moved |= step(x);
    if (nw_stopped(x->s->ctx)) return false;
    if (!moved) break;
  }
  for (int u = 0; u < x->units; u++) x->out->stuck |= x->unit[u].holds || x->unit[u].next < x->unit[u].n;
  find_depths(x);
  return true;
}

// ---- values

typedef struct event {
  double at;
  int instr;
  bool begins;
} event;

static int by_time(const void *a, const void *b) {
  const event *x = a, *y = b;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  if (x->begins != y->begins) return x->begins ? 1 : -1; // an end before a beginning
  return x->instr - y->instr;
}

// Computes the values as the units would in time: whenever an instruction begins or ends, all instructions in progress have
// done their share. If tokens order all conflicts, this gives the values of the program; otherwise it shows what goes wrong.
static void values_in_time(running *x) {
  nw_acc *s = x->s;
  event *list = nw_xcalloc((size_t)s->ninstrs * 2 + 1, sizeof *list);
  int64_t done[NW_MACHINE_UNITS];
  int now[NW_MACHINE_UNITS], n = 0;
  for (int u = 0; u < x->units; u++) now[u] = -1;
  for (int i = 0; i < s->ninstrs; i++) {
    if (x->out->span[i].to < 0) continue;
    list[n++] = (event){x->out->span[i].from, i, true};
    list[n++] = (event){x->out->span[i].to, i, false};
  }
  qsort(list, (size_t)n, sizeof *list, by_time);
  for (int e = 0; e < n && !nw_stopped(s->ctx); e++) {
    for (int u = 0; u < x->units; u++) {
      if (now[u] < 0) continue;
      const nw_acc_span *span = &x->out->span[now[u]];
      const nwd_instr *in = &s->instr[now[u]];
      int64_t all = in->site < 0 ? 0 : nwd_elements(s, in);
      double share = span->to > span->from ? (list[e].at - span->from) / (span->to - span->from) : 1;
      int64_t upto = share >= 1 ? all : (int64_t)((double)all * share);
      if (upto <= done[u]) continue;
      nwd_execute(s, in, done[u], upto);
      done[u] = upto;
    }
    int u = s->instr[list[e].instr].unit;
    if (list[e].begins) {
      now[u] = list[e].instr, done[u] = 0;
    } else {
      now[u] = -1;
    }
  }
  free(list);
}

static void values_in_order(nw_acc *s) {
  for (int i = 0; i < s->ninstrs && !nw_stopped(s->ctx); i++)
    if (s->instr[i].site >= 0) nwd_execute(s, &s->instr[i], 0, nwd_elements(s, &s->instr[i]));
}

// Checks that the arrays are those of the stream's program, with the sizes for which the stream was made.
static bool check_args(nw_acc *s, const nw_acc_opts *o) {
  nw_formals f = nw_formals_of_program(s->source);
  int n = s->source->nsizes;
  int64_t *sizes = nw_xcalloc((size_t)n + 1, sizeof *sizes);
  bool good = nw_formals_count(s->ctx, &f, o->nargs) && nw_formals_check(s->ctx, &f, o->nargs, o->args, sizes);
  for (int i = 0; i < n && good; i++)
    if (sizes[i] != s->run.slot[i])
      good = nw_fail(s->ctx, NW_ERANGE, "make a stream for this size",
                     "the arrays have %s = %lld, but the stream is for %lld", s->source->size[i].name,
                     (long long)sizes[i], (long long)s->run.slot[i]);
  free(sizes);
  nw_formals_free(&f);
  return good;
}

static bool make_data(nw_acc *s, const nw_acc_opts *o) {
  const nw_program *p = s->exec->shown;
  int given = 0;
  for (int i = 0; i < s->nmemories; i++) {
    nwd_memory *m = &s->memory[i];
    int buffer = i - s->machine->nbuffers;
    if (buffer >= 0 && p->buffer[buffer]->role != NW_TEMP) {
      m->data = nw_view_of(o->args[given++]).data;
    } else if (m->bytes && !m->data) {
      m->data = nw_ask(s->ctx, m->name, (uint64_t)m->bytes + 64, 1);
      if (!m->data) return false;
    }
    if (m->own && m->data) memset(m->data, 0, (size_t)m->bytes);
  }
  return true;
}

bool nw_acc_run(nw_acc *s, const nw_acc_opts *o, nw_acc_report *out) {
  static const nw_acc_opts usual = {.serial = false};
  running x = {.s = s, .o = o ? o : &usual, .out = out, .units = s->machine->nunits, .queues = s->machine->nqueues};
  if (x.o->values && !check_args(s, x.o)) return false;
  *out = (nw_acc_report){.units = x.units, .instructions = s->ninstrs};
  out->span = nw_ask(s->ctx, "the times of the instructions", (uint64_t)s->ninstrs + 1, sizeof *out->span);
  if (!out->span) return false;
  for (int i = 0; i < s->ninstrs; i++) out->span[i] = (nw_acc_span){.from = -1, .to = -1, .put = -1, .waits = -1};
  const nw_machine *m = &s->target->machine;
  x.rate = m->memory.bandwidth / m->clock;
  int *list[NW_MACHINE_UNITS], n[NW_MACHINE_UNITS], *storage = nwd_by_unit(s, list, n);
  for (int u = 0; u < x.units; u++) x.unit[u].list = list[u], x.unit[u].n = n[u];
  bool good = simulate(&x);
  bool safe = !s->edited && !x.o->no_war && !x.o->no_tokens && !out->stuck;
  if (good && x.o->values && (good = make_data(s, x.o))) {
    if (safe)
      values_in_order(s);
    else
      values_in_time(&x);
    good = !nw_stopped(s->ctx);
  }
  for (int q = 0; q < x.queues; q++) free(x.queue[q].put), free(x.queue[q].taken);
  free(storage);
  if (!good) nw_acc_report_free(out);
  return good;
}

void nw_acc_report_free(nw_acc_report *r) {
  nw_let_go(r->span);
  r->span = NULL;
}
