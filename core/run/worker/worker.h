// The worker: a separate process that runs untrusted native code.
//
// It runs the program nestwright-worker, and is not a fork of the session. It loads neither LLVM nor this library. Data
// is in shared memory. The session sends one job at a time. A job loads a library and calls one of its functions, with
// words as arguments. A job that crashes, exits, hangs or is interrupted ends the worker, not the session, and leaves a
// diagnostic. The next job gets a new worker. The worker always ends when the session ends, even if the session
// crashes.
//
// The memory consists of segments of whole pages. The worker maps each segment separately, between two guard pages. It
// maps segments that are not writable as read-only. An access to a guard page is a crash, and its message names the
// segment beside the guard page.
#pragma once
#include "ir/program/intrinsic.h"
#include "run/run.h"

typedef struct nw_shared { // memory that the session and the worker share; it is initially zero
  int fd;
  char *data;
  size_t bytes;
} nw_shared;
nw_shared *nw_shared_new(nw_ctx *c, size_t bytes);
void nw_shared_free(nw_shared *m);
size_t nw_page(size_t bytes); // rounds up to whole pages

typedef struct nw_segment {
  const char *name; // for messages
  size_t offset, bytes; // multiples of the page size
  bool writable;
} nw_segment;

// An argument of the call. It is a pointer to byte `value` of a segment or, if the segment is -1, the integer `value`.
typedef struct nw_word {
  int segment;
  int64_t value;
} nw_word;

typedef struct nw_job {
  const char *library, *symbol; // the function: void symbol(word, word, ...), where a word is a pointer or an int64_t
  int nwords, nsegments;
  const nw_word *word;
  const nw_segment *segment;
  const nw_shared *memory;
  double timeout; // seconds, after which the job is killed
} nw_job;

// Runs a job and waits for its end. Returns false, with a diagnostic, on failure. The error is NW_ECRASH if the job
// crashed, exited or did not end in time, NW_EINTERRUPT if it was interrupted, NW_EIO if the worker did not start or
// was killed, and NW_EINVAL if there is no such library or function. Data that the job wrote before it failed stays in
// memory.
bool nw_worker_run(nw_ctx *c, const nw_job *job);
int nw_worker_pid(nw_ctx *c); // returns 0 if there is no worker
void nw_worker_close(nw_ctx *c); // ends the worker and waits for its end

// The type with which a function of up to NW_MAX_WORDS words is called. On the supported ABIs, extra arguments do no
// harm.
typedef void (*nw_words_fn)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                            int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);

// ---- the protocol between worker.c and worker/main.c

// The worker first sends NW_WIRE_READY. Each later message consists of a length in bytes and of that many bytes. A job
// is an nw_wire_job, followed by the segments, the words and the names. The memory is sent as a file descriptor.
typedef struct nw_wire_job {
  uint32_t nlibrary, nsymbol; // bytes of the names, with their NUL
  uint32_t nsegments, nwords;
} nw_wire_job;
typedef struct nw_wire_segment {
  uint64_t offset, bytes, writable;
} nw_wire_segment;
typedef struct nw_wire_word {
  int64_t segment, value;
} nw_wire_word;

typedef enum nw_wire_outcome {
  NW_WIRE_DONE,
  NW_WIRE_NO_LIBRARY,
  NW_WIRE_NO_SYMBOL,
  NW_WIRE_NO_MEMORY,
  NW_WIRE_CRASHED
} nw_wire_outcome;
typedef struct nw_wire_reply {
  int32_t outcome; // nw_wire_outcome
  int32_t signal; // the signal, if the outcome is a crash
  int32_t segment; // the segment with the bad address in its data or guard pages; -1 if there is none
  int32_t reserved;
  int64_t at; // bytes from the start of that segment
  char text[232]; // the reason of a failure, such as the message of the dynamic loader
} nw_wire_reply;
#define NW_WIRE_READY 0x6e770001u // the first word that a worker sends; must be changed whenever the protocol changes
#define NW_WIRE_MOST (1u << 20) // largest number of bytes of a message
