// The prompt: reads a whole chunk with readline, runs it, and shows its results.
#include "repl.h"
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <readline/history.h>
#include <readline/readline.h>

static nwh *host; // a global, because readline passes no data of the program to its hooks
static bool colour;
static volatile sig_atomic_t cleared;

// ---- Ctrl-C at the prompt

static void on_idle_interrupt(void) { cleared = 1; }

// Reads a key for readline. After Ctrl-C, empties the line and ends it, so that readline returns. A key that arrives
// together with the signal is kept for the next line.
static int get_key(FILE *in) {
  static int held = EOF;
  unsigned char c = 0;
  if (!cleared && held != EOF) {
    int key = held;
    held = EOF;
    return key;
  }
  while (!cleared) {
    ssize_t n = read(fileno(in), &c, 1);
    if (n == 1 && !cleared) return c;
    if (n == 1) held = c;
    if (n == 0 || (n < 0 && errno != EINTR)) return EOF;
  }
  rl_replace_line("", 1);
  return '\n';
}

// ---- completion

static char **matches;

static char *next_match(const char *text, int state) {
  static int at;
  (void)text;
  if (state == 0) at = 0;
  return matches && matches[at] ? strdup(matches[at++]) : NULL;
}

static void free_matches(void) {
  for (int i = 0; matches && matches[i]; i++) free(matches[i]);
  free(matches);
  matches = NULL;
}

static char *pending_input; // the earlier lines of an unfinished chunk, without the current line

// Adapts the candidates to readline. A candidate is made to replace the text from position `from` on. But readline
// replaces the text from position `word` on, which is the start of a word by its own rules. So the text between the two
// positions is removed from the candidates, or inserted before them.
static void fit_to_word(int from, int word) {
  for (int i = 0; matches[i]; i++) {
    char *m = matches[i], *fitted;
    if (from <= word) {
      size_t cut = (size_t)(word - from);
      fitted = strdup(cut <= strlen(m) ? m + cut : "");
    } else if (asprintf(&fitted, "%.*s%s", from - word, rl_line_buffer + word, m) < 0) {
      fitted = NULL;
    }
    free(m);
    matches[i] = fitted;
  }
}

static char **attempt(const char *text, int start, int end) {
  char *code;
  int from;
  bool files;
  (void)text;
  const char *before = pending_input ? pending_input : "";
  if (asprintf(&code, "%s%.*s", before, end, rl_line_buffer) < 0) return NULL;
  free_matches();
  matches = nwh_complete(host, code, (int)strlen(code), &from, &files);
  free(code);
  rl_attempted_completion_over = matches || !files; // otherwise, readline completes names of files
  if (!matches) return NULL;
  fit_to_word(from - (int)strlen(before), start);
  rl_completion_append_character = '\0';
  rl_completion_suppress_quote = 1;
  return rl_completion_matches(text, next_match);
}

static void set_up_readline(void) {
  rl_readline_name = "nestwright";
  rl_catch_signals = 0;
  rl_getc_function = get_key;
  rl_attempted_completion_function = attempt;
  rl_completer_word_break_characters = " \t\n\"'><=;|&{(+-*/%^~#,";
  rl_basic_word_break_characters = rl_completer_word_break_characters;
  rl_completer_quote_characters = "";
  rl_basic_quote_characters = "";
  nwr_history_open();
}

// ---- reading

static const char *prompt_text(bool more) {
  if (!colour) return more ? "..> " : "nw> ";
  return more ? "\001\033[2m\002..> \001\033[0m\002" : "\001\033[1;36m\002nw> \001\033[0m\002";
}

static char *join(char *first, const char *line) {
  char *both;
  if (!first) return strdup(line);
  if (asprintf(&both, "%s\n%s", first, line) < 0) both = NULL;
  free(first);
  return both;
}

static bool blank(const char *s) { return s[strspn(s, " \t\r\n")] == '\0'; }

// Returns a whole chunk; NULL at the end of input. Ctrl-C discards the typed text. Two blank lines end an incomplete
// chunk. One blank line ends a block of Python or C, which is a slip.
static char *read_chunk(nwh *h) {
  char *chunk = NULL;
  int blanks = 0;
  for (;;) {
    char *context = NULL;
    if (chunk && asprintf(&context, "%s\n", chunk) < 0) context = NULL;
    pending_input = context;
    char *line = readline(prompt_text(chunk != NULL));
    pending_input = NULL;
    free(context);
    if (cleared) {
      cleared = 0;
      fputs(colour ? "\033[2m^C\033[0m\n" : "^C\n", stdout);
      free(line);
      free(chunk);
      chunk = NULL;
      continue;
    }
    if (!line) {
      free(chunk);
      return NULL;
    }
    blanks = blank(line) ? blanks + 1 : 0;
    chunk = join(chunk, line);
    free(line);
    if (blank(chunk) || nwh_is_question(chunk) || blanks > 1 || !nwh_incomplete(h, chunk)) return chunk;
    if (strpbrk(chunk, ":{") && nwh_ends(h, chunk)) return chunk;
  }
}

// ---- running

static void say(char *text, FILE *out) {
  if (text) fprintf(out, "%s\n", text);
  free(text);
}

static void explain(nwh *h, const char *chunk) {
  char *text = nwh_inspect(h, chunk);
  say(text ? text : strdup("no documentation found"), stdout);
}

static void run(nwh *h, const char *chunk, const char *name) {
  int n = 0;
  bool quiet = false;
  nwh_status status = nwh_eval(h, chunk, name, &n, &quiet);
  if (!nwr_report(h, status)) {
    // the error has been shown
  } else if (quiet) {
    lua_settop(nwh_lua(h), 0);
  } else {
    say(nwh_display(h, n, colour), stdout);
  }
  say(nwh_notes(h), stdout);
  fflush(stdout);
}

static void greet(void) {
  printf("Nestwright %s    nw.help() or ?name for help, Tab completes, Ctrl-D leaves\n", nw_version());
}

int nwr_interactive(nwh *h) {
  host = h;
  colour = nwr_colour(STDOUT_FILENO);
  signal(SIGPIPE, SIG_IGN);
  set_up_readline();
  nwh_catch_interrupts(h, on_idle_interrupt);
  nwh_in_script(h, false);
  greet();
  for (int number = 1;;) {
    char *chunk = read_chunk(h);
    if (!chunk) break;
    chunk[strcspn(chunk, "\r")] = '\0';
    if (!blank(chunk)) {
      char name[32];
      snprintf(name, sizeof name, "=repl[%d]", number++);
      size_t n = strlen(chunk);
      while (n > 0 && isspace((unsigned char)chunk[n - 1])) chunk[--n] = '\0';
      nwr_history_add(chunk);
      if (nwh_is_question(chunk)) {
        explain(h, chunk);
      } else {
        run(h, chunk, name);
      }
    }
    free(chunk);
  }
  putchar('\n');
  free_matches();
  return EXIT_SUCCESS;
}
