// Makes the naive program from the graph of operations: its names, sizes and buffers, and the order of its nests
// (nests.c, definitions.c). Temporaries exist as long as the program runs.
#include "ir/program/pitch.h"
#include "te/maker.h"
#include <stdio.h>
#include <stdlib.h>

// ---- names

static bool is_leaf(const nw_te_maker *m, const nw_teop *op) {
  return op->kind == NW_TE_PLACEHOLDER || (m->only && op != m->only);
}

// Returns the order in which an operation gets its name: inputs first, then outputs, then all others. So the parameters
// of a kernel keep the names that the user gave, if possible.
static int rank(const nw_te_maker *m, const nw_teop *op, int n, const nw_te_place_of *outputs) {
  if (is_leaf(m, op)) return 0;
  for (int i = 0; i < n; i++)
    if (outputs[i].op == op) return 1;
  return 2;
}

static bool given(const nw_te_maker *m, const char *name) {
  for (int i = 0; i < m->order.n; i++)
    if (m->name[i] && !strcmp(m->name[i], name)) return true;
  for (int i = 0; i < m->ninner; i++)
    if (!strcmp(m->inner[i], name)) return true;
  return false;
}

static char *fresh_name(const nw_te_maker *m, const char *want) {
  nw_str b = {0};
  nw_str_add(&b, want);
  for (int k = 1; given(m, b.s); k++) {
    b.n = 0;
    nw_str_fmt(&b, "%s_%d", want, k);
  }
  return nw_str_take(&b);
}

static void name_inner(nw_te_maker *m, const nw_teop *scan) {
  m->inner = nw_xrealloc(m->inner, sizeof *m->inner * (size_t)(m->ninner + scan->ninner + 1));
  for (int i = 0; i < scan->ninner; i++) {
    m->inner[m->ninner] = fresh_name(m, scan->inner[i].op->name);
    m->ninner++;
  }
}

static void give_names(nw_te_maker *m, int n, const nw_te_place_of *outputs) {
  m->name = nw_xcalloc((size_t)m->order.n + 1, sizeof *m->name);
  for (int turn = 0; turn < 3; turn++)
    for (int i = 0; i < m->order.n; i++) {
      const nw_teop *op = m->order.at[i];
      if (rank(m, op, n, outputs) == turn) m->name[i] = fresh_name(m, op->name);
    }
  for (int i = 0; i < m->order.n; i++)
    if (!is_leaf(m, m->order.at[i])) name_inner(m, m->order.at[i]);
}

static void free_names(nw_te_maker *m) {
  for (int i = 0; i < m->order.n; i++) free(m->name[i]);
  for (int i = 0; i < m->ninner; i++) free(m->inner[i]);
  free(m->name), free(m->inner);
}

const char *nw_te_inner_name(const nw_te_maker *m, const nw_teop *scan, int i) {
  int before = 0;
  for (int k = 0; m->order.at[k] != scan; k++)
    if (!is_leaf(m, m->order.at[k])) before += ((const nw_teop *)m->order.at[k])->ninner;
  return m->inner[before + i];
}

// Returns the name of a stage inside one of the scans, or NULL.
static const char *name_inside(const nw_te_maker *m, const nw_teop *op) {
  for (int k = 0; k < m->order.n; k++) {
    const nw_teop *scan = m->order.at[k];
    for (int i = 0; i < scan->ninner && !is_leaf(m, scan); i++)
      if (scan->inner[i].op == op) return nw_te_inner_name(m, scan, i);
  }
  return NULL;
}

const char *nw_te_name_of(const nw_te_maker *m, const nw_teop *op) {
  for (int i = 0; i < m->order.n; i++)
    if (m->order.at[i] == op) return m->name[i];
  const char *inside = name_inside(m, op);
  return inside ? inside : op->name;
}

void nw_te_map_buffer(nw_te_maker *m, const nw_teop *op, int out, const char *buffer) {
  m->at = nw_xrealloc(m->at, sizeof *m->at * (size_t)(m->nat + 1));
  m->at[m->nat++] = (nw_te_place_of){op, out, buffer};
}

const char *nw_te_buffer_of(const nw_te_maker *m, const nw_teop *op, int out) {
  for (int i = m->nat - 1; i >= 0; i--)
    if (m->at[i].op == op && m->at[i].out == out) return m->at[i].buffer;
  return NULL;
}

static const nw_expr *to_plain_var(void *env, const nw_expr *v) {
  const nw_te_maker *m = env;
  for (int i = m->nvar - 1; i >= 0; i--)
    if (!strcmp(m->var[i].symbol, v->name)) return m->var[i].to;
  for (int i = 0; i < m->nsize; i++)
    if (!strcmp(m->size[i].symbol, v->name)) return m->size[i].to;
  return NULL;
}

static const nw_expr *to_plain_load(void *env, const nw_expr *l) {
  const nw_te_maker *m = env;
  for (int i = 0; i < m->reading->nreads; i++) {
    const nw_tensor *t = m->reading->reads[i];
    if (!strcmp(t->symbol, l->name))
      return nw_load(m->p->pool, l->type, nw_te_buffer_of(m, t->op, t->out), l->n, l->arg);
  }
  return NULL;
}

const nw_expr *nw_te_plain(nw_te_maker *m, const nw_expr *e) {
  return nw_rewrite(m->p->pool, e, to_plain_var, to_plain_load, m);
}

bool nw_te_is_size(const nw_te_maker *m, const char *name) {
  for (int i = 0; i < m->nsize; i++)
    if (!strcmp(m->size[i].to->name, name)) return true;
  return false;
}

static bool taken(const nw_te_maker *m, const nw_block_var *var, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (!strcmp(var[i].var->name, name)) return true;
  return nw_te_is_size(m, name);
}

const nw_expr *nw_te_fresh_var(nw_te_maker *m, const nw_block_var *var, int n, const char *want) {
  char name[200];
  snprintf(name, sizeof name, "%.150s", want);
  for (int k = 1; taken(m, var, n, name); k++) snprintf(name, sizeof name, "%.150s_%d", want, k);
  return nw_var(m->p->pool, name);
}

// ---- sizes and facts

static bool known_size(void *env, const nw_expr *e) {
  const nw_te_maker *m = env;
  return e->op != NW_OP_VAR || to_plain_var((void *)m, e);
}

static void add_facts(nw_te_maker *m, const nw_te_size *s) {
  nw_program *p = m->p;
  for (int i = 0; i < s->facts.n; i++)
    if (nw_visit(s->facts.at[i], known_size, m)) p->fact[p->nfacts++] = nw_te_plain(m, s->facts.at[i]);
}

// Returns the most facts that the strides of an operation need.
static int most_conditions(const nw_teop *op) { return op->pitch ? op->nout * op->ndim : 0; }

static void add_sizes(nw_te_maker *m) {
  nw_program *p = m->p;
  nw_vec sizes = nw_te_sizes_of(&m->order);
  int facts = 0;
  p->nsizes = sizes.n;
  p->size = NW_NEW_N(p->arena, nw_size, sizes.n + 1);
  m->size = nw_xcalloc((size_t)sizes.n + 1, sizeof *m->size);
  for (int i = 0; i < sizes.n; i++) {
    const nw_te_size *s = sizes.at[i];
    char *name = nw_te_size_name(&sizes, i);
    m->size[i] = (nw_te_renaming){s->symbol, nw_var(p->pool, name)};
    p->size[i] = (nw_size){nw_pool_name(p->pool, name), nw_index(p->pool, s->lo)};
    facts += s->facts.n;
    free(name);
  }
  m->nsize = sizes.n;
  for (int i = 0; i < m->order.n; i++) facts += most_conditions(m->order.at[i]);
  p->fact = NW_NEW_N(p->arena, const nw_expr *, facts + 1);
  for (int i = 0; i < sizes.n; i++) add_facts(m, sizes.at[i]);
  nw_vec_free(&sizes);
}

// ---- buffers

void nw_te_add_buffer(nw_te_maker *m, const nw_teop *op, const char *name, int out, nw_role role) {
  const nw_expr **shape = nw_xcalloc((size_t)op->ndim + 1, sizeof *shape);
  for (int d = 0; d < op->ndim; d++) shape[d] = nw_te_plain(m, op->shape[d]);
  char *own = nw_te_output_name(op, name, out);
  nw_buffer *b = nw_add_buffer(m->p, own, op->dtype[out], NW_GLOBAL, role, op->ndim, shape);
  if (op->pitch && !m->only && role != NW_TEMP) b->pitch = NW_NEW_N(m->p->arena, const nw_expr *, op->ndim + 1);
  for (int d = 0; b->pitch && d < op->ndim; d++) b->pitch[d] = nw_te_plain(m, op->pitch[d]);
  nw_te_map_buffer(m, op, out, b->name);
  free(own);
  free(shape);
}

static void add_buffer(nw_te_maker *m, const nw_teop *op, int out, nw_role role) {
  nw_te_add_buffer(m, op, nw_te_name_of(m, op), out, role);
}

static void add_buffers(nw_te_maker *m, int n, const nw_te_place_of *outputs) {
  for (int i = 0; i < m->order.n; i++) {
    const nw_teop *op = m->order.at[i];
    for (int k = 0; is_leaf(m, op) && k < op->nout; k++) add_buffer(m, op, k, NW_INPUT);
  }
  for (int i = 0; i < n; i++)
    if (!nw_te_buffer_of(m, outputs[i].op, outputs[i].out)) add_buffer(m, outputs[i].op, outputs[i].out, NW_OUTPUT);
  for (int i = 0; i < m->order.n; i++) {
    const nw_teop *op = m->order.at[i];
    for (int k = 0; k < op->nout; k++)
      if (!nw_te_buffer_of(m, op, k)) add_buffer(m, op, k, NW_TEMP);
  }
}

// Adds the conditions on the sizes under which the elements of arguments with strides do not overlap.
static void add_conditions(nw_program *p) {
  for (int i = 0; i < p->nbuffers; i++) {
    const nw_buffer *b = p->buffer[i];
    if (!b->pitch) continue;
    const nw_expr **fact = NW_NEW_N(p->arena, const nw_expr *, b->ndim + 1);
    int n = 0;
    nw_ranges r;
    nw_ranges_of(&r, p, NULL);
    nw_pitch_nests(&r, b->ndim, (const nw_expr *const *)b->shape, (const nw_expr *const *)b->pitch, fact, &n);
    nw_ranges_free(&r);
    for (int k = 0; k < n; k++) p->fact[p->nfacts++] = fact[k];
  }
}

// ---- the whole program

static void append(nw_te_maker *m, nw_stmt *s) { nw_vec_push(&m->nests, s); }

static void emit_call(nw_te_maker *m, const nw_teop *op) {
  nw_stmt *init, *nest = nw_te_call_nest(m, op, &init);
  if (init) append(m, init);
  append(m, nest);
}

static void emit_update(nw_te_maker *m, const nw_teop *op) {
  int most = 0;
  append(m, nw_te_first_nest(m, op));
  for (int d = 0; d < op->ndefs; d++) most = op->update[d]->op->naxes > most ? op->update[d]->op->naxes : most;
  nw_stmt **loop = nw_xcalloc((size_t)most + 1, sizeof *loop);
  for (int d = 0; d < op->ndefs; d++) {
    nw_stmt *nest = nw_te_definition(m, op, d, loop);
    if (!op->update[d]->op->shared) append(m, nest);
  }
  free(loop);
}

static void emit(nw_te_maker *m, const nw_teop *op) {
  for (int k = 0; k < op->nout; k++) {
    nw_buffer *b = nw_find_buffer(m->p, nw_te_buffer_of(m, op, k));
    if (b->role == NW_TEMP) b->alloc = nw_new_alloc(m->p, b);
  }
  if (op->kind == NW_TE_COMPUTE && op->call.in) return emit_call(m, op);
  if (op->kind == NW_TE_COMPUTE) return append(m, nw_te_compute_nest(m, op));
  if (op->kind == NW_TE_UPDATE) return emit_update(m, op);
  for (int k = 0; k < op->nout; k++) append(m, nw_te_init_nest(m, op, k));
  append(m, nw_te_time_loop(m, op));
}

static bool deeper(const nw_stmt *s, int limit) {
  if (limit == 0) return true;
  for (int i = 0; i < s->nkids; i++)
    if (deeper(s->kid[i], limit - 1)) return true;
  return false;
}

// Freezes the program if it is not nested too deeply.
static nw_program *finish(nw_program *p) {
  if (!deeper(p->root, NW_MAX_DEPTH)) return nw_program_freeze(p);
  nw_fail(p->ctx, NW_ELIMIT, "split it into several stages", "the loops of %s are nested too deep: the limit is %d",
          p->name, NW_MAX_DEPTH);
  nw_program_release(p);
  return NULL;
}

static nw_program *make(nw_te_maker *m, int n, const nw_te_place_of *outputs) {
  nw_pool *pool = nw_pool_new(m->ctx);
  m->p = nw_program_new(m->ctx, pool, n ? outputs[0].op->name : "empty");
  nw_pool_release(pool);
  add_sizes(m);
  give_names(m, n, outputs);
  add_buffers(m, n, outputs);
  add_conditions(m->p);
  for (int i = 0; i < m->order.n; i++)
    if (!is_leaf(m, m->order.at[i])) emit(m, m->order.at[i]);
  nw_kids_set(m->p, m->p->root, m->nests.n, (nw_stmt **)m->nests.at);
  nw_vec_free(&m->nests);
  free(m->at), free(m->size), free(m->var);
  free_names(m);
  nw_vec_free(&m->order);
  return finish(m->p);
}

// The time of a step grows with the number of stages, so this number is limited.
enum { MOST_STAGES = 2048 };

static bool check_graph(nw_ctx *c, const nw_vec *order) {
  int n = order->n;
  for (int i = 0; i < order->n; i++) n += ((const nw_teop *)order->at[i])->ninner;
  if (n > MOST_STAGES)
    return nw_fail(c, NW_ELIMIT, "make several schedules, each for a part of the stages",
                   "the computation has %d tensors; a schedule can have at most %d", n, MOST_STAGES);
  for (int i = 0; i < order->n; i++) {
    const nw_teop *op = order->at[order->n - 1 - i];
    if (op->deferred) return nw_te_refuse_deferred(op);
    if (op->is_state)
      return nw_fail(c, NW_EINVAL, NULL, "%s is the state of a scan, but is read outside the scan", op->name);
  }
  return true;
}

static nw_te_place_of *places(int n, nw_tensor *const *outputs) {
  nw_te_place_of *at = nw_xcalloc((size_t)n, sizeof *at);
  for (int i = 0; i < n; i++) at[i] = (nw_te_place_of){outputs[i]->op, outputs[i]->out, NULL};
  return at;
}

char *nw_te_name_in(int n, nw_tensor *const *outputs, const nw_tensor *t) {
  nw_te_maker m = {.ctx = t->op->ctx, .order = nw_te_order(n, outputs)};
  nw_te_place_of *at = places(n, outputs);
  give_names(&m, n, at);
  char *name = nw_te_output_name(t->op, nw_te_name_of(&m, t->op), t->out);
  free_names(&m);
  nw_vec_free(&m.order);
  free(at);
  return name;
}

nw_program *nw_te_program(nw_ctx *c, int n, nw_tensor *const *outputs) {
  if (n < 1) return nw_fail(c, NW_EINVAL, NULL, "outputs: a computation needs at least one output");
  for (int i = 0; i < n; i++) {
    if (!outputs[i]) return NULL;
    if (nw_tensor_is_placeholder(outputs[i]))
      return nw_fail(c, NW_EINVAL, NULL, "%s is a placeholder: there is nothing to compute", outputs[i]->name);
  }
  nw_te_maker m = {.ctx = c, .order = nw_te_order(n, outputs)};
  if (!check_graph(c, &m.order) || !nw_te_strides_meant(&m.order, n, outputs)) {
    nw_vec_free(&m.order);
    return NULL;
  }
  nw_te_place_of *at = places(n, outputs);
  nw_program *p = make(&m, n, at);
  free(at);
  return p;
}

// Makes the program of one operation. All producers of the operation become inputs.
nw_program *nw_te_alone(const nw_teop *op) {
  nw_te_maker m = {.ctx = op->ctx, .only = op};
  nw_te_alone_order(&m.order, op);
  nw_te_place_of *at = nw_xcalloc((size_t)op->nout, sizeof *at);
  for (int k = 0; k < op->nout; k++) at[k] = (nw_te_place_of){op, k, NULL};
  nw_program *p = make(&m, op->nout, at);
  free(at);
  return p;
}
