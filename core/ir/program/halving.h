// Combines the partial results of threads in pairs. As long as E > 1 threads along an index have a partial result, H is
// the greatest power of two below E. Thread H + t gives its partial result to thread t, which combines it with its own.
// Then H threads have a partial result. The indices z, y and x are treated in this order, so about log2(N) such steps
// leave the result of N threads in thread 0. For example, for 24 threads, S_part has a partial result of each thread:
//
//   threadIdx.x for t in 0..24:
//     if t >= 16: S_upper[t - 16] = S_part[t]
//   threadIdx.x for t in 0..16:
//     S_part_1[t] = S_part[t] + select(t < 8, S_upper[t], 0.0)
//
// Partial results are in local storage, so that a thread keeps its own in a register. The ones that are given away are in
// shared storage. If all threads with a partial result are in one warp, they are in the storage of the warp.
#pragma once
#include "ir/program/factor.h"

enum { NW_HALVINGS = 32 };

typedef struct nw_halving {
  nw_factoring *f;
  nw_stmt was; // the reduction before it was factored
  int around; // position on the path of the statement around which shared storage is allocated
  int n; // number of steps
  struct {
    int loop; // the loop of the reduction whose threads are halved, as its position in f->red
    int64_t from, to; // the number of threads with a partial result before and after the step
    nw_scope scope; // of the partial results that are given away
  } step[NW_HALVINGS];
} nw_halving;

// Plans the steps. Returns false if there are none, because the numbers of threads are not constant, because there is
// only one thread, or because the storage would be nested too deeply.
bool nw_plan_halving(nw_halving *h);
// Makes the steps and the block that combines the last partial result with the element. `inside` is what nw_factor_inside
// returned. The result is the statement that follows the factored nest.
nw_stmt *nw_halve(nw_halving *h, nw_stmt *inside);

// The part of a buffer that is stored: the least index and the number of elements of each dimension.
typedef struct nw_part_box {
  int n;
  const nw_expr *min[NW_MAX_DEPTH], *extent[NW_MAX_DEPTH];
} nw_part_box;
// Finds the part of the stage that one execution of the statement at position `at` of the path computes. A dimension that
// cannot be bounded is stored as a whole. `t` is the target of the reduction before it was factored.
void nw_part_of_stage(const nw_factoring *f, const nw_stmt *block, int at, nw_part_box *box);
// Puts an allocation around n statements of `parent`, from position pos.
nw_stmt *nw_allocate_part(nw_program *p, const char *buffer, const nw_part_box *box, nw_stmt *parent, int pos, int n);
