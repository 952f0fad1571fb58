// Reads machine records from nested tables, and lists their fields.
#include "bind.h"
#include "hw/machine.h"
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 6

typedef struct reader {
  lua_State *L;
  nw_machine *m;
  char path[128];
} reader;

static nw_value value_at(lua_State *L, const char *path) {
  switch (lua_type(L, -1)) {
  case LUA_TNUMBER: return (nw_value){.kind = NW_FIELD_REAL, .number = lua_tonumber(L, -1)};
  case LUA_TBOOLEAN: return (nw_value){.kind = NW_FIELD_FLAG, .flag = lua_toboolean(L, -1)};
  case LUA_TSTRING: return (nw_value){.kind = NW_FIELD_TEXT, .text = nwl_string(L, -1, path)};
  default:
    nwl_fail(L, NW_EINVAL, NULL, "%s: expected a number, a text, true or false, or a table of fields, got %s", path,
             nwl_typename(L, -1));
    return (nw_value){0};
  }
}

static void read_table(reader *r, int depth);

// Reads the value on top. Its path is the first n characters of the current path, followed by `more`.
static void read_value(reader *r, size_t n, const char *more, int depth) {
  if (n + strlen(more) >= sizeof r->path || depth > MAX_DEPTH)
    nwl_fail(r->L, NW_EINVAL, NULL, "%s: a machine has no such field", r->path);
  strcpy(r->path + n, more);
  if (lua_type(r->L, -1) == LUA_TTABLE)
    read_table(r, depth + 1);
  else if (!nw_machine_set(nwl_ctx(r->L), r->m, r->path, value_at(r->L, r->path)))
    nwl_raise(r->L);
  r->path[n] = 0;
}

static void read_list(reader *r, size_t n, int depth) {
  char more[32];
  for (lua_Integer i = 1; lua_rawgeti(r->L, -1, i) != LUA_TNIL; i++, lua_pop(r->L, 1)) {
    snprintf(more, sizeof more, "[%d]", (int)i);
    read_value(r, n, more, depth);
  }
  lua_pop(r->L, 1);
}

static void read_names(reader *r, size_t n, int depth) {
  char more[64];
  for (lua_pushnil(r->L); lua_next(r->L, -2); lua_pop(r->L, 1)) {
    if (lua_type(r->L, -2) == LUA_TNUMBER && n > 0) continue; // entry of the list
    if (lua_type(r->L, -2) != LUA_TSTRING)
      nwl_fail(r->L, NW_EINVAL, NULL, "machine: %s: expected named fields; it has %s as a key", r->path,
               nwl_typename(r->L, -2));
    snprintf(more, sizeof more, "%s%s", n ? "." : "", nwl_string(r->L, -2, "machine"));
    read_value(r, n, more, depth);
  }
}

static void read_table(reader *r, int depth) {
  size_t n = strlen(r->path);
  luaL_checkstack(r->L, 8, NULL);
  if (n > 0) read_list(r, n, depth);
  read_names(r, n, depth);
}

static void read_sources(lua_State *L, nw_machine *m) {
  if (lua_isnoneornil(L, 2)) return;
  nwl_table(L, 2, "sources");
  for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
      nwl_fail(L, NW_EINVAL, "sources = {[\"\"] = \"the vendor's manual\", ops = \"measured\"}",
               "sources must be texts, with the beginnings of paths as keys");
    if (!nw_machine_cite(nwl_ctx(L), m, nwl_string(L, -2, "sources"), nwl_string(L, -1, "sources"))) nwl_raise(L);
  }
}

static int f_new(lua_State *L) {
  nwl_table(L, 1, "machine");
  lua_settop(L, 2);
  nwl_box *b = nwl_new(L, &nwl_machine_class, free);
  nw_machine *m = b->p = malloc(sizeof *m);
  if (!m) return nwl_fail(L, NW_ELIMIT, NULL, "no memory for a machine record");
  reader r = {.L = L, .m = m};
  nw_clear(nwl_ctx(L));
  nw_machine_init(m);
  lua_pushvalue(L, 1);
  read_table(&r, 0);
  lua_pop(L, 1);
  read_sources(L, m);
  return nw_machine_finish(nwl_ctx(L), m) ? 1 : nwl_raise(L);
}

// ---- listing

static void push_value(lua_State *L, nw_value v) {
  lua_Integer whole;
  if (v.kind == NW_FIELD_TEXT)
    lua_pushstring(L, v.text);
  else if (v.kind == NW_FIELD_FLAG)
    lua_pushboolean(L, v.flag);
  else if (lua_numbertointeger(v.number, &whole) && v.number == (double)whole)
    lua_pushinteger(L, whole);
  else
    lua_pushnumber(L, v.number);
}

typedef struct lister {
  lua_State *L;
  const nw_machine *m;
} lister;

static void list_field(void *env, const char *path, const nw_section *s, const nw_field *f, nw_value v) {
  lister *l = env;
  lua_State *L = l->L;
  lua_createtable(L, 0, 6);
  nwl_set_text(L, "path", path);
  nwl_set_text(L, "section", s->path);
  nwl_set_text(L, "unit", f->unit);
  nwl_set_text(L, "doc", f->doc);
  nwl_set_text(L, "source", nw_machine_cited(l->m, path));
  push_value(L, v);
  lua_setfield(L, -2, "value");
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static int f_list(lua_State *L) {
  lister l = {L, nwl_check(L, 1, &nwl_machine_class, "machine")};
  lua_newtable(L);
  nw_machine_each(l.m, list_field, &l);
  return 1;
}

static void push_row(lua_State *L, const nw_section *s, const nw_field *f) {
  static const char *const kinds[] = {"number", "integer", "boolean", "word", "text"};
  lua_createtable(L, 0, 8);
  nwl_set_text(L, "section", s->path);
  nwl_set_text(L, "name", f->name);
  nwl_set_text(L, "unit", f->unit);
  nwl_set_text(L, "kind", kinds[f->kind]);
  nwl_set_text(L, "otherwise", f->otherwise);
  nwl_set_text(L, "words", f->words);
  nwl_set_text(L, "doc", f->doc);
  lua_pushinteger(L, f->kind == NW_FIELD_REAL ? f->count : 1);
  lua_setfield(L, -2, "count");
}

static int f_rows(lua_State *L) {
  int n;
  const nw_section *s = nw_machine_sections(&n);
  lua_newtable(L);
  for (int i = 0; i < n; i++) {
    for (int r = 0; r < s[i].nrows; r++) {
      push_row(L, &s[i], &s[i].row[r]);
      lua_pushboolean(L, s[i].stride && !s[i].key);
      lua_setfield(L, -2, "list");
      lua_pushboolean(L, s[i].key != NULL);
      lua_setfield(L, -2, "named");
      lua_pushinteger(L, s[i].kinds);
      lua_setfield(L, -2, "kinds");
      nwl_set_text(L, "about", s[i].doc);
      lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
  }
  return 1;
}

// Returns those fields of this host's record that are known without measurements.
static int f_host(lua_State *L) {
  const nw_machine_info *h = nw_host();
  lua_createtable(L, 0, 8);
  nwl_set_text(L, "cpu", h->cpu);
  nwl_set_text(L, "model", h->model);
  nwl_set_text(L, "isa", nw_isa_name(h->isa));
  nwl_set_integer(L, "cores", h->cores);
  nwl_set_integer(L, "vector_bytes", h->vector_bytes);
  nwl_set_integer(L, "vector_registers", h->vector_registers);
  nwl_set_integer(L, "memory", h->memory_bytes);
  lua_pushboolean(L, h->caches_assumed);
  lua_setfield(L, -2, "caches_assumed");
  return 1;
}

// Adds a measured value to the table at index 1. Runs in protected mode, because Lua may run out of memory, and its
// error must not jump across frames of the core.
static int add_figure(lua_State *L) {
  const nw_calibrated *f = lua_touserdata(L, 2);
  lua_createtable(L, 0, 4);
  if (f->doubt) {
    nwl_set_text(L, "doubt", f->doubt);
  } else {
    nwl_set_number(L, "value", f->value);
    nwl_set_number(L, "lo", f->lo);
    nwl_set_number(L, "hi", f->hi);
    lua_pushboolean(L, f->shared);
    lua_setfield(L, -2, "shared");
  }
  lua_setfield(L, 1, f->path);
  return 0;
}

static void keep_figure(void *env, const nw_calibrated *figure) {
  lua_State *L = env;
  lua_pushcfunction(L, add_figure);
  lua_pushvalue(L, -2);
  lua_pushlightuserdata(L, (void *)(uintptr_t)figure);
  if (nwl_pcall(L, 2, 0) != LUA_OK) lua_pop(L, 1);
}

static int f_calibrate(lua_State *L) {
  double dispatch = luaL_optnumber(L, 1, 0);
  luaL_checkstack(L, 8, NULL);
  lua_newtable(L);
  nw_clear(nwl_ctx(L));
  return nw_calibrate(nwl_ctx(L), dispatch, keep_figure, L) ? 1 : nwl_raise(L);
}

// ---- energy

#define MOST_ZONES 32

static void push_zone(lua_State *L, const nw_energy_zone *z) {
  lua_createtable(L, 0, 4);
  nwl_set_text(L, "zone", z->zone);
  nwl_set_text(L, "name", z->name);
  lua_pushnumber(L, z->joules);
  lua_setfield(L, -2, "joules");
  lua_pushnumber(L, z->limit);
  lua_setfield(L, -2, "limit");
}

static int f_energy_zones(lua_State *L) {
  nw_energy_zone zone[MOST_ZONES];
  nw_clear(nwl_ctx(L));
  int n = nw_energy_zones(nwl_ctx(L), lua_isnoneornil(L, 1) ? NULL : nwl_string(L, 1, "root"), zone, MOST_ZONES);
  if (!n) return nwl_raise(L);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_zone(L, &zone[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static nw_energy_zone zone_at(lua_State *L, int arg) {
  nw_energy_zone z = {.zone = ""};
  nwl_table(L, arg, "zone");
  lua_getfield(L, arg, "joules");
  z.joules = lua_tonumber(L, -1);
  lua_getfield(L, arg, "limit");
  z.limit = lua_tonumber(L, -1);
  return z;
}

static int f_energy_used(lua_State *L) {
  nw_energy_zone before = zone_at(L, 1), after = zone_at(L, 2);
  lua_pushnumber(L, nw_energy_used(&before, &after));
  return 1;
}

static int f_state_dir(lua_State *L) {
  char dir[1024];
  if (!nw_state_dir(dir, sizeof dir)) return 0;
  lua_pushstring(L, dir);
  return 1;
}

const nwl_class nwl_machine_class = {.name = "machine", .metatable = "nestwright.machine", .topic = "hardware"};

const nwl_row nwl_machine_rows[] = {
    {"machine_new", f_new, "(fields: table, sources?: table): nw.machine",
     "Makes a record from its fields: checks them and fills in the missing ones."},
    {"machine_list", f_list, "(m: nw.machine): table[]",
     "Returns the fields of a record: path, section, unit, doc, source and value of each."},
    {"machine_rows", f_rows, "(): table[]",
     "Describes every field that a record can have: section, name, unit, kind, otherwise, words, doc, count, list, "
     "named, kinds, about."},
    {"machine_host", f_host, "(): table",
     "Describes this host: cpu, model, isa, cores, vector_bytes, vector_registers, memory, caches_assumed (true if the "
     "system does not report the caches)."},
    {"calibrate", f_calibrate, "(dispatch?: number): table",
     "Measures this machine. Returns a table that maps the path of a field in the record to the measured value."},
    {"energy_zones", f_energy_zones, "(root?: string): table[]",
     "Returns the energy counters: zone, name, joules and limit of each."},
    {"energy_used", f_energy_used, "(before: table, after: table): number",
     "Returns the joules between two readings of a counter."},
    {"state_dir", f_state_dir, "(): string?",
     "Returns the directory for data that is kept between sessions. The directory is created if it is missing."},
    {NULL, NULL, NULL, NULL},
};
