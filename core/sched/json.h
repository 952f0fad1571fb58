// Reads JSON, for traces. Private to sched/.
#pragma once
#include "base/base.h"

typedef enum nw_json_kind {
  NW_JSON_NULL,
  NW_JSON_BOOL,
  NW_JSON_INT,
  NW_JSON_STR,
  NW_JSON_LIST,
  NW_JSON_MAP
} nw_json_kind;
typedef struct nw_json nw_json;
struct nw_json {
  nw_json_kind kind;
  int64_t i; // INT, BOOL
  const char *s; // STR
  int n; // LIST, MAP
  nw_json **item;
  const char **key; // MAP
};

// Parses one JSON value. No text may follow the value, and numbers must be integers. On failure, returns NULL, and sets
// *at to the offset of the error and *why to the reason.
nw_json *nw_json_parse(nw_arena *a, const char *text, size_t *at, const char **why);
const nw_json *nw_json_get(const nw_json *map, const char *key); // NULL if `map` is not a map or does not have this key
void nw_json_string(nw_str *b, const char *s); // appends s, quoted and escaped
