// Runs the kernel. A front end starts this program as nestwright-kernel -f CONNECTION_FILE.
#include "kernel.h"
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

static int usage(FILE *out, int status) {
  fputs("usage: nestwright-kernel -f CONNECTION_FILE\n"
        "       nestwright-kernel --install [--user | --sys-prefix | --prefix DIR]\n"
        "Jupyter front ends run the first form. The second form registers the kernel with Jupyter.\n",
        out);
  return status;
}

static void nothing(int sig) { (void)sig; }

// Blocks signals for the threads that are created next. Such a thread receives only signals of its own faults, such as
// SIGSEGV. The main thread receives all other signals.
static void only_main(sigset_t *before) {
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV);
  sigdelset(&all, SIGBUS);
  sigdelset(&all, SIGFPE);
  sigdelset(&all, SIGILL);
  sigdelset(&all, SIGABRT);
  pthread_sigmask(SIG_SETMASK, &all, before);
}

static bool start_threads(nwj *k, pthread_t thread[3]) {
  sigset_t before;
  only_main(&before);
  bool ok = nwj_iopub_start(k, &thread[0]) && nwj_control_start(k, &thread[1], &thread[2]) && nwj_watch_start(k);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ok;
}

static void take_signals(nwj *k) {
  struct sigaction wake = {.sa_handler = nothing};
  sigaction(SIGUSR1, &wake, NULL);
  signal(SIGPIPE, SIG_IGN);
  nwh_catch_interrupts(k->host, NULL);
}

// Connects standard input to /dev/null, because a cell must not read the kernel's standard input.
static void close_stdin(void) {
  int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) dup2(fd, STDIN_FILENO);
}

static int run(nwj *k) {
  pthread_t thread[3];
  k->main = pthread_self();
  take_signals(k);
  if (!start_threads(k, thread)) return EXIT_FAILURE;
  nwj_library(k);
  nwj_status(NULL, "starting");
  json_decref(nwj_call(k, "begin", json_object()));
  nwj_shell_run(k);
  nwj_drain(NULL);
  nwj_busy(k, false);
  zmq_ctx_shutdown(k->zmq);
  for (int i = 1; i < 3; i++) pthread_join(thread[i], NULL);
  nwj_iopub_stop(thread[0]);
  nwj_unbind(k);
  return EXIT_SUCCESS;
}

static int serve(const char *path) {
  static nwj k;
  char why[512] = "";
  if (sodium_init() < 0 || !nwj_connection_read(path, &k.at, why, sizeof why) || !nwj_bind(&k, why, sizeof why)) {
    fprintf(stderr, "nestwright-kernel: %s\n", why);
    return EXIT_FAILURE;
  }
  if (k.at.key.size && !(k.seen = nwj_seen_new())) return EXIT_FAILURE;
  nwj_new_id(k.session);
  close_stdin();
  k.host = nwh_open();
  if (!k.host) return EXIT_FAILURE;
  int status = run(&k);
  nwh_close(k.host);
  nwj_seen_free(k.seen);
  return status;
}

int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); // a write beyond the file size limit then fails with an error
  setlocale(LC_CTYPE, "C.UTF-8");
  if (argc == 3 && strcmp(argv[1], "-f") == 0) return serve(argv[2]);
  if (argc >= 2 && strcmp(argv[1], "--install") == 0) return nwj_install(argv[0], argc - 2, argv + 2);
  if (argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) return usage(stdout, EXIT_SUCCESS);
  return usage(stderr, 2);
}
