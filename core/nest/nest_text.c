// Parses loop nests.
#include "nest/nest_read.h"
#include <stdlib.h>

// ---- construction and freeing

nw_text *nw_text_new(nw_ctx *c) {
  nw_text *t = nw_xcalloc(1, sizeof *t);
  t->ctx = c;
  t->arena = nw_arena_scratch();
  t->pool = nw_pool_new(c);
  t->root = nw_text_node_new(t, NW_TEXT_SEQ);
  return t;
}

nw_text_node *nw_text_node_new(nw_text *t, nw_text_kind kind) {
  nw_text_node *x = NW_NEW(t->arena, nw_text_node);
  x->kind = kind;
  nw_vec_push(&t->vec, &x->kid);
  return x;
}

void nw_text_free(nw_text *t) {
  if (!t) return;
  for (int i = 0; i < t->vec.n; i++) nw_vec_free(t->vec.at[i]);
  nw_vec_free(&t->vec);
  nw_vec_free(&t->param);
  nw_vec_free(&t->set);
  nw_vec_free(&t->array);
  nw_pool_release(t->pool);
  nw_arena_free(t->arena);
  free(t);
}

// ---- references

// Reads a reference with the indices `[i, j]` or `[i][j]`. The indices `[i, j : 8]` mean eight adjacent elements, which
// begin at [i, j].
static bool read_ref(nw_text_reader *r) {
  nw_token at = r->ps.tok;
  const nw_expr *index[NW_TEXT_DIMS];
  nw_text_ref *x = &r->ref[r->nrefs];
  *x = (nw_text_ref){.array = nw_text_array_of(r->t, &at), .lanes = 1, .line = at.line, .column = at.column};
  if (x->array < 0) return nw_parse_fail(&r->ps, &at, "%.*s is not an array", at.n < 80 ? at.n : 80, at.s);
  if (r->nrefs == NW_TEXT_REFS - 1)
    return nw_parse_limit(&r->ps, &at, "a statement has more than %d references", NW_TEXT_REFS - 1);
  const nw_text_array *array = r->t->array.at[x->array];
  nw_next(&r->ps);
  while (x->lanes == 1 && nw_accept(&r->ps, "[")) {
    if (!nw_text_indices(r, NW_TEXT_DIMS, "index", &x->nindex, index)) return false;
    if (!nw_accept(&r->ps, ":")) continue;
    if (!nw_text_whole(r, "number of elements", &x->lanes) || !nw_expect(&r->ps, "]", "after the number of elements"))
      return false;
    if (x->lanes < 2 || x->lanes > 32768 / array->elem)
      return nw_parse_fail(&r->ps, &at, "a vector access needs 2 or more elements, and at most 32768 bytes");
  }
  if (x->nindex != array->ndim)
    return nw_parse_fail(&r->ps, &at, "%s has %d dimensions, not %d", array->name, array->ndim, x->nindex);
  x->index = nw_text_kept(r, x->nindex, index);
  r->nrefs++;
  return true;
}

// ---- Values

// Reads the value of a statement. Only the references in the value are parsed. The tokens between them are copied.

static bool read_value(nw_text_reader *r);

static void copy_token(nw_text_reader *r) {
  nw_str_addn(&r->value, r->ps.tok.s, (size_t)r->ps.tok.n);
  nw_next(&r->ps);
}

static bool read_arguments(nw_text_reader *r) {
  copy_token(r);
  while (!nw_at(&r->ps, ")")) {
    if (!read_value(r)) return false;
    if (nw_at(&r->ps, ",")) {
      nw_str_add(&r->value, ", ");
      nw_next(&r->ps);
    } else if (!nw_at(&r->ps, ")")) {
      return nw_expected(&r->ps, "',' or ')'");
    }
  }
  copy_token(r);
  return true;
}

static bool read_term(nw_text_reader *r) {
  while (nw_at(&r->ps, "-") || nw_at(&r->ps, "not")) {
    bool word = nw_at(&r->ps, "not");
    copy_token(r);
    if (word) nw_str_add(&r->value, " ");
  }
  if (nw_at(&r->ps, "(")) return read_arguments(r);
  if (r->ps.tok.kind == NW_TOK_INT || r->ps.tok.kind == NW_TOK_FLOAT) return copy_token(r), true;
  if (r->ps.tok.kind != NW_TOK_NAME) return nw_expected(&r->ps, "a value");
  if (nw_follows(&r->ps, "[") || nw_text_array_of(r->t, &r->ps.tok) >= 0) {
    nw_str_add(&r->value, "\x01");
    return read_ref(r);
  }
  if (nw_follows(&r->ps, "(")) nw_text_note_call(&r->ops, &r->ps.tok);
  copy_token(r);
  return !nw_at(&r->ps, "(") || read_arguments(r);
}

static bool at_operator(const nw_parser *ps, bool *tight) {
  static const char *const ops[] = {"*", "/", "//", "%", "+", "-", "<", "<=", ">", ">=", "==", "!=", "and", "or"};
  for (int i = 0; i < NW_COUNT(ops); i++)
    if (nw_at(ps, ops[i])) return *tight = i < 2, !nw_follows(ps, "="); // `-=` is not an operator
  return false;
}

static bool read_value(nw_text_reader *r) {
  bool tight;
  if (r->ps.depth == NW_PARSE_DEPTH)
    return nw_parse_limit(&r->ps, &r->ps.tok, "this is nested deeper than %d", NW_PARSE_DEPTH);
  r->ps.depth++;
  bool ok = read_term(r);
  while (ok && at_operator(&r->ps, &tight)) {
    if (!tight) nw_str_add(&r->value, " ");
    nw_text_note_sign(&r->ops, &r->ps.tok);
    copy_token(r);
    if (!tight) nw_str_add(&r->value, " ");
    ok = read_term(r);
  }
  r->ps.depth--;
  return ok;
}

// ---- statements

static const char *read_op(nw_text_reader *r) {
  static const char *const ops[] = {"=", "+=", "*="};
  nw_token sign = r->ps.tok;
  sign.n = 1;
  nw_text_note_sign(&r->ops, &sign);
  for (int i = 0; i < NW_COUNT(ops); i++)
    if (nw_accept(&r->ps, ops[i])) return ops[i];
  for (int i = 0; i < 2; i++)
    if (nw_at(&r->ps, i ? "/" : "-") && nw_follows(&r->ps, "=")) {
      nw_next(&r->ps), nw_next(&r->ps);
      return i ? "/=" : "-=";
    }
  return NULL;
}

static bool at_assignment(const nw_text_reader *r) {
  nw_parser ahead = r->ps;
  nw_next(&ahead);
  static const char *const ops[] = {"=", "+=", "*="};
  for (int i = 0; i < NW_COUNT(ops); i++)
    if (nw_at(&ahead, ops[i])) return true;
  return (nw_at(&ahead, "-") || nw_at(&ahead, "/")) && nw_follows(&ahead, "=");
}

// Reads an assignment to a scalar, such as `s = value`. A scalar is in a register, so it is not a reference.
static bool read_scalar(nw_text_reader *r, nw_text_node *x) {
  nw_token at = r->ps.tok;
  if (!(x->scalar = nw_expect_name(&r->ps, "a name"))) return false;
  if (nw_text_is_param(r->t, x->scalar) || nw_text_is_loop(r, x->scalar))
    return nw_parse_fail(&r->ps, &at, "%s is a parameter or a loop: it cannot be assigned to", x->scalar);
  x->op = read_op(r);
  return read_value(r);
}

static bool read_target(nw_text_reader *r, nw_text_node *x) {
  if (!read_value(r)) return false;
  nw_token at = r->ps.tok;
  if (!(x->op = read_op(r))) return true;
  if (strcmp(r->value.s, "\x01"))
    return nw_parse_fail(&r->ps, &at, "the target of an assignment must be one reference");
  x->ntargets = 1;
  r->value.n = 0;
  return read_value(r);
}

static nw_text_node *read_statement(nw_text_reader *r) {
  nw_text_node *x = nw_text_node_new(r->t, NW_TEXT_STMT);
  x->line = r->ps.tok.line, x->column = r->ps.tok.column;
  r->nrefs = 0;
  r->value.n = 0;
  r->ops = (nw_text_ops){0};
  bool scalar = r->ps.tok.kind == NW_TOK_NAME && nw_text_array_of(r->t, &r->ps.tok) < 0 && at_assignment(r);
  if (!(scalar ? read_scalar : read_target)(r, x) || !nw_end_line(&r->ps)) return NULL;
  x->value = nw_arena_strndup(r->t->arena, r->value.s, r->value.n);
  x->nrefs = r->nrefs;
  x->ref = NW_NEW_N(r->t->arena, nw_text_ref, r->nrefs + 1);
  memcpy(x->ref, r->ref, (size_t)r->nrefs * sizeof *x->ref);
  x->ops = r->ops;
  return x;
}

static bool read_body(nw_text_reader *r, nw_text_node *to, int indent, int depth);

static bool read_range(nw_text_reader *r, nw_text_node *x) {
  if (!(x->lo = nw_text_number(r, NW_INDEX, "bound")) || !nw_expect(&r->ps, "..", "in a range") ||
      !(x->hi = nw_text_number(r, NW_INDEX, "bound")))
    return false;
  x->step = 1;
  x->reversed = nw_accept(&r->ps, "reversed");
  nw_token at = r->ps.tok;
  if (nw_accept(&r->ps, "step") && !nw_text_whole(r, "step", &x->step)) return false;
  if (x->step < 1 || x->step > INT64_C(1) << 40 || (x->step > 1 && x->reversed))
    return nw_parse_fail(&r->ps, &at, "a step must be 1 or more, and 1 in a reversed loop");
  at = r->ps.tok;
  if (x->parallel && nw_accept(&r->ps, "chunk") && !nw_text_whole(r, "chunk", &x->chunk)) return false;
  if (x->chunk < 0 || x->chunk > 1 << 30) return nw_parse_fail(&r->ps, &at, "a chunk must be 1 or more");
  return true;
}

static bool read_loop(nw_text_reader *r, nw_text_node *x, int indent, int depth) {
  x->kind = NW_TEXT_LOOP;
  x->parallel = nw_accept(&r->ps, "parallel");
  if (!nw_expect(&r->ps, "for", "here") || !(x->name = nw_text_new_name(r, "the name of a loop")) ||
      !nw_expect(&r->ps, "in", "after the loop's name") || !read_range(r, x) || !nw_opens_body(&r->ps, indent))
    return false;
  nw_vec_push(&r->scope, (void *)x->name);
  bool ok = read_body(r, x, r->ps.tok.indent, depth + 1);
  r->scope.n--;
  return ok;
}

static bool read_if(nw_text_reader *r, nw_text_node *x, int indent, int depth) {
  x->kind = NW_TEXT_IF;
  nw_next(&r->ps);
  if (!(x->cond = nw_text_number(r, NW_BOOL, "condition")) || !nw_opens_body(&r->ps, indent) ||
      !read_body(r, x, r->ps.tok.indent, depth + 1))
    return false;
  if (r->ps.tok.kind == NW_TOK_END || r->ps.tok.indent != indent || !nw_accept_word(&r->ps, "else")) return true;
  x->other = nw_text_node_new(r->t, NW_TEXT_SEQ);
  return nw_opens_body(&r->ps, indent) && read_body(r, x->other, r->ps.tok.indent, depth + 1);
}

static nw_text_node *read_line(nw_text_reader *r, int indent, int depth) {
  if (++r->lines > NW_TEXT_LINES)
    return nw_parse_limit(&r->ps, &r->ps.tok, "there are more than %d lines", NW_TEXT_LINES);
  if (depth > NW_TEXT_DEPTH) return nw_parse_limit(&r->ps, &r->ps.tok, "this is nested deeper than %d", NW_TEXT_DEPTH);
  bool loop = nw_begins(&r->ps, "for") || nw_begins(&r->ps, "parallel");
  if (!loop && !nw_begins(&r->ps, "if")) return read_statement(r);
  nw_text_node *x = nw_text_node_new(r->t, NW_TEXT_IF);
  x->line = r->ps.tok.line, x->column = r->ps.tok.column;
  return (loop ? read_loop : read_if)(r, x, indent, depth) ? x : NULL;
}

static bool read_body(nw_text_reader *r, nw_text_node *to, int indent, int depth) {
  while (r->ps.tok.kind != NW_TOK_END && r->ps.tok.indent == indent) {
    if (nw_accept_word(&r->ps, "pass")) {
      if (!nw_end_line(&r->ps)) return false;
      continue;
    }
    if (nw_begins(&r->ps, "else")) return nw_parse_fail(&r->ps, &r->ps.tok, "there is no if above this else");
    nw_text_node *x = read_line(r, indent, depth);
    if (!x) return false;
    nw_vec_push(&to->kid, x);
  }
  if (r->ps.tok.kind == NW_TOK_END || r->ps.tok.indent < indent) return true;
  return nw_parse_fail(&r->ps, &r->ps.tok, "this line is indented by %d, which matches no line above",
                       r->ps.tok.indent);
}

static bool read_all(nw_text_reader *r) {
  if (nw_accept_word(&r->ps, "nest")) {
    if (!(r->t->name = nw_expect_name(&r->ps, "the name of the nest")) || !nw_end_line(&r->ps)) return false;
  }
  if (!nw_text_tables(r)) return false;
  return read_body(r, r->t->root, 0, 0);
}

nw_text *nw_text_parse(nw_ctx *c, const char *text) {
  nw_text_reader *r = nw_xcalloc(1, sizeof *r);
  r->t = nw_text_new(c);
  bool ok = nw_parser_open(&r->ps, c, r->t->pool, text) && read_all(r);
  nw_text *t = r->t;
  nw_vec_free(&r->scope);
  nw_str_free(&r->value);
  free(r);
  if (ok) return t;
  nw_text_free(t);
  return NULL;
}
