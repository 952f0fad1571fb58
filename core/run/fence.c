// Allocates memory next to a guard page, for tests. Sanitizers do not see the accesses of generated code, but the CPU
// detects an access to a guard page. A block ends where a guard page begins, or begins where a guard page ends. If
// alignment leaves a gap between the block and the guard page, the gap is filled with a pattern, which is checked after
// each call.
#include "run/session.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATTERN 0x5a

struct nw_fenced {
  nw_fenced *next;
  char *base; // the start of the mapping
  size_t mapped, page, span; // `span`: bytes from one piece to the next
  size_t bytes, before; // `bytes`: size of a piece; `before`: bytes from the start of the piece's pages to the piece
  int64_t pieces;
};

static char *piece(const nw_fenced *f, int64_t i) { return f->base + f->page + (size_t)i * f->span + f->before; }

void *nw_fenced_data(const nw_fenced *f) { return piece(f, 0); }

static size_t whole_pages(size_t bytes, size_t page) { return (bytes + page - 1) / page * page; }

static bool holds(const char *from, const char *to) {
  while (from < to && *from == PATTERN) from++;
  return from == to;
}

static bool pieces_hold(const nw_fenced *f) {
  for (int64_t i = 0; i < f->pieces; i++) {
    const char *at = piece(f, i), *begin = at - f->before, *end = begin + f->span - f->page;
    if (!holds(begin, at) || !holds(at + f->bytes, end)) return false;
  }
  return true;
}

bool nw_fences_hold(const nw_mem *m) {
  for (const nw_fenced *f = m->fenced; f; f = f->next)
    if (!pieces_hold(f)) return false;
  return true;
}

static bool open_pages(nw_fenced *f, int fill) {
  for (int64_t i = 0; i < f->pieces && f->span > f->page; i++) {
    char *begin = f->base + f->page + (size_t)i * f->span;
    if (mprotect(begin, f->span - f->page, PROT_READ | PROT_WRITE)) return false;
    memset(begin, PATTERN, f->span - f->page);
    memset(begin + f->before, fill, f->bytes);
  }
  return true;
}

static void drop(nw_fenced *f) {
  if (f->base != MAP_FAILED) munmap(f->base, f->mapped);
  free(f);
}

// Allocates `pieces` pieces of `bytes` bytes, each next to a guard page. Sets *stride to the bytes from one piece to
// the next. Returns the first piece, or NULL if there is not enough memory.
void *nw_fenced_get(nw_mem *m, size_t bytes, int64_t pieces, size_t align, int fill, int64_t *stride) {
  nw_fenced *f = nw_xcalloc(1, sizeof *f);
  f->page = (size_t)sysconf(_SC_PAGESIZE);
  f->bytes = bytes;
  f->pieces = pieces;
  bool fits =
      bytes <= SIZE_MAX / 4 && !__builtin_mul_overflow(whole_pages(bytes, f->page) + f->page, pieces, &f->mapped);
  f->mapped += f->page;
  f->base = fits ? mmap(NULL, f->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
  f->span = whole_pages(bytes, f->page) + f->page;
  if (m->fence == NW_FENCE_AFTER) f->before = (f->span - f->page - bytes) / align * align;
  if (f->base == MAP_FAILED || !open_pages(f, fill)) return drop(f), NULL;
  f->next = m->fenced;
  m->fenced = f;
  *stride = (int64_t)f->span;
  return piece(f, 0);
}

bool nw_fenced_put(nw_mem *m, void *data) {
  for (nw_fenced **at = &m->fenced; *at; at = &(*at)->next) {
    nw_fenced *f = *at;
    if (piece(f, 0) != data) continue;
    *at = f->next;
    drop(f);
    return true;
  }
  return false;
}

void nw_fences(nw_ctx *c, nw_fence fence, size_t align) {
  nw_mem *m = &nw_session_of(c)->mem;
  m->fence = fence;
  m->align = align;
}
