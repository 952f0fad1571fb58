// Multiply-adds of bytes into sums of 32 bits, for all elements of an instruction. Sums of integers wrap, so their order is
// free: loops that continue one another are joined, and the innermost loop is one that a vector can execute.
#include "device/dae/dae.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef struct loop {
  int64_t n, c, a, b; // iterations, and bytes from one to the next
} loop;

typedef uint32_t v8 __attribute__((vector_size(32)));
typedef int8_t b8 __attribute__((vector_size(8)));

// dot: each iteration of `o` adds a sum over consecutive elements of a and b to one result.
// rows: each iteration of `o` adds a multiple of a row of b to a row of results.
typedef void (*body_fn)(char *c, const char *a, const char *b, const loop *o, int64_t n);

static uint32_t product(const char *a, const char *b) { return (uint32_t)(*(const int8_t *)a * *(const int8_t *)b); }

static void dot(char *c, const char *a, const char *b, const loop *o, int64_t n) {
  for (int64_t j = 0; j < o->n; j++, c += o->c, a += o->a, b += o->b)
    for (int64_t i = 0; i < n; i++) *(uint32_t *)(void *)c += product(a + i, b + i);
}

#define ROWS(name, features)                                                                                           \
  features static void name(char *c, const char *a, const char *b, const loop *o, int64_t n) {                         \
    int64_t i = 0;                                                                                                     \
    for (; i + 8 <= n; i += 8) {                                                                                       \
      v8 sum;                                                                                                          \
      b8 y;                                                                                                            \
      const char *p = a, *q = b + i;                                                                                   \
      memcpy(&sum, c + 4 * i, sizeof sum);                                                                             \
      for (int64_t j = 0; j < o->n; j++, p += o->a, q += o->b) {                                                       \
        memcpy(&y, q, sizeof y);                                                                                       \
        sum += __builtin_convertvector(y, v8) * (uint32_t) * (const int8_t *)p;                                        \
      }                                                                                                                \
      memcpy(c + 4 * i, &sum, sizeof sum);                                                                             \
    }                                                                                                                  \
    for (; i < n; i++)                                                                                                 \
      for (int64_t j = 0; j < o->n; j++) *(uint32_t *)(void *)(c + 4 * i) += product(a + j * o->a, b + i + j * o->b);  \
  }

ROWS(rows, )

#if defined(__x86_64__)
ROWS(rows_avx2, __attribute__((target("avx2"))))

__attribute__((target("avx2"))) static void dot_avx2(char *c, const char *a, const char *b, const loop *o, int64_t n) {
  for (int64_t j = 0; j < o->n; j++, c += o->c, a += o->a, b += o->b) {
    int64_t i = 0;
    __m256i part = _mm256_setzero_si256();
    for (; i + 16 <= n; i += 16) {
      __m256i x = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(a + i)));
      __m256i y = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(b + i)));
      part = _mm256_add_epi32(part, _mm256_madd_epi16(x, y));
    }
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(part), _mm256_extracti128_si256(part, 1));
    half = _mm_hadd_epi32(half, half);
    half = _mm_hadd_epi32(half, half);
    uint32_t sum = (uint32_t)_mm_cvtsi128_si32(half);
    for (; i < n; i++) sum += product(a + i, b + i);
    *(uint32_t *)(void *)c += sum;
  }
}

static body_fn body_for(bool row) {
  if (__builtin_cpu_supports("avx2")) return row ? rows_avx2 : dot_avx2;
  return row ? rows : dot;
}
#else
static body_fn body_for(bool row) { return row ? rows : dot; }
#endif

static bool continues(const loop *outer, const loop *inner) {
  return outer->c == inner->n * inner->c && outer->a == inner->n * inner->a && outer->b == inner->n * inner->b;
}

static void take(loop *list, int *n, int i) {
  (*n)--;
  for (; i < *n; i++) list[i] = list[i + 1];
}

// Joins loops of which one continues the other.
static int join(loop *list, int n) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) {
      if (i == k || !continues(&list[i], &list[k])) continue;
      list[k].n *= list[i].n;
      take(list, &n, i);
      return join(list, n);
    }
  return n;
}

static int find(const loop *list, int n, bool (*is)(const loop *)) {
  for (int i = 0; i < n; i++)
    if (is(&list[i])) return i;
  return -1;
}

static bool is_dot(const loop *l) { return !l->c && l->a == 1 && l->b == 1; }
static bool is_row(const loop *l) { return l->c == 4 && !l->a && l->b == 1; }
static bool is_sum(const loop *l) { return !l->c; }

static void exchange(loop *list, int n) {
  for (int i = 0; i < n; i++) {
    int64_t a = list[i].a;
    list[i].a = list[i].b, list[i].b = a;
  }
}

bool nwd_macs_i8(int n, const int64_t *times, char *c, const char *a, const char *b, const int64_t *step_c,
                 const int64_t *step_a, const int64_t *step_b) {
  loop list[NWD_LOOPS + 1];
  int loops = 0;
  for (int k = 0; k < n; k++)
    if (times[k] != 1) list[loops++] = (loop){times[k], step_c[k], step_a[k], step_b[k]};
  loops = join(list, loops);
  int inner = find(list, loops, is_row);
  if (inner < 0) {
    exchange(list, loops);
    inner = find(list, loops, is_row);
    if (inner >= 0) {
      const char *other = a;
      a = b, b = other;
    } else {
      exchange(list, loops);
    }
  }
  bool row = inner >= 0 && list[inner].n >= 8;
  if (!row) inner = find(list, loops, is_dot);
  if (inner < 0) return false;
  int64_t length = list[inner].n;
  take(list, &loops, inner);
  // The loop around the innermost one: for rows, one over the terms of the sums.
  loop around = {1, 0, 0, 0};
  int next = row ? find(list, loops, is_sum) : loops - 1;
  if (next >= 0) around = list[next], take(list, &loops, next);
  body_fn body = body_for(row);
  int64_t turn[NWD_LOOPS + 1] = {0};
  for (;;) {
    body(c, a, b, &around, length);
    int k = loops - 1;
    for (; k >= 0 && ++turn[k] == list[k].n; k--) {
      c -= (list[k].n - 1) * list[k].c, a -= (list[k].n - 1) * list[k].a, b -= (list[k].n - 1) * list[k].b;
      turn[k] = 0;
    }
    if (k < 0) return true;
    c += list[k].c, a += list[k].a, b += list[k].b;
  }
}
