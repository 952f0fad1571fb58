// The JIT: compiles a module to an object, links the object into memory, and frees code that is no longer needed.
#include "run/jit/jit.h"
#include "codegen/llvm/llvm.h"
#include <elf.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>

void nwo_say(char *error, size_t n, const char *fmt, ...) {
  if (*error) return;
  va_list args;
  va_start(args, fmt);
  vsnprintf(error, n, fmt, args);
  va_end(args);
}

bool nwo_ok(LLVMErrorRef e, const char *what, char *error, size_t n) {
  if (!e) return true;
  char *m = LLVMGetErrorMessage(e);
  nwo_say(error, n, "%s: %s", what, m);
  LLVMDisposeErrorMessage(m);
  return false;
}

// Keeps LLVM's report of the cause of an error, because the caller gets only "failed to materialize". The report is not
// printed, because stderr belongs to the user.
static void on_report(void *jit, LLVMErrorRef e) {
  nw_jit *j = jit;
  nwo_ok(e, "JIT", j->report, sizeof j->report);
}

LLVMTargetMachineRef nwo_machine(nwo_maker *m, int opt) {
  LLVMTargetRef t;
  char *message = NULL;
  if (!m->machine[opt] && !LLVMGetTargetFromTriple(m->triple, &t, &message))
    m->machine[opt] = LLVMCreateTargetMachine(t, m->triple, m->cpu, m->features, (LLVMCodeGenOptLevel)opt, LLVMRelocPIC,
                                              LLVMCodeModelJITDefault);
  LLVMDisposeMessage(message);
  return m->machine[opt];
}

static nwo_maker *other_maker(nw_jit *j, const nw_target *t) {
  const nwc_isa *isa = nwc_isa_of(t);
  const char *cpu = *t->machine.cpu && strcmp(t->machine.cpu, "host") ? t->machine.cpu : isa->cpu;
  char sm[16];
  snprintf(sm, sizeof sm, "sm_%d", nwc_capability(t));
  if (t->machine.kind == NW_MACHINE_GPU) cpu = sm;
  char *features = nwc_features_text(t);
  nwo_maker *m = j->other;
  while (m && (strcmp(m->triple, isa->triple) || strcmp(m->cpu, cpu) || strcmp(m->features, features))) m = m->next;
  if (m) return free(features), m;
  isa->info();
  isa->target();
  isa->code();
  isa->printer();
  m = nw_xcalloc(1, sizeof *m);
  *m = (nwo_maker){j->other, nw_xstrdup(isa->triple), nw_xstrdup(cpu), features, {0}};
  return j->other = m;
}

nwo_maker *nwo_maker_of(nw_jit *j, const nw_target *t) { return nw_target_here(t) ? &j->host : other_maker(j, t); }

static void free_machines(nwo_maker *m) {
  for (int i = 0; i < NWO_LEVELS; i++)
    if (m->machine[i]) LLVMDisposeTargetMachine(m->machine[i]);
}

// ---- functions that generated code may call

typedef struct symbol {
  const char *name;
  void *address;
} symbol;

// On a CPU without F16C, LLVM calls these functions of the compiler's run-time library for f16. Only their addresses
// are used here.
void __extendhfsf2(void);
void __truncsfhf2(void);

static int runtime_symbols(symbol *out, int max) {
  int n = 0, rows;
  out[n++] = (symbol){NW_PARALLEL_SYMBOL, (void *)nw_parallel_for};
  out[n++] = (symbol){NW_CALLEE_BEGIN, (void *)nw_callee_begin};
  out[n++] = (symbol){NW_CALLEE_END, (void *)nw_callee_end};
  out[n++] = (symbol){"__extendhfsf2", (void *)__extendhfsf2};
  out[n++] = (symbol){"__truncsfhf2", (void *)__truncsfhf2};
  const nw_math_row *row = nw_math_rows(&rows);
  for (int i = 0; i < rows && n < max; i++) {
    bool known = !row[i].symbol || !row[i].address;
    for (int k = 0; k < n && !known; k++) known = !strcmp(out[k].name, row[i].symbol);
    if (!known) out[n++] = (symbol){row[i].symbol, row[i].address};
  }
  return n;
}

#define MAX_SYMBOLS 256

static bool define(nw_jit *j, int n, const symbol *s, char *error, size_t size) {
  LLVMOrcCSymbolMapPair pairs[MAX_SYMBOLS];
  for (int i = 0; i < n; i++) {
    pairs[i].Name = LLVMOrcLLJITMangleAndIntern(j->lljit, s[i].name);
    pairs[i].Sym.Address = (uintptr_t)s[i].address;
    pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
    pairs[i].Sym.Flags.TargetFlags = 0;
  }
  LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, (size_t)n);
  LLVMErrorRef e = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(j->lljit), unit);
  if (e) LLVMOrcDisposeMaterializationUnit(unit);
  return nwo_ok(e, "runtime symbols", error, size);
}

static bool define_runtime(nw_jit *j, char *error, size_t size) {
  symbol s[MAX_SYMBOLS];
  int n = runtime_symbols(s, MAX_SYMBOLS);
  return define(j, n, s, error, size);
}

// ---- other allowed calls (the intrinsics of the program, which were tested when they were registered)

typedef struct defining {
  nw_jit *j;
  nw_ctx *ctx;
  char *error;
  size_t size;
} defining;

static bool is_callee(const nw_jit *j, const char *name) {
  for (int i = 0; i < j->callees.n; i++)
    if (!strcmp(j->callees.at[i], name)) return true;
  return false;
}

// Defines the symbol of a callee if s is a call. The symbol contains every stride, so it always stands for the same
// function. Returns false, with an error text, on failure.
static bool define_callee(void *env, nw_stmt *s) {
  defining *d = env;
  nw_callee callee;
  if (s->kind != NW_CALL) return true;
  const nw_intrinsic *in = nw_intrinsic_find(d->ctx, s->call.intrinsic);
  if (in && (in->shuffles || in->instruction)) return true; // no function is called
  if (!nw_callee_of(d->ctx, s, &callee)) {
    nwo_say(d->error, d->size, "%s", nw_error(d->ctx)->message);
    return false;
  }
  if (is_callee(d->j, callee.name)) return true;
  symbol one = {callee.name, callee.address};
  if (!define(d->j, 1, &one, d->error, d->size)) return false;
  nw_vec_push(&d->j->callees, nw_xstrdup(callee.name));
  return true;
}

static bool define_callees(nw_jit *j, const nw_exec *e, char *error, size_t size) {
  defining d = {j, e->p->ctx, error, size};
  return nw_walk_from(e->p->root, define_callee, &d);
}

// True if the module calls only allowed functions. LLJIT itself would accept calls of any function of the process.
static bool calls_allowed(const nw_jit *j, LLVMModuleRef m, char *error, size_t size) {
  symbol s[MAX_SYMBOLS];
  int n = runtime_symbols(s, MAX_SYMBOLS);
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
    size_t len;
    const char *name = LLVMGetValueName2(f, &len);
    if (!LLVMIsDeclaration(f) || LLVMGetIntrinsicID(f)) continue;
    int i = 0;
    while (i < n && strcmp(s[i].name, name)) i++;
    if (i < n || is_callee(j, name)) continue;
    nwo_say(error, size, "generated code must not call '%s'", name);
    return false;
  }
  return true;
}

// ---- opening and closing

static void jit_close(nw_jit *j) {
  char ignored[64] = "";
  for (nw_machine_code *m = j->live; m; m = m->next) m->jit = NULL;
  if (j->lljit) nwo_ok(LLVMOrcDisposeLLJIT(j->lljit), "close", ignored, sizeof ignored);
  free_machines(&j->host);
  for (nwo_maker *m = j->other, *next; m; m = next) {
    next = m->next;
    free_machines(m);
    free(m->triple);
    free(m->cpu);
    free(m->features);
    free(m);
  }
  nwo_cache_free(&j->cache);
  for (int i = 0; i < j->callees.n; i++) free(j->callees.at[i]);
  nw_vec_free(&j->callees);
  LLVMDisposeMessage(j->host.triple);
  LLVMDisposeMessage(j->host.cpu);
  LLVMDisposeMessage(j->host.features);
  free(j);
}

// Makes LLVM align innermost loops to 64 bytes, because a short loop that crosses into a second line of 64 bytes runs
// at half the speed. LLVM accepts this only as a command-line option, and only once.
static void align_loops(void) {
#if defined __x86_64__
  const char *const options[] = {"nestwright", "-x86-experimental-pref-innermost-loop-alignment=6"};
  LLVMParseCommandLineOptions(NW_COUNT(options), options, NULL);
#endif
}

// Initializes the global state of LLVM.
static void start_llvm(void) {
  align_loops();
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  LLVMInitializeNativeAsmParser(); // for code with clocks, which are inline assembly
}

static nw_jit *jit_open(char *error, size_t n) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  *error = 0;
  pthread_once(&once, start_llvm);
  nw_jit *j = nw_xcalloc(1, sizeof *j);
  j->host.triple = LLVMGetDefaultTargetTriple();
  j->host.cpu = LLVMGetHostCPUName();
  j->host.features = LLVMGetHostCPUFeatures();
  if (!nwo_ok(LLVMOrcCreateLLJIT(&j->lljit, NULL), "cannot start the JIT", error, n)) {
    j->lljit = NULL;
    jit_close(j);
    return NULL;
  }
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(j->lljit), on_report, j);
  if (define_runtime(j, error, n)) return j;
  jit_close(j);
  return NULL;
}

// ---- compiling

bool nwo_verified(LLVMModuleRef m, char *error, size_t n) {
  char *message = NULL;
  bool bad = LLVMVerifyModule(m, LLVMReturnStatusAction, &message);
  if (bad) nwo_say(error, n, "LLVM does not accept the module: %s", message);
  LLVMDisposeMessage(message);
  return !bad;
}

LLVMModuleRef nwo_module(nw_jit *j, LLVMContextRef lc, const nw_exec *e, int opt, const char *name, char *error,
                         size_t n) {
  nwo_maker *maker = nwo_maker_of(j, e->p->target);
  LLVMTargetMachineRef tm = nwo_machine(maker, opt);
  if (!tm) return nwo_say(error, n, "no code generator for %s", maker->triple), NULL;
  LLVMModuleRef m = nwc_module(lc, e, name, maker->cpu, maker->features, error, n);
  if (!m) return NULL;
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
  LLVMSetTarget(m, maker->triple);
  LLVMSetModuleDataLayout(m, layout);
  LLVMDisposeTargetData(layout);
  if (calls_allowed(j, m, error, n) && nwo_verified(m, error, n)) return m;
  LLVMDisposeModule(m);
  return NULL;
}

static LLVMMemoryBufferRef compile_object(nw_jit *j, const nw_exec *e, int opt, const char *name, char *error,
                                          size_t n) {
  LLVMContextRef lc = LLVMContextCreate();
  nwo_finish x = {&j->host, opt, nwo_module(j, lc, e, opt, name, error, n), .error = error, .n = n};
  x.code = nwo_machine(x.maker, opt);
  x.type = LLVMObjectFile;
  if (x.module) {
    nwo_finished(e, &x);
    LLVMDisposeModule(x.module);
  }
  LLVMContextDispose(lc);
  return x.out;
}

// Links an object into memory, and takes ownership of the object. Returns NULL, with an error text, on failure.
static nw_machine_code *link_object(nw_jit *j, LLVMMemoryBufferRef object, const char *name, char *error, size_t n) {
  LLVMOrcResourceTrackerRef rt = LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(j->lljit));
  LLVMOrcExecutorAddress at = 0;
  *j->report = 0;
  bool good = nwo_ok(LLVMOrcLLJITAddObjectFileWithRT(j->lljit, rt, object), "object", error, n);
  if (good) {
    LLVMErrorRef e = LLVMOrcLLJITLookup(j->lljit, &at, name);
    if (e && *j->report) nwo_say(error, n, "%s", j->report);
    good = nwo_ok(e, "link", error, n);
  }
  if (!good) {
    LLVMConsumeError(LLVMOrcResourceTrackerRemove(rt));
    LLVMOrcReleaseResourceTracker(rt);
    return NULL;
  }
  nw_machine_code *m = nw_xcalloc(1, sizeof *m);
  *m = (nw_machine_code){.jit = j, .refs = 1, .tracker = rt, .entry = (nw_entry)(uintptr_t)at, .next = j->live};
  j->live = m;
  return m;
}

static nw_machine_code *already(nw_jit *j, nwo_key key) {
  for (nw_machine_code *m = j->live; m; m = m->next)
    if (m->key.a == key.a && m->key.b == key.b) {
      m->refs++;
      return m;
    }
  return NULL;
}

// Returns the number of bytes in the executable sections of an object file, or 0 if `object` is not an object file.
static size_t code_bytes(const char *object, size_t n) {
  Elf64_Ehdr head;
  size_t bytes = 0;
  if (n < sizeof head) return 0;
  memcpy(&head, object, sizeof head);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_shoff > n ||
      (n - head.e_shoff) / sizeof(Elf64_Shdr) < head.e_shnum)
    return 0;
  for (int i = 0; i < head.e_shnum; i++) {
    Elf64_Shdr section;
    memcpy(&section, object + head.e_shoff + (size_t)i * sizeof section, sizeof section);
    if (section.sh_flags & SHF_EXECINSTR) bytes += section.sh_size;
  }
  return bytes;
}

// Links an object like link_object, and counts the bytes of its code.
static nw_machine_code *link_counted(nw_jit *j, LLVMMemoryBufferRef object, const char *name, char *error, size_t n) {
  size_t bytes = code_bytes(LLVMGetBufferStart(object), LLVMGetBufferSize(object));
  nw_machine_code *m = link_object(j, object, name, error, n);
  if (m) m->bytes = bytes;
  return m;
}

// Links an object from the cache. Returns NULL if the object is missing, or if it does not link. An object that does
// not link is removed from the cache.
static nw_machine_code *link_cached(nw_jit *j, nwo_key key, const char *name) {
  char ignored[64] = "";
  LLVMMemoryBufferRef object = nwo_cache_get(&j->cache, key);
  nw_machine_code *m = object ? link_counted(j, object, name, ignored, sizeof ignored) : NULL;
  if (object && !m) nwo_cache_drop(&j->cache, key);
  return m;
}

static nw_machine_code *jit_compile(nw_jit *j, const nw_exec *e, int opt, bool *cached, char *error, size_t n) {
  opt = opt < 0 ? 0 : opt >= NWO_LEVELS ? NWO_LEVELS - 1 : opt;
  *error = 0;
  char name[64];
  nwo_key key = nwo_key_of(j, e, opt);
  bool keep = *cached;
  if (!keep) key.b += ++j->serial; // a unique key
  nw_machine_code *m = already(j, key);
  if (m) return m;
  snprintf(name, sizeof name, "nw_%016lx%016lx", (unsigned long)key.a, (unsigned long)key.b);
  if (!define_callees(j, e, error, n)) return NULL;
  m = keep ? link_cached(j, key, name) : NULL;
  *cached = m != NULL;
  if (!m) {
    LLVMMemoryBufferRef object = compile_object(j, e, opt, name, error, n);
    if (!object) return NULL;
    if (keep) nwo_cache_put(&j->cache, key, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    m = link_counted(j, object, name, error, n);
  }
  if (!m) return NULL;
  m->key = key;
  m->opt = opt;
  m->exec = nw_exec_retain((nw_exec *)e);
  return m;
}

static size_t jit_bytes(const nw_machine_code *m) { return m->bytes; }

static nw_entry jit_entry(const nw_machine_code *m) { return m->entry; }

// Releases one reference to the code. The last reference frees the code. If the JIT was closed before, the code was
// freed then.
static void jit_free(nw_machine_code *m) {
  if (!m || --m->refs) return;
  if (m->jit) {
    char ignored[64] = "";
    nw_machine_code **at = &m->jit->live;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    nwo_ok(LLVMOrcResourceTrackerRemove(m->tracker), "free", ignored, sizeof ignored);
    LLVMOrcReleaseResourceTracker(m->tracker);
  }
  nw_exec_release(m->exec);
  free(m);
}

static const char *jit_cpu(nw_jit *j, const nw_target *t) { return (t ? nwo_maker_of(j, t) : &j->host)->cpu; }

const nw_jit_api *nw_jit_entry(void);

const nw_jit_api *nw_jit_entry(void) {
  static const nw_jit_api api = {jit_open,        jit_close, jit_compile, jit_entry, nwo_text,
                                 nwo_object_file, jit_bytes, jit_free,    jit_cpu,   nwo_device_text};
  return &api;
}
