// Makes C identifiers from the names in a program. Names in a program may contain dots and slashes, and may be reserved
// in C.
#include "codegen/c/c.h"
#include <ctype.h>
#include <stdlib.h>

static const char *const reserved[] = {
    "auto",     "break",  "case",     "char",   "const",   "continue", "default",  "do",     "double",  "else",
    "enum",     "extern", "float",    "for",    "goto",    "if",       "inline",   "int",    "long",    "register",
    "restrict", "return", "short",    "signed", "sizeof",  "static",   "struct",   "switch", "typedef", "union",
    "unsigned", "void",   "volatile", "while",  "main",    "malloc",   "free",     "j0",     "j1",      "jn",
    "y0",       "y1",     "yn",       "gamma",  "signbit", "NAN",      "INFINITY", "I",      "threads", "bool",
    "true",     "false",  "asm",      "typeof", "linux",   "unix",     "index",    "memcpy", "min",     "max",
};

// True if the C code of an operation calls a function with this name.
static bool is_called(const char *name) {
  for (int op = 0; op < NW_OP_COUNT; op++) {
    const char *function = nw_op_function((nw_op)op);
    size_t n = function ? strlen(function) : 0;
    if (function && !strncmp(name, function, n) && (!name[n] || !strcmp(name + n, "f"))) return true;
  }
  return false;
}

static bool is_reserved(const char *name) {
  for (int i = 0; i < NW_COUNT(reserved); i++)
    if (!strcmp(reserved[i], name)) return true;
  return is_called(name);
}

static bool taken(const nwt *g, const char *name) {
  for (int i = 0; i < g->c.n; i++)
    if (!strcmp(g->c.at[i], name)) return true;
  return is_reserved(name);
}

// True if the name begins or ends like names of the runtime or of a standard header. Adding a number to the end of such
// a name does not make it safe.
static bool is_of_header(const char *name) {
  static const char *const prefixes[] = {"nw_",      "omp_",  "INT",    "UINT",  "M_",    "FP_", "EXIT_", "SIZE_",
                                         "PTRDIFF_", "WINT_", "WCHAR_", "SIG_",  "HUGE_", "MB_", "MATH_", "RAND_",
                                         "NULL",     "DBL_",  "FLT_",   "LDBL_", "cl_",   "CL_", "cuda"};
  size_t n = strlen(name);
  for (int i = 0; i < NW_COUNT(prefixes); i++)
    if (!strncmp(name, prefixes[i], strlen(prefixes[i]))) return true;
  return n > 2 && !strcmp(name + n - 2, "_t");
}

static char *legal(const char *ir) {
  nw_str s = {0};
  if (!isalpha((unsigned char)*ir) || is_of_header(ir)) nw_str_add(&s, "v");
  for (; *ir; ir++) nw_str_addn(&s, isalnum((unsigned char)*ir) ? ir : "_", 1);
  return nw_str_take(&s);
}

bool nwt_is_free(const char *name) {
  size_t n = strlen(name);
  if (!n || n > 200 || isdigit((unsigned char)*name) || is_of_header(name) || is_reserved(name)) return false;
  for (size_t i = 0; i < n; i++)
    if (!isalnum((unsigned char)name[i]) && name[i] != '_') return false;
  return *name != '_'; // names of the compiler and of the system
}

const char *nwt_name(nwt *g, const char *ir) { return nwt_name_like(g, ir, ir); }

const char *nwt_name_like(nwt *g, const char *ir, const char *like) {
  for (int i = 0; i < g->ir.n; i++)
    if (!strcmp(g->ir.at[i], ir)) return g->c.at[i];
  char *base = legal(like), *name = base;
  for (int n = 1; taken(g, name); n++) {
    nw_str s = {0};
    nw_str_fmt(&s, "%s_%d", base, n);
    if (name != base) free(name);
    name = nw_str_take(&s);
  }
  if (name != base) free(base);
  nw_vec_push(&g->ir, (void *)ir);
  nw_vec_push(&g->c, name);
  return name;
}

const char *nwt_type(nw_dtype t) {
  static const char *const names[NW_DTYPE_COUNT] = {
      [NW_BOOL] = "uint8_t", [NW_I8] = "int8_t",    [NW_I16] = "int16_t",   [NW_I32] = "int32_t",
      [NW_I64] = "int64_t",  [NW_U8] = "uint8_t",   [NW_U16] = "uint16_t",  [NW_U32] = "uint32_t",
      [NW_U64] = "uint64_t", [NW_F16] = "uint16_t", [NW_BF16] = "uint16_t", [NW_F32] = "float",
      [NW_F64] = "double",
  };
  return names[t];
}
