// Finds the function that a call of an intrinsic calls, and makes the name that generated code uses for the function.
#include "codegen/codegen.h"
#include <dlfcn.h>
#include <stdio.h>

// Returns the handle of the intrinsic's library, which is opened if it is not open yet. Returns NULL, with a
// diagnostic, if it cannot be opened.
static void *handle_of(nw_ctx *c, const nw_intrinsic *in) {
  if (in->handle) return in->handle;
  void *h = dlopen(in->library, RTLD_NOW | RTLD_LOCAL);
  return h ? h : nw_fail(c, NW_ECODEGEN, NULL, "cannot load intrinsic %s: %s", in->name, dlerror());
}

static void name_of(nw_callee *out, const nw_intrinsic *in) {
  int n = snprintf(out->name, sizeof out->name, NW_CALLEE_PREFIX "%s", in->id);
  for (int i = 0; i < out->nwords && n < (int)sizeof out->name; i++)
    n += snprintf(out->name + n, sizeof out->name - (size_t)n, ".%lld", (long long)out->word[i]);
  for (char *s = out->name; *s; s++)
    if (*s == ':' || *s == '-') *s = *s == ':' ? '.' : 'm';
}

// Collects the integers for which a special function is generated: first the strides, then the constants. Returns false
// if a stride is not a constant.
static bool words_of(const nw_stmt *call, const nw_intrinsic *in, nw_callee *out) {
  for (int i = 0; i < in->nargs; i++)
    for (int d = 0; d < in->arg[i].ndim; d++)
      if (in->arg[i].dim[d].stride == NW_ANY_STRIDE &&
          !nw_is_int(call->call.tile[i].stride[d], &out->word[out->nwords++]))
        return false;
  for (int i = 0; i < in->nconstants; i++) out->word[out->nwords++] = in->constant[i];
  return true;
}

typedef void *(*special_fn)(const int64_t *words);

static bool make_special(void *handle, const nw_stmt *call, const nw_intrinsic *in, nw_callee *out) {
  special_fn make = in->special ? (special_fn)(uintptr_t)dlsym(handle, in->special) : NULL;
  if (!make || !words_of(call, in, out)) return false;
  out->address = make(out->word);
  out->tiles_only = out->jump_safe = true;
  if (out->address) name_of(out, in);
  return out->address != NULL;
}

bool nw_callee_of(nw_ctx *c, const nw_stmt *call, nw_callee *out) {
  *out = (nw_callee){0};
  const nw_intrinsic *in = nw_intrinsic_find(c, call->call.intrinsic);
  if (!in) return nw_fail(c, NW_ECODEGEN, NULL, "intrinsic %s is not registered in this session", call->call.intrinsic);
  void *handle = handle_of(c, in);
  if (!handle) return false;
  if (make_special(handle, call, in, out)) return true;
  *out = (nw_callee){.jump_safe = in->jump_safe, .address = dlsym(handle, in->symbol)};
  name_of(out, in);
  return out->address || nw_fail(c, NW_ECODEGEN, NULL, "%s has no function %s", in->library, in->symbol);
}
