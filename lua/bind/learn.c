// Trains and applies ranking models, which compute a score from a row of numbers (features).
// lua/nestwright/learn/features.lua describes the features.
#include "bind.h"
#include <string.h>
#include <stdlib.h>

static nw_learner *learner_arg(lua_State *L, int arg) { return nwl_check(L, arg, &nwl_learner_class, "model"); }
static void release_learner(void *p) { nw_learner_free(p); }

// Reads a list of n numbers into a userdata on the stack, and returns the numbers. Returns NULL if there is no list.
static float *read_numbers(lua_State *L, int arg, int n, const char *name) {
  if (lua_isnoneornil(L, arg)) return NULL;
  if (nwl_list_length(L, arg, INT32_MAX, name) != n)
    nwl_fail(L, NW_ERANGE, NULL, "%s: expected %d numbers, got %d", name, n, (int)lua_rawlen(L, arg));
  float *out = lua_newuserdatauv(L, sizeof *out * (size_t)(n + 1), 0);
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, arg, i + 1);
    if (lua_type(L, -1) != LUA_TNUMBER) nwl_fail(L, NW_EINVAL, NULL, "%s: entry %d is not a number", name, i + 1);
    out[i] = (float)lua_tonumber(L, -1);
  }
  return out;
}

// Reads a list of rows of equal length into one array, row after row. Sets the numbers of rows and of features in *r.
static float *read_rows(lua_State *L, int arg, nw_learn_rows *r) {
  r->rows = nwl_list_length(L, arg, INT32_MAX, "features");
  if (r->rows == 0) nwl_fail(L, NW_ERANGE, NULL, "features: there are no rows");
  lua_rawgeti(L, arg, 1);
  r->features = nwl_list_length(L, lua_gettop(L), 1000, "features: row 1");
  lua_pop(L, 1);
  size_t width = (size_t)r->features;
  float *out = lua_newuserdatauv(L, sizeof *out * width * (size_t)r->rows + 1, 0);
  for (int i = 0; i < r->rows; i++, lua_pop(L, 2)) {
    lua_rawgeti(L, arg, i + 1);
    nwl_table(L, lua_gettop(L), "features: a row");
    float *row = read_numbers(L, lua_gettop(L), r->features, "features: a row");
    if (width) memcpy(out + (size_t)i * width, row, sizeof *row * width);
  }
  return out;
}

static void read_groups(lua_State *L, int arg, nw_learn_rows *r) {
  r->ngroups = nwl_list_length(L, arg, INT32_MAX, "groups");
  int *group = lua_newuserdatauv(L, sizeof *group * (size_t)(r->ngroups + 1), 0);
  for (int i = 0; i < r->ngroups; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, arg, i + 1);
    group[i] = nwl_count_or(L, lua_gettop(L), "groups", INT32_MIN, INT32_MAX, 0);
  }
  r->group = group;
}

static double field_or(lua_State *L, int at, const char *name, double otherwise) {
  lua_getfield(L, at, name);
  double v = nwl_number_or(L, lua_gettop(L), name, otherwise);
  lua_pop(L, 1);
  return v;
}

static int whole_or(lua_State *L, int at, const char *name, int otherwise) {
  lua_getfield(L, at, name);
  int v = nwl_count_or(L, lua_gettop(L), name, INT32_MIN, INT32_MAX, otherwise);
  lua_pop(L, 1);
  return v;
}

// learn(features, labels, groups, options, margins?, weights?)
static int f_learn(lua_State *L) {
  lua_settop(L, 6);
  nw_learn_rows r = {0};
  r.feature = read_rows(L, 1, &r);
  nwl_table(L, 2, "labels");
  r.label = read_numbers(L, 2, r.rows, "labels");
  read_groups(L, 3, &r);
  r.margin = read_numbers(L, 5, r.rows, "margins");
  nwl_table(L, 4, "options");
  nw_learn_opts o = {.rounds = whole_or(L, 4, "rounds", 100),
                     .depth = whole_or(L, 4, "depth", 4),
                     .seed = whole_or(L, 4, "seed", 1),
                     .rate = field_or(L, 4, "rate", 0.1),
                     .columns = field_or(L, 4, "columns", 1),
                     .sample = field_or(L, 4, "sample", 1),
                     .forest = whole_or(L, 4, "forest", 1),
                     .least = field_or(L, 4, "least", 1),
                     .squares = nwl_flag_in(L, 4, "squares")};
  r.weight = read_numbers(L, 6, o.squares ? r.rows : r.ngroups, "weights");
  nwl_box *b = nwl_new(L, &nwl_learner_class, release_learner);
  nw_clear(nwl_ctx(L));
  nwl_hold(b, nw_learn(nwl_ctx(L), &r, &o));
  return b->p ? 1 : nwl_raise(L);
}

// learner_scores(model, features, margins?): returns one number for each row.
static int f_scores(lua_State *L) {
  lua_settop(L, 3);
  nw_learner *m = learner_arg(L, 1);
  nw_learn_rows r = {0};
  r.feature = read_rows(L, 2, &r);
  r.margin = read_numbers(L, 3, r.rows, "margins");
  float *score = lua_newuserdatauv(L, sizeof *score * (size_t)r.rows, 0);
  nw_clear(nwl_ctx(L));
  if (!nw_learner_predict(m, &r, score)) return nwl_raise(L);
  lua_createtable(L, r.rows, 0);
  for (int i = 0; i < r.rows; i++) {
    lua_pushnumber(L, score[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int f_text(lua_State *L) {
  nw_clear(nwl_ctx(L));
  nwl_push_text(L, nw_learner_text(learner_arg(L, 1)));
  return 1;
}

static int f_read(lua_State *L) {
  const char *text = nwl_string(L, 1, "text");
  nwl_box *b = nwl_new(L, &nwl_learner_class, release_learner);
  nw_clear(nwl_ctx(L));
  nwl_hold(b, nw_learner_read(nwl_ctx(L), text));
  return b->p ? 1 : nwl_raise(L);
}

static int f_features(lua_State *L) {
  lua_pushinteger(L, nw_learner_features(learner_arg(L, 1)));
  return 1;
}

const nwl_class nwl_learner_class = {"learner", "nestwright.learner", "learning", NULL, NULL, NULL};

const nwl_row nwl_learn_rows[] = {
    {"learn", f_learn,
     "(features: number[][], labels: number[], groups: integer[], options: table, margins?: number[], "
     "weights?: number[]): nw.learner",
     "Trains a model that ranks the rows within each group by their labels."},
    {"learner_scores", f_scores, "(m: nw.learner, features: number[][], margins?: number[]): number[]",
     "Returns a score for each row."},
    {"learner_text", f_text, "(m: nw.learner): string", "Returns the model as XGBoost's JSON."},
    {"learner_read", f_read, "(text: string): nw.learner", "Loads a model from XGBoost's JSON."},
    {"learner_features", f_features, "(m: nw.learner): integer", "Returns the number of features in a row."},
    {NULL, NULL, NULL, NULL},
};
