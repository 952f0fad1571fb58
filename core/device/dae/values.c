// Computes the values of instructions. A copy or a fill moves elements. A tile of multiply-adds has loops of its own, since
// most work is there. Any other nest is evaluated element by element, by the nodes of the interpreter.
#include "device/dae/dae.h"
#include <stdlib.h>

typedef enum way { MOVE, FILL, MACS_I8, MACS_I32, MACS_F32, NODES } way;

typedef struct nwd_kernel {
  way way;
  nwi_node *value; // NODES, and the constant of a fill or of padding
  int a, b; // MACS: the accesses that are multiplied
  char *at[NWD_ACCESSES]; // NODES: the current elements
} nwd_kernel;

// ---- preparation

typedef struct binding {
  nw_acc *s;
  nwd_site *t;
} binding;

static void read_element(nwi_run *r, nwi_node *n) {
  (void)r;
  nwi_read(n->expr->type.dtype, *(char **)n->buffer, 0, n->v);
}

static bool bind_load(nwi_scope *scope, nwi_node *n) {
  const binding *x = scope->host;
  int64_t access = 0;
  nw_is_int(n->expr->arg[0], &access);
  n->buffer = &x->t->kernel->at[access];
  n->eval = read_element;
  return true;
}

// Replaces the index of a load by the number of the access. The remaining load is the old value of the result.
static const nw_expr *numbered(void *env, const nw_expr *load) {
  const binding *x = env;
  int i = x->t->naccesses - 1;
  while (i > 0 && x->t->access[i].load != load) i--;
  const nw_expr *index = nw_index(x->s->pool, i);
  return nw_load(x->s->pool, load->type, load->name, 1, &index);
}

static nwi_node *make(nw_acc *s, nwd_site *t, const nw_expr *e) {
  binding x = {s, t};
  nwi_scope scope = {.arena = s->arena, .ctx = s->ctx, .load = bind_load, .host = &x};
  nwi_node *n = nwi_make(&scope, nw_rewrite(s->pool, e, NULL, numbered, &x));
  nwi_scope_free(&scope);
  return n;
}

static int access_of(const nwd_site *t, const nw_expr *e) {
  if (e->op == NW_OP_CAST) e = e->arg[0];
  for (int i = 1; i < t->naccesses; i++)
    if (t->access[i].load == e) return i;
  return -1;
}

static bool is_product(const nwd_site *t, const nw_expr *a, const nw_expr *b, nwd_kernel *k) {
  k->a = access_of(t, a), k->b = access_of(t, b);
  return k->a > 0 && k->b > 0;
}

static bool is_old(const nwd_site *t, const nw_expr *e) {
  return e->op == NW_OP_LOAD && t->access[0].read && access_of(t, e) < 0;
}

// True if the value is old + a*b, where a and b may be cast to the type of the sum.
static bool is_mac(const nwd_site *t, nwd_kernel *k) {
  const nw_expr *e = t->value;
  if (e->op == NW_OP_FMA) return is_old(t, e->arg[2]) && is_product(t, e->arg[0], e->arg[1], k);
  if (e->op != NW_OP_ADD) return false;
  int old = is_old(t, e->arg[0]) ? 0 : 1;
  const nw_expr *p = e->arg[1 - old];
  return is_old(t, e->arg[old]) && p->op == NW_OP_MUL && is_product(t, p->arg[0], p->arg[1], k);
}

static way way_of(const nwd_site *t, nwd_kernel *k) {
  if (t->in->kind == NW_CHIP_COPY) return MOVE;
  if (t->in->kind == NW_CHIP_FILL) return FILL;
  if (!is_mac(t, k)) return NODES;
  nw_dtype a = t->access[k->a].dtype, b = t->access[k->b].dtype, c = t->access[0].dtype;
  if (a == NW_I8 && b == NW_I8 && c == NW_I32) return MACS_I8;
  if (a == NW_I32 && b == NW_I32 && c == NW_I32) return MACS_I32;
  return a == NW_F32 && b == NW_F32 && c == NW_F32 && t->value->op == NW_OP_FMA ? MACS_F32 : NODES;
}

bool nwd_kernel_make(nw_acc *s, nwd_site *t) {
  nwd_kernel *k = t->kernel = NW_NEW(s->arena, nwd_kernel);
  k->way = way_of(t, k);
  const nw_expr *e = k->way == MOVE                      ? (t->pads ? t->value->arg[2] : NULL)
                     : k->way <= FILL || k->way == NODES ? t->value
                                                         : NULL;
  return !e || (k->value = make(s, t, e)) != NULL;
}

// ---- loops

// The elements of an instruction: the address of each access, and the bytes from one iteration of each loop to the next.
typedef struct nest {
  int loops, accesses;
  int64_t n[NWD_LOOPS], lo[NWD_LOOPS];
  char *at[NWD_ACCESSES];
  int64_t step[NWD_ACCESSES][NWD_LOOPS];
} nest;

static nest nest_of(const nw_acc *s, const nwd_instr *in) {
  const nwd_site *t = &s->site[in->site];
  nest x = {.loops = t->nloops, .accesses = t->naccesses};
  nwd_part p;
  nwd_part_of(s, in, 0, &p);
  for (int i = 0; i < t->naccesses; i++) {
    const nwd_access *a = &t->access[i];
    x.at[i] = s->memory[a->memory].data + s->number[in->at + i];
    for (int k = 0; k < t->nloops; k++) {
      x.step[i][k] = a->stride[k] * nw_dtype_bytes(a->dtype);
      x.at[i] += p.lo[k] * x.step[i][k];
    }
  }
  for (int k = 0; k < t->nloops; k++) x.n[k] = p.n[k], x.lo[k] = p.lo[k];
  if (!x.loops) x.loops = 1, x.n[0] = 1, x.lo[0] = 0;
  return x;
}

static void *move(const nest *x, int access, const int64_t *turn) {
  char *at = x->at[access];
  for (int k = 0; k < x->loops; k++) at += turn[k] * x->step[access][k];
  return at;
}

// Calls `body` for each part of the innermost loop that lies in the elements from..to.
typedef void (*row_fn)(nw_acc *s, const nwd_site *t, const nest *x, const int64_t *turn, int64_t n);

static void rows(nw_acc *s, const nwd_site *t, const nest *x, int64_t from, int64_t to, row_fn body) {
  int last = x->loops - 1;
  int64_t turn[NWD_LOOPS] = {0}, at = from;
  for (int k = last; k >= 0; k--) turn[k] = at % x->n[k], at /= x->n[k];
  while (from < to) {
    int64_t n = x->n[last] - turn[last];
    if (n > to - from) n = to - from;
    body(s, t, x, turn, n);
    from += n;
    turn[last] += n;
    for (int k = last; k > 0 && turn[k] == x->n[k]; k--) turn[k] = 0, turn[k - 1]++;
  }
}

// ---- bodies

static void move_row(nw_acc *s, const nwd_site *t, const nest *x, const int64_t *turn, int64_t n) {
  (void)s;
  int last = x->loops - 1, bytes = nw_dtype_bytes(t->access[0].dtype);
  char *to = move(x, 0, turn), *from = move(x, 1, turn);
  if (x->step[0][last] == bytes && x->step[1][last] == bytes) {
    memmove(to, from, (size_t)(n * bytes));
    return;
  }
  for (int64_t i = 0; i < n; i++) memcpy(to + i * x->step[0][last], from + i * x->step[1][last], (size_t)bytes);
}

static void fill_row(nw_acc *s, const nwd_site *t, const nest *x, const int64_t *turn, int64_t n) {
  int last = x->loops - 1;
  char *to = move(x, 0, turn);
  nwi_turn(&s->run);
  for (int64_t i = 0; i < n; i++)
    nwi_write(t->access[0].dtype, to + i * x->step[0][last], 0, nwi_get(&s->run, t->kernel->value));
}

static void node_row(nw_acc *s, const nwd_site *t, const nest *x, const int64_t *turn, int64_t n) {
  int last = x->loops - 1;
  for (int i = 0; i < x->accesses; i++) t->kernel->at[i] = move(x, i, turn);
  for (int64_t e = 0; e < n; e++) {
    nwi_turn(&s->run);
    nwi_write(t->access[0].dtype, t->kernel->at[0], 0, nwi_get(&s->run, t->kernel->value));
    for (int i = 0; i < x->accesses; i++) t->kernel->at[i] += x->step[i][last];
  }
}

// A row of multiply-adds: the result of all of them is one element, or each has its own. Integers wrap.
#define MACS(name, type, sum, add)                                                                                     \
  static void name(nw_acc *s, const nwd_site *t, const nest *x, const int64_t *turn, int64_t n) {                      \
    (void)s;                                                                                                           \
    int last = x->loops - 1;                                                                                           \
    int64_t sc = x->step[0][last], sa = x->step[t->kernel->a][last], sb = x->step[t->kernel->b][last];                 \
    char *c = move(x, 0, turn);                                                                                        \
    const char *a = move(x, t->kernel->a, turn), *b = move(x, t->kernel->b, turn);                                     \
    if (!sc && sa == (int64_t)sizeof(type) && sb == (int64_t)sizeof(type)) {                                           \
      sum v = *(sum *)(void *)c;                                                                                       \
      const type *p = (const type *)(const void *)a, *q = (const type *)(const void *)b;                               \
      for (int64_t i = 0; i < n; i++) v = add(v, p[i], q[i]);                                                          \
      *(sum *)(void *)c = v;                                                                                           \
      return;                                                                                                          \
    }                                                                                                                  \
    for (int64_t i = 0; i < n; i++, c += sc, a += sa, b += sb) {                                                       \
      sum *v = (sum *)(void *)c;                                                                                       \
      *v = add(*v, *(const type *)(const void *)a, *(const type *)(const void *)b);                                    \
    }                                                                                                                  \
  }

static inline uint32_t wrapping(uint32_t v, int32_t a, int32_t b) { return v + (uint32_t)a * (uint32_t)b; }
static inline float fused(float v, float a, float b) { return __builtin_fmaf(a, b, v); }

MACS(macs_i8, int8_t, uint32_t, wrapping)
MACS(macs_i32, int32_t, uint32_t, wrapping)
MACS(macs_f32, float, float, fused)

static const row_fn bodies[] = {[MOVE] = move_row,     [FILL] = fill_row,     [MACS_I8] = macs_i8,
                                [MACS_I32] = macs_i32, [MACS_F32] = macs_f32, [NODES] = node_row};

// A padded copy first fills its whole box, and then copies the elements inside the tensor.
static void copy_padded(nw_acc *s, const nwd_instr *in, const nest *x, int64_t from, int64_t to) {
  const nwd_site *t = &s->site[in->site];
  nwd_part p;
  nwd_part_of(s, in, 1, &p);
  rows(s, t, x, from, to, fill_row);
  for (int64_t e = from; e < to; e++) {
    int64_t turn[NWD_LOOPS] = {0}, at = e;
    bool inside = true;
    for (int k = x->loops - 1; k >= 0; k--) {
      turn[k] = at % x->n[k], at /= x->n[k];
      int64_t i = x->lo[k] + turn[k];
      inside &= t->nloops == 0 || (i >= p.lo[k] && i < p.lo[k] + p.n[k]);
    }
    if (inside) memcpy(move(x, 0, turn), move(x, 1, turn), (size_t)nw_dtype_bytes(t->access[0].dtype));
  }
}

// ---- plans

enum { COPY_DIMS = 3 };

// A plan says how all elements of an instruction are computed at once. Instructions of one kind share a plan.
struct nwd_plan {
  enum { BY_ROWS, COPY, PRODUCTS } how; // BY_ROWS: as a part of the elements is computed
  nwd_macs macs;
  int64_t row; // COPY: bytes
  int64_t times[COPY_DIMS], to[COPY_DIMS], from[COPY_DIMS]; // loops around a row, the innermost first
};

// Plans a copy: rows of bytes that are consecutive in both memories. Returns false if there are too many loops around them.
static bool plan_copy(const nwd_site *t, const nest *x, struct nwd_plan *p) {
  int n = 0;
  p->row = nw_dtype_bytes(t->access[0].dtype);
  for (int d = 0; d < COPY_DIMS; d++) p->times[d] = 1;
  for (int k = x->loops - 1; k >= 0; k--) {
    if (x->n[k] == 1) continue;
    if (!n && x->step[0][k] == p->row && x->step[1][k] == p->row) {
      p->row *= x->n[k];
      continue;
    }
    if (n == COPY_DIMS) return false;
    p->times[n] = x->n[k], p->to[n] = x->step[0][k], p->from[n++] = x->step[1][k];
  }
  return true;
}

static void make_plan(nw_acc *s, nwd_kind *k, const nwd_instr *in) {
  const nwd_site *t = &s->site[k->site];
  nest x = nest_of(s, in);
  struct nwd_plan *p = k->plan = NW_NEW(s->arena, struct nwd_plan);
  int a = t->kernel->a, b = t->kernel->b;
  *p = (struct nwd_plan){.how = BY_ROWS};
  if (t->kernel->way == MACS_I8 && nwd_macs_plan(&p->macs, x.loops, x.n, x.step[0], x.step[a], x.step[b]))
    p->how = PRODUCTS;
  if (t->kernel->way == MOVE && !t->pads && plan_copy(t, &x, p)) p->how = COPY;
}

static void copy_rows(const struct nwd_plan *p, char *to, const char *from) {
  for (int64_t i = 0; i < p->times[0]; i++, to += p->to[0], from += p->from[0]) {
    if (p->row == 8) // a row of a small tile
      memcpy(to, from, 8);
    else
      memmove(to, from, (size_t)p->row);
  }
}

static void run_copy(const struct nwd_plan *p, char *to, const char *from) {
  for (int64_t i = 0; i < p->times[2]; i++)
    for (int64_t k = 0; k < p->times[1]; k++)
      copy_rows(p, to + i * p->to[2] + k * p->to[1], from + i * p->from[2] + k * p->from[1]);
}

// Returns the first element that an instruction accesses by access i.
static char *first_of(const nw_acc *s, const nwd_site *t, const nwd_instr *in, int i) {
  const nwd_access *a = &t->access[i];
  int64_t at = s->number[in->at + i], bytes = nw_dtype_bytes(a->dtype);
  const int64_t *lo = s->number + in->at + t->naccesses + t->nloops;
  for (int k = 0; k < t->nloops && !t->boxed; k++) at += lo[2 * k] * a->stride[k] * bytes;
  return s->memory[a->memory].data + at;
}

// Computes all elements of an instruction in any order, if this is possible. Otherwise returns false.
static bool execute_all(nw_acc *s, const nwd_instr *in) {
  if (in->kind < 0) return false;
  nwd_kind *k = &s->kind[in->kind];
  const nwd_site *t = &s->site[in->site];
  if (!k->plan) make_plan(s, k, in);
  const struct nwd_plan *p = k->plan;
  if (p->how == COPY)
    run_copy(p, first_of(s, t, in, 0), first_of(s, t, in, 1));
  else if (p->how == PRODUCTS)
    nwd_macs_run(&p->macs, first_of(s, t, in, 0), first_of(s, t, in, t->kernel->a), first_of(s, t, in, t->kernel->b));
  return p->how != BY_ROWS;
}

void nwd_execute(nw_acc *s, const nwd_instr *in, int64_t from, int64_t to) {
  if (in->site < 0 || from >= to) return;
  const nwd_site *t = &s->site[in->site];
  if (from == 0 && to == nwd_elements(s, in) && execute_all(s, in)) return;
  nest x = nest_of(s, in);
  if (t->pads)
    copy_padded(s, in, &x, from, to);
  else
    rows(s, t, &x, from, to, bodies[t->kernel->way]);
}
