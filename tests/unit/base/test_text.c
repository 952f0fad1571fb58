// Tests that no text can control the terminal. Input with control characters is refused. In other texts, control
// characters are shown as escapes.
#include "base/base.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static bool ok(const char *s, size_t n, bool lines) {
  nw_ctx *c = nw_open();
  bool good = nw_text_ok(c, "label", s, n, lines);
  assert_int_equal(good, !nw_error(c));
  nw_close(c);
  return good;
}

#define OK(s, lines) ok(s, sizeof(s) - 1, lines)

static void accepts_printable_text(void **state) {
  (void)state;
  assert_true(OK("", false));
  assert_true(OK("tiled 32x32, \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", false));
  assert_true(OK("two\n\tlines", true));
}

static void refuses_control_characters(void **state) {
  (void)state;
  assert_false(OK("two\nlines", false));
  assert_false(OK("a\0b", true));
  assert_false(OK("\x1b[31m", true));
  assert_false(OK("\x7f", true));
  assert_false(OK("\xc2\x9b"
                  "31m",
                  true)); // CSI, a C1 control character
  assert_false(OK("\xe2\x80\xa8", true)); // line separator
  assert_false(OK("\xe2\x80\xae", true)); // right-to-left override
  assert_false(OK("\xe2\x81\xa6", true)); // left-to-right isolate
}

static void refuses_invalid_utf8(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "\xff", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
      "\x80"};
  for (int i = 0; i < NW_COUNT(wrong); i++) assert_false(ok(wrong[i], strlen(wrong[i]), true));
}

static void names_the_refused_byte(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  assert_false(nw_text_ok(c, "title", "ab\x1b", 3, false));
  assert_int_equal(nw_error(c)->code, NW_EINVAL);
  assert_string_equal(nw_error(c)->message, "title: byte 3, \\x1b, is a control character");
  nw_close(c);
}

static void shows_control_characters_as_escapes(void **state) {
  (void)state;
  char *s = nw_text_shown("a\x1b[1m\0\n\xc2\x9b\xff \xc3\xa4", 13);
  assert_string_equal(s, "a\\x1b[1m\\x00\n\\xc2\\x9b\\xff \xc3\xa4");
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts_printable_text),
      cmocka_unit_test(refuses_control_characters),
      cmocka_unit_test(refuses_invalid_utf8),
      cmocka_unit_test(names_the_refused_byte),
      cmocka_unit_test(shows_control_characters_as_escapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
