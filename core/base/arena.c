// Implements arenas as lists of chunks. The first chunk has about 1 KB, and later chunks are larger, so that a small
// program needs little memory.
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>

#define FIRST_CHUNK 1024
#define LAST_CHUNK (256 * 1024)

typedef struct chunk chunk;
struct chunk {
  chunk *next;
  size_t size, used; // bytes of data, and how many of them are in use
  _Alignas(16) char data[];
};

struct nw_arena {
  nw_scratch scratch;
  chunk *head;
  size_t held;
  size_t next_size;
};

// A large request is also refused if it exceeds the remaining memory. Otherwise, the system might grant the request,
// and kill the process later, when the process writes to the memory.
static bool refused(size_t bytes) {
  return nw_refuses_memory() || (bytes >= NW_ASK_FROM && (int64_t)bytes > nw_memory_left());
}

void *nw_xmalloc(size_t bytes) {
  void *p = refused(bytes) ? NULL : malloc(bytes ? bytes : 1);
  if (!p) nw_out_of_memory(bytes);
  return p;
}

void *nw_xcalloc(size_t n, size_t bytes) {
  void *p = refused(n * bytes) ? NULL : calloc(n ? n : 1, bytes ? bytes : 1);
  if (!p) nw_out_of_memory((uint64_t)n * bytes);
  return p;
}

void *nw_xrealloc(void *p, size_t bytes) {
  void *q = refused(bytes) ? NULL : realloc(p, bytes ? bytes : 1);
  if (!q) nw_out_of_memory(bytes);
  return q;
}

char *nw_xstrdup(const char *s) {
  size_t n = strlen(s) + 1;
  return memcpy(nw_xmalloc(n), s, n);
}

nw_arena *nw_arena_new(void) {
  nw_arena *a = nw_xcalloc(1, sizeof *a);
  a->next_size = FIRST_CHUNK;
  return a;
}

static void free_scratch(nw_scratch *s) { nw_arena_free((nw_arena *)s); } // s is the first member of its arena

nw_arena *nw_arena_scratch(void) {
  nw_arena *a = nw_arena_new();
  nw_scratch_add(&a->scratch, free_scratch);
  return a;
}

void nw_arena_keep(nw_arena *a) { nw_scratch_remove(&a->scratch); }

void nw_arena_free(nw_arena *a) {
  if (!a) return;
  nw_scratch_remove(&a->scratch);
  for (chunk *c = a->head, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  free(a);
}

static chunk *add_chunk(nw_arena *a, size_t need) {
  size_t size = a->next_size - sizeof(chunk);
  if (size < need) size = need;
  if ((a->held + size) / NW_ASK_FROM != a->held / NW_ASK_FROM && (int64_t)size > nw_memory_left())
    nw_out_of_memory(size); // the remaining memory is checked whenever the total passes a multiple of NW_ASK_FROM
  chunk *c = nw_xcalloc(1, sizeof(chunk) + size);
  c->size = size;
  a->held += sizeof(chunk) + size;
  if (a->next_size < LAST_CHUNK) a->next_size *= 2;
  return c;
}

// A large object gets a chunk of its own, which is inserted after the head. So later objects can still use the free
// part of the head.
void *nw_arena_alloc(nw_arena *a, size_t bytes) {
  if (bytes > SIZE_MAX / 2) nw_out_of_memory(bytes);
  bytes = (bytes + 15) & ~(size_t)15;
  chunk *c = a->head;
  if (!c || c->size - c->used < bytes) {
    bool own = c && bytes > a->next_size / 2;
    chunk *fresh = add_chunk(a, bytes);
    fresh->next = own ? c->next : c;
    *(own ? &c->next : &a->head) = fresh;
    c = fresh;
  }
  void *p = c->data + c->used;
  c->used += bytes;
  return p;
}

size_t nw_arena_bytes(const nw_arena *a) { return sizeof *a + a->held; }

char *nw_arena_strndup(nw_arena *a, const char *s, size_t n) {
  char *p = nw_arena_alloc(a, n + 1);
  memcpy(p, s, n);
  return p;
}

char *nw_arena_strdup(nw_arena *a, const char *s) { return s ? nw_arena_strndup(a, s, strlen(s)) : NULL; }

static char *arena_vprintf(nw_arena *a, const char *fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  char *p = nw_arena_alloc(a, (size_t)n + 1);
  vsnprintf(p, (size_t)n + 1, fmt, args);
  return p;
}

char *nw_arena_printf(nw_arena *a, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char *p = arena_vprintf(a, fmt, args);
  va_end(args);
  return p;
}
