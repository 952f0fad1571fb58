// Object code by content: the same lowered program, for the same cpu, level and version, is compiled once.
#include "run/jit.h"
#include <dirent.h>
#include <dlfcn.h>
#include <llvm-c/Core.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_MOST ((size_t)64 << 20)
#define DISK_MOST ((size_t)256 << 20)

// Which build of this module: another one may make other code of the same program. So may one with a fault put in.
static void build_identity(nw_str *b) {
  Dl_info info;
  struct stat st;
#ifdef NW_MUTANTS
  const char *mutant = getenv("NW_MUTANT");
  nw_str_fmt(b, "%s\n", mutant ? mutant : "");
#endif
  if (!dladdr((void *)nwj_key_of, &info) || stat(info.dli_fname, &st)) return;
  nw_str_fmt(b, "%ld %ld %ld\n", (long)st.st_size, (long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec);
}

nwj_key nwj_key_of(const nw_jit *j, const nw_exec *e, int opt) {
  nw_str b = {0};
  char *program = nw_program_print(e->p);
  nw_str_fmt(&b, "%s %s %s %s %d\n", NW_VERSION, LLVM_VERSION_STRING, j->cpu, j->features, opt);
  build_identity(&b);
  for (int i = 0; i < e->nstorage; i++) {
    const nw_storage *s = &e->storage[i];
    nw_str_fmt(&b, "%s %s %d ", s->buffer, nw_dtype_name(s->dtype), (int)s->kind);
    if (s->elements) nw_expr_print(&b, s->elements);
    nw_str_add(&b, "\n");
  }
  nw_str_add(&b, program);
  nwj_key k = {nw_hash_bytes(b.s, b.n), 0};
  nw_str_fmt(&b, "%016lx", (unsigned long)k.a);
  k.b = nw_hash_mix(nw_hash_bytes(b.s, b.n), k.a + 1);
  nw_str_free(&b);
  free(program);
  return k;
}

// ---- on disk

static const char *directory(void) {
  const char *d = getenv("NESTWRIGHT_CACHE");
  return d && *d ? d : NULL;
}

static bool file_of(char *path, size_t n, nwj_key k) {
  const char *d = directory();
  return d && snprintf(path, n, "%s/%016lx%016lx.o", d, (unsigned long)k.a, (unsigned long)k.b) < (int)n;
}

static nwj_object *read_object(nwj_key key) {
  char path[1024];
  struct stat st;
  uint64_t check;
  FILE *f = file_of(path, sizeof path, key) ? fopen(path, "rb") : NULL;
  if (!f) return NULL;
  nwj_object *o = NULL;
  if (!fstat(fileno(f), &st) && st.st_size > 8 && fread(&check, 8, 1, f) == 1) {
    size_t size = (size_t)st.st_size - 8;
    o = nw_xcalloc(1, sizeof *o);
    *o = (nwj_object){.key = key, .size = size, .data = nw_xmalloc(size)};
    if (fread(o->data, 1, size, f) != size || nw_hash_bytes(o->data, size) != check) {
      free(o->data);
      free(o);
      o = NULL;
    }
  }
  fclose(f);
  return o;
}

// Written beside and renamed: a reader sees all of a file or none.
static void write_object(const nwj_object *o) {
  char path[1024], temporary[1100];
  if (!file_of(path, sizeof path, o->key)) return;
  snprintf(temporary, sizeof temporary, "%s.%d", path, (int)getpid());
  mkdir(directory(), 0700);
  FILE *f = fopen(temporary, "wb");
  if (!f) return;
  uint64_t check = nw_hash_bytes(o->data, o->size);
  bool good = fwrite(&check, 8, 1, f) == 1 && fwrite(o->data, 1, o->size, f) == o->size;
  good = !fclose(f) && good;
  if (!good || rename(temporary, path)) unlink(temporary);
}

// The oldest go when there is too much; looked at once per process, before the first write.
static void trim_directory(void) {
  static bool done;
  DIR *d = done || !directory() ? NULL : opendir(directory());
  done = true;
  if (!d) return;
  size_t total = 0;
  char path[1024], oldest[1024];
  for (;;) {
    time_t when = 0;
    *oldest = 0;
    total = 0;
    rewinddir(d);
    for (struct dirent *e; (e = readdir(d));) {
      struct stat st;
      size_t len = strlen(e->d_name);
      if (len < 2 || strcmp(e->d_name + len - 2, ".o")) continue;
      if (snprintf(path, sizeof path, "%s/%s", directory(), e->d_name) >= (int)sizeof path || stat(path, &st)) continue;
      total += (size_t)st.st_size;
      if (*oldest && st.st_mtime >= when) continue;
      when = st.st_mtime;
      memcpy(oldest, path, sizeof oldest);
    }
    if (total <= DISK_MOST || !*oldest || unlink(oldest)) break;
  }
  closedir(d);
}

// ---- in memory

static void drop(nwj_cache *c, nwj_object *o) {
  c->bytes -= o->size;
  free(o->data);
  free(o);
}

static void keep(nwj_cache *c, nwj_object *o) {
  o->next = c->first;
  c->first = o;
  c->bytes += o->size;
  while (c->bytes > MEMORY_MOST && c->first->next) {
    nwj_object **last = &c->first->next;
    while ((*last)->next) last = &(*last)->next;
    nwj_object *oldest = *last;
    *last = NULL;
    drop(c, oldest);
  }
}

LLVMMemoryBufferRef nwj_cache_get(nwj_cache *c, nwj_key key) {
  nwj_object *o = NULL;
  for (nwj_object **at = &c->first; *at && !o; at = &(*at)->next) {
    if ((*at)->key.a != key.a || (*at)->key.b != key.b) continue;
    o = *at;
    *at = o->next;
    c->bytes -= o->size;
    break;
  }
  if (!o) o = read_object(key);
  if (!o) return NULL;
  keep(c, o);
  return LLVMCreateMemoryBufferWithMemoryRangeCopy(o->data, o->size, "object");
}

void nwj_cache_put(nwj_cache *c, nwj_key key, const char *data, size_t size) {
  nwj_object *o = nw_xcalloc(1, sizeof *o);
  *o = (nwj_object){.key = key, .size = size, .data = nw_xmalloc(size)};
  memcpy(o->data, data, size);
  trim_directory();
  write_object(o);
  keep(c, o);
}

void nwj_cache_free(nwj_cache *c) {
  for (nwj_object *o = c->first, *next; o; o = next) {
    next = o->next;
    drop(c, o);
  }
  c->first = NULL;
}
