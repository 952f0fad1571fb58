// Declares the state of a text for a GPU, which c_kernel.c (the kernels) and c_host.c (the host's part) share. This header is
// private to codegen/c.
#pragma once
#include "codegen/c/c_dialect.h"

typedef struct nwt_grid {
  nwt g;
  const nw_launches *all;
  const nwt_dialect *d;
  const char *symbol; // the kernel's name, or NULL
  const nw_stmt *root; // the root of the lowered program
  int64_t *shared; // the bytes of shared memory that each launch must ask for; written with the kernels
} nwt_grid;

const char *nwk_kernel_name(nwt_grid *x, int i);
void nwk_extents(nwt_grid *x, const nw_launch *l,
                 int from); // writes three extents, for example those of the grid if from is 0
// Writes a function that launches the kernels.
void nwk_host_function(nwt_grid *x);
// Writes the host's part of a text in OpenCL C: a C file, and its header. `file` is the name of both without its end.
void nwk_host_files(nwt_grid *x, const char *file, nw_glue *out);
