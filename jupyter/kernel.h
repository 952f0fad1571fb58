// Declares the types and functions that the files of the Jupyter kernel share. The kernel has these threads:
//
//   main      runs Lua; serves the shell socket, and the stdin socket while a cell waits for input
//   control   handles interrupt and shutdown, also while a cell runs; checks that the front end still exists
//   iopub     collects the text written to stdout and stderr
//   heartbeat echoes messages
//   watch     publishes the status busy for a slow request, and meanwhile flushes the buffer of stdout
//
// Each socket belongs to one thread. The exception is the iopub socket, on which all threads send, under a lock. "heap"
// in a comment means that the caller frees the result.
#pragma once
#include "wire.h"
#include "seen.h"
#include "lua/host/host.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define NWJ_PROTOCOL "5.4"

typedef struct nwj_connection { // the contents of the connection file, which the front end wrote
  bool ipc; // true: the transport is ipc; false: tcp
  char ip[256]; // an address; with ipc, the prefix of the sockets' paths
  int shell, control, iopub, input, heartbeat; // ports
  nwj_key key;
  char curve_secret[41]; // empty if there is no encryption
} nwj_connection;

typedef struct nwj nwj;
struct nwj {
  nwj_connection at;
  nwj_seen *seen; // signatures of the received messages; NULL if messages are unsigned, because there is no key
  void *zmq; // the context of ZeroMQ
  void *shell, *control, *input, *iopub, *heartbeat;
  char session[40];
  atomic_bool leaving, restart;
  atomic_bool busy; // true: a cell or a comm handler runs
  atomic_bool hurry; // true: output is not rate-limited, because no code runs or the code was stopped
  pthread_t main;
  // Only the thread main uses the following fields.
  nwh *host;
  int count; // number of executions
  const char *asks; // NULL: the running code may request input; otherwise the reason why it may not
  nwj_message *request; // the request being answered
};

// ---- the connection file (connection.c)

// Reads the connection file. If it is invalid, returns false, and `why` names the field, its value and the allowed
// values.
bool nwj_connection_read(const char *path, nwj_connection *out, char *why, size_t size);

// ---- sockets (sockets.c)
bool nwj_bind(nwj *k, char *why, size_t size); // makes and binds all sockets
void nwj_unbind(nwj *k);

// ---- messages (message.c)

void nwj_new_id(char out[40]);
// Receives a whole message. Returns false if there is none, or if the call was interrupted. Drops invalid, unsigned and
// repeated messages.
bool nwj_receive(nwj *k, void *socket, nwj_message *out);
void nwj_done(nwj_message *m); // frees a received message
void nwj_send_part(void *socket, const void *data, size_t size, bool more);
// Sends a message. The caller has already sent the identities of the receiver. `type` consists of letters and
// underscores. `parent` is the text of a header, or NULL. Takes ownership of `content`, and of `metadata`, which may be
// NULL. Returns the number of bytes of the message.
size_t nwj_send(const nwj *k, void *socket, const char *type, const char *parent, json_t *metadata, json_t *content);
// Sends an answer to the sender of m. Takes ownership of content.
void nwj_reply(nwj *k, void *socket, const nwj_message *m, const char *type, json_t *content);

// ---- texts (text.c)

// Returns a copy in which invalid UTF-8 is replaced by U+FFFD; heap. If `last` is false, an incomplete character at the
// end is left out. Sets *used to the number of bytes of `text` that were processed, and *size to the number of bytes of
// the result.
char *nwj_repaired(const char *text, size_t n, bool last, size_t *used, size_t *size);
json_t *nwj_text(const char *text); // a JSON string; NULL is treated as an empty text

// ---- published messages and output, for all threads (iopub.c)

bool nwj_iopub_start(nwj *k, pthread_t *thread); // redirects stdout and stderr to the thread
void nwj_iopub_stop(pthread_t thread); // closes the socket; call it when no thread publishes any more
// Publishes a message. Takes ownership of content. `parent` is the text of the request's header, or NULL.
void nwj_publish(const char *type, const char *parent, json_t *content);
// Delays a message until the next message is published, or until nwj_publish_held is called. Therefore a quick reply
// does not wait for this message. `type` must stay valid.
void nwj_publish_soon(const char *type, const char *parent, json_t *content);
void nwj_publish_held(void);
// Publishes a message after all text written so far, and before later text.
void nwj_publish_now(const char *type, const char *parent, json_t *metadata, json_t *content);
void nwj_status(const char *parent, const char *state);
// Publishes the text written so far, with its current parent. Text that is written later gets the parent `parent`.
void nwj_drain(const char *parent);
int nwj_log_fd(void); // the original stderr of the process
int64_t nwj_now_ms(void);

// ---- control and heartbeat (control.c)
bool nwj_control_start(nwj *k, pthread_t *control, pthread_t *heartbeat);
json_t *nwj_kernel_info(const nwj *k);

// ---- requests on the shell socket (shell.c)
void nwj_shell_run(nwj *k); // answers requests until the kernel must exit
void nwj_cell_publish(nwj *k, const char *type, json_t *metadata, json_t *content); // publishes for the running cell
void nwj_shell_hold(nwj *k); // receives all waiting requests; the cells among them will be aborted

void nwj_busy(nwj *k, bool busy); // while busy, Lua code may be interrupted, and its output is rate-limited

// ---- validity of requests (requests.c)
char *nwj_request_problem(const nwj_message *m); // the reason why the request is invalid; heap; NULL if it is valid
json_t *nwj_failure(const char *text); // the content of an error reply with this text

// ---- cells (execute.c)
void nwj_execute(nwj *k, nwj_message *m);

// ---- slow requests (watch.c)
bool nwj_watch_start(nwj *k);
void nwj_watch(bool on); // true: the main thread begins to answer a request; false: it has finished

// ---- input of a cell (input.c)
#define NWJ_NO_STDIN "this front end does not let a cell ask for input; give the value in the cell"
#define NWJ_NO_CELL "a control's function cannot ask for input; ask in a cell, or add a control"
// Asks the user for input and returns the answer; heap. On failure, returns NULL and sets *problem to the reason.
char *nwj_ask(nwj *k, const char *prompt, bool password, const char **problem);

// ---- history (history.c)
void nwj_history_open(void);
// Adds a cell. nwj_history_write writes it to the file later, so that a reply need not wait.
void nwj_history_add(int line, const char *source);
void nwj_history_write(void); // may be called by any thread
json_t *nwj_history_answer(const json_t *request);

// ---- the Lua module nestwright.front, and calls of the Lua library (library.c)
void nwj_library(nwj *k);
// Calls the function `name` of nestwright.notebook.notebook with `argument` as a JSON text. Returns its answer, or NULL
// on failure. Leaves no error on the stack.
json_t *nwj_call(nwj *k, const char *name, json_t *argument);
// Like nwj_call, with the value on top of the stack as second argument. Pops this value.
json_t *nwj_call_on_top(nwj *k, const char *name, json_t *argument);
// Pops n values from the stack and makes their display. Sets *shown to a reference to the display, or to LUA_REFNIL if
// there is nothing to show. If a value cannot be shown, leaves the error on top of the stack.
nwh_status nwj_show(nwj *k, int n, int *shown);
// Returns the display as {data, metadata}, or NULL if there is nothing to show. Call it only once for each display.
json_t *nwj_bundle(nwj *k, int shown);

// ---- installation (install.c)
int nwj_install(const char *program, int argc, char **argv);
