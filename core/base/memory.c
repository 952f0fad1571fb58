// Allocates memory whose size depends on the user, and checks the limits of such requests.
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct bound {
  const char *name;
  int64_t limit, left; // in bytes; `left` is INT64_MAX if there is no limit
} bound;

static int64_t read_number(const char *path, const char *key) {
  FILE *f = fopen(path, "re");
  char line[128];
  int64_t value = -1;
  while (f && value < 0 && fgets(line, sizeof line, f))
    if (!strncmp(line, key, strlen(key))) sscanf(line + strlen(key), "%ld", &value);
  if (f) fclose(f);
  return value;
}

static bound of_limit(int resource, const char *name, const char *used_key) {
  struct rlimit r;
  bound b = {name, 0, INT64_MAX};
  if (getrlimit((__rlimit_resource_t)resource, &r) || r.rlim_cur == RLIM_INFINITY) return b;
  int64_t used = read_number("/proc/self/status", used_key);
  b.limit = (int64_t)r.rlim_cur;
  b.left = used < 0 ? b.limit : b.limit - used * 1024;
  if (b.left < 0) b.left = 0;
  return b;
}

static bound of_group(void) {
  bound b = {"the memory limit of this control group (cgroup)", read_number("/sys/fs/cgroup/memory.max", ""),
             INT64_MAX};
  int64_t used = read_number("/sys/fs/cgroup/memory.current", "");
  if (b.limit > 0 && used >= 0) b.left = b.limit > used ? b.limit - used : 0;
  return b;
}

static bound of_machine(void) {
  int64_t kib = read_number("/proc/meminfo", "MemAvailable:"), all = read_number("/proc/meminfo", "MemTotal:");
  return (bound){"the memory of this machine", all * 1024, kib < 0 ? INT64_MAX : kib * 1024};
}

// Returns the limit with the least memory left.
static bound tightest(void) {
  bound all[] = {of_limit(RLIMIT_AS, "the limit on address space (ulimit -v)", "VmSize:"),
                 of_limit(RLIMIT_DATA, "the limit on data (ulimit -d)", "VmData:"), of_group(), of_machine()};
  int least = 0;
  for (int i = 1; i < NW_COUNT(all); i++)
    if (all[i].left < all[least].left) least = i;
  return all[least];
}

int64_t nw_memory_left(void) { return tightest().left; }

// Formats a size such as "1.5 GB".
static const char *in_units(char *out, size_t n, double bytes) {
  static const char *const unit[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
  int u = 0;
  while (bytes >= 999.5 && u < NW_COUNT(unit) - 1) bytes /= 1000, u++;
  snprintf(out, n, u && bytes < 99.95 ? "%.1f %s" : "%.0f %s", bytes, unit[u]);
  return out;
}

void nw_say_limit(char *out, size_t n) {
  char left[32], limit[32];
  bound b = tightest();
  if (b.left == INT64_MAX)
    snprintf(out, n, "the system has no more memory");
  else
    snprintf(out, n, "%s is %s, and %s of it is left", b.name, in_units(limit, sizeof limit, (double)b.limit),
             in_units(left, sizeof left, (double)b.left));
}

void *nw_no_memory(nw_ctx *c, const char *what, uint64_t bytes) {
  char size[32], why[160];
  nw_say_limit(why, sizeof why);
  return nw_fail(c, NW_EMEMORY, "request less, or free memory that is no longer needed; nothing is lost",
                 "no memory for %s of %s: %s", what, in_units(size, sizeof size, (double)bytes), why);
}

bool nw_memory_for(nw_ctx *c, const char *what, uint64_t n, uint64_t each) {
  uint64_t bytes;
  bool fits = !__builtin_mul_overflow(n, each, &bytes);
  if (fits && bytes <= INT64_MAX / 2)
    return bytes < NW_ASK_FROM || bytes <= (uint64_t)nw_memory_left() || nw_no_memory(c, what, bytes);
  char size[32] = "more than 18 EB";
  if (fits) in_units(size, sizeof size, (double)bytes);
  nw_fail(c, NW_EMEMORY, "request less", "no memory for %s of %s: no machine has that much", what, size);
  return false;
}

bool nw_room_for(nw_ctx *c, const char *what, uint64_t bytes) {
  void *p = nw_refuses_memory()
                ? MAP_FAILED
                : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p != MAP_FAILED) return !munmap(p, bytes);
  char size[32], why[160];
  nw_say_limit(why, sizeof why);
  nw_fail(c, NW_EMEMORY, "raise the limit, or free memory that is no longer needed; nothing is lost",
          "no memory for %s, of %s: %s", what, in_units(size, sizeof size, (double)bytes), why);
  return false;
}

typedef struct block {
  nw_scratch scratch;
  _Alignas(16) char data[];
} block;

static block *block_of(void *data) { return (block *)((char *)data - offsetof(block, data)); }

static void release(nw_scratch *s) { nw_let_go(((block *)s)->data); } // s is the first member of its block

// Resizes the block whose data is p, or allocates a zeroed block if p is NULL. Returns the data of the block. On
// failure returns NULL, and leaves the block unchanged.
static void *asked(void *p, size_t bytes) {
  block *b = p ? block_of(p) : NULL;
  bool own = !b || b->scratch.number;
  if (b) nw_scratch_remove(&b->scratch);
  block *more = nw_refuses_memory() ? NULL : b ? realloc(b, sizeof *b + bytes) : calloc(1, sizeof *b + bytes);
  if (more) b = more;
  if (b && own) nw_scratch_add(&b->scratch, release);
  return more ? more->data : NULL;
}

void *nw_ask_more(nw_ctx *c, const char *what, void *p, uint64_t n, uint64_t each) {
  if (!nw_memory_for(c, what, n, each)) return NULL;
  void *q = asked(p, (size_t)(n * each));
  return q ? q : nw_no_memory(c, what, n * each);
}

void *nw_ask(nw_ctx *c, const char *what, uint64_t n, uint64_t each) { return nw_ask_more(c, what, NULL, n, each); }

void *nw_xask_more(void *p, uint64_t n, uint64_t each) {
  uint64_t bytes;
  bool fits = !__builtin_mul_overflow(n, each, &bytes) && bytes <= INT64_MAX / 2;
  void *q = fits && (bytes < NW_ASK_FROM || bytes <= (uint64_t)nw_memory_left()) ? asked(p, (size_t)bytes) : NULL;
  if (!q) nw_out_of_memory(fits ? bytes : UINT64_MAX);
  return q;
}

void *nw_xask(uint64_t n, uint64_t each) { return nw_xask_more(NULL, n, each); }

void nw_let_go(void *p) {
  if (!p) return;
  nw_scratch_remove(&block_of(p)->scratch);
  free(block_of(p));
}
