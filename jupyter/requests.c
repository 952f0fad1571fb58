// Checks the fields of requests. A table has a row for each known field. If a field is invalid, the answer is an error
// that names the field. A field that is null counts as missing. A field without a row is ignored.
#include "kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum field_kind { TEXT, FLAG, WHOLE, OBJECT } field_kind;

static const struct {
  const char *type, *name;
  field_kind kind;
  bool needed;
} fields[] = {
    {"execute_request", "code", TEXT, true},
    {"execute_request", "silent", FLAG, false},
    {"execute_request", "store_history", FLAG, false},
    {"execute_request", "user_expressions", OBJECT, false},
    {"execute_request", "allow_stdin", FLAG, false},
    {"execute_request", "stop_on_error", FLAG, false},
    {"complete_request", "code", TEXT, false},
    {"complete_request", "cursor_pos", WHOLE, false},
    {"inspect_request", "code", TEXT, false},
    {"inspect_request", "cursor_pos", WHOLE, false},
    {"inspect_request", "detail_level", WHOLE, false},
    {"is_complete_request", "code", TEXT, false},
    {"history_request", "hist_access_type", TEXT, false},
    {"history_request", "output", FLAG, false},
    {"history_request", "raw", FLAG, false},
    {"history_request", "session", WHOLE, false},
    {"history_request", "start", WHOLE, false},
    {"history_request", "stop", WHOLE, false},
    {"history_request", "n", WHOLE, false},
    {"history_request", "pattern", TEXT, false},
    {"history_request", "unique", FLAG, false},
    {"comm_info_request", "target_name", TEXT, false},
    {"comm_open", "comm_id", TEXT, true},
    {"comm_open", "target_name", TEXT, true},
    {"comm_open", "data", OBJECT, false},
    {"comm_msg", "comm_id", TEXT, true},
    {"comm_msg", "data", OBJECT, false},
    {"comm_close", "comm_id", TEXT, true},
    {"comm_close", "data", OBJECT, false},
    {"shutdown_request", "restart", FLAG, false},
};

static const char *const EXPECTED[] = {
    [TEXT] = "a string", [FLAG] = "true or false", [WHOLE] = "an integer", [OBJECT] = "an object"};

static bool is_kind(const json_t *v, field_kind kind) {
  return kind == TEXT    ? json_is_string(v)
         : kind == FLAG  ? json_is_boolean(v)
         : kind == WHOLE ? json_is_integer(v)
                         : json_is_object(v);
}

// Returns the reason why a value is invalid, or NULL if it is valid. A text with a NUL is invalid. Lua and the
// libraries take NUL-terminated strings, so the text after the NUL would be lost silently.
static char *problem_of(const char *type, const char *name, const json_t *v, field_kind kind) {
  if (!is_kind(v, kind)) {
    char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    char *out =
        nwj_printf("%s: %s is %.60s: it must be %s", type, name, text ? text : "not a JSON value", EXPECTED[kind]);
    free(text);
    return out;
  }
  const char *text = json_string_value(v);
  if (!text || strlen(text) == json_string_length(v)) return NULL;
  return nwj_printf("%s: %s has a NUL after %zu bytes: remove it", type, name, strlen(text));
}

char *nwj_request_problem(const nwj_message *m) {
  if (m->problem) return nwj_printf("%s: %s", m->type, m->problem);
  char *out = NULL;
  for (size_t i = 0; i < sizeof fields / sizeof *fields && !out; i++) {
    if (strcmp(fields[i].type, m->type) != 0) continue;
    const json_t *v = json_object_get(m->content, fields[i].name);
    if (v && !json_is_null(v))
      out = problem_of(m->type, fields[i].name, v, fields[i].kind);
    else if (fields[i].needed)
      out = nwj_printf("%s: %s is missing: it must be %s", m->type, fields[i].name, EXPECTED[fields[i].kind]);
  }
  return out;
}

json_t *nwj_failure(const char *text) {
  return json_pack("{s:s, s:s, s:s, s:[s]}", "status", "error", "ename", "InvalidArgument", "evalue", text, "traceback",
                   text);
}
