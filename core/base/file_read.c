// Opens and reads files. The checks use the descriptor of the open file, so that nobody can replace the file between a
// check and the read.
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const char *nw_file_reason(int error) {
  switch (error) {
  case ENOSPC: return "no space left on the device";
  case EDQUOT: return "the user's disk quota is used up";
  case EFBIG: return "it would exceed the limit on file sizes (ulimit -f)";
  case EROFS: return "the file system is read-only";
  case EACCES: return "permission denied";
  case EISDIR: return "it is a directory";
  case EINVAL: return "it is not a file, pipe or character device"; // for example a socket, or a disk
  case ELOOP: return "it is a symbolic link that refers to itself or must not be followed";
  case ENXIO: return "no process reads from it";
  case EMFILE: return "this process has too many open files (ulimit -n)";
  default: return strerror(error);
  }
}

void *nw_file_fail(nw_ctx *c, const char *what, nw_str *why) {
  nw_fail(c, NW_EIO, NULL, "%s%s%s", what ? what : "", what ? ": " : "", why->s ? why->s : "?");
  nw_str_free(why);
  return NULL;
}

static const char *kind_of(mode_t mode) {
  return S_ISDIR(mode)    ? "a directory"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISLNK(mode)  ? "a link"
                          : "a device";
}

// True if the file belongs to the user (or to root, if roots_too is set) and no other user may write to it. Otherwise
// adds the reason to *why.
static bool is_own(const struct stat *st, bool roots_too, nw_str *why) {
  uid_t me = geteuid();
  if (st->st_uid != me && !(roots_too && st->st_uid == 0))
    return nw_str_fmt(why, "it belongs to another user (%u)", (unsigned)st->st_uid), false;
  if (!(st->st_mode & (S_IWGRP | S_IWOTH))) return true;
  nw_str_fmt(why, "other users may write to it (mode %o; fix this with chmod go-w)", (unsigned)st->st_mode & 07777);
  return false;
}

static bool is_usable(const struct stat *st, nw_file_whose whose, size_t most, nw_str *why) {
  if (!S_ISREG(st->st_mode)) return nw_str_fmt(why, "it is %s, not a regular file", kind_of(st->st_mode)), false;
  if (whose != NW_FILE_ANY && !is_own(st, whose == NW_FILE_OWN, why)) return false;
  if ((uint64_t)st->st_size <= most) return true;
  nw_str_fmt(why, "it has %lld bytes; the limit is %zu", (long long)st->st_size, most);
  return false;
}

// Writes a message such as "cannot read PATH: REASON" to *why. Returns -1, and keeps errno.
static int refused(const char *path, const char *what, nw_str *found, nw_str *why) {
  int error = errno;
  nw_str_fmt(why, "cannot %s %s: %s", what, path, found->n ? found->s : nw_file_reason(error));
  nw_str_free(found);
  errno = error;
  return -1;
}

// The type is checked before and after the file is opened. The first check is needed because opening a device may
// already have an effect, such as rewinding a tape.
int nw_file_open_at(int dir, const char *path, int flags, nw_file_whose whose, size_t most, nw_str *why) {
  struct stat st;
  nw_str found = {0};
  const char *what = (flags & O_ACCMODE) == O_RDONLY ? "read" : "write";
  int links = whose == NW_FILE_CODE ? AT_SYMLINK_NOFOLLOW : 0;
  bool there = !fstatat(dir, path, &st, links);
  if (!there && !(errno == ENOENT && flags & O_CREAT)) return refused(path, what, &found, why);
  errno = EINVAL;
  if (there && !is_usable(&st, whose, most, &found)) return refused(path, what, &found, why);
  flags |= O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (whose == NW_FILE_CODE ? O_NOFOLLOW : 0);
  int fd = openat(dir, path, flags, 0600);
  if (fd < 0) return refused(path, what, &found, why);
  if (!fstat(fd, &st) && is_usable(&st, whose, most, &found)) return fd;
  close(fd);
  errno = EINVAL;
  return refused(path, what, &found, why);
}

int nw_file_open_dir(const char *path, nw_file_whose whose, nw_str *why) {
  struct stat st;
  nw_str found = {0};
  int fd = open(path, O_DIRECTORY | O_CLOEXEC | (whose == NW_FILE_CODE ? O_NOFOLLOW : 0));
  if (fd < 0) {
    if (errno == ENOTDIR || errno == ELOOP) nw_str_add(&found, "it is not a directory, or is a link");
    return refused(path, "use", &found, why);
  }
  if (!fstat(fd, &st) && is_own(&st, whose == NW_FILE_OWN, &found)) return fd;
  close(fd);
  return refused(path, "use", &found, why);
}

// Doubles the buffer for a file that grows while it is read. Returns false if there is no memory.
static bool more_room(char **text, size_t *room) {
  char *more = realloc(*text, *room * 2 + 1);
  if (!more) return false;
  *text = more;
  *room *= 2;
  return true;
}

// Reads the whole current content into *text, and adds a NUL. On failure returns false, with the reason in *found.
static bool read_all(int fd, size_t most, char **text, size_t *n, nw_str *found) {
  struct stat st;
  size_t room = (fstat(fd, &st) ? 0 : (size_t)st.st_size) + 1; // one byte more, so that the last read finds the end
  *text = malloc(room + 1);
  for (*n = 0; *text && (*n < room || more_room(text, &room));) {
    ssize_t got = read(fd, *text + *n, room - *n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return nw_str_add(found, nw_file_reason(errno)), false;
    *n += (size_t)got;
    if (*n > most) return nw_str_fmt(found, "it has more than %zu bytes, which is the limit", most), false;
    if (got > 0) continue;
    (*text)[*n] = '\0';
    return true;
  }
  nw_str_fmt(found, "there is no memory for its %zu bytes", room);
  return false;
}

char *nw_file_read(const char *path, nw_file_whose whose, size_t most, size_t *n, nw_str *why) {
  return nw_file_read_at(AT_FDCWD, path, whose, most, n, why);
}

char *nw_file_read_at(int dir, const char *path, nw_file_whose whose, size_t most, size_t *n, nw_str *why) {
  int fd = nw_file_open_at(dir, path, O_RDONLY, whose, most, why);
  if (fd < 0) return NULL;
  char *text;
  nw_str found = {0};
  bool good = read_all(fd, most, &text, n, &found);
  close(fd);
  if (good) return text;
  free(text);
  errno = EIO;
  refused(path, "read", &found, why);
  return NULL;
}
