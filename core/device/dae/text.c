// Writes a stream as text. Consecutive iterations of a loop are shown once if they have the same instructions with the same
// tokens. The operands are those of the first of these iterations; an array that is used in turns has all its places.
#include "device/dae/dae.h"
#include <stdlib.h>

enum { FOLDS = 64 }; // loops around an instruction

typedef struct writing {
  const nw_acc *s;
  nw_str out;
  int64_t lines, most;
  int nfolds; // the loops around the line, of which some iterations are shown once
  nwd_fold fold[FOLDS];
} writing;

int nwd_loop_end(const nw_acc *s, int mark) {
  int depth = 0;
  for (int i = mark; i < s->nmarks; i++) {
    depth += (s->mark[i].kind == NWD_LOOP) - (s->mark[i].kind == NWD_END);
    if (!depth) return i;
  }
  return s->nmarks - 1;
}

// Returns the mark at which the iteration that begins at `mark` ends: the next one of its loop, or the end of the loop.
int nwd_turn_end(const nw_acc *s, int mark) {
  int i = mark + 1;
  while (s->mark[i].kind == NWD_LOOP) i = nwd_loop_end(s, i) + 1;
  return i;
}

static void mix(uint64_t *h, uint64_t v) {
  *h ^= v + 0x9e3779b97f4a7c15u + (*h << 6) + (*h >> 2);
  *h *= 0xff51afd7ed558ccdu;
}

uint64_t nwd_turn_hash(const nw_acc *s, int from, int to) {
  uint64_t h = 1;
  for (int i = s->mark[from].at; i < s->mark[to].at; i++) {
    const nwd_instr *in = &s->instr[i];
    mix(&h, (uint64_t)(in->site + 1) << 40 ^ (uint64_t)in->unit << 32 ^ (uint64_t)in->pop << 16 ^ in->push);
  }
  return h;
}

static void begin_line(writing *w, int depth) {
  for (int i = 0; i < depth; i++) nw_str_add(&w->out, "  ");
}

static bool room(writing *w) { return !w->most || w->lines < w->most; }

static void add_tokens(writing *w, const char *verb, uint32_t set) {
  const nw_machine_accelerator *a = w->s->machine;
  for (int q = 0; q < a->nqueues; q++)
    if (set >> q & 1) nw_str_fmt(&w->out, "  %s %s->%s", verb, a->queue_of[q].from, a->queue_of[q].to);
}

// Adds the units whose tokens the instruction ignores.
static void add_ignored(writing *w, const nwd_instr *in) {
  uint16_t set = in->site < 0 ? 0 : w->s->site[in->site].ignores;
  for (int q = 0; q < w->s->machine->nqueues; q++)
    if (set >> q & 1) nw_str_fmt(&w->out, "  ignores %s", w->s->machine->queue_of[q].from);
}

static void write_instr(writing *w, int i, int depth) {
  if (!room(w)) return;
  const nwd_instr *in = &w->s->instr[i];
  char *text = nwd_folded_text(w->s, i, w->nfolds, w->fold);
  begin_line(w, depth);
  nw_str_fmt(&w->out, "%-8s%s", w->s->machine->unit[in->unit].name, text);
  add_tokens(w, "take", in->pop);
  add_ignored(w, in);
  add_tokens(w, "put", in->push);
  nw_str_add(&w->out, "\n");
  w->lines++;
  free(text);
}

static void write_part(writing *w, int mark, int end, int from, int to, int depth);

static void write_loop(writing *w, int mark, int end, int depth) {
  const nw_acc *s = w->s;
  for (int turn = mark + 1; turn < end && s->mark[turn].kind == NWD_TURN && room(w);) {
    int next = nwd_turn_end(s, turn), last = turn, after = next, folds = w->nfolds;
    int64_t times = 1;
    uint64_t h = nwd_turn_hash(s, turn, next);
    while (s->mark[after].kind == NWD_TURN) {
      int then = nwd_turn_end(s, after);
      if (nwd_turn_hash(s, after, then) != h) break;
      last = after, after = then, times++;
    }
    begin_line(w, depth);
    const char *name = s->mark[mark].loop->loop.var->name;
    if (last == turn)
      nw_str_fmt(&w->out, "for %s = %lld:\n", name, (long long)s->mark[turn].value);
    else
      nw_str_fmt(&w->out, "for %s in %lld..%lld:\n", name, (long long)s->mark[turn].value,
                 (long long)s->mark[last].value + 1);
    w->lines++;
    if (folds < FOLDS) w->fold[w->nfolds++] = (nwd_fold){times, s->mark[next].at - s->mark[turn].at};
    write_part(w, turn + 1, next, s->mark[turn].at, s->mark[next].at, depth + 1);
    w->nfolds = folds;
    turn = after;
  }
}

// Writes the instructions from..to, with the loops among the marks mark..end.
static void write_part(writing *w, int mark, int end, int from, int to, int depth) {
  int i = from;
  while (mark < end) {
    for (; i < w->s->mark[mark].at; i++) write_instr(w, i, depth);
    int last = nwd_loop_end(w->s, mark);
    write_loop(w, mark, last, depth);
    i = w->s->mark[last].at;
    mark = last + 1;
  }
  for (; i < to; i++) write_instr(w, i, depth);
}

// Says that steps of the schedule were not judged, and which tokens are missing.
static void write_head(writing *w) {
  int n = w->s->source->unsafe;
  if (n) nw_str_fmt(&w->out, "# unsafe: %d step%s not judged\n", n, n == 1 ? " was" : "s were");
  if (w->s->left_out)
    nw_str_fmt(&w->out, "# %lld token%s left out, because a stage ignores a unit\n", (long long)w->s->left_out,
               w->s->left_out == 1 ? " is" : "s are");
}

char *nw_acc_text(const nw_acc *s, int64_t lines) {
  writing w = {.s = s, .most = lines};
  write_head(&w);
  write_part(&w, 0, s->nmarks, 0, s->ninstrs, 0);
  if (!room(&w)) nw_str_add(&w.out, "...\n");
  return nw_str_take(&w.out);
}
