// The back end that runs kernels on the simulated accelerator. What is wrong with the tokens is an error of the call.
#include "device/dae/dae.h"
#include "device/devices.h"
#include "run/kernel.h"
#include <stdlib.h>

static bool compile(nw_kernel *k, const nw_build_opts *o) {
  const nw_machine *m = &k->source->target->machine;
  k->opt = o->opt;
  k->threads = 1;
  if (!m->accelerator.nunits)
    return nw_fail(k->ctx, NW_ECODEGEN, "a record with units, queues and instructions, such as vdla, can be simulated",
                   "%s executes no stream of instructions", m->name);
  if (k->source->nsizes) return true; // each call has its own stream
  nw_acc *s = nw_acc_of(k->ctx, k->source, NULL);
  nw_acc_free(s);
  return s != NULL;
}

static char *text(nw_kernel *k, const char *view) {
  if (strcmp(view, "stream") || k->source->nsizes) return NULL;
  nw_acc *s = nw_acc_of(k->ctx, k->source, NULL);
  char *out = s ? nw_acc_text(s, 0) : NULL;
  nw_acc_free(s);
  return out;
}

static bool accepted(nw_kernel *k, nw_acc *s) {
  nw_acc_finding f;
  int n = nw_acc_check(s, &f, 1);
  if (n <= 0) return n == 0;
  char *sentence = nw_acc_finding_text(s, &f);
  nw_fail(k->ctx, NW_ERACE, "s:stream():check() returns all findings", "%s: %s", k->formals.callee, sentence);
  free(sentence);
  return false;
}

static bool call(nw_kernel *k) {
  nw_acc *s = nw_acc_of(k->ctx, k->source, k->sizes);
  if (!s) return false;
  int n = k->exec->p->nbuffers;
  nw_acc_opts o = {.values = true};
  nw_array **args = nw_xcalloc((size_t)n + 1, sizeof *args);
  for (int i = 0; i < n; i++)
    if (k->arg[i]) args[o.nargs++] = k->arg[i];
  o.args = args;
  nw_acc_report r;
  bool good = accepted(k, s) && nw_acc_run(s, &o, &r);
  if (good) nw_acc_report_free(&r);
  free(args);
  nw_acc_free(s);
  return good;
}

const nw_backend nwd_backend = {.name = "dae",
                                .doc = "a simulated accelerator, which executes a stream of instructions in time",
                                .compile = compile,
                                .text = text,
                                .call = call,
                                .begin = nw_device_begin,
                                .views = "lowered or stream",
                                .files = "s:stream():text() is the stream of instructions",
                                .untimed = "the simulated accelerator has a clock of its own",
                                .counts = "s:stream():run() counts its cycles, and s:cost() predicts them"};
