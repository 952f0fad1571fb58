// Multiply-adds of bytes into sums of 32 bits, for all elements of an instruction. Sums of integers wrap, so their order is
// free: loops that continue one another are joined, and the innermost loop is one that a vector can execute.
#include "device/dae/dae.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef nwd_macs_loop loop;

static uint32_t product(const char *a, const char *b) { return (uint32_t)(*(const int8_t *)a * *(const int8_t *)b); }

// Adds a sum over consecutive elements of a and b to each result of the loop `rows`.
static void dot(const nwd_macs *p, char *c, const char *a, const char *b) {
  for (int64_t r = 0; r < p->rows.n; r++, c += p->rows.c, a += p->rows.a, b += p->rows.b)
    for (int64_t i = 0; i < p->length; i++) *(uint32_t *)(void *)c += product(a + i, b + i);
}

// Adds multiples of the rows of b, one for each iteration of the loop `sum`, to the results from column i on.
static void columns(const nwd_macs *p, char *c, const char *a, const char *b, int64_t i) {
  for (int64_t r = 0; r < p->rows.n; r++)
    for (int64_t j = 0; j < p->sum.n; j++) {
      const char *x = a + r * p->rows.a + j * p->sum.a, *y = b + j * p->sum.b;
      uint32_t *v = (uint32_t *)(void *)(c + r * p->rows.c);
      for (int64_t k = i; k < p->length; k++) v[k] += product(x, y + k);
    }
}

static void rows(const nwd_macs *p, char *c, const char *a, const char *b) { columns(p, c, a, b, 0); }

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

AVX2 static void dot_avx2(const nwd_macs *p, char *c, const char *a, const char *b) {
  for (int64_t r = 0; r < p->rows.n; r++, c += p->rows.c, a += p->rows.a, b += p->rows.b) {
    int64_t i = 0;
    __m256i part = _mm256_setzero_si256();
    for (; i + 16 <= p->length; i += 16) {
      __m256i x = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(a + i)));
      __m256i y = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(b + i)));
      part = _mm256_add_epi32(part, _mm256_madd_epi16(x, y));
    }
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(part), _mm256_extracti128_si256(part, 1));
    half = _mm_hadd_epi32(half, half);
    half = _mm_hadd_epi32(half, half);
    uint32_t sum = (uint32_t)_mm_cvtsi128_si32(half);
    for (; i < p->length; i++) sum += product(a + i, b + i);
    *(uint32_t *)(void *)c += sum;
  }
}

// Returns 8 pairs of numbers of 16 bits: elements of two rows, one above the other.
AVX2 static inline __m256i pairs_of(const char *upper, const char *lower) {
  __m128i x = _mm_loadl_epi64((const __m128i *)(const void *)upper);
  __m128i y = lower ? _mm_loadl_epi64((const __m128i *)(const void *)lower) : _mm_setzero_si128();
  return _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(x, y));
}

AVX2 static inline __m256i factors_of(const char *upper, const char *lower) {
  uint32_t x = (uint16_t)(int16_t) * (const int8_t *)upper, y = lower ? (uint16_t)(int16_t) * (const int8_t *)lower : 0;
  return _mm256_set1_epi32((int32_t)(x | y << 16));
}

enum { BLOCK = 4 }; // rows of results whose sums are in registers at the same time

// Computes 8 columns of n rows of results. Two terms of each sum are multiplied at once.
AVX2 static inline void block(const nwd_macs *p, int n, char *c, const char *a, const char *b) {
  __m256i sum[BLOCK];
  for (int r = 0; r < n; r++) sum[r] = _mm256_loadu_si256((const __m256i *)(const void *)(c + r * p->rows.c));
  for (int64_t j = 0; j < p->sum.n; j += 2) {
    bool two = j + 1 < p->sum.n;
    const char *x = a + j * p->sum.a, *y = b + j * p->sum.b;
    __m256i pairs = pairs_of(y, two ? y + p->sum.b : NULL);
    for (int r = 0; r < n; r++, x += p->rows.a)
      sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(pairs, factors_of(x, two ? x + p->sum.a : NULL)));
  }
  for (int r = 0; r < n; r++) _mm256_storeu_si256((__m256i *)(void *)(c + r * p->rows.c), sum[r]);
}

AVX2 static void rows_avx2(const nwd_macs *p, char *c, const char *a, const char *b) {
  int64_t i = 0;
  for (; i + 8 <= p->length; i += 8) {
    int64_t r = 0;
    for (; r + BLOCK <= p->rows.n; r += BLOCK) block(p, BLOCK, c + r * p->rows.c + 4 * i, a + r * p->rows.a, b + i);
    for (; r < p->rows.n; r++) block(p, 1, c + r * p->rows.c + 4 * i, a + r * p->rows.a, b + i);
  }
  if (i < p->length) columns(p, c, a, b, i);
}

static nwd_macs_fn body_for(bool row) {
  if (__builtin_cpu_supports("avx2")) return row ? rows_avx2 : dot_avx2;
  return row ? rows : dot;
}
#else
static nwd_macs_fn body_for(bool row) { return row ? rows : dot; }
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
static bool shares_b(const loop *l) { return l->c && !l->b; }

static void exchange(loop *list, int n) {
  for (int i = 0; i < n; i++) {
    int64_t a = list[i].a;
    list[i].a = list[i].b, list[i].b = a;
  }
}

// Moves a loop out of the list. Returns a loop of one iteration if i < 0.
static loop taken(nwd_macs *p, int i) {
  loop one = {1, 0, 0, 0};
  if (i < 0) return one;
  one = p->list[i];
  take(p->list, &p->loops, i);
  return one;
}

bool nwd_macs_plan(nwd_macs *p, int n, const int64_t *times, const int64_t *step_c, const int64_t *step_a,
                   const int64_t *step_b) {
  *p = (nwd_macs){.loops = 0};
  for (int k = 0; k < n; k++)
    if (times[k] != 1) p->list[p->loops++] = (loop){times[k], step_c[k], step_a[k], step_b[k]};
  p->loops = join(p->list, p->loops);
  int inner = find(p->list, p->loops, is_row);
  if (inner < 0) {
    exchange(p->list, p->loops);
    inner = find(p->list, p->loops, is_row);
    p->exchanged = inner >= 0;
    if (inner < 0) exchange(p->list, p->loops);
  }
  bool row = inner >= 0 && p->list[inner].n >= 8;
  if (!row) inner = find(p->list, p->loops, is_dot);
  if (inner < 0) return false;
  p->length = taken(p, inner).n;
  p->sum = taken(p, row ? find(p->list, p->loops, is_sum) : -1);
  p->rows = taken(p, row ? find(p->list, p->loops, shares_b) : p->loops - 1);
  p->body = body_for(row);
  return true;
}

void nwd_macs_run(const nwd_macs *p, char *c, const char *a, const char *b) {
  if (p->exchanged) {
    const char *other = a;
    a = b, b = other;
  }
  int64_t turn[NWD_LOOPS + 1] = {0};
  for (;;) {
    p->body(p, c, a, b);
    int k = p->loops - 1;
    for (; k >= 0 && ++turn[k] == p->list[k].n; k--) {
      const loop *l = &p->list[k];
      c -= (l->n - 1) * l->c, a -= (l->n - 1) * l->a, b -= (l->n - 1) * l->b;
      turn[k] = 0;
    }
    if (k < 0) return;
    c += p->list[k].c, a += p->list[k].a, b += p->list[k].b;
  }
}
