// Multiply-adds of bytes into sums of 32 bits, for all elements of an instruction. Sums of integers wrap, so their order is
// free: loops that continue one another are joined, and the innermost loop is one that a vector can execute.
#include "device/dae/dae.h"

typedef struct loop {
  int64_t n, c, a, b; // iterations, and bytes from one to the next
} loop;

typedef uint32_t v8 __attribute__((vector_size(32)));
typedef int8_t b8 __attribute__((vector_size(8)));

// dot: each iteration of `o` adds a sum over consecutive elements of a and b to one result.
// rows: each iteration of `o` adds a multiple of a row of b to a row of results.
#define BODIES(name, features)                                                                                         \
  features static void dot_##name(char *c, const char *a, const char *b, const loop *o, int64_t n) {                   \
    for (int64_t j = 0; j < o->n; j++, c += o->c, a += o->a, b += o->b) {                                              \
      int64_t i = 0;                                                                                                   \
      uint32_t sum = 0;                                                                                                \
      v8 part = {0};                                                                                                   \
      for (; i + 8 <= n; i += 8) {                                                                                     \
        b8 x, y;                                                                                                       \
        memcpy(&x, a + i, sizeof x);                                                                                   \
        memcpy(&y, b + i, sizeof y);                                                                                   \
        part += __builtin_convertvector(x, v8) * __builtin_convertvector(y, v8);                                       \
      }                                                                                                                \
      for (int k = 0; k < 8; k++) sum += part[k];                                                            \
      for (; i < n; i++) sum += (uint32_t)(((const int8_t *)a)[i] * ((const int8_t *)b)[i]);                           \
      *(uint32_t *)(void *)c += sum;                                                                                   \
    }                                                                                                                  \
  }                                                                                                                    \
  features static void rows_##name(char *c, const char *a, const char *b, const loop *o, int64_t n) {                  \
    int64_t i = 0;                                                                                                     \
    for (; i + 8 <= n; i += 8) {                                                                                       \
      v8 sum;                                                                                                          \
      const char *p = a, *q = b + i;                                                                                   \
      memcpy(&sum, c + 4 * i, sizeof sum);                                                                             \
      for (int64_t j = 0; j < o->n; j++, p += o->a, q += o->b) {                                                       \
        b8 y;                                                                                                          \
        memcpy(&y, q, sizeof y);                                                                                       \
        sum += __builtin_convertvector(y, v8) * (uint32_t) * (const int8_t *)p;                                         \
      }                                                                                                                \
      memcpy(c + 4 * i, &sum, sizeof sum);                                                                             \
    }                                                                                                                  \
    for (; i < n; i++)                                                                                                 \
      for (int64_t j = 0; j < o->n; j++)                                                                               \
        *(uint32_t *)(void *)(c + 4 * i) +=                                                                            \
            (uint32_t)(*(const int8_t *)(a + j * o->a) * *(const int8_t *)(b + i + j * o->b));                         \
  }

BODIES(plain, )
#if defined(__x86_64__)
BODIES(avx2, __attribute__((target("avx2"))))
static bool has_avx2(void) { return __builtin_cpu_supports("avx2"); }
#else
#define dot_avx2 dot_plain
#define rows_avx2 rows_plain
static bool has_avx2(void) { return false; }
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
  void (*body)(char *, const char *, const char *, const loop *, int64_t) =
      row ? (has_avx2() ? rows_avx2 : rows_plain) : (has_avx2() ? dot_avx2 : dot_plain);
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
