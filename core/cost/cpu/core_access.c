// Accesses of a lowered program: where they stand, and which instructions they are.
#include "cost/cpu/core_access.h"
#include "cost/cpu/core_class.h"
#include "ir/expr/fold.h" // nw_intern
#include <math.h>

static int buffer_number(const nw_core *k, const char *name) {
  int i = 0;
  while (strcmp(k->exec->p->buffer[i]->name, name)) i++;
  return i;
}

static bool is_either(const nw_expr *e) { return e->op == NW_OP_MIN || e->op == NW_OP_MAX; }

// A tail that is moved inside begins at the lesser of two places: in all rounds but the last at the first, which is affine.
static const nw_expr *straight(const nw_expr *e) {
  const nw_expr *arg[4];
  bool same = true;
  if (is_either(e) && e->arg[0]->op != NW_OP_INT) return straight(e->arg[0]);
  if (e->op == NW_OP_LOAD || e->n == 0 || e->n > 4) return e;
  for (int i = 0; i < e->n; i++) same &= (arg[i] = straight(e->arg[i])) == e->arg[i];
  return same ? e : nw_intern(e->pool, e, arg);
}

static void add_access(nw_core *k, nw_core_node *body, const nw_stmt *s, const nw_expr *load) {
  nw_core_access *a = NW_NEW(k->arena, nw_core_access);
  const nw_expr *index = load ? load->arg[0] : s->store.index;
  int64_t step;
  *a = (nw_core_access){
      .stmt = s, .load = load, .index = index, .write = !load, .body = body, .lanes = index->type.lanes};
  a->buffer = buffer_number(k, load ? load->name : s->store.buffer);
  a->elem = nw_dtype_bytes(k->exec->p->buffer[a->buffer]->dtype);
  a->affine = nw_form_of(k->arena, &k->names, straight(index), &a->at);
  a->masked = load ? load->n > 1 : s->store.mask != NULL;
  bool line = index->op == NW_OP_RAMP && nw_is_int(index->arg[1], &step) && (step == 1 || step == -1);
  a->scattered = a->lanes > 1 && !line && index->op != NW_OP_BROADCAST;
  if (index->op == NW_OP_BROADCAST) a->lanes = 1;
  nw_vec_push(&k->access, a);
}

typedef struct collecting {
  nw_core *k;
  nw_core_node *body;
  const nw_stmt *stmt;
} collecting;

static bool collect_load(void *env, const nw_expr *e) {
  collecting *c = env;
  if (e->op == NW_OP_LOAD) add_access(c->k, c->body, c->stmt, e);
  return true;
}

static void collect_store(nw_core *k, nw_core_node *body, const nw_stmt *s) {
  collecting c = {k, body, s};
  if (s->store.mask) nw_visit(s->store.mask, collect_load, &c);
  nw_visit(s->store.index, collect_load, &c);
  nw_visit(s->store.value, collect_load, &c);
  add_access(k, body, s, NULL);
}

static void go(nw_core *k, nw_core_node *body, const nw_stmt *s, int *kid, nw_core_store_fn *store,
               nw_core_body_fn *enter, void *env);

void nw_core_go(nw_core *k, nw_core_node *body, nw_core_store_fn *store, nw_core_body_fn *enter, void *env) {
  bool loop = body->stmt->kind == NW_LOOP;
  int kid = 0;
  if (loop) nw_vec_push(&k->names.name, (void *)body->stmt->loop.var->name);
  if (loop) nw_vec_push(&k->names.slot, (void *)(intptr_t)body->slot);
  if (enter) enter(env, body, true);
  for (int i = 0; i < body->stmt->nkids; i++) go(k, body, body->stmt->kid[i], &kid, store, enter, env);
  if (enter) enter(env, body, false);
  if (loop) k->names.name.n--, k->names.slot.n--;
}

static void go(nw_core *k, nw_core_node *body, const nw_stmt *s, int *kid, nw_core_store_fn *store,
               nw_core_body_fn *enter, void *env) {
  if (s->kind == NW_STORE) return store(env, body, s);
  if (s->kind == NW_LOOP || s->kind == NW_GUARD) return nw_core_go(k, body->kid[(*kid)++], store, enter, env);
  for (int i = 0; i < s->nkids; i++) go(k, body, s->kid[i], kid, store, enter, env);
}

static void collect(void *env, nw_core_node *body, const nw_stmt *s) { collect_store(env, body, s); }

void nw_core_collect(nw_core *k) { nw_core_go(k, k->root, collect, NULL, k); }

bool nw_core_inside(const nw_core_node *at, const nw_core_node *loop) {
  while (at && at != loop) at = at->up;
  return at != NULL;
}

// ---- as instructions

// How many of the places where a vector of so many bytes may begin make it reach into a second line.
static double crossing(const nw_core *k, const nw_core_access *a, int64_t bytes, int64_t offset) {
  int64_t line = k->machine->level[0].line, step = line;
  if (!a->affine || bytes > line) return 0;
  for (int i = 0; i < a->at.n; i++) step = nw_gcd(step, a->at.coef[i] * a->elem);
  int64_t first = (a->at.rest * a->elem + offset) % step, over = 0;
  if (first < 0) first += step;
  for (int64_t at = first; at < line; at += step) over += at + bytes > line;
  return (double)over * (double)step / (double)line;
}

// Gathers go by powers of two, with 64-bit addresses: as many lanes as a vector has of those. A lane alone is a load.
static void add_scattered(const nw_machine *m, nw_core_ops *to, const nw_core_access *a) {
  int most = (int)m->vector_bytes / 8;
  nw_core_unit unit = a->write ? NW_CORE_SCATTER : NW_CORE_GATHER;
  for (int left = a->lanes, piece; left > 0; left -= piece) {
    for (piece = most; piece > left;) piece /= 2;
    if (piece > 1)
      to->unit[unit] += fmax(piece, m->gather_least);
    else
      to->op[a->write ? NW_CLASS_STORE : NW_CLASS_LOAD][0]++;
    if (a->lanes > most) to->op[NW_CLASS_SHUFFLE][1]++; // into or out of a wider vector
    if (piece > 1) to->op[NW_CLASS_INT][NW_WIDTHS - 1] += 2; // its addresses
  }
}

// The bytes of the next piece of an access, so many of which are left.
static int64_t piece_of(const nw_core *k, const nw_core_access *a, int64_t left) {
  int64_t piece = k->machine->vector_bytes;
  while (piece > left && piece > a->elem) piece /= 2;
  return piece;
}

double nw_core_crossings(const nw_core *k, const nw_core_access *a) {
  double all = 0;
  int64_t left = a->lanes > 1 && !a->scattered ? (int64_t)a->lanes * a->elem : 0;
  for (int64_t offset = 0, piece; left > 0; offset += piece, left -= piece) {
    piece = piece_of(k, a, left);
    all += crossing(k, a, piece, offset);
  }
  return all;
}

void nw_core_add_memory(const nw_core *k, nw_core_ops *to, const nw_core_access *a) {
  const nw_machine *m = k->machine;
  nw_class c = a->write ? NW_CLASS_STORE : NW_CLASS_LOAD;
  to->numbers[c][nw_core_bits((nw_dtype)k->exec->p->buffer[a->buffer]->dtype)] += a->lanes;
  if (a->scattered) return add_scattered(m, to, a);
  int64_t left = (int64_t)a->lanes * a->elem;
  for (int64_t piece; left > 0; left -= piece) {
    piece = piece_of(k, a, left);
    to->op[c][piece > a->elem || a->lanes > 1 ? nw_width_of(piece) : 0]++;
  }
  to->unit[a->write ? NW_CORE_STORE_CROSSING : NW_CORE_LOAD_CROSSING] += nw_core_crossings(k, a);
}
