// Compares a nest with an instruction of an accelerator that has no fixed size: a copy, a fill, or an operation of an ALU.
// Also finds the row of the instruction in the machine's record whose memories are those of the nest.
#include "ir/expr/fold.h" // nw_is_constant
#include "ir/program/intrinsic.h"
#include "ir/text/lines.h"

static bool differs(nw_match *m, const nw_stmt *at, const char *expected, const char *found) {
  nw_match_free(m);
  *m = (nw_match){.block = m->block, .expected = nw_xstrdup(expected), .found = nw_xstrdup(found), .at = at};
  return false;
}

static const nw_stmt *descend(const nw_stmt *s, nw_match *m) {
  if (s->kind == NW_CALL && s->nkids == 1) s = s->kid[0];
  while (s->kind == NW_LOOP || s->kind == NW_UNIT) {
    if (s->kind == NW_LOOP && s->loop.mark != NW_SERIAL)
      return differs(m, s, "plain loops", nw_loop_kind_name(s->loop.mark)), NULL;
    if (s->nkids != 1) return differs(m, s, "perfectly nested loops", "several statements"), NULL;
    s = s->kid[0];
  }
  if (s->kind == NW_BLOCK) return s;
  return differs(m, s, "perfectly nested loops", "another statement inside the nest"), NULL;
}

// Returns the load that a copy copies, or NULL. A padded copy takes a constant where one of its conditions is false.
static const nw_expr *copied(const nw_expr *e) {
  const nw_expr *pad = e->op == NW_OP_SELECT && nw_is_constant(e->arg[2]) ? e->arg[2] : NULL;
  while (pad && e->op == NW_OP_SELECT && e->arg[2] == pad) e = e->arg[1];
  return e->op == NW_OP_LOAD ? e : NULL;
}

static bool is_copy(const nw_stmt *block, nw_match *m) {
  const nw_expr *e = block->block.target[0].value, *load = copied(e);
  if (load && block->block.combiner == NW_PLAIN) return true;
  return differs(m, block, "a copy, such as B[i, j] = A[i, j]", "a computation");
}

static bool is_fill(const nw_stmt *block, nw_match *m) {
  if (nw_is_constant(block->block.target[0].value) && block->block.combiner == NW_PLAIN) return true;
  return differs(m, block, "a constant, such as B[i, j] = 0", "a computation");
}

static bool is_elementwise(const nw_stmt *block, nw_match *m) {
  nw_combiner k = block->block.combiner;
  if (k == NW_PLAIN || k == NW_SUM || k == NW_MIN_OF || k == NW_MAX_OF) return true;
  return differs(m, block, "=, +=, min= or max=", "another reduction");
}

bool nw_unify_chip(const nw_stmt *nest, const nw_intrinsic *in, nw_match *out) {
  const nw_stmt *block = descend(nest, out);
  if (!block) return false;
  out->block = block;
  if (block->block.ntargets != 1) return differs(out, block, "one result", "several results");
  if (block->block.has_init) return differs(out, block, "a nest without an init", "a reduction with its init");
  switch (in->kind) {
  case NW_CHIP_COPY: return is_copy(block, out);
  case NW_CHIP_FILL: return is_fill(block, out);
  default: return is_elementwise(block, out);
  }
}

// ---- the memories

typedef struct reads {
  const nw_program *p;
  const nw_machine_instruction *row;
  const nw_buffer *wrong; // the first one in a memory that the row does not read
} reads;

static bool in_scope(const nw_buffer *b, const char *words) { return nw_has_word(words, nw_scope_name(b)); }

static void read_loads(reads *r, const nw_expr *e) {
  if (e->op == NW_OP_LOAD) {
    const nw_buffer *b = nw_find_buffer(r->p, e->name);
    if (!in_scope(b, r->row->from) && !r->wrong) r->wrong = b;
  }
  for (int i = 0; i < e->n; i++) read_loads(r, e->arg[i]);
}

// Returns a buffer of the block that is in a memory that the row does not access, or NULL.
static const nw_buffer *outside(const nw_program *p, const nw_stmt *block, const nw_machine_instruction *row,
                                bool *written) {
  const nw_buffer *to = nw_find_buffer(p, block->block.target[0].buffer);
  *written = !in_scope(to, row->to);
  if (*written) return to;
  reads r = {.p = p, .row = row};
  read_loads(&r, block->block.target[0].value);
  return r.wrong;
}

static bool pads(const nw_stmt *block) { return block->block.target[0].value->op == NW_OP_SELECT; }

const nw_machine_instruction *nw_chip_row(const nw_program *p, const nw_intrinsic *in, const nw_stmt *block,
                                          nw_match *out) {
  const nw_machine *m = &p->target->machine;
  const nw_machine_instruction *row = NULL, *last = NULL;
  const nw_buffer *wrong = NULL;
  bool written = false, padded = false;
  while ((row = nw_machine_instruction_next(m, in->chip, row))) {
    wrong = outside(p, block, row, &written);
    padded = !wrong && row->kind == NW_CHIP_COPY && !row->pads && pads(block);
    if (!wrong && !padded) return row;
    last = row;
  }
  nw_str expected = {0}, found = {0};
  if (padded) nw_str_add(&expected, "a copy without padding"), nw_str_add(&found, "a copy with padding");
  if (!padded && last) {
    nw_str_fmt(&expected, "%s in %s", written ? "a result" : "operands", written ? last->to : last->from);
    nw_str_fmt(&found, "%s in %s", wrong->name, nw_scope_name(wrong));
  }
  if (!last) nw_str_fmt(&expected, "an instruction of %s", m->name), nw_str_add(&found, in->chip);
  differs(out, block, expected.s, found.s);
  nw_str_free(&expected);
  nw_str_free(&found);
  return NULL;
}
