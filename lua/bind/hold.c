// Captures standard output and standard error of Lua, C and child processes. While output is captured, both file
// descriptors refer to a file in memory.
#include "bind.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_HELD = 4 << 20, PAGE = 4096 }; // bytes; a write that goes beyond MOST_HELD is cut at a page boundary

// The file descriptors belong to the process, so only one of its sessions can capture output at a time.
static _Atomic(lua_State *) owner;
static int held = -1, real[2] = {-1, -1};
static off_t taken;

static lua_State *session(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return main;
}

// Makes a file that cannot grow, so that a writer gets an error when the file is full. Returns its descriptor, or -1.
static int new_file(void) {
  int fd = memfd_create("nestwright output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  if (ftruncate(fd, MOST_HELD) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0) return fd;
  close(fd);
  return -1;
}

static void close_all(int fd, const int keep[2]) {
  close(fd);
  for (int i = 0; i < 2; i++)
    if (keep[i] >= 0) close(keep[i]);
}

static bool begin_hold(void) {
  int fd = new_file();
  if (fd < 0) return false;
  int keep[] = {fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
  fflush(NULL);
  bool ok = keep[0] >= 0 && keep[1] >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0;
  if (ok) held = fd, taken = 0, real[0] = keep[0], real[1] = keep[1];
  if (!ok) close_all(fd, keep);
  return ok;
}

static int f_hold(lua_State *L) {
  lua_State *me = session(L), *none = NULL;
  bool ok = owner == me;
  if (!ok && atomic_compare_exchange_strong(&owner, &none, me) && !(ok = begin_hold())) owner = NULL;
  lua_pushboolean(L, ok);
  return 1;
}

// Returns the output that was captured since the last call, and whether all of it fitted. All writers share one file
// position, which is the end of the output.
static int f_held(lua_State *L) {
  if (owner != session(L)) return 0;
  fflush(NULL);
  off_t end = lseek(held, 0, SEEK_CUR);
  luaL_Buffer b;
  char *to = luaL_buffinitsize(L, &b, end > taken ? (size_t)(end - taken) : 0);
  ssize_t n = end > taken ? pread(held, to, (size_t)(end - taken), taken) : 0;
  if (n > 0) taken += n;
  luaL_pushresultsize(&b, n > 0 ? (size_t)n : 0);
  lua_pushboolean(L, !ferror(stdout) && end + PAGE <= MOST_HELD);
  return 2;
}

static int f_release(lua_State *L) {
  if (owner != session(L)) return 0;
  fflush(NULL);
  dup2(real[0], STDOUT_FILENO);
  dup2(real[1], STDERR_FILENO);
  close_all(held, real);
  clearerr(stdout);
  held = -1;
  owner = NULL;
  return 0;
}

const nwl_row nwl_hold_rows[] = {
    {"hold_output", f_hold, "(): boolean",
     "Captures standard output and standard error from now on, up to 4 MiB; returns false if that is not possible."},
    {"held_output", f_held, "(): string?, boolean?",
     "Returns the output captured since the last call, and whether all of it fitted; nothing if output is not "
     "captured."},
    {"release_output", f_release, "()", "Stops capturing; captured output that was not fetched is lost."},
    {NULL, NULL, NULL, NULL},
};
