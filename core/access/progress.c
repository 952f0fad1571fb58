// Computes the progress of a walk (walker.h) from the current values of its loops. So the walk itself need not count
// its progress.
#include "access/ready.h"

enum { DEEP = 64 };

// Estimates the number of stores that a part of the program executes for the current values of the outer loops.
static double weight(const nw_walker *w, const nw_nest *c, int depth) {
  if (c->stmt->kind == NW_STORE) return 1;
  double sum = 0;
  for (int i = 0; i < c->nkids && depth < DEEP; i++) sum += weight(w, c->kid[i], depth + 1);
  if (c->stmt->kind != NW_LOOP) return sum;
  int64_t extent = nw_calc_at(c->extent, w->slot, 0);
  return extent > 0 ? sum * (double)extent : 0;
}

static double part_of(const nw_walker *w, const nw_nest *c);

static double part_of_kids(const nw_walker *w, const nw_nest *c) {
  double done = 0, all = 0;
  for (int i = 0; i < c->nkids; i++) {
    double share = weight(w, c->kid[i], 0);
    if (i < c->at) done += share;
    if (i == c->at) done += share * part_of(w, c->kid[i]);
    all += share;
  }
  return all > 0 ? done / all : 0;
}

// Returns the fraction of a running nest that is done.
static double part_of(const nw_walker *w, const nw_nest *c) {
  if (c->stmt->kind != NW_LOOP) return part_of_kids(w, c);
  double extent = (double)nw_calc_at(c->extent, w->slot, 0),
         round = (double)(w->slot[c->slot] - nw_calc_at(c->begin, w->slot, 0));
  return extent > 0 ? (round + (c->flat ? 0 : part_of_kids(w, c))) / extent : 0;
}

double nw_walk_part(const nw_walker *w) { return part_of(w, w->root); }
