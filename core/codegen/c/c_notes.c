// Writes what a program that launches kernels must know and PTX does not say: their grids and their arguments.
#include "codegen/c/c_kernel.h"
#include <stdlib.h>

static void grid_of(nwt_grid *x, const nw_launch *l) {
  nwt *g = &x->g;
  nw_str_fmt(&g->out, "// %s: (", l->name);
  nwk_extents(x, l, 0);
  nw_str_add(&g->out, ") blocks of (");
  nwk_extents(x, l, 3);
  nw_str_add(&g->out, ") threads");
  int64_t bytes = nw_launch_asks(l);
  if (bytes) nw_str_fmt(&g->out, ", with %lld bytes of dynamic shared memory", (long long)bytes);
  nw_str_add(&g->out, "\n");
}

static void arguments_of(nwt_grid *x, const nw_launch *l) {
  nwt *g = &x->g;
  const char *between = "//   arguments, in this order: ";
  for (int i = 0; i < l->nbuffers; i++, between = ", ") nw_str_fmt(&g->out, "%s%s", between, l->buffer[i].name);
  if (l->nbuffers) nw_str_add(&g->out, l->nbuffers > 1 ? " (addresses on the device)" : " (an address on the device)");
  int n = g->p->nsizes + l->nvars;
  for (int i = 0; i < g->p->nsizes; i++, between = ", ") nw_str_fmt(&g->out, "%s%s", between, g->p->size[i].name);
  for (int i = 0; i < l->nvars; i++, between = ", ") nw_str_fmt(&g->out, "%s%s", between, l->var[i]->name);
  if (n) nw_str_add(&g->out, n > 1 ? " (integers of 64 bits)" : " (an integer of 64 bits)");
  nw_str_add(&g->out, "\n");
}

char *nw_ptx_notes(const nw_exec *e) {
  nw_launches *all = nw_launches_of(e);
  if (!all) return NULL;
  nwt_grid x = {.all = all, .d = &nwk_cuda, .root = e->p->root};
  nwt *g = &x.g;
  nwt_begin_with(g, e, all->p, NULL, NULL);
  g->dialect = x.d;
  nwt_describe_tensors(g, &g->out);
  for (int i = 0; i < all->n; i++) {
    grid_of(&x, &all->launch[i]);
    arguments_of(&x, &all->launch[i]);
  }
  nw_str_add(
      &g->out,
      "// cuLaunchKernel of the CUDA driver launches a kernel. s:pack(\"folder\") writes a C program that does so,\n"
      "// and f:export \"kernel.cu\" the same kernels in CUDA C with a function that launches them.\n");
  bool failed = g->failed;
  char *text = failed ? NULL : nw_str_take(&g->out);
  nwt_end(g);
  nw_launches_free(all);
  return text;
}
