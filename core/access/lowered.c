// Finds the bodies, statements and accesses of a lowered program.
#include "access/lowered.h"
#include "access/walker.h"
#include "ir/expr/fold.h" // nw_intern
#include "ir/text/lines.h" // nw_scope_name
#include <stdlib.h>

// ---- accesses

static int buffer_number(const nw_program *p, const char *name) {
  int i = 0;
  while (strcmp(p->buffer[i]->name, name)) i++;
  return i;
}

static bool is_either(const nw_expr *e) { return e->op == NW_OP_MIN || e->op == NW_OP_MAX; }

// Replaces min(a, b) and max(a, b) by a, if a is not a number. This makes the index of a shifted tail affine. Each
// iteration of a loop with a shifted tail accesses the elements from min(a, b) on, where a is affine. In the last
// iteration the minimum is b, and in all other iterations it is a.
static const nw_expr *straight(const nw_expr *e) {
  const nw_expr *arg[4];
  bool same = true;
  if (is_either(e) && e->arg[0]->op != NW_OP_INT) return straight(e->arg[0]);
  if (e->op == NW_OP_LOAD || e->n == 0 || e->n > 4) return e;
  for (int i = 0; i < e->n; i++) same &= (arg[i] = straight(e->arg[i])) == e->arg[i];
  return same ? e : nw_intern(e->pool, e, arg);
}

static void part_constant(nw_lowered_access *a) {
  const nw_expr *e = a->index->op == NW_OP_RAMP ? a->index->arg[0] : a->index;
  bool sum = e->op == NW_OP_ADD || e->op == NW_OP_SUB;
  a->spread = nw_is_int(e, &a->offset) ? NULL : e;
  if (!sum || !nw_is_int(e->arg[1], &a->offset)) return;
  a->spread = e->arg[0];
  if (e->op == NW_OP_SUB) a->offset = -a->offset;
}

static void add_access(nw_lowered *v, int body, const nw_stmt *s, const nw_expr *load) {
  nw_lowered_access *a = NW_NEW(v->arena, nw_lowered_access);
  const nw_expr *index = load ? load->arg[0] : s->store.index;
  const nw_program *p = v->exec->p;
  *a = (nw_lowered_access){
      .stmt = s, .load = load, .index = index, .write = !load, .body = body, .lanes = index->type.lanes};
  a->buffer = buffer_number(p, load ? load->name : s->store.buffer);
  a->elem = nw_dtype_bytes(p->buffer[a->buffer]->dtype);
  a->affine = nw_form_of(v->arena, &v->names, straight(index), &a->at);
  a->masked = load ? load->n > 1 : s->store.mask != NULL;
  bool line = index->op == NW_OP_RAMP && nw_is_int(index->arg[1], &a->step);
  a->scattered = a->lanes > 1 && !(line && (a->step == 1 || a->step == -1)) && index->op != NW_OP_BROADCAST;
  if (index->op == NW_OP_BROADCAST) a->lanes = 1;
  a->steady = a->lanes == 1 || line || a->affine;
  if (a->lanes == 1) a->step = 0;
  if (a->affine && !line) a->step = a->lanes > 1 ? a->at.step : 0;
  part_constant(a);
  nw_vec_push(&v->access, a);
}

typedef struct collecting {
  nw_lowered *v;
  nw_lowered_statement *to;
} collecting;

static bool collect_load(void *env, const nw_expr *e) {
  collecting *c = env;
  if (e->op == NW_OP_LOAD) add_access(c->v, c->to->body, c->to->stmt, e);
  c->to->conditions += e->op == NW_OP_SELECT || (e->op == NW_OP_LOAD && e->n > 1);
  return true;
}

// ---- statements

// True for an operation on values. Index arithmetic, comparisons and Boolean operations are not operations on values.
static bool works_on_values(const nw_expr *e) {
  return e->n && e->type.dtype != NW_BOOL && (e->op == NW_OP_LDEXP || !nw_op_has((nw_op)e->op, 'X'));
}

static void count_operations(nw_memo *seen, const nw_expr *e, nw_lowered_statement *s) {
  const nw_expr **mark = nw_memo_at(seen, e);
  if (*mark || e->op == NW_OP_LOAD) return;
  *mark = e;
  bool chosen = e->op == NW_OP_SELECT;
  s->selects += chosen;
  if (chosen || works_on_values(e)) s->operations += 1 + (e->op == NW_OP_FMA);
  for (int i = 0; i < e->n; i++) count_operations(seen, e->arg[i], s);
}

static void add_statement(nw_lowered *v, int body, const nw_stmt *stmt) {
  nw_lowered_statement *s = NW_NEW(v->arena, nw_lowered_statement);
  *s = (nw_lowered_statement){.stmt = stmt, .body = body, .first = v->access.n, .conditions = stmt->store.mask != NULL};
  collecting c = {v, s};
  nw_visit(stmt->store.mask, collect_load, &c);
  nw_visit(stmt->store.index, collect_load, &c);
  nw_visit(stmt->store.value, collect_load, &c);
  s->copies = stmt->store.value->op == NW_OP_LOAD;
  s->fills = v->access.n == s->first;
  for (int i = s->first; i < v->access.n; i++) {
    const nw_lowered_access *a = v->access.at[i];
    s->updates |= a->index == stmt->store.index && !strcmp(a->load->name, stmt->store.buffer);
  }
  add_access(v, body, stmt, NULL);
  s->n = v->access.n - s->first;
  nw_memo seen;
  nw_memo_init(&seen);
  count_operations(&seen, stmt->store.value, s);
  nw_memo_free(&seen);
  nw_vec_push(&v->statement, s);
}

// ---- bodies

static bool count_choice(void *env, const nw_expr *e) {
  *(int *)env += e->op == NW_OP_SELECT;
  return true;
}

static void add_body(nw_lowered *v, int up, const nw_stmt *stmt);

// Adds the contents of s to a body. Sequences and allocations are not bodies, so their contents belong to the enclosing
// body.
static void add_kids(nw_lowered *v, int body, const nw_stmt *s) {
  for (int i = 0; i < s->nkids; i++) {
    const nw_stmt *kid = s->kid[i];
    if (kid->kind == NW_STORE)
      add_statement(v, body, kid);
    else if (kid->kind == NW_LOOP || kid->kind == NW_GUARD)
      add_body(v, body, kid);
    else
      add_kids(v, body, kid);
  }
}

static void add_body(nw_lowered *v, int up, const nw_stmt *stmt) {
  nw_lowered_body *b = NW_NEW(v->arena, nw_lowered_body);
  int number = v->body.n;
  bool loop = stmt->kind == NW_LOOP;
  *b = (nw_lowered_body){.stmt = stmt, .up = up, .slot = -1, .conditions = stmt->kind == NW_GUARD};
  b->depth = loop + (up >= 0 ? ((nw_lowered_body *)v->body.at[up])->depth : 0);
  nw_vec_push(&v->body, b);
  nw_visit(loop ? stmt->loop.begin : NULL, count_choice, &b->conditions);
  nw_visit(loop ? stmt->loop.extent : NULL, count_choice, &b->conditions);
  nw_visit(stmt->kind == NW_GUARD ? stmt->guard.cond : NULL, count_choice, &b->conditions);
  if (loop) {
    b->slot = v->nslots++;
    nw_vec_push(&v->names.name, (void *)stmt->loop.var->name);
    nw_vec_push(&v->names.slot, (void *)(intptr_t)b->slot);
  }
  add_kids(v, number, stmt);
  if (loop) v->names.name.n--, v->names.slot.n--;
}

nw_lowered *nw_lowered_new(const nw_exec *e, const int64_t *size) {
  if (!e) return NULL;
  nw_lowered *v = nw_xcalloc(1, sizeof *v);
  *v = (nw_lowered){.exec = nw_exec_retain((nw_exec *)e), .arena = nw_arena_new()};
  nw_name_sizes(&v->names, e->p);
  v->nslots = v->names.nsizes = e->p->nsizes;
  if (size && e->p->nsizes)
    v->names.size = memcpy(NW_NEW_N(v->arena, int64_t, e->p->nsizes), size, sizeof *size * (size_t)e->p->nsizes);
  add_body(v, -1, e->p->root);
  return v;
}

void nw_lowered_free(nw_lowered *v) {
  if (!v) return;
  nw_exec_release(v->exec);
  nw_vec_free(&v->body);
  nw_vec_free(&v->access);
  nw_vec_free(&v->statement);
  nw_vec_free(&v->names.name);
  nw_vec_free(&v->names.slot);
  nw_arena_free(v->arena);
  free(v);
}

// ---- strides

// Returns the amount by which e grows when the variable grows by 1. Loads, and sizes whose values are unknown, are
// assumed to be constant.
static int64_t slope(const nw_expr *e, const char *var) {
  int64_t by, of;
  if (e->op == NW_OP_VAR) return !strcmp(e->name, var);
  if (!e->n || e->op == NW_OP_LOAD) return 0;
  of = slope(e->arg[0], var);
  switch (e->op) {
  case NW_OP_ADD: return of + slope(e->arg[1], var);
  case NW_OP_SUB: return of - slope(e->arg[1], var);
  case NW_OP_NEG: return -of;
  case NW_OP_MUL:
    if (nw_is_int(e->arg[1], &by)) return of * by;
    return nw_is_int(e->arg[0], &by) ? by * slope(e->arg[1], var) : 0;
  case NW_OP_FLOORDIV: return nw_is_int(e->arg[1], &by) && by ? of / by : 0;
  case NW_OP_FLOORMOD: return nw_is_int(e->arg[1], &by) && by ? of % by : of;
  case NW_OP_SELECT: return slope(e->arg[1], var);
  case NW_OP_MIN:
  case NW_OP_MAX: return e->arg[0]->op == NW_OP_INT ? slope(e->arg[1], var) : of;
  case NW_OP_RAMP:
  case NW_OP_BROADCAST:
  case NW_OP_CAST: return of;
  default: return 0;
  }
}

int64_t nw_lowered_stride(const nw_lowered *v, int access, int body) {
  const nw_lowered_access *a = v->access.at[access];
  const nw_lowered_body *loop = v->body.at[body];
  if (loop->slot < 0) return 0;
  return a->affine ? nw_form_coef(&a->at, loop->slot) : slope(a->index, loop->stmt->loop.var->name);
}

// ---- the rows of nestwright.h

nw_lowered *nw_lowered_of(nw_ctx *c, const nw_program *p, const int64_t *sizes) {
  if (!p || (sizes && !nw_sizes_allowed(c, p, sizes))) return NULL;
  nw_exec *e = nw_lower(p, NULL);
  nw_lowered *v = nw_lowered_new(e, sizes);
  nw_exec_release(e);
  return v;
}

int nw_lowered_bodies(const nw_lowered *v) { return v->body.n; }
int nw_lowered_statements(const nw_lowered *v) { return v->statement.n; }
int nw_lowered_buffers(const nw_lowered *v) { return v->exec->p->nbuffers; }

nw_body_row nw_lowered_body_at(const nw_lowered *v, int i) {
  const nw_lowered_body *b = v->body.at[i];
  nw_body_row r = {.id = b->stmt->id, .up = b->up, .depth = b->depth, .extent = -1, .conditions = b->conditions};
  if (b->stmt->kind != NW_LOOP) return r;
  r.name = b->stmt->loop.var->name;
  r.mark = nw_loop_kind_name(b->stmt->loop.mark);
  nw_is_int(b->stmt->loop.extent, &r.extent);
  return r;
}

nw_statement_row nw_lowered_statement_at(const nw_lowered *v, int i) {
  const nw_lowered_statement *s = v->statement.at[i];
  return (nw_statement_row){.id = s->stmt->id,
                            .body = s->body,
                            .first = s->first,
                            .n = s->n,
                            .operations = s->operations,
                            .selects = s->selects,
                            .conditions = s->conditions,
                            .copies = s->copies,
                            .fills = s->fills,
                            .updates = s->updates,
                            .stream = s->stmt->store.stream};
}

nw_access_row nw_lowered_access_at(const nw_lowered *v, int i) {
  const nw_lowered_access *a = v->access.at[i];
  return (nw_access_row){.buffer = v->exec->p->buffer[a->buffer]->name,
                         .index = a->index,
                         .spread = a->spread,
                         .offset = a->offset,
                         .lanes = a->lanes,
                         .write = a->write,
                         .masked = a->masked,
                         .steady = a->steady,
                         .step = a->step};
}

nw_stored_row nw_lowered_buffer_at(const nw_lowered *v, int i) {
  const nw_buffer *b = v->exec->p->buffer[i];
  nw_stored_row r = {.name = b->name,
                     .scope = nw_scope_name(b),
                     .dtype = b->dtype,
                     .temporary = v->exec->storage[i].kind != NW_STORE_PARAM,
                     .elements = -1};
  const char *const *names = (const char *const *)v->names.name.at;
  if (!nw_eval_size(v->exec->storage[i].elements, v->names.size ? v->names.nsizes : 0, names, v->names.size,
                    &r.elements))
    r.elements = -1;
  return r;
}
