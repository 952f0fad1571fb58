// Data for the computations of lang.h. Each computation runs twice: in the interpreter, and as a naive evaluation of
// its definition.
#pragma once
#include "../te/lang.h"
#include "interp/interp.h"

#define MAX_PARAMS 8

// The data of a computation: views in the order of parameters, inputs first.
typedef struct job {
  int n, nsizes, ninputs;
  nw_tensor *out[MAX_PARAMS];
  int64_t size[4];
  nw_program *p;
  nw_view view[2 * MAX_PARAMS];
  nw_view again[MAX_PARAMS]; // outputs of the naive evaluation
} job;

static inline int64_t size_value(const job *j, const nw_expr *e) {
  int64_t v = 0;
  if (nw_is_int(e, &v)) return v;
  for (int i = 0; i < j->nsizes; i++) {
    const nw_expr *by = nw_int(j->p->pool, NW_INDEX, j->size[i]);
    e = nw_subst(j->p->pool, e, j->p->size[i].name, by);
  }
  assert_true(nw_is_int(e, &v));
  return v;
}

static inline nw_view new_view(const job *j, const nw_buffer *b) {
  int64_t count = 1;
  for (int d = 0; d < b->ndim; d++) count *= size_value(j, b->shape[d]);
  return (nw_view){b->dtype, count, nw_xcalloc((size_t)count + 1, (size_t)nw_dtype_bytes(b->dtype))};
}

static inline job job_of(int n, nw_tensor **out, int nsizes, const int64_t *sizes) {
  job j = {.n = n, .nsizes = nsizes};
  memcpy(j.out, out, sizeof *out * (size_t)n);
  memcpy(j.size, sizes, sizeof *sizes * (size_t)nsizes);
  j.p = nw_te_program(nw, n, out);
  assert_non_null(j.p);
  assert_int_equal(j.p->nsizes, nsizes);
  for (int i = 0; i < j.p->nbuffers && j.p->buffer[i]->role != NW_TEMP; i++) {
    j.view[i] = new_view(&j, j.p->buffer[i]);
    if (j.p->buffer[i]->role == NW_INPUT)
      j.ninputs++;
    else
      j.again[i - j.ninputs] = new_view(&j, j.p->buffer[i]);
  }
  return j;
}
static inline job job1(nw_tensor *t) { return job_of(1, &t, 0, (int64_t[]){0}); }

static inline void job_free(job *j) {
  for (int i = 0; i < j->ninputs + j->n; i++) free(j->view[i].data);
  for (int i = 0; i < j->n; i++) free(j->again[i].data);
  nw_program_release(j->p);
}

static inline nw_view *input_of(job *j, const char *name) {
  for (int i = 0; i < j->ninputs; i++)
    if (!strcmp(j->p->buffer[i]->name, name)) return &j->view[i];
  return NULL;
}

// Runs the scheduled program. Returns true if it ran.
static inline bool run(job *j) { return nw_interp_program(nw, j->p, j->size, j->view, NULL); }

static inline bool run_naive(job *j) {
  const char *name[4];
  for (int i = 0; i < j->nsizes; i++) name[i] = j->p->size[i].name;
  return nw_naive_eval(nw, j->n, j->out, name, j->size, j->nsizes, j->ninputs, j->view, j->again);
}

// True if both elements have the same bits. All NaNs are equal.
static inline bool same_cell(nw_dtype t, const char *a, const char *b) {
  int n = nw_dtype_bytes(t);
  if (!memcmp(a, b, (size_t)n)) return true;
  if (t == NW_F32) return isnan(*(const float *)a) && isnan(*(const float *)b);
  return t == NW_F64 && isnan(*(const double *)a) && isnan(*(const double *)b);
}

static inline void assert_agree(job *j) {
  bool ran = run(j) && run_naive(j);
  if (!ran) print_error("%s\n", nw_error(nw) ? nw_error(nw)->message : "?");
  assert_true(ran);
  for (int k = 0; k < j->n; k++) {
    const nw_view *a = &j->view[j->ninputs + k], *b = &j->again[k];
    int bytes = nw_dtype_bytes(a->dtype);
    for (int64_t i = 0; i < a->count; i++)
      if (!same_cell(a->dtype, (char *)a->data + i * bytes, (char *)b->data + i * bytes))
        fail_msg("output %d differs at element %lld", k, (long long)i);
  }
}

static inline void fill_f32(nw_view *v, uint64_t seed) {
  for (int64_t i = 0; i < v->count; i++) {
    seed = nw_hash_mix(seed, (uint64_t)i);
    ((float *)v->data)[i] = (float)((int64_t)(seed >> 40) - (1 << 23)) / (1 << 20);
  }
}
