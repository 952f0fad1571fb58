// Writes files and appends to them. After each call, a regular file is either completely written or unchanged.
#include "base/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PART ".nestwright-"
#define PART_END ".part"

enum { ABANDONED = 3600 }; // age in seconds from which a temporary file is removed
enum { MOST_LINKS = 40, PATIENCE_MS = 10000, LOCK_TRIES = 100, LOCK_WAIT_NS = 2000000, A_FILE = -2 };

struct nw_file {
  int fd;
  int dir; // descriptor of the target's directory; -1: the target is written directly
  char *path; // the path of the target, as the caller gave it
  char base[NAME_MAX + 1]; // name of the target in dir
  char part[40]; // temporary name of the new file; "" if it has none
  bool existed, quick, settled;
  bool no_room; // no file could be created in the target's directory
  int error; // the first error
};

// ---- bytes

// A write that exceeds the limit on file sizes, or that goes to a closed pipe, raises a signal in the writing thread.
// This signal ends a process that does not handle it. So the signal is blocked in this thread during the write, and
// then discarded.
static void hold_signals(sigset_t *ours, sigset_t *before) {
  sigset_t pending;
  sigemptyset(ours);
  sigpending(&pending);
  if (!sigismember(&pending, SIGPIPE)) sigaddset(ours, SIGPIPE);
  if (!sigismember(&pending, SIGXFSZ)) sigaddset(ours, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, ours, before);
}

static void release_signals(const sigset_t *ours, const sigset_t *before) {
  const struct timespec now = {0};
  while (sigtimedwait(ours, NULL, &now) > 0 || errno == EINTR) {}
  pthread_sigmask(SIG_SETMASK, before, NULL);
}

// Waits until a pipe or a terminal accepts more data, but at most PATIENCE_MS. Returns 0, or an error number.
static int await(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  int ready = poll(&p, 1, PATIENCE_MS);
  return ready > 0 || (ready < 0 && errno == EINTR) ? 0 : ready < 0 ? errno : ETIMEDOUT;
}

// Writes all bytes. Returns 0, or an error number.
static int put(int fd, const void *data, size_t n) {
  sigset_t ours, before;
  int error = 0;
  hold_signals(&ours, &before);
  for (const char *p = data; n && !error;) {
    ssize_t done = write(fd, p, n);
    if (done > 0) {
      p += done;
      n -= (size_t)done;
    } else if (done < 0 && errno == EAGAIN) {
      error = await(fd);
    } else if (done == 0 || errno != EINTR) {
      error = done ? errno : EIO;
    }
  }
  release_signals(&ours, &before);
  return error;
}

// ---- the target of a path

// Stores the last component of a path in `base`, and returns a descriptor of the directory that contains it. Returns -1
// and sets errno on failure.
static int open_parent(const char *path, char *base) {
  const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
  if (!*last || !strcmp(last, ".") || !strcmp(last, "..")) return errno = *path ? EISDIR : ENOENT, -1;
  if (strlen(last) > NAME_MAX) return errno = ENAMETOOLONG, -1;
  strcpy(base, last);
  char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
  int fd = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  free(dir);
  return fd;
}

// Replaces the path of a link by its target. A link that belongs to another user is refused, since it may lead to a
// file that the user did not mean.
static bool follow(int dir, const char *base, const struct stat *st, char *path) {
  char to[PATH_MAX];
  if (st->st_uid != geteuid() && st->st_uid != 0) return errno = ELOOP, false;
  ssize_t n = readlinkat(dir, base, to, sizeof to - 1);
  if (n < 0) return false;
  to[n] = '\0';
  size_t at = *to == '/' ? 0 : strlen(path) - strlen(base);
  if (at + (size_t)n >= PATH_MAX) return errno = ENAMETOOLONG, false;
  strcpy(path + at, to);
  return true;
}

// Follows links to the target. Returns a descriptor of the target's directory, and stores the target's file name in
// `base`. Returns -1 and sets errno on failure.
static int find_target(const char *path, char *base) {
  char now[PATH_MAX];
  struct stat st;
  if (strlen(path) >= sizeof now) return errno = ENAMETOOLONG, -1;
  strcpy(now, path);
  for (int i = 0; i < MOST_LINKS; i++) {
    int dir = open_parent(now, base);
    if (dir < 0) return -1;
    if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) || !S_ISLNK(st.st_mode)) return dir;
    bool followed = follow(dir, base, &st, now);
    int error = errno;
    close(dir);
    errno = error;
    if (!followed) return -1;
  }
  return errno = ELOOP, -1;
}

// Returns the number of the descriptor that a path such as /dev/stdout or /dev/fd/3 names, or -1 if the path does not
// name a descriptor.
static int standard_number(const char *path) {
  static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
  if (!strcmp(path, "/dev/stdout")) return STDOUT_FILENO;
  if (!strcmp(path, "/dev/stderr")) return STDERR_FILENO;
  for (int i = 0; i < NW_COUNT(folders); i++) {
    size_t n = strlen(folders[i]);
    if (!strncmp(path, folders[i], n) && path[n] && strlen(path + n) < 6 &&
        strspn(path + n, "0123456789") == strlen(path + n))
      return atoi(path + n);
  }
  return -1;
}

// Opens a target that is written directly: a terminal, another character device, a FIFO or an open file of this
// process. Returns A_FILE if the path names a regular file or does not exist. Returns -1 and sets errno on failure.
static int open_stream(const char *path) {
  struct stat st;
  int number = standard_number(path);
  if (number == STDOUT_FILENO) fflush(stdout);
  if (number >= 0) return fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (stat(path, &st) || S_ISREG(st.st_mode)) return A_FILE;
  if (S_ISDIR(st.st_mode)) return errno = EISDIR, -1;
  if (!S_ISCHR(st.st_mode) && !S_ISFIFO(st.st_mode)) return errno = EINVAL, -1;
  return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// ---- one file

static nw_file *new_file(const char *path, unsigned how) {
  nw_file *f = nw_xcalloc(1, sizeof *f);
  *f = (nw_file){.fd = -1, .dir = -1, .path = nw_xstrdup(path), .quick = how & NW_FILE_QUICK};
  return f;
}

static void free_file(nw_file *f) {
  if (f->fd >= 0) close(f->fd);
  if (f->dir >= 0) close(f->dir);
  free(f->path);
  free(f);
}

static void unlink_part(nw_file *f) {
  if (*f->part) unlinkat(f->dir, f->part, 0);
  *f->part = '\0';
}

static bool name_part(nw_file *f) {
  uint64_t random;
  if (getrandom(&random, sizeof random, 0) != sizeof random) return false;
  snprintf(f->part, sizeof f->part, PART "%016llx" PART_END, (unsigned long long)random);
  return true;
}

static void not_written(nw_file *f, int error, nw_str *why) {
  const char *where = f->no_room ? "cannot create a file in its directory: " : "";
  nw_str_fmt(why, "cannot write %s: %s%s", f->path, where, nw_file_reason(error));
  if (f->existed) nw_str_add(why, "; the existing file is unchanged");
}

static bool is_abandoned(int dir, const char *name) {
  struct stat st;
  size_t n = strlen(name);
  if (n != strlen(PART) + 16 + strlen(PART_END) || strncmp(name, PART, strlen(PART)) ||
      strcmp(name + n - strlen(PART_END), PART_END))
    return false;
  return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
         st.st_mtime < time(NULL) - ABANDONED;
}

void nw_file_tidy(int dir) {
  int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = copy < 0 ? NULL : fdopendir(copy);
  for (struct dirent *e; d && (e = readdir(d));)
    if (is_abandoned(dir, e->d_name)) unlinkat(dir, e->d_name, 0);
  if (d) closedir(d);
}

// Makes the new file. The file has no name if the file system supports such files: they disappear if the process is
// killed. Returns 0, or an error number.
static int open_part(nw_file *f, mode_t mode) {
  if (!access("/proc/self/fd", X_OK)) {
    f->fd = openat(f->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (f->fd >= 0) return 0;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) return errno;
  }
  nw_file_tidy(f->dir);
  for (int i = 0; i < 8 && f->fd < 0; i++) {
    if (!name_part(f)) break;
    f->fd = openat(f->dir, f->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (f->fd < 0 && errno != EEXIST) break;
  }
  if (f->fd >= 0) return 0;
  *f->part = '\0';
  return errno;
}

// Makes the new file. If the target exists, the new file gets its mode and, if possible, its owner. Refuses to replace
// a read-only file. Returns 0, or an error number.
static int prepare(nw_file *f, unsigned how) {
  struct stat st;
  mode_t mode = how & NW_FILE_PRIVATE ? 0600 : how & NW_FILE_PROGRAM ? 0777 : 0666;
  f->existed = !fstatat(f->dir, f->base, &st, AT_SYMLINK_NOFOLLOW);
  if (!f->existed && errno != ENOENT) return errno;
  if (f->existed && S_ISDIR(st.st_mode)) return EISDIR;
  if (f->existed && !S_ISREG(st.st_mode)) return EINVAL;
  if (f->existed && faccessat(f->dir, f->base, W_OK, AT_EACCESS)) return errno;
  int error = open_part(f, f->existed ? 0600 : mode);
  f->no_room = error;
  if (error || !f->existed) return error;
  if (fchown(f->fd, st.st_uid, st.st_gid)) {} // fails if the target belongs to another user, except for root
  return fchmod(f->fd, st.st_mode & 0777) ? errno : 0;
}

static nw_file *begin_in(nw_file *f, unsigned how, nw_str *why) {
  int error = f->dir < 0 ? errno : prepare(f, how);
  if (!error) return f;
  not_written(f, error, why);
  nw_file_drop(f);
  return NULL;
}

nw_file *nw_file_begin_at(int dir, const char *name, unsigned how, nw_str *why) {
  nw_file *f = new_file(name, how);
  errno = ENAMETOOLONG;
  if (strlen(name) <= NAME_MAX) f->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
  if (f->dir >= 0) strcpy(f->base, name);
  return begin_in(f, how, why);
}

nw_file *nw_file_begin(const char *path, unsigned how, nw_str *why) {
  nw_file *f = new_file(path, how);
  int fd = open_stream(path);
  if (fd == A_FILE) f->dir = find_target(path, f->base);
  if (fd < 0) return begin_in(f, how, why);
  f->fd = fd;
  return f;
}

bool nw_file_add(nw_file *f, const void *data, size_t n) {
  if (!f->error) f->error = put(f->fd, data, n);
  return !f->error;
}

// Waits until the new file is on disk, except if f->quick is set. Returns 0, or an error number. A network file system
// may report errors only when a file is closed. The new file must stay open, so a copy of its descriptor is closed.
static int settle(const nw_file *f) {
  if (!f->quick && fsync(f->fd) && errno != EINVAL && errno != ENOTSUP) return errno;
  int copy = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
  return copy >= 0 && close(copy) && errno != EINTR ? errno : 0;
}

bool nw_file_settle(nw_file *f) {
  if (f->dir >= 0 && !f->settled && !f->error) f->error = settle(f);
  f->settled = true;
  return !f->error;
}

static int give_name(nw_file *f) {
  char open_file[40];
  if (!*f->part) {
    if (!name_part(f)) return errno;
    snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", f->fd);
    if (linkat(AT_FDCWD, open_file, f->dir, f->part, AT_SYMLINK_FOLLOW)) return *f->part = '\0', errno;
  }
  if (renameat(f->dir, f->part, f->dir, f->base)) return errno;
  *f->part = '\0';
  return 0;
}

bool nw_file_end(nw_file *f, nw_str *why) {
  bool good = nw_file_settle(f);
  if (good && f->dir >= 0) f->error = give_name(f);
  good = !f->error;
  if (!good) not_written(f, f->error, why);
  nw_file_drop(f);
  return good;
}

void nw_file_drop(nw_file *f) {
  if (!f) return;
  unlink_part(f);
  free_file(f);
}

bool nw_file_write(const char *path, unsigned how, const void *data, size_t n, nw_str *why) {
  nw_file *f = nw_file_begin(path, how, why);
  if (f) nw_file_add(f, data, n);
  return f && nw_file_end(f, why);
}

// ---- appending

// Tries for about 0.2 seconds to lock the file. Returns false if another process holds the lock.
static bool locked(int fd) {
  for (int i = 0; i < LOCK_TRIES; i++) {
    if (!flock(fd, LOCK_EX | LOCK_NB)) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return true; // this file system has no locks
    nanosleep(&(struct timespec){.tv_nsec = LOCK_WAIT_NS}, NULL);
  }
  return false;
}

// True if the path still names the open file. The file may have been replaced during the wait for the lock.
static bool is_still(int fd, const char *path) {
  struct stat a, b;
  return !fstat(fd, &a) && !stat(path, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int open_locked(const char *path, int flags, size_t most, nw_str *why) {
  for (int i = 0; i < 8; i++) {
    int fd = nw_file_open_at(AT_FDCWD, path, flags, NW_FILE_OWN, most, why);
    if (fd < 0) return -1;
    if (!locked(fd)) i = 8;
    if (i < 8 && is_still(fd, path)) return fd;
    close(fd);
  }
  nw_str_fmt(why, "cannot write %s: another process has locked it", path);
  return -1;
}

int nw_file_lock(const char *path, nw_str *why) { return open_locked(path, O_RDWR, SIZE_MAX, why); }

// Appends the data. If the file ends in an incomplete line, for example because the disk was full, a newline is added
// first. Returns 0, or an error number.
static int append(int fd, const void *data, size_t n) {
  struct stat st;
  char last = '\n';
  if (fstat(fd, &st)) return errno;
  if (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1) return errno;
  int error = last == '\n' ? 0 : put(fd, "\n", 1);
  if (!error) error = put(fd, data, n);
  if (error && ftruncate(fd, st.st_size)) {} // removes the part that was written
  return error;
}

bool nw_file_append(const char *path, const void *data, size_t n, size_t most, nw_str *why) {
  int fd = open_locked(path, O_RDWR | O_APPEND | O_CREAT, n < most ? most - n : 0, why);
  if (fd < 0) return false;
  int error = append(fd, data, n);
  if (close(fd) && !error) error = errno;
  if (error) nw_str_fmt(why, "cannot write %s: %s", path, nw_file_reason(error));
  return !error;
}
