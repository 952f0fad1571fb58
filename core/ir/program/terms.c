// Describes the block of a stage as data: its axes, and how its result and its reads are indexed by them.
#include "ir/expr/fold.h" // nw_is_constant
#include "ir/program/program.h"
#include <stdlib.h>

static const nw_stmt *find_stage(const nw_stmt *at, const char *name) {
  if (at->kind == NW_BLOCK) return strcmp(at->block.name, name) ? NULL : at;
  const nw_stmt *found = NULL;
  for (int i = 0; i < at->nkids && !found; i++) found = find_stage(at->kid[i], name);
  return found;
}

static const nw_expr *without_casts(const nw_expr *e) {
  while (e->op == NW_OP_CAST) e = e->arg[0];
  return e;
}

static bool is_product(const nw_stmt *block) {
  const nw_expr *e = without_casts(block->block.target[0].value);
  return block->block.combiner == NW_SUM && block->block.ntargets == 1 && e->op == NW_OP_MUL &&
         without_casts(e->arg[0])->op == NW_OP_LOAD && without_casts(e->arg[1])->op == NW_OP_LOAD;
}

static bool is_copy(const nw_stmt *block) {
  const nw_expr *e = block->block.target[0].value;
  const nw_expr *pad = e->op == NW_OP_SELECT && nw_is_constant(e->arg[2]) ? e->arg[2] : NULL;
  while (pad && e->op == NW_OP_SELECT && e->arg[2] == pad) e = e->arg[1];
  return block->block.combiner == NW_PLAIN && e->op == NW_OP_LOAD;
}

static void read_index(const nw_program *p, const nw_stmt *block, int n, const nw_expr *const *index,
                       nw_access_facts *a) {
  int nvars = block->block.nvars;
  const char **var = nw_xcalloc((size_t)nvars + 1, sizeof *var);
  for (int v = 0; v < nvars; v++) var[v] = block->block.var[v].var->name;
  a->ndim = n;
  a->affine = nw_xcalloc((size_t)n + 1, sizeof *a->affine);
  a->coef = nw_xcalloc((size_t)(n * nvars) + 1, sizeof *a->coef);
  for (int d = 0; d < n; d++) a->affine[d] = nw_affine(p->pool, index[d], nvars, var, a->coef + d * nvars, NULL);
  free(var);
}

typedef struct reading {
  const nw_program *p;
  const nw_stmt *block;
  nw_stage_facts *out;
} reading;

static bool see_load(void *env, const nw_expr *e) {
  reading *r = env;
  if (e->op != NW_OP_LOAD) return true;
  nw_stage_facts *f = r->out;
  f->access = nw_xrealloc(f->access, ((size_t)f->naccesses + 1) * sizeof *f->access);
  nw_access_facts *a = &f->access[f->naccesses++];
  *a = (nw_access_facts){.tensor = e->name, .dtype = (nw_dtype)e->type.dtype};
  read_index(r->p, r->block, e->n, e->arg, a);
  return true;
}

bool nw_program_stage(const nw_program *p, const char *stage, nw_stage_facts *out) {
  const nw_stmt *block = p ? find_stage(p->root, stage) : NULL;
  *out = (nw_stage_facts){0};
  if (!block) return false;
  const nw_block_target *t = &block->block.target[0];
  out->naxes = block->block.nvars;
  out->axis = nw_xcalloc((size_t)out->naxes + 1, sizeof *out->axis);
  for (int v = 0; v < out->naxes; v++) {
    const nw_block_var *var = &block->block.var[v];
    out->axis[v] = (nw_axis_facts){.name = var->var->name, .reduced = var->kind == NW_REDUCE, .extent = -1};
    if (!nw_is_int(var->extent, &out->axis[v].extent)) out->axis[v].extent = -1;
  }
  out->reduction = block->block.combiner != NW_PLAIN;
  out->product = is_product(block);
  out->copy = is_copy(block);
  out->access = nw_xcalloc(1, sizeof *out->access);
  out->access[0] = (nw_access_facts){.tensor = t->buffer, .dtype = nw_find_buffer(p, t->buffer)->dtype};
  read_index(p, block, t->n, t->index, &out->access[0]);
  out->naccesses = 1;
  nw_visit(t->value, see_load, &(reading){p, block, out});
  return true;
}

void nw_stage_facts_free(nw_stage_facts *f) {
  for (int i = 0; i < f->naccesses; i++) free(f->access[i].affine), free(f->access[i].coef);
  free(f->access);
  free(f->axis);
}
