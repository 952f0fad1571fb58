// The full text form of a program, read back. Bad text never aborts: it is reported with its line and column, and what
// was made so far is freed.
#include "ir/parse.h"
#include "ir/lines.h"
#include "ir/valid.h"
#include <stdlib.h>

typedef struct reader {
  nw_parser ps;
  nw_program *p;
  int *line_of;  // by statement id
  int lines;
} reader;

static nw_stmt *statement(reader *r, int depth);

static const nw_expr **keep(reader *r, int n, const nw_expr *const *e) {
  const nw_expr **to = NW_NEW_N(r->p->arena, const nw_expr *, n);
  if (n) memcpy(to, e, (size_t)n * sizeof *to);
  return to;
}

static nw_stmt *make(reader *r, nw_stmt_kind kind) {
  nw_stmt *s = nw_new_stmt(r->p, kind);
  if (s->id >= r->lines) {
    r->lines = 2 * s->id + 64;
    r->line_of = nw_xrealloc(r->line_of, (size_t)r->lines * sizeof *r->line_of);
  }
  r->line_of[s->id] = r->ps.tok.line;
  return s;
}

// The end of a line; the end of the text counts as one.
static bool end_line(reader *r) {
  if (r->ps.tok.kind == NW_TOK_END) return true;
  if (r->ps.tok.kind != NW_TOK_EOL) return nw_expected(&r->ps, "the end of the line");
  nw_next(&r->ps);
  return true;
}

// The word of a line, unless it is a buffer being stored to.
static bool begins(const reader *r, const char *word) {
  return nw_at(&r->ps, word) && !nw_follows(&r->ps, "[");
}

static bool accept_word(reader *r, const char *word) {
  if (!begins(r, word)) return false;
  nw_next(&r->ps);
  return true;
}

static bool token_text(const reader *r, char *out, size_t room) {
  const nw_token *t = &r->ps.tok;
  if (t->kind != NW_TOK_NAME || (size_t)t->n >= room) return false;
  memcpy(out, t->s, (size_t)t->n);
  out[t->n] = 0;
  return true;
}

// ---- ranges

// lo..hi, or lo..+extent.
static bool range(reader *r, const nw_expr **lo, const nw_expr **extent) {
  nw_parser *ps = &r->ps;
  if (!(*lo = nw_parse_typed(ps, NW_INDEX, "bound"))) return false;
  if (!nw_expect(ps, "..", "in a range")) return false;
  bool relative = nw_accept(ps, "+");
  const nw_expr *hi = nw_parse_typed(ps, NW_INDEX, "bound");
  if (!hi) return false;
  *extent = relative ? hi : nw_sub(ps->pool, hi, *lo);
  return true;
}

// ---- tables

static bool size_line(reader *r, nw_vec *sizes) {
  nw_size *s = NW_NEW(r->p->arena, nw_size);
  nw_parser *ps = &r->ps;
  if (!(s->name = nw_expect_name(ps, "the name of a size")) || !nw_expect(ps, ">=", "after the size")) return false;
  if (!(s->lo = nw_parse_typed(ps, NW_INDEX, "least value"))) return false;
  nw_vec_push(sizes, s);
  return true;
}

static bool fact_line(reader *r, nw_vec *facts) {
  const nw_expr *e = nw_parse_typed(&r->ps, NW_BOOL, "fact");
  if (e) nw_vec_push(facts, (void *)e);
  return e;
}

static bool layout(reader *r, nw_buffer *b) {
  const nw_expr *e[NW_PARSE_LIST];
  nw_parser *ps = &r->ps;
  nw_token at = ps->tok;
  int n;
  if (!nw_expect(ps, "[", "after layout") || !nw_parse_list(ps, "]", NW_INDEX, "position", &b->nlayout, e)) return false;
  b->layout = keep(r, b->nlayout, e);
  if (!nw_expect(ps, "in", "after the layout") || !nw_expect(ps, "[", "after in")) return false;
  if (!nw_parse_list(ps, "]", NW_INDEX, "extent", &n, e)) return false;
  b->layout_shape = keep(r, n, e);
  if (n == b->nlayout && n > 0) return true;
  return nw_parse_fail(ps, &at, "a layout of %d positions in %d extents", b->nlayout, n);
}

static bool buffer_line(reader *r, nw_role role) {
  nw_parser *ps = &r->ps;
  const nw_expr *shape[NW_PARSE_LIST];
  char word[16] = "";
  nw_dtype dtype;
  nw_scope scope;
  int ndim;
  nw_token at = ps->tok;
  const char *name = nw_expect_name(ps, "the name of a buffer");
  if (!name || !nw_expect(ps, ":", "after the buffer")) return false;
  if (nw_find_buffer(r->p, name)) return nw_parse_fail(ps, &at, "there are two buffers named %s", name);
  if (!token_text(r, word, sizeof word) || !nw_dtype_parse(word, &dtype)) return nw_expected(ps, "a type");
  nw_next(ps);
  if (!nw_expect(ps, "[", "after the type") || !nw_parse_list(ps, "]", NW_INDEX, "extent", &ndim, shape)) return false;
  bool scoped = token_text(r, word, sizeof word) && nw_scope_parse(word, &scope);
  if (scoped) nw_next(ps);
  nw_buffer *b = nw_add_buffer(r->p, name, dtype, scoped ? scope : NW_GLOBAL, role, ndim, shape);
  return !nw_accept(ps, "layout") || layout(r, b);
}

typedef struct tables {
  nw_vec sizes, facts;
} tables;

// One line of the tables; *more is false at the first statement.
static bool table_line(reader *r, tables *t, bool *more) {
  char word[16] = "";
  nw_role role;
  *more = true;
  if (r->ps.tok.indent && r->ps.tok.kind != NW_TOK_END) return nw_expected(&r->ps, "a line that is not indented");
  if (t->sizes.n + t->facts.n + r->p->nbuffers >= NW_PARSE_TABLE)
    return nw_parse_fail(&r->ps, &r->ps.tok, "a program has %d sizes, facts and buffers at most", NW_PARSE_TABLE);
  if (accept_word(r, "size")) return size_line(r, &t->sizes) && end_line(r);
  if (accept_word(r, "fact")) return fact_line(r, &t->facts) && end_line(r);
  if (token_text(r, word, sizeof word) && nw_role_parse(word, &role) && accept_word(r, word))
    return buffer_line(r, role) && end_line(r);
  *more = false;
  return true;
}

static void keep_tables(reader *r, const tables *t) {
  nw_program *p = r->p;
  p->nsizes = t->sizes.n;
  p->size = NW_NEW_N(p->arena, nw_size, t->sizes.n);
  for (int i = 0; i < t->sizes.n; i++) p->size[i] = *(nw_size *)t->sizes.at[i];
  p->nfacts = t->facts.n;
  p->fact = keep(r, t->facts.n, (const nw_expr *const *)t->facts.at);
}

static bool read_tables(reader *r) {
  tables t = {0};
  bool more = true, ok = true;
  while (ok && more) ok = table_line(r, &t, &more);
  if (ok) keep_tables(r, &t);
  nw_vec_free(&t.sizes);
  nw_vec_free(&t.facts);
  return ok;
}

// ---- what is inside a statement

static bool statements(reader *r, nw_stmt *parent, int indent, int depth) {
  nw_vec kids = {0};
  bool ok = true;
  while (ok && r->ps.tok.kind != NW_TOK_END && r->ps.tok.indent == indent) {
    nw_stmt *s = statement(r, depth);
    if (s) nw_vec_push(&kids, s);
    ok = s;
  }
  if (ok && r->ps.tok.kind != NW_TOK_END && r->ps.tok.indent > indent)
    ok = nw_expected(&r->ps, "a line indented by %d, not %d", indent, r->ps.tok.indent);
  if (ok) nw_kids_set(r->p, parent, kids.n, (nw_stmt **)kids.at);
  nw_vec_free(&kids);
  return ok;
}

// `:` and an indented body; `pass` is an empty one.
static bool opens_body(reader *r, int indent) {
  if (!nw_expect(&r->ps, ":", "before what is inside") || !end_line(r)) return false;
  if (r->ps.tok.kind != NW_TOK_END && r->ps.tok.indent > indent) return true;
  return nw_expected(&r->ps, "an indented line (or pass)");
}

static bool body(reader *r, nw_stmt *s, int indent, int depth) {
  if (!opens_body(r, indent)) return false;
  if (depth + 1 >= NW_MAX_DEPTH) return nw_parse_fail(&r->ps, &r->ps.tok, "statements are nested deeper than %d", NW_MAX_DEPTH);
  if (accept_word(r, "pass")) return end_line(r);
  return statements(r, s, r->ps.tok.indent, depth + 1);
}

// ---- loops, guards, allocations, stores

static bool fused(reader *r, nw_stmt *s) {
  const nw_expr *e[NW_PARSE_LIST];
  nw_parser *ps = &r->ps;
  nw_next(ps);
  if (!nw_parse_list(ps, ")", NW_INDEX, "extent", &s->loop.nfused, e)) return false;
  if (!s->loop.nfused) return nw_expected(ps, "the extents that were fused");
  s->loop.fused = keep(r, s->loop.nfused, e);
  s->loop.extent = nw_index(ps->pool, 1);
  for (int i = 0; i < s->loop.nfused; i++) s->loop.extent = nw_mul(ps->pool, s->loop.extent, e[i]);
  return true;
}

// Is this `0..fuse(`? Then *after stands before the parenthesis.
static bool at_fuse(const reader *r, nw_parser *after) {
  *after = r->ps;
  if (r->ps.tok.kind != NW_TOK_INT || r->ps.tok.n != 1 || *r->ps.tok.s != '0') return false;
  nw_next(after);
  return nw_accept(after, "..") && nw_accept(after, "fuse") && nw_at(after, "(");
}

static bool loop_range(reader *r, nw_stmt *s) {
  nw_parser after;
  if (!at_fuse(r, &after)) return range(r, &s->loop.begin, &s->loop.extent);
  r->ps = after;
  s->loop.begin = nw_index(r->ps.pool, 0);
  return fused(r, s);
}

// The text of a string token, its escapes undone.
static const char *string(reader *r) {
  const nw_token *t = &r->ps.tok;
  if (t->kind != NW_TOK_STRING) return nw_expected(&r->ps, "a string");
  char *out = nw_arena_strndup(r->p->arena, t->s + 1, (size_t)t->n - 2), *to = out;
  for (const char *s = out; *s; s++) {
    if (*s == '\\' && s[1]) s++;
    *to++ = *s;
  }
  *to = 0;
  nw_next(&r->ps);
  return nw_pool_name(r->ps.pool, out);
}

static bool loop_head(reader *r, nw_stmt *s, nw_loop_kind mark) {
  nw_parser *ps = &r->ps;
  if (!nw_expect(ps, "for", "after the mark of a loop")) return false;
  const char *name = nw_expect_name(ps, "the name of a loop");
  if (!name || !nw_expect(ps, "in", "after the loop's name") || !loop_range(r, s)) return false;
  s->loop.var = nw_var(ps->pool, name);
  s->loop.mark = mark;
  return !nw_accept(ps, "pragma") || (s->loop.pragma = string(r));
}

static nw_stmt *loop(reader *r, nw_loop_kind mark, int depth) {
  nw_stmt *s = make(r, NW_LOOP);
  int indent = r->ps.tok.indent;
  return loop_head(r, s, mark) && body(r, s, indent, depth) ? s : NULL;
}

static nw_stmt *guard(reader *r, int depth) {
  nw_stmt *s = make(r, NW_GUARD);
  int indent = r->ps.tok.indent;
  nw_next(&r->ps);
  s->guard.cond = nw_parse_typed(&r->ps, NW_BOOL, "condition");
  return s->guard.cond && body(r, s, indent, depth) ? s : NULL;
}

static nw_stmt *sequence(reader *r, int depth) {
  nw_stmt *s = nw_new_stmt(r->p, NW_SEQ);
  int indent = r->ps.tok.indent;
  nw_next(&r->ps);
  return body(r, s, indent, depth) ? s : NULL;
}

static bool box(reader *r, nw_stmt *s) {
  const nw_expr *min[NW_PARSE_LIST], *extent[NW_PARSE_LIST];
  nw_parser *ps = &r->ps;
  int n = 0;
  if (!nw_expect(ps, "[", "after the buffer")) return false;
  for (; !nw_accept(ps, "]"); n++) {
    if (n && !nw_expect(ps, ",", "or ']' in the box")) return false;
    if (n == NW_PARSE_LIST) return nw_parse_fail(ps, &ps->tok, "this box has more than %d dimensions", NW_PARSE_LIST);
    if (!range(r, &min[n], &extent[n])) return false;
  }
  s->alloc.n = n;
  s->alloc.min = keep(r, n, min);
  s->alloc.extent = keep(r, n, extent);
  return true;
}

static nw_stmt *alloc(reader *r, int depth) {
  nw_stmt *s = make(r, NW_ALLOC);
  int indent = r->ps.tok.indent;
  nw_next(&r->ps);
  s->alloc.buffer = nw_expect_name(&r->ps, "a buffer");
  return s->alloc.buffer && box(r, s) && body(r, s, indent, depth) ? s : NULL;
}

static bool store_index(reader *r, nw_stmt *s) {
  nw_parser *ps = &r->ps;
  if (!nw_expect(ps, "[", "after the buffer") || !(s->store.index = nw_parse_typed(ps, NW_INDEX, "index"))) return false;
  if (nw_accept(ps, ";") && !(s->store.mask = nw_parse_typed(ps, NW_BOOL, "mask"))) return false;
  return nw_expect(ps, "]", "after the index") && nw_expect(ps, "=", "in a store");
}

static nw_stmt *store(reader *r) {
  nw_stmt *s = make(r, NW_STORE);
  s->store.buffer = nw_expect_name(&r->ps, "a statement");
  if (!s->store.buffer || !store_index(r, s)) return NULL;
  s->store.value = nw_parse_expr(&r->ps);
  return s->store.value && end_line(r) ? s : NULL;
}

// ---- blocks

static bool block_var(reader *r, nw_block_var *v) {
  nw_parser *ps = &r->ps;
  char word[16] = "";
  v->kind = NW_SPATIAL;
  if (token_text(r, word, sizeof word) && !nw_follows(ps, "=") && nw_var_kind_parse(word, &v->kind)) nw_next(ps);
  const char *name = nw_expect_name(ps, "a variable of the block");
  if (!name || !nw_expect(ps, "=", "after the variable")) return false;
  v->var = nw_var(ps->pool, name);
  if (!(v->bind = nw_parse_typed(ps, NW_INDEX, "binding")) || !nw_expect(ps, "in", "after the binding")) return false;
  return range(r, &v->lo, &v->extent);
}

static bool block_vars(reader *r, nw_stmt *s) {
  nw_block_var v[NW_PARSE_LIST];
  nw_parser *ps = &r->ps;
  int n = 0;
  if (!nw_expect(ps, "(", "before the variables of the block")) return false;
  for (; !nw_accept(ps, ")"); n++) {
    if (n && !nw_expect(ps, ",", "or ')' after a variable")) return false;
    if (n == NW_PARSE_LIST) return nw_parse_fail(ps, &ps->tok, "a block has at most %d variables", NW_PARSE_LIST);
    if (!block_var(r, &v[n])) return false;
  }
  s->block.nvars = n;
  s->block.var = NW_NEW_N(r->p->arena, nw_block_var, n);
  if (n) memcpy(s->block.var, v, (size_t)n * sizeof *v);
  return true;
}

static bool block_head(reader *r, nw_stmt *s) {
  nw_parser *ps = &r->ps;
  s->block.init_part = nw_accept(ps, "init");
  if (!nw_expect(ps, "block", "at the head of a block")) return false;
  if (!(s->block.name = nw_expect_name(ps, "the name of a block")) || !nw_expect(ps, "of", "before the block's origin")) return false;
  if (!(s->block.origin = nw_expect_name(ps, "the block's origin")) || !block_vars(r, s)) return false;
  return !nw_accept(ps, "where") || (s->block.where = nw_parse_typed(ps, NW_BOOL, "condition"));
}

static bool element(reader *r, nw_target *t) {
  const nw_expr *e[NW_PARSE_LIST];
  nw_parser *ps = &r->ps;
  if (!(t->buffer = nw_expect_name(ps, "a buffer")) || !nw_expect(ps, "[", "after the buffer")) return false;
  if (!nw_parse_list(ps, "]", NW_INDEX, "index", &t->n, e)) return false;
  t->index = keep(r, t->n, e);
  return true;
}

// =, +=, *=, min=, argmax= ...: the combiner, the same for all targets of a block.
static bool assignment(reader *r, nw_stmt *s, bool first) {
  char text[16] = "";
  nw_parser *ps = &r->ps;
  nw_token at = ps->tok;
  nw_combiner c;
  if (ps->tok.n < 8) memcpy(text, ps->tok.s, (size_t)ps->tok.n);
  bool wordy = ps->tok.kind == NW_TOK_NAME;
  if (wordy) strcat(text, "=");
  if (!nw_combiner_of_assign(text, &c)) return nw_expected(ps, "an assignment: =, +=, *=, min=, max=, argmin=, argmax=");
  nw_next(ps);
  if (wordy && !nw_expect(ps, "=", "after the name of a reduction")) return false;
  if (!first && c != s->block.combiner) return nw_parse_fail(ps, &at, "the targets of a block are combined alike");
  s->block.combiner = c;
  return true;
}

static bool same_element(const nw_target *a, const nw_target *b) {
  return a->buffer == b->buffer && a->n == b->n && !memcmp(a->index, b->index, (size_t)a->n * sizeof *a->index);
}

// init C[i, j] = 0, and `elsewhere` when another block does it.
static bool init_line(reader *r, nw_stmt *s, nw_target *of) {
  nw_parser *ps = &r->ps;
  bool elsewhere, ok = element(r, of) && nw_expect(ps, "=", "in an init") && (of->init = nw_parse_expr(ps));
  if (!ok) return false;
  elsewhere = nw_accept(ps, "elsewhere");
  if (s->block.ntargets && elsewhere == s->block.has_init) return nw_expected(ps, "all inits of the block here, or all elsewhere");
  s->block.has_init = !elsewhere;
  return end_line(r);
}

static bool target_line(reader *r, nw_stmt *s, nw_target *t) {
  nw_target init = {0};
  nw_token at = r->ps.tok;
  *t = (nw_target){0};
  if (accept_word(r, "init") && !init_line(r, s, &init)) return false;
  if (!element(r, t) || !assignment(r, s, s->block.ntargets == 0)) return false;
  if (init.init && !same_element(&init, t)) return nw_parse_fail(&r->ps, &at, "the init stands before the element it is for");
  t->init = init.init;
  return (t->value = nw_parse_expr(&r->ps)) && end_line(r);
}

static bool block_body(reader *r, nw_stmt *s, int indent) {
  nw_target t[NW_PARSE_LIST];
  if (!opens_body(r, indent)) return false;
  int inner = r->ps.tok.indent;
  while (r->ps.tok.kind != NW_TOK_END && r->ps.tok.indent == inner) {
    if (s->block.ntargets == NW_PARSE_LIST) return nw_expected(&r->ps, "the end of the block");
    if (!target_line(r, s, &t[s->block.ntargets])) return false;
    s->block.ntargets++;
  }
  s->block.target = NW_NEW_N(r->p->arena, nw_target, s->block.ntargets);
  memcpy(s->block.target, t, (size_t)s->block.ntargets * sizeof *t);
  return true;
}

static nw_stmt *block(reader *r) {
  nw_stmt *s = make(r, NW_BLOCK);
  int indent = r->ps.tok.indent;
  return block_head(r, s) && block_body(r, s, indent) ? s : NULL;
}

// ---- programs

static nw_stmt *statement(reader *r, int depth) {
  char word[16] = "";
  nw_loop_kind mark;
  if (token_text(r, word, sizeof word) && begins(r, word)) {
    if (nw_at(&r->ps, "for")) return loop(r, NW_SERIAL, depth);
    if (nw_at(&r->ps, "if")) return guard(r, depth);
    if (nw_at(&r->ps, "alloc")) return alloc(r, depth);
    if (nw_at(&r->ps, "block") || nw_at(&r->ps, "init")) return block(r);
    if (nw_at(&r->ps, "seq")) return sequence(r, depth);
    if (nw_loop_kind_parse(word, &mark)) return nw_next(&r->ps), loop(r, mark, depth);
  }
  return store(r);
}

static bool read_program(reader *r) {
  if (!read_tables(r) || !statements(r, r->p->root, 0, 0)) return false;
  if (r->ps.tok.kind != NW_TOK_END) return nw_expected(&r->ps, "a statement");
  return true;
}

static bool sound(reader *r) {
  nw_flaw flaw;
  if (!nw_program_flaw(r->p, &flaw)) return true;
  nw_token at = {.line = flaw.stmt && flaw.stmt < r->lines ? r->line_of[flaw.stmt] : 1, .column = 1};
  return nw_parse_fail(&r->ps, &at, "%s", flaw.text);
}

static const char *read_title(reader *r) {
  if (!nw_expect(&r->ps, "program", "on the first line")) return NULL;
  const char *name = nw_expect_name(&r->ps, "the name of the program");
  return name && end_line(r) ? name : NULL;
}

// The program a text describes, frozen, with fresh ids; NULL and NW_EPARSE otherwise.
nw_program *nw_program_parse(nw_ctx *c, nw_pool *pool, const char *text) {
  reader r = {0};
  if (!pool || !text || !nw_parser_open(&r.ps, c, pool, text)) return NULL;
  const char *name = read_title(&r);
  if (!name) return NULL;
  r.ps.p = r.p = nw_program_new(c, pool, name);
  bool ok = read_program(&r) && sound(&r);
  free(r.line_of);
  if (ok) return nw_program_freeze(r.p);
  nw_program_release(r.p);
  return NULL;
}
