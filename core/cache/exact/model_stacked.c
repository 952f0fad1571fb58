// Implements summaries, and finds the order in which their lines are applied. model_stack.h defines the terms.
#include "cache/exact/model_stack.h"

void nw_stacked_free(nw_spares *spares, nw_stacked *s) {
  nw_spare_give(spares, s->first);
  nw_spare_give(spares, s->last);
  nw_spare_give(spares, s->turn);
}

int64_t nw_stacked_weight(const nw_stacked *s) { return (int64_t)s->nfirst + s->nturns + s->nleft + s->nlate; }

// When a summary is applied, all its first lines are requested in order. This type describes the lines that are then
// not in LRU order. A first line that stays may have to be more recent than a first line that was requested after it.
// Then it takes another *turn*, which means that it is requested again after the last such first line. A line that
// replaces an evicted line is *late*. All more recent lines of its set are also late.
typedef struct order {
  nw_stacked *s;
  int *behind; // for each last line: index of the first line after which it takes a turn, or IN_ORDER, or LATE
} order;
enum { IN_ORDER = -1, LATE = -2 };

static void find_order(order *o) {
  int newest = -1;
  bool late = false;
  for (int i = 0; i < o->s->nlast; i++) {
    const nw_stack_last *l = &o->s->last[i];
    if (l->opens) newest = -1, late = false;
    late = late || !l->stayed || l->first < 0;
    o->behind[i] = late ? LATE : l->first < newest ? newest : IN_ORDER;
    if (!late && l->first > newest) newest = l->first;
    o->s->nlate += late;
    if (o->behind[i] >= 0) o->s->nturns++, o->s->first[newest].turns++;
  }
}

// Fills the list of turns. The turns of one set are in LRU order.
static void fill_turns(order *o, int *next) {
  int sum = 0;
  for (int i = 0; i < o->s->nfirst; i++) {
    next[i] = sum;
    sum += (int)o->s->first[i].turns;
  }
  for (int i = 0; i < o->s->nlast; i++)
    if (o->behind[i] >= 0) o->s->turn[next[o->behind[i]]++] = o->s->last[i].first;
}

void nw_stacked_order(nw_spares *spares, nw_stacked *s, const bool *of_whole) {
  order o = {s, nw_spare_get(spares, (size_t)(s->nlast + s->nfirst + 1) * sizeof *o.behind)};
  for (int i = 0; i < s->nfirst; i++) s->first[i].turns = 0;
  s->nturns = s->nleft = s->nlate = 0;
  find_order(&o);
  s->turn = nw_spare_get(spares, (size_t)(s->nturns + s->nfirst + s->nlate + 1) * sizeof *s->turn);
  s->left = s->turn + s->nturns;
  for (int i = 0; i < s->nfirst; i++)
    if (s->first[i].stay != NW_STAYS && !(of_whole && of_whole[i])) s->left[s->nleft++] = i;
  s->late = s->left + s->nleft;
  for (int i = 0, n = 0; i < s->nlast; i++)
    if (o.behind[i] == LATE) s->late[n++] = i;
  if (s->nturns) fill_turns(&o, o.behind + s->nlast);
  nw_spare_give(spares, o.behind);
}

nw_stacked nw_stacked_moved(nw_spares *spares, const nw_stacked *s, const int64_t *by) {
  nw_stacked out = *s;
  out.first = nw_spare_get(spares, (size_t)s->nfirst * sizeof *s->first);
  out.last = nw_spare_get(spares, (size_t)s->nlast * sizeof *s->last);
  memcpy(out.first, s->first, (size_t)s->nfirst * sizeof *s->first);
  for (int i = 0; i < s->nlast; i++) {
    out.last[i] = s->last[i];
    out.last[i].line += by[s->last[i].region];
    if (by[s->last[i].region]) out.last[i].first = -1;
  }
  nw_stacked_order(spares, &out, NULL);
  return out;
}
