// Reads the tokens of the text form, with one token of lookahead. A token also has the indentation of its line.
#include "ir/text/parse.h"
#include "ir/program/valid.h"
#include <ctype.h>
#include <stdio.h>

static bool word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

// A name may have a single `.`, `/` or `@` between two letters, digits or `_`, as in `i.tail/j`. But `M..N` and `a//b`
// are not names. Names in a pattern have no `/`, so that x/y is a quotient.
static int name_length(const char *s, bool pattern) {
  int n = 1;
  while (word_char(s[n]) || (s[n] && strchr(pattern ? ".@" : "./@", s[n]) && word_char(s[n + 1]))) n++;
  return n;
}

static int digits(const char *s) {
  int n = 0;
  while (isdigit((unsigned char)s[n])) n++;
  return n;
}

static nw_token_kind number(const char *s, int *length) {
  int n = digits(s);
  nw_token_kind kind = NW_TOK_INT;
  if (s[n] == '.' && isdigit((unsigned char)s[n + 1])) {
    n += 1 + digits(s + n + 1);
    kind = NW_TOK_FLOAT;
  }
  if (s[n] == 'e' || s[n] == 'E') {
    int sign = s[n + 1] == '+' || s[n + 1] == '-', exponent = digits(s + n + 1 + sign);
    if (exponent) n += 1 + sign + exponent, kind = NW_TOK_FLOAT;
  }
  *length = n;
  return kind;
}

static int string_length(const char *s) {
  int n = 1;
  while (s[n] && s[n] != '"' && s[n] != '\n') n += s[n] == '\\' && s[n + 1] && s[n + 1] != '\n' ? 2 : 1;
  return s[n] == '"' ? n + 1 : 0;
}

static int sign_length(const char *s) {
  static const char *const two[] = {"..", "//", "<=", ">=", "==", "!=", "~=", "+=", "*=", "<<", ">>"};
  for (int i = 0; i < NW_COUNT(two); i++)
    if (!strncmp(s, two[i], 2)) return 2;
  return 1;
}

// Goes to the next line that is not blank, and stores its indentation.
static void enter_line(nw_parser *ps) {
  for (;;) {
    ps->line_start = ps->at;
    while (*ps->at == ' ') ps->at++;
    ps->indent = (int)(ps->at - ps->line_start);
    if (*ps->at == '#') ps->at += strcspn(ps->at, "\n");
    if (*ps->at == '\r') ps->at++;
    if (*ps->at != '\n') return;
    ps->at++;
    ps->line++;
  }
}

static void scan(nw_parser *ps) {
  nw_token *t = &ps->tok;
  const char *s = t->s;
  if (!*s) {
    t->kind = NW_TOK_END;
  } else if (*s == '\n') {
    t->kind = NW_TOK_EOL;
    t->n = 1;
  } else if (isalpha((unsigned char)*s) || *s == '_') {
    t->kind = NW_TOK_NAME;
    t->n = name_length(s, ps->pattern != NULL);
  } else if (isdigit((unsigned char)*s)) {
    t->kind = number(s, &t->n);
  } else if (*s == '"' && string_length(s)) {
    t->kind = NW_TOK_STRING;
    t->n = string_length(s);
  } else {
    t->kind = NW_TOK_SIGN;
    t->n = sign_length(s);
  }
}

void nw_next(nw_parser *ps) {
  if (ps->tok.kind == NW_TOK_EOL) {
    ps->line++;
    enter_line(ps);
  }
  while (*ps->at == ' ' || *ps->at == '\r') ps->at++;
  if (*ps->at == '#') ps->at += strcspn(ps->at, "\n");
  ps->tok =
      (nw_token){.s = ps->at, .line = ps->line, .column = (int)(ps->at - ps->line_start) + 1, .indent = ps->indent};
  scan(ps);
  ps->at += ps->tok.n;
}

bool nw_parser_open(nw_parser *ps, nw_ctx *c, nw_pool *pool, const char *text) {
  *ps = (nw_parser){.ctx = c, .pool = pool, .at = text, .line = 1};
  if (strnlen(text, NW_PARSE_BYTES + 1) > NW_PARSE_BYTES)
    return nw_fail(c, NW_ELIMIT, NULL, "a program text may have at most %d bytes", NW_PARSE_BYTES);
  enter_line(ps);
  ps->tok.kind = NW_TOK_SIGN;
  nw_next(ps);
  return true;
}

// ---- tests of tokens

bool nw_token_is(const nw_token *t, const char *text) {
  if (t->kind != NW_TOK_NAME && t->kind != NW_TOK_SIGN) return false;
  return (int)strlen(text) == t->n && !memcmp(t->s, text, (size_t)t->n);
}

bool nw_at(const nw_parser *ps, const char *text) { return nw_token_is(&ps->tok, text); }

bool nw_follows(const nw_parser *ps, const char *text) {
  nw_parser ahead = *ps;
  nw_next(&ahead);
  return nw_token_is(&ahead.tok, text);
}

bool nw_accept(nw_parser *ps, const char *text) {
  if (!nw_at(ps, text)) return false;
  nw_next(ps);
  return true;
}

bool nw_expect(nw_parser *ps, const char *text, const char *where) {
  if (nw_accept(ps, text)) return true;
  nw_expected(ps, "'%s' %s", text, where);
  return false;
}

const char *nw_expect_name(nw_parser *ps, const char *what) {
  char name[NW_PARSE_NAME + 1];
  if (ps->tok.kind != NW_TOK_NAME) return nw_expected(ps, "%s", what);
  if (ps->tok.n > NW_PARSE_NAME)
    return nw_parse_limit(ps, &ps->tok, "a name may have at most %d characters", NW_PARSE_NAME);
  memcpy(name, ps->tok.s, (size_t)ps->tok.n);
  name[ps->tok.n] = 0;
  if (!nw_name_ok(name)) return nw_parse_fail(ps, &ps->tok, "'%s' is a reserved word", name);
  nw_next(ps);
  return nw_pool_name(ps->pool, name);
}

// Consumes the end of a line. The end of the text also ends a line.
bool nw_end_line(nw_parser *ps) {
  if (ps->tok.kind == NW_TOK_END) return true;
  if (ps->tok.kind != NW_TOK_EOL) return nw_expected(ps, "the end of the line");
  nw_next(ps);
  return true;
}

// True if the next token is this keyword. Called at the start of a line, where the name of a buffer is followed by `[`.
bool nw_begins(const nw_parser *ps, const char *word) { return nw_at(ps, word) && !nw_follows(ps, "["); }

bool nw_accept_word(nw_parser *ps, const char *word) {
  if (!nw_begins(ps, word)) return false;
  nw_next(ps);
  return true;
}

bool nw_token_text(const nw_parser *ps, char *out, size_t room) {
  const nw_token *t = &ps->tok;
  if (t->kind != NW_TOK_NAME || (size_t)t->n >= room) return false;
  memcpy(out, t->s, (size_t)t->n);
  out[t->n] = 0;
  return true;
}

// Consumes `:`. An indented body must follow; `pass` is an empty body.
bool nw_opens_body(nw_parser *ps, int indent) {
  if (!nw_expect(ps, ":", "before the body") || !nw_end_line(ps)) return false;
  if (ps->tok.kind != NW_TOK_END && ps->tok.indent > indent) return true;
  return nw_expected(ps, "an indented line (or pass)");
}

void nw_note_line(nw_parser *ps, int id, const nw_token *at) {
  if (id >= ps->lines) {
    ps->line_of = nw_xrealloc(ps->line_of, (size_t)(2 * id + 64) * sizeof *ps->line_of);
    memset(ps->line_of + ps->lines, 0, (size_t)(2 * id + 64 - ps->lines) * sizeof *ps->line_of);
    ps->lines = 2 * id + 64;
  }
  ps->line_of[id] = at->line;
}

// ---- errors

// Only the first error of a parse is kept.
static void *fail_at(nw_parser *ps, nw_code code, const nw_token *at, const char *fmt, va_list args) {
  char text[400];
  if (ps->failed) return NULL;
  ps->failed = true;
  vsnprintf(text, sizeof text, fmt, args);
  return nw_fail(ps->ctx, code, NULL, "%d:%d: %s", at->line, at->column, text);
}

void *nw_parse_fail(nw_parser *ps, const nw_token *at, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fail_at(ps, NW_EPARSE, at, fmt, args);
  va_end(args);
  return NULL;
}

void *nw_parse_limit(nw_parser *ps, const nw_token *at, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fail_at(ps, NW_ELIMIT, at, fmt, args);
  va_end(args);
  return NULL;
}

static void describe(char *out, size_t room, const nw_token *t) {
  static const char *const kinds[] = {[NW_TOK_EOL] = "the end of the line", [NW_TOK_END] = "the end of the text"};
  if (t->kind == NW_TOK_EOL || t->kind == NW_TOK_END)
    snprintf(out, room, "%s", kinds[t->kind]);
  else if (isprint((unsigned char)*t->s))
    snprintf(out, room, "'%.*s'", t->n < 40 ? t->n : 40, t->s);
  else if (*t->s == '\t')
    snprintf(out, room, "a tab");
  else
    snprintf(out, room, "byte %d", (unsigned char)*t->s);
}

void *nw_expected(nw_parser *ps, const char *fmt, ...) {
  char want[200], found[64];
  va_list args;
  va_start(args, fmt);
  vsnprintf(want, sizeof want, fmt, args);
  va_end(args);
  describe(found, sizeof found, &ps->tok);
  return nw_parse_fail(ps, &ps->tok, "expected %s, found %s", want, found);
}
