// Reads JSON, for traces. Numbers must be whole numbers.
#include "sched/json.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

enum { MAX_NESTING = 32 };

typedef struct reader {
  nw_arena *a;
  const char *text, *p;
  const char *why;
  int depth;
} reader;

static nw_json *value(reader *r);

static void *bad(reader *r, const char *why) {
  if (!r->why) r->why = why;
  return NULL;
}

static void space(reader *r) {
  while (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r') r->p++;
}

static bool take(reader *r, char c) {
  space(r);
  if (*r->p != c) return false;
  r->p++;
  return true;
}

static nw_json *make(reader *r, nw_json_kind kind) {
  nw_json *j = NW_NEW(r->a, nw_json);
  j->kind = kind;
  return j;
}

static nw_json *word(reader *r, const char *w, nw_json_kind kind, int64_t i) {
  size_t n = strlen(w);
  if (strncmp(r->p, w, n)) return bad(r, "expected a value");
  r->p += n;
  nw_json *j = make(r, kind);
  j->i = i;
  return j;
}

static nw_json *number(reader *r) {
  const char *digits = r->p + (*r->p == '-');
  char *end;
  if (!isdigit((unsigned char)*digits) || (*digits == '0' && isdigit((unsigned char)digits[1])))
    return bad(r, "expected a number");
  nw_json *j = make(r, NW_JSON_INT);
  errno = 0;
  j->i = strtoll(r->p, &end, 10);
  if (errno) return bad(r, "the number is too large");
  if (*end == '.' || *end == 'e' || *end == 'E') return bad(r, "only whole numbers are allowed here");
  r->p = end;
  return j;
}

// ---- strings

static int hex4(const char *s) {
  int v = 0;
  for (int i = 0; i < 4; i++) {
    int c = tolower((unsigned char)s[i]);
    if (!isxdigit(c)) return -1;
    v = 16 * v + (isdigit(c) ? c - '0' : c - 'a' + 10);
  }
  return v;
}

static void put_utf8(nw_str *b, int c) {
  char s[3];
  int n = 0;
  if (c < 0x80)
    s[n++] = (char)c;
  else if (c < 0x800)
    s[n++] = (char)(0xC0 | c >> 6), s[n++] = (char)(0x80 | (c & 63));
  else
    s[n++] = (char)(0xE0 | c >> 12), s[n++] = (char)(0x80 | (c >> 6 & 63)), s[n++] = (char)(0x80 | (c & 63));
  nw_str_addn(b, s, (size_t)n);
}

static bool escape(reader *r, nw_str *b) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  char c = *++r->p;
  const char *at = c ? strchr(from, c) : NULL;
  if (at) {
    nw_str_addn(b, &to[at - from], 1);
    r->p++;
    return true;
  }
  int code = c == 'u' ? hex4(r->p + 1) : -1;
  if (code <= 0 || (code >= 0xD800 && code < 0xE000)) return bad(r, "an unsupported escape sequence"), false;
  put_utf8(b, code);
  r->p += 5;
  return true;
}

static const char *string(reader *r) {
  nw_str b = {0};
  if (!take(r, '"')) return bad(r, "expected a string");
  nw_str_add(&b, "");
  while (*r->p && *r->p != '"' && (unsigned char)*r->p >= 0x20) {
    if (*r->p == '\\') {
      if (!escape(r, &b)) break;
    } else {
      nw_str_addn(&b, r->p++, 1);
    }
  }
  const char *s = nw_arena_strdup(r->a, b.s ? b.s : "");
  nw_str_free(&b);
  if (r->why) return NULL;
  if (*r->p != '"') return bad(r, "the string is not terminated");
  r->p++;
  return s;
}

// ---- lists and maps

static void push(reader *r, nw_json *to, const char *key, nw_json *item) {
  if ((to->n & (to->n - 1)) == 0) {
    size_t cap = to->n ? 2 * (size_t)to->n : 1;
    nw_json **items = NW_NEW_N(r->a, nw_json *, cap);
    const char **keys = NW_NEW_N(r->a, const char *, cap);
    for (int i = 0; i < to->n; i++) items[i] = to->item[i], keys[i] = to->key[i];
    to->item = items;
    to->key = keys;
  }
  to->key[to->n] = key;
  to->item[to->n++] = item;
}

static bool member(reader *r, nw_json *to) {
  const char *key = NULL;
  if (to->kind == NW_JSON_MAP) {
    if (!(key = string(r))) return false;
    if (nw_json_get(to, key)) return bad(r, "a duplicate key"), false;
    if (!take(r, ':')) return bad(r, "expected :"), false;
  }
  nw_json *item = value(r);
  if (item) push(r, to, key, item);
  return item != NULL;
}

static nw_json *group(reader *r, nw_json_kind kind, char close) {
  nw_json *j = make(r, kind);
  r->p++;
  if (take(r, close)) return j;
  if (++r->depth > MAX_NESTING) return bad(r, "nested too deeply");
  do {
    if (!member(r, j)) return NULL;
  } while (take(r, ','));
  r->depth--;
  return take(r, close) ? j : bad(r, "expected ',' or a closing bracket");
}

static nw_json *value(reader *r) {
  space(r);
  switch (*r->p) {
  case '{': return group(r, NW_JSON_MAP, '}');
  case '[': return group(r, NW_JSON_LIST, ']');
  case '"': {
    nw_json *j = make(r, NW_JSON_STR);
    j->s = string(r);
    return j->s ? j : NULL;
  }
  case 't': return word(r, "true", NW_JSON_BOOL, 1);
  case 'f': return word(r, "false", NW_JSON_BOOL, 0);
  case 'n': return word(r, "null", NW_JSON_NULL, 0);
  default: return number(r);
  }
}

nw_json *nw_json_parse(nw_arena *a, const char *text, size_t *at, const char **why) {
  reader r = {.a = a, .text = text, .p = text};
  nw_json *j = value(&r);
  space(&r);
  if (j && *r.p) j = bad(&r, "unexpected text after the value");
  *at = (size_t)(r.p - text);
  *why = r.why;
  return j;
}

const nw_json *nw_json_get(const nw_json *map, const char *key) {
  for (int i = 0; map && map->kind == NW_JSON_MAP && i < map->n; i++)
    if (!strcmp(map->key[i], key)) return map->item[i];
  return NULL;
}

void nw_json_string(nw_str *b, const char *s) {
  nw_str_add(b, "\"");
  for (; *s; s++) {
    if (*s == '"' || *s == '\\')
      nw_str_fmt(b, "\\%c", *s);
    else if ((unsigned char)*s < 0x20)
      nw_str_fmt(b, "\\u%04x", (unsigned)*s);
    else
      nw_str_addn(b, s, 1);
  }
  nw_str_add(b, "\"");
}
