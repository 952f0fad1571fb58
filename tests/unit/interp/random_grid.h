// The tests that run random programs on grids share this header. It has small programs, binds their loops to blocks and
// threads at random, and finds the barriers of lowered programs.
#pragma once
#include "random_judged.h"

static const char *const bases[] = {
    "program tiles\ninput A: i32[6, 8]\ninput B: i32[8, 6]\noutput C: i32[6, 6]\ntemp S: i32[6, 8] shared\n"
    "for i_o in 0..2:\n  for j_o in 0..2:\n    for k_o in 0..4:\n      alloc S[3*i_o..3*i_o + 3, 2*k_o..2*k_o + 2]:\n"
    "        for a in 0..3:\n          for b in 0..2:\n"
    "            block S of S (i = 3*i_o + a in 0..6, k = 2*k_o + b in 0..8):\n              S[i, k] = A[i, k]\n"
    "        for i_i in 0..3:\n          for j_i in 0..3:\n            for k_i in 0..2:\n"
    "              block C of C (i = 3*i_o + i_i in 0..6, j = 3*j_o + j_i in 0..6, reduce k = 2*k_o + k_i in 0..8):\n"
    "                init C[i, j] = i32(0)\n                C[i, j] += S[i, k]*B[k, j]\n",

    "program halo\ninput A: i32[12]\noutput Y: i32[10]\ntemp X: i32[12] shared\n"
    "for o in 0..3:\n  alloc X[4*o..4*o + 6]:\n    for a in 0..6:\n"
    "      block X of X (i = 4*o + a in 0..12) where 4*o + a < 12:\n        X[i] = A[i]*3\n"
    "    for p in 0..4:\n      block Y of Y (j = 4*o + p in 0..10) where 4*o + p < 10:\n        Y[j] = X[j] + X[j + "
    "2]\n",

    "program own\ninput A: i32[12]\noutput Y: i32[12]\ntemp X: i32[12] local\n"
    "for o in 0..3:\n  alloc X[4*o..4*o + 4]:\n    for a in 0..4:\n"
    "      block X of X (i = 4*o + a in 0..12):\n        X[i] = A[i]*3\n"
    "    for p in 0..4:\n      block Y of Y (j = 4*o + p in 0..12):\n        Y[j] = X[j] + 1\n",

    "program warps\ninput A: i32[80]\noutput Y: i32[80]\ntemp X: i32[80] warp\n"
    "for o in 0..2:\n  alloc X[40*o..40*o + 41]:\n    for a in 0..41:\n"
    "      block X of X (i = 40*o + a in 0..80) where 40*o + a < 80:\n        X[i] = A[i]*3\n"
    "    for p in 0..40:\n      block Y of Y (j = 40*o + p in 0..80):\n        Y[j] = X[j] + X[min(j + 1, 79)]\n",

    // the part of the next iteration is stored in the other half of X
    "program ring\ninput A: i32[2, 12]\noutput Y: i32[2, 12]\ntemp X: i32[2, 12] shared layout [_0, _1 % 8] in [2, 8]\n"
    "for o in 0..2:\n  alloc X[o..o + 1, 0..12]:\n    for p in 0..4:\n"
    "      block X.pre of X (i = o in 0..2, j = p in 0..12):\n        X[i, j] = A[i, j]*3\n"
    "    for r in 0..3:\n      for a in 0..4:\n"
    "        block X of X (i = o in 0..2, j = 4*r + a + 4 in 0..12) where r <= 1:\n          X[i, j] = A[i, j]*3\n"
    "      for c in 0..4:\n        block Y of Y (i = o in 0..2, j = 4*r + c in 0..12):\n"
    "          Y[i, j] = X[i, 4*(j//4) + 3 - j % 4] + 1\n",

    "program stages\ninput A: i32[9]\noutput Y: i32[7]\ntemp X: i32[9]\ntemp P: i32[9]\n"
    "alloc X[0..9]:\n  alloc P[0..9]:\n    for i in 0..9:\n      block X of X (i = i in 0..9):\n        X[i] = A[i]*3\n"
    "    for p in 0..9:\n      block P of P (i = p in 0..9):\n        P[i] = X[i]\n"
    "    for j in 0..7:\n      block Y of Y (j = j in 0..7):\n        Y[j] = P[j] + X[j + 2]\n",

    // both stages are in one loop, so a barrier is needed inside the loop over threads
    "program beside\ninput A: i32[4, 6]\noutput Y: i32[4, 6]\ntemp X: i32[4, 6]\n"
    "alloc X[0..4, 0..6]:\n  for t in 0..4:\n    for i in 0..6:\n"
    "      block X of X (t = t in 0..4, i = i in 0..6):\n        X[t, i] = A[t, i]*3\n"
    "      block Y of Y (t = t in 0..4, i = i in 0..6):\n        Y[t, i] = X[t, max(i - 1, 0)] + X[t, i]\n",

    "program turns\ninput A: i32[6, 5]\noutput Y: i32[6, 5]\ntemp X: i32[6, 5]\n"
    "alloc X[0..6, 0..5]:\n  for i in 0..6:\n    for t in 0..5:\n"
    "      block X of X (i = i in 0..6, t = t in 0..5):\n        X[i, t] = A[i, t]*3\n"
    "      block Y of Y (i = i in 0..6, t = t in 0..5):\n        Y[i, t] = X[max(i - 1, 0), max(t - 1, 0)] + X[i, t]\n",

    "program heat\ninput A: i32[8]\noutput S: i32[5, 8]\n"
    "for x in 0..8:\n  block S0 of S0 (t = 0 in 0..1, x = x in 0..8):\n    S[t, x] = A[x]\n"
    "for t in 1..5:\n  for y in 0..8:\n    block S of S (t = t in 1..5, x = y in 0..8):\n"
    "      S[t, x] = S[t - 1, max(x - 1, 0)] - S[t - 1, min(x + 1, 7)]\n",

    "program sweep\ninput A: i32[8]\noutput S: i32[4, 8]\n"
    "for x in 0..8:\n  block S0 of S0 (t = 0 in 0..1, x = x in 0..8):\n    S[t, x] = A[x]\n"
    "for t in 1..4:\n  for y in 0..8:\n    block S of S (t = t in 1..4, x = y in 0..8):\n"
    "      S[t, x] = S[t - 1, min(x + 1, 7)] + select(x > 0, S[t, max(x - 1, 0)], 0)\n",

    "program line\ninput A: i32[16]\noutput X: i32[16]\n"
    "for z in 0..16:\n  block Z of Z (i = z in 0..16):\n    X[i] = A[i]\n"
    "for i_o in 0..7:\n  for i_i in 0..2:\n    block X of X (i = 2*i_o + i_i + 1 in 1..15):\n"
    "      X[i] = X[i + 1] + X[i]\n",

    "program rows\ninput A: i32[5, 8]\noutput Y: i32[5]\ntemp R: i32[5] shared\n"
    "for o in 0..5:\n  alloc R[o..o + 1]:\n    for k in 0..8:\n"
    "      block R of R (i = o in 0..5, reduce k = k in 0..8):\n        init R[i] = i32(0)\n        R[i] += A[i, k]\n"
    "    for n in 0..1:\n      block Y of Y (i = o + n in 0..5):\n        Y[i] = R[i]*2\n",

    "program triangle\ninput A: i32[6, 6]\noutput Y: i32[6, 6]\n"
    "for i in 0..6:\n  for j in 0..i + 1:\n    block Y of Y (i = i in 0..6, j = j in 0..6):\n      Y[i, j] = A[i, j]\n"
    "  for u in i + 1..6:\n    block U of U (i = i in 0..6, j = u in 0..6):\n      Y[i, j] = A[j, i]\n",
};

// ---- binding

static inline bool bind_some(nw_program *p) {
  nw_path path;
  nw_stmt *l = any(p, NW_LOOP, &path);
  if (!l || l->loop.mark != NW_SERIAL) return false;
  l->loop.mark = below(3) ? (nw_loop_kind)(NW_THREAD_X + below(2)) : (nw_loop_kind)(NW_BLOCK_X + below(7));
  return true;
}

static inline nw_program *bound(const nw_program *p) {
  nw_program *q = nw_program_clone(p);
  for (int n = 1 + below(5); n > 0; n--) bind_some(q);
  return nw_program_freeze(q);
}

// ---- barriers

static inline nw_stmt *nth_barrier(nw_program *p, int *n, nw_stmt *s, nw_path *path) {
  if (s->kind == NW_BARRIER && (*n)-- == 0) return nw_find(p, s->id, path), s;
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *found = nth_barrier(p, n, s->kid[i], path);
    if (found) return found;
  }
  return NULL;
}

static inline bool is_conflict(const nw_refusal *r) {
  return r && (r->kind == NW_REFUSE_RAW || r->kind == NW_REFUSE_WAR || r->kind == NW_REFUSE_WAW ||
               r->kind == NW_REFUSE_REDUCTION);
}
