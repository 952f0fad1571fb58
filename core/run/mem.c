// Allocates memory for data. Blocks are aligned and pooled, and large blocks are on huge pages.
#include "run/session.h"
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGN 64
#define LINE 128 // pieces of two threads never share a cache line, nor a pair of lines that is fetched together
#define LARGE ((size_t)1 << 20) // blocks of at least this size are mapped, on huge pages if the system has them
#define HUGE_PAGE ((size_t)2 << 20)
#define KEEP_FROM ((size_t)32 << 10) // smaller blocks are freed at once
#define KEEP_MOST ((size_t)1 << 30) // bytes kept for reuse

// The header of a block. It is in the 64 bytes before the data. In a mapped block, these 64 bytes are the end of a
// larger gap.
struct nw_block_list {
  struct nw_block_list *next;
  void *base;
  size_t bytes; // usable bytes
  size_t mapped; // mapped bytes; 0 if the block is from the heap
};
typedef struct nw_block_list block;

static block *header_of(void *data) { return (block *)((char *)data - ALIGN); }

// Returns the offset of the data in the next large block. Arrays that start at the same offset in a page compete for
// the same cache sets, so the offset changes from block to block.
static size_t next_colour(nw_mem *m) { return ALIGN + (m->colour++ % 8) * 17 * ALIGN; }

static block *map_block(nw_mem *m, size_t bytes) {
  size_t colour = next_colour(m);
  size_t mapped = (bytes + colour + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  char *p = mmap(NULL, mapped + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  size_t skip = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
  if (skip) munmap(p, skip);
  if (skip < HUGE_PAGE) munmap(p + skip + mapped, HUGE_PAGE - skip);
  madvise(p + skip, mapped, MADV_HUGEPAGE);
  block *b = header_of(p + skip + colour);
  *b = (block){.base = p + skip, .bytes = mapped - colour, .mapped = mapped};
  return b;
}

// Maps a block between two inaccessible pages. So the block has its own mapping, and the system reports how much of the
// block is on huge pages. The size in the header is 0, so that nw_mem_put does not keep the block for reuse.
void *nw_mem_huge(nw_mem *m, size_t bytes) {
  size_t colour = next_colour(m), inner = (bytes + colour + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  char *p = mmap(NULL, inner + 2 * HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  char *from = p + HUGE_PAGE - (uintptr_t)p % HUGE_PAGE;
  if (mprotect(from, inner, PROT_READ | PROT_WRITE)) return munmap(p, inner + 2 * HUGE_PAGE), NULL;
  madvise(from, inner, MADV_HUGEPAGE);
  *header_of(from + colour) = (block){.base = p, .mapped = inner + 2 * HUGE_PAGE};
  return from + colour;
}

// Allocates a block from the heap. A block of 0 bytes has memory, too, so that pointers to it are valid.
static block *heap_block(size_t bytes) {
  size_t all = ((bytes ? bytes : 1) + 2 * ALIGN - 1) / ALIGN * ALIGN;
  char *p = aligned_alloc(ALIGN, all);
  if (!p) return NULL;
  block *b = (block *)p;
  *b = (block){.base = p, .bytes = all - ALIGN};
  return b;
}

static void destroy(block *b) {
  if (b->mapped)
    munmap(b->base, b->mapped);
  else
    free(b->base);
}

// Returns the first kept block that is large enough but not much larger than twice the request. Returns NULL if there
// is none.
static block *reuse(nw_mem *m, size_t bytes) {
  for (block **at = &m->free_block; *at; at = &(*at)->next) {
    block *b = *at;
    if (b->bytes < bytes || b->bytes / 2 > bytes + 4096) continue;
    *at = b->next;
    m->kept -= b->bytes;
    return b;
  }
  return NULL;
}

void *nw_mem_get(nw_mem *m, size_t bytes, bool zero) {
  int64_t stride;
  if (m->fence) return nw_fenced_get(m, bytes, 1, m->align ? m->align : 1, 0, &stride);
  block *b = reuse(m, bytes);
  bool clean = false;
  if (!b) {
    b = bytes >= LARGE ? map_block(m, bytes) : heap_block(bytes);
    if (!b) return NULL;
    clean = b->mapped;
  }
  void *data = (char *)b + ALIGN;
  if (zero && !clean) memset(data, 0, bytes);
  return data;
}

// Fenced pieces (fence.c) are first filled with a pattern, so that no code relies on zeros.
void *nw_mem_pieces(nw_mem *m, size_t bytes, int64_t pieces, int64_t *stride) {
  int64_t all;
  if (m->fence) return nw_fenced_get(m, bytes, pieces, ALIGN, 0xa5, stride);
  if (bytes > INT64_MAX - LINE) return NULL;
  *stride = (int64_t)(bytes + LINE - 1) / LINE * LINE;
  return __builtin_mul_overflow(*stride, pieces, &all) ? NULL : nw_mem_get(m, (size_t)all, false);
}

void nw_mem_put(nw_mem *m, void *data) {
  if (!data || nw_fenced_put(m, data)) return;
  block *b = header_of(data);
  if (b->bytes < KEEP_FROM || m->kept + b->bytes > KEEP_MOST) {
    destroy(b);
    return;
  }
  b->next = m->free_block;
  m->free_block = b;
  m->kept += b->bytes;
}

void nw_mem_free(nw_mem *m) {
  for (block *b = m->free_block, *next; b; b = next) {
    next = b->next;
    destroy(b);
  }
  while (m->fenced) nw_fenced_put(m, nw_fenced_data(m->fenced));
  *m = (nw_mem){0};
}
