// Makes a crash or an interrupt in native code end only the call, not the process.
//
// Each thread sets its own jump point when it enters native code. If native code crashes, a signal handler records the
// crash, notifies the other threads of the team, and jumps to the jump point. The handler has an alternate stack, so it
// also handles a stack overflow. An interrupt notifies the whole team. A thread is notified by a real-time signal. If
// the thread is in native code, it jumps to its jump point. If it is in the runtime, it jumps when it returns to native
// code. Handlers jump only out of native code, which holds no lock and owns no memory. Any other crash is passed to the
// previous handler.
#include "run/guard.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TELL (SIGRTMIN + 5)
#define ALT_STACK (64 << 10)
#define MAX_CALLS 16

// The state of a thread, which the signal handlers read.
typedef struct seat {
  sigjmp_buf *point;
  nw_call *call;
  int tid; // 0 if this thread is not prepared for native code
  volatile sig_atomic_t inside;
} seat;

// With this TLS model, a handler can read the variable without allocating memory, even if the library was loaded after
// the process had started.
static __thread seat here __attribute__((tls_model("initial-exec")));
static nw_call calls[MAX_CALLS];
static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static struct sigaction before[NW_COUNT(crash_signals)];

static void tell(int tid) {
  if (tid) syscall(SYS_tgkill, getpid(), tid, TELL);
}

static void tell_team(nw_call *call, int but) {
  for (int i = NW_MAX_TEAM - 1; i >= 0; i--) {
    int tid = atomic_load(&call->member[i]);
    if (tid != but) tell(tid);
  }
}

// Jumps out of native code. A jump does not restore the signal mask, so the signals that the handler blocks are
// unblocked first.
static void jump(void) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, TELL);
  for (int i = 0; i < NW_COUNT(crash_signals); i++) sigaddset(&s, crash_signals[i]);
  here.inside = 0;
  pthread_sigmask(SIG_UNBLOCK, &s, NULL);
  siglongjmp(*here.point, 1);
}

// Values of `inside`: the thread runs native code, or a callee of native code. The value is 0 in the runtime. A callee
// may hold a lock, so an interrupt waits until the callee returns. A crash in a callee cannot wait, so its handler
// jumps at once.
enum { NATIVE = 1, CALLEE = 2 };

static void on_tell(int sig) {
  (void)sig;
  if (here.inside == NATIVE && atomic_load(&here.call->stop)) jump();
}

static void on_crash(int sig, siginfo_t *info, void *context) {
  (void)context;
  if (!here.inside) {
    for (int i = 0; i < NW_COUNT(crash_signals); i++)
      if (crash_signals[i] == sig) sigaction(sig, &before[i], NULL);
    return; // the instruction runs again, under the old handler
  }
  nw_call *call = here.call;
  int none = 0;
  if (atomic_compare_exchange_strong(&call->signal, &none, sig)) atomic_store(&call->address, info->si_addr);
  atomic_store(&call->stop, true);
  tell_team(call, here.tid);
  jump();
}

static void install(void) {
  struct sigaction crash = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK},
                   told = {.sa_handler = on_tell};
  for (int i = 0; i < NW_COUNT(crash_signals); i++) {
    struct sigaction old;
    sigaction(crash_signals[i], &crash, &old);
    if (old.sa_sigaction != on_crash) before[i] = old;
  }
  told.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaction(TELL, &told, NULL);
}

// Installs the handlers if they are not installed. Each guarded call calls this function, because other code in the
// process may have replaced the handlers.
void nw_guard_install(nw_ctx *c) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct sigaction now;
  (void)c;
  if (!sigaction(SIGSEGV, NULL, &now) && now.sa_sigaction == on_crash) return;
  pthread_mutex_lock(&lock);
  install();
  pthread_mutex_unlock(&lock);
}

static pthread_key_t stack_key;

static void free_stack(void *p) {
  stack_t off = {.ss_flags = SS_DISABLE};
  sigaltstack(&off, NULL);
  munmap(p, ALT_STACK);
}

static void make_key(void) { pthread_key_create(&stack_key, free_stack); }

static void alternate_stack(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_key);
  stack_t old;
  if (!sigaltstack(NULL, &old) && !(old.ss_flags & SS_DISABLE)) return;
  void *p = mmap(NULL, ALT_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return;
  stack_t s = {.ss_sp = p, .ss_size = ALT_STACK};
  sigaltstack(&s, NULL);
  pthread_setspecific(stack_key, p);
}

// Blocks the signals that the user may send, such as SIGINT, in the calling thread, so that only the main thread
// receives them. Stores the old signal mask in *old if old is not NULL.
void nw_guard_block_user(sigset_t *old) {
  static const int user[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2};
  sigset_t s;
  sigemptyset(&s);
  for (int i = 0; i < NW_COUNT(user); i++) sigaddset(&s, user[i]);
  pthread_sigmask(SIG_BLOCK, &s, old);
}

void nw_guard_seat(bool worker) {
  if (here.tid) return;
  alternate_stack();
  if (worker) nw_guard_block_user(NULL);
  here.tid = (int)syscall(SYS_gettid);
}

static void enter(nw_call *call, sigjmp_buf *point) {
  here.point = point;
  here.call = call;
  atomic_signal_fence(memory_order_seq_cst);
  here.inside = NATIVE;
  atomic_thread_fence(memory_order_seq_cst);
}

static void leave(sigjmp_buf *outer) {
  here.inside = 0;
  atomic_signal_fence(memory_order_seq_cst);
  here.point = outer;
}

bool nw_guard_run(nw_call *call, int m, void (*fn)(void *arg), void *arg) {
  sigjmp_buf point, *const outer = here.point;
  atomic_store(&call->member[m], here.tid);
  if (sigsetjmp(point, 0)) {
    leave(outer);
    return false;
  }
  enter(call, &point);
  bool go = !atomic_load(&call->stop);
  if (go) fn(arg);
  leave(outer);
  return go;
}

void nw_guard_out(nw_call *call) {
  (void)call;
  here.inside = 0;
  atomic_signal_fence(memory_order_seq_cst);
}

void nw_guard_back(nw_call *call) {
  enter(call, here.point);
  if (atomic_load(&call->stop)) jump();
}

void nw_callee_begin(void) {
  if (!here.inside) return;
  here.inside = CALLEE;
  atomic_signal_fence(memory_order_seq_cst);
}

void nw_callee_end(void) {
  if (!here.inside) return;
  here.inside = NATIVE;
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load(&here.call->stop)) jump();
}

static nw_call *new_call(void) {
  for (int i = 0; i < MAX_CALLS; i++) {
    bool no = false;
    nw_call *call = &calls[i];
    if (!atomic_compare_exchange_strong(&call->used, &no, true)) continue;
    atomic_store(&call->stop, false);
    atomic_store(&call->signal, 0);
    return call;
  }
  return NULL;
}

static void end_call(nw_call *call, int threads) {
  for (int i = 0; i < threads; i++) atomic_store(&call->member[i], 0);
  atomic_store(&call->used, false);
}

// Stops all calls. Returns true if there was a call. The main thread calls this function in its SIGINT handler. The
// jump must not happen before that handler has returned. So the signal that causes the jump is blocked until then.
bool nw_guard_interrupt(void) {
  int saved = errno;
  bool any = false;
  for (int i = 0; i < MAX_CALLS; i++) {
    nw_call *call = &calls[i];
    if (!atomic_load(&call->used)) continue;
    any = true;
    atomic_store(&call->stop, true);
    if (here.tid && here.tid == atomic_load(&call->member[0])) {
      sigset_t s;
      sigemptyset(&s);
      sigaddset(&s, TELL);
      pthread_sigmask(SIG_BLOCK, &s, NULL);
    }
    tell_team(call, 0);
  }
  errno = saved;
  return any;
}

static bool outcome(nw_ctx *c, const nw_call *call, const char *name) {
  int sig = atomic_load(&call->signal);
  if (!sig && !atomic_load(&call->stop)) return true;
  if (!sig) return nw_fail(c, NW_EINTERRUPT, NULL, "interrupted while %s was running", name);
  bool access = sig == SIGSEGV || sig == SIGBUS;
  nw_fail(c, NW_ECRASH, "the session continues; the tensors that the kernel was writing are incomplete",
          access ? "%s crashed: %s (%s at %p)" : "%s crashed: %s (%s)", name, strsignal(sig), sigabbrev_np(sig),
          atomic_load(&call->address));
  return false;
}

typedef struct start {
  nw_entry entry;
  nw_frame *frame;
} start;

static void run_entry(void *arg) {
  const start *s = arg;
  s->entry(s->frame);
}

// A thread that waits for the end of a call, and stops the call if the call takes too long.
typedef struct watch {
  nw_call *call;
  double seconds;
  bool late; // true if the call was stopped; it is read after the thread has ended
  sem_t done;
  pthread_t thread;
} watch;

static void *wait_for_end(void *arg) {
  watch *w = arg;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  double whole = floor(w->seconds);
  t.tv_sec += (time_t)whole;
  t.tv_nsec += (long)((w->seconds - whole) * 1e9);
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  int r;
  while ((r = sem_clockwait(&w->done, CLOCK_MONOTONIC, &t)) && errno == EINTR) {}
  if (!r) return NULL;
  w->late = true;
  atomic_store(&w->call->stop, true);
  tell_team(w->call, 0);
  return NULL;
}

static bool begin_watch(watch *w) {
  sigset_t old;
  sem_init(&w->done, 0, 0);
  nw_guard_block_user(&old);
  bool good = !pthread_create(&w->thread, NULL, wait_for_end, w);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return good;
}

static bool end_watch(watch *w) {
  sem_post(&w->done);
  pthread_join(w->thread, NULL);
  sem_destroy(&w->done);
  return w->late;
}

static bool guarded(nw_ctx *c, nw_entry entry, nw_frame *f, double seconds) {
  if (nw_stopped(c)) return false;
  nw_guard_install(c);
  nw_guard_seat(false);
  if (f->threads > 1 && !nw_team_prepare(f->threads)) {
    char why[160];
    nw_say_limit(why, sizeof why);
    return nw_fail(c, NW_EMEMORY, "give fewer threads", "the system cannot start %d threads: %s", f->threads, why);
  }
  nw_call *call = new_call();
  if (!call) return nw_fail(c, NW_ELIMIT, NULL, "more than %d kernels are running", MAX_CALLS);
  start s = {entry, f};
  f->runtime = call;
  watch w = {.call = call, .seconds = seconds};
  bool watched = seconds > 0 && begin_watch(&w);
  nw_guard_run(call, 0, run_entry, &s);
  bool late = watched && end_watch(&w);
  f->runtime = NULL;
  const char *name = f->name ? f->name : "the kernel";
  bool good = !late && outcome(c, call, name);
  if (late) nw_fail(c, NW_ELIMIT, NULL, "%s was stopped after %g s", name, seconds);
  end_call(call, f->threads);
  return good;
}

bool nw_guarded_call(nw_ctx *c, nw_entry entry, nw_frame *f) { return guarded(c, entry, f, 0); }

bool nw_guarded_call_within(nw_ctx *c, nw_entry entry, nw_frame *f, double seconds) {
  return guarded(c, entry, f, seconds);
}
