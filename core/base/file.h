// Files: one way to write a whole one, one to append, one to read. docs/files.md tells what they promise.
//
// No function here needs a session, and none keeps anything between two calls: any thread may write. Why something failed
// is a sentence in *why, which the caller frees.
#pragma once
#include "base/base.h"

// ---- writing: the file is made beside its target, under a name that nobody can guess or under none, and takes the
// target's name when all of it is on the disk. When anything fails the target is what it was, and nothing else is left.
// A link is followed if it is the user's own or root's, and stays a link. A FIFO, a terminal or /dev/stdout has nothing
// to keep, and is written to directly.

typedef enum nw_file_how {
  NW_FILE_PLAIN = 0,
  NW_FILE_PRIVATE = 1, // a new one may be read by its owner only
  NW_FILE_PROGRAM = 2, // a new one may be executed
  NW_FILE_QUICK = 4, // not waited for until it is on the disk: a crash of the system may lose it
} nw_file_how;

typedef struct nw_file nw_file;
nw_file *nw_file_begin(const char *path, unsigned how, nw_str *why); // NULL: it cannot be written
NW_API nw_file *nw_file_begin_at(int dir, const char *name, unsigned how,
                                 nw_str *why); // in an open directory; no links
NW_API bool nw_file_add(nw_file *f, const void *data, size_t n); // what fails first is told by nw_file_end
bool nw_file_settle(nw_file *f); // waits until it is on the disk; it has no name yet
NW_API bool nw_file_end(nw_file *f, nw_str *why); // gives it its name; frees f
void nw_file_drop(nw_file *f); // as if it had never been begun; frees f
// Removes what processes that were killed more than an hour ago had begun in a directory.
NW_API void nw_file_tidy(int dir);
NW_API bool nw_file_write(const char *path, unsigned how, const void *data, size_t n, nw_str *why);

// ---- appending, to a file of the session's own

// All of the data or nothing, on a line of its own, while nobody else appends. The file gets no larger than `most`.
NW_API bool nw_file_append(const char *path, const void *data, size_t n, size_t most, nw_str *why);
// Holds off those who append until the descriptor is closed, so that the file can be written anew; -1: it cannot be.
NW_API int nw_file_lock(const char *path, nw_str *why);

// ---- reading: regular files of bounded size only, so that nothing blocks and nothing grows

typedef enum nw_file_whose {
  NW_FILE_ANY, // the user named it
  NW_FILE_OWN, // the session finds it by itself: it must be the user's or root's, and nobody else may write it
  NW_FILE_CODE, // the same, the user's only, and links are not followed
} nw_file_whose;

// A descriptor, or -1. errno is ENOENT where there is no such file.
NW_API int nw_file_open_at(int dir, const char *path, int flags, nw_file_whose whose, size_t most, nw_str *why);
// All of it with a NUL at the end; heap. NULL: *why says it, and errno is ENOENT where there is no such file.
NW_API char *nw_file_read(const char *path, nw_file_whose whose, size_t most, size_t *n, nw_str *why);
NW_API char *nw_file_read_at(int dir, const char *path, nw_file_whose whose, size_t most, size_t *n, nw_str *why);
// The descriptor of a directory that is the user's and that nobody else may write; -1. A last component that is a link is
// followed only for NW_FILE_OWN.
NW_API int nw_file_open_dir(const char *path, nw_file_whose whose, nw_str *why);

// The path of a file of the state directory, which is made where it is missing. False, and *why unless there is no home at
// all: the directory cannot be used. errno is ENOENT where there is none, and none can be made.
NW_API bool nw_state_file(char *out, size_t n, const char *name, nw_str *why);

NW_API const char *nw_file_reason(int error); // in words: "no space left on the device"
// Leaves an NW_EIO diagnostic, "save: cannot write x: ...", and frees the text; NULL.
NW_API void *nw_file_fail(nw_ctx *c, const char *what, nw_str *why);
