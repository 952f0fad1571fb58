// Tests indices that a stage reads from another stage, which computes them.
#include "judging.h"

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#define HEAD "program C\ninput A: f32[12]\ninput D: i64[36]\noutput C: f32[36]\n"
#define TEMP HEAD "temp I: i64[36]\nalloc I[0..36]\n"
#define NUMBERS(range, value) "for k in " range ":\n  block I of I (i = k in 0..36):\n    I[i] = " value "\n"
#define READER(index) "for i in 0..36:\n  block C of C (i = i in 0..36):\n    C[i] = A[" index "]*2.0\n"

static const char before[] = HEAD READER("i // 3");
static const char after[] = TEMP NUMBERS("0..36", "i // 3") READER("known(i // 3, I[i])");

static void an_index_that_is_read(void **state) {
  accepts(*state, before, after, 'v');
  accepts(*state, after, before, 'v');
  accepts(*state, before, TEMP NUMBERS("0..36", "(35 - i) // 3") READER("known(i // 3, I[35 - i])"), 'v');
  accepts(*state, after,
          TEMP NUMBERS("0..36", "i // 3") "for i_o in 0..6:\n  for i_i in 0..6:\n    block C of C (i = 6*i_o "
                                          "+ i_i in 0..36):\n      C[i] = A[known(i // 3, I[i])]*2.0\n",
          'o');
}

static void an_index_with_another_value(void **state) {
  const char *other[] = {TEMP NUMBERS("0..36", "i // 4") READER("known(i // 3, I[i])"),
                         TEMP NUMBERS("0..36", "i // 3 + 1") READER("known(i // 3, I[i])"),
                         TEMP NUMBERS("0..36", "i // 3") READER("known(i // 3, I[35 - i])"),
                         TEMP NUMBERS("0..36", "i // 4") READER("known(i // 4, I[i])")};
  for (int i = 0; i < NW_COUNT(other); i++)
    refuses(*state, before, other[i], NW_REFUSE_VALUE, "the same expression of the same values");
  refuses(*state, after, TEMP NUMBERS("0..36", "i // 3") READER("known(i // 3, I[min(i + 1, 35)])"), NW_REFUSE_VALUE,
          "the same expression of the same values");
}

static void an_index_that_is_not_there(void **state) {
  nw_clear(((env *)*state)->c);
  env *e = *state;
  const char *late[] = {TEMP NUMBERS("0..18", "i // 3") READER("known(i // 3, I[i])"),
                        TEMP READER("known(i // 3, I[i])") NUMBERS("0..36", "i // 3")};
  for (int i = 0; i < NW_COUNT(late); i++) {
    nw_program *a = parsed(e, before), *b = parsed(e, late[i]), *c = parsed(e, after);
    if (nw_judge(a, b)) fail_msg("accepted:\n%s", late[i]);
    nw_clear(e->c);
    if (nw_judge(c, b)) fail_msg("accepted after a right program:\n%s", late[i]);
    nw_clear(e->c);
    nw_program_release(a);
    nw_program_release(b);
    nw_program_release(c);
  }
}

// A stage that reads data is work of its own, even if its values are whole numbers.
static void an_index_from_data(void **state) {
  refuses(*state, before, TEMP NUMBERS("0..36", "D[i]") READER("known(i // 3, I[i])"), NW_REFUSE_VALUE,
          "the same expression of the same values");
  refuses(*state, before, TEMP NUMBERS("0..36", "D[i]*2") READER("known(i // 3, I[i])"), NW_REFUSE_VALUE,
          "does work that is not part of the computation");
}

int main(void) {
  const struct CMUnitTest tests[] = {T(an_index_that_is_read), T(an_index_with_another_value),
                                     T(an_index_that_is_not_there), T(an_index_from_data)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
