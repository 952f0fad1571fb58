#include "base/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = P_tmpdir "/nestwright-files-XXXXXX";
static char path[64];

// If no_nameless is true, openat refuses files without a name (O_TMPFILE), as some file systems do. This function
// replaces the openat of the C library in this program.
static bool no_nameless;
int openat(int at, const char *name, int flags, ...) {
  va_list args;
  va_start(args, flags);
  unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, unsigned) : 0;
  va_end(args);
  if (no_nameless && (flags & O_TMPFILE) == O_TMPFILE) return errno = EOPNOTSUPP, -1;
  return (int)syscall(SYS_openat, at, name, flags, mode);
}

static int make_dir(void **state) {
  (void)state;
  if (!mkdtemp(dir)) return -1;
  snprintf(path, sizeof path, "%s/file", dir);
  return 0;
}

static int remove_dir(void **state) {
  (void)state;
  return rmdir(dir);
}

static int remove_file(void **state) {
  (void)state;
  chmod(path, 0600);
  unlink(path);
  return 0;
}

static void put(const char *text) {
  nw_str why = {0};
  assert_true(nw_file_write(path, NW_FILE_PRIVATE, text, strlen(text), &why));
  assert_null(why.s);
}

static void holds(const char *text) {
  size_t n;
  nw_str why = {0};
  char *got = nw_file_read(path, NW_FILE_OWN, 1000, &n, &why);
  assert_non_null(got);
  assert_string_equal(got, text);
  assert_int_equal(n, strlen(text));
  free(got);
}

static void said(nw_str *why, const char *words) {
  assert_non_null(why->s);
  assert_non_null(strstr(why->s, words));
  nw_str_free(why);
}

static void is_not_read(nw_file_whose whose, size_t most, const char *words) {
  size_t n;
  nw_str why = {0};
  assert_null(nw_file_read(path, whose, most, &n, &why));
  said(&why, words);
}

static void a_dropped_write_leaves_the_file_unchanged(void **state) {
  (void)state;
  nw_str why = {0};
  put("old");
  nw_file *f = nw_file_begin(path, NW_FILE_PLAIN, &why);
  assert_true(nw_file_add(f, "new", 3) && nw_file_settle(f));
  nw_file_drop(f);
  holds("old");
}

static int entries(void) {
  DIR *d = opendir(dir);
  int n = -2; // does not count . and ..
  while (readdir(d)) n++;
  closedir(d);
  return n;
}

static char *name_left(const char *digits) {
  static char name[128];
  snprintf(name, sizeof name, "%s/.nestwright-%s.part", dir, digits);
  return name;
}

// Makes a temporary file like one left by a process that was killed this many seconds ago.
static void leave(const char *digits, int seconds) {
  int fd = open(name_left(digits), O_WRONLY | O_CREAT, 0600);
  struct timespec then[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
  assert_int_equal(futimens(fd, then), 0);
  close(fd);
}

static void unlink_left(const char *digits) { assert_int_equal(unlink(name_left(digits)), 0); }

static void a_named_temporary_file_is_used_if_files_need_names(void **state) {
  (void)state;
  nw_str why = {0};
  no_nameless = true;
  put("old");
  nw_file *f = nw_file_begin(path, NW_FILE_PLAIN, &why);
  assert_true(nw_file_add(f, "new", 3));
  assert_int_equal(entries(), 2);
  holds("old");
  assert_true(nw_file_end(f, &why));
  holds("new");
  f = nw_file_begin(path, NW_FILE_PLAIN, &why);
  nw_file_drop(f);
  assert_int_equal(entries(), 1);
  leave("0123456789abcdef", 7200);
  leave("0123456789abcdee", 60);
  put("new");
  assert_int_equal(entries(), 2); // the temporary file of two hours ago was removed
  unlink_left("0123456789abcdee");
  holds("new");
  no_nameless = false;
}

// A write beyond the limit raises SIGXFSZ. By default, this signal ends the process.
static void a_limit_is_an_error_not_a_signal(void **state) {
  (void)state;
  struct rlimit was, few = {4, RLIM_INFINITY};
  nw_str why = {0};
  put("old");
  getrlimit(RLIMIT_FSIZE, &was);
  few.rlim_max = was.rlim_max;
  signal(SIGXFSZ, SIG_DFL);
  setrlimit(RLIMIT_FSIZE, &few);
  bool written = nw_file_write(path, NW_FILE_PLAIN, "much more", 9, &why);
  bool appended = nw_file_append(path, "and more\n", 9, 1000, &why);
  setrlimit(RLIMIT_FSIZE, &was);
  assert_false(written || appended);
  said(&why, "(ulimit -f); the existing file is unchanged");
  holds("old");
}

static void a_pipe_without_a_reader_is_an_error_not_a_signal(void **state) {
  (void)state;
  int end[2];
  char name[32];
  nw_str why = {0};
  assert_int_equal(pipe(end), 0);
  close(end[0]);
  snprintf(name, sizeof name, "/dev/fd/%d", end[1]);
  signal(SIGPIPE, SIG_DFL);
  assert_false(nw_file_write(name, NW_FILE_PLAIN, "x", 1, &why));
  said(&why, "Broken pipe");
  close(end[1]);
}

static void lines_are_appended_whole(void **state) {
  (void)state;
  nw_str why = {0};
  assert_true(nw_file_append(path, "one\n", 4, 100, &why));
  assert_true(nw_file_append(path, "two", 3, 100, &why)); // a line without a newline at its end
  assert_true(nw_file_append(path, "three\n", 6, 100, &why));
  holds("one\ntwo\nthree\n");
  assert_false(nw_file_append(path, "too much\n", 9, 16, &why));
  said(&why, "the limit is 7");
  holds("one\ntwo\nthree\n");
}

static void an_append_waits_and_goes_to_the_rewritten_file(void **state) {
  (void)state;
  nw_str why = {0};
  put("one\n");
  int held = nw_file_lock(path, &why);
  assert_true(held >= 0);
  assert_false(nw_file_append(path, "two\n", 4, 100, &why));
  said(&why, "another process has locked it");
  put("anew\n");
  close(held);
  assert_true(nw_file_append(path, "two\n", 4, 100, &why));
  holds("anew\ntwo\n");
}

static void files_that_others_may_write_are_not_read(void **state) {
  (void)state;
  put("text");
  chmod(path, 0620);
  is_not_read(NW_FILE_OWN, 10, "other users may write to it (mode 620");
  chmod(path, 0600);
  is_not_read(NW_FILE_OWN, 3, "it has 4 bytes; the limit is 3");
  if (!geteuid()) {
    assert_int_equal(chown(path, 65534, 65534), 0);
    is_not_read(NW_FILE_CODE, 10, "it belongs to another user (65534)");
  }
}

static void links_are_followed_except_for_code(void **state) {
  (void)state;
  size_t n;
  nw_str why = {0};
  assert_int_equal(symlink("/proc/self/status", path), 0);
  is_not_read(NW_FILE_CODE, 100000, "it is a link, not a regular file");
  char *text = nw_file_read(path, NW_FILE_ANY, 100000, &n, &why); // the file grows while it is read
  assert_true(text && n > 100);
  free(text);
}

static void fifos_do_not_block(void **state) {
  (void)state;
  nw_str why = {0};
  assert_int_equal(mkfifo(path, 0600), 0);
  is_not_read(NW_FILE_ANY, 10, "it is a FIFO");
  assert_false(nw_file_append(path, "x\n", 2, 10, &why));
  said(&why, "it is a FIFO");
  assert_null(nw_file_begin(path, NW_FILE_PLAIN, &why));
  said(&why, "no process reads from it");
}

static void missing_files_and_bad_folders_are_errors(void **state) {
  (void)state;
  size_t n;
  nw_str why = {0};
  assert_null(nw_file_read(path, NW_FILE_OWN, 10, &n, &why));
  assert_int_equal(errno, ENOENT);
  said(&why, "No such file");
  assert_int_equal(nw_file_lock(path, &why), -1);
  said(&why, "No such file");
  assert_int_equal(nw_file_open_dir("/tmp", NW_FILE_OWN, &why), -1);
  said(&why, "other users may write to it");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(a_dropped_write_leaves_the_file_unchanged, remove_file),
      cmocka_unit_test_teardown(a_named_temporary_file_is_used_if_files_need_names, remove_file),
      cmocka_unit_test_teardown(a_limit_is_an_error_not_a_signal, remove_file),
      cmocka_unit_test_teardown(a_pipe_without_a_reader_is_an_error_not_a_signal, remove_file),
      cmocka_unit_test_teardown(lines_are_appended_whole, remove_file),
      cmocka_unit_test_teardown(an_append_waits_and_goes_to_the_rewritten_file, remove_file),
      cmocka_unit_test_teardown(files_that_others_may_write_are_not_read, remove_file),
      cmocka_unit_test_teardown(links_are_followed_except_for_code, remove_file),
      cmocka_unit_test_teardown(fifos_do_not_block, remove_file),
      cmocka_unit_test_teardown(missing_files_and_bad_folders_are_errors, remove_file),
  };
  return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
