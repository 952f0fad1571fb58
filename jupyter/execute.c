// Executes cells.
#include "kernel.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Returns the content of an error message for the error on top of the stack. `shown` is true if the error is the
// outcome of the cell. Then the picture of a refused step is published, too.
static json_t *error_content(nwj *k, nwh_status status, bool shown) {
  lua_State *L = nwh_lua(k->host);
  lua_pushvalue(L, -1);
  char *text = nwh_error_text(k->host, true);
  json_t *out = nwj_call_on_top(
      k, "failure",
      json_pack("{s:o, s:b, s:b}", "text", nwj_text(text), "interrupted", status == NWH_INTERRUPTED, "shown", shown));
  if (!json_is_object(out)) {
    json_decref(out);
    out = json_pack("{s:s, s:o, s:[o]}", "ename", "Error", "evalue", nwj_text(text), "traceback", nwj_text(text));
  }
  free(text);
  return out;
}

// Answers ?name. Returns the payload that opens the pager with the help of the name.
static json_t *answer_question(nwj *k, const char *code) {
  char *text = nwh_inspect(k->host, code);
  json_t *page = json_pack("{s:s, s:i, s:{s:o}}", "source", "page", "start", 0, "data", "text/plain",
                           nwj_text(text ? text : "no documentation found"));
  free(text);
  return json_pack("[o]", page);
}

static void say_notes(nwj *k) {
  char *notes = nwh_notes(k->host);
  if (notes) printf("%s\n", notes);
  free(notes);
}

// Runs a cell. Returns NULL, or the content of an error message. Sets *result to a reference to the displayed form of
// the cell's values.
static json_t *run(nwj *k, const char *code, const char *name, bool silent, int *result) {
  int n = 0;
  bool quiet = false;
  nwh_status status = nwh_eval(k->host, code, name, &n, &quiet);
  if (status == NWH_OK && !silent && !quiet) status = nwj_show(k, n, result);
  json_t *failed = NULL;
  k->hurry = status == NWH_INTERRUPTED;
  if (status != NWH_OK) failed = error_content(k, status, !silent);
  say_notes(k);
  lua_settop(nwh_lua(k->host), 0);
  return failed;
}

static json_t *expression(nwj *k, const char *code) {
  int n = 0, shown;
  bool quiet;
  nwh_status status = nwh_eval(k->host, code, "=user_expression", &n, &quiet);
  if (status == NWH_OK) status = nwj_show(k, n, &shown);
  json_t *out = status == NWH_OK ? nwj_bundle(k, shown) : error_content(k, status, false);
  if (!json_is_object(out)) {
    json_decref(out);
    out = json_pack("{s:{}, s:{}}", "data", "metadata");
  }
  json_object_set_new(out, "status", json_string(status == NWH_OK ? "ok" : "error"));
  lua_settop(nwh_lua(k->host), 0);
  return out;
}

static json_t *expressions(nwj *k, json_t *asked) {
  json_t *out = json_object();
  const char *name;
  json_t *code;
  json_object_foreach(asked, name, code) {
    const char *text = json_string_value(code);
    bool good = text && strlen(text) == json_string_length(code);
    json_object_set_new(out, name,
                        good ? expression(k, text) : nwj_failure("an expression must be a string without NUL"));
  }
  return out;
}

static json_t *reply_content(nwj *k, nwj_message *m, json_t *failed, json_t *payload) {
  json_t *out = failed ? json_deep_copy(failed) : json_object();
  json_object_set_new(out, "status", json_string(failed ? "error" : "ok"));
  json_object_set_new(out, "execution_count", json_integer(k->count));
  json_t *asked = json_object_get(m->content, "user_expressions");
  json_object_set_new(out, "user_expressions", failed ? json_object() : expressions(k, asked));
  json_object_set_new(out, "payload", payload ? payload : json_array());
  return out;
}

static void begin(nwj *k, nwj_message *m, const char *code, bool silent, bool store) {
  if (store) {
    k->count++;
    nwj_history_add(k->count, code);
  }
  if (!silent)
    nwj_publish_soon("execute_input", m->header_text,
                     json_pack("{s:s, s:i}", "code", code, "execution_count", k->count));
  k->asks = nwj_flag(m->content, "allow_stdin", true) ? NULL : NWJ_NO_STDIN;
  nwj_drain(m->header_text);
  nwj_busy(k, true);
}

static void publish_result(nwj *k, json_t *bundle) {
  if (json_is_object(bundle)) {
    json_object_set_new(bundle, "execution_count", json_integer(k->count));
    nwj_cell_publish(k, "execute_result", NULL, bundle);
  } else {
    json_decref(bundle);
  }
}

// Executes a cell and sends the reply. The reply is sent after the text that the cell printed, but before its result,
// because making the displayed form may take long, and the client need not wait for it.
void nwj_execute(nwj *k, nwj_message *m) {
  const char *code = nwj_string(m->content, "code", "");
  bool silent = nwj_flag(m->content, "silent", false);
  bool store = !silent && nwj_flag(m->content, "store_history", true);
  char name[32];
  begin(k, m, code, silent, store);
  snprintf(name, sizeof name, "=In[%d]", k->count);
  json_t *payload = NULL, *failed = NULL;
  int result = LUA_REFNIL;
  if (nwh_is_question(code))
    payload = answer_question(k, code);
  else if (code[strspn(code, " \t\r\n")])
    failed = run(k, code, name, silent, &result);
  json_t *content = reply_content(k, m, failed, payload);
  nwj_drain(m->header_text);
  nwj_busy(k, false);
  if (failed && nwj_flag(m->content, "stop_on_error", true)) nwj_shell_hold(k);
  nwj_reply(k, k->shell, m, "execute_reply", content);
  if (store) nwj_history_write();
  publish_result(k, nwj_bundle(k, result));
  if (failed && !silent) nwj_cell_publish(k, "error", NULL, json_incref(failed));
  json_decref(failed);
}
