// What a function in C makes sure of before it runs: no size and no product of sizes overflows, no tensor is missing, and
// what is stored past the caches is aligned.
#include "codegen/c.h"

enum { TOO_LARGE = 3, MISSING = 4, NOT_ALIGNED = 5, LINE = 64 };

static void open_call(nwt *g, nwt_helper h) {
  char name[32];
  nw_str_fmt(&g->out, "%s(", nwt_call(g, h, NW_INDEX, name, sizeof name));
}

static void checked_call(nwt *g, nwt_helper h, const nw_expr *a, const nw_expr *b) {
  open_call(g, h);
  nwt_size(g, a);
  nw_str_add(&g->out, ", ");
  nwt_size(g, b);
  nw_str_add(&g->out, ", &nw_big)");
}

void nwt_size(nwt *g, const nw_expr *e) {
  const nw_expr *zero = nw_index(g->p->pool, 0);
  switch (e->op) {
  case NW_OP_ADD: return checked_call(g, NWT_SIZE_ADD, e->arg[0], e->arg[1]);
  case NW_OP_SUB: return checked_call(g, NWT_SIZE_SUB, e->arg[0], e->arg[1]);
  case NW_OP_MUL: return checked_call(g, NW_MUTATED(c_size_wraps) ? NWT_SIZE_MIN : NWT_SIZE_MUL, e->arg[0], e->arg[1]);
  case NW_OP_NEG: return checked_call(g, NWT_SIZE_SUB, zero, e->arg[0]);
  case NW_OP_MIN: return checked_call(g, NWT_SIZE_MIN, e->arg[0], e->arg[1]);
  case NW_OP_MAX: return checked_call(g, NWT_SIZE_MAX, e->arg[0], e->arg[1]);
  case NW_OP_ABS: return checked_call(g, NWT_SIZE_MAX, e->arg[0], nw_sub(g->p->pool, zero, e->arg[0]));
  case NW_OP_FLOORDIV: return checked_call(g, NWT_SIZE_DIV, e->arg[0], e->arg[1]);
  case NW_OP_FLOORMOD: return checked_call(g, NWT_SIZE_MOD, e->arg[0], e->arg[1]);
  case NW_OP_SELECT:
    nw_str_add(&g->out, "(");
    nwt_operand(g, NW_OP_OR, e->arg[0]);
    nw_str_add(&g->out, " ? ");
    nwt_size(g, e->arg[1]);
    nw_str_add(&g->out, " : ");
    nwt_size(g, e->arg[2]);
    nw_str_add(&g->out, ")");
    return;
  default: nwt_expr(g, e);
  }
}

// The number of elements of a parameter.
static const nw_expr *elements(const nwt *g, const nw_buffer *b) {
  const nw_expr *n = nw_index(g->p->pool, 1);
  for (int d = 0; d < b->ndim; d++) n = nw_mul(g->p->pool, n, b->shape[d]);
  return n;
}

static bool streams_to(const nw_stmt *s, const char *buffer) {
  if (s->kind == NW_STORE && s->store.stream && !strcmp(s->store.buffer, buffer)) return true;
  for (int i = 0; i < s->nkids; i++)
    if (streams_to(s->kid[i], buffer)) return true;
  return false;
}

// The product from the left, as it is written: a large size beside a size of 0 overflows as well.
static void product(nwt *g, const nw_buffer *b, int d) {
  if (d) open_call(g, NWT_SIZE_MUL);
  if (d) product(g, b, d - 1);
  if (d) nw_str_add(&g->out, ", ");
  nwt_size(g, b->shape[d]);
  if (d) nw_str_add(&g->out, ", &nw_big)");
}

static void check_product(nwt *g, const nw_buffer *b) {
  nw_str_add(&g->out, "  nw_n = ");
  open_call(g, NWT_SIZE_MUL);
  product(g, b, b->ndim - 1);
  nw_str_fmt(&g->out, ", %d, &nw_big);\n", nw_dtype_bytes(b->dtype));
  nw_str_fmt(&g->out, "  if (!nw_big && nw_n > 0 && !%s) return %d;\n", nwt_name(g, b->name), MISSING);
}

void nwt_check_arguments(nwt *g) {
  const char *before = "  if (";
  bool symbolic = false;
  int64_t n;
  for (int i = 0; i < g->p->nbuffers; i++) {
    const nw_buffer *b = g->p->buffer[i];
    if (b->role == NW_TEMP) continue;
    if (!nw_is_int(elements(g, b), &n)) symbolic = true;
    if (!nw_is_int(elements(g, b), &n) || n <= 0 || NW_MUTATED(c_null_unchecked)) continue;
    nw_str_fmt(&g->out, "%s!%s", before, nwt_name(g, b->name));
    before = " || ";
  }
  if (*before == ' ' && before[1] == '|') nw_str_fmt(&g->out, ") return %d;\n", MISSING);
  if (symbolic) nw_str_add(&g->out, "  int nw_big = 0;\n  int64_t nw_n;\n");
  for (int i = 0; i < g->p->nbuffers; i++) {
    const nw_buffer *b = g->p->buffer[i];
    if (b->role != NW_TEMP && !nw_is_int(elements(g, b), &n)) check_product(g, b);
  }
  for (int i = 0; i < g->exec->nstorage && !symbolic; i++) {
    const nw_storage *s = &g->exec->storage[i];
    bool made = s->kind == NW_STORE_WORKSPACE || s->kind == NW_STORE_PER_THREAD;
    if (!made || nw_is_int(s->elements, &n)) continue;
    nw_str_add(&g->out, "  int nw_big = 0;\n");
    symbolic = true;
  }
  if (symbolic) nw_str_fmt(&g->out, "  if (nw_big) return %d;\n", TOO_LARGE);
  for (int i = 0; i < g->p->nbuffers && g->exported; i++) {
    const nw_buffer *b = g->p->buffer[i];
    if (b->role == NW_TEMP || !streams_to(g->p->root, b->name) || NW_MUTATED(c_unaligned)) continue;
    nw_str_fmt(&g->out, "  if ((uintptr_t)%s %% %d) return %d;\n", nwt_name(g, b->name), LINE, NOT_ALIGNED);
  }
}

void nwt_describe_codes(const nwt *g, nw_str *out) {
  bool symbolic = g->p->nfacts + g->p->nsizes > 0, aligned = false;
  nw_str_add(out, "// Returns 0; 1 when there is no memory for temporaries");
  if (symbolic) nw_str_add(out, "; 2 when a size is not what the code was made for");
  if (symbolic) nw_str_fmt(out, ";\n// %d when a tensor or a temporary would be too large", TOO_LARGE);
  nw_str_fmt(out, "; %d when a tensor is NULL", MISSING);
  for (int i = 0; i < g->p->nbuffers && g->exported; i++)
    aligned |= g->p->buffer[i]->role != NW_TEMP && streams_to(g->p->root, g->p->buffer[i]->name);
  if (aligned)
    nw_str_fmt(out, ";\n// %d when a tensor that is stored past the caches is not at a multiple of %d bytes",
               NOT_ALIGNED, LINE);
  nw_str_add(out, ".\n");
}
