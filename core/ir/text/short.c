// Makes the short form of blocks. Bindings are substituted and simplified. In long lines, indices are folded, which
// means that "..." replaces a part of their text.
#include "ir/text/short.h"
#include "ir/expr/known.h"
#include "ir/program/lift.h"
#include "ir/text/lines.h"
#include <stdlib.h>

enum {
  LONG_LINE = 200, // in a line with more columns, indices are folded
  // at first, only indices longer than this are folded; if the line is still too long, also indices longer than 56,
  // then also indices longer than 48, and so on
  LONGEST_FOLD = 64,
  SHORTEST_FOLD = 24, // indices of at most this length are never folded
  CUT_LINE = 320, // a line that is still longer than this is cut here
};

typedef struct place {
  const nw_program *p;
  const nw_stmt *s;
  nw_ranges r;
} place;

static void bound(nw_str *out, const place *at, const nw_expr *e) {
  nw_expr_print(out, nw_simplify(&at->r, nw_block_bound(at->p, at->s, nw_as_read(at->p->pool, e))));
}

static void element(nw_str *out, const place *at, const nw_block_target *t) {
  nw_str_fmt(out, "%s[", t->buffer);
  for (int i = 0; i < t->n; i++) {
    if (i) nw_str_add(out, ", ");
    bound(out, at, t->index[i]);
  }
  nw_str_add(out, "]");
}

// ---- folding

// `longest`: an index of at most this length is not folded.
// Returns the end of the index that starts at s. The index ends at the first comma, semicolon or closing bracket that
// is not inside inner brackets.
static const char *index_end(const char *s) {
  int depth = 0;
  for (; *s; s++) {
    if (depth == 0 && strchr(",;])", *s)) return s;
    if (*s == '(' || *s == '[') depth++;
    if (*s == ')' || *s == ']') depth--;
  }
  return s;
}

static bool is_separator(char c) { return c == ',' || c == ';'; }

// Returns the bracket that closes the list that starts at s, just after its opening bracket.
static const char *list_end(const char *s) {
  const char *end = index_end(s);
  while (is_separator(*end)) end = index_end(end + 1);
  return end;
}

static bool is_sum_sign(const char *s) { return !strncmp(s, " + ", 3) || !strncmp(s, " - ", 3); }

// Returns the position after the first term and the following sign, as in `32*i_o + `. Returns NULL if there is no
// sign, or if there is a bracket before the sign.
static const char *first_term(const char *s, const char *end) {
  for (; s + 3 < end && !strchr("([", *s); s++)
    if (is_sum_sign(s)) return s + 3;
  return NULL;
}

// Returns the position of the constant at the end of a sum, such as ` - 1`. If there is no constant, returns the end of
// the sum.
static const char *last_constant(const char *s, const char *end) {
  const char *at = end;
  while (at > s && at[-1] >= '0' && at[-1] <= '9') at--;
  return at < end && at - s > 3 && is_sum_sign(at - 3) ? at - 3 : end;
}

// Writes a sum as, for example, `32*i_o + ... - 1`. The first term and the constant are kept: the term identifies the
// sum, and neighbouring accesses differ in the constant. An index that is no such sum is kept, because nothing would be left.
static void fold_sum(nw_str *out, const char *s, const char *end) {
  const char *term = first_term(s, end), *constant = last_constant(s, end);
  if (!term || term >= constant) return nw_str_addn(out, s, (size_t)(end - s));
  nw_str_addn(out, s, (size_t)(term - s));
  nw_str_add(out, "...");
  nw_str_addn(out, constant, (size_t)(end - constant));
}

static const char *fold_list(nw_str *out, const char *s, size_t longest);

// Folds one index. If it is a call such as `max(e, 0)`, folds the arguments.
static void fold_index(nw_str *out, const char *s, const char *end, size_t longest) {
  size_t n = (size_t)(end - s), open = strcspn(s, "([+");
  bool call = open > 0 && open < n && s[open] == '(' && s[open - 1] >= 'a' && list_end(s + open + 1) + 1 == end;
  if (n <= longest) {
    nw_str_addn(out, s, n);
  } else if (call) {
    nw_str_addn(out, s, open + 1);
    fold_list(out, s + open + 1, longest);
    nw_str_add(out, ")");
  } else {
    fold_sum(out, s, end);
  }
}

// Folds the list that starts at s, just after its opening bracket. Returns the closing bracket.
static const char *fold_list(nw_str *out, const char *s, size_t longest) {
  for (;;) {
    const char *end = index_end(s);
    fold_index(out, s, end, longest);
    if (!is_separator(*end)) return end;
    nw_str_addn(out, end, 2);
    s = end + 2;
  }
}

static char *fold_indices(const char *line, size_t longest) {
  nw_str out = {0};
  for (const char *s = line; *s;) {
    nw_str_addn(&out, s, 1);
    s = *s == '[' ? fold_list(&out, s + 1, longest) : s + 1;
  }
  return nw_str_take(&out);
}

// Folds indices until the line is short enough, and starts with the longest indices. A line that is still longer than
// CUT_LINE is cut.
static char *fit(nw_str *out) {
  char *whole = nw_str_take(out), *line = whole;
  for (size_t longest = LONGEST_FOLD; strlen(line) > LONG_LINE && longest >= SHORTEST_FOLD; longest -= 8) {
    if (line != whole) free(line);
    line = fold_indices(whole, longest);
  }
  if (line != whole) free(whole);
  if (strlen(line) > CUT_LINE) memcpy(line + CUT_LINE - 4, " ...", 5);
  return line;
}

// ---- the lines of a block

// Prints all targets of a joint reduction in one line: `V[i], I[i] argmin= A[i, k], k`.
static void joint_line(nw_str *out, const place *at) {
  if (at->s->block.atomic) nw_str_add(out, "atomic ");
  for (int i = 0; i < at->s->block.ntargets; i++) {
    if (i) nw_str_add(out, ", ");
    element(out, at, &at->s->block.target[i]);
  }
  nw_str_fmt(out, " %s ", nw_combiner_assign(at->p, at->s->block.combiner));
  for (int i = 0; i < at->s->block.ntargets; i++) {
    if (i) nw_str_add(out, ", ");
    bound(out, at, at->s->block.target[i].value);
  }
}

static void target_line(nw_str *out, const place *at, int i) {
  const nw_block_target *t = &at->s->block.target[i];
  if (t->stream) nw_str_add(out, "stream ");
  if (at->s->block.atomic) nw_str_add(out, "atomic ");
  if (at->s->block.async) nw_str_add(out, "async ");
  element(out, at, t);
  nw_str_fmt(out, " %s ", nw_combiner_assign(at->p, at->s->block.combiner));
  bound(out, at, t->value);
}

static bool is_joint(const nw_stmt *s) { return nw_combiner_is_joint(s->block.combiner); }

static void lines_of(nw_short_block *b, const place *at) {
  b->n = is_joint(at->s) ? 1 : at->s->block.ntargets;
  b->line = nw_xcalloc((size_t)b->n, sizeof *b->line);
  for (int i = 0; i < b->n; i++) {
    nw_str out = {0};
    if (is_joint(at->s))
      joint_line(&out, at);
    else
      target_line(&out, at, i);
    b->line[i] = fit(&out);
  }
}

// ---- comments

// Writes an initial value without its dtype, for example 0 or inf.
static void start(nw_str *out, const place *at, const nw_expr *init) {
  if (init->op == NW_OP_FLOAT)
    nw_str_fmt(out, "%g", init->f);
  else if (init->op == NW_OP_INT)
    nw_str_fmt(out, "%lld", (long long)init->i);
  else
    bound(out, at, init);
}

// Writes where the init runs, as in `from 0 at the first k_o, k_i`. The loops k_o and k_i run over the reduction.
static void init_comment(nw_str *out, const place *at, const nw_path *path) {
  const char *before = " at the first ";
  nw_str_add(out, "from ");
  for (int i = 0; i < at->s->block.ntargets; i++) {
    if (i) nw_str_add(out, ", ");
    start(out, at, at->s->block.target[i].init);
  }
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_LOOP && nw_binds_reduce(at->s, path->at[i]->loop.var->name)) {
      nw_str_fmt(out, "%s%s", before, path->at[i]->loop.var->name);
      before = ", ";
    }
}

static bool named_by_target(const nw_stmt *s) {
  for (int i = 0; i < s->block.ntargets; i++)
    if (!strcmp(s->block.target[i].buffer, s->block.name)) return true;
  return false;
}

static void comment_of(nw_short_block *b, const place *at, const nw_path *path) {
  nw_str out = {0};
  if (!named_by_target(at->s)) nw_str_add(&out, at->s->block.name);
  if (at->s->block.has_init && nw_init_starts(at->p, at->s)) {
    if (out.n) nw_str_add(&out, ": ");
    init_comment(&out, at, path);
  }
  b->comment = nw_str_take(&out);
}

static void where_of(nw_short_block *b, const place *at) {
  if (!at->s->block.where) return;
  const nw_expr *e = nw_simplify(&at->r, at->s->block.where);
  nw_str out = {0};
  if (nw_is_const(e, 1)) return;
  nw_expr_print(&out, e);
  nw_str_add(&out, ":");
  b->where = fit(&out);
}

void nw_short_block_of(nw_short_block *b, const nw_program *p, const nw_path *path) {
  place at = {.p = p, .s = path->at[path->n - 1]};
  *b = (nw_short_block){0};
  nw_ranges_of(&at.r, p, path);
  where_of(b, &at);
  if (at.s->block.where) nw_ranges_fact(&at.r, at.s->block.where);
  lines_of(b, &at);
  comment_of(b, &at, path);
  nw_ranges_free(&at.r);
}

void nw_short_block_free(nw_short_block *b) {
  for (int i = 0; i < b->n; i++) free(b->line[i]);
  free(b->line);
  free(b->where);
  free(b->comment);
}
