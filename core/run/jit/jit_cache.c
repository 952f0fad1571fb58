// The cache of object code: a lowered program is compiled only once for the same CPU, level and version.
#include "run/jit/jit.h"
#include <dlfcn.h>
#include <llvm-c/Core.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MEMORY_MOST ((size_t)64 << 20)

// Adds a text that identifies this build of the module. Another build, or a build with an injected fault, may generate
// different code.
static void build_identity(nw_str *b) {
  Dl_info info;
  struct stat st;
#ifdef NW_MUTANTS
  const char *mutant = getenv("NW_MUTANT");
  nw_str_fmt(b, "%s\n", mutant ? mutant : "");
#endif
  if (!dladdr((void *)nwo_key_of, &info) || stat(info.dli_fname, &st)) return;
  nw_str_fmt(b, "%ld %ld %ld\n", (long)st.st_size, (long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec);
}

nwo_key nwo_key_of(const nw_jit *j, const nw_exec *e, int opt) {
  nw_str b = {0};
  char *program = nw_program_print(e->p);
  nw_str_fmt(&b, "%s %s %s %s %x %d\n", NW_VERSION, LLVM_VERSION_STRING, j->host.cpu, j->host.features,
             e->p->target->features, opt);
  build_identity(&b);
  for (int i = 0; i < e->nstorage; i++) {
    const nw_storage *s = &e->storage[i];
    nw_str_fmt(&b, "%s %s %d ", s->buffer, nw_dtype_name(s->dtype), (int)s->kind);
    if (s->elements) nw_expr_print(&b, s->elements);
    nw_str_add(&b, "\n");
  }
  nw_str_add(&b, program);
  nwo_key k = {nw_hash_bytes(b.s, b.n), 0};
  nw_str_fmt(&b, "%016lx", (unsigned long)k.a);
  k.b = nw_hash_mix(nw_hash_bytes(b.s, b.n), k.a + 1);
  nw_str_free(&b);
  free(program);
  return k;
}

// ---- in memory

static void drop(nwo_cache *c, nwo_object *o) {
  c->bytes -= o->size;
  free(o->data);
  free(o);
}

static void keep(nwo_cache *c, nwo_object *o) {
  o->next = c->first;
  c->first = o;
  c->bytes += o->size;
  while (c->bytes > MEMORY_MOST && c->first->next) {
    nwo_object **last = &c->first->next;
    while ((*last)->next) last = &(*last)->next;
    nwo_object *oldest = *last;
    *last = NULL;
    drop(c, oldest);
  }
}

// Removes the object from the list and returns it. Returns NULL if the object is not in the list.
static nwo_object *take(nwo_cache *c, nwo_key key) {
  for (nwo_object **at = &c->first; *at; at = &(*at)->next) {
    nwo_object *o = *at;
    if (o->key.a != key.a || o->key.b != key.b) continue;
    *at = o->next;
    return o;
  }
  return NULL;
}

LLVMMemoryBufferRef nwo_cache_get(nwo_cache *c, nwo_key key) {
  nwo_object *o = take(c, key);
  if (o) c->bytes -= o->size;
  if (!o) o = nwo_disk_read(&c->disk, key);
  if (!o) return NULL;
  keep(c, o);
  return LLVMCreateMemoryBufferWithMemoryRangeCopy(o->data, o->size, "object");
}

void nwo_cache_put(nwo_cache *c, nwo_key key, const char *data, size_t size) {
  nwo_object *o = nw_xcalloc(1, sizeof *o);
  *o = (nwo_object){.key = key, .size = size, .data = nw_xmalloc(size)};
  memcpy(o->data, data, size);
  nwo_disk_write(&c->disk, o);
  keep(c, o);
}

void nwo_cache_drop(nwo_cache *c, nwo_key key) {
  nwo_object *o = take(c, key);
  if (o) drop(c, o);
  nwo_disk_forget(&c->disk, key);
}

void nwo_cache_free(nwo_cache *c) {
  for (nwo_object *o = c->first, *next; o; o = next) {
    next = o->next;
    drop(c, o);
  }
  c->first = NULL;
}
