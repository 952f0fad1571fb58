// Removes data from the caches, in one of two ways. Flushing removes the cache lines of the arrays and the temporaries
// one by one, with an instruction that x86 has. Sweeping reads a buffer that is larger than all caches. It works on
// every CPU, and also removes code from the caches.
#include "run/timing/evict.h"
#include "run/guard.h"
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#define LINE 64
#define CACHES 2 // the buffer of a sweep has this many times the size of the largest cache
#define LEAST_BUFFER ((size_t)8 << 20)

bool nw_can_flush(void) {
#ifdef __x86_64__
  return true;
#else
  return false;
#endif
}

void nw_flush(const void *data, size_t bytes) {
#ifdef __x86_64__
  const char *p = (const char *)((uintptr_t)data / LINE * LINE), *end = (const char *)data + bytes;
  for (; p < end; p += LINE) _mm_clflush(p);
  _mm_mfence();
#else
  (void)data;
  (void)bytes;
#endif
}

static void flush_all(const nw_evictor *e) {
  const nw_kernel *k = e->k->running ? e->k->running : e->k;
  for (int i = 0; i < e->n; i++) nw_flush(e->args[i]->low, e->args[i]->bytes);
  for (int i = 0; i < k->exec->nstorage; i++) {
    int64_t pieces = k->exec->storage[i].kind == NW_STORE_PER_THREAD ? k->threads : 1;
    if (k->work[i]) nw_flush(k->work[i], (size_t)(pieces * k->stride[i]));
  }
}

// Each thread sweeps the whole buffer, because each core may have its own caches.
static void sweep(void *env, int t) {
  const nw_evictor *e = env;
  (void)t;
  for (size_t at = 0; at < e->bytes; at += LINE) (void)*(volatile char *)&e->buffer[at];
}

static size_t last_cache(void) {
  const nw_machine_info *m = nw_host();
  int64_t most = 0;
  for (int i = 0; i < m->ncaches; i++) most = m->cache[i].bytes > most ? m->cache[i].bytes : most;
  return (size_t)most;
}

bool nw_evict_open(nw_evictor *e) {
  if (e->chill != NW_SWEPT) return true;
  e->bytes = CACHES * last_cache() > LEAST_BUFFER ? CACHES * last_cache() : LEAST_BUFFER;
  if (!nw_memory_for(e->k->ctx, "a buffer to empty the caches", e->bytes, 1)) return false;
  e->buffer = nw_mem_get(&nw_session_of(e->k->ctx)->mem, e->bytes, false);
  if (!e->buffer) return nw_no_memory(e->k->ctx, "a buffer to empty the caches", e->bytes);
  memset(e->buffer, 1, e->bytes); // the system maps all pages that were never written to one page of zeros
  return true;
}

void nw_evict(nw_evictor *e) {
  if (e->chill == NW_FLUSHED)
    flush_all(e);
  else if (e->k->threads > 1)
    nw_team_run(e->k->threads, sweep, e);
  else
    sweep(e, 0);
}

void nw_evict_close(nw_evictor *e) {
  if (e->buffer) nw_mem_put(&nw_session_of(e->k->ctx)->mem, e->buffer);
  e->buffer = NULL;
}
