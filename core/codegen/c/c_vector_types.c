// Writes the vector types of a C text, and small functions on vectors. Most functions have a body for x86, which is
// compiled if the compiler may use the instructions that it needs, and a portable body.
//
// In the text of a function, $V stands for its vector type, $T for the type of the elements, $M for the type of the
// masks, $I for a vector of indices, $f for the end of the names of the functions in <math.h>, and $L for the number of
// lanes. $P, $S and $Q are parts of the names of x86's intrinsics (_mm256, ps, si256), $R and $F the types of their
// registers, of integers and of floats. $b is the number of bits of an element, $i the name of an integer ("epi8" or
// "epu8"), $e the type behind the pointer of a masked access. $(...$) is repeated for each lane, whose number is $l.
#include "codegen/c/c_vector.h"
#include <stdio.h>
#include <stdlib.h>

nw_dtype nwv_element(nw_dtype t) {
  if (t == NW_BOOL) return NW_U8;
  return t == NW_F16 || t == NW_BF16 ? NW_U16 : t;
}

nw_dtype nwv_mask(int bytes) {
  static const nw_dtype t[] = {[1] = NW_I8, [2] = NW_I16, [4] = NW_I32, [8] = NW_I64};
  return t[bytes];
}

void nwv_type(nwt *g, nw_str *out, nw_dtype t, int lanes) {
  g->vectors->type[nwv_element(t)][lanes] = true;
  nw_str_fmt(out, "nw_%sx%d", nw_dtype_name(nwv_element(t)), lanes);
}

// ---- the functions

// Instructions that the body for x86 needs, and the sizes of elements for which it exists.
typedef enum needs {
  NOTHING, // only the plain body exists
  FLOATS,
  FUSED, // fma
  MASKED, // masked accesses of elements of 4 or 8 bytes
  SMALL, // integers of at most 4 bytes
  BYTES,
  WHOLE, // whole registers
} needs;

#define EACH(body) "  for (int l = 0; l < $L; l++) " body "\n"
#define GIVES(body) "  $V r = {0};\n" EACH(body) "  return r;\n"
#define ROUNDS(name)                                                                                                   \
  { "$V", name, "$V a", FLOATS, "  return ($V)$P_" name "_$S(($F)a);\n", NULL, GIVES("r[l] = " name "$f(a[l]);") }

typedef struct row {
  const char *result, *name, *params;
  needs needs;
  const char *x86, *wide; // bodies for registers of at most 32 bytes, and of 64 bytes (NULL: the same)
  const char *portable;
} row;

static const row rows[NWV_HELPERS] = {
    [NWV_SPLAT] = {"$V", "splat", "$T x", NOTHING, NULL, NULL, "  return ($V){$(x$)};\n"},
    [NWV_LOAD] = {"$V", "load", "const $T *p", NOTHING, NULL, NULL, "  return *(const $Vu *)p;\n"},
    [NWV_LOAD_IF] = {"$V", "load_if", "const $T *p, $M m", MASKED,
                     "  return ($V)$P_maskload_$S((const $e *)p, ($R)m);\n",
                     "  return ($V)_mm512_maskz_loadu_epi$b(_mm512_test_epi$b_mask(($R)m, ($R)m), p);\n",
                     GIVES("if (m[l]) r[l] = p[l];")},
    [NWV_GATHER] = {"$V", "gather", "const $T *p, int64_t s", NOTHING, NULL, NULL, "  return ($V){$(p[$l * s]$)};\n"},
    [NWV_GATHER_IF] = {"$V", "gather_if", "const $T *p, int64_t s, $M m", NOTHING, NULL, NULL,
                       GIVES("if (m[l]) r[l] = p[l * s];")},
    [NWV_PICK] = {"$V", "pick", "const $T *p, $I i", NOTHING, NULL, NULL, "  return ($V){$(p[i[$l]]$)};\n"},
    [NWV_PICK_IF] = {"$V", "pick_if", "const $T *p, $I i, $M m", NOTHING, NULL, NULL,
                     GIVES("if (m[l]) r[l] = p[i[l]];")},
    [NWV_STORE] = {"void", "store", "$T *p, $V v", NOTHING, NULL, NULL, "  *($Vu *)p = v;\n"},
    [NWV_STORE_IF] = {"void", "store_if", "$T *p, $M m, $V v", MASKED, "  $P_maskstore_$S(($e *)p, ($R)m, ($F)v);\n",
                      "  _mm512_mask_storeu_epi$b(p, _mm512_test_epi$b_mask(($R)m, ($R)m), ($R)v);\n",
                      EACH("if (m[l]) p[l] = v[l];")},
    [NWV_SCATTER] = {"void", "scatter", "$T *p, int64_t s, $V v", NOTHING, NULL, NULL, EACH("p[l * s] = v[l];")},
    [NWV_SCATTER_IF] = {"void", "scatter_if", "$T *p, int64_t s, $M m, $V v", NOTHING, NULL, NULL,
                        EACH("if (m[l]) p[l * s] = v[l];")},
    [NWV_PUT] = {"void", "put", "$T *p, $I i, $V v", NOTHING, NULL, NULL, EACH("p[i[l]] = v[l];")},
    [NWV_PUT_IF] = {"void", "put_if", "$T *p, $I i, $M m, $V v", NOTHING, NULL, NULL,
                    EACH("if (m[l]) p[i[l]] = v[l];")},
    // a streaming store needs an aligned address; the arguments of the kernel may have any
    [NWV_STREAM] = {"void", "stream", "$T *p, $V v", WHOLE,
                    "  if ((uintptr_t)p % sizeof v == 0)\n    $P_stream_$Q(($R *)p, ($R)v);\n  else\n    *($Vu *)p = "
                    "v;\n",
                    NULL, "  *($Vu *)p = v;\n"},
    [NWV_CHOOSE] = {"$V", "choose", "$M m, $V a, $V b", BYTES, "  return ($V)$P_blendv_epi8(($R)b, ($R)a, ($R)m);\n",
                    NULL, "  return ($V)((m & ($M)a) | (~m & ($M)b));\n"},
    [NWV_FMA] = {"$V", "fma", "$V a, $V b, $V c", FUSED, "  return ($V)$P_fmadd_$S(($F)a, ($F)b, ($F)c);\n", NULL,
                 GIVES("r[l] = fma$f(a[l], b[l], c[l]);")},
    [NWV_MIN_REAL] = {"$V", "min", "$V a, $V b", FLOATS,
                      "  return ($V)(($M)$P_min_$S(($F)a, ($F)b) | ($M)$P_min_$S(($F)b, ($F)a));\n", NULL,
                      "  $M less = ($M)(a < b) | ($M)(a != a), same = ($M)(a == b);\n"
                      "  return ($V)((same & ($M)a) | (less & ($M)a) | (~less & ($M)b));\n"},
    [NWV_MAX_REAL] = {"$V", "max", "$V a, $V b", FLOATS,
                      "  $M nan = ($M)(a != a) | ($M)(b != b);\n"
                      "  return ($V)((($M)$P_max_$S(($F)a, ($F)b) & ($M)$P_max_$S(($F)b, ($F)a)) | nan);\n",
                      NULL,
                      "  $M nan = ($M)(a != a) | ($M)(b != b), more = ($M)(a > b), same = ($M)(a == b);\n"
                      "  return ($V)((same & ($M)a & ($M)b) | (~same & ((more & ($M)a) | (~more & ($M)b))) | nan);\n"},
    [NWV_MIN] = {"$V", "min", "$V a, $V b", SMALL, "  return ($V)$P_min_$i(($R)a, ($R)b);\n", NULL,
                 "  $M less = ($M)(a < b);\n  return ($V)((less & ($M)a) | (~less & ($M)b));\n"},
    [NWV_MAX] = {"$V", "max", "$V a, $V b", SMALL, "  return ($V)$P_max_$i(($R)a, ($R)b);\n", NULL,
                 "  $M more = ($M)(a > b);\n  return ($V)((more & ($M)a) | (~more & ($M)b));\n"},
    [NWV_ABS] = {"$V", "abs", "$V a", NOTHING, NULL, NULL, "  return ($V)(($M)a & INT$b_MAX);\n"},
    [NWV_SQRT] = ROUNDS("sqrt"),
    [NWV_FLOOR] = ROUNDS("floor"),
    [NWV_CEIL] = ROUNDS("ceil"),
    [NWV_RINT] = {"$V", "rint", "$V a", FLOATS, "  return ($V)$P_round_$S(($F)a, _MM_FROUND_CUR_DIRECTION);\n",
                  "  return ($V)_mm512_roundscale_$S(($F)a, _MM_FROUND_CUR_DIRECTION);\n",
                  GIVES("r[l] = rint$f(a[l]);")},
    // the difference of two indices, as an integer with which the numbers of lanes can be compared
    [NWV_CLAMP] = {"$T", "clamp", "int64_t x", NOTHING, NULL, NULL,
                   "  return ($T)(x < INT$b_MIN ? INT$b_MIN : x > INT$b_MAX ? INT$b_MAX : x);\n"},
};

// Returns the name of the macro that is defined if the body for x86 compiles. Returns NULL for types that have only the
// plain body.
static const char *macro_of(needs what, nw_dtype t, int lanes) {
  int each = nw_dtype_bytes(t), bytes = each * lanes;
  if (what == NOTHING || (bytes != 16 && bytes != 32 && bytes != 64)) return NULL;
  if ((what == MASKED && each < 4) || (what == SMALL && (each > 4 || bytes == 64))) return NULL;
  if (what == BYTES && bytes == 64) return NULL;
  if (bytes == 64) return "__AVX512F__";
  if (what == FUSED) return "__FMA__";
  if (what == SMALL || what == BYTES) return bytes == 32 ? "__AVX2__" : "__SSE4_1__";
  return bytes == 32 || what == MASKED ? "__AVX__" : "__SSE4_1__";
}

static void vector_name(nw_str *out, nw_dtype t, int lanes) { nw_str_fmt(out, "nw_%sx%d", nw_dtype_name(t), lanes); }

static void one(nw_str *out, char c, nw_dtype t, int lanes, int lane) {
  int each = nw_dtype_bytes(t), bytes = each * lanes;
  bool real = nw_dtype_is_float(t), wide = each == 8;
  switch (c) {
  case 'V': vector_name(out, t, lanes); break;
  case 'T': nw_str_add(out, nwt_type(t)); break;
  case 'M': vector_name(out, nwv_mask(each), lanes); break;
  case 'I': vector_name(out, NW_INDEX, lanes); break;
  case 'L': nw_str_fmt(out, "%d", lanes); break;
  case 'l': nw_str_fmt(out, "%d", lane); break;
  case 'b': nw_str_fmt(out, "%d", 8 * each); break;
  case 'f': nw_str_add(out, wide ? "" : "f"); break;
  case 'i': nw_str_fmt(out, "ep%c%d", nw_dtype_is_signed(t) ? 'i' : 'u', 8 * each); break;
  case 'e': nw_str_add(out, wide ? "double" : "float"); break;
  case 'P': nw_str_add(out, bytes == 16 ? "_mm" : bytes == 32 ? "_mm256" : "_mm512"); break;
  case 'S': nw_str_add(out, wide ? "pd" : "ps"); break;
  case 'Q': nw_str_fmt(out, "si%d", 8 * bytes); break;
  case 'R': nw_str_fmt(out, "__m%di", 8 * bytes); break;
  case 'F': nw_str_fmt(out, "__m%d%s", 8 * bytes, wide ? "d" : ""); break;
  default: NW_MUST(!real);
  }
}

static void expand(nw_str *out, const char *text, nw_dtype t, int lanes, int lane) {
  for (const char *c = text; *c && strncmp(c, "$)", 2); c++) {
    if (*c != '$') {
      nw_str_addn(out, c, 1);
    } else if (*++c == '(') {
      for (int l = 0; l < lanes; l++) {
        nw_str_add(out, l ? ", " : "");
        expand(out, c + 1, t, lanes, l);
      }
      c = strstr(c, "$)") + 1;
    } else {
      one(out, *c, t, lanes, lane);
    }
  }
}

// The end of the name of a helper. Helpers that convert from an index differ only by the element of the result.
static void name_of(nw_str *out, nwt_vhelper h, nw_dtype t, int lanes) {
  nw_str_fmt(out, "nw_%s_%s", rows[h].name, nw_dtype_name(t));
  if (h != NWV_CLAMP) nw_str_fmt(out, "x%d", lanes);
}

// Writes the body after `#if` if it is for x86 only.
static void write_helper(nw_str *out, nwt_vhelper h, nw_dtype t, int lanes) {
  const row *r = &rows[h];
  const char *macro = macro_of(r->needs, t, lanes);
  nw_str_add(out, "NW_INLINE ");
  expand(out, r->result, t, lanes, 0);
  nw_str_add(out, " ");
  name_of(out, h, t, lanes);
  nw_str_add(out, "(");
  expand(out, r->params, t, lanes, 0);
  nw_str_add(out, ") {\n");
  if (macro) nw_str_fmt(out, "#ifdef %s\n", macro);
  if (macro) expand(out, r->wide && nw_dtype_bytes(t) * lanes == 64 ? r->wide : r->x86, t, lanes, 0);
  if (macro) nw_str_add(out, "#else\n");
  expand(out, r->portable, t, lanes, 0);
  nw_str_add(out, macro ? "#endif\n}\n" : "}\n");
}

void nwv_call(nwt *g, nwt_vhelper h, nw_dtype t, int lanes) {
  t = nwv_element(t);
  if (nw_dtype_is_float(t) && (h == NWV_MIN || h == NWV_MAX)) h = h == NWV_MIN ? NWV_MIN_REAL : NWV_MAX_REAL;
  if (h == NWV_CLAMP) lanes = 1;
  g->vectors->helper[h][t][lanes] = true;
  name_of(&g->out, h, t, lanes);
  nw_str_add(&g->out, "(");
}

// ---- the types

static bool speaks_of(const row *r, const char *what) {
  return strstr(r->params, what) || strstr(r->portable, what) || strstr(r->result, what) ||
         (r->x86 && strstr(r->x86, what));
}

// Marks the types that a helper speaks of as used.
static void use_types(nwt_vectors *v, nwt_vhelper h, nw_dtype t, int lanes) {
  if (speaks_of(&rows[h], "$V")) v->type[t][lanes] = true;
  if (speaks_of(&rows[h], "$M")) v->type[nwv_mask(nw_dtype_bytes(t))][lanes] = true;
  if (speaks_of(&rows[h], "$I")) v->type[NW_INDEX][lanes] = true;
}

static void write_types(const nwt_vectors *v, nw_str *out) {
  for (int t = 0; t < NW_DTYPE_COUNT; t++)
    for (int n = 2; n <= NW_LANES_ROOM; n++) {
      if (!v->type[t][n]) continue;
      const char *c = nwt_type((nw_dtype)t);
      int each = nw_dtype_bytes((nw_dtype)t);
      nw_str_fmt(out, "typedef %s nw_%sx%d __attribute__((vector_size(%d)));\n", c, nw_dtype_name((nw_dtype)t), n,
                 n * each);
      nw_str_fmt(out, "typedef %s nw_%sx%du __attribute__((vector_size(%d), aligned(%d), may_alias));\n", c,
                 nw_dtype_name((nw_dtype)t), n, n * each, each);
    }
}

static const char head[] =
    "#define NW_INLINE static inline __attribute__((always_inline))\n"
    "#pragma GCC diagnostic ignored \"-Wpsabi\"\n" // the vectors are never passed to another file
    "#ifdef __x86_64__\n#include <immintrin.h>\n#endif\n";

static const char libmvec[] = "#if defined(__x86_64__) && defined(__GLIBC__)\n#if __GLIBC_PREREQ(2, 35)\n"
                              "#define NW_LIBMVEC\n#endif\n#endif\n";

// M is an integer vector type with as many lanes as a and b.
static const char shuffle[] = "#ifdef __has_builtin\n#if __has_builtin(__builtin_shufflevector)\n"
                              "#define NW_SHUFFLE(M, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)\n"
                              "#endif\n#endif\n#ifndef NW_SHUFFLE\n"
                              "#define NW_SHUFFLE(M, a, b, ...) __builtin_shuffle(a, b, (M){__VA_ARGS__})\n#endif\n";

static const char fence[] = "NW_INLINE void nw_stream_fence(void) { // other threads then see the streaming stores\n"
                            "#ifdef __SSE2__\n  _mm_sfence();\n#endif\n}\n";

void nwv_write(nwt *g, nw_str *out) {
  nwt_vectors *v = g->vectors;
  nw_str functions = {0};
  for (int h = 0; h < NWV_HELPERS; h++)
    for (int t = 0; t < NW_DTYPE_COUNT; t++)
      for (int n = 1; n <= NW_LANES_ROOM; n++) {
        if (!v->helper[h][t][n]) continue;
        use_types(v, (nwt_vhelper)h, (nw_dtype)t, n);
        write_helper(&functions, (nwt_vhelper)h, (nw_dtype)t, n);
      }
  nw_str_add(out, head);
  if (v->own.n) nw_str_add(out, libmvec);
  write_types(v, out);
  nw_str_add(out, functions.s ? functions.s : "");
  nw_str_add(out, v->own.s ? v->own.s : "");
  if (v->shuffles) nw_str_add(out, shuffle);
  if (v->fence) nw_str_add(out, fence);
  nw_str_free(&functions);
}
