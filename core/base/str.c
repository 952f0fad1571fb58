// Implements growing strings and vectors of pointers, on the heap.
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>

static void str_reserve(nw_str *b, size_t more) {
  size_t need = b->n + more + 1;
  if (need <= b->cap) return;
  size_t cap = b->cap ? b->cap : 64;
  while (cap < need) cap *= 2;
  char *s = nw_refuses_memory() ? NULL : realloc(b->s, cap);
  if (!s) free(b->s), nw_out_of_memory(cap); // an incomplete text is of no use
  b->s = s;
  b->cap = cap;
}

void nw_str_addn(nw_str *b, const char *s, size_t n) {
  str_reserve(b, n);
  if (n) memcpy(b->s + b->n, s, n);
  b->n += n;
  b->s[b->n] = 0;
}

void nw_str_add(nw_str *b, const char *s) { nw_str_addn(b, s, strlen(s)); }

void nw_str_vfmt(nw_str *b, const char *fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  str_reserve(b, (size_t)n);
  vsnprintf(b->s + b->n, (size_t)n + 1, fmt, args);
  b->n += (size_t)n;
}

void nw_str_fmt(nw_str *b, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  nw_str_vfmt(b, fmt, args);
  va_end(args);
}

void nw_str_indent(nw_str *b, int spaces) {
  if (spaces < 0) spaces = 0;
  str_reserve(b, (size_t)spaces);
  memset(b->s + b->n, ' ', (size_t)spaces);
  b->n += (size_t)spaces;
  b->s[b->n] = 0;
}

char *nw_str_take(nw_str *b) {
  char *s = b->s ? b->s : nw_xstrdup("");
  *b = (nw_str){0};
  return s;
}

void nw_str_free(nw_str *b) {
  free(b->s);
  *b = (nw_str){0};
}

static void vec_grow(nw_vec *v) {
  if (v->n < v->cap) return;
  v->cap = v->cap ? v->cap * 2 : 8;
  v->at = nw_xrealloc(v->at, (size_t)v->cap * sizeof *v->at);
}

void nw_vec_push(nw_vec *v, void *p) {
  vec_grow(v);
  v->at[v->n++] = p;
}

void nw_vec_insert(nw_vec *v, int pos, void *p) {
  NW_MUST(0 <= pos && pos <= v->n);
  vec_grow(v);
  memmove(v->at + pos + 1, v->at + pos, (size_t)(v->n - pos) * sizeof *v->at);
  v->at[pos] = p;
  v->n++;
}

void nw_vec_remove(nw_vec *v, int pos) {
  NW_MUST(0 <= pos && pos < v->n);
  memmove(v->at + pos, v->at + pos + 1, (size_t)(v->n - pos - 1) * sizeof *v->at);
  v->n--;
}

void nw_vec_free(nw_vec *v) {
  free(v->at);
  *v = (nw_vec){0};
}
