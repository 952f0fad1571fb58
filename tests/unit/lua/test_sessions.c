// Two sessions in two threads of one process must give the same results as each session alone. ThreadSanitizer checks
// the data that the sessions share.
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SESSIONS = 2 };

typedef struct session {
  int seed;
  char *said;
} session;

static void prepend(lua_State *L, const char *field, const char *path) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, field);
  lua_pushfstring(L, "%s;%s", path, lua_tostring(L, -1));
  lua_setfield(L, -3, field);
  lua_pop(L, 2);
}

static void *run(void *arg) {
  session *s = arg;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  prepend(L, "path", NW_SOURCE_DIR "/lua/?.lua;" NW_SOURCE_DIR "/lua/?/init.lua;" NW_SOURCE_DIR "/?.lua");
  prepend(L, "cpath", NW_BUILD_DIR "/lib/lua/?.so");
  bool ok = luaL_loadfile(L, NW_SOURCE_DIR "/tests/unit/lua/session.lua") == LUA_OK;
  lua_pushinteger(L, s->seed);
  if (ok) lua_pcall(L, 1, 1, 0);
  const char *text = luaL_tolstring(L, ok ? -1 : -2, NULL);
  s->said = strdup(text);
  lua_close(L);
  return NULL;
}

static void sessions_do_not_affect_each_other(void **state) {
  (void)state;
  session alone[SESSIONS], together[SESSIONS];
  pthread_t id[SESSIONS];
  for (int i = 0; i < SESSIONS; i++) together[i] = (session){i + 1, NULL};
  for (int i = 0; i < SESSIONS; i++) assert_int_equal(pthread_create(&id[i], NULL, run, &together[i]), 0);
  for (int i = 0; i < SESSIONS; i++) pthread_join(id[i], NULL);
  for (int i = 0; i < SESSIONS; i++) {
    alone[i] = (session){i + 1, NULL};
    run(&alone[i]);
    if (!strstr(alone[i].said, "cannot run k in parallel")) fail_msg("%s", alone[i].said);
    assert_string_equal(alone[i].said, together[i].said);
    free(alone[i].said);
    free(together[i].said);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sessions_do_not_affect_each_other)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
