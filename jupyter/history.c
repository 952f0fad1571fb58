// Keeps the history of this and earlier sessions. Each line of the file is a JSON array [session, line, source].
#include "kernel.h"
#include "base/file.h"
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// These are the limits of the history. Trimming keeps at most MOST entries. A cell of more than LONGEST bytes is not
// saved. A file of more than FULL bytes is trimmed. A file has at most MOST_BYTES bytes.
enum { MOST = 5000, LONGEST = 1 << 20, FULL = 16 << 20, MOST_BYTES = 64 << 20 };

static json_t *entries; // arrays [session, line, source]
static json_int_t session = 1;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // protects the following variables
static char path[PATH_MAX]; // path of the file; "" if the history is not saved
static char *unwritten; // a line that must still be appended, or NULL

static bool is_entry(const json_t *v) {
  return json_array_size(v) == 3 && json_is_integer(json_array_get(v, 0)) && json_is_integer(json_array_get(v, 1)) &&
         json_is_string(json_array_get(v, 2));
}

// Reports once why the history is not saved, and stops writing the file.
static void give_up(nw_str *why) {
  if (why->s) fprintf(stderr, "nestwright-kernel: the history is not saved: %s\n", why->s);
  nw_str_free(why);
  *path = '\0';
}

static void take(json_t *v) {
  json_int_t s = json_integer_value(json_array_get(v, 0));
  if (s >= session && s < INT64_MAX) session = s + 1;
  json_array_append(entries, v);
}

// Keeps only the latest entries, which are at most MOST entries with at most FULL / 2 bytes.
static void trim(void) {
  size_t n = json_array_size(entries), first = n, bytes = 0;
  while (first > 0 && n - first < MOST) {
    bytes += json_string_length(json_array_get(json_array_get(entries, first - 1), 2)) + 32;
    if (bytes > FULL / 2) break;
    first--;
  }
  json_t *kept = json_array();
  for (size_t i = first; i < n; i++) json_array_append(kept, json_array_get(entries, i));
  json_decref(entries);
  entries = kept;
}

// Adds the entries of the text, skips invalid lines, and returns the number of lines.
static size_t take_lines(const char *text, size_t n) {
  size_t lines = 0;
  for (const char *line = text, *end; line < text + n; line = end + 1, lines++) {
    end = memchr(line, '\n', (size_t)(text + n - line));
    if (!end) end = text + n;
    json_t *v = json_loadb(line, (size_t)(end - line), 0, NULL);
    if (is_entry(v)) take(v);
    json_decref(v);
    if (json_array_size(entries) > 2 * MOST) trim();
  }
  return lines;
}

static void rewrite(nw_str *why) {
  nw_str all = {0};
  for (size_t i = 0; i < json_array_size(entries); i++) {
    char *line = json_dumps(json_array_get(entries, i), JSON_COMPACT);
    if (line) nw_str_fmt(&all, "%s\n", line);
    free(line);
  }
  nw_file_write(path, NW_FILE_PRIVATE, all.s ? all.s : "", all.n, why);
  nw_str_free(&all);
}

// Reads the file. If it is too long, trims it. A lock keeps other kernels from appending lines meanwhile.
static void read_file(nw_str *why) {
  nw_str busy = {0};
  size_t n;
  int held = nw_file_lock(path, &busy);
  char *text = nw_file_read(path, NW_FILE_OWN, MOST_BYTES, &n, why);
  if (!text && errno == ENOENT) nw_str_free(why);
  if (text && (take_lines(text, n) > MOST || n > FULL)) {
    trim();
    if (held >= 0) rewrite(why);
  }
  free(text);
  if (held >= 0) close(held);
  nw_str_free(&busy);
}

void nwj_history_open(void) {
  nw_str why = {0};
  entries = json_array();
  pthread_mutex_lock(&lock);
  if (!nw_state_file(path, sizeof path, "notebook_history", &why))
    *path = '\0';
  else
    read_file(&why);
  if (why.n || !*path) give_up(&why);
  pthread_mutex_unlock(&lock);
}

void nwj_history_add(int line, const char *source) {
  if (!entries) nwj_history_open();
  if (!*source || strlen(source) > LONGEST) return;
  json_t *v = json_pack("[I, i, s]", session, line, source);
  if (!v) return; // the source is not UTF-8
  json_array_append_new(entries, v);
  nwj_history_write();
  pthread_mutex_lock(&lock);
  if (*path) unwritten = json_dumps(v, JSON_COMPACT);
  pthread_mutex_unlock(&lock);
}

void nwj_history_write(void) {
  pthread_mutex_lock(&lock);
  nw_str line = {0}, why = {0};
  if (unwritten && *path) {
    nw_str_fmt(&line, "%s\n", unwritten);
    if (!nw_file_append(path, line.s, line.n, MOST_BYTES, &why)) give_up(&why);
  }
  nw_str_free(&line);
  free(unwritten);
  unwritten = NULL;
  pthread_mutex_unlock(&lock);
}

// ---- queries

static const char *source_of(const json_t *v) { return json_string_value(json_array_get(v, 2)); }
static json_int_t number_of(const json_t *v, int i) { return json_integer_value(json_array_get(v, (size_t)i)); }

static bool in_range(const json_t *v, const json_t *request) {
  json_int_t wanted = nwj_integer(request, "session", 0), start = nwj_integer(request, "start", 1);
  json_int_t stop = nwj_integer(request, "stop", 0);
  if (wanted <= 0) wanted += session; // 0: this session, -1: the previous one
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

// Returns an entry in the form of the protocol. If `output` is true, the entry must be a pair of the input and the text
// of its result. Results are not saved, so this text is null.
static json_t *shaped(const json_t *v, bool output) {
  return output ? json_pack("[I, I, [s, n]]", number_of(v, 0), number_of(v, 1), source_of(v))
                : json_pack("[I, I, s]", number_of(v, 0), number_of(v, 1), source_of(v));
}

json_t *nwj_history_answer(const json_t *request) {
  if (!entries) nwj_history_open();
  const char *access = nwj_string(request, "hist_access_type", "tail");
  bool range = strcmp(access, "range") == 0;
  json_int_t most = range ? INT_MAX : nwj_integer(request, "n", MOST);
  json_t *found = json_array(), *out = json_array(); // `found` has the latest entry first
  for (size_t i = json_array_size(entries); i-- > 0 && (json_int_t)json_array_size(found) < most;) {
    json_t *v = json_array_get(entries, i);
    if (is_wanted(v, request, access, found)) json_array_append(found, v);
  }
  for (size_t i = json_array_size(found); i-- > 0;)
    json_array_append_new(out, shaped(json_array_get(found, i), nwj_flag(request, "output", false)));
  json_decref(found);
  return json_pack("{s:s, s:o}", "status", "ok", "history", out);
}
