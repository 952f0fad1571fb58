// Pass: gives each thread that shares a reduction a partial result of its own, and combines the partial results. The
// judge examined the same program, so every reduction that it accepted can be rewritten. In an unsafe schedule, a
// reduction that cannot be rewritten stays as it is, and its threads race.
#include "ir/program/cross.h"
#include "lower/pass.h"

nw_program *nw_pass_cross(nw_program *p) {
  nw_cross_threads(p, NULL);
  return p;
}
