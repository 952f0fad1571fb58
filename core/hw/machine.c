// Reads and writes the fields of machine records. The rows of machine_rows.c describe these fields.
#include "hw/machine_fields.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int *number_of(nw_machine *m, const nw_section *s) { return (int *)(void *)((char *)m + s->number); }

int nw_section_elements(const nw_machine *m, const nw_section *s) {
  if (!s->stride) return 1;
  return s->key ? s->most : *(const int *)(const void *)((const char *)m + s->number);
}

// ---- unset fields

static void clear_field(const nw_field *f, char *at) {
  for (int i = 0; f->kind == NW_FIELD_REAL && i < f->count; i++) ((double *)(void *)at)[i] = NAN;
  if (f->kind == NW_FIELD_WHOLE) *(int64_t *)(void *)at = NW_NO_WHOLE;
  if (f->kind == NW_FIELD_WORD || f->kind == NW_FIELD_FLAG) *(int *)(void *)at = NW_NO_WORD;
  if (f->kind == NW_FIELD_TEXT) *at = 0;
}

static void clear_section(nw_machine *m, const nw_section *s) {
  for (int e = 0; e < s->most; e++)
    for (int i = 0; i < s->nrows; i++)
      clear_field(&s->row[i], (char *)m + s->offset + (size_t)e * s->stride + s->row[i].offset);
}

void nw_machine_init(nw_machine *m) {
  int n;
  const nw_section *s = nw_machine_sections(&n);
  memset(m, 0, sizeof *m);
  for (int i = 0; i < n; i++) clear_section(m, &s[i]);
}

// ---- paths

// Returns the section whose path is the longest prefix of this path, or NULL if the path does not begin with a section.
// Sets *rest to the part of the path after the section.
static const nw_section *section_of(const char *path, const char **rest) {
  int n;
  const nw_section *s = nw_machine_sections(&n), *found = NULL;
  size_t longest = 0;
  for (int i = 0; i < n; i++) {
    size_t len = strlen(s[i].path);
    bool fits = len > longest && !strncmp(s[i].path, path, len) && path[len] == (s[i].stride && !s[i].key ? '[' : '.');
    if (!fits) continue;
    longest = len;
    found = &s[i];
  }
  *rest = path + longest + (found && found->stride && !found->key ? 0 : longest > 0);
  return found;
}

// Reads an index such as "[12]" at *at. Returns the number, here 12, and moves *at to the text after the index. Returns
// 0 if there is no valid index.
static int index_at(const char **at) {
  char *end;
  if (**at != '[' || !isdigit((unsigned char)(*at)[1])) return 0;
  long v = strtol(*at + 1, &end, 10);
  if (*end != ']' || v < 1 || v > 1 << 20) return 0;
  *at = end + 1;
  return (int)v;
}

static bool no_such(nw_ctx *c, const char *path, const char *word, int n, const char *const *words) {
  const char *near = nw_nearest(word, n, words);
  nw_str all = {0};
  for (int i = 0; i < n && !near; i++) nw_str_fmt(&all, i ? ", %s" : "one of %s", words[i]);
  const char *hint = near ? nw_diag_printf(c, "did you mean '%s'?", near) : nw_diag_printf(c, "%s", all.s ? all.s : "");
  nw_fail(c, NW_EINVAL, hint, "a machine has no field '%s'", path);
  nw_str_free(&all);
  return false;
}

// Fails because the path ends at a section instead of at one of its fields.
static bool no_field(nw_ctx *c, const nw_section *s) {
  bool list = s->stride && !s->key;
  const char *hint = nw_diag_printf(c, list ? "%s = {{...}, {...}}" : "%s = {...}", s->path);
  nw_fail(c, NW_EINVAL, hint, "%s: expected a %s, got a %s", s->path, list ? "list of tables" : "table of fields",
          list ? "value or a table of fields" : "value");
  return false;
}

// Fails because the path does not name a field. The hint suggests the most similar valid word, or lists all valid
// words. The valid words are the fields of the section and, at the top level, also the names of the sections.
static bool unknown_field(nw_ctx *c, const char *path, const char *section, const char *word) {
  int n, nwords = 0;
  const char *words[160];
  const nw_section *s = nw_machine_sections(&n);
  for (int i = 0; i < n; i++) {
    if (!*section && *s[i].path && !strcmp(s[i].path, word)) return no_field(c, &s[i]);
    if (!*section && *s[i].path && !strchr(s[i].path, '.')) words[nwords++] = s[i].path;
    for (int r = 0; r < s[i].nrows && !strcmp(s[i].path, section); r++) words[nwords++] = s[i].row[r].name;
  }
  return no_such(c, path, word, nwords, words);
}

static bool unknown_key(nw_ctx *c, const nw_section *s, const char *path, const char *word) {
  const char *words[NW_CLASS_COUNT + 1];
  int n = 0;
  while (n <= NW_CLASS_COUNT && s->key(n)) words[n] = s->key(n), n++;
  return no_such(c, path, word, n, words);
}

// Copies the text before the first dot or opening bracket to `buf`, and returns `buf`.
static const char *word_at(char *buf, size_t size, const char *text) {
  snprintf(buf, size, "%.*s", (int)strcspn(text, ".["), text);
  return buf;
}

// Returns the index of the section's element that the path names, or -1 on failure. The index after the last element
// extends a list. Moves *rest to the name of the field. Returns 0 for a section with a single element.
static int element_of(nw_ctx *c, nw_machine *m, const nw_section *s, const char *path, const char **rest) {
  char word[48];
  if (!s || !s->stride) return 0;
  if (s->key) {
    word_at(word, sizeof word, *rest);
    *rest += strlen(word) + (*(*rest + strlen(word)) == '.');
    for (int i = 0; s->key(i); i++)
      if (!strcmp(s->key(i), word)) return i;
    return unknown_key(c, s, path, word), -1;
  }
  int at = index_at(rest);
  if (at > s->most) return nw_fail(c, NW_ELIMIT, NULL, "%s: at most %d entries are possible", s->path, s->most), -1;
  if (at < 1 || at > *number_of(m, s) + 1)
    return nw_fail(c, NW_EINVAL, NULL, "%s: %s must be a list with indices 1, 2, ...", path, s->path), -1;
  if (at > *number_of(m, s)) *number_of(m, s) = at;
  if (**rest == '.') (*rest)++;
  return at - 1;
}

// Finds a field by the path of its section and by its name. Sets *in to the field's section, because several sections
// can have the same path. Returns NULL if there is no such field.
static const nw_field *field_of(const nw_section **in, const char *section, const char *word) {
  int n;
  const nw_section *s = nw_machine_sections(&n);
  for (int i = 0; i < n; i++)
    for (int r = 0; r < s[i].nrows && !strcmp(s[i].path, section); r++)
      if (!strcmp(s[i].row[r].name, word)) return *in = &s[i], &s[i].row[r];
  return NULL;
}

bool nw_field_find(nw_ctx *c, nw_machine *m, const char *path, nw_record_field *out) {
  const char *rest;
  char word[48];
  const nw_section *s = section_of(path, &rest);
  int element = element_of(c, m, s, path, &rest);
  if (element < 0) return false;
  const char *section = s ? s->path : "";
  const nw_field *f = field_of(&s, section, word_at(word, sizeof word, rest));
  if (!f) return unknown_field(c, path, section, word);
  rest += strlen(word);
  *out = (nw_record_field){s, f, (char *)m + s->offset + (size_t)element * s->stride + f->offset, index_at(&rest)};
  bool single = f->kind != NW_FIELD_REAL || f->count == 1;
  if (*rest || (out->at && single))
    return nw_fail(c, NW_EINVAL, NULL, "%s: expected %s, got a table", f->name, nw_field_wants(f)), false;
  if (out->at > f->count)
    return nw_fail(c, NW_EINVAL, NULL, "%s: at most %d numbers are possible", path, f->count), false;
  return true;
}

// ---- values

const char *nw_field_wants(const nw_field *f) {
  static const char *const wants[] = {[NW_FIELD_REAL] = "a number",
                                      [NW_FIELD_WHOLE] = "a whole number",
                                      [NW_FIELD_FLAG] = "true or false",
                                      [NW_FIELD_WORD] = "a word",
                                      [NW_FIELD_TEXT] = "a text"};
  return f->kind == NW_FIELD_REAL && f->count > 1 ? "a number, or a list of numbers" : wants[f->kind];
}

static bool wrong_kind(nw_ctx *c, const char *path, const nw_field *f) {
  if (f->kind == NW_FIELD_WORD)
    nw_fail(c, NW_EINVAL, NULL, "%s: expected one of the words %s", path, f->words);
  else
    nw_fail(c, NW_EINVAL, NULL, "%s: expected %s%s%s", path, nw_field_wants(f), *f->unit ? ", in " : "", f->unit);
  return false;
}

int nw_field_word(const nw_field *f, const char *text) {
  int n = 0;
  for (const char *w = f->words; *w; n++) {
    size_t len = strcspn(w, " ");
    if (strlen(text) == len && !strncmp(w, text, len)) return n;
    w += len + (w[len] == ' ');
  }
  return -1;
}

static bool set_number(nw_ctx *c, const nw_record_field *p, const char *path, double v) {
  const nw_field *f = p->field;
  if (f->kind == NW_FIELD_WHOLE && v != floor(v))
    return nw_fail(c, NW_EINVAL, NULL, "%s: %g is not a whole number of %s", path, v, f->unit), false;
  if (!(v >= f->least && v <= f->most))
    return nw_fail(c, NW_ERANGE, NULL, "%s: %g is not in %g..%g %s", path, v, f->least, f->most, f->unit), false;
  if (f->kind == NW_FIELD_WHOLE)
    *(int64_t *)(void *)p->base = (int64_t)v;
  else
    for (int i = p->at ? p->at - 1 : 0; i < (p->at ? p->at : f->count); i++) ((double *)(void *)p->base)[i] = v;
  return true;
}

static bool set_text(nw_ctx *c, const nw_record_field *p, const char *path, const char *text) {
  if (strlen(text) >= (size_t)p->field->count)
    return nw_fail(c, NW_ELIMIT, NULL, "%s: at most %d characters are possible", path, p->field->count - 1), false;
  strcpy(p->base, text);
  return true;
}

bool nw_field_set(nw_ctx *c, const nw_record_field *p, const char *path, nw_value v) {
  const nw_field *f = p->field;
  if (f->kind == NW_FIELD_TEXT && v.kind == NW_FIELD_TEXT)
    return nw_text_ok(c, path, v.text, strlen(v.text), false) && set_text(c, p, path, v.text);
  if (f->kind == NW_FIELD_WORD && v.kind == NW_FIELD_TEXT && nw_field_word(f, v.text) >= 0)
    return *(int *)(void *)p->base = nw_field_word(f, v.text), true;
  if (f->kind == NW_FIELD_FLAG && v.kind == NW_FIELD_FLAG) return *(int *)(void *)p->base = v.flag, true;
  if (f->kind <= NW_FIELD_WHOLE && v.kind == NW_FIELD_REAL) return set_number(c, p, path, v.number);
  return wrong_kind(c, path, f);
}

bool nw_machine_set(nw_ctx *c, nw_machine *m, const char *path, nw_value v) {
  nw_record_field p;
  return nw_field_find(c, m, path, &p) && nw_field_set(c, &p, path, v);
}

static nw_value word_value(const nw_field *f, int n) {
  static __thread char text[32];
  const char *w = f->words;
  for (; n > 0; n--) w += strcspn(w, " ") + 1;
  snprintf(text, sizeof text, "%.*s", (int)strcspn(w, " "), w);
  return (nw_value){.kind = NW_FIELD_TEXT, .text = text};
}

nw_value nw_field_get(const nw_field *f, const char *at, int i) {
  switch (f->kind) {
  case NW_FIELD_REAL: return (nw_value){.kind = NW_FIELD_REAL, .number = ((const double *)(const void *)at)[i]};
  case NW_FIELD_WHOLE: return (nw_value){.kind = NW_FIELD_REAL, .number = (double)*(const int64_t *)(const void *)at};
  case NW_FIELD_FLAG: return (nw_value){.kind = NW_FIELD_FLAG, .flag = *(const int *)(const void *)at == 1};
  case NW_FIELD_WORD: return word_value(f, *(const int *)(const void *)at);
  default: return (nw_value){.kind = NW_FIELD_TEXT, .text = at};
  }
}

// ---- all fields

static void section_path(char *buf, size_t size, const nw_section *s, int element) {
  if (s->key)
    snprintf(buf, size, "%s.%s.", s->path, s->key(element));
  else if (s->stride)
    snprintf(buf, size, "%s[%d].", s->path, element + 1);
  else
    snprintf(buf, size, "%s%s", s->path, *s->path ? "." : "");
}

static void tell_field(const nw_section *s, const nw_field *f, const char *base, const char *prefix, nw_machine_fn fn,
                       void *env) {
  char path[96];
  int n = f->kind == NW_FIELD_REAL ? f->count : 1;
  for (int i = 0; i < n; i++) {
    snprintf(path, sizeof path, n > 1 ? "%s%s[%d]" : "%s%s", prefix, f->name, i + 1);
    fn(env, path, s, f, nw_field_get(f, base + f->offset, i));
  }
}

void nw_machine_each(const nw_machine *m, nw_machine_fn fn, void *env) {
  int n;
  char prefix[64];
  const nw_section *s = nw_machine_sections(&n);
  for (int i = 0; i < n; i++) {
    if (!(s[i].kinds >> m->kind & 1)) continue;
    for (int e = 0; e < nw_section_elements(m, &s[i]); e++) {
      section_path(prefix, sizeof prefix, &s[i], e);
      for (int r = 0; r < s[i].nrows; r++)
        tell_field(&s[i], &s[i].row[r], (const char *)m + s[i].offset + (size_t)e * s[i].stride, prefix, fn, env);
    }
  }
}

// ---- the sources of the numbers

bool nw_machine_cite(nw_ctx *c, nw_machine *m, const char *path, const char *text) {
  int i = 0;
  if (!nw_text_ok(c, "sources", path, strlen(path), false) || !nw_text_ok(c, path, text, strlen(text), true))
    return false;
  while (i < m->nsources && strcmp(m->source[i].path, path)) i++;
  nw_machine_source *s = &m->source[i];
  if (i == NW_MACHINE_SOURCES) return nw_fail(c, NW_ELIMIT, NULL, "sources: at most %d entries are possible", i), false;
  if (strlen(path) >= sizeof s->path || strlen(text) >= sizeof s->text)
    return nw_fail(c, NW_ELIMIT, NULL, "sources: %s: at most %d characters are possible", path,
                   (int)sizeof s->text - 1),
           false;
  strcpy(s->path, path);
  strcpy(s->text, text);
  if (i == m->nsources) m->nsources++;
  return true;
}

// Returns the text of the source whose path is the longest prefix of this path, or NULL if there is none. A source with
// the path "" applies to every field.
const char *nw_machine_cited(const nw_machine *m, const char *path) {
  const nw_machine_source *best = NULL;
  for (int i = 0; i < m->nsources; i++) {
    const nw_machine_source *s = &m->source[i];
    size_t n = strlen(s->path);
    bool begins = !strncmp(s->path, path, n) && (n == 0 || !path[n] || strchr(".[", path[n]));
    if (begins && (!best || n > strlen(best->path))) best = s;
  }
  return best ? best->text : NULL;
}
