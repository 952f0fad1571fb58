// Counts executions. Two loops are in the same group if a condition uses the variables of both, or if a bound of one
// loop uses the variable of the other. The points of a group are enumerated. The result is the product of the numbers
// of points of all groups.
#include "ir/program/reducer.h"
#include "sched/count.h"
#include "sched/tree.h"
#include <stdlib.h>

enum { MAX_POINTS = 20000 };

typedef struct nest {
  const nw_program *p;
  int nloops;
  const nw_stmt *loop[NW_MAX_DEPTH];
  int nconds;
  const nw_expr *cond[2 * NW_MAX_DEPTH];
  int group[NW_MAX_DEPTH]; // loops that are counted together have the same number
  const char *name[NW_MAX_DEPTH];
  int64_t at[NW_MAX_DEPTH];
  nw_point here; // the current values of all variables
  int points;
  bool vague; // true if some condition depends on something other than loop variables
} nest;

static bool uses_loop(const nest *x, const nw_expr *e, int i) { return nw_uses_var(e, x->loop[i]->loop.var->name); }

static void add_conjuncts(nest *x, const nw_expr *e) {
  int room = NW_COUNT(x->cond) - x->nconds;
  if (e && room > 0) x->nconds += nw_conjuncts(e, room, &x->cond[x->nconds]);
}

static void join(nest *x, int a, int b) {
  int from = x->group[b], to = x->group[a];
  for (int i = 0; i < x->nloops; i++)
    if (x->group[i] == from) x->group[i] = to;
}

static void join_users(nest *x, const nw_expr *e, int with) {
  for (int i = 0; i < x->nloops; i++) {
    if (!uses_loop(x, e, i)) continue;
    if (with >= 0) join(x, with, i);
    with = i;
  }
}

static void read_nest(nest *x, const nw_program *p, const nw_path *path) {
  *x = (nest){.p = p};
  for (int i = 0; i < path->n; i++) {
    const nw_stmt *s = path->at[i];
    if (s->kind == NW_LOOP) {
      x->name[x->nloops] = s->loop.var->name;
      x->loop[x->nloops++] = s;
    }
    if (s->kind == NW_GUARD) add_conjuncts(x, s->guard.cond);
    if (s->kind == NW_BLOCK) add_conjuncts(x, s->block.where);
  }
  x->here = (nw_point){x->nloops, x->name, x->at};
  for (int i = 0; i < x->nloops; i++) x->group[i] = i;
  for (int i = 0; i < x->nconds; i++) join_users(x, x->cond[i], -1);
  for (int i = 0; i < x->nloops; i++) {
    join_users(x, x->loop[i]->loop.begin, i);
    join_users(x, x->loop[i]->loop.extent, i);
  }
}

// ---- enumeration of a group

static bool uses_group(const nest *x, const nw_expr *e, int group) {
  for (int i = 0; i < x->nloops; i++)
    if (x->group[i] == group && uses_loop(x, e, i)) return true;
  return false;
}

static bool holds(nest *x, int group) {
  int64_t yes;
  for (int i = 0; i < x->nconds; i++)
    if (uses_group(x, x->cond[i], group)) {
      if (!nw_eval_int(x->cond[i], &x->here, &yes))
        x->vague = true;
      else if (!yes)
        return false;
    }
  return true;
}

// Returns the number of points of the loops of the group, from loop i inwards. Returns -1 if there are too many points,
// or if their number is not constant.
static double points(nest *x, int group, int i) {
  int64_t begin, extent;
  while (i < x->nloops && x->group[i] != group) i++;
  if (i == x->nloops) return holds(x, group);
  if (!nw_eval_int(x->loop[i]->loop.begin, &x->here, &begin) ||
      !nw_eval_int(x->loop[i]->loop.extent, &x->here, &extent))
    return -1;
  double sum = 0;
  for (int64_t k = 0; k < extent; k++) {
    x->at[i] = begin + k;
    double n = ++x->points > MAX_POINTS ? -1 : points(x, group, i + 1);
    if (n < 0) return -1;
    sum += n;
  }
  return sum;
}

static bool alone(const nest *x, int group) {
  int loops = 0;
  for (int i = 0; i < x->nloops; i++) loops += x->group[i] == group;
  for (int i = 0; i < x->nconds; i++)
    if (uses_group(x, x->cond[i], group)) return false;
  return loops == 1;
}

// Returns the number of points of a group, ignoring guards, or -1 if the number is not constant.
static double product(const nest *x, int group) {
  double n = 1;
  int64_t extent;
  for (int i = 0; i < x->nloops; i++) {
    if (x->group[i] != group) continue;
    if (!nw_is_int(x->loop[i]->loop.extent, &extent)) return -1;
    n *= extent > 0 ? (double)extent : 0;
  }
  return n;
}

static void count_group(nest *x, int group, nw_count *out) {
  x->points = 0;
  double bound = product(x, group), n = alone(x, group) ? bound : points(x, group, 0);
  if (n < 0) out->exact = false, n = bound;
  out->exact = out->exact && !x->vague;
  out->n = out->n < 0 || n < 0 ? -1 : out->n * n;
}

static const nw_expr *symbolic(const nest *x) {
  const nw_expr *e = nw_index(x->p->pool, 1);
  for (int i = 0; i < x->nloops; i++) {
    for (int k = 0; k < x->nloops; k++)
      if (uses_loop(x, x->loop[i]->loop.extent, k)) return NULL;
    e = nw_mul(x->p->pool, e, x->loop[i]->loop.extent);
  }
  return e;
}

nw_count nw_count_executions(const nw_program *p, const nw_path *path) {
  nest x;
  nw_count out = {.n = 1, .exact = true};
  read_nest(&x, p, path);
  for (int g = 0; g < x.nloops; g++)
    for (int i = 0; i < x.nloops; i++)
      if (x.group[i] == g) {
        count_group(&x, g, &out);
        break;
      }
  out.expr = symbolic(&x);
  return out;
}

// ---- all pieces of a stage

typedef struct tally {
  const nw_program *p;
  const char *origin;
  nw_count sum;
} tally;

static bool see_stage(void *env, const nw_path *path) {
  tally *t = env;
  const nw_stmt *b = path->at[path->n - 1];
  if (b->kind != NW_BLOCK || b->block.init_part || strcmp(b->block.origin, t->origin)) return true;
  nw_count n = nw_count_executions(t->p, path);
  t->sum.n = t->sum.n < 0 || n.n < 0 ? -1 : t->sum.n + n.n;
  t->sum.exact = t->sum.exact && n.exact;
  return true;
}

nw_count nw_count_recomputed(const nw_program *p, const nw_stmt *block) {
  tally t = {p, block->block.origin, {.exact = true}};
  double once = nw_count_instances(block);
  nw_walk(p, see_stage, &t);
  t.sum.n = once <= 0 || t.sum.n < 0 ? -1 : t.sum.n / once;
  return t.sum;
}

// ---- one execution

double nw_count_instances(const nw_stmt *block) {
  double n = 1;
  int64_t extent;
  for (int i = 0; i < block->block.nvars; i++) {
    if (!nw_is_int(block->block.var[i].extent, &extent)) return -1;
    n *= extent > 0 ? (double)extent : 0;
  }
  return n;
}

// True if an operation is counted. Only arithmetic on data is counted, not the computation of addresses and conditions.
static bool is_counted(const nw_expr *e) {
  if (e->op == NW_OP_CAST || e->op == NW_OP_REINTERPRET || e->op == NW_OP_SELECT) return false;
  return e->arg[0]->type.dtype != NW_INDEX && e->arg[0]->type.dtype != NW_BOOL;
}

static int operations(const nw_expr *e) {
  if (e->op == NW_OP_LOAD || !e->n) return 0;
  int n = is_counted(e);
  for (int i = 0; i < e->n; i++) n += operations(e->arg[i]);
  return n;
}

int nw_count_operations(const nw_stmt *block) {
  int n = 0;
  for (int i = 0; i < block->block.ntargets; i++)
    n += operations(block->block.target[i].value) + (block->block.combiner != NW_PLAIN);
  const nw_reducer *r = block->block.combiner < NW_OWN
                            ? NULL
                            : nw_reducer_of(nw_pool_ctx(block->block.target[0].value->pool), block->block.combiner);
  for (int i = 0; r && i < r->n; i++) n += operations(r->combine[i]) - 1;
  return n;
}

typedef struct moved {
  const nw_program *p;
  nw_role role;
  double bytes;
} moved;

static void move(moved *m, const char *buffer, int times) {
  const nw_buffer *b = nw_find_buffer(m->p, buffer);
  if (b && b->role == m->role) m->bytes += times * nw_dtype_bytes(b->dtype);
}

static bool see_load(void *env, const nw_expr *e) {
  if (e->op == NW_OP_LOAD) move(env, e->name, 1);
  return true;
}

double nw_count_bytes(const nw_program *p, const nw_stmt *block, nw_role role) {
  moved m = {p, role, 0};
  for (int i = 0; i < block->block.ntargets; i++) {
    nw_visit(block->block.target[i].value, see_load, &m);
    move(&m, block->block.target[i].buffer, block->block.combiner == NW_PLAIN ? 1 : 2);
  }
  return m.bytes;
}
