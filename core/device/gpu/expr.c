// Compiles expressions to code for warps. An expression that occurs several times in a statement is computed once.
#include "device/gpu/compile.h"
#include "ir/ops.h"
#include <stdlib.h>

nwg_instr *nwg_emit(nwg_compiling *c, nwg_op op, int n, uint32_t dst, uint32_t a, uint32_t b) {
  nwg_kernel *k = c->k;
  if (k->ninstrs == c->capinstrs) {
    c->capinstrs = c->capinstrs ? 2 * c->capinstrs : 256;
    k->instr = nw_xask_more(k->instr, (uint64_t)c->capinstrs, sizeof *k->instr);
  }
  nwg_instr *in = &k->instr[k->ninstrs++];
  *in = (nwg_instr){.op = (uint8_t)op, .class = NW_CLASS_NONE, .n = (uint16_t)n, .dst = dst, .a = a, .b = b};
  return in;
}

uint32_t nwg_register(nwg_compiling *c, nw_dtype t, int n) {
  uint32_t at = c->top;
  c->top += (uint32_t)(NWG_LANES * n * nwg_size_of(t));
  if (c->top > c->k->bytes) c->k->bytes = c->top;
  return at;
}

int nwg_buffer_named(const nwg_compiling *c, const char *name) {
  for (int i = 0; i < c->k->nbuffers; i++)
    if (!strcmp(c->k->buffer[i].name, name)) return i;
  return -1;
}

int nwg_new_site(nwg_compiling *c, nwg_site s) {
  nwg_kernel *k = c->k;
  nwg_buffer *b = &k->buffer[s.buffer];
  if (k->nsites == c->capsites) {
    c->capsites = c->capsites ? 2 * c->capsites : 64;
    k->site = nw_xask_more(k->site, (uint64_t)c->capsites, sizeof *k->site);
  }
  b->used = true;
  b->reads |= !s.write;
  b->writes |= s.write;
  b->atomic |= s.atomic;
  b->async |= s.async;
  k->site[k->nsites] = s;
  return k->nsites++;
}

static uint32_t variable(nwg_compiling *c, const nw_expr *e) {
  for (int i = c->name.n - 1; i >= 0; i--)
    if (!strcmp(c->name.at[i], e->name)) return (uint32_t)(uintptr_t)c->reg.at[i];
  nw_fail(c->ctx, NW_EINVAL, NULL, "the variable %s is not defined here", e->name);
  return 0;
}

static uint32_t constant(nwg_compiling *c, const nw_expr *e) {
  nw_dtype t = (nw_dtype)e->type.dtype;
  uint32_t dst = nwg_register(c, t, 1);
  bool real = nw_dtype_is_float(t);
  nwg_instr *in = nwg_emit(c, !real ? NWG_CONST : t == NW_F64 ? NWG_CONST_D : NWG_CONST_F, 1, dst, 0, 0);
  if (!real)
    in->i = e->i;
  else if (t == NW_F64)
    in->d = e->f;
  else
    in->f = (float)e->f;
  return dst;
}

// True if the elements of each lane are adjacent, and all are read or written.
static bool is_whole(const nw_expr *index, const nw_expr *mask) {
  return !mask && index->op == NW_OP_RAMP && nw_is_const(index->arg[1], 1);
}

static uint32_t load(nwg_compiling *c, const nw_expr *e) {
  const nw_expr *mask = e->n > 1 ? e->arg[1] : NULL;
  int buffer = nwg_buffer_named(c, e->name);
  if (buffer < 0) return nw_fail(c->ctx, NW_EINVAL, NULL, "there is no buffer named %s", e->name), 0;
  uint32_t index = nwg_expr(c, e->arg[0]), on = mask && index ? nwg_expr(c, mask) : 0;
  if (!index || (mask && !on)) return 0;
  const nw_stmt *s = c->stmt;
  bool own = s->kind == NW_STORE && s->store.atomic && !strcmp(s->store.buffer, e->name);
  nwg_site site = {.stmt = s,
                   .index = e->arg[0],
                   .buffer = buffer,
                   .own = own,
                   .whole = is_whole(e->arg[0], mask),
                   .n = e->type.lanes};
  uint32_t dst = nwg_register(c, (nw_dtype)e->type.dtype, e->type.lanes);
  int at = nwg_new_site(c, site);
  nwg_instr *in = nwg_emit(c, NWG_LOAD, e->type.lanes, dst, index, on);
  in->class = NW_CLASS_LOAD;
  in->i = at;
  return dst;
}

// ---- selects

static bool is_harmless(void *env, const nw_expr *e) {
  (void)env;
  bool divides = e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD;
  return e->op != NW_OP_LOAD && !(divides && e->arg[1]->op != NW_OP_INT);
}

// Emits a branch of a select, which only some lanes evaluate. Their values are not reused after the branch.
static uint32_t branch(nwg_compiling *c, const nw_expr *e) {
  int before = c->nmade;
  uint32_t reg = nwg_expr(c, e);
  c->nmade = before;
  return reg;
}

// A select with a scalar condition evaluates each branch only in the lanes that choose it.
static uint32_t choose(nwg_compiling *c, const nw_expr *e) {
  const nw_expr *a = e->arg[1], *b = e->arg[2];
  uint32_t arg[3] = {nwg_expr(c, e->arg[0])};
  if (!arg[0]) return 0;
  if (nw_visit(a, is_harmless, NULL) && nw_visit(b, is_harmless, NULL)) {
    arg[1] = nwg_expr(c, a);
    arg[2] = arg[1] ? nwg_expr(c, b) : 0;
    return arg[2] ? nwg_operation(c, e, arg) : 0;
  }
  if (++c->selects > NWG_SELECTS) return nw_fail(c->ctx, NW_ELIMIT, NULL, "selects are nested too deeply"), 0;
  int only = c->k->ninstrs, others;
  nwg_emit(c, NWG_ONLY, 1, 0, arg[0], 0);
  arg[1] = branch(c, a);
  others = c->k->ninstrs;
  nwg_emit(c, NWG_OTHERS, 1, 0, 0, 0);
  c->k->instr[only].i = others;
  arg[2] = arg[1] ? branch(c, b) : 0;
  c->k->instr[others].i = c->k->ninstrs;
  nwg_emit(c, NWG_ALL, 1, 0, 0, 0);
  c->selects--;
  return arg[2] ? nwg_operation(c, e, arg) : 0;
}

static uint32_t make(nwg_compiling *c, const nw_expr *e) {
  uint32_t arg[3] = {0};
  switch (e->op) {
  case NW_OP_INT:
  case NW_OP_FLOAT: return constant(c, e);
  case NW_OP_VAR: return variable(c, e);
  case NW_OP_LOAD: return load(c, e);
  case NW_OP_KNOWN: return nwg_expr(c, e->arg[1]);
  case NW_OP_SELECT:
    if (e->arg[0]->type.lanes == 1) return choose(c, e);
    break;
  default: break;
  }
  if (!e->n || e->n > NW_COUNT(arg))
    return nw_fail(c->ctx, NW_EINVAL, NULL, "the simulated GPU cannot run '%s'", nw_op_name((nw_op)e->op)), 0;
  int constant_at = nwg_constant_operand(e);
  for (int i = 0; i < e->n; i++)
    if (i != constant_at && !(arg[i] = nwg_expr(c, e->arg[i]))) return 0;
  return nwg_operation(c, e, arg);
}

uint32_t nwg_expr(nwg_compiling *c, const nw_expr *e) {
  for (int i = c->nmade - 1; i >= 0; i--)
    if (c->made[i].expr == e) return c->made[i].reg;
  uint32_t reg = make(c, e);
  if (!reg || e->op == NW_OP_VAR) return reg;
  if (c->nmade == c->capmade) {
    c->capmade = c->capmade ? 2 * c->capmade : 64;
    c->made = nw_xask_more(c->made, (uint64_t)c->capmade, sizeof *c->made);
  }
  c->made[c->nmade++] = (nwg_made){e, reg};
  return reg;
}
