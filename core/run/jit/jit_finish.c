// Optimises modules and generates their code. For a large program, this takes seconds. Another thread then does the
// work, so that this thread can report the progress.
#include "run/jit/jit.h"
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum {
  LARGE = 2000, // compiling at least this many estimated instructions may take a second
  STACK = 16 << 20, // bytes of the thread's stack; LLVM recurses deeply in large functions
  LOOK_MS = 100, // milliseconds between two reports
};

// LLVM's passes for each level. The schedule determines loops, vectors and registers, so LLVM only simplifies scalar
// code and keeps elements in registers. The passes early-cse and dse remove the loads and stores between the updates of
// an unrolled reduction, and licm those of a loop. After that, they remove the loads and stores before the loop, where
// an accumulator gets its first value. The last two pipelines are for comparison.
static const char *const pipelines[NWO_LEVELS] = {
    "function(sroa)",
    "function(sroa,early-cse<memssa>,dse,loop-mssa(licm),early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "dse,loop-reduce)",
    "default<O2>",
    "default<O3>",
};

static bool optimise(nwo_finish *x) {
  LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetLoopVectorization(o, x->opt >= 2);
  LLVMPassBuilderOptionsSetSLPVectorization(o, x->opt >= 2);
  LLVMErrorRef e =
      LLVMRunPasses(x->module, x->pipeline ? x->pipeline : pipelines[x->opt], nwo_machine(x->maker, x->opt), o);
  LLVMDisposePassBuilderOptions(o);
  return nwo_ok(e, "optimiser", x->error, x->n);
}

static bool generate(nwo_finish *x) {
  char *message = NULL;
  if (!LLVMTargetMachineEmitToMemoryBuffer(x->code, x->module, x->type, &message, &x->out)) return true;
  nwo_say(x->error, x->n, "code generator: %s", message);
  LLVMDisposeMessage(message);
  x->out = NULL;
  return false;
}

static void *finish(void *of) {
  nwo_finish *x = of;
  x->good = optimise(x) && (!x->code || generate(x));
  return NULL;
}

// Starts the thread. All signals are blocked in it, because the thread that waits must get the interrupts.
static bool start(pthread_t *thread, nwo_finish *x) {
  pthread_attr_t attr;
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, STACK);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = !pthread_create(thread, &attr, finish, x);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  return started;
}

static struct timespec now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t;
}

// Waits on the realtime clock, because ThreadSanitizer knows pthread_timedjoin_np and not pthread_clockjoin_np.
static bool ended(pthread_t thread) {
  struct timespec until = now(CLOCK_REALTIME);
  until.tv_nsec += LOOK_MS * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  return !pthread_timedjoin_np(thread, NULL, &until);
}

bool nwo_finished(const nw_exec *e, nwo_finish *x) {
  pthread_t thread;
  char what[96];
  struct timespec t = now(CLOCK_MONOTONIC);
  double since = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  if (e->instructions < LARGE || !start(&thread, x)) return finish(x), x->good;
  snprintf(what, sizeof what, "compiling %.64s", e->p->name ? e->p->name : "the program");
  while (!ended(thread)) nw_tell_progress(e->p->ctx, what, -1, since);
  nw_tell_progress(e->p->ctx, NULL, -1, 0);
  return x->good;
}
