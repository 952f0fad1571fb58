// Keeps object code on disk, in the directory that NESTWRIGHT_CACHE names. The code is run without further checks. So
// the directory and each file are opened without following links. They must belong to the user, and nobody else may be
// able to write to them.
#include "base/file.h"
#include "run/jit/jit.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define OBJECT_MOST ((size_t)64 << 20)
#define DISK_MOST ((size_t)256 << 20)

enum { NAME = 40, MOST_TOLD = 4 };

// The header before the object. The checksum covers the key, so that an object in a file with another object's name is
// rejected.
typedef struct head {
  char magic[8];
  nwo_key key;
  uint64_t sum;
} head;

static const char MAGIC[8] = "nwobj 1";

static uint64_t sum_of(nwo_key k, const char *data, size_t n) {
  return nw_hash_mix(nw_hash_mix(nw_hash_bytes(data, n), k.a), k.b);
}

static void name_of(char *name, nwo_key k) {
  snprintf(name, NAME, "%016lx%016lx.o", (unsigned long)k.a, (unsigned long)k.b);
}

// Prints the reason why the cache is not used to standard error, for the first few problems. The program is then
// compiled without the cache.
static void tell(nwo_disk *d, nw_str *why) {
  const char *dir = getenv("NESTWRIGHT_CACHE");
  if (why->s && d->told++ < MOST_TOLD) fprintf(stderr, "nestwright: not cached in %s: %s\n", dir, why->s);
  nw_str_free(why);
}

// Returns the path of the directory, on the heap. Slashes at its end are removed, because the system follows a link if
// the path ends in a slash. Returns NULL if there is no cache.
static char *directory(void) {
  const char *d = getenv("NESTWRIGHT_CACHE");
  if (!d || !*d) return NULL;
  char *dir = nw_xstrdup(d);
  for (size_t n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--) dir[n - 1] = '\0';
  return dir;
}

static int open_directory(nwo_disk *d, bool make) {
  nw_str why = {0};
  char *dir = directory();
  if (!dir) return -1;
  if (make && !nw_make_dirs(dir, 0700)) nw_str_fmt(&why, "cannot make %s: %s", dir, nw_file_reason(errno));
  int fd = why.n || (!make && access(dir, F_OK) && errno == ENOENT) ? -1 : nw_file_open_dir(dir, NW_FILE_CODE, &why);
  free(dir);
  if (why.n && d->refused) nw_str_free(&why);
  d->refused |= why.n > 0;
  tell(d, &why);
  return fd;
}

// ---- reading

static nwo_object *object_of(nwo_key key, const char *text, size_t n) {
  head h;
  if (n <= sizeof h) return NULL;
  memcpy(&h, text, sizeof h);
  text += sizeof h, n -= sizeof h;
  if (memcmp(h.magic, MAGIC, sizeof MAGIC) || h.key.a != key.a || h.key.b != key.b) return NULL;
  if (h.sum != sum_of(key, text, n)) return NULL;
  nwo_object *o = nw_xcalloc(1, sizeof *o);
  *o = (nwo_object){.key = key, .size = n, .data = nw_xmalloc(n)};
  memcpy(o->data, text, n);
  return o;
}

nwo_object *nwo_disk_read(nwo_disk *d, nwo_key key) {
  char name[NAME];
  size_t n;
  nw_str why = {0};
  int dir = open_directory(d, false);
  if (dir < 0) return NULL;
  name_of(name, key);
  char *text = nw_file_read_at(dir, name, NW_FILE_CODE, sizeof(head) + OBJECT_MOST, &n, &why);
  if (!text && errno == ENOENT) nw_str_free(&why);
  tell(d, &why);
  nwo_object *o = text ? object_of(key, text, n) : NULL;
  free(text);
  close(dir);
  return o;
}

// ---- room for new objects

typedef struct entry {
  char name[NAME];
  struct timespec when;
  size_t size;
} entry;

static int older(const void *a, const void *b) {
  const struct timespec *x = &((const entry *)a)->when, *y = &((const entry *)b)->when;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
  return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static bool is_object(const char *name) {
  return strlen(name) == 34 && strspn(name, "0123456789abcdef") == 32 && !strcmp(name + 32, ".o");
}

// Returns a list of the objects in the directory that belong to the user, on the heap. Sets *n to their number.
static entry *list_objects(DIR *at, int *n) {
  entry *all = NULL;
  int room = 0;
  struct stat st;
  for (struct dirent *e; (e = readdir(at));) {
    if (fstatat(dirfd(at), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
    if (st.st_uid != geteuid()) continue;
    if (!is_object(e->d_name) || (size_t)st.st_size > sizeof(head) + OBJECT_MOST) continue;
    if (*n == room) all = nw_xrealloc(all, (size_t)(room = room ? 2 * room : 64) * sizeof *all);
    entry *x = &all[(*n)++];
    *x = (entry){.when = st.st_mtim, .size = (size_t)st.st_size};
    strcpy(x->name, e->d_name);
  }
  return all;
}

// If the old objects and a new object of `more` bytes exceed the limit, removes the oldest objects. The remaining
// objects and the new object then take at most three quarters of the limit. The total is read from the directory once
// and then updated, so objects that other processes add are not counted before the next reading.
static void make_room(nwo_disk *d, int dir, size_t more) {
  if (d->counted && d->bytes + more <= DISK_MOST) return;
  int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
  DIR *at = copy < 0 ? NULL : fdopendir(copy);
  if (!at) return;
  nw_file_tidy(dir);
  entry *all = list_objects(at, &n);
  size_t total = more;
  for (int i = 0; i < n; i++) total += all[i].size;
  if (total > DISK_MOST) qsort(all, (size_t)n, sizeof *all, older);
  for (int i = 0; i < n && total > DISK_MOST / 4 * 3 && (i || total > DISK_MOST); i++)
    if (!unlinkat(dir, all[i].name, 0)) total -= all[i].size;
  free(all);
  closedir(at);
  d->counted = true;
  d->bytes = total - more;
}

// ---- writing

// True if the name can be used. A file of this name that is not an object of the user is not replaced.
static bool is_free(int dir, const char *name) {
  nw_str why = {0};
  int fd = nw_file_open_at(dir, name, O_RDONLY, NW_FILE_CODE, sizeof(head) + OBJECT_MOST, &why);
  bool good = fd >= 0 || errno == ENOENT;
  if (fd >= 0) close(fd);
  nw_str_free(&why);
  return good;
}

static bool write_to(int dir, const nwo_object *o, nw_str *why) {
  char name[NAME];
  head h = {.key = o->key, .sum = sum_of(o->key, o->data, o->size)};
  memcpy(h.magic, MAGIC, sizeof MAGIC);
  name_of(name, o->key);
  nw_file *f = is_free(dir, name) ? nw_file_begin_at(dir, name, NW_FILE_PRIVATE | NW_FILE_QUICK, why) : NULL;
  if (!f) return false;
  nw_file_add(f, &h, sizeof h);
  nw_file_add(f, o->data, o->size);
  return nw_file_end(f, why);
}

void nwo_disk_write(nwo_disk *d, const nwo_object *o) {
  nw_str why = {0};
  int dir = o->size > OBJECT_MOST ? -1 : open_directory(d, true);
  if (dir < 0) return;
  make_room(d, dir, sizeof(head) + o->size);
  if (write_to(dir, o, &why)) d->bytes += sizeof(head) + o->size;
  close(dir);
  tell(d, &why);
}

void nwo_disk_forget(nwo_disk *d, nwo_key key) {
  char name[NAME];
  int dir = open_directory(d, false);
  name_of(name, key);
  if (dir < 0) return;
  if (is_free(dir, name)) unlinkat(dir, name, 0);
  close(dir);
}
