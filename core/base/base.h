// Declares the base of the core: memory, strings, vectors, the context of a session and its diagnostics.
//
// Memory is freed in bulk, never node by node. Each arena belongs to a program, a pool of expressions or a session, and
// is freed together with its owner. If a small request for memory fails, the current call is abandoned: control jumps
// back to the caller of the library (recovery.c). So the code does not check for NULL.
#pragma once
#include "nestwright/nestwright.h"
#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NW_COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define NW_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

// ---- arena
typedef struct nw_arena nw_arena;
nw_arena *nw_arena_new(void);
void nw_arena_free(nw_arena *a);
void *nw_arena_alloc(nw_arena *a, size_t bytes); // zeroed, aligned to 16 bytes
size_t nw_arena_bytes(const nw_arena *a); // bytes obtained from the system
// nw_arena_scratch returns an arena that is freed if the current call is abandoned. nw_arena_keep is called when the
// arena gets an owner that outlives the call. After that, abandoning the call no longer frees the arena.
nw_arena *nw_arena_scratch(void);
void nw_arena_keep(nw_arena *a);
char *nw_arena_strndup(nw_arena *a, const char *s, size_t n);
char *nw_arena_strdup(nw_arena *a, const char *s);
char *nw_arena_printf(nw_arena *a, const char *fmt, ...) NW_PRINTF(2, 3);
#define NW_NEW(arena, type) ((type *)nw_arena_alloc((arena), sizeof(type)))
#define NW_NEW_N(arena, type, n) ((type *)nw_arena_alloc((arena), (size_t)(n) * sizeof(type)))

// Small allocations on the heap. They never return NULL: if there is no memory, the call is abandoned.
NW_API void *nw_xmalloc(size_t bytes);
NW_API void *nw_xcalloc(size_t n, size_t bytes);
NW_API void *nw_xrealloc(void *p, size_t bytes);
NW_API char *nw_xstrdup(const char *s);

// ---- memory whose size the user chooses (memory.c)
//
// Allocates `n` zeroed elements of `each` bytes. The argument `what` describes them in messages ("the trace"). On
// failure returns NULL and leaves an NW_EMEMORY diagnostic with the size and the exceeded limit. nw_let_go frees the
// memory. The memory is also freed if the call that requested it is abandoned.
void *nw_ask(nw_ctx *c, const char *what, uint64_t n, uint64_t each);
// Resizes memory from nw_ask to `n` elements of `each` bytes. New elements are not initialized. On failure returns
// NULL, leaves an NW_EMEMORY diagnostic and leaves the memory unchanged.
void *nw_ask_more(nw_ctx *c, const char *what, void *p, uint64_t n, uint64_t each);
void nw_let_go(void *p);
// Like nw_ask and nw_ask_more, but if there is no memory, these functions abandon the call. They are for code that
// cannot return a failure.
void *nw_xask(uint64_t n, uint64_t each);
void *nw_xask_more(void *p, uint64_t n, uint64_t each);
void *nw_no_memory(nw_ctx *c, const char *what, uint64_t bytes); // leaves an NW_EMEMORY diagnostic; returns NULL
// True if `bytes` bytes of memory can be mapped now. Otherwise returns false and leaves an NW_EMEMORY diagnostic.
// Called before external code, such as LLVM, that ends the process if one of its own allocations fails.
bool nw_room_for(nw_ctx *c, const char *what, uint64_t bytes);
// Requests of at least this many bytes are checked against the remaining memory. For a smaller request, the check would
// take longer than the allocation.
enum { NW_ASK_FROM = 64 << 20 };

// ---- abandoning a call (recovery.c)
//
// Jumps to the recovery point that this thread opened last (nw_recovery_open). If there is none, ends the process.
_Noreturn void nw_give_up(nw_code code, const char *hint, const char *fmt, ...) NW_PRINTF(3, 4);
_Noreturn void nw_out_of_memory(uint64_t bytes); // a request of that many bytes failed
NW_API _Noreturn void nw_broken(const char *what, const char *file, int line);
// Prints the description of the current work (nw_work_on) to stderr and ends the process.
NW_API _Noreturn void nw_broken_in_test(const char *what, const char *file, int line);
// Sets the description of the current work of this thread, and returns the previous description. `print` is NULL if
// there is no work.
typedef struct nw_work {
  void (*print)(FILE *out, const void *of);
  const void *of;
} nw_work;
nw_work nw_work_on(nw_work now);
// An entry in the list of objects that are released if the current call is abandoned. The code that makes such an
// object adds it to the list, and removes it from the list when it is freed or gets an owner.
typedef struct nw_scratch {
  struct nw_scratch *before, *after;
  uint64_t number; // 0 if this entry is not in a list
  void (*release)(struct nw_scratch *s);
} nw_scratch;
void nw_scratch_add(nw_scratch *s, void (*release)(nw_scratch *s));
void nw_scratch_remove(nw_scratch *s);
// Asserts an internal condition. If it does not hold, a build for tests prints a description of the current work and
// ends the process. Any other build abandons the call and reports a bug in the library.
#ifdef NW_MUTANTS
#define NW_MUST(holds) ((holds) ? (void)0 : nw_broken_in_test(#holds, __FILE__, __LINE__))
#else
#define NW_MUST(holds) ((holds) ? (void)0 : nw_broken(#holds, __FILE__, __LINE__))
#endif
bool nw_refuses_memory(void); // true if a test wants this request to fail

// ---- growing string (heap); NUL-terminated after the first addition
typedef struct nw_str {
  char *s;
  size_t n, cap;
} nw_str;
NW_API void nw_str_add(nw_str *b, const char *s);
NW_API void nw_str_addn(nw_str *b, const char *s, size_t n);
NW_API void nw_str_fmt(nw_str *b, const char *fmt, ...) NW_PRINTF(2, 3);
void nw_str_vfmt(nw_str *b, const char *fmt, va_list args);
void nw_str_indent(nw_str *b, int spaces);
NW_API char *nw_str_take(nw_str *b); // the heap string (never NULL); b is empty afterwards
NW_API void nw_str_free(nw_str *b);

// ---- vector of pointers (heap)
typedef struct nw_vec {
  void **at;
  int n, cap;
} nw_vec;
NW_API void nw_vec_push(nw_vec *v, void *p);
void nw_vec_insert(nw_vec *v, int pos, void *p);
void nw_vec_remove(nw_vec *v, int pos);
NW_API void nw_vec_free(nw_vec *v);

// ---- hashing
//
// The hash uses the high half of a 128-bit product, which depends on all input bits. The low half alone had so many
// collisions that interning took quadratic time.
NW_API uint64_t nw_hash_mix(uint64_t h, uint64_t x);
NW_API uint64_t nw_hash_bytes(const void *p, size_t n);
// Returns the next random number of the generator SplitMix64 (Steele, Lea, Flood 2014). *state may start as any number.
uint64_t nw_draw(uint64_t *state);

// Makes a directory and its parents, if they do not exist. On failure returns false and sets errno.
NW_API bool nw_make_dirs(char *dir, unsigned mode);

// ---- floor arithmetic on 64-bit integers, correct for negative numbers too; the divisor must not be 0
int64_t nw_floordiv_i64(int64_t a, int64_t b);
int64_t nw_floormod_i64(int64_t a, int64_t b);
int64_t nw_gcd(int64_t a, int64_t b); // never negative; 1 if the result would be 2^63

// ---- context
//
// Each folder of the core may keep one private object per session in a slot, for example isl's context or the JIT.
// `interrupt` may be called in a signal handler or in another thread. So nw_slot_fill sets `interrupt` last.
typedef enum nw_slot_id {
  NW_SLOT_TARGET,
  NW_SLOT_POLY,
  NW_SLOT_RUN,
  NW_SLOT_TE,
  NW_SLOT_INTRINSICS,
  NW_SLOT_REDUCERS,
  NW_SLOT_COST,
  NW_SLOT_COUNT
} nw_slot_id;
typedef struct nw_slot {
  void *data;
  void (*free)(void *data);
  void (*_Atomic interrupt)(void *data);
  // Repairs the object after a call was abandoned, since the call may have left the object in any state. NULL if the
  // object never needs a repair.
  void (*abandon)(void *data);
} nw_slot;

typedef struct nw_progress_state {
  nw_progress_fn tell; // NULL: no receiver
  void *env;
  double patience; // seconds
  // `since`: the time in seconds when the work began; 0 if no work is in progress
  // `told`: the time in seconds of the last report; 0 if there was none
  double since, told;
} nw_progress_state;

// Faults that tests can inject by name (base/mutants.def). NW_MUTATED(name) is true if the environment variable
// NW_MUTANT has this name. In builds that are not for the mutant tests, it is always false.
typedef enum nw_mutant {
#define NW_MUTANT(name, class, test, what) NW_MUTANT_##name,
#include "base/mutants.def"
#undef NW_MUTANT
} nw_mutant;
#ifdef NW_MUTANTS
NW_API bool nw_mutant_on(nw_mutant m);
#define NW_MUTATED(name) nw_mutant_on(NW_MUTANT_##name)
#else
#define NW_MUTATED(name) false
#endif

struct nw_trial;
struct nw_ctx {
  nw_arena *diag_arena; // holds the strings of the last failure; emptied by nw_clear
  nw_diag diag; // its code is NW_OK if there was no failure
  nw_slot slot[NW_SLOT_COUNT];
  atomic_int interrupted;
  uint64_t serial; // makes names of TE symbols unique: "A@12"
  // Returns the measured time to start threads, in seconds. The result is 0 if the time is unknown, and below 0 if
  // there is only one core. The pointer is NULL if this time is not measured.
  double (*spawn_seconds)(void);
  // Tests whether two expressions have the same values (ir/expr/trial.h). NULL if this session runs no programs.
  bool (*trial)(struct nw_ctx *c, struct nw_trial *t);
  nw_progress_state progress;
  int rule_off; // number of the row of poly/rules.def that `dev test mutants` has switched off; 0: none
};

void nw_slot_fill(nw_ctx *c, nw_slot_id id, void *data, void (*free)(void *data), void (*interrupt)(void *data));

// Leaves a diagnostic, if there is none yet, and returns NULL. `hint` may be NULL.
void *nw_fail(nw_ctx *c, nw_code code, const char *hint, const char *fmt, ...) NW_PRINTF(4, 5);
// Leaves a refusal, with copies of all strings in *r. If r->message is NULL, the message is built from the other
// fields.
void *nw_refuse(nw_ctx *c, const nw_refusal *r);
// Returns a deep copy that lives as long as the arena.
nw_refusal nw_refusal_copy(nw_arena *a, const nw_refusal *from);
// Returns the current refusal, so that the caller can add more fields to it, such as the alternatives. NULL if there is
// no refusal.
nw_refusal *nw_refusal_edit(nw_ctx *c);
// Formats a string that lives as long as the current diagnostic.
const char *nw_diag_printf(nw_ctx *c, const char *fmt, ...) NW_PRINTF(2, 3);
// Reports progress: `part` is the fraction of the work `what` that is done (0..1, or below 0 if unknown). The call is
// cheap, but it reads the clock.
void nw_progress(nw_ctx *c, const char *what, double part);
void nw_progress_end(nw_ctx *c);
