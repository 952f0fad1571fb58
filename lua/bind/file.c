// Reads and writes files for the Lua library. A file is written completely or not at all. A file is read only if
// reading cannot block.
#include "base/file.h"
#include "bind.h"
#include "run/temp.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_MOST ((lua_Integer)256 << 20) // largest number of bytes of a file that the user names
#define OWN_MOST ((lua_Integer)16 << 20) // largest number of bytes of a file that is loaded automatically

const char *nwl_path(lua_State *L, int arg, const char *name) {
  const char *path = nwl_string(L, arg, name);
  if (!*path) nwl_fail(L, NW_EINVAL, NULL, "%s: the file name is empty", name);
  return path;
}

static int fail(lua_State *L, const char *what, nw_str *why) {
  nw_clear(nwl_ctx(L));
  nw_file_fail(nwl_ctx(L), what, why);
  return nwl_raise(L);
}

static bool flag(lua_State *L, int at, const char *name) {
  if (lua_isnoneornil(L, at)) return false;
  nwl_table(L, at, "how");
  return nwl_flag_in(L, at, name);
}

// write_file(what, path, text, how?)
static int f_write(lua_State *L) {
  const char *what = luaL_optstring(L, 1, NULL), *path = nwl_path(L, 2, "path");
  size_t n;
  nwl_is_string(L, 3, "text"); // the text may contain any bytes, including NUL
  const char *text = lua_tolstring(L, 3, &n);
  unsigned how = (flag(L, 4, "private") ? NW_FILE_PRIVATE : 0) | (flag(L, 4, "quick") ? NW_FILE_QUICK : 0);
  nw_str why = {0};
  if (!nw_file_write(path, how, text, n, &why)) return fail(L, what, &why);
  return 0;
}

static int push_text(lua_State *L, char *text, size_t n) {
  lua_pushlstring(L, text, n);
  free(text);
  return 1;
}

// read_file(what, path)
static int f_read(lua_State *L) {
  const char *what = nwl_string(L, 1, "what"), *path = nwl_path(L, 2, "path");
  size_t n;
  nw_str why = {0};
  char *text = nw_file_read(path, NW_FILE_ANY, TEXT_MOST, &n, &why);
  return text ? push_text(L, text, n) : fail(L, what, &why);
}

// Returns a text that changes when the file is rewritten; nil if there is no such file.
static int f_stamp(lua_State *L) {
  struct stat st = {0};
  if (stat(nwl_path(L, 1, "path"), &st)) return 0;
  lua_pushfstring(L, "%I %I %I %I %I", (LUAI_UACINT)st.st_dev, (LUAI_UACINT)st.st_ino, (LUAI_UACINT)st.st_size,
                  (LUAI_UACINT)st.st_mtim.tv_sec, (LUAI_UACINT)st.st_mtim.tv_nsec);
  return 1;
}

// Pushes nil and the text of *why. If *why is empty, pushes nil instead of the text.
static int push_why(lua_State *L, nw_str *why) {
  lua_pushnil(L);
  lua_pushstring(L, why->s);
  nw_str_free(why);
  return 2;
}

// read_own(path)
static int f_read_own(lua_State *L) {
  const char *path = nwl_path(L, 1, "path");
  size_t n;
  nw_str why = {0};
  char *text = nw_file_read(path, NW_FILE_OWN, OWN_MOST, &n, &why);
  if (text) return push_text(L, text, n);
  if (errno == ENOENT) nw_str_free(&why);
  return push_why(L, &why);
}

static int f_state_file(lua_State *L) {
  const char *name = nwl_path(L, 1, "name");
  char path[PATH_MAX];
  nw_str why = {0};
  if (!nw_state_file(path, sizeof path, name, &why)) {
    bool absent = errno == ENOENT;
    push_why(L, &why);
    lua_pushboolean(L, absent);
    return 3;
  }
  lua_pushstring(L, path);
  return 1;
}

static int f_temp_dir(lua_State *L) {
  nw_clear(nwl_ctx(L));
  nwl_push_text(L, nw_temp_dir(nwl_ctx(L)));
  return 1;
}

// make_directory(what, path)
static int f_make_directory(lua_State *L) {
  const char *what = nwl_string(L, 1, "what"), *path = nwl_path(L, 2, "path");
  char dir[4096];
  nw_str why = {0};
  if (strlen(path) < sizeof dir) {
    strcpy(dir, path);
    if (nw_make_dirs(dir, 0777)) return 0;
  }
  nw_str_fmt(&why, "cannot make %s: %s", path, strerror(strlen(path) < sizeof dir ? errno : ENAMETOOLONG));
  return fail(L, what, &why);
}

const nwl_row nwl_file_rows[] = {
    {"make_directory", f_make_directory, "(what: string, path: string)",
     "Makes a directory and those that contain it, if they are missing. An error begins with `what` and gives the "
     "reason."},
    {"write_file", f_write, "(what: string?, path: string, text: string, how?: {private?: boolean, quick?: boolean})",
     "Writes a file atomically. On failure, the old file is unchanged, and the error begins with `what` and gives the "
     "reason. private: a new file is readable only by its owner. quick: does not wait until the file is on disk."},
    {"read_file", f_read, "(what: string, path: string): string",
     "Returns the text of a regular file of at most 256 MiB; otherwise raises an error that begins with `what`."},
    {"file_stamp", f_stamp, "(path: string): string?",
     "Returns a text that changes whenever the file is rewritten; nil if the file cannot be found."},
    {"read_own", f_read_own, "(path: string): string?, string?",
     "Returns the text of a file that is loaded automatically: a regular file of at most 16 MiB that belongs to the "
     "user or root and that nobody else may write. Returns nil and the reason if the file is not used, or only nil if "
     "it does not exist."},
    {"state_file", f_state_file, "(name: string): string?, string?, boolean?",
     "Returns the path of a file in the state directory. The directory is created if it is missing. On failure returns "
     "three values: nil; the reason, or nil if there is no home directory; true if the directory is missing and cannot "
     "be created, otherwise false."},
    {"temp_dir", f_temp_dir, "(): string", "Creates a directory for temporary files, accessible only by the user."},
    {NULL, NULL, NULL, NULL},
};
