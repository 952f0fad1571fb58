// A session and a pool for each test.
#pragma once
#include "ir/program/program.h"
#include <stdlib.h>

typedef struct env {
  nw_ctx *c;
  nw_pool *pool;
} env;

static int setup(void **state) {
  env *e = nw_xcalloc(1, sizeof *e);
  e->c = nw_open();
  e->pool = nw_pool_new(e->c);
  *state = e;
  return 0;
}

static int teardown(void **state) {
  env *e = *state;
  nw_pool_release(e->pool);
  nw_close(e->c);
  free(e);
  return 0;
}
