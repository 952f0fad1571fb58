// Runs the control and heartbeat threads.
#include "kernel.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

enum { LOOK_MS = 1000 }; // milliseconds between two checks whether the front end still exists

json_t *nwj_kernel_info(const nwj *k) {
  (void)k;
  return json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s, s:s}, s:s, s:b, s:[], s:[{s:s, s:s}]}", "status",
                   "ok", "protocol_version", NWJ_PROTOCOL, "implementation", "nestwright", "implementation_version",
                   nw_version(), "language_info", "name", "lua", "version", LUA_VERSION_MAJOR "." LUA_VERSION_MINOR,
                   "mimetype", "text/x-lua", "file_extension", ".lua", "pygments_lexer", "lua", "codemirror_mode",
                   "lua", "banner", "Nestwright: a workbench for loop nests. nw.help() gives an overview.", "debugger",
                   0, "supported_features", "help_links", "text", "Nestwright", "url",
                   "https://www.lua.org/manual/5.4/");
}

// Sends SIGINT to this process. If this process leads its own process group, sends SIGINT to the whole group, so that
// programs started by a cell get it too.
static void interrupt(nwj *k) {
  if (getpgrp() == getpid())
    kill(0, SIGINT);
  else
    pthread_kill(k->main, SIGINT);
}

static void leave(nwj *k, bool restart) {
  k->restart = restart;
  k->leaving = k->hurry = true;
  if (k->busy) interrupt(k);
  pthread_kill(k->main, SIGUSR1); // interrupts the poll of the main thread
}

static void shutdown(nwj *k, nwj_message *m) {
  bool restart = nwj_flag(m->content, "restart", false);
  nwj_publish("shutdown_reply", m->header_text, json_pack("{s:s, s:b}", "status", "ok", "restart", restart));
  nwj_reply(k, k->control, m, "shutdown_reply", json_pack("{s:s, s:b}", "status", "ok", "restart", restart));
  nwj_status(m->header_text, "idle");
  leave(k, restart);
}

static void answer(nwj *k, nwj_message *m) {
  nwj_status(m->header_text, "busy");
  if (strcmp(m->type, "kernel_info_request") == 0) {
    nwj_reply(k, k->control, m, "kernel_info_reply", nwj_kernel_info(k));
  } else if (strcmp(m->type, "interrupt_request") == 0) {
    interrupt(k);
    nwj_reply(k, k->control, m, "interrupt_reply", json_pack("{s:s}", "status", "ok"));
  } else if (strcmp(m->type, "shutdown_request") == 0) {
    char *problem = nwj_request_problem(m);
    if (!problem) return shutdown(k, m);
    nwj_reply(k, k->control, m, "shutdown_reply", nwj_failure(problem));
    free(problem);
  }
  nwj_status(m->header_text, "idle");
}

static void *control(void *arg) {
  nwj *k = arg;
  pid_t parent = getppid();
  for (;;) {
    zmq_pollitem_t item = {k->control, 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, LOOK_MS) < 0 && zmq_errno() == ETERM) break;
    nwj_message m;
    while (nwj_receive(k, k->control, &m)) {
      answer(k, &m);
      nwj_done(&m);
    }
    if (parent > 1 && getppid() != parent && !k->leaving) leave(k, false); // the parent process has ended
  }
  zmq_close(k->control);
  return NULL;
}

static void *heartbeat(void *arg) {
  nwj *k = arg;
  zmq_proxy(k->heartbeat, k->heartbeat, NULL);
  zmq_close(k->heartbeat);
  return NULL;
}

bool nwj_control_start(nwj *k, pthread_t *control_thread, pthread_t *heartbeat_thread) {
  return pthread_create(control_thread, NULL, control, k) == 0 &&
         pthread_create(heartbeat_thread, NULL, heartbeat, k) == 0;
}
