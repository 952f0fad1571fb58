// Parses the tables at the head of a program, which list its sizes, facts and buffers.
#include "ir/text/lines.h"
#include "ir/text/parse.h"
#include "ir/program/physical.h"
#include "ir/program/reducer.h"

static bool size_line(nw_parser *ps, nw_vec *sizes) {
  nw_size *s = NW_NEW(ps->p->arena, nw_size);
  if (!(s->name = nw_expect_name(ps, "the name of a size")) || !nw_expect(ps, ">=", "after the size")) return false;
  if (!(s->lo = nw_parse_typed(ps, NW_INDEX, "least value"))) return false;
  nw_vec_push(sizes, s);
  return true;
}

static bool fact_line(nw_parser *ps, nw_vec *facts) {
  const nw_expr *e = nw_parse_typed(ps, NW_BOOL, "fact");
  if (e) nw_vec_push(facts, (void *)e);
  return e;
}

static bool number(nw_parser *ps, const char *what, int *out) {
  nw_token at = ps->tok;
  const nw_expr *e = nw_parse_typed(ps, NW_INDEX, "number");
  int64_t n = 0;
  if (!e) return false;
  if (!nw_is_int(e, &n) || n < 1 || n > INT32_MAX)
    return nw_parse_fail(ps, &at, "the number of %s must be a constant of at least 1", what);
  *out = (int)n;
  return true;
}

// Reads the line with the number of unsafe steps.
static bool unjudged_line(nw_parser *ps) { return number(ps, "unjudged steps", &ps->p->unsafe); }

// Reads the line with the number of rewrites that were not proved: `unproved 1 on 1000`.
static bool tested_line(nw_parser *ps) {
  return number(ps, "tested steps", &ps->p->tested) && nw_expect(ps, "on", "after the number of steps") &&
         number(ps, "values", &ps->p->values);
}

static bool layout(nw_parser *ps, nw_buffer *b) {
  const nw_expr *e[NW_PARSE_LIST];
  nw_token at = ps->tok;
  int n;
  if (!nw_expect(ps, "[", "after layout") || !nw_parse_list(ps, "]", NW_INDEX, "position", &b->nlayout, e))
    return false;
  b->layout = nw_keep_exprs(ps, b->nlayout, e);
  if (!nw_expect(ps, "in", "after the layout") || !nw_expect(ps, "[", "after in")) return false;
  if (!nw_parse_list(ps, "]", NW_INDEX, "extent", &n, e)) return false;
  b->layout_shape = nw_keep_exprs(ps, n, e);
  if (n == b->nlayout && n > 0) return true;
  return nw_parse_fail(ps, &at, "the layout has %d positions, but %d extents", b->nlayout, n);
}

static bool pad(nw_parser *ps, nw_buffer *b) {
  nw_token at = ps->tok;
  if (!(b->pad = nw_parse_typed(ps, b->dtype, "pad value"))) return false;
  if (b->pad->op == NW_OP_INT || b->pad->op == NW_OP_FLOAT) return true;
  return nw_parse_fail(ps, &at, "the pad value of %s must be a constant", b->name);
}

static bool whole_number(nw_parser *ps, const char *what, int64_t *out) {
  const nw_expr *e = nw_parse_typed(ps, NW_INDEX, what);
  if (!e || nw_is_int(e, out)) return e != NULL;
  return nw_expected(ps, "a number for the %s", what);
}

static bool stride(nw_parser *ps, nw_buffer *b) {
  nw_stride s;
  int64_t dim;
  nw_token at = ps->tok;
  if (!nw_expect(ps, "[", "after stride") || !whole_number(ps, "dimension", &dim) ||
      !nw_expect(ps, "]", "after the dimension") || !nw_expect(ps, "=", "after the stride") ||
      !whole_number(ps, "offset", &s.offset) || !nw_expect(ps, "of", "after the offset") ||
      !whole_number(ps, "factor", &s.factor))
    return false;
  if (dim < 0 || dim >= nw_physical_dims(b) || b->nstrides >= nw_physical_dims(b))
    return nw_parse_fail(ps, &at, "%s has %d dimensions in memory", b->name, nw_physical_dims(b));
  s.dim = (int)dim;
  if (!b->stride) b->stride = NW_NEW_N(ps->p->arena, nw_stride, nw_physical_dims(b));
  b->stride[b->nstrides++] = s;
  return true;
}

static bool strides(nw_parser *ps, nw_buffer *b) {
  while (nw_accept(ps, "stride"))
    if (!stride(ps, b)) return false;
  return true;
}

// Reads the strides of the caller's array: `strides [lda, 1]`.
static bool pitch(nw_parser *ps, nw_buffer *b) {
  const nw_expr *e[NW_PARSE_LIST];
  nw_token at = ps->tok;
  int n;
  if (!nw_expect(ps, "[", "after strides") || !nw_parse_list(ps, "]", NW_INDEX, "stride", &n, e)) return false;
  if (n != b->ndim) return nw_parse_fail(ps, &at, "%s has %d dimensions, but %d strides", b->name, b->ndim, n);
  b->pitch = nw_keep_exprs(ps, n, e);
  return true;
}

static bool buffer_line(nw_parser *ps, nw_role role) {
  const nw_expr *shape[NW_PARSE_LIST];
  char word[16] = "";
  nw_dtype dtype;
  nw_scope scope;
  int ndim;
  nw_token at = ps->tok;
  const char *name = nw_expect_name(ps, "the name of a buffer");
  if (!name || !nw_expect(ps, ":", "after the buffer")) return false;
  if (nw_find_buffer(ps->p, name)) return nw_parse_fail(ps, &at, "there are two buffers named %s", name);
  if (!nw_token_text(ps, word, sizeof word) || !nw_dtype_parse(word, &dtype)) return nw_expected(ps, "a type");
  nw_next(ps);
  if (!nw_expect(ps, "[", "after the type") || !nw_parse_list(ps, "]", NW_INDEX, "extent", &ndim, shape)) return false;
  bool scoped = nw_token_text(ps, word, sizeof word) && nw_scope_parse(word, &scope);
  if (scoped) nw_next(ps);
  const char *chip = scoped && scope == NW_CHIP ? nw_expect_name(ps, "the name of a memory") : NULL;
  if (scoped && scope == NW_CHIP && !chip) return false;
  nw_buffer *b = nw_add_buffer(ps->p, name, dtype, scoped ? scope : NW_GLOBAL, role, ndim, shape);
  b->chip = chip;
  nw_note_line(ps, b->id, &at);
  return (!nw_accept(ps, "layout") || layout(ps, b)) && (!nw_accept(ps, "pad") || pad(ps, b)) && strides(ps, b) &&
         (!nw_accept(ps, "strides") || pitch(ps, b));
}

// ---- reducers: `reducer online tested 1000 (v0: f32 from f32(-inf)) = max(a0, b0)`

static bool reducer_part(nw_parser *ps, nw_reducer *r) {
  char word[16] = "";
  int i = r->n;
  nw_token at = ps->tok;
  if (i == NW_MAX_REDUCED) return nw_parse_limit(ps, &at, "a reducer has at most %d components", NW_MAX_REDUCED);
  if (!(r->part[i] = nw_expect_name(ps, "the name of a component")) || !nw_expect(ps, ":", "after the component"))
    return false;
  if (!nw_token_text(ps, word, sizeof word) || !nw_dtype_parse(word, &r->dtype[i])) return nw_expected(ps, "a type");
  nw_next(ps);
  if (!nw_expect(ps, "from", "before the init")) return false;
  at = ps->tok;
  if (!(r->init[i] = nw_parse_typed(ps, r->dtype[i], "init"))) return false;
  if (r->init[i]->op != NW_OP_INT && r->init[i]->op != NW_OP_FLOAT)
    return nw_parse_fail(ps, &at, "the init of %s must be a constant", r->part[i]);
  r->n++;
  return true;
}

static bool reducer_combination(nw_parser *ps, nw_reducer *r) {
  ps->reducer = r;
  bool ok = true;
  for (int i = 0; i < r->n && ok; i++) {
    nw_token at = ps->tok;
    ok = (!i || nw_expect(ps, ",", "between the components")) &&
         (r->combine[i] = nw_parse_typed(ps, r->dtype[i], "component"));
    if (ok && nw_uses_load(r->combine[i], NULL)) ok = nw_parse_fail(ps, &at, "a reducer reads no tensors");
  }
  ps->reducer = NULL;
  return ok;
}

static bool reducer_line(nw_parser *ps) {
  nw_reducer r = {0};
  nw_token at = ps->tok;
  if (!(r.name = nw_expect_name(ps, "the name of a reducer"))) return false;
  if (nw_accept(ps, "tested") && !number(ps, "tested values", &r.tested)) return false;
  if (!nw_expect(ps, "(", "before the components")) return false;
  while (!nw_accept(ps, ")"))
    if ((r.n && !nw_expect(ps, ",", "or ')' after a component")) || !reducer_part(ps, &r)) return false;
  if (!r.n) return nw_parse_fail(ps, &at, "a reducer has at least one component");
  if (!nw_expect(ps, "=", "before the combination") || !reducer_combination(ps, &r)) return false;
  const nw_reducer *known = nw_reducer_add(ps->ctx, &r);
  if (!known) return nw_clear(ps->ctx), nw_parse_limit(ps, &at, "this session has too many reducers");
  for (int i = 0; i < ps->p->nreducers; i++)
    if (!strcmp(ps->p->reducer[i].name, r.name) || ps->p->reducer[i].combiner == known->combiner)
      return nw_parse_fail(ps, &at, "the reducer %s is there already", ps->p->reducer[i].name);
  nw_program_use_reducer(ps->p, known->combiner, r.name);
  return true;
}

typedef struct tables {
  nw_vec sizes, facts;
  int assumed; // number of assumed facts, which are the last facts
} tables;

// Reads one line of the tables. If the line is the first statement, only sets *more to false.
static bool table_line(nw_parser *ps, tables *t, bool *more) {
  char word[16] = "";
  nw_role role;
  *more = true;
  if (ps->tok.indent && ps->tok.kind != NW_TOK_END) return nw_expected(ps, "a line that is not indented");
  if (t->sizes.n + t->facts.n + ps->p->nbuffers >= NW_PARSE_TABLE)
    return nw_parse_limit(ps, &ps->tok, "a program has at most %d sizes, facts and buffers", NW_PARSE_TABLE);
  if (nw_accept_word(ps, "unjudged")) return unjudged_line(ps) && nw_end_line(ps);
  if (nw_accept_word(ps, "unproved")) return tested_line(ps) && nw_end_line(ps);
  if (nw_accept_word(ps, "size")) return size_line(ps, &t->sizes) && nw_end_line(ps);
  if (!t->assumed && nw_accept_word(ps, "fact")) return fact_line(ps, &t->facts) && nw_end_line(ps);
  if (nw_accept_word(ps, "assume")) return t->assumed++, fact_line(ps, &t->facts) && nw_end_line(ps);
  if (nw_accept_word(ps, "reducer")) return reducer_line(ps) && nw_end_line(ps);
  if (nw_token_text(ps, word, sizeof word) && nw_role_parse(word, &role) && nw_accept_word(ps, word))
    return buffer_line(ps, role) && nw_end_line(ps);
  *more = false;
  return true;
}

static void keep_tables(nw_parser *ps, const tables *t) {
  nw_program *p = ps->p;
  p->nsizes = t->sizes.n;
  p->size = NW_NEW_N(p->arena, nw_size, t->sizes.n);
  for (int i = 0; i < t->sizes.n; i++) p->size[i] = *(nw_size *)t->sizes.at[i];
  p->nfacts = t->facts.n;
  p->nassumed = t->assumed;
  p->fact = nw_keep_exprs(ps, t->facts.n, (const nw_expr *const *)t->facts.at);
}

bool nw_parse_tables(nw_parser *ps) {
  tables t = {0};
  bool more = true, ok = true;
  while (ok && more) ok = table_line(ps, &t, &more);
  if (ok) keep_tables(ps, &t);
  nw_vec_free(&t.sizes);
  nw_vec_free(&t.facts);
  return ok;
}
