// Makes and frees the state of core/run in a session.
#include "run/session.h"
#include "run/gpu/gpu.h"
#include "run/gpu/ptxas.h"
#include <stdlib.h>

// Frees the state of a session. The library nestwright-jit stays loaded, because unloading LLVM is not safe and another
// session may need it.
static void session_free(void *data) {
  nw_session *s = data;
  if (s->jit) s->api->close(s->jit);
  nw_worker_end(s->worker);
  for (int i = 0; i < NW_GPU_KINDS; i++) nw_gpu_close(s->gpu[i]);
  nw_ptxas_close(s);
  nw_mem_free(&s->mem);
  free(s);
}

static void session_interrupt(void *data) {
  (void)data;
  nw_guard_interrupt();
}

nw_session *nw_session_of(nw_ctx *c) {
  nw_slot *slot = &c->slot[NW_SLOT_RUN];
  if (!slot->data) nw_slot_fill(c, NW_SLOT_RUN, nw_xcalloc(1, sizeof(nw_session)), session_free, session_interrupt);
  return slot->data;
}
