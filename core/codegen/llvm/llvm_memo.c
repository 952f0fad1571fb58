// Implements the memo (nwc_memo), which finds the values that were already emitted.
#include "codegen/llvm/llvm.h"
#include <stdlib.h>

int nwc_memo_open(nwc_memo *m) {
  nw_vec_push(&m->alive, m);
  return m->alive.n - 1;
}

void nwc_memo_close(nwc_memo *m, int scope) { m->alive.at[scope] = NULL; }

static struct nwc_memo_entry *slot(const nwc_memo *m, const nw_expr *e) {
  unsigned mask = (unsigned)m->cap - 1, i = (unsigned)e->hash & mask;
  while (m->at[i].key && m->at[i].key != e) i = (i + 1) & mask;
  return &m->at[i];
}

LLVMValueRef nwc_memo_get(const nwc_memo *m, const nw_expr *e, bool *loads) {
  if (!m->cap) return NULL;
  struct nwc_memo_entry *s = slot(m, e);
  if (!s->key || !m->alive.at[s->scope]) return NULL;
  *loads = s->loads;
  return s->value;
}

static void grow(nwc_memo *m) {
  nwc_memo old = *m;
  m->cap = old.cap ? old.cap * 2 : 256;
  m->at = nw_xcalloc((size_t)m->cap, sizeof *m->at);
  m->n = 0;
  for (int i = 0; i < old.cap; i++) {
    if (!old.at[i].key || !m->alive.at[old.at[i].scope]) continue;
    *slot(m, old.at[i].key) = old.at[i];
    m->n++;
  }
  free(old.at);
}

void nwc_memo_put(nwc_memo *m, const nw_expr *e, LLVMValueRef v, int scope, bool loads) {
  if (m->n * 2 >= m->cap) grow(m);
  struct nwc_memo_entry *s = slot(m, e);
  m->n += !s->key;
  *s = (struct nwc_memo_entry){e, v, scope, loads};
}

void nwc_memo_free(nwc_memo *m) {
  free(m->at);
  nw_vec_free(&m->alive);
  *m = (nwc_memo){0};
}
