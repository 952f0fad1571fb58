// Compiles the statements of a kernel.
#include "device/gpu/compile.h"
#include "ir/program/intrinsic.h"
#include <stdlib.h>

static nwg_stmt *compile(nwg_compiling *c, const nw_stmt *s);

// True if all warps of a block must execute s together: it contains a barrier, or memory that several warps share.
static bool is_wide(const nwg_compiling *c, const nw_stmt *s) {
  if (s->kind == NW_BARRIER) return true;
  if (s->kind == NW_ALLOC) {
    int b = nwg_buffer_named(c, s->alloc.buffer);
    if (b >= 0 && c->k->buffer[b].space != NWG_LOCAL) return true;
  }
  for (int i = 0; i < s->nkids; i++)
    if (is_wide(c, s->kid[i])) return true;
  return false;
}

static bool compile_kids(nwg_compiling *c, const nw_stmt *s, nwg_stmt *to) {
  to->kid = NW_NEW_N(c->arena, nwg_stmt *, s->nkids + 1);
  for (int i = 0; i < s->nkids; i++) {
    uint32_t top = c->top;
    nwg_stmt *kid = compile(c, s->kid[i]);
    if (!kid) return false;
    c->top = top;
    to->kid[to->nkids++] = kid;
  }
  return true;
}

// Compiles an expression of a statement.
static bool compile_code(nwg_compiling *c, const nw_expr *e, nwg_code *out) {
  c->nmade = 0;
  out->from = c->k->ninstrs;
  out->reg = nwg_expr(c, e);
  out->to = c->k->ninstrs;
  return out->reg != 0;
}

// Compiles an expression whose value is kept in a register of its own.
static bool compile_kept(nwg_compiling *c, const nw_expr *e, uint32_t reg, nwg_code *out) {
  if (!compile_code(c, e, out)) return false;
  nwg_emit(c, NWG_COPY, 1, reg, out->reg, 0);
  out->reg = reg;
  out->to = c->k->ninstrs;
  return true;
}

static bool compile_loop(nwg_compiling *c, const nw_stmt *s, nwg_stmt *to) {
  to->fixed = nw_is_int(s->loop.begin, &to->first) && nw_is_int(s->loop.extent, &to->times);
  to->loop = to->wide ? c->k->nwide++ : 0;
  to->number = c->k->nruns++;
  to->var = nwg_register(c, NW_INDEX, 1);
  if (!to->fixed) {
    to->var_begin = nwg_register(c, NW_INDEX, 1);
    to->var_extent = nwg_register(c, NW_INDEX, 1);
    uint32_t top = c->top;
    bool good = compile_kept(c, s->loop.begin, to->var_begin, &to->begin) &&
                compile_kept(c, s->loop.extent, to->var_extent, &to->extent);
    c->top = top;
    if (!good) return false;
  }
  nw_vec_push(&c->name, (void *)s->loop.var->name);
  nw_vec_push(&c->reg, (void *)(uintptr_t)to->var);
  bool good = compile_kids(c, s, to);
  c->name.n--, c->reg.n--;
  return good;
}

static bool compile_store(nwg_compiling *c, const nw_stmt *s, nwg_stmt *to) {
  const nw_expr *index = s->store.index, *mask = s->store.mask;
  int buffer = nwg_buffer_named(c, s->store.buffer);
  if (buffer < 0) return nw_fail(c->ctx, NW_EINVAL, NULL, "there is no buffer named %s", s->store.buffer);
  if (!compile_code(c, s->store.value, &to->value)) return false;
  to->index = nwg_expr(c, index);
  to->mask = mask ? nwg_expr(c, mask) : 0;
  to->value.to = c->k->ninstrs;
  to->site = nwg_new_site(c, (nwg_site){.stmt = s,
                                        .index = index,
                                        .buffer = buffer,
                                        .write = true,
                                        .atomic = s->store.atomic,
                                        .async = s->store.async,
                                        .whole = !mask && index->op == NW_OP_RAMP && nw_is_const(index->arg[1], 1),
                                        .n = index->type.lanes});
  return to->index && (!mask || to->mask);
}

static bool compile_call(nwg_compiling *c, const nw_stmt *s, nwg_stmt *to) {
  const nw_intrinsic *in = nw_intrinsic_find(c->ctx, s->call.intrinsic);
  return in && in->instruction ? nwg_compile_instruction(c, s, in, to) : compile_kids(c, s, to);
}

static nwg_stmt *compile(nwg_compiling *c, const nw_stmt *s) {
  nwg_stmt *to = NW_NEW(c->arena, nwg_stmt);
  *to = (nwg_stmt){.kind = s->kind, .stmt = s, .wide = is_wide(c, s)};
  bool good = true;
  c->stmt = s;
  switch (s->kind) {
  case NW_SEQ:
  case NW_UNIT: good = compile_kids(c, s, to); break;
  case NW_CALL: good = compile_call(c, s, to); break;
  case NW_LOOP: good = compile_loop(c, s, to); break;
  case NW_GUARD:
    if (to->wide) c->k->nwide++;
    to->number = c->k->nruns++;
    good = compile_code(c, s->guard.cond, &to->cond) && compile_kids(c, s, to);
    break;
  case NW_STORE: good = compile_store(c, s, to); break;
  case NW_ALLOC:
    to->buffer = nwg_buffer_named(c, s->alloc.buffer);
    c->k->buffer[to->buffer].used = true;
    good = compile_kids(c, s, to);
    break;
  case NW_WAIT: to->groups = s->wait.groups; break;
  case NW_BLOCK: good = nw_fail(c->ctx, NW_EINTERNAL, NULL, "a kernel has a block that is not lowered"); break;
  case NW_PREFETCH:
  case NW_BARRIER:
  case NW_COMMIT: break;
  }
  return good ? to : NULL;
}

static uint32_t name_register(nwg_compiling *c, const char *name) {
  uint32_t reg = nwg_register(c, NW_INDEX, 1);
  nw_vec_push(&c->name, (void *)name);
  nw_vec_push(&c->reg, (void *)(uintptr_t)reg);
  return reg;
}

static void name_variables(nwg_compiling *c, const nw_program *p, const nw_launch *l) {
  nwg_kernel *k = c->k;
  k->size = NW_NEW_N(c->arena, uint32_t, p->nsizes + 1);
  k->var = NW_NEW_N(c->arena, uint32_t, l->nvars + 1);
  for (int i = 0; i < p->nsizes; i++) k->size[i] = name_register(c, p->size[i].name);
  for (int i = 0; i < l->nvars; i++) k->var[i] = name_register(c, l->var[i]->name);
  for (int d = 0; d < NW_GRID_DIMS; d++) k->index[d] = name_register(c, nw_grid_index[d]);
}

static void set_shape(nwg_kernel *k, const int64_t extent[6], const nw_machine_gpu *gpu) {
  memcpy(k->extent, extent, sizeof k->extent);
  k->lanes = (int)gpu->limit.warp;
  k->sector = gpu->sector, k->line = gpu->line, k->banks = gpu->banks;
  k->threads = (int)(extent[3] * extent[4] * extent[5]);
  k->warps = (k->threads + k->lanes - 1) / k->lanes;
  k->groups = (int)((extent[3] + k->lanes - 1) / k->lanes * extent[4] * extent[5]);
}

// Elements that a thread keeps in a register are not counted: those of an array of one element, and what a shuffle gave.
static void find_held(nwg_kernel *k, const nw_launch *l) {
  for (int i = 0; i < k->nsites; i++) {
    nwg_site *s = &k->site[i];
    const nwg_buffer *b = &k->buffer[s->buffer];
    s->held = b->space == NWG_LOCAL ? b->count == 1 : !s->write && nw_shuffled(l, b->name);
  }
}

nwg_kernel *nwg_compile(nw_arena *arena, const nw_program *p, const nw_launch *l, const int64_t extent[6],
                        const nw_machine_gpu *gpu, nwg_buffer *buffer) {
  nwg_kernel *k = NW_NEW(arena, nwg_kernel);
  k->launch = l;
  k->nbuffers = p->nbuffers, k->buffer = buffer;
  set_shape(k, extent, gpu);
  nwg_compiling c = {.ctx = p->ctx,
                     .pool = p->pool,
                     .arena = arena,
                     .features = nw_target_features_here(p->target),
                     .k = k,
                     .top = 64};
  name_variables(&c, p, l);
  k->root = compile(&c, l->body);
  nw_vec_free(&c.name);
  nw_vec_free(&c.reg);
  nw_let_go(c.made);
  if (k->root) return nwg_note_steady(k), find_held(k, l), k;
  nwg_kernel_free(k);
  return NULL;
}

void nwg_kernel_free(nwg_kernel *k) {
  if (!k) return;
  nw_let_go(k->instr);
  nw_let_go(k->site);
}
