// Finds loops and stages by name and by id, and reports names and ids that no longer exist.
#include "ir/text/lines.h"
#include "sched/empty.h"
#include "sched/history.h"
#include "sched/tree.h"
#include <stdlib.h>

// ---- near names

static int min3(int a, int b, int c) {
  int m = a < b ? a : b;
  return m < c ? m : c;
}

// Returns the edit distance of two names, or 64 if a name has more than 63 characters.
static int distance(const char *a, const char *b) {
  enum { CAP = 64 };
  int row[CAP], na = (int)strlen(a), nb = (int)strlen(b);
  if (na >= CAP || nb >= CAP) return CAP;
  for (int j = 0; j <= nb; j++) row[j] = j;
  for (int i = 1; i <= na; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= nb; j++) {
      int up = row[j];
      row[j] = min3(up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = up;
    }
  }
  return row[nb];
}

typedef struct names_seen {
  nw_stmt_kind kind;
  const char *want, *best;
  int best_distance, n;
  nw_str list;
} names_seen;

static void add_name(names_seen *x, const char *name) {
  if (x->n++ < 24) nw_str_fmt(&x->list, "%s%s", x->list.n ? ", " : "", name);
  int d = distance(x->want, name);
  if (d < x->best_distance) x->best_distance = d, x->best = name;
}

static bool see_name(void *env, nw_stmt *s) {
  names_seen *x = env;
  if (s->kind == x->kind) add_name(x, nw_tree_what(s));
  return true;
}

static names_seen names_like(const nw_program *p, nw_stmt_kind kind, const char *want) {
  int letters = (int)strlen(want), close = letters < 3 ? letters - 1 : letters / 2 + 1;
  names_seen x = {.kind = kind, .want = want, .best_distance = close > 3 ? 3 : close + 1};
  nw_walk_from(p->root, see_name, &x);
  return x;
}

static void fail_unknown(nw_ctx *c, const nw_program *p, nw_stmt_kind kind, const char *want) {
  const char *what = kind == NW_LOOP ? "loop" : kind == NW_UNIT ? "unit" : "stage";
  names_seen x = names_like(p, kind, want);
  nw_str hint = {0};
  if (x.best) nw_str_fmt(&hint, "did you mean \"%s\"?", x.best);
  nw_fail(c, NW_EINVAL, hint.s, "no %s \"%s\"; %ss are %s%s", what, want, what, x.list.s ? x.list.s : "none",
          x.n > 24 ? ", ..." : "");
  nw_str_free(&hint);
  nw_str_free(&x.list);
}

// ---- loops that a step has replaced

// Returns the version whose step replaced the loop, or NULL if there is none. Sets *out to the record of the loop.
static const nw_node *find_gone(const nw_sched *s, int id, const nw_gone **out) {
  for (const nw_node *node = nw_sched_head(s); node && node->parent >= 0; node = nw_sched_node(s, node->parent))
    for (int i = 0; i < node->ngone; i++)
      if (node->gone[i].id == id) return *out = &node->gone[i], node;
  return NULL;
}

static const char *name_in(const nw_program *p, int id) {
  nw_path path;
  return nw_find(p, id, &path) && path.at[path.n - 1]->kind == NW_LOOP ? path.at[path.n - 1]->loop.var->name : NULL;
}

// Returns the id of a replaced loop with this former name, or 0 if there is none. If there are several, returns the id
// of the loop that was replaced last.
static int id_of_gone(const nw_sched *s, const char *name) {
  for (const nw_node *node = nw_sched_head(s); node->parent >= 0; node = nw_sched_node(s, node->parent)) {
    const nw_program *before = nw_sched_node(s, node->parent)->program;
    for (int i = 0; i < node->ngone; i++) {
      const char *old = name_in(before, node->gone[i].id);
      if (old && !strcmp(old, name)) return node->gone[i].id;
    }
  }
  return 0;
}

// Writes what happened to a replaced loop, and to the loops that replaced it. For example: "i was split into i_o, i_i
// by step 1; i_o was fused into i_o_j by step 3".
static void tell_gone(const nw_sched *s, nw_str *b, int id, int depth) {
  const nw_gone *g;
  const nw_node *node = find_gone(s, id, &g);
  if (!node || depth > 8) return;
  const char *name = name_in(nw_sched_node(s, node->parent)->program, id), *before = " into ";
  nw_str_fmt(b, "%s%s was %s", b->n ? "; " : "", name ? name : "it", g->how);
  for (int i = 0; i < g->n; i++) {
    const char *into = name_in(node->program, g->into[i]);
    if (into) nw_str_fmt(b, "%s%s", before, into), before = ", ";
  }
  nw_str_fmt(b, " by step %d", node->number);
  for (int i = 0; i < g->n; i++)
    if (!nw_find(nw_sched_head(s)->program, g->into[i], NULL)) tell_gone(s, b, g->into[i], depth + 1);
}

// Returns the first version that has this loop, or NULL if there is none. Sets *name to the name of the loop in this
// version.
static const nw_node *other_branch(const nw_sched *s, int id, const char **name) {
  for (int i = 0; i < s->version.n; i++) {
    *name = name_in(nw_sched_node(s, i)->program, id);
    if (*name) return nw_sched_node(s, i);
  }
  return NULL;
}

static void fail_gone(nw_sched *s, int id) {
  nw_str b = {0};
  const char *name;
  tell_gone(s, &b, id, 0);
  const nw_node *node = b.n ? NULL : other_branch(s, id, &name);
  if (b.n)
    nw_fail(s->ctx, NW_ESTALE, NULL, "%s", b.s);
  else if (node)
    nw_fail(s->ctx, NW_ESTALE, "use s:redo() or s:checkout() to go back to it",
            "%s was made by %s, which is not part of the current version", name,
            node->text ? node->text : "the naive program");
  else
    nw_fail(s->ctx, NW_ESTALE, NULL, "this handle is not a loop of this schedule");
  nw_str_free(&b);
}

// ---- pieces by number
//
// A cut in two makes i.head and i.rest, a cut in more pieces i.1, i.2, ... So that a script can try any number of cuts,
// the pieces of a cut in two can also be called i.1 and i.2.

static const char *const numbered[] = {".1", ".2"}, *const worded[] = {".head", ".rest"};

// True if a part of a path begins here: ".1" at the end, or before another part.
static bool is_part(const char *at, const char *part) {
  size_t n = strlen(part);
  return !strncmp(at, part, n) && (!at[n] || at[n] == '.' || at[n] == '/');
}

// Calls f for each way to write words instead of numbers in the name, until f returns true. `done` is the part of the
// name that is written already.
static bool each_wording(const char *rest, nw_str *done, bool changed, bool (*f)(void *env, const char *name),
                         void *env) {
  size_t start = done->n;
  for (; *rest; rest++) {
    for (int i = 0; i < NW_COUNT(numbered); i++) {
      size_t here = done->n;
      if (!is_part(rest, numbered[i])) continue;
      nw_str_add(done, worded[i]);
      if (each_wording(rest + strlen(numbered[i]), done, true, f, env)) return true;
      done->n = here;
    }
    nw_str_addn(done, rest, 1);
  }
  bool found = changed && f(env, done->s);
  if (!found) done->n = start;
  return found;
}

typedef struct wanted {
  const nw_sched *s;
  const nw_program *p;
  int id;
  nw_stmt *stage;
} wanted;

static bool is_loop(void *env, const char *name) {
  wanted *w = env;
  const nw_stmt *loop = nw_find_loop(w->p, name);
  w->id = loop ? loop->id : nw_empty_loop(w->s, name);
  return w->id != 0;
}

static bool is_stage(void *env, const char *name) {
  wanted *w = env;
  return (w->stage = nw_find_block(w->p, name)) != NULL;
}

static bool worded_as(wanted *w, const char *name, bool (*f)(void *env, const char *name)) {
  nw_str done = {0};
  bool found = each_wording(name, &done, false, f, w);
  nw_str_free(&done);
  return found;
}

// ---- public functions

// Returns the outermost loop in the unit with this name. Returns NULL if there is no such unit, or if it holds several
// statements.
static const nw_stmt *loop_of_unit(const nw_program *p, const char *name) {
  const nw_stmt *s = nw_find_unit(p, name);
  while (s && s->kind != NW_LOOP) s = s->nkids == 1 ? s->kid[0] : NULL;
  return s;
}

int nw_sched_loop(nw_sched *s, const char *name) {
  if (!s || !name) return 0;
  const nw_program *p = nw_sched_program(s);
  const nw_stmt *loop = nw_find_loop(p, name);
  if (!loop) loop = loop_of_unit(p, name);
  if (loop) return loop->id;
  int id = nw_empty_loop(s, name);
  if (id) return id;
  wanted w = {s, p, 0, NULL};
  if (worded_as(&w, name, is_loop)) return w.id;
  id = id_of_gone(s, name);
  if (id)
    fail_gone(s, id);
  else
    fail_unknown(s->ctx, p, NW_LOOP, name);
  return 0;
}

// The last part of the path of a loop: "k" for i.head/j.1/k.
static const char *own_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

typedef struct inner {
  const char *want;
  int n, id;
  nw_str list;
} inner;

static bool see_inner(void *env, nw_stmt *s) {
  inner *x = env;
  if (s->kind != NW_LOOP) return true;
  bool same = !strcmp(own_name(s->loop.var->name), x->want);
  if (same) x->n++, x->id = s->id;
  nw_str_fmt(&x->list, "%s%s", x->list.n ? ", " : "", own_name(s->loop.var->name));
  return true;
}

int nw_sched_loop_in(nw_sched *s, int id, const char *name) {
  nw_path path;
  const char *around = s && name ? nw_sched_loop_name(s, id) : NULL;
  if (!around) return 0;
  if (!nw_find(nw_sched_program(s), id, &path)) { // an empty piece
    nw_str whole = {0};
    nw_str_fmt(&whole, "%s/%s", around, name);
    id = nw_sched_loop(s, whole.s);
    nw_str_free(&whole);
    return id;
  }
  inner x = {.want = name};
  const nw_stmt *loop = path.at[path.n - 1];
  for (int i = 0; i < loop->nkids; i++) nw_walk_from(loop->kid[i], see_inner, &x);
  if (x.n > 1)
    nw_fail(s->ctx, NW_EINVAL, "give the whole name to the step", "%d loops in %s are named \"%s\"", x.n, around, name);
  else if (!x.n)
    nw_fail(s->ctx, NW_EINVAL, NULL, "no loop \"%s\" in %s; the loops in it are %s", name, around,
            x.list.s ? x.list.s : "none");
  nw_str_free(&x.list);
  return x.n == 1 ? x.id : 0;
}

const char *nw_sched_loop_name(nw_sched *s, int id) {
  if (!s) return NULL;
  const char *name = name_in(nw_sched_program(s), id);
  if (!name) name = nw_empty_name(s, id);
  if (!name) fail_gone(s, id);
  return name;
}

static char *bound_of(nw_sched *s, int id, const nw_expr *(*bound)(const nw_stmt *)) {
  nw_path path;
  if (!nw_sched_loop_name(s, id)) return NULL;
  return nw_find(nw_sched_program(s), id, &path) ? nw_expr_show(bound(path.at[path.n - 1])) : nw_xstrdup("0");
}

char *nw_sched_loop_header(nw_sched *s, int id) {
  nw_path path;
  const nw_program *p = nw_sched_program(s);
  return nw_find(p, id, &path) ? nw_loop_header(p, path.at[path.n - 1]) : NULL;
}

static const nw_expr *begin_of(const nw_stmt *loop) { return loop->loop.begin; }
static const nw_expr *extent_of(const nw_stmt *loop) { return loop->loop.extent; }
char *nw_sched_loop_begin(nw_sched *s, int id) { return bound_of(s, id, begin_of); }
char *nw_sched_loop_extent(nw_sched *s, int id) { return bound_of(s, id, extent_of); }

typedef struct listing {
  int n, max;
  int *ids;
  const char **names;
} listing;

static bool list_stmt(void *env, nw_stmt *s) {
  listing *l = env;
  if (l->ids && s->kind == NW_LOOP) {
    if (l->n < l->max) l->ids[l->n] = s->id;
    l->n++;
  }
  if (l->names && s->kind == NW_BLOCK) {
    if (l->n < l->max) l->names[l->n] = s->block.name;
    l->n++;
  }
  return true;
}

static void forward(const nw_sched *s, int id, int depth, listing *l) {
  const nw_gone *g;
  if (name_in(nw_sched_program(s), id)) {
    if (l->n < l->max) l->ids[l->n++] = id;
  } else if (depth < NW_MAX_DEPTH && find_gone(s, id, &g)) {
    for (int i = 0; i < g->n; i++) forward(s, g->into[i], depth + 1, l);
  }
}

int nw_sched_forward(const nw_sched *s, int id, int max, int *ids) {
  listing l = {.max = max, .ids = ids};
  forward(s, id, 0, &l);
  return l.n;
}

int nw_sched_stages(nw_sched *s, int max, const char **names) {
  listing l = {.max = max, .names = names};
  if (s) nw_walk_from(nw_sched_program(s)->root, list_stmt, &l);
  return l.n < max ? l.n : max;
}

int nw_sched_loops(nw_sched *s, const char *stage, int max, int *ids) {
  listing l = {.max = max, .ids = ids};
  if (!s) return 0;
  const nw_program *p = nw_sched_program(s);
  if (!stage) {
    nw_walk_from(p->root, list_stmt, &l);
    return l.n < max ? l.n : max;
  }
  const nw_stmt *unit = nw_find_unit(p, stage), *block = unit ? unit : nw_stage_block(p, stage);
  nw_path path;
  if (!block || !nw_find(p, block->id, &path)) {
    fail_unknown(s->ctx, p, NW_BLOCK, stage);
    return 0;
  }
  for (int i = 0; i < path.n; i++) list_stmt(&l, path.at[i]);
  return l.n < max ? l.n : max;
}

// ---- stages

typedef struct writer {
  const char *buffer;
  nw_stmt *found;
} writer;

static bool see_writer(void *env, nw_stmt *s) {
  writer *w = env;
  if (s->kind != NW_BLOCK || !nw_block_writes(s, w->buffer)) return true;
  bool init = s->block.init_part, had_init = w->found && w->found->block.init_part;
  if (!w->found || (init == had_init ? s->id < w->found->id : had_init)) w->found = s;
  return true;
}

// Returns the block with this name. If there is none, returns a block that writes the buffer with this name, or NULL.
// If several blocks write the buffer, the result is the original block, which has the smallest id. An init is returned
// only if no other block writes the buffer.
nw_stmt *nw_stage_block(const nw_program *p, const char *name) {
  nw_stmt *block = nw_find_block(p, name);
  if (block) return block;
  writer w = {.buffer = name};
  nw_walk_from(p->root, see_writer, &w);
  wanted piece = {NULL, p, 0, NULL};
  if (!w.found) worded_as(&piece, name, is_stage);
  return w.found ? w.found : piece.stage;
}

void nw_fail_unknown_unit(nw_ctx *c, const nw_program *p, const char *name) { fail_unknown(c, p, NW_UNIT, name); }

void nw_fail_unknown_stage(nw_ctx *c, const nw_program *p, const char *name) { fail_unknown(c, p, NW_BLOCK, name); }
