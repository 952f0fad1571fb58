// The parser must either refuse a text with an error, or return a nest. The printed form of the nest must parse back to
// the same nest. The accesses of the nest must stay inside their arrays. A text that is generated from the nest must
// have the same accesses.
#include "access/affine/affine_walk.h"
#include "nest/nest_text.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 20000 }; // largest number of accesses that are checked

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what, const char *text) {
  if (holds) return;
  fprintf(stderr, "%s:\n%s\n", what, text);
  abort();
}

typedef struct looking {
  const nw_affine_nest *nest;
  const char *text;
  int64_t n;
  uint64_t hash;
} looking;

static bool look(void *env, const nw_ref *ref, int n) {
  looking *x = env;
  for (int i = 0; i < n && x->n < MOST; i++, x->n++) {
    const nw_affine_array *a = &x->nest->array[x->nest->site[ref[i].site].array];
    must(ref[i].address >= a->address && ref[i].address + ref[i].bytes <= a->address + (uint64_t)a->bytes,
         "an access outside of its array", x->text);
    x->hash = nw_hash_mix(x->hash + ref[i].address, ref[i].bytes + (uint64_t)ref[i].write);
  }
  return x->n < MOST;
}

// True if the text has at most four loops, and no number has more than two digits. Any other nest may run many
// iterations without an access.
static bool is_short(const char *text) {
  int digits = 0, most = 0, loops = 0;
  for (const char *s = text; *s; s++) {
    digits = *s >= '0' && *s <= '9' ? digits + 1 : 0;
    if (digits > most) most = digits;
    loops += !strncmp(s, "for ", 4);
  }
  return most <= 2 && loops <= 4;
}

static uint64_t walked(nw_ctx *c, const nw_affine_nest *n, const char *text) {
  looking x = {.nest = n, .text = text};
  nw_affine_refs(c, n, (nw_affine_share){0}, look, &x);
  nw_clear(c);
  return x.hash;
}

static nw_affine_nest *nest_of(nw_ctx *c, nw_arena *a, const nw_text *t) {
  int64_t value[NW_TEXT_PARAMS];
  bool given[NW_TEXT_PARAMS];
  return nw_text_values(c, t, NULL, 0, NULL, NULL, given, value) ? nw_text_nest(c, a, t, value) : NULL;
}

static char *printed(const nw_text *t) {
  nw_str s = {0};
  nw_text_print(&s, t, NULL, NULL);
  return nw_str_take(&s);
}

// Checks a text that is generated from the nest. The parser may refuse this text, because its bounds can be harder to
// prove.
static void made_text(nw_ctx *c, nw_arena *a, const nw_affine_nest *n, const char *text) {
  nw_text *made = nw_text_of(c, n);
  char *written = printed(made);
  nw_text *again = nw_text_parse(c, written);
  must(again, nw_error(c) ? nw_error(c)->message : "no text", written);
  nw_affine_nest *same = nest_of(c, a, again);
  must(same || nw_error(c), "no nest and no error", written);
  nw_clear(c);
  must(!same || walked(c, same, written) == walked(c, n, text), "the accesses differ", written);
  nw_text_free(again);
  nw_text_free(made);
  free(written);
}

static void round_trip(nw_ctx *c, const nw_text *t) {
  char *text = printed(t);
  nw_text *again = nw_text_parse(c, text);
  must(again, nw_error(c) ? nw_error(c)->message : "no text", text);
  char *second = printed(again);
  must(!strcmp(text, second), "printing again gives another text", text);
  nw_arena *a = nw_arena_new();
  nw_affine_nest *n = nest_of(c, a, t);
  must(n || nw_error(c), "no nest and no error", text);
  nw_clear(c);
  if (n && is_short(text)) made_text(c, a, n, text);
  nw_arena_free(a);
  nw_text_free(again);
  free(second);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = nw_xmalloc(size + 1);
  memcpy(text, data, size);
  text[size] = 0;
  nw_ctx *c = nw_open();
  nw_text *t = nw_text_parse(c, text);
  must(t || nw_error(c), "no text and no error", text);
  if (t) round_trip(c, t);
  nw_text_free(t);
  nw_close(c);
  free(text);
  return 0;
}
