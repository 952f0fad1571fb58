// Files: one way to write a whole file, one to append, one to read. docs/files.md describes the guarantees.
//
// No function here needs a session or keeps state between calls: any thread may write. The reason of a failure
// is a sentence in *why, which the caller frees.
#pragma once
#include "base/base.h"

// ---- writing: the file is made beside its target, under a name that nobody can guess or under none, and takes the
// target's name when it is completely on disk. On any failure the target is unchanged, and no other file remains.
// A link is followed if it belongs to the user or root, and stays a link. A FIFO, a terminal or /dev/stdout is
// written to directly.

typedef enum nw_file_how {
  NW_FILE_PLAIN = 0,
  NW_FILE_PRIVATE = 1, // only its owner may read a new file
  NW_FILE_PROGRAM = 2, // a new file may be executed
  NW_FILE_QUICK = 4, // does not wait until the file is on disk: a system crash may lose it
} nw_file_how;

typedef struct nw_file nw_file;
nw_file *nw_file_begin(const char *path, unsigned how, nw_str *why); // NULL: it cannot be written
NW_API nw_file *nw_file_begin_at(int dir, const char *name, unsigned how,
                                 nw_str *why); // in an open directory; does not follow links
NW_API bool nw_file_add(nw_file *f, const void *data, size_t n); // nw_file_end reports the first failure
bool nw_file_settle(nw_file *f); // waits until it is on disk; it has no name yet
NW_API bool nw_file_end(nw_file *f, nw_str *why); // gives it its name; frees f
void nw_file_drop(nw_file *f); // undoes everything; frees f
// Removes temporary files in a directory of processes that were killed more than an hour ago.
NW_API void nw_file_tidy(int dir);
NW_API bool nw_file_write(const char *path, unsigned how, const void *data, size_t n, nw_str *why);

// ---- appending, to a file of the session's own

// Appends all of the data or nothing, on a line of its own, and excludes other writers. The file stays at most `most` bytes.
NW_API bool nw_file_append(const char *path, const void *data, size_t n, size_t most, nw_str *why);
// Blocks other appenders until the descriptor is closed, so that the file can be rewritten; -1: failure.
NW_API int nw_file_lock(const char *path, nw_str *why);

// ---- reading: regular files of bounded size only, so that nothing blocks and nothing grows

typedef enum nw_file_whose {
  NW_FILE_ANY, // the user named it
  NW_FILE_OWN, // loaded automatically: it must belong to the user or root, and nobody else may write it
  NW_FILE_CODE, // as NW_FILE_OWN, but it must belong to the user, and links are not followed
} nw_file_whose;

// A descriptor, or -1. errno is ENOENT if there is no such file.
NW_API int nw_file_open_at(int dir, const char *path, int flags, nw_file_whose whose, size_t most, nw_str *why);
// The whole content followed by a NUL; heap. NULL: *why has the reason, and errno is ENOENT if there is no such file.
NW_API char *nw_file_read(const char *path, nw_file_whose whose, size_t most, size_t *n, nw_str *why);
NW_API char *nw_file_read_at(int dir, const char *path, nw_file_whose whose, size_t most, size_t *n, nw_str *why);
// The descriptor of a directory that belongs to the user and that nobody else may write; -1: failure. If the last component is
// a link, it is followed only for NW_FILE_OWN.
NW_API int nw_file_open_dir(const char *path, nw_file_whose whose, nw_str *why);

// The path of a file of the state directory, which is created if missing. False, with *why unless there is no home
// directory: the directory cannot be used. errno is ENOENT if there is none and it cannot be created.
NW_API bool nw_state_file(char *out, size_t n, const char *name, nw_str *why);

NW_API const char *nw_file_reason(int error); // in words: "no space left on the device"
// Leaves an NW_EIO diagnostic, "save: cannot write x: ...", and frees the text; NULL.
NW_API void *nw_file_fail(nw_ctx *c, const char *what, nw_str *why);
