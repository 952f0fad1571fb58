// Facts for pictures: what an instruction accesses, where tokens go, and which hazards happened in a run.
#include "device/dae/dae.h"

_Static_assert((int)NW_ACC_DIMS >= (int)NWD_LOOPS, "an operand has room for every box");

int nw_acc_operands(const nw_acc *s, int i, nw_acc_operand *out, int most) {
  const nwd_instr *in = &s->instr[i];
  if (in->site < 0) return 0;
  const nwd_site *site = &s->site[in->site];
  nwd_box box[NWD_ACCESSES];
  int n = nwd_boxes(s, in, box);
  for (int b = 0; b < n && b < most; b++) {
    const nwd_box *x = &box[b];
    nw_acc_operand o = {.memory = s->memory[x->memory].scope,
                        .array = s->exec->shown->buffer[site->access[x->access].buffer]->name,
                        .read = x->read,
                        .write = x->write,
                        .from = x->at,
                        .to = x->at + x->row,
                        .bytes = x->row,
                        .row = x->row,
                        .ndims = x->n};
    for (int k = 0; k < x->n; k++) {
      o.times[k] = x->size[k], o.stride[k] = x->stride[k];
      o.to += (x->size[k] - 1) * x->stride[k];
      o.bytes *= x->size[k];
    }
    out[b] = o;
  }
  return n;
}

// Returns the first instruction from `at` on that puts a token into a queue, or takes one; -1 if there is none.
static int next_of(const nw_acc *s, int at, int q, bool put) {
  while (at < s->ninstrs && !((put ? s->instr[at].push : s->instr[at].pop) >> q & 1)) at++;
  return at < s->ninstrs ? at : -1;
}

// Queues are first in, first out, so the k-th token that is taken is the k-th that was put.
int nw_acc_tokens(const nw_acc *s, nw_acc_token *out, int most) {
  int n = 0;
  for (int q = 0; q < s->machine->nqueues; q++) {
    int put = next_of(s, 0, q, true), take = next_of(s, 0, q, false);
    while (put >= 0 || take >= 0) {
      if (n < most) out[n] = (nw_acc_token){q, put, take};
      n++;
      if (put >= 0) put = next_of(s, put + 1, q, true);
      if (take >= 0) take = next_of(s, take + 1, q, false);
    }
  }
  return n;
}

typedef struct looking {
  const nw_acc *s;
  const nw_acc_report *r;
  int instr;
  nw_acc_finding *out;
  int n, first, most; // first: the first finding of the current instruction
} looking;

static bool merged(looking *x, const nw_acc_finding *f) {
  for (int i = x->first; i < x->n && i < x->most; i++) {
    nw_acc_finding *g = &x->out[i];
    if (g->first != f->first || g->fault != f->fault || g->memory != f->memory) continue;
    if (f->from < g->from) g->from = f->from;
    if (f->to > g->to) g->to = f->to;
    return true;
  }
  return false;
}

// Units execute in order. So if the last access of a unit ended in time, its earlier ones did too.
static void conflict(void *env, const nwd_conflict *c) {
  looking *x = env;
  const nw_acc_span *before = &x->r->span[c->with], *now = &x->r->span[x->instr];
  if (now->to < 0 || (before->to >= 0 && now->from >= before->to)) return;
  nw_acc_finding f = {.fault = !c->wrote                ? NW_ACC_WAR
                               : c->writes && !c->reads ? NW_ACC_WAW
                                                        : NW_ACC_RAW,
                      .first = c->with,
                      .second = x->instr,
                      .memory = x->s->memory[c->memory].name,
                      .from = c->from,
                      .to = c->to,
                      .queue = -1,
                      .times = 1};
  if (merged(x, &f)) return;
  if (x->n < x->most) x->out[x->n] = f;
  x->n++;
}

int nw_acc_happened(nw_acc *s, const nw_acc_report *r, nw_acc_finding *out, int most) {
  looking x = {.s = s, .r = r, .out = out, .most = most};
  nwd_shadow *shadow = nwd_shadow_new(s);
  if (!shadow) return -1;
  for (x.instr = 0; x.instr < s->ninstrs && !nw_stopped(s->ctx); x.instr++) {
    x.first = x.n;
    nwd_shadow_look(shadow, &s->instr[x.instr], conflict, &x);
    nwd_shadow_keep(shadow, x.instr);
  }
  nwd_shadow_free(shadow);
  return nw_stopped(s->ctx) ? -1 : x.n;
}
