// Writes calls of instructions of a warp in CUDA C, as inline assembly.
#include "codegen/c/c_dialect.h"
#include "codegen/instruction.h"

static void line_start(nwt *g) { nw_str_indent(&g->out, 2 * g->depth); }

// Writes the elements of a fragment that the lane holds as operands: "+f"(C[0]), ...
static void elements(nwt *g, const nw_tile *t, int n, const char *constraint, const char **between) {
  nw_pool *pool = g->p->pool;
  for (int i = 0; i < n; i++, *between = ", ") {
    nw_str_fmt(&g->out, "%s\"%s\"(%s[", *between, constraint, nwt_name(g, t->buffer));
    nwt_expr(g, nw_simplify(&g->ranges, nw_add(pool, t->index, nw_index(pool, i))));
    nw_str_add(&g->out, "])");
  }
}

// Writes the address that the lane gives.
static void address(nwt *g, const nw_expr *at, const nw_tile *t) {
  nw_str_fmt(&g->out, "\"r\"((uint32_t)__cvta_generic_to_shared(&%s[", nwt_name(g, t->buffer));
  nwt_expr(g, nw_simplify(&g->ranges, at));
  nw_str_add(&g->out, "]))");
}

static void operands(nwt *g, const nw_stmt *s, const nw_intrinsic *in) {
  const nw_instruction *k = in->instruction;
  const char *between = "", *of = k->tf32 ? "f" : "h";
  if (k->depth) {
    elements(g, &s->call.tile[2], in->arg[2].fragment.n, "+f", &between);
    nw_str_add(&g->out, " : ");
    between = "";
    elements(g, &s->call.tile[0], in->arg[0].fragment.n, of, &between);
    elements(g, &s->call.tile[1], in->arg[1].fragment.n, of, &between);
    return;
  }
  elements(g, &s->call.tile[1], in->arg[1].fragment.n, "=h", &between);
  nw_str_add(&g->out, " : ");
  address(g, nw_fragment_row(g->p->pool, k, &s->call.tile[0]), &s->call.tile[0]);
  nw_str_add(&g->out, " : \"memory\"");
}

void nwk_instruction(nwt *g, const nw_stmt *s, const nw_intrinsic *in) {
  nw_str text = {0};
  if (g->dialect != &nwk_cuda) {
    nwt_fail(g, "%s is an instruction of NVIDIA GPUs, which cannot be written in %s", in->instruction->name,
             g->dialect->name);
    return;
  }
  nw_instruction_ptx(in, '%', &text);
  line_start(g);
  nw_str_fmt(&g->out, "// %s: all lanes together%s%s\n", in->name, in->instruction->depth ? "; " : "",
             in->instruction->depth ? NW_INSTRUCTION_ROUNDING : "");
  line_start(g);
  nw_str_fmt(&g->out, "asm volatile(\"%s\" : ", text.s);
  operands(g, s, in);
  nw_str_add(&g->out, ");\n");
  nw_str_free(&text);
}
