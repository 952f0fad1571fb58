// Parses the parameters, named sizes and arrays of a nest.
#include "nest/nest_read.h"

// ---- names

bool nw_text_is_param(const nw_text *t, const char *name) {
  for (int i = 0; i < t->param.n; i++)
    if (!strcmp(((nw_text_param *)t->param.at[i])->name, name)) return true;
  return false;
}

bool nw_text_is_loop(const nw_text_reader *r, const char *name) {
  for (int i = 0; i < r->scope.n; i++)
    if (!strcmp(r->scope.at[i], name)) return true;
  return false;
}

int nw_text_array_of(const nw_text *t, const nw_token *name) {
  for (int i = 0; i < t->array.n; i++) {
    const char *s = ((nw_text_array *)t->array.at[i])->name;
    if ((int)strlen(s) == name->n && !memcmp(s, name->s, (size_t)name->n)) return i;
  }
  return -1;
}

const char *nw_text_new_name(nw_text_reader *r, const char *what) {
  nw_token at = r->ps.tok;
  const char *name = nw_expect_name(&r->ps, what);
  if (!name) return NULL;
  if (nw_text_is_param(r->t, name) || nw_text_is_loop(r, name) || nw_text_array_of(r->t, &at) >= 0)
    return nw_parse_fail(&r->ps, &at, "%s is already the name of something else", name);
  return name;
}

typedef struct unknown {
  const nw_text_reader *r;
  const char *name;
} unknown;

static bool is_known(void *env, const nw_expr *e) {
  unknown *u = env;
  if (e->op != NW_OP_VAR || nw_text_is_param(u->r->t, e->name) || nw_text_is_loop(u->r, e->name)) return true;
  u->name = e->name;
  return false;
}

const nw_expr *nw_text_number(nw_text_reader *r, nw_dtype t, const char *what) {
  nw_token at = r->ps.tok;
  unknown u = {.r = r};
  const nw_expr *e = nw_parse_typed(&r->ps, t, what);
  if (!e || nw_visit(e, is_known, &u)) return e;
  return nw_parse_fail(&r->ps, &at, "%s is neither a parameter nor a loop around this", u.name);
}

bool nw_text_whole(nw_text_reader *r, const char *what, int64_t *out) {
  nw_token at = r->ps.tok;
  const nw_expr *e = nw_text_number(r, NW_INDEX, what);
  if (!e) return false;
  return nw_is_int(e, out) || nw_parse_fail(&r->ps, &at, "this %s must be a number", what);
}

// ---- parameters and arrays

static bool read_params(nw_text_reader *r) {
  do {
    nw_text_param *p = NW_NEW(r->t->arena, nw_text_param);
    if (r->t->param.n == NW_TEXT_PARAMS)
      return nw_parse_limit(&r->ps, &r->ps.tok, "there are more than %d parameters", NW_TEXT_PARAMS);
    if (!(p->name = nw_text_new_name(r, "the name of a parameter")) || !nw_expect(&r->ps, "=", "and a number") ||
        !(p->value = nw_text_number(r, NW_INDEX, "parameter")))
      return false;
    nw_vec_push(&r->t->param, p);
  } while (nw_accept(&r->ps, ","));
  return nw_end_line(&r->ps);
}

static bool read_sizes(nw_text_reader *r) {
  nw_text_set *x = NW_NEW(r->t->arena, nw_text_set);
  if (r->t->set.n == NW_TEXT_SETS)
    return nw_parse_limit(&r->ps, &r->ps.tok, "there are more than %d sets of sizes", NW_TEXT_SETS);
  x->param = NW_NEW_N(r->t->arena, const char *, NW_TEXT_PARAMS);
  x->value = NW_NEW_N(r->t->arena, int64_t, NW_TEXT_PARAMS);
  if (!(x->name = nw_expect_name(&r->ps, "the name of the sizes")) ||
      !nw_expect(&r->ps, ":", "and values of parameters"))
    return false;
  do {
    nw_token at = r->ps.tok;
    const char *name = nw_expect_name(&r->ps, "a parameter");
    if (!name) return false;
    if (!nw_text_is_param(r->t, name)) return nw_parse_fail(&r->ps, &at, "%s is not a parameter", name);
    if (x->n == NW_TEXT_PARAMS) return nw_parse_limit(&r->ps, &at, "there are more than %d values", NW_TEXT_PARAMS);
    x->param[x->n] = name;
    if (!nw_expect(&r->ps, "=", "and a number") || !nw_text_whole(r, "size", &x->value[x->n++])) return false;
  } while (nw_accept(&r->ps, ","));
  nw_vec_push(&r->t->set, x);
  return nw_end_line(&r->ps);
}

static bool read_element(nw_text_reader *r, nw_text_array *x) {
  nw_token at = r->ps.tok;
  char word[16];
  nw_dtype t;
  int64_t bytes;
  if (!nw_token_text(&r->ps, word, sizeof word)) return nw_expected(&r->ps, "the type of an element");
  nw_next(&r->ps);
  if (nw_dtype_parse(word, &t)) {
    x->dtype = nw_dtype_name(t);
    x->elem = nw_dtype_bytes(t);
    return true;
  }
  if (strcmp(word, "bytes"))
    return nw_parse_fail(&r->ps, &at, "'%s' is not a type: give f64, f32, i32, ... or bytes(12)", word);
  if (!nw_expect(&r->ps, "(", "and the bytes of an element") || !nw_text_whole(r, "number of bytes", &bytes))
    return false;
  if (bytes < 1 || bytes > 4096) return nw_parse_fail(&r->ps, &at, "an element must have 1 to 4096 bytes");
  x->elem = (int)bytes;
  return nw_expect(&r->ps, ")", "after the bytes");
}

const nw_expr **nw_text_kept(nw_text_reader *r, int n, const nw_expr *const *e) {
  const nw_expr **to = NW_NEW_N(r->t->arena, const nw_expr *, n + 1);
  if (n) memcpy(to, e, (size_t)n * sizeof *to);
  return to;
}

bool nw_text_indices(nw_text_reader *r, int most, const char *what, int *n, const nw_expr **out) {
  for (bool first = true; !nw_accept(&r->ps, "]"); first = false) {
    if (!first && nw_at(&r->ps, ":")) return true;
    if (!first && !nw_expect(&r->ps, ",", "or ']' after the index")) return false;
    if (*n == most) return nw_parse_limit(&r->ps, &r->ps.tok, "there are more than %d dimensions", most);
    if (!(out[(*n)++] = nw_text_number(r, NW_INDEX, what))) return false;
  }
  return true;
}

static bool read_place(nw_text_reader *r, nw_text_array *x) {
  for (;;) {
    const nw_expr **to = nw_at(&r->ps, "pad")       ? &x->pad
                         : nw_at(&r->ps, "align")   ? &x->align
                         : nw_at(&r->ps, "address") ? &x->address
                                                    : NULL;
    if (!to) return nw_end_line(&r->ps);
    nw_next(&r->ps);
    if (!(*to = nw_text_number(r, NW_INDEX, "number"))) return false;
  }
}

static bool read_array(nw_text_reader *r) {
  const nw_expr *dim[NW_TEXT_DIMS];
  nw_text_array *x = NW_NEW(r->t->arena, nw_text_array);
  x->line = r->ps.tok.line, x->column = r->ps.tok.column;
  if (r->t->array.n == NW_TEXT_ARRAYS)
    return nw_parse_limit(&r->ps, &r->ps.tok, "there are more than %d arrays", NW_TEXT_ARRAYS);
  if (!(x->name = nw_text_new_name(r, "the name of an array")) ||
      !nw_expect(&r->ps, ":", "and the type of its elements") || !read_element(r, x))
    return false;
  while (nw_accept(&r->ps, "["))
    if (!nw_text_indices(r, NW_TEXT_DIMS, "size", &x->ndim, dim)) return false;
  x->dim = nw_text_kept(r, x->ndim, dim);
  nw_vec_push(&r->t->array, x);
  return read_place(r, x);
}

bool nw_text_tables(nw_text_reader *r) {
  static const struct {
    const char *word;
    bool (*read)(nw_text_reader *r);
  } lines[] = {{"param", read_params}, {"sizes", read_sizes}, {"array", read_array}};
  for (int i = 0; i < NW_COUNT(lines); i++) {
    if (!nw_accept_word(&r->ps, lines[i].word)) continue;
    if (!lines[i].read(r)) return false;
    i = -1; // the next line may begin with any of the words
  }
  return true;
}
