// Declares functions that write a whole file, append to a file, and read a file. docs/files.md describes their
// guarantees.
//
// Only nw_file_fail needs a session, and no function keeps state between calls. So any thread may write files. On a
// failure, *why has the reason as a sentence. The caller frees *why.
#pragma once
#include "base/base.h"

// ---- writing
//
// The target is the file that the caller names. A new file is made in the directory of the target, with a random name
// or without a name. When the new file is completely on disk, it gets the target's name. On any failure the target is
// unchanged, and no other file remains. If the target is a symbolic link that belongs to the user or root, the link is
// kept, and the file to which it points is written. A FIFO, a terminal or /dev/stdout is written to directly.

typedef enum nw_file_how {
  NW_FILE_PLAIN = 0,
  NW_FILE_PRIVATE = 1, // if the target did not exist, only its owner may read it
  NW_FILE_PROGRAM = 2, // if the target did not exist, it may be executed
  NW_FILE_QUICK = 4, // does not wait until the file is on disk: a system crash may lose it
} nw_file_how;

typedef struct nw_file nw_file;
nw_file *nw_file_begin(const char *path, unsigned how, nw_str *why); // NULL if the file cannot be written
NW_API nw_file *nw_file_begin_at(int dir, const char *name, unsigned how,
                                 nw_str *why); // writes into an open directory; does not follow links
NW_API bool nw_file_add(nw_file *f, const void *data, size_t n); // false after a failure, which nw_file_end reports
bool nw_file_settle(nw_file *f); // waits until the new file is on disk; the target is still unchanged
NW_API bool nw_file_end(nw_file *f, nw_str *why); // gives the new file the target's name; frees f
void nw_file_drop(nw_file *f); // removes the new file; frees f
// Removes temporary files that killed processes left in a directory more than an hour ago.
NW_API void nw_file_tidy(int dir);
NW_API bool nw_file_write(const char *path, unsigned how, const void *data, size_t n, nw_str *why);

// ---- appending to a file that belongs to the user

// Appends the data as a line of its own, completely or not at all. Meanwhile, other writers that use this function
// wait. The file never gets larger than `most` bytes.
NW_API bool nw_file_append(const char *path, const void *data, size_t n, size_t most, nw_str *why);
// Locks the file against appending until the returned descriptor is closed, so that the file can be rewritten. Returns
// -1 on failure.
NW_API int nw_file_lock(const char *path, nw_str *why);

// ---- reading
//
// Only regular files of bounded size are read, so that no call blocks or needs unlimited memory.

typedef enum nw_file_whose {
  NW_FILE_ANY, // a file that the user named
  NW_FILE_OWN, // a file that is loaded automatically: it must belong to the user or root, and only they may write to it
  NW_FILE_CODE, // like NW_FILE_OWN, but the file must belong to the user, and links are not followed
} nw_file_whose;

// Opens a file and returns its descriptor, or -1. errno is ENOENT if there is no such file.
NW_API int nw_file_open_at(int dir, const char *path, int flags, nw_file_whose whose, size_t most, nw_str *why);
// Returns the whole content, followed by a NUL, as a heap string. On failure returns NULL, with the reason in *why. If
// there is no such file, errno is ENOENT.
NW_API char *nw_file_read(const char *path, nw_file_whose whose, size_t most, size_t *n, nw_str *why);
NW_API char *nw_file_read_at(int dir, const char *path, nw_file_whose whose, size_t most, size_t *n, nw_str *why);
// Opens a directory that belongs to the user and to which nobody else may write. Returns its descriptor, or -1 on
// failure. If the last component of the path is a link, it is followed only for NW_FILE_OWN.
NW_API int nw_file_open_dir(const char *path, nw_file_whose whose, nw_str *why);

// Stores the path of a file in the state directory in `out`, and creates the directory if it is missing. Returns false
// if the directory cannot be used. Then *why has the reason, except if there is no home directory. errno is ENOENT if
// the directory is missing and cannot be created.
NW_API bool nw_state_file(char *out, size_t n, const char *name, nw_str *why);

NW_API const char *nw_file_reason(int error); // the error in words: "no space left on the device"
// Leaves an NW_EIO diagnostic, "save: cannot write x: ...", frees the text in *why, and returns NULL.
NW_API void *nw_file_fail(nw_ctx *c, const char *what, nw_str *why);
