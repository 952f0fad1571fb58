// Draws all accesses of a schedule as pixels.
#include "bind.h"
#include <string.h>

static void push_lane(lua_State *L, const nw_lane *lane, int width, int height) {
  lua_createtable(L, 0, 9);
  lua_pushstring(L, lane->tensor);
  lua_setfield(L, -2, "tensor");
  nwl_set_count(L, "from", lane->from);
  nwl_set_count(L, "to", lane->to);
  nwl_set_count(L, "accesses", lane->accesses);
  for (int i = 0; i < NW_OUTCOMES; i++) nwl_set_count(L, nwl_outcomes[i], lane->outcome[i]);
  lua_createtable(L, height, 0);
  for (int row = 0; row < height; row++) {
    lua_pushlstring(L, (const char *)lane->pixel + (size_t)row * (size_t)width, (size_t)width);
    lua_rawseti(L, -2, row + 1);
  }
  lua_setfield(L, -2, "rows");
}

static void push_raster(lua_State *L, const nw_raster *r, int width, int height) {
  lua_createtable(L, 0, 4);
  nwl_set_count(L, "time", nw_raster_time(r));
  lua_newtable(L);
  for (int i = 0; i < nw_raster_lanes(r); i++) {
    push_lane(L, nw_raster_lane(r, i), width, height);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "lanes");
  lua_createtable(L, width, 0);
  for (int i = 0; i < width; i++) {
    lua_pushinteger(L, nw_raster_touched(r, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "touched");
  lua_newtable(L);
  for (int64_t i = 0; i < nw_raster_iterations(r); i++) {
    nwl_push_iteration(L, nw_raster_iteration(r, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "iterations");
}

static int f_raster(lua_State *L) {
  static const char *const ys[] = {"index", "address", "line", "set", NULL};
  nwl_walk w;
  nwl_read_walk(L, &w);
  nw_sim_opts o = nwl_read_caches(L, 3);
  int level = nwl_count_or(L, 4, "level", 0, o.nlevels, 1), y = nwl_choice(L, 5, "y", ys, 0);
  int width = nwl_count_or(L, 6, "width", 1, 10000, 800), height = nwl_count_or(L, 7, "height", 1, 10000, 120);
  nw_raster *r = nw_raster_of(nwl_ctx(L), w.program, &w.walk, &o, level - 1, (nw_raster_y)y, width, height);
  if (!r) return nwl_raise(L);
  push_raster(L, r, width, height);
  nw_raster_free(r);
  return 1;
}

// pixels(rows, width, height): returns the lines of the raster, reduced to this width and height. A line has a digit
// and a blank for each pixel.
static int f_pixels(lua_State *L) {
  int rows = nwl_list_length(L, 1, 10000, "rows");
  lua_rawgeti(L, 1, 1);
  size_t width = rows ? lua_rawlen(L, -1) : 0;
  int to_width = nwl_count_or(L, 2, "width", 1, 10000, 100), to_height = nwl_count_or(L, 3, "height", 1, 10000, 100);
  if (!width || to_width > (int)width || to_height > rows)
    nwl_fail(L, NW_EINVAL, NULL, "pixels: the raster can only be made smaller");
  uint8_t *from = lua_newuserdatauv(L, width * (size_t)rows, 0);
  uint8_t *to = lua_newuserdatauv(L, (size_t)to_width * (size_t)to_height, 0);
  for (int y = 0; y < rows; y++, lua_pop(L, 1)) {
    size_t n;
    lua_rawgeti(L, 1, y + 1);
    const char *row = luaL_checklstring(L, -1, &n);
    memcpy(from + (size_t)y * width, row, n < width ? n : width);
  }
  nw_raster_shrink(from, (int)width, rows, to_width, to_height, to);
  lua_createtable(L, to_height, 0);
  char *line = lua_newuserdatauv(L, 2 * (size_t)to_width, 0);
  for (int y = 0; y < to_height; y++) {
    for (int x = 0; x < to_width; x++) line[2 * x] = (char)('0' + to[y * to_width + x]), line[2 * x + 1] = ' ';
    lua_pushlstring(L, line, 2 * (size_t)to_width);
    lua_rawseti(L, -3, y + 1);
  }
  lua_pop(L, 1);
  return 1;
}

const nwl_row nwl_raster_rows[] = {
    {"raster", f_raster,
     "(s: nw.schedule, walk: table, caches: table, level: integer, y: string, width: integer, height: integer): "
     "table",
     "Returns all accesses as pixels. A pixel is one byte: the worst outcome of its accesses at this cache level. For "
     "level 0, a pixel gives the level that served the access."},
    {"pixels", f_pixels, "(rows: string[], width: integer, height: integer): string[]",
     "Reduces a raster to fewer pixels, each with the worst of its values; returns lines of digits."},
    {NULL, NULL, NULL, NULL},
};
