// Builds and runs kernels of several versions. A call runs the first version whose facts hold for its sizes, or the
// last version if there is no such version. Each version was judged under the assumption of its facts. The facts are
// checked here, so the combined kernel is correct if each version is correct.
#include "run/kernel.h"
#include <math.h>
#include <stdlib.h>

enum { MOST_CASES = 1023 };

// True if the arguments of both parameters have the same layout.
static bool same_layout(const nw_buffer *a, const nw_buffer *b) {
  if (!a || !b) return a == b;
  bool same = a->nlayout == b->nlayout && a->pad == b->pad;
  for (int d = 0; same && d < a->nlayout; d++) same = a->layout[d] == b->layout[d];
  return same;
}

static bool same_formals(const nw_formals *a, const nw_formals *b) {
  bool same = a->n == b->n && a->nsizes == b->nsizes && a->nfacts <= b->nfacts;
  for (int i = 0; same && i < a->nsizes; i++) same = !strcmp(a->size[i], b->size[i]);
  for (int i = 0; same && i < a->nfacts; i++) same = a->fact[i] == b->fact[i];
  for (int i = 0; same && i < a->n; i++) {
    const nw_formal *x = &a->at[i], *y = &b->at[i];
    same = !strcmp(x->name, y->name) && x->dtype == y->dtype && x->ndim == y->ndim && x->output == y->output &&
           same_layout(x->laid, y->laid);
    same = same && !x->pitch == !y->pitch;
    for (int d = 0; same && d < x->ndim; d++)
      same = x->shape[d] == y->shape[d] && (!x->pitch || x->pitch[d] == y->pitch[d]);
  }
  return same;
}

// Returns the number of the version for these sizes. Each node of the tree on the path to this version tests a size or
// a fact.
int nw_choices_take(const nw_choices *t, const nw_formals *f, const int64_t *sizes) {
  const nw_choice *c = t->at;
  int64_t v;
  while (c->kind != NW_CHOSEN) {
    int answer = 1;
    if (c->kind == NW_BELOW)
      answer = sizes[c->size] >= c->number;
    else if (c->kind == NW_RESIDUE)
      answer = (int)nw_floormod_i64(sizes[c->size], c->number);
    else
      answer = !(nw_eval_size(c->fact, f->nsizes, f->size, sizes, &v) && v);
    c = &t->at[t->next[c->next + answer]];
  }
  return c->next;
}

nw_kernel *nw_kernel_case(nw_kernel *k, const int64_t *sizes) {
  return k->one[nw_choices_take(&k->choices, &k->formals, sizes)];
}

// Returns the facts of version i that are not common to all versions.
static nw_version_facts own_facts(const nw_kernel *k, int i) {
  const nw_formals *f = &k->one[i]->formals;
  return (nw_version_facts){f->nfacts - k->formals.nfacts, f->fact + k->formals.nfacts};
}

static void make_choices(nw_kernel *k) {
  nw_version_facts *all = nw_xcalloc((size_t)k->ncases, sizeof *all);
  for (int i = 0; i < k->ncases; i++) all[i] = own_facts(k, i);
  nw_choices_make(&k->choices, k->exec->p->pool, k->formals.nsizes, k->formals.size, k->ncases, all);
  free(all);
}

// Reports that the last version cannot replace version i, with the reason.
static void refuse_version(nw_ctx *c, int i, int n, const nw_formals *one, const nw_formals *last) {
  int at = 0;
  while (at < last->nfacts && at < one->nfacts && last->fact[at] == one->fact[at]) at++;
  if (at == last->nfacts) {
    nw_fail(c, NW_EINVAL, NULL,
            "versions[%d] must have the same sizes and tensors as the last version, in the same layouts", i + 1);
    return;
  }
  char *fact = nw_expr_show(last->fact[at]);
  nw_fail(c, NW_EINVAL,
          "a call runs the last version if no other version applies; so its facts must come first in every version",
          "versions[%d], the last one, assumes %s; versions[%d] does not, or assumes another fact before it", n, fact,
          i + 1);
  free(fact);
}

nw_kernel *nw_kernel_dispatch(nw_ctx *c, int n, nw_kernel *const *one) {
  if (n < 1 || n > MOST_CASES)
    return nw_fail(c, NW_ELIMIT, NULL, "a kernel cannot have %d versions: give 1 to %d", n, MOST_CASES), NULL;
  const nw_kernel *last = one[n - 1];
  for (int i = 0; i < n; i++)
    if (one[i]->ncases || !same_formals(&last->formals, &one[i]->formals))
      return refuse_version(c, i, n, &one[i]->formals, &last->formals), NULL;
  nw_kernel *k = nw_kernel_new(c, nw_exec_retain(last->exec), 1);
  k->ncases = n;
  k->one = nw_xcalloc((size_t)n, sizeof *k->one);
  for (int i = 0; i < n; i++) {
    k->one[i] = nw_kernel_retain(one[i]);
    k->compile_ms += one[i]->compile_ms;
    if (one[i]->threads > k->threads) k->threads = one[i]->threads;
  }
  make_choices(k);
  return k;
}

// Returns the seconds that it takes to select a version, or -1, with a diagnostic, if the arguments are wrong.
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

// Returns the condition under which version i runs, as text on the heap.
char *nw_kernel_condition(const nw_kernel *k, int i) {
  nw_str s = {0};
  nw_version_facts c = own_facts(k, i);
  for (int j = 0; j < c.nfacts; j++) {
    if (j) nw_str_add(&s, " and ");
    nw_expr_print(&s, c.fact[j]);
  }
  if (!c.nfacts) nw_str_add(&s, "otherwise");
  return nw_str_take(&s);
}
