// The Jupyter kernel: what its threads share.
//
//   main      Lua; the shell socket, and stdin while a cell asks
//   control   interrupt and shutdown, also while a cell runs; watches whether the front end is still there
//   iopub     gathers what is written to stdout and stderr
//   heartbeat echoes
//   watch     tells that a request takes longer, and empties the buffer of stdout meanwhile
//
// One socket, one thread; but all of them send to the socket that everybody listens to, under its lock.
#pragma once
#include "wire.h"
#include "seen.h"
#include "lua/host/host.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define NWJ_PROTOCOL "5.4"

typedef struct nwj_connection { // the file that the front end wrote
  bool ipc; // else tcp
  char ip[256]; // ipc: how the paths begin
  int shell, control, iopub, input, heartbeat; // ports
  nwj_key key;
  char curve_secret[41]; // empty: no encryption
} nwj_connection;

typedef struct nwj nwj;
struct nwj {
  nwj_connection at;
  nwj_seen *seen; // messages that came, NULL: without a key they cannot be told apart
  void *zmq; // context
  void *shell, *control, *input, *iopub, *heartbeat;
  char session[40];
  atomic_bool leaving, restart;
  atomic_bool busy; // a cell runs
  atomic_bool hurry; // what is to go out waits for nothing: no cell runs, or it was stopped
  pthread_t main;
  // main only
  nwh *host;
  int count; // executions
  const char *asks; // NULL: what runs may ask the user; else why not
  nwj_message *request; // the one being answered
};

// ---- connection.c
// False for what cannot be honoured: `why` names the field, what it is and what is allowed.
bool nwj_connection_read(const char *path, nwj_connection *out, char *why, size_t size);

// ---- sockets.c
bool nwj_bind(nwj *k, char *why, size_t size); // makes and binds all sockets
void nwj_unbind(nwj *k);

// ---- message.c
void nwj_new_id(char out[40]);
// Receives a whole message; false when there is none, or the call was interrupted. What is no message, is not signed, or came before
// is dropped on the way.
bool nwj_receive(nwj *k, void *socket, nwj_message *out);
void nwj_done(nwj_message *m); // a message that was received is no longer needed
void nwj_send_part(void *socket, const void *data, size_t size, bool more);
// A message behind what says who it is for. type: letters and underscores; parent: text of a header, or NULL. metadata, which may be
// NULL, and content are given away. Bytes of the message.
size_t nwj_send(const nwj *k, void *socket, const char *type, const char *parent, json_t *metadata, json_t *content);
// Sends to whom m came from, as an answer to it. content is given away.
void nwj_reply(nwj *k, void *socket, const nwj_message *m, const char *type, json_t *content);

// ---- text.c
// What is no UTF-8 becomes U+FFFD. A character that is not whole yet stays behind, unless `last`. Heap; *used of n, *size of the answer.
char *nwj_repaired(const char *text, size_t n, bool last, size_t *used, size_t *size);
json_t *nwj_text(const char *text); // NULL is empty

// ---- iopub.c: for all threads
bool nwj_iopub_start(nwj *k, pthread_t *thread); // takes over stdout and stderr
void nwj_iopub_stop(pthread_t thread); // when no other thread publishes any more; closes the socket
// content is given away; parent: the text of the header of what it belongs to, or NULL.
void nwj_publish(const char *type, const char *parent, json_t *content);
// The same, before the next message or at nwj_publish_held. type must last. A reply to a quick request need not wait for it.
void nwj_publish_soon(const char *type, const char *parent, json_t *content);
void nwj_publish_held(void);
// As nwj_publish, after all that was written so far, and before what is written next.
void nwj_publish_now(const char *type, const char *parent, json_t *metadata, json_t *content);
void nwj_status(const char *parent, const char *state);
// What was written so far goes out with the parent it had; what comes from now on has this one.
void nwj_drain(const char *parent);
int nwj_log_fd(void); // where the process's own stderr went
int64_t nwj_now_ms(void);

// ---- control.c
bool nwj_control_start(nwj *k, pthread_t *control, pthread_t *heartbeat);
json_t *nwj_kernel_info(const nwj *k);

// ---- shell.c
void nwj_shell_run(nwj *k); // until the kernel is to leave
void nwj_cell_publish(nwj *k, const char *type, json_t *metadata, json_t *content); // for the cell that runs
void nwj_shell_hold(nwj *k); // requests that are there already: executions among them will be aborted

void nwj_busy(nwj *k, bool busy); // what Lua runs may be stopped, and what it writes is paced

// ---- requests.c
char *nwj_request_problem(const nwj_message *m); // why it cannot be answered; heap, NULL: nothing
json_t *nwj_failure(const char *text); // the content of a reply that says so

// ---- execute.c
void nwj_execute(nwj *k, nwj_message *m);

// ---- watch.c
bool nwj_watch_start(nwj *k);
void nwj_watch(bool on); // while main answers a request

// ---- input.c: what a cell asks the user
#define NWJ_NO_STDIN "this front end does not let a cell ask for input; give the value in the cell"
#define NWJ_NO_CELL "what a control calls cannot ask for input; ask in a cell, or add a control"
char *nwj_ask(nwj *k, const char *prompt, bool password, const char **problem); // heap; NULL: see problem

// ---- history.c
void nwj_history_open(void);
void nwj_history_add(int line, const char *source); // in the file at nwj_history_write, for which a reply need not wait
void nwj_history_write(void); // by any thread
json_t *nwj_history_answer(const json_t *request);

// ---- library.c: what Lua finds as nestwright.front
void nwj_library(nwj *k);
// Calls function `name` of nestwright.notebook with a JSON text; its answer, or NULL. Never leaves an error.
json_t *nwj_call(nwj *k, const char *name, json_t *argument);
// The same, with the value on top of the stack as second argument, popped.
json_t *nwj_call_on_top(nwj *k, const char *name, json_t *argument);
// How the n values on top of the stack, popped, are shown; LUA_REFNIL: not at all. Values that cannot be shown leave the error on
// top of the stack.
nwh_status nwj_show(nwj *k, int n, int *shown);
// The same as {data, metadata}; NULL: nothing to show. To be asked once.
json_t *nwj_bundle(nwj *k, int shown);

// ---- install.c
int nwj_install(const char *program, int argc, char **argv);
