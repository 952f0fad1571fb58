// Describes this host, with values from the operating system and the CPU. A value that is not reported is 0 or a
// default. Therefore nw_host never fails.
#include "hw/hw.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CPU0 "/sys/devices/system/cpu/cpu0/cache"

static nw_machine_info host;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Reads the first line of a file, without its newline. Returns false if the file cannot be read or is empty.
static bool read_line(const char *path, char *buf, int size) {
  FILE *f = fopen(path, "re");
  if (!f) return false;
  bool ok = fgets(buf, size, f) != NULL;
  fclose(f);
  if (ok) buf[strcspn(buf, "\n")] = 0;
  return ok;
}

static bool cache_field(int index, const char *field, char *buf, int size) {
  char path[128];
  snprintf(path, sizeof path, CPU0 "/index%d/%s", index, field);
  return read_line(path, buf, size);
}

// Returns the number of bytes that a text such as "48K", "2M" or "32768" stands for.
static int64_t parse_size(const char *s) {
  char *unit;
  int64_t v = strtoll(s, &unit, 10);
  return *unit == 'K' ? v << 10 : *unit == 'M' ? v << 20 : *unit == 'G' ? v << 30 : v;
}

// Returns the number of CPUs in a list like "0-3,8".
static int count_cpus(const char *list) {
  int n = 0;
  for (const char *s = list; *s;) {
    char *end;
    long first = strtol(s, &end, 10), last = first;
    if (end == s) break;
    if (*end == '-') last = strtol(end + 1, &end, 10);
    if (last >= first) n += (int)(last - first + 1);
    s = *end == ',' ? end + 1 : end;
    if (*end != ',') break;
  }
  return n;
}

static int64_t number_field(int index, const char *field) {
  char buf[256];
  return cache_field(index, field, buf, sizeof buf) ? parse_size(buf) : 0;
}

static bool read_cache(int index, nw_cache *c) {
  char buf[256];
  if (!cache_field(index, "type", buf, sizeof buf) || strcmp(buf, "Instruction") == 0) return false;
  *c = (nw_cache){.level = (int)number_field(index, "level"),
                  .bytes = number_field(index, "size"),
                  .ways = (int)number_field(index, "ways_of_associativity"),
                  .line = (int)number_field(index, "coherency_line_size"),
                  .shared_by = 1};
  if (cache_field(index, "shared_cpu_list", buf, sizeof buf) && count_cpus(buf) > 0) c->shared_by = count_cpus(buf);
  if (c->line == 0) c->line = 64;
  return c->level > 0 && c->bytes > 0;
}

static void insert_cache(nw_machine_info *m, nw_cache c) {
  int at = m->ncaches++;
  for (; at > 0 && m->cache[at - 1].level > c.level; at--) m->cache[at] = m->cache[at - 1];
  m->cache[at] = c;
}

// This table lists typical caches. It is used on virtual machines that hide their caches. The first row whose `cpu` is
// a prefix of the CPU's name applies. The machine records cite the sources of the sizes. Level 3 is shared by all
// available CPUs. Therefore its field `shared_by` is 0 here, and assume_caches sets it.
static const struct {
  const char *cpu;
  nw_cache level[3];
} typical[] = {
    {"AuthenticAMD family 26 ", {{1, 48 << 10, 12, 64, 1}, {2, 1 << 20, 16, 64, 1}, {3, 32 << 20, 16, 64, 0}}},
    {"", {{1, 32 << 10, 8, 64, 1}, {2, 1 << 20, 16, 64, 1}, {3, 32 << 20, 16, 64, 0}}},
};

static void assume_caches(nw_machine_info *m) {
  int row = 0;
  while (strncmp(m->cpu, typical[row].cpu, strlen(typical[row].cpu)) != 0) row++;
  for (int i = 0; i < NW_COUNT(typical[row].level); i++) m->cache[m->ncaches++] = typical[row].level[i];
  m->cache[m->ncaches - 1].shared_by = m->cores;
  m->caches_assumed = true;
}

// Reads the caches. The name and the number of the CPUs must be known before this call.
static void read_caches(nw_machine_info *m) {
  nw_cache c;
  for (int i = 0; i < 16 && m->ncaches < NW_COUNT(m->cache); i++)
    if (read_cache(i, &c)) insert_cache(m, c);
  if (m->ncaches == 0) assume_caches(m);
}

// Finds the first line "key : value" in a file such as /proc/cpuinfo, and copies the value to `out`. Returns false if
// there is no line with this key.
static bool find_value(const char *path, const char *key, char *out, size_t size) {
  FILE *f = fopen(path, "re");
  char line[512];
  bool found = false;
  while (f && !found && fgets(line, sizeof line, f)) {
    size_t n = strlen(key);
    const char *colon = strchr(line, ':');
    if (strncmp(line, key, n) != 0 || !colon || strspn(line + n, " \t") != (size_t)(colon - line) - n) continue;
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
    found = true;
  }
  if (f) fclose(f);
  return found;
}

static int64_t memory_line(const char *key) {
  char buf[64];
  return find_value("/proc/meminfo", key, buf, sizeof buf) ? strtoll(buf, NULL, 10) * 1024 : 0;
}

static void read_memory(nw_machine_info *m) {
  m->memory_bytes = memory_line("MemTotal");
  m->available_bytes = memory_line("MemAvailable");
  if (m->memory_bytes == 0) m->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  if (m->available_bytes == 0) m->available_bytes = m->memory_bytes;
}

static int usable_cpus(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int)n : 1;
}

#if defined(__x86_64__)
#include <cpuid.h>

// True if the CPU has F16C. Not every compiler knows this feature in __builtin_cpu_supports.
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

// Detects the vector features. __builtin_cpu_supports also checks that the operating system saves the vector registers.
static void read_vectors(nw_machine_info *m) {
  __builtin_cpu_init();
  m->isa = NW_ISA_X86_64;
#define HAS(feature, name)                                                                                             \
  if (__builtin_cpu_supports(name)) m->features |= NW_FEATURE_##feature
  HAS(SSE4_2, "sse4.2");
  HAS(AVX, "avx");
  HAS(AVX2, "avx2");
  HAS(FMA, "fma");
  HAS(AVX512F, "avx512f");
  HAS(AVX512VL, "avx512vl");
  HAS(AVX512BW, "avx512bw");
  HAS(AVX512DQ, "avx512dq");
#undef HAS
  if (nw_has(m->features, NW_FEATURE_AVX) && has_f16c()) m->features |= NW_FEATURE_F16C;
  bool wide = nw_has(m->features, nw_features_of(NW_ISA_X86_64, 64) & ~nw_features_of(NW_ISA_X86_64, 32));
  m->vector_bytes = wide ? 64 : nw_has(m->features, NW_FEATURE_AVX) ? 32 : 16;
  m->vector_registers = wide ? 32 : 16;
}
#else
static void read_vectors(nw_machine_info *m) {
  m->isa = NW_ISA_AARCH64;
  m->features = NW_FEATURE_NEON;
  m->vector_bytes = 16;
  m->vector_registers = 32;
}
#endif

static void read_names(nw_machine_info *m) {
  char family[12] = "", model[12] = "", vendor[16] = "";
  find_value("/proc/cpuinfo", "vendor_id", vendor, sizeof vendor);
  find_value("/proc/cpuinfo", "cpu family", family, sizeof family);
  find_value("/proc/cpuinfo", "model", model, sizeof model);
  if (!find_value("/proc/cpuinfo", "model name", m->model, sizeof m->model))
    snprintf(m->model, sizeof m->model, "unknown");
  if (*vendor)
    snprintf(m->cpu, sizeof m->cpu, "%s family %s model %s", vendor, family, model);
  else
    snprintf(m->cpu, sizeof m->cpu, "unknown");
}

static void read_host(void) {
  host.cores = usable_cpus();
  read_names(&host);
  read_vectors(&host);
  read_caches(&host);
  read_memory(&host);
}

// Reads the values at the first call. Therefore `available_bytes` is the memory that was available at that time.
const nw_machine_info *nw_host(void) {
  pthread_once(&once, read_host);
  return &host;
}
