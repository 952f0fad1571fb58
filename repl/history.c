// Stores the history of all sessions, without duplicates, in the file XDG_STATE_HOME/nestwright/history. Only the owner
// can read this file.
#include "repl.h"
#include "base/file.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <readline/history.h>

// Limits. The history has at most MOST entries. An entry of more than LONGEST bytes is not saved. A file of more than
// FULL bytes is rewritten. A file has at most MOST_BYTES bytes.
enum { MOST = 5000, LONGEST = 1 << 16, FULL = 4 << 20, MOST_BYTES = 8 << 20 };

static char path[PATH_MAX]; // "": the history is not saved

static void add_escaped(nw_str *b, const char *s) {
  for (; *s; s++) {
    if (*s == '\n') {
      nw_str_add(b, "\\n");
    } else if (*s == '\\') {
      nw_str_add(b, "\\\\");
    } else {
      nw_str_addn(b, s, 1);
    }
  }
  nw_str_add(b, "\n");
}

static void unescape(char *s) {
  char *out = s;
  for (; *s; s++) {
    if (*s == '\\' && s[1]) {
      s++;
      *out++ = *s == 'n' ? '\n' : *s;
    } else {
      *out++ = *s;
    }
  }
  *out = '\0';
}

// Removes an earlier entry with the same text, so that the history has no duplicates.
static void forget(const char *entry) {
  for (int i = history_length - 1; i >= 0; i--) {
    HIST_ENTRY *e = history_get(history_base + i);
    if (!e || strcmp(e->line, entry) != 0) continue;
    HIST_ENTRY *gone = remove_history(i);
    if (gone) free_history_entry(gone);
  }
}

static void remember(const char *entry) {
  forget(entry);
  add_history(entry);
}

// Reports once why the history is not saved, and stops writing the file.
static void give_up(nw_str *why) {
  if (why->s) fprintf(stderr, "nestwright: the history is not saved: %s\n", why->s);
  nw_str_free(why);
  *path = '\0';
}

// Writes the latest entries, at most FULL bytes. Escapes can double the length of an entry.
static void rewrite(nw_str *why) {
  nw_str all = {0};
  HIST_ENTRY **entry = history_list();
  int first = history_length;
  for (size_t bytes = 0; entry && first > 0; first--)
    if ((bytes += 2 * strlen(entry[first - 1]->line) + 1) > FULL) break;
  for (int i = first; entry && i < history_length; i++) add_escaped(&all, entry[i]->line);
  nw_file_write(path, NW_FILE_PRIVATE, all.s ? all.s : "", all.n, why);
  nw_str_free(&all);
}

// Adds the lines of the text to the history, and returns the number of lines. Skips a line with a NUL: this program
// never writes such a line.
static int take_lines(char *text, size_t n) {
  int lines = 0;
  for (char *line = text, *end; line < text + n; line = end + 1, lines++) {
    end = memchr(line, '\n', (size_t)(text + n - line));
    if (!end) end = text + n;
    *end = '\0';
    if (strlen(line) != (size_t)(end - line)) continue;
    unescape(line);
    if (*line) remember(line);
  }
  return lines;
}

// Reads the file. Each session only appends to it, so duplicates accumulate. They are removed here, under a lock that
// prevents other sessions from appending.
void nwr_history_open(void) {
  nw_str why = {0}, busy = {0};
  size_t n;
  using_history();
  stifle_history(MOST);
  if (!nw_state_file(path, sizeof path, "history", &why)) return give_up(&why);
  int held = nw_file_lock(path, &busy);
  char *text = nw_file_read(path, NW_FILE_OWN, MOST_BYTES, &n, &why);
  if (!text && errno == ENOENT) nw_str_free(&why);
  if (text && (take_lines(text, n) > history_length || n > FULL) && held >= 0) rewrite(&why);
  free(text);
  if (held >= 0) close(held);
  nw_str_free(&busy);
  if (why.n) give_up(&why);
}

void nwr_history_add(const char *entry) {
  HIST_ENTRY *last = history_length ? history_get(history_base + history_length - 1) : NULL;
  nw_str line = {0}, why = {0};
  if (!*entry || (last && strcmp(last->line, entry) == 0)) return;
  remember(entry);
  if (!*path || strlen(entry) > LONGEST) return;
  add_escaped(&line, entry);
  if (!nw_file_append(path, line.s, line.n, MOST_BYTES, &why)) give_up(&why);
  nw_str_free(&line);
}
