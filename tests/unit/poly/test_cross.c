// Tests cross-thread reductions: the threads of a block share a reduction, and combine their partial results.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// ---- C[i] = the sum of 16 numbers, in two loops, and what follows it

typedef struct sum {
  const char *outer, *inner; // the marks of the two loops of the reduction, each followed by a space
  const char *scope; // the scope of C
  const char *reader; // the loop around the reader D
  bool early; // true if E reads C in the last iteration of the outer loop, and not after the loop
} sum;

static void write_sum(char *out, size_t size, const sum *s) {
  const char *indent = s->early ? "      " : "    ";
  snprintf(out, size,
           "program p\ninput A: i32[4, 16]\noutput D: i32[4, 8]\noutput E: i32[4]\ntemp C: i32[4]%s\n"
           "blockIdx.x for i in 0..4:\n  alloc C[i..i + 1]:\n    %sfor k_o in 0..2:\n      %sfor k_i in 0..8:\n"
           "        block C of C (i = i in 0..4, reduce k = 8*k_o + k_i in 0..16):\n"
           "          init C[i] = i32(0)\n          C[i] += A[i, k]\n"
           "%sblock E of E (i = i in 0..4)%s:\n%s  E[i] = C[i]\n"
           "    %s\n      block D of D (i = i in 0..4, j = j in 0..8):\n        D[i, j] = C[i]\n",
           s->scope, s->outer, s->inner, indent, s->early ? " where k_o == 1" : "", indent, s->reader);
}

#define READ_BY_THREADS "threadIdx.x for j in 0..8:"

static void write_both(const sum *s, char *before, char *after, size_t size) {
  sum plain = *s;
  plain.outer = plain.inner = "";
  write_sum(before, size, &plain);
  write_sum(after, size, s);
}

static void shares(void **state, const sum *s) {
  char before[1024], after[1024];
  write_both(s, before, after, sizeof before);
  accepts(*state, before, after, 'm');
}

static void does_not_share(void **state, const sum *s, nw_refusal_kind kind, const char *why) {
  char before[1024], after[1024];
  write_both(s, before, after, sizeof before);
  refuses(*state, before, after, kind, why);
}

static void in_one_loop(void **state) {
  shares(state, &(sum){"threadIdx.x ", "", " shared", READ_BY_THREADS, false});
  shares(state, &(sum){"", "threadIdx.x ", " shared", READ_BY_THREADS, false});
}

static void in_two_loops(void **state) {
  shares(state, &(sum){"threadIdx.y ", "threadIdx.x ", " shared", READ_BY_THREADS, false});
}

// The result is in the local storage of thread 0, so no other thread can read it.
static void result_of_thread_0(void **state) {
  shares(state, &(sum){"", "threadIdx.x ", " local", "for j in 0..8:", false});
  does_not_share(state, &(sum){"", "threadIdx.x ", " local", READ_BY_THREADS, false}, NW_REFUSE_RAW,
                 "each thread has its own");
}

// In the last iteration of the outer loop, C is complete, but not yet combined.
static void read_before_the_combination(void **state) {
  does_not_share(state, &(sum){"", "threadIdx.x ", " shared", "for j in 0..8:", true}, NW_REFUSE_REDUCTION,
                 "cannot combine partial results: ");
}

// ---- only some threads reach the combination

static void some_threads(void **state, const char *other, const char *extent, bool legal) {
  static const char form[] = "program p\ninput A: i32[4, 16]\noutput C: i32[4]\noutput D: i32[%s]\n"
                             "blockIdx.x for b in 0..1:\n  threadIdx.%s for t in 0..%s:\n    block D of D (t = t in "
                             "0..%s):\n      D[t] = i32(1)\n"
                             "  threadIdx.y for i in 0..4:\n    %sfor k in 0..16:\n"
                             "      block C of C (i = i in 0..4, reduce k = k in 0..16):\n        init C[i] = i32(0)\n "
                             "       C[i] += A[i, k]\n";
  char before[1024], after[1024];
  snprintf(before, sizeof before, form, extent, other, extent, extent, "");
  snprintf(after, sizeof after, form, extent, other, extent, extent, "threadIdx.x ");
  if (legal)
    accepts(*state, before, after, 'm');
  else
    refuses(*state, before, after, NW_REFUSE_RAW, "no barrier can be placed between them");
}

// If the block has more threads along x than the reduction, the others wait at the barrier. If it has more threads
// along y than the loop around the reduction, the others do not reach the barrier.
static void threads_left_over(void **state) {
  some_threads(state, "x", "8", true);
  some_threads(state, "y", "4", true);
  some_threads(state, "y", "8", false);
}

// ---- reductions that cannot be rewritten

#define LOOPS "blockIdx.x for i in 0..4:\n  %sfor k in 0..%s:\n"
#define BLOCK                                                                                                          \
  "    block C of C (i = i in 0..4, reduce k = k in 0..4)%s:\n      init C[i] = i32(0)\n      C[i] += A[i, k]\n"

static void not_rewritten(void **state, const char *extent, const char *where, nw_refusal_kind kind, const char *why) {
  char before[1024], after[1024];
  snprintf(before, sizeof before, "program p\ninput A: i32[4, 4]\noutput C: i32[4]\n" LOOPS BLOCK, "", extent, where);
  snprintf(after, sizeof after, "program p\ninput A: i32[4, 4]\noutput C: i32[4]\n" LOOPS BLOCK, "threadIdx.x ", extent,
           where);
  refuses(*state, before, after, kind, why);
}

static void other_bounds(void **state) {
  not_rewritten(state, "i + 1", "", NW_REFUSE_STRUCTURE, "blockIdx.x");
  not_rewritten(state, "4", " where k <= i", NW_REFUSE_REDUCTION, "depends on both the reduction and the output");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(in_one_loop),       T(in_two_loops), T(result_of_thread_0), T(read_before_the_combination),
      T(threads_left_over), T(other_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
