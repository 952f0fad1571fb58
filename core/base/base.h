// The ground floor: memory, strings, vectors, the session context and its diagnostics.
//
// Memory is freed by phase, never node by node: an arena belongs to a program, a pool or a session and goes with
// it. A small request that fails gives the call up (below), so no caller checks for it.
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
void *nw_arena_alloc(nw_arena *a, size_t bytes); // zeroed, aligned to 16
size_t nw_arena_bytes(const nw_arena *a); // held from the system
// One that is freed when the call that made it is given up, unless it is kept: by what outlives the call and links to it.
nw_arena *nw_arena_scratch(void);
void nw_arena_keep(nw_arena *a);
char *nw_arena_strndup(nw_arena *a, const char *s, size_t n);
char *nw_arena_strdup(nw_arena *a, const char *s);
char *nw_arena_printf(nw_arena *a, const char *fmt, ...) NW_PRINTF(2, 3);
#define NW_NEW(arena, type) ((type *)nw_arena_alloc((arena), sizeof(type)))
#define NW_NEW_N(arena, type, n) ((type *)nw_arena_alloc((arena), (size_t)(n) * sizeof(type)))

// Heap memory that is never NULL, for small requests.
NW_API void *nw_xmalloc(size_t bytes);
NW_API void *nw_xcalloc(size_t n, size_t bytes);
NW_API void *nw_xrealloc(void *p, size_t bytes);
NW_API char *nw_xstrdup(const char *s);

// ---- memory.c: memory whose size a user chooses
//
// n elements of `each` bytes for `what` ("the trace"), zeroed. NULL and NW_EMEMORY, with the size and the limit that was hit,
// where they cannot be had. Freed by nw_let_go, or where the call that asked for them is given up.
void *nw_ask(nw_ctx *c, const char *what, uint64_t n, uint64_t each);
// A block that grows, or shrinks; where it cannot, it stays as it was. What is new in it is undefined.
void *nw_ask_more(nw_ctx *c, const char *what, void *p, uint64_t n, uint64_t each);
void nw_let_go(void *p);
void *nw_xask(uint64_t n, uint64_t each); // the same where no failure can be returned: it gives the call up
void *nw_xask_more(void *p, uint64_t n, uint64_t each);
void *nw_no_memory(nw_ctx *c, const char *what, uint64_t bytes); // leaves NW_EMEMORY and returns NULL
// True if so much can be mapped now, else false and NW_EMEMORY. For code that ends the process where its own request fails.
bool nw_room_for(nw_ctx *c, const char *what, uint64_t bytes);
// Bytes of a request from which on it is looked at what is left; smaller ones are left to the system, since looking takes longer
// than they do.
enum { NW_ASK_FROM = 64 << 20 };

// ---- recovery.c: giving a call up
//
// Goes to the point of this thread that was opened last (nw_recovery_open); without one the process ends.
_Noreturn void nw_give_up(nw_code code, const char *hint, const char *fmt, ...) NW_PRINTF(3, 4);
_Noreturn void nw_out_of_memory(uint64_t bytes); // a request of so many failed
NW_API _Noreturn void nw_broken(const char *what, const char *file, int line);
// Prints what is in work to stderr and ends the process.
NW_API _Noreturn void nw_broken_in_test(const char *what, const char *file, int line);
// What this thread has in work, and how it is printed; print is NULL where there is nothing. Returns what was before.
typedef struct nw_work {
  void (*print)(FILE *out, const void *of);
  const void *of;
} nw_work;
nw_work nw_work_on(nw_work now);
// A call that is given up releases what it added here and did not remove.
typedef struct nw_scratch {
  struct nw_scratch *before, *after;
  uint64_t number; // 0: it is in no list
  void (*release)(struct nw_scratch *s);
} nw_scratch;
void nw_scratch_add(nw_scratch *s, void (*release)(nw_scratch *s));
void nw_scratch_remove(nw_scratch *s);
// Says what must hold whatever a user does. Where it does not, a test prints what is in work and stops, and a user's call is given
// up as a fault of ours.
#ifdef NW_MUTANTS
#define NW_MUST(holds) ((holds) ? (void)0 : nw_broken_in_test(#holds, __FILE__, __LINE__))
#else
#define NW_MUST(holds) ((holds) ? (void)0 : nw_broken(#holds, __FILE__, __LINE__))
#endif
bool nw_refuses_memory(void); // is it this request that a test wants to fail?

// ---- growing string (heap); always NUL-terminated once anything was added
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

// ---- hashing: the high half of a 64-bit product mixes well (a low-bits hash made interning quadratic)
NW_API uint64_t nw_hash_mix(uint64_t h, uint64_t x);
NW_API uint64_t nw_hash_bytes(const void *p, size_t n);
uint64_t nw_draw(uint64_t *state); // the next random number: SplitMix64 (Steele, Lea, Flood 2014); any state is a seed

// Makes a directory with those above it.
NW_API bool nw_make_dirs(char *dir, unsigned mode);

// ---- floor arithmetic on 64-bit integers, right for negative numbers; the divisor must not be 0
int64_t nw_floordiv_i64(int64_t a, int64_t b);
int64_t nw_floormod_i64(int64_t a, int64_t b);
int64_t nw_gcd(int64_t a, int64_t b); // of any numbers: not negative; 1 where it would be 2^63

// ---- context
//
// A room may keep one private object per session in a slot (isl's context, the JIT). `interrupt` must be safe in a
// signal handler, and in another thread; it is set last.
typedef enum nw_slot_id {
  NW_SLOT_TARGET,
  NW_SLOT_POLY,
  NW_SLOT_RUN,
  NW_SLOT_TE,
  NW_SLOT_INTRINSICS,
  NW_SLOT_COST,
  NW_SLOT_COUNT
} nw_slot_id;
typedef struct nw_slot {
  void *data;
  void (*free)(void *data);
  void (*_Atomic interrupt)(void *data);
  // A call was given up and may have left this in any state. NULL: that does no harm.
  void (*abandon)(void *data);
} nw_slot;

typedef struct nw_progress_state {
  nw_progress_fn tell; // NULL: nobody wants to know
  void *env;
  double patience; // seconds
  double since, told; // seconds; 0: not yet
} nw_progress_state;

// Faults that the tests can put in by name (base/mutants.def). True where the environment names this one; false in every
// build but those made for the mutant tests.
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

struct nw_ctx {
  nw_arena *diag_arena; // holds the last failure; emptied by nw_clear
  nw_diag diag; // code NW_OK when there is none
  nw_slot slot[NW_SLOT_COUNT];
  atomic_int interrupted;
  uint64_t serial; // names TE symbols apart: "A@12"
  // What starting threads costs here, measured; 0: not known, below 0: there is one core. NULL: nobody measures.
  double (*spawn_seconds)(void);
  nw_progress_state progress;
  int rule_off; // test hook: the row of poly/rules.def that is switched off, from 1; 0 outside `dev test mutants`
};

void nw_slot_fill(nw_ctx *c, nw_slot_id id, void *data, void (*free)(void *data), void (*interrupt)(void *data));

// Leaves a diagnostic (the first one wins) and returns NULL. `hint` may be NULL.
void *nw_fail(nw_ctx *c, nw_code code, const char *hint, const char *fmt, ...) NW_PRINTF(4, 5);
// Leaves a refusal. Every string in *r is copied. The message is built from its fields when r->message is NULL.
void *nw_refuse(nw_ctx *c, const nw_refusal *r);
// A copy of everything in it that lives as long as the arena.
nw_refusal nw_refusal_copy(nw_arena *a, const nw_refusal *from);
// The current refusal, writable, so that later rooms can fill step text, picture and alternatives; NULL if none.
nw_refusal *nw_refusal_edit(nw_ctx *c);
// A string that lives as long as the current diagnostic.
const char *nw_diag_printf(nw_ctx *c, const char *fmt, ...) NW_PRINTF(2, 3);
// Says that `part` (0..1, below 0: not known) of `what` is done; cheap, but it looks at the clock.
void nw_progress(nw_ctx *c, const char *what, double part);
void nw_progress_end(nw_ctx *c);
