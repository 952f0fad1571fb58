// Explains which steps made a line of the program. A line consists of *pieces*, such as the range of a loop, its mark,
// or a binding. Each step makes a new version of the program. For each piece, the explanation names the step that made
// the piece. If this step replaced an older piece, the explanation also names the step that made the older piece.
#include "check/check.h"
#include "ir/text/lines.h"
#include <stdlib.h>

typedef struct history {
  nw_sched *s;
  int n;
  int *version; // the versions from the naive program to the current one
} history;

static history history_of(nw_sched *s) {
  history h = {.s = s, .n = 1};
  int v = nw_sched_current(s);
  for (int at = v; at > 0; at = nw_sched_parent(s, at)) h.n++;
  h.version = nw_xcalloc((size_t)h.n, sizeof *h.version);
  for (int i = h.n - 1; i > 0; i--, v = nw_sched_parent(s, v)) h.version[i] = v;
  return h;
}

static const nw_program *program_at(const history *h, int i) { return nw_sched_version(h->s, h->version[i]); }

// ---- a statement through the versions

static nw_stmt *with_id(const nw_program *p, int id) {
  nw_path path;
  return nw_find(p, id, &path) ? path.at[path.n - 1] : NULL;
}

typedef struct origin {
  const nw_stmt *of, *found;
} origin;

static bool see_origin(void *env, nw_stmt *s) {
  origin *o = env;
  if (s->kind == NW_BLOCK && !strcmp(s->block.origin, o->of->block.origin) &&
      s->block.init_part == o->of->block.init_part)
    o->found = s;
  return !o->found;
}

// Returns the statement of an older version p that corresponds to s: the same statement, or the block from which s was
// copied.
static const nw_stmt *earlier(const nw_program *p, const nw_stmt *s) {
  const nw_stmt *same = with_id(p, s->id);
  if (same || s->kind != NW_BLOCK) return same;
  origin o = {.of = s};
  nw_walk_from(p->root, see_origin, &o);
  return o.found;
}

// ---- the pieces of a statement

// Returns the text of piece number `which` of a statement, on the heap. Returns NULL if the statement has fewer pieces.
typedef char *(*piece)(const nw_stmt *s, int which);

static char *shown(const nw_expr *e) { return nw_expr_show(e); }

// Returns the name and the range of a loop, which are one piece.
static char *loop_range(const nw_stmt *s, int which) {
  if (s->kind != NW_LOOP || which) return NULL;
  char *begin = shown(s->loop.begin), *extent = shown(s->loop.extent);
  nw_str b = {0};
  nw_str_fmt(&b, "loop %s, %s iterations", s->loop.var->name, extent);
  if (strcmp(begin, "0")) nw_str_fmt(&b, " from %s", begin);
  free(begin);
  free(extent);
  return nw_str_take(&b);
}

static char *loop_mark(const nw_stmt *s, int which) {
  if (s->kind != NW_LOOP || which || !s->loop.mark) return NULL;
  return nw_xstrdup(nw_loop_kind_name(s->loop.mark));
}

static const nw_expr *conjunct(const nw_expr *e, int *which) {
  if (!e) return NULL;
  if (e->op != NW_OP_AND) return (*which)-- == 0 ? e : NULL;
  const nw_expr *left = conjunct(e->arg[0], which);
  return left ? left : conjunct(e->arg[1], which);
}

static char *guard(const nw_stmt *s, int which) {
  const nw_expr *all = s->kind == NW_BLOCK ? s->block.where : s->kind == NW_GUARD ? s->guard.cond : NULL;
  const nw_expr *e = conjunct(all, &which);
  char *text = e ? shown(e) : NULL;
  nw_str b = {0};
  if (!text) return NULL;
  nw_str_fmt(&b, "guard %s", text);
  free(text);
  return nw_str_take(&b);
}

static char *binding(const nw_stmt *s, int which) {
  if (s->kind != NW_BLOCK || which >= s->block.nvars) return NULL;
  const nw_block_var *v = &s->block.var[which];
  char *bind = shown(v->bind);
  nw_str b = {0};
  nw_str_fmt(&b, "%s = %s", v->var->name, bind);
  free(bind);
  return nw_str_take(&b);
}

static char *body(const nw_stmt *s, int which) {
  if (s->kind != NW_BLOCK || which >= s->block.ntargets) return NULL;
  nw_str b = {0};
  nw_str_fmt(&b, "%s into %s", s->block.name, s->block.target[which].buffer);
  return nw_str_take(&b);
}

// The values of a stage whose rewrite was tested, but not proved.
static char *tested_values(const nw_stmt *s, int which) {
  if (s->kind != NW_BLOCK || which || !s->tested) return NULL;
  nw_str b = {0};
  nw_str_fmt(&b, "the values of %s", s->block.name);
  return nw_str_take(&b);
}

static char *box(const nw_stmt *s, int which) {
  if (s->kind != NW_ALLOC || which) return NULL;
  nw_str b = {0};
  nw_str_fmt(&b, "storage %s[", s->alloc.buffer);
  for (int d = 0; d < s->alloc.n; d++) {
    char *extent = shown(s->alloc.extent[d]);
    nw_str_fmt(&b, "%s%s", d ? ", " : "", extent);
    free(extent);
  }
  nw_str_add(&b, "]");
  return nw_str_take(&b);
}

static const piece pieces[] = {loop_range, loop_mark, box, guard, body, tested_values, binding};

// ---- the first version of a piece

static bool has(const nw_stmt *s, piece f, const char *text) {
  for (int which = 0;; which++) {
    char *own = f(s, which);
    if (!own) return false;
    bool same = !strcmp(own, text);
    free(own);
    if (same) return true;
  }
}

// Returns the oldest version v such that all versions v..i have the piece. Sets *s to the statement in version v.
static int since(const history *h, int i, const nw_stmt **s, piece f, const char *text) {
  for (const nw_stmt *old; i > 0 && (old = earlier(program_at(h, i - 1), *s)) && has(old, f, text); i--) *s = old;
  return i;
}

// Returns the n-th of the pieces of `one` that `other` does not have, as a heap string.
static char *nth_only(const nw_stmt *one, const nw_stmt *other, piece f, int n) {
  char *text;
  for (int which = 0; (text = f(one, which)); which++) {
    if (!has(other, f, text) && n-- == 0) return text;
    free(text);
  }
  return NULL;
}

// Returns the piece of `old` that the piece `text` of `new` replaced, as a heap string. Returns NULL if `text` replaced
// no piece.
static char *before_it(const nw_stmt *old, const nw_stmt *new, piece f, const char *text) {
  char *mine = NULL;
  for (int n = 0; old && (mine = nth_only(new, old, f, n)); n++) {
    bool found = !strcmp(mine, text);
    free(mine);
    if (found) return nth_only(old, new, f, n);
  }
  return NULL;
}

static void put_step(nw_str *b, const history *h, int i) {
  const char *unsafe = i && program_at(h, i)->unsafe > program_at(h, i - 1)->unsafe ? ", not judged" : "";
  const char *tested = i && program_at(h, i)->tested > program_at(h, i - 1)->tested ? ", tested, not proved" : "";
  char *text = i ? nw_sched_step_text(h->s, h->version[i]) : NULL;
  if (i)
    nw_str_fmt(b, "%s (step %d%s%s)", text, h->version[i], unsafe, tested);
  else
    nw_str_add(b, "the computation itself");
  free(text);
}

// Writes the step that made the current piece, and the steps that made the older pieces that were replaced.
static void put_reason(nw_str *b, const history *h, const nw_stmt *s, piece f, const char *text) {
  int i = since(h, h->n - 1, &s, f, text);
  bool own = f == guard || f == loop_mark || f == box || f == loop_range;
  if (!own && !i) return; // a body or a binding that the user wrote is not shown
  nw_str_fmt(b, "%s: ", text);
  put_step(b, h, i);
  for (char *was = NULL, *next; i > 0; was = next) {
    const nw_stmt *old = earlier(program_at(h, i - 1), s);
    next = before_it(old, s, f, was ? was : text);
    free(was);
    if (!next) break;
    s = old;
    i = since(h, i - 1, &s, f, next);
    if (i > 0 || f == loop_range) {
      nw_str_fmt(b, "; from %s, ", next);
      put_step(b, h, i);
    }
    if (i == 0) free(next);
  }
  nw_str_add(b, "\n");
}

static void put_statement(nw_str *b, const history *h, const nw_stmt *s) {
  for (int i = 0; i < NW_COUNT(pieces); i++)
    for (int which = 0;; which++) {
      char *text = pieces[i](s, which);
      if (!text) break;
      put_reason(b, h, s, pieces[i], text);
      free(text);
    }
  if (b->n) return;
  nw_str_add(b, "unchanged since ");
  put_step(b, h, 0);
  nw_str_add(b, "\n");
}

// ---- lowered lines

// If the statement is a loop, explains the loop with the same name in the scheduled program. Otherwise names the last
// step that changed the statement.
static void put_lowered(nw_str *b, const history *h, const nw_program *lowered, const nw_line *line) {
  const nw_stmt *s = with_id(lowered, line->stmt), *of = NULL;
  if (s && s->kind == NW_LOOP) of = nw_find_loop(program_at(h, h->n - 1), s->loop.var->name);
  if (of) return put_statement(b, h, of);
  int i = 0;
  while (i + 1 < h->n && h->version[i] != line->step) i++;
  nw_str_add(b, s && s->kind == NW_LOOP ? "made by lowering, for: " : "");
  put_step(b, h, h->version[i] == line->step ? i : 0);
  nw_str_add(b, "\n");
}

static char *why_of(nw_sched *s, const nw_program *p, int line, bool lowered) {
  nw_lines lines = {0};
  nw_str b = {0};
  nw_program_lines(&lines, p, &(nw_show_opts){.style = NW_TEXT_PLAIN});
  bool ok = line >= 1 && line <= lines.n;
  if (!ok) nw_fail(s->ctx, NW_ERANGE, NULL, "there is no such line; lines are 1 to %d", lines.n);
  history h = history_of(s);
  const nw_line *l = ok ? &lines.line[line - 1] : NULL;
  const nw_stmt *stmt = ok && !lowered ? with_id(p, l->stmt) : NULL;
  if (stmt)
    put_statement(&b, &h, stmt);
  else if (ok && lowered && l->stmt)
    put_lowered(&b, &h, p, l);
  else if (ok)
    nw_str_add(&b, "this line belongs to the whole program\n");
  free(h.version);
  nw_lines_free(&lines);
  return ok ? nw_str_take(&b) : NULL;
}

char *nw_sched_why(const nw_sched *sched, int line, bool lowered) {
  nw_sched *s = (nw_sched *)sched;
  if (!s || nw_error(s->ctx)) return NULL;
  if (!lowered) return why_of(s, nw_sched_program(s), line, false);
  nw_exec *e = nw_lower(nw_sched_program(s), NULL);
  char *text = e ? why_of(s, e->shown, line, true) : NULL;
  nw_exec_release(e);
  return text;
}
