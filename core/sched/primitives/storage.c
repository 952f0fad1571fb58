// cache_read and set_scope: copy a tensor, and choose the memory of a buffer. Also has functions that other primitives
// use to copy tensors.
#include "sched/primitives/storage.h"
#include "sched/primitives/place.h"
#include "ir/text/lines.h" // nw_scope_parse
#include "sched/primitives.h"
#include "sched/tree.h"
#include <stdlib.h>

static bool no_such_scope(nw_step *st, int param, const char *name) {
  const nw_target *t = st->p->target;
  nw_str all = {0};
  bool chip = t->machine.kind == NW_MACHINE_ACCELERATOR;
  for (int i = 0; i < t->limit.nscopes && chip; i++) nw_str_fmt(&all, "%s%s", i ? ", " : "", t->limit.scope[i].name);
  nw_fail(st->ctx, NW_EINVAL, nw_arena_printf(st->scratch, "one of %s", chip ? all.s : "global, local, shared, warp"),
          "%s: %s cannot be '%s'", st->primitive->name, st->primitive->param[param].name, name);
  nw_str_free(&all);
  return false;
}

bool nw_take_scope(nw_step *st, int param, nw_buffer *b) {
  const char *name = nw_step_str(st, param, "global");
  nw_scope scope;
  const nw_machine *m = &st->p->target->machine;
  bool chip = m->kind == NW_MACHINE_ACCELERATOR && strcmp(name, "global") && nw_target_scope(st->p->target, name);
  bool common = nw_scope_parse(name, &scope) && scope != NW_CHIP;
  if (!chip && !common) return no_such_scope(st, param, name);
  b->scope = chip ? NW_CHIP : scope;
  b->chip = chip ? nw_pool_name(st->p->pool, name) : NULL;
  return true;
}

nw_buffer *nw_new_cache(nw_step *st, const nw_buffer *of, int scope, int name, const char *suffix) {
  const char *want = nw_step_str(st, name, NULL);
  if (!want) want = nw_arena_printf(st->scratch, "%s_%s", of->name, suffix);
  if (nw_step_given(st, name) && !nw_name_given(st->ctx, "a buffer", want)) return NULL;
  const char *unique = nw_unique_block_name(st->p, nw_unique_buffer_name(st->p, want));
  if (nw_step_given(st, name) && strcmp(unique, want)) {
    nw_fail(st->ctx, NW_EINVAL, NULL, "%s: the name %s is already used", st->primitive->name, want);
    return NULL;
  }
  nw_buffer *b = nw_add_buffer(st->p, unique, of->dtype, NW_GLOBAL, NW_TEMP, of->ndim, of->shape);
  return nw_take_scope(st, scope, b) ? b : NULL;
}

// ---- copy blocks

nw_stmt *nw_copy_block(nw_step *st, const char *name, const char *to, const nw_buffer *from, int nvars,
                       const nw_block_var *var, int n, const nw_expr *const *index) {
  nw_arena *a = st->p->arena;
  nw_stmt *s = nw_new_stmt(st->p, NW_BLOCK);
  s->block.name = nw_pool_name(st->p->pool, name);
  s->block.combiner = NW_PLAIN;
  s->block.nvars = nvars;
  s->block.var = NW_NEW_N(a, nw_block_var, nvars + 1);
  if (nvars) memcpy(s->block.var, var, (size_t)nvars * sizeof *var);
  s->block.ntargets = 1;
  s->block.target = NW_NEW(a, nw_block_target);
  nw_block_target *t = s->block.target;
  t->buffer = nw_pool_name(st->p->pool, to);
  t->n = n;
  t->index = NW_NEW_N(a, const nw_expr *, n + 1);
  if (n) memcpy(t->index, index, (size_t)n * sizeof *index);
  t->value = nw_load(st->p->pool, (nw_type){(uint8_t)from->dtype, 1}, from->name, n, index);
  return s;
}

// ---- stages along the variables of a block

nw_along nw_along_of(nw_step *st, const nw_stmt *block, int n, const nw_expr *const *e) {
  nw_pool *pool = st->p->pool;
  int most = block->block.nvars + 1;
  nw_along d = {.old = NW_NEW_N(st->scratch, const char *, most),
                .from = NW_NEW_N(st->scratch, const nw_expr *, most),
                .index = NW_NEW_N(st->scratch, const nw_expr *, most),
                .extent = NW_NEW_N(st->scratch, const nw_expr *, most),
                .var = NW_NEW_N(st->scratch, nw_block_var, most)};
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    bool used = false;
    for (int k = 0; k < n; k++) used |= nw_uses_var(e[k], v->var->name);
    if (!used) continue;
    d.old[d.n] = v->var->name;
    d.from[d.n] = nw_add(pool, v->var, v->lo);
    d.index[d.n] = nw_sub(pool, v->var, v->lo);
    d.extent[d.n] = v->extent;
    d.var[d.n++] = (nw_block_var){v->var, NW_SPATIAL, nw_index(pool, 0), v->extent, v->var};
  }
  return d;
}

nw_stmt *nw_stage_along(nw_step *st, const nw_buffer *to, const nw_along *d, const nw_expr *value) {
  const nw_expr **index = NW_NEW_N(st->scratch, const nw_expr *, d->n + 1);
  for (int i = 0; i < d->n; i++) index[i] = d->var[i].var;
  nw_stmt *s = nw_copy_block(st, to->name, to->name, to, d->n, d->var, d->n, index);
  s->block.origin = nw_unique_origin(st->p, to->name);
  s->block.target[0].value = nw_subst_n(st->p->pool, value, d->n, d->old, d->from);
  return s;
}

// ---- cache_read

enum { READ_TENSOR, READ_SCOPE, READ_READERS, READ_LAYOUT, READ_NAME, READ_AT, READ_ACCESSES };

typedef struct renaming {
  nw_pool *pool;
  const char *from, *to;
  const nw_expr *only; // the only load to rename; NULL if all loads of `from` are renamed
} renaming;

static const nw_expr *rename_load(void *env, const nw_expr *e) {
  const renaming *r = env;
  bool wanted = r->only ? e == r->only : !strcmp(e->name, r->from);
  return wanted ? nw_load(r->pool, e->type, r->to, e->n, e->arg) : NULL;
}

nw_buffer *nw_tensor_arg(nw_step *st, int param) {
  const char *name = st->resolved[param].name;
  nw_buffer *b = nw_find_buffer(st->p, name);
  const nw_stmt *block = b ? NULL : nw_stage_block(st->p, name);
  if (block) b = nw_find_buffer(st->p, block->block.target[0].buffer);
  if (b) return b;
  nw_str list = {0};
  for (int i = 0; i < st->p->nbuffers; i++) nw_str_fmt(&list, "%s%s", i ? ", " : "", st->p->buffer[i]->name);
  nw_fail(st->ctx, NW_EINVAL, NULL, "%s: no tensor \"%s\"; tensors are %s", st->primitive->name, name,
          list.s ? list.s : "none");
  nw_str_free(&list);
  return NULL;
}

static bool no_reader(nw_step *st, const char *tensor) {
  return nw_step_refuse(st, "a copy must have a reader", NULL, "nothing reads %s", tensor);
}

// True if the block must read the copy. By default, all readers must read the copy, except blocks that also write the
// tensor, such as a scan.
static bool is_named(nw_step *st, const nw_stmt *block, const char *tensor, const nw_arg *readers) {
  if (readers->kind == NW_ARG_NONE || !readers->n) return !nw_block_writes(block, tensor);
  for (int i = 0; i < readers->n; i++)
    if (nw_stage_block(st->p, readers->item[i].name) == block) return true;
  return false;
}

static bool readers_read(nw_step *st, const char *tensor, const nw_arg *readers) {
  for (int i = 0; i < readers->n && readers->kind == NW_ARG_LIST; i++) {
    const nw_stmt *block = nw_stage_block(st->p, readers->item[i].name);
    if (!block) return nw_fail_unknown_stage(st->ctx, st->p, readers->item[i].name), false;
    if (!nw_block_reads(block, tensor))
      return nw_step_refuse(st, "a copy must have a reader", NULL, "%s does not read %s", block->block.name, tensor);
  }
  return true;
}

typedef struct read_list {
  const char *tensor;
  nw_vec load; // const nw_expr *
} read_list;

static bool see_read(void *env, const nw_expr *e) {
  read_list *x = env;
  if (e->op != NW_OP_LOAD || strcmp(e->name, x->tensor)) return true;
  for (int i = 0; i < x->load.n; i++)
    if (x->load.at[i] == e) return true;
  nw_vec_push(&x->load, (void *)e);
  return true;
}

nw_vec nw_reads_of(const nw_stmt *block, const char *tensor) {
  read_list x = {.tensor = tensor};
  for (int t = 0; t < block->block.ntargets; t++) {
    nw_visit(block->block.target[t].value, see_read, &x);
    nw_visit(block->block.target[t].init, see_read, &x);
  }
  return x.load;
}

const char *nw_list_reads(nw_step *st, const nw_stmt *block, const nw_vec *load) {
  nw_str list = {0};
  for (int i = 0; i < load->n; i++) {
    char *e = nw_expr_show(load->at[i]);
    nw_str_fmt(&list, "%s%d: %s", i ? ", " : "", i + 1, e);
    free(e);
  }
  const char *text = nw_arena_printf(st->scratch, "%s reads %s", block->block.name, list.s);
  nw_str_free(&list);
  return text;
}

bool nw_fail_unknown_read(nw_step *st, const nw_stmt *block, const char *tensor, int64_t number, const nw_vec *load) {
  return nw_fail(st->ctx, NW_EINVAL, nw_list_reads(st, block, load), "%s: %s has no access %lld of %s",
                 st->primitive->name, block->block.name, (long long)number, tensor);
}

// Renames the given reads of the block, the last one first. If a read is in the index of another, the other is renamed
// before its index changes.
static bool rename_reads(nw_step *st, nw_stmt *block, renaming r, const nw_arg *numbers) {
  nw_vec load = nw_reads_of(block, r.from);
  bool *wanted = NW_NEW_N(st->scratch, bool, load.n + 1), ok = true;
  for (int i = 0; i < numbers->n && ok; i++) {
    int64_t number = numbers->item[i].i;
    ok = number >= 1 && number <= load.n;
    if (ok) wanted[number - 1] = true;
    if (!ok) nw_fail_unknown_read(st, block, r.from, number, &load);
  }
  for (int i = load.n - 1; i >= 0 && ok; i--) {
    if (!wanted[i]) continue;
    r.only = load.at[i];
    nw_block_rewrite(st->p, block, rename_load, &r);
  }
  nw_vec_free(&load);
  return ok;
}

// Lets the readers read the copy. Returns their number, or -1 with an error.
static int rename_readers(nw_step *st, const char *from, const char *to, const nw_arg *readers) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  const nw_arg *numbers = &st->resolved[READ_ACCESSES];
  renaming r = {st->p->pool, from, to, NULL};
  int n = 0;
  for (int i = 0; i < b.n; i++) {
    if (!nw_block_reads(b.at[i], from) || !is_named(st, b.at[i], from, readers)) continue;
    n++;
    if (numbers->kind == NW_ARG_NONE)
      nw_block_rewrite(st->p, b.at[i], rename_load, &r);
    else if (!rename_reads(st, b.at[i], r, numbers))
      return -1;
  }
  return n;
}

// Holds names for the axes of a tensor: the variables with which a stage writes or reads the tensor.
typedef struct axes {
  const char *buffer;
  const char **name;
} axes;

static void name_axes(axes *x, int n, const nw_expr *const *index) {
  for (int d = 0; d < n; d++)
    if (index[d]->op == NW_OP_VAR && !x->name[d]) x->name[d] = index[d]->name;
}

static bool see_load(void *env, const nw_expr *e) {
  axes *x = env;
  if (e->op == NW_OP_LOAD && !strcmp(e->name, x->buffer)) name_axes(x, e->n, e->arg);
  return true;
}

static bool see_writer(void *env, nw_stmt *s) {
  axes *x = env;
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++)
    if (!strcmp(s->block.target[t].buffer, x->buffer)) name_axes(x, s->block.target[t].n, s->block.target[t].index);
  return true;
}

static bool see_reader(void *env, nw_stmt *s) {
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++) nw_visit(s->block.target[t].value, see_load, env);
  return true;
}

static bool is_size(const nw_program *p, const char *name) {
  for (int i = 0; i < p->nsizes; i++)
    if (!strcmp(p->size[i].name, name)) return true;
  return false;
}

// True if axis d has a name that is not the name of a size or of an earlier axis.
static bool is_free(const nw_program *p, const char *const *name, int d) {
  if (!name[d] || is_size(p, name[d])) return false;
  for (int e = 0; e < d; e++)
    if (!strcmp(name[e], name[d])) return false;
  return true;
}

// Returns names for the axes of a buffer, for example k and j, or ax0 and ax1 if no better names are known. The names
// are distinct, and they are not names of sizes.
static const char **axis_names(nw_step *st, const nw_buffer *b) {
  axes x = {b->name, NW_NEW_N(st->scratch, const char *, b->ndim + 1)};
  nw_walk_from(st->p->root, see_writer, &x);
  nw_walk_from(st->p->root, see_reader, &x);
  for (int d = 0; d < b->ndim; d++)
    for (int k = d; !is_free(st->p, x.name, d); k++) x.name[d] = nw_arena_printf(st->scratch, "ax%d", k);
  return x.name;
}

static nw_stmt *copy_of(nw_step *st, const nw_buffer *from, const nw_buffer *to) {
  nw_pool *pool = st->p->pool;
  const char **name = axis_names(st, from);
  nw_block_var *var = NW_NEW_N(st->scratch, nw_block_var, from->ndim + 1);
  const nw_expr **index = NW_NEW_N(st->scratch, const nw_expr *, from->ndim + 1);
  for (int d = 0; d < from->ndim; d++) {
    index[d] = nw_var(pool, name[d]);
    var[d] = (nw_block_var){index[d], NW_SPATIAL, nw_index(pool, 0), from->shape[d], index[d]};
  }
  nw_stmt *s = nw_copy_block(st, to->name, to->name, from, from->ndim, var, from->ndim, index);
  s->block.origin = nw_unique_origin(st->p, to->name);
  return s;
}

nw_stmt *nw_home_of(nw_step *st, const char *buffer) {
  const nw_stmt *a = nw_find_alloc(st->p, buffer);
  nw_path path;
  if (!a || !nw_find(st->p, a->id, &path)) return NULL;
  for (int i = path.n - 1; i > 0; i--)
    if (path.at[i]->kind == NW_LOOP) return path.at[i];
  return NULL;
}

// True if each iteration of the loop has its own buffers of this scope, and the loop's threads have them in common.
static bool owns(const nw_stmt *s, nw_scope scope) {
  if (scope == NW_GLOBAL) return false;
  if (nw_is_block_loop(s)) return true;
  return nw_is_thread_loop(s) && (scope == NW_LOCAL || (scope == NW_WARP && nw_grid_dim(s) > 3));
}

// Returns the loop in which a copy is made if the step specifies none: the loop around the storage of the tensor, or a
// loop inside it around all readers that has its own storage of this scope.
static nw_stmt *home_for(nw_step *st, const nw_buffer *from, const nw_buffer *to) {
  nw_stmt *home = nw_home_of(st, from->name);
  nw_path common = {0}, path;
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < b.n; i++) {
    if (!nw_block_reads(b.at[i], to->name)) continue;
    nw_find(st->p, b.at[i]->id, &path);
    int n = 0, most = common.n ? common.n : path.n;
    while (n < most && n < path.n && (!common.n || path.at[n] == common.at[n])) n++;
    common = path;
    common.n = n;
  }
  for (int i = common.n - 1; i > 0 && common.at[i] != home; i--)
    if (common.at[i]->kind == NW_LOOP && owns(common.at[i], to->scope)) return common.at[i];
  return home;
}

static bool is_output(nw_step *st, const nw_buffer *b) {
  if (b->role != NW_OUTPUT) return false;
  nw_blocks all = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < all.n; i++)
    if (nw_block_reads(all.at[i], b->name)) return false;
  return true;
}

bool nw_apply_cache_read(void *step) {
  nw_step *st = step;
  nw_path at;
  const nw_arg *readers = &st->resolved[READ_READERS];
  nw_buffer *from = nw_tensor_arg(st, READ_TENSOR);
  nw_stmt *loop = from && nw_step_given(st, READ_AT) ? nw_step_loop(st, READ_AT, &at) : NULL;
  if (!from || (nw_step_given(st, READ_AT) && !loop) || !readers_read(st, from->name, readers)) return false;
  if (is_output(st, from)) return no_reader(st, from->name);
  if (nw_step_given(st, READ_ACCESSES) && !st->resolved[READ_ACCESSES].n)
    return nw_fail(st->ctx, NW_EINVAL, "{1} is the first read of each reader", "cache_read: accesses is empty");
  const char *suffix = nw_step_given(st, READ_LAYOUT) ? "packed" : nw_step_str(st, READ_SCOPE, "global");
  nw_buffer *to = nw_new_cache(st, from, READ_SCOPE, READ_NAME, suffix);
  if (!to || !nw_set_layout(st, to, &st->resolved[READ_LAYOUT])) return false;
  nw_stmt *block = copy_of(st, from, to);
  int n = rename_readers(st, from->name, to->name, readers);
  if (n <= 0) return n < 0 ? false : no_reader(st, from->name);
  nw_lifted stage = {.block = block, .reuse = NW_NEW_N(st->scratch, nw_stmt *, block->block.nvars + 1)};
  if (!loop) loop = home_for(st, from, to);
  if (!nw_place(st, &stage, loop)) return false;
  nw_step_returns_stage(st, block->block.name);
  return true;
}

// ---- temporaries

nw_buffer *nw_temp_arg(nw_step *st, int param) {
  nw_buffer *b = nw_tensor_arg(st, param);
  if (!b || b->role == NW_TEMP) return b;
  nw_step_refuse(st, "the caller owns it; use cache_read or cache_write to make a copy that can be changed", NULL,
                 "it is an %s", b->role == NW_INPUT ? "input" : "output");
  return NULL;
}

typedef struct touched {
  const char *buffer;
  int step;
} touched;

static bool touch(void *env, const nw_path *path) {
  const touched *t = env;
  nw_stmt *s = path->at[path->n - 1];
  if (s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, t->buffer)) s->step = t->step;
  return true;
}

void nw_touch_allocs(nw_step *st, const char *buffer) { nw_walk(st->p, touch, &(touched){buffer, st->p->step}); }

// ---- set_scope

bool nw_apply_set_scope(void *step) {
  nw_step *st = step;
  nw_buffer *b = nw_temp_arg(st, 0);
  if (!b || !nw_take_scope(st, 1, b)) return false;
  nw_touch_allocs(st, b->name);
  return true;
}
