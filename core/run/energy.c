// Reads the energy counters of the CPU: the powercap zones of the kernel (RAPL), if they exist and are readable.
//
// A counter counts microjoules, and wraps around at its own limit. The zone of a package includes its cores; memory has
// separate zones. A counter measures everything that runs on the package, not only this process.
#include "run/run.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static bool read_text(const char *root, const char *zone, const char *file, char *buf, int size) {
  char path[512];
  FILE *f = snprintf(path, sizeof path, "%s/%s/%s", root, zone, file) < (int)sizeof path ? fopen(path, "re") : NULL;
  bool good = f && fgets(buf, size, f);
  if (f) fclose(f);
  if (good) buf[strcspn(buf, "\n")] = 0;
  return good;
}

static bool read_joules(const char *root, const char *zone, const char *file, double *out) {
  char buf[64], *end;
  if (!read_text(root, zone, file, buf, sizeof buf)) return false;
  *out = strtod(buf, &end) * 1e-6;
  return end != buf;
}

// Reads the zone of a package or of memory. Returns false if the zone is another zone, or if its counter is not
// readable. Also returns false for mmio zones, which are duplicates.
static bool read_zone(const char *root, const char *name, nw_energy_zone *z) {
  if (!strchr(name, ':') || strstr(name, "mmio") || !read_text(root, name, "name", z->name, sizeof z->name))
    return false;
  if (strncmp(z->name, "package", 7) && strcmp(z->name, "dram")) return false;
  if (snprintf(z->zone, sizeof z->zone, "%s", name) >= (int)sizeof z->zone) return false;
  if (!read_joules(root, name, "max_energy_range_uj", &z->limit)) z->limit = 0;
  return read_joules(root, name, "energy_uj", &z->joules);
}

static int by_zone(const void *a, const void *b) {
  return strcmp(((const nw_energy_zone *)a)->zone, ((const nw_energy_zone *)b)->zone);
}

int nw_energy_zones(nw_ctx *c, const char *root, nw_energy_zone *zone, int most) {
  if (!root) root = "/sys/class/powercap";
  DIR *d = opendir(root);
  int n = 0;
  for (struct dirent *x; d && n < most && (x = readdir(d));) n += read_zone(root, x->d_name, &zone[n]);
  if (d) closedir(d);
  if (n) return qsort(zone, (size_t)n, sizeof *zone, by_zone), n;
  nw_fail(c, NW_ELIMIT, NULL, "this machine has no readable energy counters: %s: %s", root,
          d ? "no package zone has a counter that this user may read" : "there is no such folder");
  return 0;
}

double nw_energy_used(const nw_energy_zone *before, const nw_energy_zone *after) {
  double more = after->joules - before->joules;
  return more >= 0 ? more : more + after->limit;
}
