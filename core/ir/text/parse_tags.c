// Parses tags: `with chunk = 4, note = "..."`.
#include "ir/text/parse.h"
#include "ir/program/tags.h"

// Returns the text of a string token, without escapes.
const char *nw_parse_string(nw_parser *ps) {
  const nw_token *t = &ps->tok;
  if (t->kind != NW_TOK_STRING) return nw_expected(ps, "a string");
  char *out = nw_arena_strndup(ps->p->arena, t->s + 1, (size_t)t->n - 2), *to = out;
  for (const char *s = out; *s; s++) {
    if (*s == '\\' && s[1]) s++;
    *to++ = *s;
  }
  *to = 0;
  nw_next(ps);
  return nw_pool_name(ps->pool, out);
}

static bool value(nw_parser *ps, nw_tag *t) {
  nw_token at = ps->tok;
  if (ps->tok.kind == NW_TOK_STRING) {
    if (!(t->text = nw_parse_string(ps))) return false;
  } else {
    const nw_expr *e = nw_parse_typed(ps, NW_INDEX, "value");
    if (!e || !nw_is_int(e, &t->number))
      return nw_parse_fail(ps, &at, "%s takes %s", t->row->key, nw_tag_wants(t->row));
  }
  return nw_tag_fits(t->row, t) || nw_parse_fail(ps, &at, "%s takes %s", t->row->key, nw_tag_wants(t->row));
}

static bool one(nw_parser *ps, nw_stmt *s) {
  nw_token at = ps->tok;
  const char *key = nw_expect_name(ps, "a key");
  nw_tag t = {.row = key ? nw_tag_row_find(key) : NULL};
  if (!key) return false;
  bool fits = t.row && (s->kind == NW_LOOP ? t.row->loop : t.row->stage) && !nw_tag_of(s, key);
  if (!fits) return nw_parse_fail(ps, &at, "%s is not a valid key here", key);
  if (!nw_expect(ps, "=", "after the key") || !value(ps, &t)) return false;
  nw_tag_set(ps->p, s, t);
  return true;
}

bool nw_parse_tags(nw_parser *ps, nw_stmt *s) {
  if (!nw_accept(ps, "with")) return true;
  do {
    if (!one(ps, s)) return false;
  } while (nw_accept(ps, ","));
  return true;
}
