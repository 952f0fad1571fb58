// Makes the log: numbers that describe what each step changed.
#include "sched/count.h"
#include "sched/history.h"
#include <stdlib.h>

int nw_sched_versions(const nw_sched *s) { return s ? s->version.n : 0; }

// ---- added, removed and changed statements

typedef struct change {
  const nw_program *other;
  int missing, differ;
} change;

// Returns the id of the nearest statement around the last statement of a path. Returns 0 if there is none. Only
// statements that have an id count.
static int parent_of(const nw_path *path) {
  for (int i = path->n - 2; i >= 0; i--)
    if (path->at[i]->id) return path->at[i]->id;
  return 0;
}

static bool see_change(void *env, const nw_path *path) {
  change *c = env;
  const nw_stmt *s = path->at[path->n - 1];
  nw_path other;
  if (!s->id) return true;
  if (!nw_find(c->other, s->id, &other))
    c->missing++;
  else if (parent_of(path) != parent_of(&other) || !nw_same_statement(s, other.at[other.n - 1]))
    c->differ++;
  return true;
}

// Counts the changes. A statement that moved into another statement counts as changed.
static void count_changes(nw_log_entry *e, const nw_program *before, const nw_program *after) {
  change came = {.other = before}, gone = {.other = after};
  nw_walk(after, see_change, &came);
  nw_walk(before, see_change, &gone);
  e->added = came.missing;
  e->removed = gone.missing;
  e->changed = came.differ;
}

// ---- the cost of a version

typedef struct cost {
  nw_log_entry *e;
  const nw_program *p;
  const nw_expr *formula; // NULL if the cost is unknown even as an expression of sizes
} cost;

static void add(double *sum, double n) { *sum = *sum < 0 || n < 0 ? -1 : *sum + n; }

static bool see_block(void *env, const nw_path *path) {
  cost *c = env;
  const nw_stmt *b = path->at[path->n - 1];
  if (b->kind != NW_BLOCK) return true;
  nw_count n = nw_count_executions(c->p, path);
  int operations = nw_count_operations(b);
  double times = n.n < 0 ? -1 : n.n;
  add(&c->e->operations, times < 0 && operations ? -1 : times < 0 ? 0 : times * operations);
  add(&c->e->input_bytes, times < 0 ? -1 : times * nw_count_bytes(c->p, b, NW_INPUT));
  add(&c->e->output_bytes, times < 0 ? -1 : times * nw_count_bytes(c->p, b, NW_OUTPUT));
  add(&c->e->temp_bytes, times < 0 ? -1 : times * nw_count_bytes(c->p, b, NW_TEMP));
  c->e->exact = c->e->exact && n.exact;
  nw_pool *pool = c->p->pool;
  if (c->formula)
    c->formula = n.expr ? nw_add(pool, c->formula, nw_mul(pool, n.expr, nw_index(pool, operations))) : NULL;
  return true;
}

// Computes the cost of a version. Returns the number of operations as an expression of sizes, or NULL if it is not
// known.
static const nw_expr *count_cost(nw_log_entry *e, const nw_program *p) {
  cost c = {.e = e, .p = p, .formula = nw_index(p->pool, 0)};
  e->exact = true;
  nw_walk(p, see_block, &c);
  return c.formula;
}

double nw_sched_operations(const nw_sched *s, int version, int n, const char *const *names, const int64_t *values) {
  const nw_node *node = s ? nw_sched_node(s, version) : NULL;
  nw_log_entry e = {0};
  const nw_expr *formula = node ? count_cost(&e, node->program) : NULL;
  int64_t v;
  if (node && e.operations >= 0) return e.operations;
  return formula && nw_eval_size(formula, n, names, values, &v) ? (double)v : -1;
}

static void list_buffers(nw_log_entry *e, const nw_program *p) {
  for (int i = 0; i < p->nbuffers && e->nbuffers < NW_MAX_RESULTS; i++)
    if (p->buffer[i]->role == NW_TEMP) e->buffer[e->nbuffers++] = p->buffer[i]->name;
}

bool nw_sched_log(const nw_sched *s, int version, nw_log_entry *out) {
  const nw_node *node = s ? nw_sched_node(s, version) : NULL;
  if (!node) return false;
  *out = (nw_log_entry){
      .version = version, .parent = node->parent, .unsafe = node->unsafe, .tested = node->tested, .step = node->text};
  out->branch = node->name;
  out->notes = node->notes && *node->notes ? node->notes : NULL;
  if (node->parent >= 0) count_changes(out, nw_sched_node(s, node->parent)->program, node->program);
  const nw_expr *formula = count_cost(out, node->program);
  if (out->operations < 0 && formula) out->formula = nw_expr_show(formula);
  list_buffers(out, node->program);
  return true;
}
