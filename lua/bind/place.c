// Makes copies of arrays at chosen places in memory, for measurements.
#include "bind.h"

#define MAX_ARRAYS 64

static nw_array *array_arg(lua_State *L, int arg) { return nwl_array(L, arg, "array"); }

// array_placed(a, align, offset, huge): returns a copy at a chosen place.
static int f_placed(lua_State *L) {
  nw_array *a = array_arg(L, 1);
  nw_address place = {nwl_integer(L, 2, "align"), nwl_integer(L, 3, "offset"), lua_toboolean(L, 4)};
  nw_clear(nwl_ctx(L));
  nwl_push_array(L, nw_array_placed(a, &place));
  return 1;
}

// huge_bytes(arrays): returns the bytes on huge pages and the bytes of all mappings of the arrays, or nothing.
static int f_huge_bytes(lua_State *L) {
  int64_t huge, mapped;
  nw_array *a[MAX_ARRAYS];
  int n = nwl_list_length(L, 1, MAX_ARRAYS, "arrays");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, 1, i + 1);
    a[i] = array_arg(L, lua_gettop(L));
  }
  if (!nw_huge_bytes(n, a, &huge, &mapped)) return 0;
  lua_pushinteger(L, huge);
  lua_pushinteger(L, mapped);
  return 2;
}

static int f_can_flush(lua_State *L) {
  lua_pushboolean(L, nw_can_flush());
  return 1;
}

const nwl_row nwl_place_rows[] = {
    {"array_placed", f_placed, "(a: nw.array, align: integer, offset: integer, huge?: boolean): nw.array",
     "Returns a copy whose data begins at an address that is an odd multiple of align, plus offset bytes. huge: the "
     "copy is in a mapping of its own, for which huge pages are requested."},
    {"huge_bytes", f_huge_bytes, "(arrays: nw.array[]): integer?, integer?",
     "Returns how many bytes of the mappings of arrays lie on huge pages, and the bytes of these mappings. The arrays "
     "must come from array_placed with huge = true. Returns nothing if the system does not report these numbers."},
    {"can_flush", f_can_flush, "(): boolean",
     "True if this CPU has an instruction that removes a line from all caches."},
    {NULL, NULL, NULL, NULL},
};
