// Checks the invariants of a program.
#include "ir/program/layout.h"
#include "ir/program/physical.h"
#include "ir/program/pitch.h"
#include "ir/program/reducer.h"
#include "ir/program/tags.h"
#include "ir/program/valid.h"
#include <stdio.h>
#include <stdlib.h>

// A set of names (a hash table with open addressing); names need not be interned.
typedef struct names {
  const char **at;
  size_t n, cap;
} names;

static size_t slot_of(const names *s, const char *name) {
  size_t i = nw_hash_bytes(name, strlen(name)) & (s->cap - 1);
  while (s->at[i] && strcmp(s->at[i], name)) i = (i + 1) & (s->cap - 1);
  return i;
}

static void names_grow(names *s) {
  names old = *s;
  s->cap = old.cap ? 2 * old.cap : 64;
  s->at = nw_xcalloc(s->cap, sizeof *s->at);
  for (size_t i = 0; i < old.cap; i++)
    if (old.at[i]) s->at[slot_of(s, old.at[i])] = old.at[i];
  free(old.at);
}

// Adds a name. Returns false if the name was already in the set.
static bool names_add(names *s, const char *name) {
  if (2 * (s->n + 1) > s->cap) names_grow(s);
  size_t i = slot_of(s, name);
  if (s->at[i]) return false;
  s->at[i] = name;
  s->n++;
  return true;
}

static bool names_have(const names *s, const char *name) { return s->cap && s->at[slot_of(s, name)]; }

typedef struct check {
  const nw_program *p;
  nw_flaw *out;
  nw_path path;
  names loops, blocks, buffers, units;
} check;

static bool flaw(check *c, int at, const char *fmt, ...) NW_PRINTF(3, 4);
static bool flaw(check *c, int at, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  c->out->at = at;
  vsnprintf(c->out->text, sizeof c->out->text, fmt, args);
  va_end(args);
  return false;
}

// ---- expressions: the variables and buffers that they use

// Names that an expression may use besides the sizes.
typedef enum scope_kind { SIZES, LOOPS, BODY, LAYOUT } scope_kind;
static const char *const scope_noun[] = {
    [SIZES] = "a size",
    [LOOPS] = "an enclosing loop or a size",
    [BODY] = "a variable of the block or a size",
    [LAYOUT] = "a dimension of the buffer or a size",
};

typedef struct scope {
  check *c;
  scope_kind kind;
  const nw_stmt *stmt; // LOOPS: the loops around this statement are allowed; BODY: the block
  const nw_buffer *buffer; // for LAYOUT, and for SIZES in the table of buffers
  const char *what;
} scope;

static int place_of(const scope *s) { return s->stmt ? s->stmt->id : s->buffer ? s->buffer->id : 0; }

static bool is_size(const nw_program *p, const char *name) {
  for (int i = 0; i < p->nsizes; i++)
    if (!strcmp(p->size[i].name, name)) return true;
  return false;
}

static bool is_loop_around(const nw_path *path, const nw_stmt *inside, const char *name) {
  for (int i = path->n - 1; i >= 0; i--) {
    const nw_stmt *s = path->at[i];
    if (s->kind == NW_LOOP && s != inside && !strcmp(s->loop.var->name, name)) return true;
  }
  return false;
}

static bool is_block_var(const nw_stmt *block, const char *name) {
  for (int i = 0; i < block->block.nvars; i++)
    if (!strcmp(block->block.var[i].var->name, name)) return true;
  return false;
}

// True for "_0", "_1", ..., the names of the dimensions of the buffer.
static bool is_dimension(const nw_buffer *b, const char *name) {
  char want[16];
  for (int i = 0; i < b->ndim; i++) {
    snprintf(want, sizeof want, "_%d", i);
    if (!strcmp(name, want)) return true;
  }
  return false;
}

static bool in_scope(const scope *s, const char *name) {
  if (s->kind == LOOPS && is_loop_around(&s->c->path, s->stmt, name)) return true;
  if (s->kind == BODY && is_block_var(s->stmt, name)) return true;
  if (s->kind == LAYOUT && is_dimension(s->buffer, name)) return true;
  return is_size(s->c->p, name);
}

// A load in a block has one index per dimension. A load in lowered code has one linear index, and possibly a mask.
static bool check_load(const scope *s, int id, const nw_expr *e) {
  const nw_buffer *b = names_have(&s->c->buffers, e->name) ? nw_find_buffer(s->c->p, e->name) : NULL;
  if (!b) return flaw(s->c, id, "%s reads %s, which is not a buffer", s->what, e->name);
  if (e->type.dtype != b->dtype) return flaw(s->c, id, "%s reads %s as another type", s->what, e->name);
  bool linear = e->n == 1 || (e->n == 2 && e->arg[1]->type.dtype == NW_BOOL);
  if (s->kind == SIZES || s->kind == LAYOUT) return flaw(s->c, id, "%s reads %s", s->what, e->name);
  if (e->n != b->ndim && (s->kind == BODY || !linear))
    return flaw(s->c, id, "%s reads %s with %d indices", s->what, e->name, e->n);
  return true;
}

static bool check_node(void *env, const nw_expr *e) {
  scope *s = env;
  int id = place_of(s);
  if (e->op == NW_OP_VAR && !in_scope(s, e->name))
    return flaw(s->c, id, "%s uses %s, which is not %s", s->what, e->name, scope_noun[s->kind]);
  if (e->op == NW_OP_LOAD) return check_load(s, id, e);
  if (e->op == NW_OP_REDUCE)
    return flaw(s->c, id, "%s contains a reduction; use a block with a combiner instead", s->what);
  return true;
}

static bool check_expr(scope *s, const char *what, const nw_expr *e) {
  s->what = what;
  if (!e) return flaw(s->c, place_of(s), "%s is missing", what);
  return nw_visit(e, check_node, s);
}

// Checks an expression and its type.
static bool check_typed(scope *s, const char *what, const nw_expr *e, nw_dtype t, int lanes) {
  if (!check_expr(s, what, e)) return false;
  if (e->type.dtype == t && e->type.lanes == lanes) return true;
  return flaw(s->c, place_of(s), "%s is %s with %d lanes, but must be %s with %d", what,
              nw_dtype_name((nw_dtype)e->type.dtype), e->type.lanes, nw_dtype_name(t), lanes);
}

// Checks a list of indices or extents.
static bool check_indices(scope *s, const char *what, int n, const nw_expr *const *e) {
  for (int i = 0; i < n; i++)
    if (!check_typed(s, what, e[i], NW_INDEX, 1)) return false;
  return true;
}

// ---- tables

static bool check_strides(check *c, const nw_buffer *b) {
  for (int i = 0; i < b->nstrides; i++) {
    const nw_stride *s = &b->stride[i];
    if (b->role != NW_TEMP) return flaw(c, b->id, "%s belongs to the caller, which expects default strides", b->name);
    if (s->dim < 0 || s->dim >= nw_physical_dims(b)) return flaw(c, b->id, "%s has no dimension %d", b->name, s->dim);
    if (s->factor < 1 || s->factor > NW_MAX_STRIDE || s->offset < 0 || s->offset >= s->factor)
      return flaw(c, b->id, "a stride of %s cannot leave remainder %lld modulo %lld", b->name, (long long)s->offset,
                  (long long)s->factor);
    for (int j = 0; j < i; j++)
      if (b->stride[j].dim == s->dim) return flaw(c, b->id, "%s has two strides of dimension %d", b->name, s->dim);
  }
  return true;
}

static bool check_pad(check *c, const nw_buffer *b) {
  if (!b->pad) return true;
  if (b->role == NW_TEMP || !b->nlayout)
    return flaw(c, b->id, "%s has a pad value, but is not a parameter with a layout", b->name);
  if (b->role == NW_OUTPUT && !nw_layout_is_radix(b))
    return flaw(c, b->id, "the layout of %s does not tell which positions hold no element", b->name);
  bool constant = b->pad->op == NW_OP_INT || b->pad->op == NW_OP_FLOAT;
  return (constant && b->pad->type.dtype == b->dtype) ||
         flaw(c, b->id, "the pad value of %s is not a constant of its type", b->name);
}

static bool check_pitch(check *c, const nw_buffer *b) {
  if (!b->pitch) return true;
  if (b->role == NW_TEMP || b->nlayout)
    return flaw(c, b->id, "%s has strides of the caller, but is not a parameter without a layout", b->name);
  nw_ranges r;
  nw_ranges_of(&r, c->p, NULL);
  bool good =
      nw_pitch_nests(&r, b->ndim, (const nw_expr *const *)b->shape, (const nw_expr *const *)b->pitch, NULL, NULL);
  nw_ranges_free(&r);
  return good || flaw(c, b->id, "with its strides, elements of %s may overlap", b->name);
}

static bool check_buffer(check *c, const nw_buffer *b) {
  scope sizes = {.c = c, .buffer = b};
  if (!nw_name_ok(b->name)) return flaw(c, b->id, "'%s' cannot name a buffer", b->name);
  if (!names_add(&c->buffers, b->name)) return flaw(c, b->id, "there are two buffers named %s", b->name);
  if (!check_indices(&sizes, "the shape of a buffer", b->ndim, b->shape) || !check_strides(c, b)) return false;
  return check_indices(&sizes, "the extents of a layout", b->nlayout, b->layout_shape) &&
         check_indices(&(scope){.c = c, .kind = LAYOUT, .buffer = b}, "a layout", b->nlayout, b->layout) &&
         check_indices(&sizes, "the strides of a buffer", b->pitch ? b->ndim : 0, b->pitch) && check_pad(c, b) &&
         check_pitch(c, b);
}

static bool check_tables(check *c) {
  const nw_program *p = c->p;
  scope sizes = {.c = c};
  if (!nw_name_ok(p->name)) return flaw(c, 0, "'%s' cannot name a program", p->name);
  for (int i = 0; i < p->nsizes; i++) {
    if (!nw_name_ok(p->size[i].name)) return flaw(c, 0, "'%s' cannot name a size", p->size[i].name);
    if (!names_add(&c->loops, p->size[i].name)) return flaw(c, 0, "there are two sizes named %s", p->size[i].name);
    if (!check_indices(&sizes, "the least value of a size", 1, &p->size[i].lo)) return false;
  }
  for (int i = 0; i < p->nfacts; i++)
    if (!check_typed(&sizes, "a fact", p->fact[i], NW_BOOL, 1)) return false;
  for (int i = 0; i < p->nbuffers; i++)
    if (!check_buffer(c, p->buffer[i])) return false;
  return true;
}

// ---- statements

static bool check_fused(check *c, const nw_stmt *s) {
  const nw_expr *box = nw_index(c->p->pool, 1);
  for (int i = 0; i < s->loop.nfused; i++) box = nw_mul(c->p->pool, box, s->loop.fused[i]);
  if (s->loop.nfused && (box != s->loop.extent || !nw_is_const(s->loop.begin, 0)))
    return flaw(c, s->id, "the extent of the fused loop %s is not the product of its dimensions", s->loop.var->name);
  return true;
}

static bool check_loop(check *c, const nw_stmt *s) {
  const char *name = s->loop.var->name;
  scope around = {.c = c, .kind = LOOPS, .stmt = s};
  if (!nw_name_ok(name)) return flaw(c, s->id, "'%s' cannot name a loop", name);
  if (!names_add(&c->loops, name)) return flaw(c, s->id, "there are two loops or sizes named %s", name);
  return check_indices(&around, "the begin of a loop", 1, &s->loop.begin) &&
         check_indices(&around, "the extent of a loop", 1, &s->loop.extent) &&
         check_indices(&around, "the extent of a fused loop", s->loop.nfused, s->loop.fused) && check_fused(c, s);
}

static bool check_vars(check *c, const nw_stmt *s) {
  scope around = {.c = c, .kind = LOOPS, .stmt = s}, sizes = {.c = c, .stmt = s};
  for (int i = 0; i < s->block.nvars; i++) {
    const nw_block_var *v = &s->block.var[i];
    if (!nw_name_ok(v->var->name)) return flaw(c, s->id, "'%s' cannot name a variable", v->var->name);
    if (is_size(c->p, v->var->name)) return flaw(c, s->id, "variable %s has the name of a size", v->var->name);
    for (int j = 0; j < i; j++)
      if (!strcmp(v->var->name, s->block.var[j].var->name))
        return flaw(c, s->id, "block %s has two variables named %s", s->block.name, v->var->name);
    if (!check_indices(&sizes, "the range of a variable", 1, &v->lo) ||
        !check_indices(&sizes, "the range of a variable", 1, &v->extent) ||
        !check_indices(&around, "a binding", 1, &v->bind))
      return false;
  }
  return true;
}

// The instances of a block do not depend on data. A reduction has all contributions that its axes declare.
static bool check_when(check *c, const nw_stmt *s) {
  scope body = {.c = c, .kind = BODY, .stmt = s};
  if (!check_typed(&body, "a when", s->block.when, NW_BOOL, 1)) return false;
  if (nw_uses_load(s->block.when, NULL)) return flaw(c, s->id, "the instances of %s depend on data", s->block.name);
  for (int i = 0; i < s->block.nvars; i++)
    if (s->block.var[i].kind == NW_REDUCE)
      return flaw(c, s->id, "block %s has a condition on its instances, but reduces along %s", s->block.name,
                  s->block.var[i].var->name);
  return true;
}

static bool check_target(check *c, const nw_stmt *s, const nw_block_target *t) {
  scope body = {.c = c, .kind = BODY, .stmt = s};
  if (!names_have(&c->buffers, t->buffer))
    return flaw(c, s->id, "block %s writes %s, which is not a buffer", s->block.name, t->buffer);
  const nw_buffer *b = nw_find_buffer(c->p, t->buffer);
  if (b->ndim != t->n) return flaw(c, s->id, "block %s writes %s with %d indices", s->block.name, t->buffer, t->n);
  if (s->block.has_init && !t->init)
    return flaw(c, s->id, "block %s is marked as having an init but has none", s->block.name);
  return check_indices(&body, "an index", t->n, t->index) && check_typed(&body, "a body", t->value, b->dtype, 1) &&
         (!t->init || check_typed(&body, "an init", t->init, b->dtype, 1));
}

// Checks the targets of a reduction that combines them together.
static bool check_joint(check *c, const nw_stmt *s) {
  nw_combiner k = s->block.combiner;
  if (k >= NW_OWN && !nw_program_reducer(c->p, k))
    return flaw(c, s->id, "block %s uses a reducer that is not in the table", s->block.name);
  const nw_reducer *r = k < NW_OWN ? NULL : nw_reducer_of(c->p->ctx, k);
  if (s->block.ntargets != (r ? r->n : 2))
    return flaw(c, s->id, "block %s has %d targets, but its reduction has %d", s->block.name, s->block.ntargets,
                r ? r->n : 2);
  for (int i = 0; r && i < r->n; i++)
    if (s->block.target[i].value && s->block.target[i].value->type.dtype != r->dtype[i])
      return flaw(c, s->id, "target %d of block %s is not %s, as in its reducer", i + 1, s->block.name,
                  nw_dtype_name(r->dtype[i]));
  return true;
}

static bool check_block(check *c, const nw_stmt *s) {
  scope around = {.c = c, .kind = LOOPS, .stmt = s};
  if (!nw_name_ok(s->block.name) || !nw_name_ok(s->block.origin))
    return flaw(c, s->id, "'%s' cannot name a block", s->block.name);
  if (!names_add(&c->blocks, s->block.name)) return flaw(c, s->id, "there are two blocks named %s", s->block.name);
  if (!s->block.ntargets) return flaw(c, s->id, "block %s does nothing", s->block.name);
  if (s->block.has_init && s->block.combiner == NW_PLAIN)
    return flaw(c, s->id, "block %s has an init but is not a reduction", s->block.name);
  if (s->block.atomic && s->block.combiner == NW_PLAIN)
    return flaw(c, s->id, "block %s is atomic but is not a reduction", s->block.name);
  if (nw_combiner_is_joint(s->block.combiner) && !check_joint(c, s)) return false;
  if (s->block.async && s->block.combiner != NW_PLAIN)
    return flaw(c, s->id, "block %s is asynchronous but is a reduction", s->block.name);
  if (!check_vars(c, s)) return false;
  if (s->block.when && !check_when(c, s)) return false;
  if (s->block.where && !check_typed(&around, "a where", s->block.where, NW_BOOL, 1)) return false;
  for (int i = 0; i < s->block.ntargets; i++)
    if (!check_target(c, s, &s->block.target[i])) return false;
  return true;
}

static bool check_store(check *c, const nw_stmt *s) {
  scope around = {.c = c, .kind = LOOPS, .stmt = s};
  if (!names_have(&c->buffers, s->store.buffer))
    return flaw(c, s->id, "a store to %s, which is not a buffer", s->store.buffer);
  int lanes = s->store.index ? s->store.index->type.lanes : 1;
  nw_dtype t = nw_find_buffer(c->p, s->store.buffer)->dtype;
  return check_typed(&around, "an index", s->store.index, NW_INDEX, lanes) &&
         check_typed(&around, "a value", s->store.value, t, lanes) &&
         (!s->store.mask || check_typed(&around, "a mask", s->store.mask, NW_BOOL, lanes));
}

static bool check_alloc(check *c, const nw_stmt *s) {
  scope around = {.c = c, .kind = LOOPS, .stmt = s};
  if (!names_have(&c->buffers, s->alloc.buffer))
    return flaw(c, s->id, "alloc of %s, which is not a buffer", s->alloc.buffer);
  for (int i = 0; i < c->path.n - 1; i++)
    if (c->path.at[i]->kind == NW_ALLOC && !strcmp(c->path.at[i]->alloc.buffer, s->alloc.buffer))
      return flaw(c, s->id, "alloc of %s inside another alloc of it", s->alloc.buffer);
  const nw_stmt *always = nw_find_buffer(c->p, s->alloc.buffer)->alloc;
  if (always && always != s)
    return flaw(c, s->id, "alloc of %s, which is already allocated for the whole program", s->alloc.buffer);
  return check_indices(&around, "an alloc", s->alloc.n, s->alloc.min) &&
         check_indices(&around, "an alloc", s->alloc.n, s->alloc.extent);
}

// A lowered prefetch has an index instead of a box.
static bool check_prefetch(check *c, const nw_stmt *s) {
  scope around = {.c = c, .kind = LOOPS, .stmt = s};
  const nw_buffer *b = nw_find_buffer(c->p, s->prefetch.buffer);
  if (!b) return flaw(c, s->id, "prefetch of %s, which is not a buffer", s->prefetch.buffer);
  bool lowered = s->prefetch.n == 1 && !s->prefetch.extent[0];
  if (!lowered && s->prefetch.n != b->ndim)
    return flaw(c, s->id, "prefetch of %s with %d indices", s->prefetch.buffer, s->prefetch.n);
  return check_indices(&around, "a prefetch", s->prefetch.n, s->prefetch.min) &&
         (lowered || check_indices(&around, "a prefetch", s->prefetch.n, s->prefetch.extent));
}

static bool check_call(check *c, const nw_stmt *s) {
  scope around = {.c = c, .kind = LOOPS, .stmt = s};
  if (!s->call.intrinsic || !*s->call.intrinsic) return flaw(c, s->id, "a call without an intrinsic");
  for (int i = 0; i < c->path.n - 1; i++)
    if (c->path.at[i]->kind == NW_CALL) return flaw(c, s->id, "a call inside a call");
  for (int i = 0; i < s->call.ntiles; i++) {
    const nw_tile *t = &s->call.tile[i];
    if (!names_have(&c->buffers, t->buffer)) return flaw(c, s->id, "a tile of %s, which is not a buffer", t->buffer);
    if (!check_indices(&around, "the index of a tile", 1, &t->index) ||
        !check_indices(&around, "the stride of a tile", t->n, t->stride))
      return false;
  }
  return true;
}

static bool check_unit(check *c, const nw_stmt *s) {
  if (!s->unit.name || !nw_name_ok(s->unit.name)) return flaw(c, s->id, "a unit without a valid name");
  if (!names_add(&c->units, s->unit.name)) return flaw(c, s->id, "there are two units named %s", s->unit.name);
  return s->nkids ? true : flaw(c, s->id, "the unit %s is empty", s->unit.name);
}

static bool check_tags(check *c, const nw_stmt *s) {
  for (int i = 0; i < s->ntags; i++) {
    const nw_tag_row *row = s->tag[i].row;
    bool fits = s->kind == NW_LOOP ? row->loop : (s->kind == NW_BLOCK || s->kind == NW_STORE) && row->stage;
    if (!fits || !nw_tag_fits(row, &s->tag[i])) return flaw(c, s->id, "%s is not a valid key here", row->key);
  }
  return true;
}

static bool check_own(check *c, const nw_stmt *s) {
  switch (s->kind) {
  case NW_SEQ: return true;
  case NW_LOOP: return check_loop(c, s);
  case NW_BLOCK: return check_block(c, s);
  case NW_GUARD: return check_typed(&(scope){.c = c, .kind = LOOPS, .stmt = s}, "a guard", s->guard.cond, NW_BOOL, 1);
  case NW_STORE: return check_store(c, s);
  case NW_ALLOC: return check_alloc(c, s);
  case NW_PREFETCH: return check_prefetch(c, s);
  case NW_BARRIER:
  case NW_COMMIT: return true;
  case NW_WAIT: return s->wait.groups >= 0 || flaw(c, s->id, "a wait for %d groups", s->wait.groups);
  case NW_CALL: return check_call(c, s);
  case NW_UNIT: return check_unit(c, s);
  }
  return false;
}

static bool check_tree(check *c, nw_stmt *s) {
  if (c->path.n == NW_MAX_DEPTH) return flaw(c, s->id, "statements are nested deeper than %d", NW_MAX_DEPTH);
  c->path.at[c->path.n++] = s;
  bool ok = check_tags(c, s) && check_own(c, s);
  for (int i = 0; ok && i < s->nkids; i++)
    ok = s->kid[i] ? check_tree(c, s->kid[i]) : flaw(c, s->id, "a statement is NULL");
  c->path.n--;
  return ok;
}

static bool check_allocs(check *c) {
  bool ok = true;
  for (int i = 0; ok && i < c->p->nbuffers; i++)
    if (c->p->buffer[i]->alloc) ok = check_tree(c, c->p->buffer[i]->alloc);
  return ok;
}

bool nw_program_flaw(const nw_program *p, nw_flaw *out) {
  check c = {.p = p, .out = out};
  bool ok = check_tables(&c) && check_allocs(&c) && check_tree(&c, p->root);
  free(c.loops.at);
  free(c.blocks.at);
  free(c.buffers.at);
  free(c.units.at);
  return !ok;
}
