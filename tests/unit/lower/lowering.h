// The tests of core/lower share this header. It parses, lowers and prints programs, and compares texts with golden
// files.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "lower/lower.h"

typedef struct lowering {
  nw_ctx *c;
  nw_pool *pool;
} lowering;

static inline int open_lowering(void **state) {
  lowering *l = nw_xcalloc(1, sizeof *l);
  l->c = nw_open();
  l->pool = nw_pool_new(l->c);
  *state = l;
  return 0;
}

static inline int close_lowering(void **state) {
  lowering *l = *state;
  nw_pool_release(l->pool);
  nw_close(l->c);
  free(l);
  return 0;
}

static inline nw_program *parsed(lowering *l, const char *text) {
  nw_program *p = nw_program_parse(l->c, l->pool, text);
  if (!p) fail_msg("%s\n%s", nw_error(l->c)->message, text);
  return p;
}

// Returns the text after a pass. The test fails if the program cannot be lowered.
static inline char *lowered(lowering *l, const char *text, const char *pass) {
  nw_program *p = parsed(l, text);
  char *out = nw_lower_text(l->c, p, pass);
  if (!out) fail_msg("%s", nw_error(l->c)->message);
  nw_program_release(p);
  return out;
}

static inline void assert_has(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("no '%s' in\n%s", part, text);
}

static inline void assert_lacks(const char *text, const char *part) {
  if (strstr(text, part)) fail_msg("'%s' in\n%s", part, text);
}

static inline int count_of(const char *text, const char *part) {
  int n = 0;
  for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) n++;
  return n;
}

// Checks that lowering is refused with a message that contains this text.
static inline void assert_refused(lowering *l, const char *text, const char *message) {
  nw_program *p = parsed(l, text);
  nw_exec *e = nw_lower(p, NULL);
  assert_null(e);
  assert_non_null(nw_error(l->c));
  assert_has(nw_error(l->c)->message, message);
  nw_clear(l->c);
  nw_program_release(p);
}

static inline char *read_text(const char *path) {
  FILE *f = fopen(path, "r");
  if (!f) return NULL;
  nw_str s = {0};
  char buf[4096];
  for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) nw_str_addn(&s, buf, n);
  fclose(f);
  return nw_str_take(&s);
}

// Compares the text with the file tests/golden/lower/NAME. With UPDATE_GOLDEN=1 in the environment, writes the file
// instead.
static inline void assert_golden(const char *text, const char *name, const char *source_file) {
  char path[1024];
  while (!strncmp(source_file, "../", 3)) source_file += 3; // a compiler cache makes the path relative
  snprintf(path, sizeof path, "%.*s/../../golden/lower/%s", (int)(strrchr(source_file, '/') - source_file), source_file,
           name);
  if (getenv("UPDATE_GOLDEN")) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
  }
  char *want = read_text(path);
  if (!want) fail_msg("no golden file %s", path);
  assert_string_equal(text, want);
  free(want);
}
