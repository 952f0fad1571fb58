// A machine record of this host where nobody measured one.
#include "cost/usual.h"
#include <stdio.h>

static bool set(nw_ctx *c, nw_machine *m, const char *path, double v) {
  return nw_machine_set(c, m, path, (nw_value){.kind = NW_FIELD_REAL, .number = v});
}

static const struct {
  const char *path;
  double v;
} rates[] = {
    {"clock", 3.0}, {"dispatch", 6}, {"gather", 0.53}, {"forward", 7}, {"forward_masked", 20}, {"line_crossing", 0.5}, {"store_crossing", 1.2}, {"branch_miss", 20}, {"window", 400}, {"misses", 16},
    {"ops.fma.per_cycle", 2}, {"ops.fma.latency", 4}, {"ops.add.per_cycle", 2}, {"ops.add.latency", 3}, {"ops.minmax.per_cycle", 1}, {"ops.minmax.latency", 6},
    {"ops.shuffle.per_cycle", 1}, {"ops.shuffle.latency", 3}, {"ops.div.per_cycle", 0.25}, {"ops.div.latency", 12}, {"ops.exp.per_cycle", 0.05}, {"ops.exp.latency", 30},
    {"ops.int.per_cycle[1]", 5}, {"ops.int.per_cycle[2]", 2},{"ops.int.per_cycle[3]", 2},{"ops.int.per_cycle[4]", 2}, {"ops.int.latency", 1},
    {"ops.load.per_cycle[1]", 3},{"ops.load.per_cycle[2]", 3},{"ops.load.per_cycle[3]", 3},{"ops.load.per_cycle[4]", 2}, {"ops.load.latency", 5},
    {"ops.store.per_cycle[1]", 2},{"ops.store.per_cycle[2]", 2},{"ops.store.per_cycle[3]", 2},{"ops.store.per_cycle[4]", 0.52}, {"ops.store.latency", 1},
    {"memory.latency", 120}, {"memory.bandwidth", 12},
};

bool nw_machine_usual(nw_ctx *c, nw_machine *m) {
  const nw_machine_info *h = nw_host();
  nw_machine_init(m);
  bool ok = nw_machine_set(c, m, "name", (nw_value){.kind = NW_FIELD_TEXT, .text = "host"});
  for (int i = 0; ok && i < NW_COUNT(rates); i++) ok = set(c, m, rates[i].path, rates[i].v);
  ok = ok && set(c, m, "cores", h->cores) && set(c, m, "vector_bytes", h->vector_bytes) && set(c, m, "vector_registers", h->vector_registers) && set(c, m, "memory.bytes", (double)h->memory_bytes);
  static const double per_cycle[] = {128, 41, 10, 8}, back[] = {64, 25, 8, 8}, latency[] = {5, 15, 70, 100};
  for (int i = 0; ok && i < h->ncaches; i++) {
    char path[64];
    snprintf(path, sizeof path, "caches[%d].bytes", i + 1); ok = ok && set(c, m, path, (double)h->cache[i].bytes);
    snprintf(path, sizeof path, "caches[%d].back_per_cycle", i + 1); ok = ok && set(c, m, path, back[i]); snprintf(path, sizeof path, "caches[%d].ways", i + 1); ok = ok && set(c, m, path, h->cache[i].ways);
    snprintf(path, sizeof path, "caches[%d].line", i + 1); ok = ok && set(c, m, path, h->cache[i].line);
    snprintf(path, sizeof path, "caches[%d].latency", i + 1); ok = ok && set(c, m, path, latency[i]);
    snprintf(path, sizeof path, "caches[%d].bytes_per_cycle", i + 1); ok = ok && set(c, m, path, per_cycle[i]); if (i == 1) ok = ok && set(c, m, "caches[2].crowded", 3.4) && set(c, m, "caches[2].crowded_store", 10);
  }
  return ok && nw_machine_finish(c, m);
}
