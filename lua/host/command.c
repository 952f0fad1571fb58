// Replaces os.execute by a version that the user can interrupt. The function in Lua's loslib.c calls system(), which
// ignores SIGINT while it waits.
#include "inside.h"
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

static bool start(pid_t *pid, const char *command) {
  char sh[] = "sh", c[] = "-c", *const args[] = {sh, c, (char *)command, NULL};
  posix_spawnattr_t a;
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGXFSZ); // this program ignores SIGXFSZ, but the child must not
  posix_spawnattr_init(&a);
  posix_spawnattr_setsigmask(&a, &none);
  posix_spawnattr_setsigdefault(&a, &usual);
  posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int failed = posix_spawn(pid, "/bin/sh", NULL, &a, args, environ);
  posix_spawnattr_destroy(&a);
  return !failed;
}

// Waits for the child and returns its wait status. After an interrupt, sends SIGINT to the child. This is necessary if
// a Jupyter front end interrupts the kernel by a message. (On Ctrl-C, a terminal sends the signal to the child, too.)
static int wait_for(const nwh *h, pid_t pid) {
  int status = 0;
  bool told = false;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    if (!nwh_interrupted(h) || told) continue;
    told = true;
    kill(pid, SIGINT);
  }
  return status;
}

static int execute(lua_State *L) {
  const char *command = luaL_optstring(L, 1, NULL);
  pid_t pid;
  if (!command) return lua_pushboolean(L, true), 1;
  lua_getfield(L, LUA_REGISTRYINDEX, "nestwright.host.state");
  const nwh *h = lua_touserdata(L, -1);
  fflush(NULL); // earlier output must appear before the output of the child
  if (!start(&pid, command)) return luaL_fileresult(L, 0, "sh");
  int status = wait_for(h, pid);
  errno = 0; // luaL_execresult would report an old value as the reason of a failure
  return luaL_execresult(L, status);
}

void nwh_open_commands(nwh *h) {
  lua_State *L = h->L;
  lua_getglobal(L, "os");
  lua_pushcfunction(L, execute);
  lua_setfield(L, -2, "execute");
  lua_pop(L, 1);
}
