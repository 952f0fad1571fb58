// Keeps the tree of versions: adds versions, moves between them and names them.
#include "sched/history.h"
#include "poly/poly.h"
#include "sched/advice/refused.h"
#include "sched/unread.h"
#include <stdlib.h>

nw_node *nw_sched_node(const nw_sched *s, int version) {
  return version >= 0 && version < s->version.n ? s->version.at[version] : NULL;
}

nw_node *nw_sched_head(const nw_sched *s) { return nw_sched_node(s, s->current); }

static nw_node *new_node(const nw_sched *s, nw_program *p, int parent) {
  nw_node *node = NW_NEW(s->arena, nw_node);
  node->number = s->version.n;
  node->parent = parent;
  node->last_child = -1;
  node->program = p;
  return node;
}

// Adds a version to the schedule. The schedule then owns the reference to the program. The operations after this call
// must not fail.
static void add_node(nw_sched *s, nw_node *node) {
  nw_vec_push(&s->version, node);
  nw_program_keep(node->program);
  if (node->program->next_id > s->next_id) s->next_id = node->program->next_id;
}

nw_sched *nw_sched_new(nw_ctx *c, int n, nw_tensor *const *outputs) {
  return nw_sched_new_for(c, nw_target_host(c), n, outputs);
}

nw_sched *nw_sched_new_for(nw_ctx *c, nw_target *t, int n, nw_tensor *const *outputs) {
  nw_program *p = nw_te_program(c, n, outputs);
  if (!p) return NULL;
  nw_program_aim(p, t);
  char *note;
  if (!(p = nw_first_drop_unread(p, &note))) return NULL;
  if (!nw_judge_first(p)) {
    free(note);
    nw_program_release(p);
    return NULL;
  }
  nw_sched *s = nw_xcalloc(1, sizeof *s);
  s->refs = 1;
  s->ctx = c;
  s->pool = nw_pool_retain(p->pool);
  s->arena = nw_arena_new();
  s->noutputs = n;
  s->output = NW_NEW_N(s->arena, nw_tensor *, n);
  for (int i = 0; i < n; i++) s->output[i] = nw_tensor_retain(outputs[i]);
  nw_node *first = new_node(s, p, -1);
  first->notes = note ? nw_arena_strdup(s->arena, note) : NULL;
  free(note);
  add_node(s, first);
  return s;
}

nw_sched *nw_sched_anew(const nw_sched *s, nw_target *t) {
  return s ? nw_sched_new_for(s->ctx, t, s->noutputs, s->output) : NULL;
}

nw_sched *nw_sched_retain(nw_sched *s) {
  if (s) s->refs++;
  return s;
}

void nw_sched_release(nw_sched *s) {
  if (!s || --s->refs > 0) return;
  nw_refused_forget(s);
  for (int i = 0; i < s->version.n; i++) nw_program_release(nw_sched_node(s, i)->program);
  for (int i = 0; i < s->noutputs; i++) nw_tensor_release(s->output[i]);
  nw_vec_free(&s->version);
  nw_arena_free(s->arena);
  nw_pool_release(s->pool);
  free(s);
}

const nw_program *nw_sched_program(const nw_sched *s) { return s ? nw_sched_head(s)->program : NULL; }

const nw_program *nw_sched_version(const nw_sched *s, int version) {
  nw_node *node = s ? nw_sched_node(s, version) : NULL;
  return node ? node->program : NULL;
}

nw_target *nw_sched_target(const nw_sched *s) {
  const nw_program *p = nw_sched_program(s);
  return p ? p->target : NULL;
}

int nw_sched_current(const nw_sched *s) { return s ? s->current : -1; }

int nw_sched_parent(const nw_sched *s, int version) {
  nw_node *node = s ? nw_sched_node(s, version) : NULL;
  return node && node->parent > 0 ? node->parent : 0;
}

char *nw_sched_name_of(const nw_sched *s, const nw_tensor *t) {
  return s && t ? nw_te_name_in(s->noutputs, s->output, t) : NULL;
}

// ---- a step

static char *keep(nw_sched *s, const char *text) { return nw_arena_strdup(s->arena, text ? text : ""); }

static void keep_gone(nw_sched *s, nw_node *node, const nw_step *st) {
  node->ngone = st->gone.n;
  node->gone = NW_NEW_N(s->arena, nw_gone, node->ngone + 1);
  for (int i = 0; i < node->ngone; i++) {
    const nw_gone *g = st->gone.at[i];
    node->gone[i] = (nw_gone){g->id, keep(s, g->how), g->n, NW_NEW_N(s->arena, int, g->n + 1)};
    memcpy(node->gone[i].into, g->into, (size_t)g->n * sizeof *g->into);
  }
}

static void keep_empty(nw_sched *s, nw_node *node, const nw_step *st) {
  node->nempty = st->empty.n;
  node->empty = NW_NEW_N(s->arena, int, node->nempty + 1);
  node->empty_name = NW_NEW_N(s->arena, char *, node->nempty + 1);
  for (int i = 0; i < node->nempty; i++) {
    node->empty[i] = (int)(intptr_t)st->empty.at[i];
    node->empty_name[i] = keep(s, st->empty_name.at[i]);
  }
}

void nw_sched_append(nw_sched *s, const nw_step *st, nw_program *p) {
  nw_node *node = new_node(s, p, s->current);
  node->primitive = st->primitive;
  node->unsafe = s->unsafe;
  node->tested = st->tested;
  node->args = nw_args_copy(s->arena, s->pool, st->primitive, st->resolved);
  char *text = nw_step_show(st->primitive, st->resolved);
  node->text = keep(s, text);
  free(text);
  node->notes = keep(s, st->notes.s);
  node->rounds = st->rounds || nw_sched_head(s)->rounds;
  node->stored = st->stored;
  keep_gone(s, node, st);
  keep_empty(s, node, st);
  add_node(s, node);
  nw_refused_forget(s);
  for (int i = 0; i < s->version.n - 1; i++)
    if (i != s->current) nw_judge_forget(nw_sched_node(s, i)->program);
  nw_sched_head(s)->last_child = node->number;
  s->current = node->number;
}

// ---- moving

bool nw_sched_undo(nw_sched *s) {
  if (!s) return false;
  nw_node *node = nw_sched_head(s);
  if (node->parent < 0) {
    nw_fail(s->ctx, NW_EINVAL, NULL, "nothing to undo: this is the naive program");
    return false;
  }
  nw_sched_node(s, node->parent)->last_child = s->current;
  s->current = node->parent;
  return true;
}

bool nw_sched_redo(nw_sched *s) {
  if (!s) return false;
  int child = nw_sched_head(s)->last_child;
  if (child < 0) {
    nw_fail(s->ctx, NW_EINVAL, NULL, "nothing to redo");
    return false;
  }
  s->current = child;
  return true;
}

static nw_node *named(const nw_sched *s, const char *name) {
  for (int i = 0; i < s->version.n; i++) {
    nw_node *node = nw_sched_node(s, i);
    if (node->name && !strcmp(node->name, name)) return node;
  }
  return NULL;
}

bool nw_sched_branch(nw_sched *s, const char *name) {
  if (!s || !name) return false;
  nw_node *node = named(s, name);
  if (node && node->number != s->current) {
    nw_fail(s->ctx, NW_EINVAL, "give a name that is not used yet", "\"%s\" already names version %d", name,
            node->number);
    return false;
  }
  if (!*name) {
    nw_fail(s->ctx, NW_EINVAL, "s:branch \"tiled\"", "branch: the name is empty; give one");
    return false;
  }
  if (!nw_text_ok(s->ctx, "branch: name", name, strlen(name), false)) return false;
  nw_sched_head(s)->name = keep(s, name);
  return true;
}

// Makes a version the current version. If the user then undoes steps, redo goes back along the path to this version.
void nw_sched_goto(nw_sched *s, int version) {
  if (!s || !nw_sched_node(s, version)) return;
  s->current = version;
  for (nw_node *node = nw_sched_node(s, version); node->parent >= 0; node = nw_sched_node(s, node->parent))
    nw_sched_node(s, node->parent)->last_child = node->number;
}

static void list_names(const nw_sched *s, nw_str *b) {
  for (int i = 0; i < s->version.n; i++)
    if (nw_sched_node(s, i)->name) nw_str_fmt(b, "%s%s", b->n ? ", " : "branches: ", nw_sched_node(s, i)->name);
  if (!b->n) nw_str_add(b, "no version has a name yet");
}

static bool is_number(const char *s) {
  size_t n = strspn(s, "0123456789");
  return n > 0 && n < 10 && !s[n];
}

// Finds a version by its name, or by its number as a string, such as "3". Returns the number of the version, or -1 on
// failure.
int nw_sched_named(const nw_sched *s, const char *name) {
  if (!s || !name) return -1;
  nw_node *node = named(s, name);
  if (!node && is_number(name)) node = nw_sched_node(s, atoi(name));
  if (node) return node->number;
  nw_str b = {0};
  list_names(s, &b);
  nw_fail(s->ctx, NW_EINVAL, b.s, "no branch \"%s\"", name);
  nw_str_free(&b);
  return -1;
}

bool nw_sched_checkout(nw_sched *s, const char *name) {
  int version = nw_sched_named(s, name);
  if (version < 0) return false;
  nw_sched_goto(s, version);
  return true;
}

// ---- the versions from the naive program to the current one

int nw_sched_line(const nw_sched *s, nw_node ***out) {
  int n = 0;
  for (nw_node *node = nw_sched_head(s); node->parent >= 0; node = nw_sched_node(s, node->parent)) n++;
  *out = nw_xcalloc((size_t)n + 1, sizeof **out);
  int i = n;
  for (nw_node *node = nw_sched_head(s); node->parent >= 0; node = nw_sched_node(s, node->parent)) (*out)[--i] = node;
  return n;
}
