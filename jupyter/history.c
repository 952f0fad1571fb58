// What was executed, in this session and those before: a file of JSON lines, [session, line, source].
#include "kernel.h"
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 5000, LONGEST = 1 << 20 };

static json_t *entries; // arrays [session, line, source]
static json_int_t session = 1;
static int file = -1; // to append to

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *unwritten; // a line, or NULL

static bool is_entry(const json_t *v) {
  return json_array_size(v) == 3 && json_is_integer(json_array_get(v, 0)) && json_is_integer(json_array_get(v, 1)) &&
         json_is_string(json_array_get(v, 2));
}

static void read_file(FILE *f) {
  char *line = NULL;
  size_t cap = 0;
  while (getline(&line, &cap, f) > 0) {
    json_t *v = json_loads(line, 0, NULL);
    if (is_entry(v)) {
      json_int_t s = json_integer_value(json_array_get(v, 0));
      if (s >= session) session = s + 1;
      json_array_append(entries, v);
    }
    json_decref(v);
    if (json_array_size(entries) > 2 * MOST)
      for (int i = 0; i < MOST; i++) json_array_remove(entries, 0);
  }
  free(line);
}

void nwj_history_open(void) {
  char dir[PATH_MAX - 32], path[PATH_MAX];
  entries = json_array();
  if (!nw_state_dir(dir, sizeof dir)) return;
  snprintf(path, sizeof path, "%s/notebook_history", dir);
  FILE *f = fopen(path, "re");
  if (f) read_file(f);
  if (f) fclose(f);
  file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

void nwj_history_add(int line, const char *source) {
  if (!entries) nwj_history_open();
  if (!*source || strlen(source) > LONGEST) return;
  json_t *v = json_pack("[I, i, s]", session, line, source);
  json_array_append_new(entries, v);
  if (file < 0) return;
  nwj_history_write();
  pthread_mutex_lock(&lock);
  unwritten = json_dumps(v, JSON_COMPACT);
  pthread_mutex_unlock(&lock);
}

void nwj_history_write(void) {
  pthread_mutex_lock(&lock);
  if (unwritten) dprintf(file, "%s\n", unwritten);
  free(unwritten);
  unwritten = NULL;
  pthread_mutex_unlock(&lock);
}

// ---- questions

static const char *source_of(const json_t *v) { return json_string_value(json_array_get(v, 2)); }
static json_int_t number_of(const json_t *v, int i) { return json_integer_value(json_array_get(v, (size_t)i)); }

static bool in_range(const json_t *v, const json_t *request) {
  json_int_t wanted = nwj_integer(request, "session", 0), start = nwj_integer(request, "start", 1);
  json_int_t stop = nwj_integer(request, "stop", 0);
  if (wanted <= 0) wanted += session; // 0: this one, -1: the one before
  return number_of(v, 0) == wanted && number_of(v, 1) >= start && (stop <= 0 || number_of(v, 1) < stop);
}

static bool repeated(const json_t *found, const char *source) {
  for (size_t i = 0; i < json_array_size(found); i++)
    if (strcmp(source_of(json_array_get(found, i)), source) == 0) return true;
  return false;
}

static bool is_wanted(const json_t *v, const json_t *request, const char *access, const json_t *found) {
  if (strcmp(access, "range") == 0) return in_range(v, request);
  if (strcmp(access, "search") != 0) return true;
  return fnmatch(nwj_string(request, "pattern", "*"), source_of(v), 0) == 0 &&
         !(nwj_flag(request, "unique", false) && repeated(found, source_of(v)));
}

// With `output`, an input comes with the text of its result, which is not kept: null.
static json_t *shaped(const json_t *v, bool output) {
  return output ? json_pack("[I, I, [s, n]]", number_of(v, 0), number_of(v, 1), source_of(v))
                : json_pack("[I, I, s]", number_of(v, 0), number_of(v, 1), source_of(v));
}

json_t *nwj_history_answer(const json_t *request) {
  if (!entries) nwj_history_open();
  const char *access = nwj_string(request, "hist_access_type", "tail");
  bool range = strcmp(access, "range") == 0;
  json_int_t most = range ? INT_MAX : nwj_integer(request, "n", range ? INT_MAX : MOST);
  json_t *found = json_array(), *out = json_array(); // the latest first
  for (size_t i = json_array_size(entries); i-- > 0 && (json_int_t)json_array_size(found) < most;) {
    json_t *v = json_array_get(entries, i);
    if (is_wanted(v, request, access, found)) json_array_append(found, v);
  }
  for (size_t i = json_array_size(found); i-- > 0;)
    json_array_append_new(out, shaped(json_array_get(found, i), nwj_flag(request, "output", false)));
  json_decref(found);
  return json_pack("{s:s, s:o}", "status", "ok", "history", out);
}
