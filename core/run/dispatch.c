// One kernel of several: a call runs the first whose facts hold for its sizes, the last where none does. Each was judged under its
// facts alone, and these are looked at here, so that all of them together are as right as each.
#include "run/kernel.h"
#include <math.h>
#include <stdlib.h>

enum { TABLE = 4096, MOST_CASES = 255 }; // sizes whose case is looked up

static bool same_formals(const nw_formals *a, const nw_formals *b) {
  bool same = a->n == b->n && a->nsizes == b->nsizes && a->nfacts <= b->nfacts;
  for (int i = 0; same && i < a->nsizes; i++) same = !strcmp(a->size[i], b->size[i]);
  for (int i = 0; same && i < a->nfacts; i++) same = a->fact[i] == b->fact[i];
  for (int i = 0; same && i < a->n; i++) {
    const nw_formal *x = &a->at[i], *y = &b->at[i];
    same = !strcmp(x->name, y->name) && x->dtype == y->dtype && x->ndim == y->ndim && x->output == y->output;
    for (int d = 0; same && d < x->ndim; d++) same = x->shape[d] == y->shape[d];
  }
  return same;
}

static bool holds(const nw_kernel *k, const nw_kernel *one, const int64_t *sizes) {
  for (int i = k->formals.nfacts; i < one->formals.nfacts; i++) {
    int64_t v;
    if (!nw_eval_size(one->formals.fact[i], k->formals.nsizes, k->formals.size, sizes, &v) || !v) return false;
  }
  return true;
}

static int first_case(const nw_kernel *k, const int64_t *sizes) {
  int i = 0;
  while (i < k->ncases - 1 && !holds(k, k->one[i], sizes)) i++;
  return i;
}

nw_kernel *nw_kernel_case(nw_kernel *k, const int64_t *sizes) {
  bool known = k->table && sizes[0] >= 0 && sizes[0] < TABLE;
  return k->one[known ? k->table[sizes[0]] : first_case(k, sizes)];
}

// Where there is one size, what it decides is decided now, for the first few thousand values of it.
static void make_table(nw_kernel *k) {
  if (k->formals.nsizes != 1) return;
  k->table = nw_xmalloc(TABLE);
  for (int64_t size = 0; size < TABLE; size++) k->table[size] = (unsigned char)first_case(k, &size);
}

nw_kernel *nw_kernel_dispatch(nw_ctx *c, int n, nw_kernel *const *one) {
  if (n < 1 || n > MOST_CASES)
    return nw_fail(c, NW_ELIMIT, NULL, "a kernel of %d versions; 1 to %d can be told apart", n, MOST_CASES), NULL;
  const nw_kernel *last = one[n - 1];
  for (int i = 0; i < n; i++)
    if (one[i]->ncases || !same_formals(&last->formals, &one[i]->formals))
      return nw_fail(c, NW_EINVAL, "the last may assume nothing that the others do not",
                     "version %d of the kernel is not one of the same computation with more assumed", i + 1),
             NULL;
  nw_kernel *k = nw_kernel_new(c, nw_exec_retain(last->exec), 1);
  k->ncases = n;
  k->one = nw_xcalloc((size_t)n, sizeof *k->one);
  for (int i = 0; i < n; i++) {
    k->one[i] = nw_kernel_retain(one[i]);
    k->compile_ms += one[i]->compile_ms;
    if (one[i]->threads > k->threads) k->threads = one[i]->threads;
  }
  make_table(k);
  return k;
}

// Seconds that finding the case takes.
double nw_kernel_dispatch_seconds(nw_kernel *k, int n, nw_array *const *args) {
  enum { TIMES = 1 << 16 };
  if (!nw_formals_count(k->ctx, &k->formals, n) || !nw_formals_check(k->ctx, &k->formals, n, args, k->sizes)) return -1;
  double best = INFINITY;
  for (int round = 0; round < 9; round++) {
    double start = nw_cpu_now();
    for (int i = 0; i < TIMES && k->ncases; i++) {
      nw_kernel *volatile found = nw_kernel_case(k, k->sizes);
      (void)found;
    }
    double t = (nw_cpu_now() - start) / TIMES;
    if (t < best) best = t;
  }
  return best;
}

// The condition under which case i is run, as text; heap.
char *nw_kernel_condition(const nw_kernel *k, int i) {
  nw_str s = {0};
  const nw_formals *f = &k->one[i]->formals;
  for (int j = k->formals.nfacts; j < f->nfacts; j++) {
    if (j > k->formals.nfacts) nw_str_add(&s, " and ");
    nw_expr_print(&s, f->fact[j]);
  }
  if (f->nfacts == k->formals.nfacts) nw_str_add(&s, "otherwise");
  return nw_str_take(&s);
}
