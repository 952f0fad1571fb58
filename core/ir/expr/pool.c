// Implements the two hash tables of a pool. One table has the interned expressions. The other table has the interned
// names, with the objects that they stand for.
#include "ir/expr/fold.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct name_entry {
  uint64_t hash;
  const nw_symbol_class *cls;
  void *object; // holds a reference; NULL if the name is not defined
  char text[];
} name_entry;

struct nw_pool {
  int refs;
  nw_ctx *ctx;
  nw_arena *arena;
  const nw_expr **expr; // hash table with open addressing, at most half full
  uint32_t nexpr, expr_bits;
  name_entry **name;
  uint32_t nname, name_bits;
};

// Returns an empty pool with one reference.
nw_pool *nw_pool_new(nw_ctx *c) {
  nw_pool *p = nw_xcalloc(1, sizeof *p);
  p->refs = 1;
  p->ctx = c;
  p->arena = nw_arena_new();
  p->expr_bits = 6;
  p->expr = nw_xcalloc((size_t)1 << p->expr_bits, sizeof *p->expr);
  p->name_bits = 4;
  p->name = nw_xcalloc((size_t)1 << p->name_bits, sizeof *p->name);
  return p;
}

nw_pool *nw_pool_retain(nw_pool *p) {
  if (p) p->refs++;
  return p;
}

static void release_symbols(nw_pool *p) {
  for (uint32_t i = 0; i < 1u << p->name_bits; i++) {
    name_entry *e = p->name[i];
    if (e && e->object) e->cls->release(e->object);
  }
}

// The last release frees all expressions, and releases the pool's references to the objects of its symbols.
void nw_pool_release(nw_pool *p) {
  if (!p || --p->refs > 0) return;
  release_symbols(p);
  free(p->expr);
  free(p->name);
  nw_arena_free(p->arena);
  free(p);
}

nw_ctx *nw_pool_ctx(const nw_pool *p) { return p->ctx; }

nw_pool *nw_expr_pool(const nw_expr *e) { return e->pool; }

size_t nw_pool_bytes(const nw_pool *p) {
  return sizeof *p + nw_arena_bytes(p->arena) + (sizeof(void *) << p->expr_bits) + (sizeof(void *) << p->name_bits);
}

// ---------------------------------------------------------------- names

static name_entry **name_slot(const nw_pool *p, const char *s, uint64_t hash) {
  uint32_t mask = (1u << p->name_bits) - 1, i = (uint32_t)(hash >> 32) & mask;
  while (p->name[i] && (p->name[i]->hash != hash || strcmp(p->name[i]->text, s) != 0)) i = (i + 1) & mask;
  return &p->name[i];
}

static void grow_names(nw_pool *p) {
  uint32_t old = 1u << p->name_bits;
  name_entry **was = p->name, **more = nw_xcalloc((size_t)2 << p->name_bits, sizeof *more);
  p->name = more;
  p->name_bits++;
  for (uint32_t i = 0; i < old; i++)
    if (was[i]) *name_slot(p, was[i]->text, was[i]->hash) = was[i];
  free(was);
}

static name_entry *intern_name(nw_pool *p, const char *s) {
  size_t n = strlen(s);
  uint64_t hash = nw_hash_bytes(s, n);
  name_entry **slot = name_slot(p, s, hash);
  if (*slot) return *slot;
  name_entry *e = nw_arena_alloc(p->arena, sizeof *e + n + 1);
  e->hash = hash;
  memcpy(e->text, s, n + 1);
  *slot = e;
  if (++p->nname * 2 > 1u << p->name_bits) grow_names(p);
  return e;
}

static uint64_t interned_hash(const char *name) {
  return ((const name_entry *)(name - offsetof(name_entry, text)))->hash;
}

// Returns the only copy of a name in this pool.
const char *nw_pool_name(nw_pool *p, const char *s) { return intern_name(p, s)->text; }

// Defines a name as a symbol. The pool holds a reference to the object. Defining the name again with the same object
// does nothing.
void nw_pool_define(nw_pool *p, const char *name, const nw_symbol_class *cls, void *object) {
  name_entry *e = intern_name(p, name);
  if (e->object == object) return;
  void *was = e->object;
  const nw_symbol_class *was_cls = e->cls;
  e->cls = cls;
  e->object = cls->retain(object);
  if (was) was_cls->release(was);
}

const char *nw_dim_name(nw_pool *p, int d) {
  char name[16];
  snprintf(name, sizeof name, "_%d", d);
  return nw_pool_name(p, name);
}

// Returns the object that a name stands for, or NULL if the name is not a symbol.
void *nw_pool_symbol(const nw_pool *p, const char *name, const nw_symbol_class **cls) {
  name_entry *e = *name_slot(p, name, nw_hash_bytes(name, strlen(name)));
  if (cls) *cls = e ? e->cls : NULL;
  return e ? e->object : NULL;
}

// ---------------------------------------------------------------- expressions

static bool has_name(const nw_expr *e) { return e->op == NW_OP_VAR || e->op == NW_OP_LOAD; }

static bool is_data_var(const nw_expr *e) { return e->op == NW_OP_VAR && e->data; }

static uint64_t payload(const nw_expr *e) { return has_name(e) ? interned_hash(e->name) : (uint64_t)e->i; }

static uint64_t structural_hash(const nw_expr *head, const nw_expr *const *args) {
  uint64_t kind = head->op | (uint64_t)head->type.dtype << 8 | (uint64_t)head->type.lanes << 16;
  uint64_t h = nw_hash_mix(kind | (uint64_t)is_data_var(head) << 32, payload(head));
  for (int i = 0; i < head->n; i++) h = nw_hash_mix(h, args[i]->hash);
  return h;
}

static bool same_node(const nw_expr *e, const nw_expr *head, const nw_expr *const *args) {
  if (e->hash != head->hash || e->op != head->op || e->n != head->n || e->type.dtype != head->type.dtype ||
      e->type.lanes != head->type.lanes || e->i != head->i || is_data_var(e) != is_data_var(head))
    return false;
  for (int i = 0; i < e->n; i++)
    if (e->arg[i] != args[i]) return false;
  return true;
}

static uint32_t expr_place(const nw_pool *p, uint64_t hash) { return (uint32_t)(hash >> (64 - p->expr_bits)); }

static void grow_exprs(nw_pool *p) {
  uint32_t old = 1u << p->expr_bits, mask = 2 * old - 1;
  const nw_expr **was = p->expr, **more = nw_xcalloc((size_t)2 * old, sizeof *more);
  p->expr = more;
  p->expr_bits++;
  for (uint32_t k = 0; k < old; k++) {
    if (!was[k]) continue;
    uint32_t i = expr_place(p, was[k]->hash);
    while (p->expr[i]) i = (i + 1) & mask;
    p->expr[i] = was[k];
  }
  free(was);
}

static void measure(nw_expr *e) {
  uint32_t depth = 0, size = 1;
  e->data = is_data_var(e) || e->op == NW_OP_LOAD || e->op == NW_OP_CAST || e->op == NW_OP_REINTERPRET ||
            e->op == NW_OP_REDUCE;
  for (int i = 0; i < e->n; i++) {
    if (e->arg[i]->depth > depth) depth = e->arg[i]->depth;
    size += e->arg[i]->size;
    e->data |= e->arg[i]->data;
    if (size >= 1u << 20) size = (1u << 20) - 1;
  }
  e->depth = depth < 4095 ? depth + 1 : 4095;
  e->size = size;
}

static nw_expr *new_node(nw_pool *p, const nw_expr *head, const nw_expr *const *args) {
  nw_expr *e = nw_arena_alloc(p->arena, sizeof *e + (size_t)head->n * sizeof *args);
  memcpy(e, head, sizeof *e);
  e->serial = p->nexpr;
  e->pool = p;
  if (head->n) memcpy(e->arg, args, (size_t)head->n * sizeof *args);
  measure(e);
  return e;
}

const nw_expr *nw_intern(nw_pool *p, const nw_expr *head, const nw_expr *const *args) {
  nw_expr key = *head;
  key.hash = structural_hash(head, args);
  uint32_t mask = (1u << p->expr_bits) - 1, i = expr_place(p, key.hash);
  for (; p->expr[i]; i = (i + 1) & mask)
    if (same_node(p->expr[i], &key, args)) return p->expr[i];
  const nw_expr *e = p->expr[i] = new_node(p, &key, args);
  if (++p->nexpr * 2 > 1u << p->expr_bits) grow_exprs(p);
  return e;
}

const nw_expr *nw_raw(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args) {
  nw_expr head = {.op = (uint8_t)op, .type = t, .n = (uint16_t)n};
  return nw_intern(p, &head, args);
}
