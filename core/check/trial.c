// Tests an intrinsic. Its function runs in the worker process, on tiles with several memory layouts. The function must
// write exactly the values that the description computes, and nothing else.
//
// Each argument has its own memory segment; the segments of inputs are read-only. In some runs the tile is at the end
// of the segment, in others at its start, so that an access just outside the tile crashes. Memory outside the tile is
// filled with a pattern. The function must not change this pattern. If the function reads the pattern, a float sum
// becomes NaN.
#include "check/trial.h"
#include "run/worker/worker.h"
#include <stdio.h>
#include <stdlib.h>

enum { PATTERN = 0xff, MARGIN = 64 }; // MARGIN: number of elements before and after a tile

// The ways to choose the strides that the intrinsic leaves free.
typedef enum spread { TIGHT, PADDED, WIDE, TURNED, NEGATIVE, REPEATED, OVERLAPPING, SPREADS } spread;
typedef enum place { AT_END, AT_START, INSIDE } place;

typedef struct tile {
  const nw_intrinsic_arg *arg;
  int param; // number of the parameter of the description
  int64_t stride[NW_MAX_TILE_DIMS];
  int64_t low, high; // lowest and highest position of the tile's elements, relative to the first element
  int64_t first; // position of the first element in the segment
  nw_segment segment;
  char *data; // data of the segment
} tile;

typedef struct trial {
  nw_ctx *c;
  const nw_intrinsic *in;
  double timeout;
  tile tile[NW_MAX_TILES];
  nw_shared *memory;
  char *before; // the memory before the call
  nw_check_data data, want; // one array for each parameter of the description; outputs in `data` hold their old values
  nw_check_bound bound;
  bool whole; // true if all numbers in `data` are integers
} trial;

// ---- strides

static int64_t reach(const nw_tile_dim *dim, int64_t stride) { return (dim->extent - 1) * llabs(stride); }

// Chooses strides from the innermost dimension outwards. For TURNED, chooses them from the outermost dimension inwards.
// Each stride is so large that no two elements have the same address.
static void distinct_strides(tile *t, spread s) {
  int64_t span = 1;
  const nw_intrinsic_arg *a = t->arg;
  for (int d = 0; d < a->ndim; d++)
    if (a->dim[d].stride != NW_ANY_STRIDE) span += reach(&a->dim[d], t->stride[d] = a->dim[d].stride);
  for (int i = 0; i < a->ndim; i++) {
    int d = s == TURNED ? i : a->ndim - 1 - i;
    if (a->dim[d].stride != NW_ANY_STRIDE) continue;
    int64_t stride = span + (s == PADDED ? 3 : s == WIDE ? span + 5 : 0);
    t->stride[d] = s == NEGATIVE ? -stride : stride;
    span += reach(&a->dim[d], stride);
  }
}

// Chooses the strides of a tile. In an input, different elements may have the same address. So REPEATED sets the free
// strides of an input to 0, and OVERLAPPING sets them to 1.
static void choose_strides(tile *t, spread s) {
  distinct_strides(t, s);
  for (int d = 0; d < t->arg->ndim && !t->arg->output; d++)
    if (t->arg->dim[d].stride == NW_ANY_STRIDE && (s == REPEATED || s == OVERLAPPING)) t->stride[d] = s == OVERLAPPING;
  t->low = t->high = 0;
  for (int d = 0; d < t->arg->ndim; d++) {
    int64_t to = (t->arg->dim[d].extent - 1) * t->stride[d];
    *(to < 0 ? &t->low : &t->high) += to;
  }
}

static void choose_place(tile *t, place where) {
  int64_t size = nw_dtype_bytes(t->arg->dtype), n = t->high - t->low + 1;
  t->segment.bytes = nw_page((size_t)((n + (where == INSIDE ? 2 * MARGIN : 0)) * size));
  int64_t room = (int64_t)t->segment.bytes / size;
  t->first = (where == AT_END ? room - n : where == AT_START ? 0 : MARGIN) - t->low;
}

// ---- elements

static int64_t count(const nw_intrinsic_arg *a) {
  int64_t n = 1;
  for (int d = 0; d < a->ndim; d++) n *= a->dim[d].extent;
  return n;
}

// Returns the byte offset in the segment of the element whose number in row-major order is `flat`.
static size_t offset(const tile *t, int64_t flat) {
  int64_t at = t->first;
  for (int d = t->arg->ndim - 1; d >= 0; d--) {
    at += flat % t->arg->dim[d].extent * t->stride[d];
    flat /= t->arg->dim[d].extent;
  }
  return (size_t)at * (size_t)nw_dtype_bytes(t->arg->dtype);
}

static void each(const tile *t, char *dense, bool to_tile) {
  size_t size = (size_t)nw_dtype_bytes(t->arg->dtype);
  for (int64_t i = 0; i < count(t->arg); i++) {
    char *there = t->data + offset(t, i), *here = dense + (size_t)i * size;
    memcpy(to_tile ? there : here, to_tile ? here : there, size);
  }
}

static void scatter(const tile *t, nw_array *a) { each(t, nw_array_data(a), true); }
static void gather(const tile *t, nw_array *a) { each(t, nw_array_data(a), false); }

// ---- expected results

static bool continues(const trial *x) { return !x->in->init && x->in->block->block.combiner != NW_PLAIN; }

static const nw_expr *constant_of(nw_pool *p, const nw_array *a, int64_t i) {
  nw_dtype t = nw_array_dtype(a);
  return nw_dtype_is_float(t) ? nw_float(p, t, nw_array_get(a, i)) : nw_int(p, t, nw_array_get_int(a, i));
}

static void add_before(const trial *x, int param) {
  nw_array *want = x->want.array[param], *had = x->data.array[param];
  nw_pool *p = nw_pool_new(x->c);
  for (int64_t i = 0; i < nw_array_count(want); i++) {
    const nw_expr *old = constant_of(p, had, i), *term = constant_of(p, want, i);
    const nw_expr *sum = nw_combine(p, x->in->block->block.combiner, 0, &old, &term);
    if (sum->op == NW_OP_FLOAT)
      nw_array_set(want, i, sum->f);
    else
      nw_array_set_int(want, i, sum->i);
  }
  nw_pool_release(p);
}

static bool expect(trial *x) {
  nw_program *p = x->in->description;
  nw_check_data_free(&x->want);
  if (!nw_check_data_outputs(&x->want, p, &x->data)) return false;
  nw_view *v = nw_check_views(&x->want);
  bool good = nw_interp_program(x->c, p, NULL, v, NULL);
  free(v);
  for (int i = nw_check_inputs(p); good && continues(x) && i < x->want.n; i++) add_before(x, i);
  return good;
}

// ---- one run of the function

static char *strides_text(const trial *x) {
  nw_str s = {0};
  for (int i = 0; i < x->in->nargs; i++) {
    const tile *t = &x->tile[i];
    nw_str_fmt(&s, "%s%s {", i ? ", " : "", t->arg->name);
    for (int d = 0; d < t->arg->ndim; d++) nw_str_fmt(&s, "%s%lld", d ? ", " : "", (long long)t->stride[d]);
    nw_str_add(&s, "}");
  }
  return nw_str_take(&s);
}

static bool failed(trial *x, nw_code code, const char *what) {
  char *strides = strides_text(x);
  nw_fail(x->c, code, nw_diag_printf(x->c, "the tiles had strides %s", strides), "intrinsic %s failed its trial: %s",
          x->in->name, what);
  free(strides);
  return false;
}

// Reports a failure of the worker, with the worker's message. Returns false.
static bool failed_in_worker(trial *x) {
  const nw_diag *d = nw_error(x->c);
  if (!d || d->code == NW_EINTERRUPT || d->code == NW_EIO || d->code == NW_EINVAL) return false;
  char *what = nw_xstrdup(d->message);
  nw_clear(x->c);
  failed(x, NW_ECRASH, what);
  free(what);
  return false;
}

static bool run(trial *x) {
  nw_word word[NW_MAX_WORDS];
  nw_segment segment[NW_MAX_TILES];
  int n = 0;
  for (int i = 0; i < x->in->nargs; i++) {
    const tile *t = &x->tile[i];
    segment[i] = t->segment;
    word[n++] = (nw_word){i, t->first * nw_dtype_bytes(t->arg->dtype)};
  }
  for (int i = 0; i < x->in->nargs; i++)
    for (int d = 0; d < x->in->arg[i].ndim; d++)
      if (x->in->arg[i].dim[d].stride == NW_ANY_STRIDE) word[n++] = (nw_word){-1, x->tile[i].stride[d]};
  for (int i = 0; i < x->in->nconstants; i++) word[n++] = (nw_word){-1, x->in->constant[i]};
  nw_job job = {.library = x->in->library, .symbol = x->in->symbol, .nwords = n, .word = word, .timeout = x->timeout};
  job.nsegments = x->in->nargs;
  job.segment = segment;
  job.memory = x->memory;
  return nw_worker_run(x->c, &job) || failed_in_worker(x);
}

static bool check_values(trial *x, const tile *t) {
  nw_array *want = x->want.array[t->param];
  nw_array *got = nw_array_new(x->c, nw_array_dtype(want), nw_array_ndim(want), nw_array_shape(want));
  if (!got) return false;
  gather(t, got);
  int64_t at = nw_check_differs(want, got, x->bound);
  if (at >= 0) {
    char *element = nw_check_element(t->arg->name, want, at), what[200];
    snprintf(what, sizeof what, "%s is %.9g; it must be %.9g", element, nw_array_get(got, at), nw_array_get(want, at));
    failed(x, NW_EMISMATCH, what);
    free(element);
  }
  nw_array_release(got);
  return at < 0;
}

// Checks that all memory outside the tile is unchanged.
static bool check_around(trial *x, const tile *t) {
  const char *before = x->before + t->segment.offset;
  size_t size = (size_t)nw_dtype_bytes(t->arg->dtype);
  for (int64_t i = 0; i < count(t->arg); i++) memcpy(t->data + offset(t, i), before + offset(t, i), size);
  if (!memcmp(t->data, before, t->segment.bytes)) return true;
  size_t at = 0;
  while (t->data[at] == before[at]) at++;
  int64_t element = (int64_t)(at / size) - t->first;
  char what[200];
  snprintf(what, sizeof what, "it writes outside the tile of %s, %lld elements from the first one", t->arg->name,
           (long long)element);
  return failed(x, NW_EMISMATCH, what);
}

static bool check_results(trial *x) {
  for (int i = 0; i < x->in->nargs; i++)
    if (x->tile[i].arg->output && !(check_values(x, &x->tile[i]) && check_around(x, &x->tile[i]))) return false;
  return true;
}

static bool lay_out(trial *x, spread s, place where) {
  size_t bytes = 0;
  for (int i = 0; i < x->in->nargs; i++) {
    tile *t = &x->tile[i];
    choose_strides(t, s);
    choose_place(t, where);
    t->segment.offset = bytes;
    bytes += t->segment.bytes;
  }
  nw_shared_free(x->memory);
  x->memory = nw_shared_new(x->c, bytes);
  if (!x->memory) return false;
  memset(x->memory->data, PATTERN, x->memory->bytes);
  for (int i = 0; i < x->in->nargs; i++) x->tile[i].data = x->memory->data + x->tile[i].segment.offset;
  return true;
}

// Fills the tiles. An output that is only written keeps the pattern, so that a read of this output is detected.
static void fill_tiles(trial *x) {
  for (int i = 0; i < x->in->nargs; i++) {
    const tile *t = &x->tile[i];
    if (!t->arg->output || continues(x)) scatter(t, x->data.array[t->param]);
    if (!t->arg->output) gather(t, x->data.array[t->param]);
  }
}

static bool try_case(trial *x, spread s, place where) {
  if (!lay_out(x, s, where)) return false;
  fill_tiles(x);
  if ((s == REPEATED || s == OVERLAPPING) && !expect(x)) return false;
  x->before = nw_xask(x->memory->bytes, 1);
  memcpy(x->before, x->memory->data, x->memory->bytes);
  bool good = run(x) && check_results(x);
  nw_let_go(x->before);
  return good;
}

// ---- numbers

static void fill(trial *x, nw_array *a, uint64_t seed) {
  bool floats = nw_dtype_is_float(nw_array_dtype(a));
  bool negative = nw_dtype_is_signed(nw_array_dtype(a));
  nw_array_fill_random(a, seed, negative ? -2 : 0, nw_array_dtype(a) == NW_BOOL ? 1 : 2);
  for (int64_t i = 0; floats && x->whole && i < nw_array_count(a); i++)
    nw_array_set(a, i, __builtin_nearbyint(nw_array_get(a, i)));
}

// Chooses the data. If `whole` is true, all numbers are integers, so that sums and products are exact. Otherwise floats
// need not be integers.
static bool choose_numbers(trial *x, bool whole, uint64_t seed) {
  const nw_program *p = x->in->description;
  x->whole = whole;
  x->bound = whole ? nw_check_bound_of(p) : NW_CHECK_NEAR;
  nw_check_data_free(&x->data);
  if (!nw_check_data_make(&x->data, p, NULL, seed)) return false;
  for (int i = 0; i < x->data.n; i++) fill(x, x->data.array[i], nw_hash_mix(seed, (uint64_t)i));
  return expect(x);
}

static bool any_float(const nw_intrinsic *in) {
  for (int i = 0; i < in->nargs; i++)
    if (nw_dtype_is_float(in->arg[i].dtype)) return true;
  return false;
}

static bool try_all(trial *x) {
  for (int whole = 1; whole >= 0; whole--)
    for (spread s = TIGHT; s < SPREADS; s++)
      for (place where = AT_END; where <= INSIDE; where++) {
        if (!whole && (!any_float(x->in) || s > PADDED)) continue;
        bool fresh = (s == TIGHT || s >= REPEATED) && where == AT_END;
        if (fresh && !choose_numbers(x, whole, 7 + (uint64_t)s)) return false;
        if (nw_stopped(x->c) || !try_case(x, s, where)) return false;
      }
  return true;
}

bool nw_trial(nw_ctx *c, const nw_intrinsic *in, double timeout) {
  trial x = {.c = c, .in = in, .timeout = timeout};
  for (int i = 0; i < in->nargs; i++) {
    tile *t = &x.tile[i];
    t->arg = &in->arg[i];
    t->segment = (nw_segment){.name = t->arg->name, .writable = t->arg->output};
    while (strcmp(in->description->buffer[t->param]->name, t->arg->name)) t->param++;
  }
  bool good = try_all(&x);
  nw_check_data_free(&x.data);
  nw_check_data_free(&x.want);
  nw_shared_free(x.memory);
  return good;
}
