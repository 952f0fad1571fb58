// Tests an intrinsic that is an instruction of a warp. The elements of each tile are given to the lanes as its layouts
// say. Then the simulated GPU executes the instruction, which has its own places for the elements. So a layout that is
// not that of the instruction gives wrong results.
#include "check/trial.h"
#include "interp/instruction.h"
#include "interp/interp.h"
#include <stdio.h>
#include <stdlib.h>

enum { RANDOM_TILES = 8, HELD_BYTES = NW_FRAGMENT_LANES * NW_FRAGMENT_MOST * 4 };

typedef struct trial {
  nw_ctx *c;
  const nw_intrinsic *in;
  int param[NW_MAX_TILES]; // for each argument, the number of the parameter of the description
  nw_check_data data, want; // one array for each parameter; outputs in `data` hold their old values
  char held[NW_MAX_TILES][HELD_BYTES]; // what the lanes hold
} trial;

static nw_array *array_of(const trial *x, int arg) { return x->data.array[x->param[arg]]; }

static int64_t count(const trial *x, int arg) { return nw_array_count(array_of(x, arg)); }

// ---- execution

static void move(trial *x, int arg, nw_array *dense, bool to_lanes) {
  const nw_intrinsic_arg *a = &x->in->arg[arg];
  size_t size = (size_t)nw_dtype_bytes(a->dtype);
  char *data = nw_array_data(dense);
  for (int p = 0; p < a->fragment.n * NW_FRAGMENT_LANES; p++) {
    char *there = x->held[arg] + (size_t)p * size, *here = data + a->fragment.element[p] * size;
    memcpy(to_lanes ? there : here, to_lanes ? here : there, size);
  }
}

static void load(trial *x) {
  const void *rows[NW_FRAGMENT_LANES];
  for (int lane = 0; lane < NW_FRAGMENT_LANES; lane++) {
    int row, column;
    nw_instruction_row_of(x->in->instruction, lane, &row, &column);
    rows[lane] = (const uint16_t *)nw_array_data(array_of(x, 0)) + row * x->in->instruction->columns + column;
  }
  nwi_load_matrices(x->in->instruction, rows, x->held[1]);
}

static void execute(trial *x) {
  for (int i = 0; i < x->in->nargs; i++)
    if (x->in->arg[i].fragment.n) move(x, i, array_of(x, i), true);
  if (x->in->instruction->depth)
    nwi_product(x->in->instruction, x->held[0], x->held[1], (float *)(void *)x->held[2]);
  else
    load(x);
}

// Computes the results by the description. Its sum continues from the values that the output has.
static bool expect(trial *x) {
  const nw_program *p = x->in->description;
  int last = x->in->nargs - 1;
  nw_check_data_free(&x->want);
  if (!nw_check_data_outputs(&x->want, p, &x->data)) return false;
  nw_view *v = nw_check_views(&x->want);
  bool good = nw_interp_program(x->c, p, NULL, v, NULL);
  free(v);
  nw_array *want = x->want.array[x->param[last]], *old = array_of(x, last);
  for (int64_t i = 0; good && x->in->instruction->depth && i < nw_array_count(want); i++)
    nw_array_set(want, i, nw_array_get(want, i) + nw_array_get(old, i));
  return good;
}

// Returns the element of the output that differs, or -1. Sets *got to its value.
static int64_t wrong_element(trial *x, nw_check_bound bound, double *got) {
  int last = x->in->nargs - 1;
  nw_array *want = x->want.array[x->param[last]];
  nw_array *has = nw_array_new(x->c, nw_array_dtype(want), nw_array_ndim(want), nw_array_shape(want));
  if (!has) return 0;
  move(x, last, has, false);
  int64_t at = nw_check_differs(want, has, bound);
  if (at >= 0) *got = nw_array_get(has, at);
  nw_array_release(has);
  return at;
}

// `with` says what the inputs are.
static bool agrees(trial *x, nw_check_bound bound, const char *with) {
  double got = 0;
  if (!expect(x)) return false;
  execute(x);
  int64_t at = wrong_element(x, bound, &got);
  if (at < 0 || nw_error(x->c)) return !nw_error(x->c);
  const nw_intrinsic_arg *out = &x->in->arg[x->in->nargs - 1];
  char *element = nw_fragment_element(out, (int)at), what[256];
  int p = out->fragment.place[at], n = out->fragment.n;
  snprintf(what, sizeof what, "%s, in lane %d, place %d, is %.9g; it must be %.9g", element, p / n, p % n, got,
           nw_array_get(x->want.array[x->param[x->in->nargs - 1]], at));
  free(element);
  return nw_fail(x->c, NW_EMISMATCH, "the layouts must be those of the instruction; without layouts, they are",
                 "intrinsic %s failed its trial: %s, %s", x->in->name, with, what);
}

// ---- numbers

static void fill(const trial *x, int arg, double first, double step) {
  for (int64_t i = 0; i < count(x, arg); i++) nw_array_set(array_of(x, arg), i, first + step * (double)i);
}

// Tests one place of a lane: all other elements of the argument are 0, and those of the other factor are different.
static bool try_place(trial *x, int arg, int p) {
  const nw_intrinsic_arg *a = &x->in->arg[arg];
  char *element = nw_fragment_element(a, a->fragment.element[p]), with[160];
  for (int i = 0; i < x->in->nargs; i++) fill(x, i, i < 2, i < 2);
  fill(x, arg, 0, 0);
  if (arg == 2) fill(x, 0, 0, 0);
  nw_array_set(array_of(x, arg), a->fragment.element[p], 1);
  snprintf(with, sizeof with, "with 1 as %s, in lane %d, place %d, and 0 as all other elements of %s", element,
           p / a->fragment.n, p % a->fragment.n, a->name);
  free(element);
  return agrees(x, NW_CHECK_EXACT, with);
}

static bool try_lanes(trial *x) {
  bool good = true;
  for (int i = 0; i < x->in->nargs && x->in->instruction->depth && good; i++)
    for (int p = 0; p < x->in->arg[i].fragment.n * NW_FRAGMENT_LANES && good; p++)
      good = !nw_stopped(x->c) && try_place(x, i, p);
  if (!good || x->in->instruction->depth) return good;
  fill(x, 0, 1, 1);
  return agrees(x, NW_CHECK_EXACT, "with different numbers as the elements in memory");
}

static bool try_random(trial *x, uint64_t seed, bool whole) {
  char with[64];
  for (int i = 0; i < x->in->nargs; i++) {
    nw_array *a = array_of(x, i);
    nw_array_fill_random(a, nw_hash_mix(seed, (uint64_t)i), -2, 2);
    for (int64_t k = 0; whole && k < nw_array_count(a); k++)
      nw_array_set(a, k, __builtin_nearbyint(nw_array_get(a, k)));
  }
  snprintf(with, sizeof with, "with random %s", whole ? "whole numbers" : "numbers");
  return agrees(x, whole ? NW_CHECK_EXACT : NW_CHECK_NEAR, with);
}

bool nw_trial_warp(nw_ctx *c, const nw_intrinsic *in) {
  trial *x = nw_xcalloc(1, sizeof *x);
  x->c = c, x->in = in;
  for (int i = 0; i < in->nargs; i++)
    while (strcmp(in->description->buffer[x->param[i]]->name, in->arg[i].name)) x->param[i]++;
  bool good = nw_check_data_make(&x->data, in->description, NULL, 1) && try_lanes(x);
  for (int i = 0; i < 2 * RANDOM_TILES && good; i++) good = try_random(x, 11 + (uint64_t)i, i < RANDOM_TILES);
  nw_check_data_free(&x->data);
  nw_check_data_free(&x->want);
  free(x);
  return good;
}
