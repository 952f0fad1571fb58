// Answers the requests on the shell socket. A table has a row for each type of request.
#include "kernel.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

typedef struct queued { // a request that waited when a cell failed
  nwj_message m;
  bool aborted;
  struct queued *next;
} queued;

static queued *waiting, **last = &waiting;

// Largest number of bytes of a value in one format. Front ends drop output that exceeds their rate limit.
enum { MOST_SHOWN = 2 << 20 };

static void leave_out(json_t *data, const char *kind, size_t size) {
  char note[160];
  snprintf(note, sizeof note, "[%s of %.1f MB is not shown: a front end accepts %d MB]\n", kind, (double)size / 1e6,
           MOST_SHOWN >> 20);
  json_object_del(data, kind);
  const char *plain = nwj_string(data, "text/plain", "");
  json_object_set_new(data, "text/plain", json_sprintf("%s%s", note, plain));
}

// If a value is too large in a format, removes this format and adds a note to the plain text.
static void limit(json_t *data) {
  const char *kind;
  json_t *form;
  void *next;
  json_object_foreach_safe(data, next, kind, form) {
    size_t size = json_string_length(form);
    if (size > MOST_SHOWN) leave_out(data, kind, size);
  }
}

void nwj_cell_publish(nwj *k, const char *type, json_t *metadata, json_t *content) {
  limit(json_object_get(content, "data"));
  nwj_publish_now(type, k->request ? k->request->header_text : NULL, metadata, content);
}

static void reply(nwj *k, nwj_message *m, const char *type, json_t *content) {
  nwj_reply(k, k->shell, m, type, content);
}

// ---- code points and bytes

static size_t bytes_before(const char *text, json_int_t points) {
  const char *p = text;
  while (points > 0 && *p) {
    do p++;
    while ((*p & 0xC0) == 0x80);
    points--;
  }
  return (size_t)(p - text);
}

static json_int_t points_before(const char *text, size_t bytes) {
  json_int_t n = 0;
  for (size_t i = 0; i < bytes; i++) n += (text[i] & 0xC0) != 0x80;
  return n;
}

// Returns the cursor position in bytes. If the position is missing or beyond the end, returns the end.
static size_t cursor_of(const json_t *content, const char *code) {
  json_int_t at = nwj_integer(content, "cursor_pos", -1);
  return at < 0 ? strlen(code) : bytes_before(code, at);
}

// ---- requests

static void kernel_info(nwj *k, nwj_message *m) { reply(k, m, "kernel_info_reply", nwj_kernel_info(k)); }

static void connect_info(nwj *k, nwj_message *m) {
  reply(k, m, "connect_reply",
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:i}", "status", "ok", "shell_port", k->at.shell, "iopub_port",
                  k->at.iopub, "stdin_port", k->at.input, "hb_port", k->at.heartbeat, "control_port", k->at.control));
}

static void complete(nwj *k, nwj_message *m) {
  const char *code = nwj_string(m->content, "code", "");
  size_t at = cursor_of(m->content, code);
  int start = (int)at;
  char **list = nwh_complete(k->host, code, (int)at, &start, NULL);
  json_t *matches = json_array();
  for (int i = 0; list && list[i]; i++) {
    json_array_append_new(matches, json_string(list[i]));
    free(list[i]);
  }
  free(list);
  reply(k, m, "complete_reply",
        json_pack("{s:s, s:o, s:I, s:I, s:{}}", "status", "ok", "matches", matches, "cursor_start",
                  points_before(code, (size_t)start), "cursor_end", points_before(code, at), "metadata"));
}

static bool in_name(char c) {
  return c && (strchr("_.:", c) || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'));
}

// Returns the position of the innermost open parenthesis before the cursor, or -1.
static ptrdiff_t bracket_before(const char *code, size_t at) {
  int depth = 0;
  for (size_t i = at; i > 0; i--) {
    char c = code[i - 1];
    if (c == '(' && depth == 0) return (ptrdiff_t)i - 1;
    depth += c == ')' ? 1 : c == '(' ? -1 : 0;
  }
  return -1;
}

// MOST_NAME limits the bytes of a name on either side of the cursor. MOST_CALLS limits the number of enclosing calls.
enum { MOST_NAME = 1000, MOST_CALLS = 20 };

// Returns the name at a position. The caller frees it.
static char *name_at(const char *code, size_t at) {
  size_t from = at, to = at;
  while (from > 0 && at - from < MOST_NAME && in_name(code[from - 1])) from--;
  while (to - at < MOST_NAME && in_name(code[to])) to++;
  while (to > from && (code[to - 1] == '.' || code[to - 1] == ':')) to--;
  return strndup(code + from, to - from);
}

// Returns the help of a name, by MIME type, or NULL if there is none. Takes ownership of the name.
static json_t *known(nwj *k, char *name, json_int_t detail) {
  json_t *found = *name ? nwj_call(k, "inspected", json_pack("{s:s, s:I}", "name", name, "detail", detail)) : NULL;
  free(name);
  if (json_is_object(found) && json_object_size(found) > 0) return found;
  json_decref(found);
  return NULL;
}

// Inspects the name at the cursor. If it has no help, inspects the functions whose calls enclose the cursor, innermost
// first.
static void inspect(nwj *k, nwj_message *m) {
  const char *code = nwj_string(m->content, "code", "");
  size_t at = cursor_of(m->content, code);
  json_int_t detail = nwj_integer(m->content, "detail_level", 0);
  json_t *found = known(k, name_at(code, at), detail);
  ptrdiff_t open = bracket_before(code, at);
  for (int depth = 0; !found && open > 0 && depth < MOST_CALLS; depth++, open = bracket_before(code, (size_t)open))
    found = known(k, name_at(code, (size_t)open), detail);
  reply(k, m, "inspect_reply",
        json_pack("{s:s, s:b, s:o, s:{}}", "status", "ok", "found", found != NULL, "data",
                  found ? found : json_object(), "metadata"));
}

static void is_complete(nwj *k, nwj_message *m) {
  json_t *answer = nwj_call(k, "is_complete", json_pack("{s:s}", "code", nwj_string(m->content, "code", "")));
  reply(k, m, "is_complete_reply", answer ? answer : json_pack("{s:s}", "status", "unknown"));
}

static void history(nwj *k, nwj_message *m) { reply(k, m, "history_reply", nwj_history_answer(m->content)); }

static void comm_info(nwj *k, nwj_message *m) {
  json_t *comms = nwj_call(k, "comms", json_pack("{s:s}", "target", nwj_string(m->content, "target_name", "")));
  reply(k, m, "comm_info_reply",
        json_pack("{s:s, s:o}", "status", "ok", "comms", json_is_object(comms) ? json_incref(comms) : json_object()));
  json_decref(comms);
}

void nwj_busy(nwj *k, bool busy) {
  k->busy = busy;
  k->hurry = !busy;
}

// Passes a comm message to Lua. The text that the message's handler prints is published with this message as its
// parent.
static void comm(nwj *k, nwj_message *m) {
  nwj_drain(m->header_text);
  nwj_busy(k, true);
  json_decref(nwj_call(k, m->type, json_incref(m->content)));
  nwj_drain(m->header_text);
  nwj_busy(k, false);
}

static void shutdown(nwj *k, nwj_message *m) {
  bool restart = nwj_flag(m->content, "restart", false);
  reply(k, m, "shutdown_reply", json_pack("{s:s, s:b}", "status", "ok", "restart", restart));
  k->restart = restart;
  k->leaving = true;
}

static const struct {
  const char *type;
  void (*answer)(nwj *k, nwj_message *m);
} rows[] = {
    {"execute_request", nwj_execute},
    {"kernel_info_request", kernel_info},
    {"complete_request", complete},
    {"inspect_request", inspect},
    {"is_complete_request", is_complete},
    {"history_request", history},
    {"comm_info_request", comm_info},
    {"comm_open", comm},
    {"comm_msg", comm},
    {"comm_close", comm},
    {"connect_request", connect_info},
    {"shutdown_request", shutdown},
};

// ---- the loop

enum { AWAKE_MS = 2 }; // milliseconds for which the main thread polls for the next message before it sleeps

static void abort_request(nwj *k, nwj_message *m) {
  reply(k, m, "execute_reply",
        json_pack("{s:s, s:s, s:s, s:[]}", "status", "aborted", "ename", "Aborted", "evalue", "an earlier cell failed",
                  "traceback"));
}

// Answers an invalid cell. The error is also published, because a front end shows only published messages.
static void refuse_cell(nwj *k, nwj_message *m, const char *problem) {
  json_t *content = nwj_failure(problem);
  json_object_set_new(content, "execution_count", json_integer(k->count));
  reply(k, m, "execute_reply", content);
  if (!nwj_flag(m->content, "silent", false)) nwj_cell_publish(k, "error", NULL, nwj_failure(problem));
}

// Reports an invalid comm message. Comm messages have no reply, so the error is published as text.
static void refuse_comm(const nwj_message *m, const char *problem) {
  nwj_drain(m->header_text);
  fprintf(stderr, "%s\n", problem);
  nwj_drain(m->header_text);
}

static void refuse(nwj *k, nwj_message *m, const char *problem) {
  static const char request[] = "_request";
  size_t stem = strlen(m->type) - strlen(request);
  char type[64];
  if (strcmp(m->type, "execute_request") == 0) return refuse_cell(k, m, problem);
  if (strncmp(m->type, "comm_", 5) == 0 && strcmp(m->type, "comm_info_request") != 0) return refuse_comm(m, problem);
  snprintf(type, sizeof type, "%.*s_reply", (int)stem, m->type);
  reply(k, m, type, nwj_failure(problem));
}

static void handle(nwj *k, nwj_message *m, bool aborted) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].type, m->type) != 0) continue;
    k->request = m;
    k->asks = NWJ_NO_CELL; // a front end shows an input box only for cells
    nwj_watch(true);
    nwj_publish_soon("status", m->header_text, json_pack("{s:s}", "execution_state", "busy"));
    char *problem = nwj_request_problem(m);
    if (problem)
      refuse(k, m, problem);
    else if (aborted && rows[i].answer == nwj_execute)
      abort_request(k, m);
    else
      rows[i].answer(k, m);
    free(problem);
    nwj_status(m->header_text, "idle");
    nwj_watch(false);
    k->request = NULL;
    return;
  }
}

void nwj_shell_hold(nwj *k) {
  nwj_message m;
  while (nwj_receive(k, k->shell, &m)) {
    queued *q = calloc(1, sizeof *q);
    q->m = m;
    *last = q;
    last = &q->next;
  }
  for (queued *q = waiting; q; q = q->next) q->aborted = true;
}

static bool take_waiting(nwj *k) {
  queued *q = waiting;
  if (!q) return false;
  waiting = q->next;
  if (!waiting) last = &waiting;
  handle(k, &q->m, q->aborted);
  nwj_done(&q->m);
  free(q);
  return true;
}

// Waits for a message. First polls without sleeping, because cells often arrive in sequence, as with "Run all". Waking
// a sleeping CPU takes longer than executing a short cell. The time is short, because the polling thread also takes a
// CPU from the client.
static void wait_for_message(nwj *k, int64_t awake_until) {
  zmq_pollitem_t item = {k->shell, 0, ZMQ_POLLIN, 0};
  while (nwj_now_ms() < awake_until) {
    if (zmq_poll(&item, 1, 0) != 0) return;
    sched_yield();
  }
  zmq_poll(&item, 1, 1000);
}

void nwj_shell_run(nwj *k) {
  int64_t awake_until = 0;
  while (!k->leaving) {
    if (take_waiting(k)) continue;
    nwj_message m;
    if (nwj_receive(k, k->shell, &m)) {
      handle(k, &m, false);
      nwj_done(&m);
      awake_until = nwj_now_ms() + AWAKE_MS;
      continue;
    }
    wait_for_message(k, awake_until);
  }
}
