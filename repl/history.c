// History between runs: XDG_STATE_HOME/nestwright/history, readable by its owner only, without repetitions.
#include "repl.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <readline/history.h>

#define MOST 5000

static char path[PATH_MAX];

static void write_escaped(FILE *f, const char *s) {
  for (; *s; s++) {
    if (*s == '\n') {
      fputs("\\n", f);
    } else if (*s == '\\') {
      fputs("\\\\", f);
    } else {
      fputc(*s, f);
    }
  }
  fputc('\n', f);
}

static void unescape(char *s) {
  char *out = s;
  for (; *s; s++) {
    if (*s == '\\' && s[1]) {
      s++;
      *out++ = *s == 'n' ? '\n' : *s;
    } else if (*s != '\n') {
      *out++ = *s;
    }
  }
  *out = '\0';
}

// Removes an earlier entry with the same text, so that the latest stands for both.
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

static FILE *open_private(int flags, const char *mode) {
  int fd = open(path, flags | O_CREAT | O_CLOEXEC, 0600);
  return fd < 0 ? NULL : fdopen(fd, mode);
}

// Repetitions pile up in the file as sessions append to it; they go when it is read.
static void rewrite(void) {
  char target[PATH_MAX];
  snprintf(target, sizeof target, "%s", path);
  if (strlen(path) + 5 >= sizeof path) return;
  strcat(path, ".new");
  FILE *f = open_private(O_WRONLY | O_TRUNC, "w");
  if (f) {
    HIST_ENTRY **all = history_list();
    for (int i = 0; all && all[i]; i++) write_escaped(f, all[i]->line);
    if (fclose(f) == 0 && rename(path, target) != 0) unlink(path);
  }
  strcpy(path, target);
}

void nwr_history_open(void) {
  char dir[PATH_MAX - 16];
  using_history();
  stifle_history(MOST);
  if (!nw_state_dir(dir, sizeof dir)) return;
  snprintf(path, sizeof path, "%s/history", dir);
  FILE *f = fopen(path, "re");
  if (!f) return;
  char *line = NULL;
  size_t cap = 0;
  int lines = 0;
  while (getline(&line, &cap, f) > 0) {
    unescape(line);
    if (*line) remember(line);
    lines++;
  }
  free(line);
  fclose(f);
  if (lines > history_length) rewrite();
}

void nwr_history_add(const char *entry) {
  HIST_ENTRY *last = history_length ? history_get(history_base + history_length - 1) : NULL;
  if (!*entry || (last && strcmp(last->line, entry) == 0)) return;
  remember(entry);
  FILE *f = *path ? open_private(O_WRONLY | O_APPEND, "a") : NULL;
  if (!f) return;
  write_escaped(f, entry);
  fclose(f);
}
