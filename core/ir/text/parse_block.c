// Parses blocks. The first line of a block lists its variables with their bindings and ranges. The inits and targets
// follow, one per line.
#include "ir/text/lines.h"
#include "ir/text/parse.h"

static bool block_var(nw_parser *ps, nw_block_var *v) {
  char word[16] = "";
  v->kind = NW_SPATIAL;
  if (nw_token_text(ps, word, sizeof word) && !nw_follows(ps, "=") && nw_var_kind_parse(word, &v->kind)) nw_next(ps);
  const char *name = nw_expect_name(ps, "a variable of the block");
  if (!name || !nw_expect(ps, "=", "after the variable")) return false;
  v->var = nw_var(ps->pool, name);
  if (!(v->bind = nw_parse_typed(ps, NW_INDEX, "binding")) || !nw_expect(ps, "in", "after the binding")) return false;
  return nw_parse_range(ps, &v->lo, &v->extent);
}

static bool block_vars(nw_parser *ps, nw_stmt *s) {
  nw_block_var v[NW_PARSE_LIST];
  int n = 0;
  if (!nw_expect(ps, "(", "before the variables of the block")) return false;
  for (; !nw_accept(ps, ")"); n++) {
    if (n && !nw_expect(ps, ",", "or ')' after a variable")) return false;
    if (n == NW_PARSE_LIST) return nw_parse_limit(ps, &ps->tok, "a block has at most %d variables", NW_PARSE_LIST);
    if (!block_var(ps, &v[n])) return false;
  }
  s->block.nvars = n;
  s->block.var = NW_NEW_N(ps->p->arena, nw_block_var, n);
  if (n) memcpy(s->block.var, v, (size_t)n * sizeof *v);
  return true;
}

static bool block_head(nw_parser *ps, nw_stmt *s) {
  s->block.init_part = nw_accept(ps, "init");
  s->block.atomic = nw_accept(ps, "atomic");
  s->block.async = nw_accept(ps, "async");
  if (!nw_expect(ps, "block", "at the head of a block")) return false;
  if (!(s->block.name = nw_expect_name(ps, "the name of a block")) || !nw_expect(ps, "of", "before the block's origin"))
    return false;
  if (!(s->block.origin = nw_expect_name(ps, "the block's origin")) || !block_vars(ps, s)) return false;
  if (nw_accept(ps, "when") && !(s->block.when = nw_parse_typed(ps, NW_BOOL, "condition"))) return false;
  if (nw_accept(ps, "where") && !(s->block.where = nw_parse_typed(ps, NW_BOOL, "condition"))) return false;
  return nw_parse_tags(ps, s);
}

static bool element(nw_parser *ps, nw_block_target *t) {
  const nw_expr *e[NW_PARSE_LIST];
  if (!(t->buffer = nw_expect_name(ps, "a buffer")) || !nw_expect(ps, "[", "after the buffer")) return false;
  if (!nw_parse_list(ps, "]", NW_INDEX, "index", &t->n, e)) return false;
  t->index = nw_keep_exprs(ps, t->n, e);
  return true;
}

// Reads the combiner: =, +=, *=, min=, argmax=, ... All targets of a block must have the same combiner.
static bool assignment(nw_parser *ps, nw_stmt *s, bool first) {
  char text[NW_PARSE_NAME + 2] = "";
  nw_token at = ps->tok;
  nw_combiner c;
  if (ps->tok.n <= NW_PARSE_NAME) memcpy(text, ps->tok.s, (size_t)ps->tok.n);
  bool wordy = ps->tok.kind == NW_TOK_NAME;
  if (wordy) strcat(text, "=");
  if (!nw_combiner_of_assign(ps->p, text, &c))
    return nw_expected(ps, "an assignment: =, +=, *=, min=, max=, argmin=, argmax=, or that of a reducer");
  nw_next(ps);
  if (wordy && !nw_expect(ps, "=", "after the name of a reduction")) return false;
  if (!first && c != s->block.combiner)
    return nw_parse_fail(ps, &at, "all targets of a block must use the same combiner");
  s->block.combiner = c;
  return true;
}

static bool same_element(const nw_block_target *a, const nw_block_target *b) {
  return a->buffer == b->buffer && a->n == b->n && !memcmp(a->index, b->index, (size_t)a->n * sizeof *a->index);
}

// Reads `init C[i, j] = 0`. If another block runs the init, `elsewhere` follows.
static bool init_line(nw_parser *ps, nw_stmt *s, nw_block_target *of) {
  bool elsewhere, ok = element(ps, of) && nw_expect(ps, "=", "in an init") && (of->init = nw_parse_expr(ps));
  if (!ok) return false;
  elsewhere = nw_accept(ps, "elsewhere");
  if (s->block.ntargets && elsewhere == s->block.has_init)
    return nw_expected(ps, "either 'elsewhere' in every init of the block, or in none");
  s->block.has_init = !elsewhere;
  return nw_end_line(ps);
}

static bool target_line(nw_parser *ps, nw_stmt *s, nw_block_target *t) {
  nw_block_target init = {0};
  nw_token at = ps->tok;
  *t = (nw_block_target){0};
  if (nw_accept_word(ps, "init") && !init_line(ps, s, &init)) return false;
  t->stream = nw_accept_word(ps, "stream");
  if (!element(ps, t) || !assignment(ps, s, s->block.ntargets == 0)) return false;
  if (init.init && !same_element(&init, t))
    return nw_parse_fail(ps, &at, "an init must set the element that the next line updates");
  t->init = init.init;
  return (t->value = nw_parse_expr(ps)) && nw_end_line(ps);
}

static bool block_body(nw_parser *ps, nw_stmt *s, int indent) {
  nw_block_target t[NW_PARSE_LIST];
  if (!nw_opens_body(ps, indent)) return false;
  int inner = ps->tok.indent;
  while (ps->tok.kind != NW_TOK_END && ps->tok.indent == inner) {
    if (s->block.ntargets == NW_PARSE_LIST) return nw_expected(ps, "the end of the block");
    if (!target_line(ps, s, &t[s->block.ntargets])) return false;
    s->block.ntargets++;
  }
  s->block.target = NW_NEW_N(ps->p->arena, nw_block_target, s->block.ntargets);
  memcpy(s->block.target, t, (size_t)s->block.ntargets * sizeof *t);
  return true;
}

nw_stmt *nw_parse_block(nw_parser *ps) {
  nw_stmt *s = nw_parse_stmt(ps, NW_BLOCK);
  int indent = ps->tok.indent;
  return block_head(ps, s) && block_body(ps, s, indent) ? s : NULL;
}
