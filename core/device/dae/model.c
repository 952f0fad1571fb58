// Predicts the cycles of a stream without executing all of it: the steady state of its loops.
//
// Times are computed in the order of the program: an instruction begins when its unit is free and its tokens are there.
// A copy to or from the memory outside of the chip ends no earlier than the port has transferred all bytes so far. Two
// things are ignored: the order in which copies of several units use the port, and the lengths of queues. These
// equations have only sums and maxima. Suppose that consecutive iterations of a loop have the same instructions and
// tokens. Then, after some iterations, the time of each unit grows by a constant from one iteration to the next. The
// largest of these constants is the *interval*. The iterations before that point are the prologue, and what ends after
// the last iteration is the epilogue (Baccelli et al., "Synchronization and Linearity", 1992, chapter 3). The rest of
// these iterations is then skipped. So the effort depends on the text of the stream, and not on the numbers of
// iterations.
#include "device/dae/dae.h"
#include <math.h>
#include <stdlib.h>

enum { PATIENCE = 24 }; // iterations of a loop until the search for an interval is given up

typedef struct fifo { // the times of the tokens in a queue, and the units that put them
  double *at;
  int n, head, cap;
} fifo;

typedef struct state {
  double free[NW_MACHINE_UNITS], port;
} state;

typedef struct modelling {
  const nw_acc *s;
  int units, queues;
  state now;
  fifo queue[NW_MACHINE_QUEUES];
  int from[NW_MACHINE_QUEUES]; // the unit that puts tokens into the queue
  double rate, end;
  int depth; // number of loops around what is executed
  nw_acc_model *out;
} modelling;

static void put(fifo *q, double at) {
  if (q->n == q->cap) {
    q->cap = q->cap ? 2 * q->cap : 64;
    q->at = nw_xrealloc(q->at, (size_t)q->cap * sizeof *q->at);
  }
  q->at[q->n++] = at;
}

static void count(modelling *x, const nwd_instr *in, double cycles, int64_t bytes) {
  nw_acc_work *w = &x->out->all;
  w->busy[in->unit] += cycles;
  w->instructions++;
  if (in->site < 0) return;
  bool writes = x->s->site[in->site].access[0].memory >= x->s->machine->nbuffers;
  *(writes ? &w->dram_written : &w->dram_read) += bytes;
  nwd_work room;
  const nwd_work *own = nwd_work_of(x->s, in, &room);
  w->macs += own->macs;
  w->pj += own->pj;
  for (int i = 0; i < x->s->machine->nbuffers; i++) {
    w->read[i] += own->read[i];
    w->written[i] += own->written[i];
  }
}

static void execute(modelling *x, const nwd_instr *in) {
  int u = in->unit;
  double at = x->now.free[u], cycles = in->site < 0 ? 1 : nwd_cycles(x->s, in);
  for (int q = 0; q < x->queues; q++) {
    if (!(in->pop >> q & 1)) continue;
    fifo *f = &x->queue[q];
    if (f->head < f->n && f->at[f->head] > at) at = f->at[f->head];
    f->head += f->head < f->n;
  }
  int64_t bytes = in->site < 0 ? 0 : nwd_dram_bytes(x->s, in);
  double end = at + cycles;
  if (bytes && x->rate > 0) {
    double latency = x->s->site[in->site].row->latency, busy = ceil((double)bytes / x->rate);
    x->now.port += busy;
    end = fmax(at + fmax(cycles, latency + busy), x->now.port);
    x->out->all.port += busy;
  }
  x->now.free[u] = end;
  count(x, in, cycles, bytes);
  for (int q = 0; q < x->queues; q++)
    if (in->push >> q & 1) put(&x->queue[q], end);
  if (end > x->end) x->end = end;
}

static void run_part(modelling *x, int mark, int end, int from, int to);

// Returns the number of the iterations that begin at the mark `turn` and have the same instructions and tokens. Sets *after
// to the mark after them.
static int alike(const modelling *x, int turn, int *after) {
  const nw_acc *s = x->s;
  int n = 1, next = nwd_turn_end(s, turn);
  uint64_t h = nwd_turn_hash(s, turn, next);
  for (*after = next; s->mark[*after].kind == NWD_TURN; n++) {
    int then = nwd_turn_end(s, *after);
    if (nwd_turn_hash(s, *after, then) != h) break;
    *after = then;
  }
  return n;
}

// Moves all times on by as many intervals as iterations are skipped. A token was put by a unit, and moves with it.
static void skip(modelling *x, const state *step, double times) {
  for (int u = 0; u < x->units; u++) x->now.free[u] += times * step->free[u];
  x->now.port += times * step->port;
  for (int q = 0; q < x->queues; q++)
    for (int i = x->queue[q].head; i < x->queue[q].n; i++) x->queue[q].at[i] += times * step->free[x->from[q]];
  for (int u = 0; u < x->units; u++)
    if (x->now.free[u] > x->end) x->end = x->now.free[u];
}

static bool same_step(const modelling *x, const state *a, const state *b) {
  bool same = fabs(a->port - b->port) < 0.5;
  for (int u = 0; u < x->units; u++) same &= fabs(a->free[u] - b->free[u]) < 0.5;
  return same;
}

static state growth(const modelling *x, const state *before) {
  state d = {.port = x->now.port - before->port};
  for (int u = 0; u < x->units; u++) d.free[u] = x->now.free[u] - before->free[u];
  return d;
}

// Adds (after - before) * times to a sum of work.
static void add_work(nw_acc_work *to, const nw_acc_work *after, const nw_acc_work *before, int64_t times) {
  double n = (double)times;
  to->cycles += n * (after->cycles - before->cycles);
  to->port += n * (after->port - before->port);
  to->pj += n * (after->pj - before->pj);
  to->instructions += times * (after->instructions - before->instructions);
  to->macs += times * (after->macs - before->macs);
  to->dram_read += times * (after->dram_read - before->dram_read);
  to->dram_written += times * (after->dram_written - before->dram_written);
  for (int i = 0; i < NW_MACHINE_UNITS; i++) to->busy[i] += n * (after->busy[i] - before->busy[i]);
  for (int i = 0; i < NW_MACHINE_BUFFERS; i++) {
    to->read[i] += times * (after->read[i] - before->read[i]);
    to->written[i] += times * (after->written[i] - before->written[i]);
  }
}

// Returns the part of a loop, which is added if it is new; NULL if there are too many loops.
static nw_acc_part *part_of(modelling *x, const nw_stmt *loop) {
  nw_acc_model *m = x->out;
  for (int i = 0; i < m->nparts; i++)
    if (m->part[i].id == loop->id && m->part[i].depth == x->depth) return &m->part[i];
  if (m->nparts == NW_ACC_LOOPS) return NULL;
  nw_acc_part *p = &m->part[m->nparts++];
  *p = (nw_acc_part){.loop = loop->loop.var->name, .id = loop->id, .depth = x->depth};
  return p;
}

static void note_loop(modelling *x, const nw_stmt *loop, int n, double prologue, double interval) {
  nw_acc_steady *best = &x->out->steady;
  double cycles = interval * n;
  if (cycles <= best->cycles) return;
  *best = (nw_acc_steady){loop->loop.var->name, n, prologue, interval, cycles};
}

static void run_turns(modelling *x, int turn, int n, const nw_stmt *loop) {
  const nw_acc *s = x->s;
  state before, step, last = {{0}, 0};
  double start = x->end;
  int at = turn, stable = 0;
  nw_acc_model *was = n > 1 ? nw_xcalloc(1, sizeof *was) : NULL; // before the current iteration
  for (int i = 0; i < n; i++) {
    int next = nwd_turn_end(s, at), left = n - i - 1;
    before = x->now;
    if (was) memcpy(was, x->out, offsetof(nw_acc_model, part) + (size_t)x->out->nparts * sizeof *was->part);
    run_part(x, at + 1, next, s->mark[at].at, s->mark[next].at);
    step = growth(x, &before);
    stable = i && same_step(x, &step, &last) ? stable + 1 : 0;
    last = step;
    at = next;
    bool give_up = i + 1 >= PATIENCE && left > PATIENCE;
    if (!left || !(stable >= 2 || give_up)) continue;
    double interval = 0;
    for (int u = 0; u < x->units; u++) interval = fmax(interval, step.free[u]);
    note_loop(x, loop, n, x->end - start, interval);
    skip(x, &step, left);
    nw_acc_model *m = x->out;
    nw_acc_work done = m->all;
    add_work(&m->all, &done, &was->all, left);
    for (int p = 0; p < m->nparts; p++) { // the loops inside
      done = m->part[p].work;
      add_work(&m->part[p].work, &done, &was->part[p].work, left);
    }
    break;
  }
  free(was);
}

static void run_part(modelling *x, int mark, int end, int from, int to) {
  const nw_acc *s = x->s;
  int i = from;
  while (mark < end) {
    for (; i < s->mark[mark].at; i++) execute(x, &s->instr[i]);
    int last = nwd_loop_end(s, mark);
    nw_acc_part *part = part_of(x, s->mark[mark].loop);
    nw_acc_work was = x->out->all;
    was.cycles = x->end;
    x->depth++;
    for (int turn = mark + 1; turn < last;) {
      int after, n = alike(x, turn, &after);
      run_turns(x, turn, n, s->mark[mark].loop);
      turn = after;
    }
    x->depth--;
    nw_acc_work now = x->out->all;
    now.cycles = x->end;
    if (part) add_work(&part->work, &now, &was, 1);
    i = s->mark[last].at;
    mark = last + 1;
  }
  for (; i < to; i++) execute(x, &s->instr[i]);
}

void nw_acc_predict(const nw_acc *s, nw_acc_model *out) {
  const nw_machine *m = &s->target->machine;
  modelling x = {.s = s, .units = s->machine->nunits, .queues = s->machine->nqueues, .out = out};
  *out = (nw_acc_model){.units = x.units};
  x.rate = m->memory.bandwidth / m->clock;
  for (int q = 0; q < x.queues; q++) x.from[q] = nwd_unit_named(s, s->machine->queue_of[q].from);
  run_part(&x, 0, s->nmarks, 0, s->ninstrs);
  for (int q = 0; q < x.queues; q++) free(x.queue[q].at);
  out->all.cycles = x.end;
}
