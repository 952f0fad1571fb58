// Defines the table of keys, and the functions for the tags of a statement.
#include "ir/program/tags.h"

static const nw_tag_row rows[] = {
    {"schedule", true, false, "static|dynamic", 0, true,
     "how threads share the iterations: fixed parts (static), or the next chunk to any free thread (dynamic); used by "
     "the thread pool"},
    {"chunk", true, false, NULL, 1 << 30, true, "iterations a thread takes at a time; used by the thread pool"},
    {"partition", true, false, "auto|never", 0, false,
     "whether iterations that need no condition get a separate loop; used by the partition pass"},
    {"fma", false, true, "auto|never", 0, false,
     "whether a product and a sum may be rounded once, together; used by the fma pass"},
    {"minmax", false, true, "exact|fast", 0, false,
     "whether minimums and maximums of floats may lose NaN and the sign of 0; used by the extremes pass"},
    {"ignores", false, true, NULL, 0, false,
     "units of an accelerator whose tokens the instructions of the stage do not take; used by s:stream()"},
    {"note", true, true, NULL, 0, false, "a remark shown in every view"},
};

int nw_tag_count(void) { return NW_COUNT(rows); }

const nw_tag_row *nw_tag_row_at(int i) { return &rows[i]; }

const nw_tag_row *nw_tag_row_find(const char *key) {
  for (int i = 0; i < NW_COUNT(rows); i++)
    if (!strcmp(rows[i].key, key)) return &rows[i];
  return NULL;
}

const char *nw_tag_wants(const nw_tag_row *row) {
  if (row->most) return "a whole number of at least 1";
  return row->choices ? row->choices : "a line of text";
}

static bool is_line(const char *s) {
  enum { LONGEST = 200 };
  if (strlen(s) > LONGEST) return false;
  for (; *s; s++)
    if ((unsigned char)*s < ' ') return false;
  return true;
}

static bool is_choice(const char *choices, const char *s) {
  size_t n = strlen(s);
  for (const char *c = choices; c; c = strchr(c, '|'), c = c ? c + 1 : NULL)
    if (!strncmp(c, s, n) && (c[n] == '|' || !c[n]) && n) return true;
  return false;
}

bool nw_tag_fits(const nw_tag_row *row, const nw_tag *t) {
  if (row->most) return !t->text && t->number >= 1 && t->number <= row->most;
  return t->text && (row->choices ? is_choice(row->choices, t->text) : is_line(t->text));
}

// ---- the tags of a statement

const nw_tag *nw_tag_of(const nw_stmt *s, const char *key) {
  for (int i = 0; i < s->ntags; i++)
    if (!strcmp(s->tag[i].row->key, key)) return &s->tag[i];
  return NULL;
}

bool nw_tag_is(const nw_stmt *s, const char *key, const char *text) {
  const nw_tag *t = nw_tag_of(s, key);
  return t && !strcmp(t->text, text);
}

bool nw_tag_has(const nw_stmt *s, const char *key, const char *word) {
  const nw_tag *t = nw_tag_of(s, key);
  size_t length = strlen(word);
  for (const char *at = t ? t->text : ""; *at; at += strspn(at, " ")) {
    size_t n = strcspn(at, " ");
    if (n == length && !strncmp(at, word, n)) return true;
    at += n;
  }
  return false;
}

bool nw_tag_drop(nw_stmt *s, const char *key) {
  int n = 0, was = s->ntags;
  for (int i = 0; i < was; i++)
    if (strcmp(s->tag[i].row->key, key)) s->tag[n++] = s->tag[i];
  s->ntags = n;
  return n < was;
}

void nw_tag_set(nw_program *p, nw_stmt *s, nw_tag t) {
  nw_tag_drop(s, t.row->key);
  nw_tag *all = NW_NEW_N(p->arena, nw_tag, s->ntags + 1);
  int n = 0;
  while (n < s->ntags && s->tag[n].row < t.row) all[n] = s->tag[n], n++;
  all[n] = t;
  for (; n < s->ntags; n++) all[n + 1] = s->tag[n];
  s->tag = all;
  s->ntags++;
}

bool nw_same_tags(const nw_stmt *a, const nw_stmt *b) {
  for (int i = 0; i < a->ntags && a->ntags == b->ntags; i++) {
    const nw_tag *x = &a->tag[i], *y = &b->tag[i];
    if (x->row != y->row || x->number != y->number || !x->text != !y->text || (x->text && strcmp(x->text, y->text)))
      return false;
  }
  return a->ntags == b->ntags;
}

int64_t nw_chunk_of(const nw_stmt *loop) {
  const nw_tag *chunk = nw_tag_of(loop, "chunk");
  bool dynamic = nw_tag_is(loop, "schedule", "dynamic");
  int64_t n = chunk ? chunk->number : dynamic;
  return dynamic ? -n : n;
}
