// The parser must either refuse a text with an error, or return a program. The printed form of the program must parse
// back to the same program.
#include "ir/program/program.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what, const char *text) {
  if (holds) return;
  fprintf(stderr, "%s:\n%s\n", what, text);
  abort();
}

static void round_trip(nw_ctx *c, nw_pool *pool, const nw_program *p) {
  char *text = nw_program_print(p), *shown = nw_program_show(p, NULL);
  nw_program *again = nw_program_parse(c, pool, text);
  must(again, nw_error(c) ? nw_error(c)->message : "no program", text);
  must(nw_same_program(p, again), "parsing the printed text gives another program", text);
  char *text_again = nw_program_print(again), *diff = nw_program_diff(p, again, NW_TEXT_PLAIN);
  must(!strcmp(text, text_again), "printing again gives another text", text);
  must(!*diff, "a difference between a program and itself", text);
  nw_program_release(again);
  free(text);
  free(shown);
  free(text_again);
  free(diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = nw_xmalloc(size + 1);
  memcpy(text, data, size);
  text[size] = 0;
  nw_ctx *c = nw_open();
  nw_pool *pool = nw_pool_new(c);
  nw_program *p = nw_program_parse(c, pool, text);
  must(p || nw_error(c), "no program and no error", text);
  if (p) round_trip(c, pool, p);
  nw_program_release(p);
  nw_pool_release(pool);
  nw_close(c);
  free(text);
  return 0;
}
