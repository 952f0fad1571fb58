// Describes this machine as text.
#include "run/session.h"

// Returns the text, on the heap. It contains LLVM's name of the CPU if the JIT is open. The name `generic` means that
// LLVM does not know the CPU, so code is slower.
char *nw_machine_text(nw_ctx *c) {
  const nw_machine_info *m = nw_host();
  const nw_session *s = nw_session_of(c);
  nw_str b = {0};
  nw_str_fmt(&b, "%s\n", m->model);
  nw_str_fmt(&b, "%d core%s, vectors of %d bits, %d registers%s%s%s\n", m->cores, m->cores == 1 ? "" : "s",
             8 * m->vector_bytes, m->vector_registers, nw_has(m->features, NW_FEATURE_FMA) ? ", fma" : "",
             m->vector_bytes == 64 ? ", avx512" : "", nw_has(m->features, NW_FEATURE_F16C) ? ", f16c" : "");
  const char *cpu = s->jit ? s->api->cpu(s->jit, NULL) : NULL;
  if (cpu)
    nw_str_fmt(&b, "LLVM: %s%s\n", cpu,
               strcmp(cpu, "generic") ? "" : " (this LLVM does not know the CPU; code will be slower)");
  for (int i = 0; i < m->ncaches; i++) {
    const nw_cache *k = &m->cache[i];
    nw_str_fmt(&b, "L%d: %ld KiB, %d ways, lines of %d bytes, shared by %d%s\n", k->level, (long)(k->bytes >> 10),
               k->ways, k->line, k->shared_by, m->caches_assumed ? " (assumed: the system hides its caches)" : "");
  }
  nw_str_fmt(&b, "memory: %.1f GB, %.1f GB available\n", (double)m->memory_bytes / 1e9, (double)nw_memory_left() / 1e9);
  return nw_str_take(&b);
}

bool nw_machine_cache(int n, int64_t *bytes, int *ways, int *line) {
  const nw_machine_info *m = nw_host();
  if (n < 0 || n >= m->ncaches) return false;
  *bytes = m->cache[n].bytes;
  *ways = m->cache[n].ways;
  *line = m->cache[n].line;
  return true;
}

int nw_machine_cache_cpus(int n) {
  const nw_machine_info *m = nw_host();
  return n >= 0 && n < m->ncaches ? m->cache[n].shared_by : 0;
}
