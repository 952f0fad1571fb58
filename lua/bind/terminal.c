// Returns the size of the terminal, and its answers to queries.
#include "bind.h"
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ANSWER = 1024 };

static int f_terminal(lua_State *L) {
  struct winsize size;
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size)) return 0;
  const struct {
    const char *name;
    int value;
  } field[] = {{"columns", size.ws_col}, {"rows", size.ws_row}, {"width", size.ws_xpixel}, {"height", size.ws_ypixel}};
  lua_createtable(L, 0, 4);
  for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
    lua_pushinteger(L, field[i].value);
    lua_setfield(L, -2, field[i].name);
  }
  return 1;
}

static int ms_left(const struct timespec *until) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t ms = (until->tv_sec - t.tv_sec) * 1000 + (until->tv_nsec - t.tv_nsec) / 1000000;
  return ms > 0 ? (int)ms : 0;
}

// True if the text ends with a report of the terminal's attributes: ESC [ ? 6 2 ; 4 c.
static bool ends_in_attributes(const char *text, size_t n) {
  if (n == 0 || text[--n] != 'c') return false;
  while (n > 0 && strchr("0123456789;", text[n - 1])) n--;
  return n >= 3 && memcmp(text + n - 3, "\033[?", 3) == 0;
}

// Reads an answer until the report of the attributes has arrived, or until the timeout. Returns the number of bytes.
static size_t listen_to(int fd, int ms, char *answer) {
  struct timespec until;
  size_t n = 0;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1000000L;
  for (int left; n < MOST_ANSWER && (left = ms_left(&until)) > 0;) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, left) <= 0) continue;
    if (read(fd, answer + n, 1) != 1) break;
    if (ends_in_attributes(answer, ++n)) break;
  }
  return n;
}

// True if the user has typed input that was not yet read. Then no query is made, because the input must stay for the
// line reader.
static bool typed_ahead(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) > 0;
}

// True if this process is in the foreground. The system stops a background job that accesses the terminal.
static bool in_foreground(int fd) { return tcgetpgrp(fd) == getpgrp(); }

static size_t ask(int fd, const char *query, int ms, char *answer) {
  struct termios was, raw;
  size_t n = 0;
  if (!in_foreground(fd) || tcgetattr(fd, &was)) return 0;
  raw = was;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (tcsetattr(fd, TCSANOW, &raw)) return 0;
  if (!typed_ahead(fd) && write(fd, query, strlen(query)) == (ssize_t)strlen(query)) n = listen_to(fd, ms, answer);
  tcsetattr(fd, TCSANOW, &was);
  return n;
}

// Sends a query and returns the terminal's answer. Returns nothing if no query was possible, or if no byte arrived.
// After a timeout, returns the bytes that were read so far.
static int f_ask(lua_State *L) {
  const char *query = nwl_string(L, 1, "query");
  int ms = nwl_count_or(L, 2, "milliseconds", 1, 10000, 1000);
  char answer[MOST_ANSWER];
  int fd = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : -1;
  size_t n = fd >= 0 ? ask(fd, query, ms, answer) : 0;
  if (fd >= 0) close(fd);
  if (n == 0) return 0;
  lua_pushlstring(L, answer, n);
  return 1;
}

const nwl_row nwl_terminal_rows[] = {
    {"terminal", f_terminal, "(): {columns: integer, rows: integer, width: integer, height: integer}?",
     "Returns the size of the terminal in characters and in pixels (0: not reported); nil if standard input or output "
     "is not a terminal."},
    {"terminal_ask", f_ask, "(query: string, milliseconds?: integer): string?",
     "Writes a query, which must end with a query for the terminal's attributes (ESC [ c). Reads the answer up to the "
     "report of these attributes, or until the timeout. Returns nothing if there is no terminal or no answer, or if "
     "the user has already typed something."},
    {NULL, NULL, NULL, NULL},
};
