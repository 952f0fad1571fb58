// Tests the conditions that the judge (the legality check) checks before it uses isl.
#include "judging.h"

#define HEAD "program p\ninput A: f32[8]\noutput C: f32[8]\n"
#define COPY HEAD "for i_1 in 0..8:\n  block C of C (i = i_1 in 0..8):\n    C[i] = A[i]\n"

static void bindings_are_affine(void **state) {
  refuses(*state, COPY, HEAD "for i_1 in 0..1000:\n  block C of C (i = (i_1*i_1) % 8 in 0..8):\n    C[i] = A[i]\n",
          NW_REFUSE_UNDECIDED, "are not affine in its loops and sizes");
}

static void writes_are_affine(void **state) {
  refuses(*state, COPY, HEAD "for i_1 in 0..8:\n  block C of C (i = i_1 in 0..8):\n    C[(i*i) % 8] = A[i]\n",
          NW_REFUSE_UNDECIDED, "at an index that is not affine");
}

#define TEMPS                                                                                                          \
  "program p\ninput A: f32[8]\noutput C: f32[8]\ntemp T: f32[8] global\nfor o in 0..1:\n"                              \
  "  alloc T[0..8]:\n    for i_1 in 0..8:\n      block T of T (i = i_1 + o in 0..8):\n        T[i] = A[i]\n"

static void temporaries_are_used_inside_their_allocation(void **state) {
  refuses(*state, TEMPS "    for i_2 in 0..8:\n      block C of C (i = i_2 in 0..8):\n        C[i] = T[i]\n",
          TEMPS "for i_2 in 0..8:\n  block C of C (i = i_2 in 0..8):\n    C[i] = T[i]\n", NW_REFUSE_STRUCTURE,
          "outside its allocation");
}

static void inputs_are_not_written(void **state) {
  refuses(*state, COPY,
          HEAD "for i_1 in 0..8:\n  block C of C (i = i_1 in 0..8):\n    C[i] = A[i]\n"
               "for i_2 in 0..8:\n  block A of A (i = i_2 in 0..8):\n    A[i] = 0.0\n",
          NW_REFUSE_STRUCTURE, "writes the input A");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(bindings_are_affine, setup, teardown),
      cmocka_unit_test_setup_teardown(writes_are_affine, setup, teardown),
      cmocka_unit_test_setup_teardown(temporaries_are_used_inside_their_allocation, setup, teardown),
      cmocka_unit_test_setup_teardown(inputs_are_not_written, setup, teardown),
  };
  return cmocka_run_group_tests_name("structure", tests, NULL, NULL);
}
