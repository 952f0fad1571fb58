// Calling a kernel.
#include "run/kernel.h"
#include <stdlib.h>

#define LINE 128 // two threads' blocks never share a cache line, nor the pair that is fetched together

// False when the number of elements does not fit 64 bits.
static bool elements_of(const nw_kernel *k, const nw_storage *s, int64_t *n) {
  if (!nw_eval_size(s->elements, k->formals.nsizes, k->formals.size, k->sizes, n)) return *n = 0, NW_MUTATED(size_zero);
  if (*n < 0) *n = 0;
  return true;
}

// Made before the call, from the pool: generated code never asks for memory.
static bool make_workspace(nw_kernel *k, int i) {
  const nw_storage *s = &k->exec->storage[i];
  if (s->kind != NW_STORE_WORKSPACE && s->kind != NW_STORE_PER_THREAD) return true;
  int64_t n, bytes = INT64_MAX, copies = s->kind == NW_STORE_PER_THREAD ? k->threads : 1;
  bool too_big = !elements_of(k, s, &n) || __builtin_mul_overflow(n, (int64_t)nw_dtype_bytes(s->dtype), &bytes) ||
                 bytes > INT64_MAX - LINE;
  if (!too_big) bytes = (bytes + LINE - 1) / LINE * LINE;
  k->stride[i] = bytes;
  too_big = too_big || __builtin_mul_overflow(bytes, copies, &bytes);
  too_big = too_big || (bytes > 64 << 20 && bytes > nw_mem_available());
  k->work[i] = too_big ? NULL : nw_mem_get(&nw_session_of(k->ctx)->mem, (size_t)bytes, false);
  if (k->work[i]) return true;
  const char *hint = "compute it in place of use, or in smaller pieces";
  if (too_big && bytes <= 0) bytes = INT64_MAX;
  if (bytes == INT64_MAX)
    return nw_fail(k->ctx, NW_ERANGE, hint, "%s, a temporary of more than 9 exabytes, does not fit in memory",
                   s->buffer);
  return nw_fail(k->ctx, NW_ERANGE, hint, "%s, a temporary of %.1f GB, does not fit in memory", s->buffer,
                 (double)bytes / 1e9);
}

void nw_kernel_end(nw_kernel *k) {
  if (k->running) k = k->running;
  for (int i = 0; i < k->exec->nstorage; i++) {
    nw_mem_put(&nw_session_of(k->ctx)->mem, k->work[i]);
    k->work[i] = NULL;
  }
}

static bool set_up(nw_kernel *k, nw_array *const *args) {
  for (int i = 0, at = 0; i < k->exec->p->nbuffers; i++)
    k->params[i] = k->exec->p->buffer[i]->role == NW_TEMP ? NULL : args[at++]->data;
  for (int i = 0; i < k->exec->nstorage; i++)
    if (!make_workspace(k, i)) return nw_kernel_end(k), false;
  return true;
}

// The one that these sizes ask for; its facts were looked at to find it.
static bool set_up_case(nw_kernel *k, nw_array *const *args) {
  nw_kernel *one = nw_kernel_case(k, k->sizes);
  memcpy(one->sizes, k->sizes, (size_t)k->formals.nsizes * sizeof *k->sizes);
  k->running = one;
  k->entry = one->entry;
  k->frame = one->frame;
  return set_up(one, args);
}

bool nw_kernel_begin(nw_kernel *k, int n, nw_array *const *args) {
  if (!nw_formals_count(k->ctx, &k->formals, n) || !nw_formals_check(k->ctx, &k->formals, n, args, k->sizes))
    return false;
  return k->ncases ? set_up_case(k, args) : set_up(k, args);
}

bool nw_kernel_call(nw_kernel *k, int n, nw_array *const *args) {
  if (!k || !nw_kernel_begin(k, n, args)) return false;
  bool good = nw_guarded_call(k->ctx, k->entry, &k->frame);
  nw_kernel_end(k);
  return good;
}

static nw_array *make_output(nw_kernel *k, const nw_formal *p) {
  int64_t *shape = nw_xcalloc((size_t)p->ndim + 1, sizeof *shape);
  bool good = true;
  for (int d = 0; d < p->ndim; d++)
    good = good && nw_eval_size(p->shape[d], k->formals.nsizes, k->formals.size, k->sizes, &shape[d]);
  nw_array *a = NULL;
  if (good)
    a = nw_array_new(k->ctx, p->dtype, p->ndim, shape);
  else
    nw_fail(k->ctx, NW_EINVAL, NULL, "the shape of %s does not follow from those of the inputs", p->name);
  free(shape);
  return a;
}

// inputs: the parameters before the first output. outputs has room for the rest; each gets a count.
bool nw_kernel_outputs(nw_kernel *k, nw_array *const *inputs, nw_array **outputs) {
  if (!k) return false;
  int n = 0, made = 0;
  while (n < k->formals.n && !k->formals.at[n].output) n++;
  if (!nw_formals_check(k->ctx, &k->formals, n, inputs, k->sizes)) return false;
  for (int i = n; i < k->formals.n; i++) {
    outputs[made] = make_output(k, &k->formals.at[i]);
    if (outputs[made++]) continue;
    while (made > 0) nw_array_release(outputs[--made]);
    return false;
  }
  return true;
}
