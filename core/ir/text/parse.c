// Parses the full text form of a program. An invalid text is reported with line and column, and the incomplete program
// is freed.
#include "ir/text/lines.h"
#include "ir/text/parse.h"
#include "ir/program/valid.h"
#include <stdlib.h>

static nw_stmt *statement(nw_parser *ps, int depth);

nw_stmt *nw_parse_stmt(nw_parser *ps, nw_stmt_kind kind) {
  nw_stmt *s = nw_new_stmt(ps->p, kind);
  nw_note_line(ps, s->id, &ps->tok);
  return s;
}

// ---- bodies of statements

static bool statements(nw_parser *ps, nw_stmt *parent, int indent, int depth) {
  nw_vec kids = {0};
  bool ok = true;
  while (ok && ps->tok.kind != NW_TOK_END && ps->tok.indent == indent) {
    nw_stmt *s = statement(ps, depth);
    if (s) nw_vec_push(&kids, s);
    ok = s;
  }
  if (ok && ps->tok.kind != NW_TOK_END && ps->tok.indent > indent)
    ok = nw_parse_fail(ps, &ps->tok, "the indentation of this line, %d, matches no line above", ps->tok.indent);
  if (ok) nw_kids_set(ps->p, parent, kids.n, (nw_stmt **)kids.at);
  nw_vec_free(&kids);
  return ok;
}

static bool body(nw_parser *ps, nw_stmt *s, int indent, int depth) {
  if (!nw_opens_body(ps, indent)) return false;
  if (depth + 1 >= NW_MAX_DEPTH)
    return nw_parse_limit(ps, &ps->tok, "statements are nested deeper than %d", NW_MAX_DEPTH);
  if (nw_accept_word(ps, "pass")) return nw_end_line(ps);
  return statements(ps, s, ps->tok.indent, depth + 1);
}

// ---- loops, guards, allocations, stores

static bool fused(nw_parser *ps, nw_stmt *s) {
  const nw_expr *e[NW_PARSE_LIST];
  nw_next(ps);
  if (!nw_parse_list(ps, ")", NW_INDEX, "extent", &s->loop.nfused, e)) return false;
  if (!s->loop.nfused) return nw_expected(ps, "the extents that were fused");
  s->loop.fused = nw_keep_exprs(ps, s->loop.nfused, e);
  s->loop.extent = nw_index(ps->pool, 1);
  for (int i = 0; i < s->loop.nfused; i++) s->loop.extent = nw_mul(ps->pool, s->loop.extent, e[i]);
  return true;
}

// True if the text continues with `0..fuse(`. *after is then a parser whose next token is the parenthesis.
static bool at_fuse(const nw_parser *ps, nw_parser *after) {
  *after = *ps;
  if (ps->tok.kind != NW_TOK_INT || ps->tok.n != 1 || *ps->tok.s != '0') return false;
  nw_next(after);
  return nw_accept(after, "..") && nw_accept(after, "fuse") && nw_at(after, "(");
}

static bool loop_range(nw_parser *ps, nw_stmt *s) {
  nw_parser after;
  if (!at_fuse(ps, &after)) return nw_parse_range(ps, &s->loop.begin, &s->loop.extent);
  *ps = after;
  s->loop.begin = nw_index(ps->pool, 0);
  return fused(ps, s);
}

static bool loop_head(nw_parser *ps, nw_stmt *s, nw_loop_kind mark) {
  if (!nw_expect(ps, "for", "after the mark of a loop")) return false;
  const char *name = nw_expect_name(ps, "the name of a loop");
  if (!name || !nw_expect(ps, "in", "after the loop's name") || !loop_range(ps, s)) return false;
  s->loop.var = nw_var(ps->pool, name);
  s->loop.mark = mark;
  return nw_parse_tags(ps, s);
}

static nw_stmt *loop(nw_parser *ps, nw_loop_kind mark, int depth) {
  nw_stmt *s = nw_parse_stmt(ps, NW_LOOP);
  int indent = ps->tok.indent;
  return loop_head(ps, s, mark) && body(ps, s, indent, depth) ? s : NULL;
}

static nw_stmt *guard(nw_parser *ps, int depth) {
  nw_stmt *s = nw_parse_stmt(ps, NW_GUARD);
  int indent = ps->tok.indent;
  nw_next(ps);
  s->guard.cond = nw_parse_typed(ps, NW_BOOL, "condition");
  return s->guard.cond && body(ps, s, indent, depth) ? s : NULL;
}

static nw_stmt *sequence(nw_parser *ps, int depth) {
  nw_stmt *s = nw_new_stmt(ps->p, NW_SEQ);
  int indent = ps->tok.indent;
  nw_next(ps);
  return body(ps, s, indent, depth) ? s : NULL;
}

static bool box(nw_parser *ps, nw_stmt *s) {
  const nw_expr *min[NW_PARSE_LIST], *extent[NW_PARSE_LIST];
  int n = 0;
  if (!nw_expect(ps, "[", "after the buffer")) return false;
  for (; !nw_accept(ps, "]"); n++) {
    if (n && !nw_expect(ps, ",", "or ']' in the box")) return false;
    if (n == NW_PARSE_LIST) return nw_parse_limit(ps, &ps->tok, "this box has more than %d dimensions", NW_PARSE_LIST);
    if (!nw_parse_range(ps, &min[n], &extent[n])) return false;
  }
  s->alloc.n = n;
  s->alloc.min = nw_keep_exprs(ps, n, min);
  s->alloc.extent = nw_keep_exprs(ps, n, extent);
  return true;
}

static nw_stmt *alloc(nw_parser *ps, int depth) {
  nw_stmt *s = nw_parse_stmt(ps, NW_ALLOC);
  int indent = ps->tok.indent;
  nw_next(ps);
  s->alloc.buffer = nw_expect_name(ps, "a buffer");
  if (!s->alloc.buffer || !box(ps, s)) return NULL;
  if (depth || nw_at(ps, ":")) return body(ps, s, indent, depth) ? s : NULL;
  return nw_end_line(ps) ? s : NULL; // an allocation in the program's flat list
}

// Reads the linear index of a lowered prefetch. Returns false if the text has a box instead.
static bool one_index(nw_parser *ps, nw_stmt *s) {
  nw_parser ahead = *ps;
  int depth = 0;
  for (; ahead.tok.kind != NW_TOK_EOL && ahead.tok.kind != NW_TOK_END && !ahead.failed; nw_next(&ahead)) {
    if (nw_at(&ahead, "..")) return false;
    depth += nw_at(&ahead, "[") - nw_at(&ahead, "]");
  }
  if (ahead.failed || depth || nw_follows(ps, "]")) return false;
  const nw_expr *at = nw_expect(ps, "[", "after the buffer") ? nw_parse_typed(ps, NW_INDEX, "index") : NULL;
  if (!at || !nw_expect(ps, "]", "after the index")) return ps->failed = true, false;
  s->prefetch.n = 1;
  s->prefetch.min = nw_keep_exprs(ps, 1, &at);
  s->prefetch.extent = NW_NEW_N(ps->p->arena, const nw_expr *, 1);
  return true;
}

static nw_stmt *prefetch(nw_parser *ps) {
  nw_stmt *s = nw_parse_stmt(ps, NW_PREFETCH);
  nw_next(ps);
  if (!(s->prefetch.buffer = nw_expect_name(ps, "a buffer"))) return NULL;
  bool ok = one_index(ps, s) || (!ps->failed && box(ps, s));
  return ok && nw_end_line(ps) ? s : NULL;
}

static bool tile(nw_parser *ps, nw_tile *t) {
  const nw_expr *stride[NW_PARSE_LIST];
  t->buffer = nw_expect_name(ps, "the buffer of a tile");
  if (!t->buffer || !nw_expect(ps, "[", "after the buffer")) return false;
  if (!(t->index = nw_parse_typed(ps, NW_INDEX, "index"))) return false;
  if (nw_accept(ps, "]")) return true;
  if (!nw_expect(ps, ";", "after the index of a tile")) return false;
  if (!nw_parse_list(ps, "]", NW_INDEX, "stride", &t->n, stride)) return false;
  t->stride = nw_keep_exprs(ps, t->n, stride);
  return true;
}

static bool tiles(nw_parser *ps, nw_stmt *s) {
  nw_tile t[NW_PARSE_LIST];
  if (!nw_accept(ps, "(")) return true;
  for (int n = 0;; n++) {
    if (n == NW_PARSE_LIST) return nw_parse_limit(ps, &ps->tok, "a call may have at most %d tiles", NW_PARSE_LIST);
    t[n] = (nw_tile){0};
    if (!tile(ps, &t[n])) return false;
    if (nw_accept(ps, ",")) continue;
    s->call.ntiles = n + 1;
    s->call.tile = NW_NEW_N(ps->p->arena, nw_tile, n + 1);
    memcpy(s->call.tile, t, sizeof *t * (size_t)(n + 1));
    return nw_expect(ps, ")", "after the tiles of a call");
  }
}

static nw_stmt *call(nw_parser *ps, int depth) {
  nw_stmt *s = nw_parse_stmt(ps, NW_CALL);
  int indent = ps->tok.indent;
  nw_next(ps);
  s->call.intrinsic = nw_parse_string(ps);
  return s->call.intrinsic && tiles(ps, s) && body(ps, s, indent, depth) ? s : NULL;
}

static nw_stmt *unit(nw_parser *ps, int depth) {
  nw_stmt *s = nw_parse_stmt(ps, NW_UNIT);
  int indent = ps->tok.indent;
  nw_next(ps);
  s->unit.name = nw_expect_name(ps, "the name of a unit");
  return s->unit.name && body(ps, s, indent, depth) ? s : NULL;
}

static bool store_index(nw_parser *ps, nw_stmt *s) {
  if (!nw_expect(ps, "[", "after the buffer") || !(s->store.index = nw_parse_typed(ps, NW_INDEX, "index")))
    return false;
  if (nw_accept(ps, ";") && !(s->store.mask = nw_parse_typed(ps, NW_BOOL, "mask"))) return false;
  return nw_expect(ps, "]", "after the index") && nw_expect(ps, "=", "in a store");
}

static nw_stmt *store(nw_parser *ps) {
  nw_stmt *s = nw_parse_stmt(ps, NW_STORE);
  s->store.stream = nw_accept_word(ps, "stream");
  s->store.atomic = nw_accept_word(ps, "atomic");
  s->store.async = nw_accept_word(ps, "async");
  s->store.buffer = nw_expect_name(ps, "a statement");
  if (!s->store.buffer || !store_index(ps, s)) return NULL;
  s->store.value = nw_parse_expr(ps);
  return s->store.value && nw_parse_tags(ps, s) && nw_end_line(ps) ? s : NULL;
}

static nw_stmt *word_alone(nw_parser *ps, nw_stmt_kind kind) {
  nw_stmt *s = nw_parse_stmt(ps, kind);
  nw_next(ps);
  return nw_end_line(ps) ? s : NULL;
}

static nw_stmt *barrier(nw_parser *ps) {
  nw_stmt *s = nw_parse_stmt(ps, NW_BARRIER);
  nw_next(ps);
  s->barrier.warp = nw_accept_word(ps, "warp");
  return nw_end_line(ps) ? s : NULL;
}

static nw_stmt *wait(nw_parser *ps) {
  nw_stmt *s = nw_parse_stmt(ps, NW_WAIT);
  int64_t n;
  nw_next(ps);
  nw_token at = ps->tok;
  const nw_expr *groups = nw_parse_typed(ps, NW_INDEX, "number of groups");
  if (!groups) return NULL;
  if (!nw_is_int(groups, &n) || n < 0 || n > INT32_MAX)
    return nw_parse_fail(ps, &at, "the number of groups of a wait must be a constant of at least 0");
  s->wait.groups = (int)n;
  return nw_end_line(ps) ? s : NULL;
}

// ---- programs

static nw_stmt *judged_statement(nw_parser *ps, int depth) {
  char word[24] = "";
  nw_loop_kind mark;
  if (nw_token_text(ps, word, sizeof word) && nw_begins(ps, word)) {
    if (nw_at(ps, "for")) return loop(ps, NW_SERIAL, depth);
    if (nw_at(ps, "if")) return guard(ps, depth);
    if (nw_at(ps, "alloc")) return alloc(ps, depth);
    if (nw_at(ps, "prefetch")) return prefetch(ps);
    if (nw_at(ps, "call")) return call(ps, depth);
    bool marked = (nw_at(ps, "atomic") || nw_at(ps, "async")) && nw_follows(ps, "block");
    if (nw_at(ps, "block") || nw_at(ps, "init") || marked) return nw_parse_block(ps);
    if (nw_at(ps, "unit")) return unit(ps, depth);
    if (nw_at(ps, "seq")) return sequence(ps, depth);
    if (nw_at(ps, "barrier")) return barrier(ps);
    if (nw_at(ps, "commit")) return word_alone(ps, NW_COMMIT);
    if (nw_at(ps, "wait")) return wait(ps);
    if (nw_loop_kind_parse(word, &mark)) return nw_next(ps), loop(ps, mark, depth);
  }
  return store(ps);
}

static nw_stmt *statement(nw_parser *ps, int depth) {
  bool unsafe = nw_accept_word(ps, "unsafe"), tested = nw_accept_word(ps, "tested");
  nw_stmt *s = judged_statement(ps, depth);
  if (s) s->unsafe = unsafe, s->tested = tested;
  return s;
}

static bool read_program(nw_parser *ps) {
  if (!nw_parse_tables(ps) || !statements(ps, ps->p->root, 0, 0)) return false;
  if (ps->tok.kind != NW_TOK_END) return nw_expected(ps, "a statement");
  return true;
}

static bool sound(nw_parser *ps) {
  nw_flaw flaw;
  if (!nw_program_flaw(ps->p, &flaw)) return true;
  nw_token at = {.line = flaw.at && flaw.at < ps->lines ? ps->line_of[flaw.at] : 1, .column = 1};
  return nw_parse_fail(ps, &at, "%s", flaw.text);
}

static const char *read_title(nw_parser *ps) {
  if (!nw_expect(ps, "program", "on the first line")) return NULL;
  const char *name = nw_expect_name(ps, "the name of the program");
  return name && nw_end_line(ps) ? name : NULL;
}

static nw_program *finish(nw_parser *ps) {
  bool ok = read_program(ps) && sound(ps);
  free(ps->line_of);
  if (ok) return nw_program_freeze(ps->p);
  nw_program_release(ps->p);
  return NULL;
}

// Makes the program that a text describes. The program is frozen, and its statements have new ids. If the text is
// invalid, returns NULL, with NW_EPARSE or NW_ELIMIT.
nw_program *nw_program_parse(nw_ctx *c, nw_pool *pool, const char *text) {
  nw_parser ps;
  if (!pool || !text || !nw_parser_open(&ps, c, pool, text)) return NULL;
  const char *name = read_title(&ps);
  if (!name) return NULL;
  ps.p = nw_program_new(c, pool, name);
  return finish(&ps);
}
