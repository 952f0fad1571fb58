// The tests that compare the judge (the legality check) with the interpreter share this header. It draws random
// numbers, chooses random statements, and runs programs.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "interp/interp.h"
#include "poly/poly.h"

// ---- random numbers

static uint64_t state_of_chance = 1;
static int case_number;
static inline int below(int n) {
  state_of_chance = nw_hash_mix(state_of_chance + 0x9e3779b97f4a7c15u, 0xd1b54a32d192ed03u);
  return n > 0 ? (int)((state_of_chance >> 20) % (uint64_t)n) : 0;
}

typedef struct pick {
  nw_stmt_kind kind;
  nw_vec found;
} pick;

static inline bool collect(void *env, const nw_path *path) {
  pick *p = env;
  if (path->at[path->n - 1]->kind == p->kind) nw_vec_push(&p->found, path->at[path->n - 1]);
  return true;
}

static inline nw_stmt *any(nw_program *p, nw_stmt_kind kind, nw_path *path) {
  pick k = {.kind = kind};
  nw_walk(p, collect, &k);
  nw_stmt *s = k.found.n ? k.found.at[below(k.found.n)] : NULL;
  nw_vec_free(&k.found);
  if (s) nw_find(p, s->id, path);
  return s;
}

// ---- running

#define MAX_PARAMS 4

typedef struct run {
  int n;
  nw_view view[MAX_PARAMS];
} run;

static inline int32_t datum(int param, int64_t i, int salt, nw_role role) {
  return role == NW_INPUT ? (int32_t)((i * 7 + param * 5 + i * i * 3) % 11) - 4 : 1000000 + salt;
}

// Outputs start from values that differ between runs, so that an element that is not written is detected.
static inline run params_of(const nw_program *p, int salt) {
  run r = {0};
  for (int i = 0; i < p->nbuffers && p->buffer[i]->role != NW_TEMP; i++) {
    int64_t count = 1, extent;
    for (int d = 0; d < p->buffer[i]->ndim; d++) count *= nw_is_int(p->buffer[i]->shape[d], &extent) ? extent : 0;
    int32_t *data = nw_xcalloc((size_t)count + 1, sizeof *data);
    for (int64_t k = 0; k < count; k++) data[k] = datum(i, k, salt, p->buffer[i]->role);
    r.view[r.n++] = (nw_view){NW_I32, count, data};
  }
  return r;
}

static inline bool run_program(nw_ctx *c, const nw_program *p, bool lowered, int salt, run *r) {
  *r = params_of(p, salt);
  if (!lowered) return nw_interp_program(c, p, NULL, r->view, NULL);
  nw_exec *e = nw_lower(p, NULL);
  bool fine = e && nw_interp_exec(c, e, NULL, r->view, NULL);
  nw_exec_release(e);
  return fine;
}

static inline void free_run(run *r) {
  for (int i = 0; i < r->n; i++) free(r->view[i].data);
}

static inline bool same_run(const run *a, const run *b) {
  for (int i = 0; i < a->n; i++)
    if (memcmp(a->view[i].data, b->view[i].data, (size_t)a->view[i].count * sizeof(int32_t))) return false;
  return true;
}

static inline void complain(nw_ctx *c, const nw_program *before, const nw_program *after, const char *what) {
  char *x = nw_program_print(before), *y = nw_program_print(after);
  print_error("%s: %s\n", what, nw_error(c) ? nw_error(c)->message : "other values");
  fputs(x, stderr);
  fputs(y, stderr);
  fail_msg("case %d", case_number);
}
