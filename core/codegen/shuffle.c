// Plans shuffles (see shuffle.h).
#include "codegen/shuffle.h"
#include <stdlib.h>

// A bit of the number of an element: bit `bit` of the variable of loop `loop`. Each side holds it in a dimension of its
// tile, at position `pos` of the index.
typedef struct bit {
  struct {
    int d, pos;
  } in, out;
} bit;

typedef struct plan {
  nw_ctx *c;
  const nw_intrinsic *in;
  nw_shuffles *s;
  int nbits;
  bit bit[NW_SHUFFLE_BITS];
  int k; // number of bits of the lane
  int lane[NW_SHUFFLE_BITS], want[NW_SHUFFLE_BITS]; // the bits that the lanes hold now, and at the end
  int m, vector[NW_SHUFFLE_BITS]; // the bits by which the vectors of a group are numbered
  int nfree, free[NW_SHUFFLE_BITS]; // the bits that number the groups
} plan;

// ---- the description

static bool refuse(const plan *p, const char *why) {
  return nw_fail(p->c, NW_EINVAL, "give C source instead: source = [[...]]",
                 "intrinsic %s: shuffles cannot compute it: %s", p->in->name, why);
}

static int log_of(int64_t n) { return n > 0 && !(n & (n - 1)) ? __builtin_ctzll((unsigned long long)n) : -1; }

// Finds the place of each bit of the loops in the index of an access. Returns false if a bit has no place of its own.
static bool place_bits(plan *p, const nw_intrinsic_arg *a, const nw_expr *const *index, bool input) {
  bool taken[NW_MAX_TILE_DIMS][64] = {{false}};
  int count = 0;
  for (int d = 0; d < a->ndim; d++) {
    int64_t coef[NW_MAX_DEPTH], rest, extent;
    if (!nw_intrinsic_index(p->in, index[d], coef, &rest) || rest) return false;
    for (int l = 0, first = 0; l < p->in->nloops; l++) {
      nw_is_int(p->in->loop[l]->loop.extent, &extent);
      int bits = log_of(extent), shift = coef[l] ? log_of(coef[l]) : -1;
      if (coef[l] && shift < 0) return false;
      for (int b = 0; b < bits; b++) {
        if (!coef[l] || shift + b > 62) continue;
        bit *x = &p->bit[first + b];
        if (taken[d][shift + b] || (input ? x->in.d : x->out.d) >= 0) return false;
        taken[d][shift + b] = true;
        *(input ? &x->in.d : &x->out.d) = d;
        *(input ? &x->in.pos : &x->out.pos) = shift + b;
        count++;
      }
      first += bits;
    }
  }
  return count == p->nbits;
}

static bool read_loops(plan *p) {
  int64_t extent;
  for (int l = 0; l < p->in->nloops; l++) {
    if (!nw_is_int(p->in->loop[l]->loop.extent, &extent) || log_of(extent) < 0)
      return refuse(p, "an extent is not a power of two");
    p->nbits += log_of(extent);
    if (p->nbits > NW_SHUFFLE_BITS) return refuse(p, "the tile has more than 4096 elements");
  }
  for (int i = 0; i < p->nbits; i++) p->bit[i].in.d = p->bit[i].out.d = -1;
  return true;
}

static bool read_description(plan *p) {
  const nw_stmt *b = p->in->block;
  const nw_block_target *t = &b->block.target[0];
  const nw_expr *v = t->value;
  if (p->in->nargs != 2 || b->block.combiner != NW_PLAIN || b->block.ntargets != 1 || v->op != NW_OP_LOAD)
    return refuse(p, "each element of the output must be one element of the input");
  p->s->output = p->in->arg[1].output;
  p->s->input = 1 - p->s->output;
  const nw_intrinsic_arg *from = &p->in->arg[p->s->input], *to = &p->in->arg[p->s->output];
  p->s->dtype = to->dtype;
  if (!read_loops(p)) return false;
  if (!from->ndim || !to->ndim || from->dim[from->ndim - 1].stride != 1 || to->dim[to->ndim - 1].stride != 1)
    return refuse(p, "the last dimension of a tensor must be contiguous");
  if (!place_bits(p, from, v->arg, true) || !place_bits(p, to, t->index, false))
    return refuse(p, "each loop must move along one dimension of the input and one of the output, by powers of two");
  return true;
}

// ---- the bits of lanes and vectors

static int bit_at(const plan *p, int d, int pos, bool input) {
  for (int i = 0; i < p->nbits; i++) {
    const bit *x = &p->bit[i];
    if (input ? x->in.d == d && x->in.pos == pos : x->out.d == d && x->out.pos == pos) return i;
  }
  return -1;
}

static bool among(const int *list, int n, int b) {
  for (int i = 0; i < n; i++)
    if (list[i] == b) return true;
  return false;
}

// Groups are ordered by their place in the output, so that the parts of a cache line are written one after another.
static int later(const plan *p, int a, int b) {
  const bit *x = &p->bit[a], *y = &p->bit[b];
  return x->out.d != y->out.d ? x->out.d < y->out.d : x->out.pos > y->out.pos;
}

static bool divide_bits(plan *p, int bytes) {
  int in = p->in->arg[p->s->input].ndim - 1, out = p->in->arg[p->s->output].ndim - 1;
  int most = log_of(bytes / nw_dtype_bytes(p->s->dtype)), a, b;
  for (; p->k < most; p->k++) {
    if ((a = bit_at(p, in, p->k, true)) < 0 || (b = bit_at(p, out, p->k, false)) < 0) break;
    p->lane[p->k] = a;
    p->want[p->k] = b;
  }
  if (!p->k) return refuse(p, "the last dimensions have less than two elements");
  for (int i = 0; i < p->nbits; i++) {
    bool first = among(p->lane, p->k, i), last = among(p->want, p->k, i);
    if (last && !first) p->vector[p->m++] = i;
    if (first || last) continue;
    int at = p->nfree++;
    for (; at > 0 && later(p, p->free[at - 1], i); at--) p->free[at] = p->free[at - 1];
    p->free[at] = i;
  }
  p->s->lanes = 1 << p->k;
  return true;
}

// ---- the steps

static nw_shuffle *step(plan *p, nw_shuffle_kind kind) {
  nw_shuffles *s = p->s;
  if (s->n == s->cap) {
    s->cap = s->cap ? 2 * s->cap : 64;
    s->at = nw_xrealloc(s->at, (size_t)s->cap * sizeof *s->at);
  }
  s->at[s->n] = (nw_shuffle){.kind = kind};
  return &s->at[s->n++];
}

// Adds what the bits of a number contribute to the position of a vector: bit i of `number` is bit list[i] of the element.
static void locate(const plan *p, nw_shuffle *s, const int *list, int n, int number, bool input) {
  for (int i = 0; i < n; i++) {
    const bit *x = &p->bit[list[i]];
    if (number >> i & 1) s->at[input ? x->in.d : x->out.d] += INT64_C(1) << (input ? x->in.pos : x->out.pos);
  }
}

static int mix(plan *p, int a, int b, const uint8_t *lane) {
  nw_shuffle *s = step(p, NW_SHUFFLE_MIX);
  s->a = a;
  s->b = b;
  memcpy(s->lane, lane, (size_t)p->s->lanes);
  return s->to = p->s->vectors++;
}

// Exchanges the bit that position `pos` of the lanes holds with bit t of the vectors' numbers.
static void exchange(plan *p, int *reg, int pos, int t) {
  int by = 1 << pos, lanes = p->s->lanes;
  uint8_t low[NW_SHUFFLE_LANES], high[NW_SHUFFLE_LANES];
  for (int l = 0; l < lanes; l++) {
    low[l] = (uint8_t)(l & by ? lanes + l - by : l);
    high[l] = (uint8_t)(l & by ? lanes + l : l + by);
  }
  for (int r = 0; r < 1 << p->m; r++) {
    if (r >> t & 1) continue;
    int a = reg[r], b = reg[r | 1 << t];
    reg[r] = mix(p, a, b, low);
    reg[r | 1 << t] = mix(p, a, b, high);
  }
  int held = p->lane[pos];
  p->lane[pos] = p->vector[t];
  p->vector[t] = held;
}

// Brings each bit that the lanes must hold at the end into the lanes, at its own position if that is free.
static void fill_lanes(plan *p, int *reg) {
  for (int j = p->k - 1; j >= 0; j--) {
    if (among(p->lane, p->k, p->want[j])) continue;
    int t = 0, pos = j;
    while (p->vector[t] != p->want[j]) t++;
    for (int q = 0; among(p->want, p->k, p->lane[pos]); q++) pos = q;
    exchange(p, reg, pos, t);
  }
}

// Brings the bits of the lanes into their order.
static void order_lanes(plan *p, int *reg) {
  uint8_t lane[NW_SHUFFLE_LANES] = {0};
  bool same = true;
  for (int q = 0; q < p->k; q++) {
    int j = 0;
    while (p->want[j] != p->lane[q]) j++;
    same = same && j == q;
    for (int l = 0; l < p->s->lanes; l++) lane[l] = (uint8_t)(lane[l] | (l >> j & 1) << q);
  }
  for (int r = 0; r < 1 << p->m && !same; r++) reg[r] = mix(p, reg[r], reg[r], lane);
}

// Adds the steps of one group of vectors, whose lanes are mixed only with each other.
static void add_group(plan *p, int number) {
  plan own = *p;
  int reg[NW_SHUFFLE_LANES];
  for (int r = 0; r < 1 << p->m; r++) {
    nw_shuffle *s = step(p, NW_SHUFFLE_LOAD);
    locate(p, s, p->free, p->nfree, number, true);
    locate(p, s, p->vector, p->m, r, true);
    reg[r] = s->to = p->s->vectors++;
  }
  fill_lanes(&own, reg);
  order_lanes(&own, reg);
  for (int r = 0; r < 1 << p->m; r++) {
    nw_shuffle *s = step(p, NW_SHUFFLE_STORE);
    locate(p, s, p->free, p->nfree, number, false);
    locate(p, s, own.vector, p->m, r, false);
    s->a = reg[r];
  }
}

bool nw_shuffles_of(nw_ctx *c, const nw_intrinsic *in, int bytes, nw_shuffles *out) {
  *out = (nw_shuffles){0};
  plan p = {.c = c, .in = in, .s = out};
  if (!read_description(&p) || !divide_bits(&p, bytes < NW_SHUFFLE_LANES ? bytes : NW_SHUFFLE_LANES)) return false;
  for (int number = 0; number < 1 << p.nfree; number++) add_group(&p, number);
  return true;
}

void nw_shuffles_free(nw_shuffles *s) {
  free(s->at);
  *s = (nw_shuffles){0};
}

// ---- the C text

static void address(nw_str *out, const nw_intrinsic *in, int arg, const nw_shuffle *s) {
  nw_str_fmt(out, "x%d", arg);
  for (int d = 0; d < in->arg[arg].ndim; d++) {
    if (!s->at[d]) continue;
    int64_t stride = in->arg[arg].dim[d].stride;
    nw_str_fmt(out, " + %lld * ", (long long)s->at[d]);
    if (stride == NW_ANY_STRIDE)
      nw_str_fmt(out, "s%d_%d", arg, d);
    else
      nw_str_fmt(out, "%lld", (long long)stride);
  }
}

static void statement(nw_str *out, const nw_intrinsic *in, const nw_shuffles *all, const nw_shuffle *s) {
  if (s->kind == NW_SHUFFLE_LOAD) {
    nw_str_fmt(out, "  const vector v%d = *(const anywhere *)(", s->to);
    address(out, in, all->input, s);
    nw_str_add(out, ");\n");
  } else if (s->kind == NW_SHUFFLE_MIX) {
    nw_str_fmt(out, "  const vector v%d = __builtin_shuffle(v%d, v%d, (vector){", s->to, s->a, s->b);
    for (int l = 0; l < all->lanes; l++) nw_str_fmt(out, "%s%d", l ? ", " : "", s->lane[l]);
    nw_str_add(out, "});\n");
  } else {
    nw_str_add(out, "  *(anywhere *)(");
    address(out, in, all->output, s);
    nw_str_fmt(out, ") = v%d;\n", s->a);
  }
}

char *nw_shuffles_c(const nw_intrinsic *in, const nw_shuffles *all) {
  nw_str out = {0};
  int bits = 8 * nw_dtype_bytes(all->dtype), bytes = bits / 8 * all->lanes;
  nw_str_fmt(&out,
             "#include <stdint.h>\ntypedef uint%d_t one;\ntypedef one vector __attribute__((vector_size(%d)));\n"
             "typedef one anywhere __attribute__((vector_size(%d), aligned(%d), may_alias));\nvoid %s(",
             bits, bytes, bytes, bits / 8, in->name);
  for (int i = 0; i < in->nargs; i++)
    nw_str_fmt(&out, "%s%sone *x%d", i ? ", " : "", in->arg[i].output ? "" : "const ", i);
  for (int i = 0; i < in->nargs; i++)
    for (int d = 0; d < in->arg[i].ndim; d++)
      if (in->arg[i].dim[d].stride == NW_ANY_STRIDE) nw_str_fmt(&out, ", int64_t s%d_%d", i, d);
  nw_str_add(&out, ") {\n");
  for (int i = 0; i < all->n; i++) statement(&out, in, all, &all->at[i]);
  nw_str_add(&out, "}\n");
  return nw_str_take(&out);
}
