// Reads the table of types.def, and promotes dtypes.
#include "ir/expr/expr.h"

static const struct {
  const char *name;
  int bytes;
  char kind;
} dtypes[NW_DTYPE_COUNT] = {
#define NW_DTYPE(id, name, bytes, kind) {name, bytes, kind},
#include "ir/types.def"
#undef NW_DTYPE
};

// Returns the name of a dtype in the language: "f32".
const char *nw_dtype_name(nw_dtype t) { return dtypes[t].name; }

// Finds a dtype by its name. Returns false if there is no such dtype.
bool nw_dtype_parse(const char *name, nw_dtype *out) {
  for (int t = 0; name && t < NW_DTYPE_COUNT; t++) {
    if (strcmp(dtypes[t].name, name) != 0) continue;
    *out = (nw_dtype)t;
    return true;
  }
  return false;
}

// Returns the size of one element in memory, in bytes.
int nw_dtype_bytes(nw_dtype t) { return dtypes[t].bytes; }

bool nw_dtype_is_float(nw_dtype t) { return dtypes[t].kind == 'f'; }

bool nw_dtype_is_int(nw_dtype t) { return dtypes[t].kind == 'i' || dtypes[t].kind == 'u'; }

bool nw_dtype_is_signed(nw_dtype t) { return dtypes[t].kind == 'i' || dtypes[t].kind == 'f'; }

static nw_dtype signed_of_bytes(int bytes) {
  return bytes <= 1 ? NW_I8 : bytes == 2 ? NW_I16 : bytes == 4 ? NW_I32 : NW_I64;
}

static nw_dtype wider(nw_dtype a, nw_dtype b) { return dtypes[a].bytes >= dtypes[b].bytes ? a : b; }

// A bool with another dtype gives the other dtype. An integer with a float gives the dtype of the float, even if the
// integer is wider. f16 with bf16 gives f32. A signed and an unsigned integer give the signed dtype if it is wider than
// the unsigned dtype. Otherwise they give the signed dtype with twice the width of the unsigned dtype. There is no such
// dtype for u64, so u64 with a signed integer gives u64.
nw_dtype nw_dtype_promote(nw_dtype a, nw_dtype b) {
  if (a == b || b == NW_BOOL) return a;
  if (a == NW_BOOL) return b;
  bool fa = nw_dtype_is_float(a), fb = nw_dtype_is_float(b);
  if (fa != fb) return fa ? a : b;
  if (fa) return dtypes[a].bytes == dtypes[b].bytes ? NW_F32 : wider(a, b);
  if (dtypes[a].kind == dtypes[b].kind) return wider(a, b);
  nw_dtype s = dtypes[a].kind == 'i' ? a : b, u = s == a ? b : a;
  if (u == NW_U64) return u;
  return dtypes[s].bytes > dtypes[u].bytes ? s : signed_of_bytes(2 * dtypes[u].bytes);
}
