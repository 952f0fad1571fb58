// Reads and writes NumPy's .npy files. Reads the formats 1.0, 2.0 and 3.0, in C or Fortran order and in either byte
// order. Writes format 1.0, in C order, little-endian.
#include "base/file.h"
#include "run/run.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct code {
  char kind;
  int bytes;
  nw_dtype dtype;
} code;
static const code codes[] = {
    {'b', 1, NW_BOOL}, {'i', 1, NW_I8},  {'i', 2, NW_I16}, {'i', 4, NW_I32}, {'i', 8, NW_I64}, {'u', 1, NW_U8},
    {'u', 2, NW_U16},  {'u', 4, NW_U32}, {'u', 8, NW_U64}, {'f', 2, NW_F16}, {'f', 4, NW_F32}, {'f', 8, NW_F64},
};

#define MAGIC "\x93NUMPY"
#define HEADER_MOST (1 << 20)
#define NDIM_MOST 32

typedef struct npy {
  nw_dtype dtype;
  bool swapped, fortran;
  int ndim;
  int64_t shape[NDIM_MOST];
} npy;

static const char *skip_space(const char *s) {
  while (isspace((unsigned char)*s)) s++;
  return s;
}

// The functions that read the header parse the text at *at, and advance *at. They return false if the text does not
// match.

static bool take(const char **at, const char *text) {
  const char *s = skip_space(*at);
  size_t n = strlen(text);
  if (strncmp(s, text, n)) return false;
  *at = s + n;
  return true;
}

// Reads a string in single or double quotes, without escapes. Sets *begin to its first character and *n to its length.
static bool read_string(const char **at, const char **begin, size_t *n) {
  const char *s = skip_space(*at);
  if (*s != '\'' && *s != '"') return false;
  const char *end = strchr(s + 1, *s);
  if (!end) return false;
  *begin = s + 1;
  *n = (size_t)(end - s - 1);
  *at = end + 1;
  return true;
}

static bool read_descr(const char **at, npy *h) {
  const char *s;
  char text[8] = "", *end = text;
  size_t n;
  if (!read_string(at, &s, &n) || n < 3 || n >= sizeof text || !strchr("<>|=", *s)) return false;
  memcpy(text, s, n);
  long bytes = isdigit((unsigned char)text[2]) ? strtol(text + 2, &end, 10) : 0;
  h->swapped = *text == '>' && bytes > 1;
  for (int i = 0; i < NW_COUNT(codes); i++)
    if (codes[i].kind == text[1] && codes[i].bytes == bytes && !*end) {
      h->dtype = codes[i].dtype;
      return true;
    }
  return false;
}

static bool read_shape(const char **at, npy *h) {
  if (!take(at, "(")) return false;
  for (h->ndim = 0; !take(at, ")"); h->ndim++) {
    const char *s = skip_space(*at);
    if (h->ndim == NDIM_MOST || !isdigit((unsigned char)*s)) return false;
    char *end;
    errno = 0;
    h->shape[h->ndim] = strtoll(s, &end, 10);
    if (errno) return false;
    *at = end + (*end == 'L');
    if (!take(at, ",") && *skip_space(*at) != ')') return false;
  }
  return true;
}

// Reads a dictionary with the three keys below, in any order, and trailing blanks. Returns an error message or NULL.
static const char *read_dictionary(const char *header, size_t size, npy *h) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  const char *at = header, *key;
  bool seen[NW_COUNT(keys)] = {0};
  size_t n;
  if (!take(&at, "{")) return "its header is damaged";
  while (!take(&at, "}")) {
    if (!read_string(&at, &key, &n) || !take(&at, ":")) return "its header is damaged";
    int k = 0;
    while (k < NW_COUNT(keys) && (strlen(keys[k]) != n || strncmp(keys[k], key, n))) k++;
    if (k == NW_COUNT(keys) || seen[k]) return "its header is damaged (a key that does not belong there)";
    seen[k] = true;
    if (k == 0 && !read_descr(&at, h)) return "its element type is not one of bool, i1-i8, u1-u4, f2-f8";
    if (k == 1 && !(h->fortran = take(&at, "True")) && !take(&at, "False"))
      return "its header is damaged (fortran_order)";
    if (k == 2 && !read_shape(&at, h)) return "its header is damaged (shape)";
    if (!take(&at, ",") && *skip_space(at) != '}') return "its header is damaged: text after a value";
  }
  if (!seen[0] || !seen[1] || !seen[2]) return "its header is incomplete";
  return skip_space(at) == header + size ? NULL : "its header is damaged: text after the dictionary";
}

static const char *read_header(FILE *f, npy *h) {
  unsigned char start[12];
  if (fread(start, 1, 8, f) != 8 || memcmp(start, MAGIC, 6)) return "it is not a .npy file";
  int wide = start[6] > 1;
  if (start[6] < 1 || start[6] > 3) return "its format version is not 1, 2 or 3";
  if (fread(start + 8, 1, wide ? 4 : 2, f) != (wide ? 4u : 2u)) return "its header is truncated";
  size_t n = start[8] | start[9] << 8 | (wide ? (size_t)start[10] << 16 | (size_t)start[11] << 24 : 0);
  if (n > HEADER_MOST) return "its header is damaged (length)";
  char *header = nw_xcalloc(1, n + 1);
  const char *wrong = fread(header, 1, n, f) == n ? read_dictionary(header, n, h) : "its header is truncated";
  free(header);
  return wrong;
}

// Number of bytes that are read or written between two checks for an interrupt.
enum { AT_ONCE = 64 << 20 };

static size_t read_bytes(nw_ctx *c, FILE *f, char *to, size_t n) {
  size_t done = 0, got = 1;
  while (done < n && got && !nw_stopped(c)) {
    size_t want = n - done < AT_ONCE ? n - done : AT_ONCE;
    done += got = fread(to + done, 1, want, f);
  }
  return done;
}

static void swap_bytes(unsigned char *p, int64_t count, int bytes) {
  for (int64_t i = 0; i < count; i++, p += bytes)
    for (int k = 0; k < bytes / 2; k++) {
      unsigned char t = p[k];
      p[k] = p[bytes - 1 - k];
      p[bytes - 1 - k] = t;
    }
}

// Copies column-major data `from` into row-major data `to`.
static void transpose(nw_ctx *c, unsigned char *to, const unsigned char *from, const npy *h, int64_t count, int bytes) {
  int64_t at[NDIM_MOST] = {0}, stride[NDIM_MOST], pos = 0, s = 1;
  for (int d = 0; d < h->ndim; d++) stride[d] = s, s *= h->shape[d];
  for (int64_t i = 0; i < count && !nw_elements_stopped(c, i); i++) {
    memcpy(to + i * bytes, from + pos * bytes, (size_t)bytes);
    for (int d = h->ndim - 1; d >= 0; d--) {
      pos += stride[d];
      if (++at[d] < h->shape[d]) break;
      pos -= stride[d] * h->shape[d];
      at[d] = 0;
    }
  }
}

static const char *read_data(nw_ctx *c, FILE *f, const npy *h, nw_array *a) {
  int bytes = nw_dtype_bytes(a->dtype);
  unsigned char *data = a->data;
  bool turned = h->fortran && h->ndim > 1;
  if (turned) data = nw_xask(a->bytes + 1, 1);
  bool whole = read_bytes(c, f, (char *)data, a->bytes) == a->bytes;
  if (whole && h->swapped) swap_bytes(data, a->count, bytes);
  if (whole && turned) transpose(c, a->data, data, h, a->count, bytes);
  if (turned) nw_let_go(data);
  if (whole && a->dtype == NW_BOOL)
    for (int64_t i = 0; i < a->count; i++) data = a->data, data[i] = data[i] != 0;
  return whole ? NULL : "it is truncated: the shape needs more data";
}

// Compares the shape with the size of the file, before memory is allocated. Returns an error message or NULL. The size
// of a pipe is unknown, so a pipe is not checked.
static const char *fits(FILE *f, const npy *h) {
  long here = ftell(f);
  if (here < 0 || fseek(f, 0, SEEK_END)) return NULL;
  double rest = (double)(ftell(f) - here), need = nw_dtype_bytes(h->dtype);
  fseek(f, here, SEEK_SET);
  for (int d = 0; d < h->ndim; d++) need *= (double)h->shape[d];
  if (need > rest) return "it is truncated: the shape needs more data";
  return need < rest ? "it has more data than its shape needs: the rest would be lost" : NULL;
}

nw_array *nw_array_load(nw_ctx *c, const char *path) {
  nw_str why = {0};
  int fd = nw_file_open_at(AT_FDCWD, path, O_RDONLY, NW_FILE_ANY, SIZE_MAX, &why);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
  if (!f) return nw_file_fail(c, "path", &why);
  npy h = {0};
  nw_array *a = NULL;
  const char *wrong = read_header(f, &h);
  if (!wrong) wrong = fits(f, &h);
  if (!wrong && !(a = nw_array_new(c, h.dtype, h.ndim, h.shape))) {
    fclose(f);
    return NULL;
  }
  if (!wrong) wrong = read_data(c, f, &h, a);
  fclose(f);
  if (!wrong && !nw_error(c)) return a;
  nw_array_release(a);
  return nw_error(c) ? NULL
                     : nw_fail(c, NW_EIO, "write it again, as numpy.save and a:save do", "path: cannot read %s: %s",
                               path, wrong);
}

// Adds the header, which is padded so that the data starts at a multiple of 64 bytes.
static void add_header(nw_file *f, const nw_array *a, const code *k) {
  nw_str b = {0};
  nw_str_fmt(&b, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (", k->bytes == 1 ? '|' : '<', k->kind,
             k->bytes);
  for (int d = 0; d < a->ndim; d++) nw_str_fmt(&b, d ? ", %ld" : "%ld", (long)a->shape[d]);
  nw_str_add(&b, a->ndim == 1 ? ",), }" : "), }");
  while ((b.n + 11) % 64) nw_str_add(&b, " ");
  nw_str_add(&b, "\n");
  unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, b.n & 255, b.n >> 8};
  nw_file_add(f, start, sizeof start);
  nw_file_add(f, b.s, b.n);
  nw_str_free(&b);
}

// Saves a tensor. The format has no bf16, so tensors of bf16 are rejected.
bool nw_array_save(nw_ctx *c, nw_array *from, const char *path) {
  const code *k = NULL;
  nw_str why = {0};
  for (int i = 0; i < NW_COUNT(codes); i++)
    if (codes[i].dtype == from->dtype) k = &codes[i];
  if (!k)
    return nw_fail(c, NW_EIO, "cast it to f32, which keeps every value", ".npy files cannot hold %s",
                   nw_dtype_name(from->dtype));
  nw_array *a = nw_array_dense(from);
  if (!a) return false;
  nw_file *f = nw_file_begin(path, NW_FILE_PLAIN, &why);
  if (f) add_header(f, a, k);
  for (size_t done = 0, n; f && done < a->bytes; done += n) {
    if (nw_stopped(c)) return nw_array_release(a), nw_file_drop(f), false;
    n = a->bytes - done < AT_ONCE ? a->bytes - done : AT_ONCE;
    nw_file_add(f, (const char *)a->data + done, n);
  }
  nw_array_release(a);
  return (f && nw_file_end(f, &why)) || nw_file_fail(c, "path", &why);
}
