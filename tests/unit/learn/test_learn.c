// Tests the training of models and the refusal of invalid input. If XGBoost is missing, the tests check only that the
// error names XGBoost.
#include "base/base.h"
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS = 120, GROUP = 30, FEATURES = 3 };

static float feature[ROWS * FEATURES], label[ROWS];
static const int group[] = {GROUP, GROUP, GROUP, GROUP};
static const nw_learn_opts usual = {.rounds = 40, .depth = 3, .seed = 1, .rate = 0.3, .columns = 1, .sample = 1};

static nw_learn_rows rows(void) {
  return (nw_learn_rows){
      .rows = ROWS, .features = FEATURES, .feature = feature, .label = label, .ngroups = 4, .group = group};
}

static int setup(void **state) {
  unsigned seed = 7;
  for (int i = 0; i < ROWS; i++) {
    for (int k = 0; k < FEATURES; k++)
      feature[FEATURES * i + k] = (float)((seed = seed * 1103515245 + 12345) >> 16 & 1023);
    label[i] = feature[FEATURES * i + 1]; // the label is the second feature
  }
  *state = nw_open();
  return 0;
}

static int teardown(void **state) {
  nw_close(*state);
  return 0;
}

// Returns a trained model. If XGBoost is missing, skips the test.
static nw_learner *learned(nw_ctx *c) {
  nw_learn_rows r = rows();
  nw_learner *m = nw_learn(c, &r, &usual);
  if (!m && strstr(nw_error(c)->message, "need XGBoost")) skip();
  if (!m) fail_msg("%s", nw_error(c)->message);
  return m;
}

static double share_in_order(const float *score) {
  int right = 0, all = 0;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < i; j++)
      if (label[i] != label[j]) {
        all++;
        right += (score[i] < score[j]) == (label[i] < label[j]);
      }
  return (double)right / all;
}

static void learns_to_rank(void **state) {
  nw_learner *m = learned(*state);
  nw_learn_rows r = rows();
  float score[ROWS];
  assert_true(nw_learner_predict(m, &r, score));
  assert_true(share_in_order(score) > 0.9);
  assert_int_equal(nw_learner_features(m), FEATURES);
  nw_learner_free(m);
}

static void learning_again_and_reading_give_the_same_scores(void **state) {
  nw_learner *a = learned(*state), *b = learned(*state);
  char *text = nw_learner_text(a);
  nw_learner *read = nw_learner_read(*state, text);
  assert_non_null(read);
  nw_learn_rows r = rows();
  float x[ROWS], y[ROWS], z[ROWS];
  assert_true(nw_learner_predict(a, &r, x) && nw_learner_predict(b, &r, y) && nw_learner_predict(read, &r, z));
  assert_memory_equal(x, y, sizeof x);
  assert_memory_equal(x, z, sizeof x);
  free(text);
  nw_learner_free(a);
  nw_learner_free(b);
  nw_learner_free(read);
}

static void begins_with_the_margin(void **state) {
  nw_learner *m = learned(*state);
  float margin[ROWS], without[ROWS], with[ROWS];
  for (int i = 0; i < ROWS; i++) margin[i] = (float)i;
  nw_learn_rows r = rows();
  assert_true(nw_learner_predict(m, &r, without));
  r.margin = margin;
  assert_true(nw_learner_predict(m, &r, with));
  float constant = with[0] - without[0]; // without margins, XGBoost adds a constant
  for (int i = 0; i < ROWS; i++) assert_true(fabsf(with[i] - without[i] - margin[i] - constant) < 1e-3);
  nw_learner_free(m);
}

// With this objective, the model predicts the labels themselves and not only their order. For rows of greater weight,
// the prediction is more exact.
static void predicts_the_labels(void **state) {
  nw_learner_free(learned(*state));
  nw_learn_rows r = rows();
  nw_learn_opts o = usual;
  o.squares = true;
  o.forest = 2;
  o.depth = 1;
  o.rounds = 5;
  float weight[ROWS], even[ROWS], first[ROWS], margin[ROWS] = {0}, other[ROWS];
  for (int i = 0; i < ROWS; i++) weight[i] = i < ROWS / 2 ? 100 : 0.01F;
  for (int i = 0; i < ROWS; i++) other[i] = i < ROWS / 2 ? label[i] : -label[i];
  r.margin = margin;
  r.label = other;
  nw_learner *a = nw_learn(*state, &r, &o);
  assert_true(nw_learner_predict(a, &r, even));
  r.weight = weight;
  nw_learner *b = nw_learn(*state, &r, &o);
  assert_true(nw_learner_predict(b, &r, first));
  double off_even = 0, off_first = 0, all = 0;
  for (int i = 0; i < ROWS / 2; i++) {
    off_even += pow(even[i] - label[i], 2);
    off_first += pow(first[i] - label[i], 2);
    all += pow(label[i], 2);
  }
  assert_true(off_even > all / 2);
  assert_true(off_first < all / 4);
  nw_learner_free(a);
  nw_learner_free(b);
}

static void refused(nw_ctx *c, nw_learn_rows r, nw_learn_opts o, const char *says) {
  nw_clear(c);
  assert_null(nw_learn(c, &r, &o));
  assert_non_null(strstr(nw_error(c)->message, says));
}

// XGBoost itself accepts such input without an error, or ends the process.
static void refuses_invalid_tables(void **state) {
  nw_ctx *c = *state;
  nw_learn_rows r = rows();
  static const int few[] = {GROUP, GROUP}, none[] = {ROWS, 0}, negative[] = {ROWS + 1, -1};
  r.group = few;
  r.ngroups = 2;
  refused(c, r, usual, "all groups together have 60 rows, but there are 120 rows");
  r.ngroups = 0;
  refused(c, r, usual, "all groups together have 0 rows");
  r.group = none;
  r.ngroups = 2;
  refused(c, r, usual, "group 2 has 0 rows");
  r.group = negative;
  refused(c, r, usual, "group 2 has -1 rows");
  static int alone[ROWS];
  for (int i = 0; i < ROWS; i++) alone[i] = 1;
  r.group = alone;
  r.ngroups = ROWS;
  refused(c, r, usual, "nothing to rank");
}

static void refuses_infinities_and_nans(void **state) {
  nw_ctx *c = *state;
  const float was = feature[7];
  feature[7] = INFINITY;
  refused(c, rows(), usual, "features: row 3, column 2");
  feature[7] = NAN;
  refused(c, rows(), usual, "features: row 3, column 2");
  feature[7] = was;
  label[4] = NAN;
  refused(c, rows(), usual, "labels: row 5");
  label[4] = feature[FEATURES * 4 + 1];
  float margin[ROWS] = {[5] = -INFINITY};
  nw_learn_rows r = rows();
  r.margin = margin;
  refused(c, r, usual, "margins: row 6");
}

static void refuses_invalid_options(void **state) {
  nw_learn_opts o = usual;
  o.rounds = 0;
  refused(*state, rows(), o, "rounds: 0");
  o = usual;
  o.depth = 17;
  refused(*state, rows(), o, "depth: 17");
  o = usual;
  o.rate = NAN;
  refused(*state, rows(), o, "rate: ");
  o = usual;
  o.sample = 0;
  refused(*state, rows(), o, "sample: 0");
  o = usual;
  o.forest = 101;
  refused(*state, rows(), o, "forest: 101");
  o = usual;
  o.least = NAN;
  refused(*state, rows(), o, "least: ");
  nw_learn_rows r = rows();
  const float weight[] = {1, 1, 0, 1};
  r.weight = weight;
  refused(*state, r, usual, "weights: 0, weight number 3");
}

static void refuses_texts_that_are_not_a_model(void **state) {
  nw_learner_free(learned(*state));
  static const char *const texts[] = {"", "{", "[]", "{}", "{\"learner\": 1}", "nothing"};
  for (int i = 0; i < NW_COUNT(texts); i++) assert_null(nw_learner_read(*state, texts[i]));
}

static void refuses_rows_of_another_width(void **state) {
  nw_learner *m = learned(*state);
  nw_learn_rows r = rows();
  float score[ROWS];
  r.features = 2;
  assert_false(nw_learner_predict(m, &r, score));
  assert_non_null(strstr(nw_error(*state)->message, "3 features, not 2"));
  nw_learner_free(m);
}

static void stops_when_asked(void **state) {
  nw_learner_free(learned(*state));
  nw_learn_rows r = rows();
  nw_clear(*state);
  nw_interrupt(*state);
  assert_null(nw_learn(*state, &r, &usual));
  assert_int_equal(nw_error(*state)->code, NW_EINTERRUPT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(learns_to_rank, setup, teardown),
      cmocka_unit_test_setup_teardown(learning_again_and_reading_give_the_same_scores, setup, teardown),
      cmocka_unit_test_setup_teardown(begins_with_the_margin, setup, teardown),
      cmocka_unit_test_setup_teardown(predicts_the_labels, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_invalid_tables, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_infinities_and_nans, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_invalid_options, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_texts_that_are_not_a_model, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_rows_of_another_width, setup, teardown),
      cmocka_unit_test_setup_teardown(stops_when_asked, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
