// Keeps LLVM from merging the loads of a long unrolled reduction.
//
// The terms of such a reduction often read vectors that overlap: at machine level, some of their registers hold the
// same elements. If LLVM sees that, it loads each register once and keeps it until its last use, which may be dozens of
// terms later. There are not enough registers for that, so they are spilled, which takes longer than loading again. A
// load becomes volatile if it is used by one term only, and if the loads of all terms together do not fit into the
// registers.
#include "codegen/llvm/llvm.h"

enum { MOST_LOADS = 4096 };

typedef struct search {
  nwc *g;
  const nw_stmt *store;
  nw_vec *loads, *users; // the loads found so far; for each, the store that uses it, or the search itself if several do
} search;

static bool is_own(const nw_stmt *s, const nw_expr *load) {
  return load->arg[0] == s->store.index && !strcmp(load->name, s->store.buffer);
}

static bool note(void *env, const nw_expr *e) {
  search *x = env;
  bool line = e->op == NW_OP_LOAD && e->n == 1 && e->arg[0]->op == NW_OP_RAMP && nw_is_const(e->arg[0]->arg[1], 1);
  if (!line || is_own(x->store, e)) return true;
  if (x->g->exec->storage[nwc_buffer_index(x->g, e->name)].kind == NW_STORE_STACK) return true;
  for (int i = 0; i < x->loads->n; i++)
    if (x->loads->at[i] == e) {
      if (x->users->at[i] != x->store) x->users->at[i] = x;
      return true;
    }
  nw_vec_push(x->loads, (void *)e);
  nw_vec_push(x->users, (void *)x->store);
  return x->loads->n < MOST_LOADS;
}

static bool reads_own(void *env, const nw_expr *e) { return e->op != NW_OP_LOAD || !is_own(env, e); }

// True if the statement updates an element that the next statement updates, too.
static bool is_term(const nw_stmt *s, const nw_stmt *next) {
  return s->kind == NW_STORE && next->kind == NW_STORE && s->store.index == next->store.index &&
         !strcmp(s->store.buffer, next->store.buffer) && !nw_visit(next->store.value, reads_own, (void *)next);
}

static int registers_of(const nwc *g, const nw_expr *load) {
  int bytes = load->type.lanes * nw_dtype_bytes((nw_dtype)load->type.dtype), width = nwc_register_bytes(g);
  return (bytes + width - 1) / width;
}

void nwc_find_alone(nwc *g, const nw_stmt *s, nw_vec *out) {
  nw_vec loads = {0}, users = {0};
  search x = {.g = g, .loads = &loads, .users = &users};
  int registers = 0, most = nw_has(g->p->target->features, NW_FEATURE_AVX512VL) ? 32 : 16;
  for (int i = 0; i < s->nkids; i++) {
    bool term = (i > 0 && is_term(s->kid[i - 1], s->kid[i])) || (i + 1 < s->nkids && is_term(s->kid[i], s->kid[i + 1]));
    x.store = s->kid[i];
    if (term && !nw_visit(x.store->store.value, note, &x)) break;
  }
  for (int i = 0; i < loads.n; i++) registers += registers_of(g, loads.at[i]);
  for (int i = 0; i < loads.n && registers > most; i++)
    if (users.at[i] != &x) nw_vec_push(out, loads.at[i]);
  nw_vec_free(&loads);
  nw_vec_free(&users);
}

bool nwc_is_alone(const nwc *g, const nw_expr *load) {
  for (int i = 0; g->alone && i < g->alone->n; i++)
    if (g->alone->at[i] == load) return true;
  return false;
}
