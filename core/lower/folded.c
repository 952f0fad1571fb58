// Shows a lowered program so that a long one can be read: of statements that an unrolled loop has repeated, only the
// first and the last are shown.
//
// Two lines are alike if their statements have the same kind, the same buffer, and the same indentation. A group
// of up to PERIOD lines that is repeated, line by line alike, is one iteration.
#include "ir/text/lines.h"
#include "lower/pass.h"
#include <stdlib.h>

enum {
  LONG = 40, // programs with fewer lines are shown whole
  PERIOD = 24, // most lines of one iteration
  LEAST = 5, // iterations that are folded
  WIDE = 120, // columns of the lines of an iteration; the rest is cut off
};

typedef struct folding {
  const nw_program *p;
  nw_lines *l;
  const char **text; // the text of each line
  size_t *n;
  uint64_t *sign; // lines are alike if these are equal
  int most; // the greatest id of a statement
  const nw_stmt **statement; // the statement of each id
  nw_str out;
  int *id, nids; // for each line that is shown: the id of its statement, or 0
} folding;

static bool find_most(void *env, nw_stmt *s) {
  folding *f = env;
  if (s->id > f->most) f->most = s->id;
  return true;
}

static bool collect(void *env, nw_stmt *s) {
  ((folding *)env)->statement[s->id] = s;
  return true;
}

static const char *name_of(const nw_stmt *s) {
  switch (s->kind) {
  case NW_STORE: return s->store.buffer;
  case NW_ALLOC: return s->alloc.buffer;
  case NW_PREFETCH: return s->prefetch.buffer;
  case NW_CALL: return s->call.intrinsic;
  default: return "";
  }
}

static uint64_t sign_of(const folding *f, int line) {
  const nw_line *x = &f->l->line[line];
  const nw_stmt *s = x->stmt > 0 && x->stmt <= f->most ? f->statement[x->stmt] : NULL;
  if (!s) return nw_hash_mix(1, (uint64_t)line); // alike no other line
  const char *name = name_of(s);
  uint64_t h = nw_hash_mix((uint64_t)s->kind, nw_hash_bytes(name, strlen(name)));
  if (s->kind == NW_STORE) h = nw_hash_mix(h, (uint64_t)s->store.value->op);
  return nw_hash_mix(h, (uint64_t)x->indent);
}

static void split(folding *f, const char *text) {
  for (int i = 0; i < f->l->n; i++) {
    const char *end = strchr(text, '\n');
    f->text[i] = text;
    f->n[i] = end ? (size_t)(end - text) : strlen(text);
    text = end ? end + 1 : text + f->n[i];
  }
}

// Returns how often the `period` lines from `line` on are repeated, with themselves.
static int repeats(const folding *f, int line, int period) {
  int n = 0;
  for (int at = line; at + period <= f->l->n; at += period, n++)
    for (int k = 0; k < period; k++)
      if (f->sign[at + k] != f->sign[line + k]) return n;
  return n;
}

// Finds the period for which most lines are repeated. Returns the number of iterations, or 0 if there are too few.
static int find_period(const folding *f, int line, int *period) {
  int best = 0;
  for (int k = 1; k <= PERIOD; k++) {
    int n = repeats(f, line, k);
    if (n >= LEAST && n * k > best * *period) best = n, *period = k;
  }
  return best;
}

static void put(folding *f, int line, bool cut) {
  size_t n = f->n[line];
  bool too_wide = cut && n > WIDE;
  nw_str_addn(&f->out, f->text[line], too_wide ? WIDE - 4 : n);
  nw_str_add(&f->out, too_wide ? " ...\n" : "\n");
  f->id[f->nids++] = f->l->line[line].stmt;
}

static void fold(folding *f, int line, int period, int n) {
  for (int k = 0; k < period; k++) put(f, line + k, true);
  nw_str_indent(&f->out, f->l->line[line].indent);
  nw_str_fmt(&f->out, "# ... %d more like %s, %d lines\n", n - 2, period == 1 ? "this" : "these", (n - 2) * period);
  f->id[f->nids++] = 0;
  for (int k = 0; k < period; k++) put(f, line + (n - 1) * period + k, true);
}

static void put_all(folding *f) {
  int period = 1;
  for (int line = 0, n; line < f->l->n; line += n ? n * period : 1) {
    n = f->l->n >= LONG ? find_period(f, line, &period) : 0;
    if (n)
      fold(f, line, period, n);
    else
      put(f, line, false);
  }
}

char *nw_folded(const nw_program *p, int before, int **id, int *n) {
  nw_lines lines = {0};
  nw_program_lines(&lines, p, &(nw_show_opts){.style = NW_TEXT_PLAIN});
  char *text = nw_program_show(p, NULL);
  folding f = {.p = p, .l = &lines, .nids = before};
  size_t room = (size_t)lines.n + 1;
  f.text = nw_xcalloc(room, sizeof *f.text);
  f.n = nw_xcalloc(room, sizeof *f.n);
  f.sign = nw_xcalloc(room, sizeof *f.sign);
  f.id = nw_xcalloc(room + (size_t)before, sizeof *f.id);
  split(&f, text);
  nw_walk_from(p->root, find_most, &f);
  f.statement = nw_xcalloc((size_t)f.most + 1, sizeof(nw_stmt *));
  nw_walk_from(p->root, collect, &f);
  for (int i = 0; i < lines.n; i++) f.sign[i] = sign_of(&f, i);
  put_all(&f);
  *id = f.id;
  *n = f.nids;
  free(f.statement);
  nw_lines_free(&lines);
  free(f.text);
  free(f.n);
  free(f.sign);
  free(text);
  return nw_str_take(&f.out);
}
