// Writes the checks at the start of a function in C. They ensure that the sizes are within their limits and meet the
// facts, that no product of sizes overflows, that no tensor is missing, and that tensors written by streaming stores
// are aligned.
#include "codegen/c/c.h"

enum { WRONG = 2, TOO_LARGE, MISSING, NOT_ALIGNED };

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

bool nwt_surely_fits(const nw_storage *s) {
  int64_t n;
  return nw_is_int(s->elements, &n) && (n < INT64_C(1) << NW_SIZE_BITS || NW_MUTATED(c_constant_wraps));
}

// Returns the number of elements of a parameter, as an expression.
static const nw_expr *elements(const nwt *g, const nw_buffer *b) {
  const nw_expr *n = nw_index(g->p->pool, 1);
  for (int d = 0; d < nw_physical_dims(b); d++) n = nw_mul(g->p->pool, n, nw_physical_shape(b)[d]);
  return n;
}

// True if the bytes from the first element to the last one depend on strides that the caller chooses.
static bool has_open_reach(const nwt *g, const nw_buffer *b) {
  int64_t n;
  return b->pitch && !nw_is_int(nw_physical_reach(g->p->pool, b), &n) && !NW_MUTATED(c_reach_wraps);
}

// Writes a check that these bytes do not overflow.
static void check_reach(nwt *g, const nw_buffer *b) {
  const nw_expr *reach = nw_physical_reach(g->p->pool, b);
  if (!has_open_reach(g, b)) return;
  nw_str_add(&g->out, "  (void)");
  checked_call(g, NWT_SIZE_MUL, reach, nw_index(g->p->pool, nw_dtype_bytes(b->dtype)));
  nw_str_add(&g->out, ";\n");
}

// ---- sizes and facts

static void declare(nwt *g) {
  if (!g->counts) nw_str_add(&g->out, "  int nw_big = 0;\n");
  g->counts = true;
}

// Writes the condition e. The C code sets nw_big if a size in e overflows.
static void condition(nwt *g, const nw_expr *e) {
  bool not = e->op == NW_OP_NOT, two = e->n == 2 && e->type.dtype == NW_BOOL;
  bool logic = not || (two && e->arg[0]->type.dtype == NW_BOOL);
  static const char *const sign[NW_OP_COUNT] = {
      [NW_OP_LT] = "<", [NW_OP_LE] = "<=", [NW_OP_EQ] = "==", [NW_OP_NE] = "!=", [NW_OP_AND] = "&&", [NW_OP_OR] = "||"};
  if (!not &&(!two || !sign[e->op])) {
    nwt_operand(g, NW_OP_OR, e);
    return;
  }
  nw_str_add(&g->out, not ? "!(" : "(");
  for (int i = 0; i < e->n; i++) {
    if (i) nw_str_fmt(&g->out, " %s ", sign[e->op]);
    (logic ? condition : nwt_size)(g, e->arg[i]);
  }
  nw_str_add(&g->out, ")");
}

static void check_fact(nwt *g, const nw_expr *fact) {
  bool checked = nw_multiplies_sizes(fact) && !NW_MUTATED(c_fact_wraps);
  if (checked) declare(g);
  nw_str_add(&g->out, "  if (!(");
  if (checked)
    condition(g, fact);
  else
    nwt_expr(g, fact);
  if (checked)
    nw_str_fmt(&g->out, ") || nw_big) return nw_big ? %d : %d;\n", TOO_LARGE, WRONG);
  else
    nw_str_fmt(&g->out, ")) return %d;\n", WRONG);
}

void nwt_check_sizes(nwt *g) {
  nw_pool *pool = g->p->pool;
  for (int i = 0; i < g->p->nsizes; i++) {
    nw_str_add(&g->out, "  if (!(");
    nwt_expr(g, nw_le(pool, g->p->size[i].lo, nw_var(pool, g->p->size[i].name)));
    nw_str_fmt(&g->out, ")) return %d;\n", WRONG);
  }
  for (int i = 0; i < g->p->nsizes && !NW_MUTATED(c_size_limit); i++)
    nw_str_fmt(&g->out, "%s%s", i ? " | " : "  if ((", nwt_name(g, g->p->size[i].name));
  if (g->p->nsizes && !NW_MUTATED(c_size_limit)) nw_str_fmt(&g->out, ") >> %d) return %d;\n", NW_SIZE_BITS, TOO_LARGE);
  for (int i = 0; i < g->p->nfacts; i++) check_fact(g, g->p->fact[i]);
}

// ---- arguments

// Writes the product of the sizes of dimensions 0 to d, from left to right. So large sizes are reported as an overflow
// even if a later size is 0.
static void product(nwt *g, const nw_buffer *b, int d) {
  if (d) open_call(g, NWT_SIZE_MUL);
  if (d) product(g, b, d - 1);
  if (d) nw_str_add(&g->out, ", ");
  nwt_size(g, nw_physical_shape(b)[d]);
  if (d) nw_str_add(&g->out, ", &nw_big)");
}

static void check_product(nwt *g, const nw_buffer *b) {
  nw_str_add(&g->out, "  nw_n = ");
  open_call(g, NWT_SIZE_MUL);
  product(g, b, nw_physical_dims(b) - 1);
  nw_str_fmt(&g->out, ", %d, &nw_big);\n", nw_dtype_bytes(b->dtype));
  nw_str_fmt(&g->out, "  if (!nw_big && nw_n > 0 && !%s) return %d;\n", nwt_name(g, b->name), MISSING);
}

static bool known(const nwt *g, const nw_buffer *b, int64_t *n) { return nw_is_int(elements(g, b), n); }

static void check_constant_ones(nwt *g) {
  const char *before = "  if (";
  bool any = false;
  int64_t n;
  for (int i = 0; i < g->p->nbuffers; i++) {
    const nw_buffer *b = g->p->buffer[i];
    if (b->role == NW_TEMP || !known(g, b, &n) || n <= 0 || NW_MUTATED(c_null_unchecked)) continue;
    nw_str_fmt(&g->out, "%s!%s", before, nwt_name(g, b->name));
    before = " || ";
    any = true;
  }
  if (any) nw_str_fmt(&g->out, ") return %d;\n", MISSING);
}

// True if the C function must compute the size of a parameter or of a workspace, or another product of sizes.
static bool symbolic(const nwt *g) {
  int64_t n;
  bool any = g->exec->nfits > 0;
  for (int i = 0; i < g->p->nbuffers && !any; i++)
    any = g->p->buffer[i]->role != NW_TEMP && (!known(g, g->p->buffer[i], &n) || has_open_reach(g, g->p->buffer[i]));
  for (int i = 0; i < g->exec->nstorage && !any; i++) {
    const nw_storage *s = &g->exec->storage[i];
    any = (s->kind == NW_STORE_WORKSPACE || s->kind == NW_STORE_PER_THREAD) && !nwt_surely_fits(s);
  }
  return any;
}

static void check_sizes_of_arguments(nwt *g) {
  int64_t n;
  bool first = true;
  declare(g);
  for (int i = 0; i < g->p->nbuffers; i++) {
    const nw_buffer *b = g->p->buffer[i];
    if (b->role != NW_TEMP) check_reach(g, b);
    if (b->role == NW_TEMP || known(g, b, &n)) continue;
    if (first) nw_str_add(&g->out, "  int64_t nw_n;\n");
    first = false;
    check_product(g, b);
  }
  for (int i = 0; i < g->exec->nfits; i++) {
    nw_str_add(&g->out, "  (void)");
    nwt_size(g, g->exec->fits[i]);
    nw_str_add(&g->out, ";\n");
  }
  nw_str_fmt(&g->out, "  if (nw_big) return %d;\n", TOO_LARGE);
}

void nwt_check_arguments(nwt *g) {
  check_constant_ones(g);
  if (symbolic(g)) check_sizes_of_arguments(g);
  for (int i = 0; i < g->p->nbuffers && g->exported; i++) {
    const nw_buffer *b = g->p->buffer[i];
    if (b->role == NW_TEMP || !g->exec->storage[i].streamed || NW_MUTATED(c_unaligned)) continue;
    nw_str_fmt(&g->out, "  if ((uintptr_t)%s %% %d) return %d;\n", nwt_name(g, b->name), NW_STREAM_ALIGN, NOT_ALIGNED);
  }
}

void nwt_describe_codes(const nwt *g, nw_str *out) {
  bool has_sizes = g->p->nsizes > 0, aligned = false;
  nw_str_add(out, "// Returns 0; 1 when memory for temporaries runs out");
  if (has_sizes) nw_str_add(out, "; 2 when a size does not meet the assumptions of the code");
  if (has_sizes) nw_str_fmt(out, ";\n// %d when a size, a tensor or a temporary would be too large", TOO_LARGE);
  nw_str_fmt(out, "; %d when a tensor is NULL", MISSING);
  for (int i = 0; i < g->p->nbuffers && g->exported; i++)
    aligned |= g->exec->storage[i].kind == NW_STORE_PARAM && g->exec->storage[i].streamed;
  if (aligned)
    nw_str_fmt(out, ";\n// %d when a tensor written by streaming stores is not aligned to %d bytes", NOT_ALIGNED,
               NW_STREAM_ALIGN);
  nw_str_add(out, ".\n");
}
