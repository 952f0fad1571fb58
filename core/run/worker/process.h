// A worker: a process of one of our own executables, with which the session talks over a socket. It is not a fork of the
// session, and it ends when the session ends.
#pragma once
#include "run/run.h"
#include <sys/types.h>

typedef struct nw_worker {
  pid_t pid;
  int socket; // the session's end
  char *path; // of its executable
} nw_worker;

#define NW_WORKER_FD 3 // the file descriptor of the socket in the worker

typedef enum nw_heard { NW_HEARD, NW_CLOSED, NW_LATE, NW_INTERRUPTED } nw_heard;

// Starts the executable `program`, which lies next to the library unless the environment variable `variable` has its
// path. Returns NULL, with a diagnostic, if it does not start.
nw_worker *nw_worker_start(nw_ctx *c, const char *variable, const char *program);
// Reads n bytes, and checks regularly for an interrupt. Returns NW_LATE if the bytes do not arrive before the time
// `until`.
nw_heard nw_worker_hear(nw_ctx *c, const nw_worker *w, void *data, size_t n, double until);
// Sends n bytes, and a file descriptor with the first of them if `fd` is not -1. Returns false if the worker does not
// take them.
bool nw_worker_send(const nw_worker *w, const void *data, size_t n, int fd);
// True if the worker has ended. Waits up to `patience` seconds for its end. If the caller kills a worker that is about
// to end by itself, the status of the worker does not show why it closed the connection.
bool nw_worker_is_gone(const nw_worker *w, double patience);
// Kills the worker and all processes that it started, and waits for it, so that no zombie remains. Returns the status
// of waitpid, or 0 if w is NULL.
int nw_worker_end(nw_worker *w);
// Waits for `word`, which a worker sends when it is ready. If the word does not arrive, ends the worker, sets *w to NULL
// and returns false, with a diagnostic.
bool nw_worker_greeted(nw_ctx *c, nw_worker **w, uint32_t word);
