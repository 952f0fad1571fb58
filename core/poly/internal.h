// Declares the judge's model of a program, and the checks that make up a verdict. Private to poly/.
//
// A *site* is a part of a program that accesses memory: a block, or the init of a reduction block. (The init sets an
// element before its first update. The block owns its init until a step makes the init a separate block.) The *domain*
// of a site is the set of its executions. A domain has one dimension for each loop around the site, but a fused loop
// has one dimension for each of its original loops. The sizes are parameters. The *instance* of an execution is the
// tuple of the values of the block's variables. A block declares a range for each variable; the tuples of values in
// these ranges are its *declared* instances. A *use* is a read or write: a relation from executions to elements. A
// buffer that is allocated inside loops is new in each iteration of these loops. So an element of this buffer is
// identified by its index together with the iteration of these loops.
//
// A *family* stores proven facts. The programs of one schedule share a family, so after a step only the facts about the
// changed parts are proven again. A check returns NW_HOLDS, NW_FAILS, or NW_ABORTED with a diagnostic in the context.
#pragma once
#include "poly/poly.h"
#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

typedef enum nw_answer { NW_ABORTED = -1, NW_FAILS = 0, NW_HOLDS = 1 } nw_answer;

typedef enum nw_rule {
#define NW_JUDGE_RULE(name, test, doc) NW_RULE_##name,
#include "poly/rules.def"
#undef NW_JUDGE_RULE
  NW_RULE_COUNT
} nw_rule;

// True if the rule is enabled. Only the mutation tests disable rules.
#ifdef NW_MUTANTS
#define NW_RULE(c, name) ((c)->rule_off != NW_RULE_##name + 1)
#else
#define NW_RULE(c, name) ((void)(c), true)
#endif

// ---- context.c: isl's context and the session's budget
typedef struct nw_proofs {
  int refs; // number of references: one from the session's slot, and one from each family
  nw_ctx *ctx; // NULL after the session is closed
  isl_ctx *isl;
  // Limits on isl operations: `budget` for a question about few loops, `limit` for the current question.
  long budget, limit;
  long done; // operations of this question before isl's counter was last restarted
  char question; // 'o': judged by order, 'v': by value, 'm': only marks have changed
  bool glance; // true for a quick check: see nw_judge_budget
  bool brief; // refusals have no witness: see nw_judge_briefly
  bool plain; // numbers are not written in digits (whole/expand.c): products of sizes are parameters
  // A question that reuses earlier results is charged once for their original cost: see context.c.
  long asked; // number of questions so far
  double before, charged, nested;
} nw_proofs;
typedef struct nw_price {
  double from, cost; // `from`: the operation counter when the work began; `cost`: the operations that the work took
  long asked; // number of the last question that was charged for this work
} nw_price;
double nw_proofs_meter(nw_proofs *s);
void nw_price_begin(nw_proofs *s, nw_price *price);
void nw_price_end(nw_proofs *s, nw_price *price);
void nw_price_charge(nw_proofs *s, nw_price *price); // charges the current question for reused work
bool nw_proofs_from_nothing(nw_proofs *s); // true if the question must be answered again without stored results
nw_proofs *nw_proofs_of(nw_ctx *c);
nw_proofs *nw_proofs_retain(nw_proofs *s);
void nw_proofs_release(nw_proofs *s);
// Begins a question about p with a new budget. Returns false if the session was interrupted.
bool nw_proofs_begin(nw_proofs *s, const nw_program *p);
// These two functions find the integer divisions of a projected map or set, which a subtraction or a subset test needs.
// They consume the map or set.
isl_map *nw_with_quotients(nw_proofs *s, isl_map *map);
isl_set *nw_set_with_quotients(nw_proofs *s, isl_set *set);
// True if isl has failed in this question, or if the limit is reached.
bool nw_proofs_gave_up(nw_proofs *s);
nw_answer nw_proofs_lost(nw_proofs *s); // reports a failure of isl: leaves a diagnostic and returns NW_ABORTED
nw_answer nw_answer_of(nw_proofs *s, isl_bool holds);

// ---- family.c: what the programs of one schedule share
typedef struct nw_verdict_key {
  uint64_t hash;
  int n;
  uintptr_t *key;
  int number; // the number of this key: 1, 2, ...; never reused
} nw_verdict_key;
typedef struct nw_verdicts {
  nw_verdict_key *at;
  int n, cap;
  char *verdict; // indexed by the number of the key: 0 unknown, 1 proved, 2 disproved
  nw_price *price; // indexed in the same way
} nw_verdicts;
// The sets and maps of one site or one access. They are stored by the number of the site or access, and the programs of
// one schedule share them.
typedef struct nw_kept {
  isl_set *domain; // for a site: its domain
  isl_map *map; // for a site: its instances; for an access: its elements
  bool exact;
  nw_price price;
} nw_kept;
typedef struct nw_family {
  int refs;
  nw_proofs *s;
  nw_pool *pool; // holds a reference
  int nsizes;
  nw_size *size;
  int nfacts;
  const nw_expr **fact;
  isl_space *params;
  isl_set *context; // known facts about the sizes
  nw_vec product; // expressions of sizes that are not affine: each is a parameter
  nw_verdicts verdicts;
  // Indexed by the number of a site or access; `nkept` entries are not NULL. All entries are freed when there are too
  // many.
  nw_kept **kept;
  int nkept;
} nw_family;
// Returns a new reference to `known` if p has the sizes and facts of this family. Otherwise returns a new family.
nw_family *nw_family_for(const nw_program *p, nw_family *known);
// True if a call of the library was abandoned (base.h) since the family was made. The family is then neither used nor
// freed.
bool nw_family_abandoned(const nw_family *f);
nw_family *nw_family_retain(nw_family *f);
void nw_family_release(nw_family *f);
isl_space *nw_family_space(const nw_family *f, int ndims);
// Returns the position of e among the parameters. A non-affine expression of sizes becomes a parameter when it is first
// asked for. Returns -1 if e uses anything other than sizes.
int nw_family_param(nw_family *f, const nw_expr *e);

// A key is a sequence of machine words that identifies a fact. Keys with equal words have the same number, and one fact
// is stored for each number.
typedef struct nw_key {
  uintptr_t *word;
  int n, cap;
} nw_key;
void nw_key_add(nw_key *k, uintptr_t word);
void nw_key_ptr(nw_key *k, const void *p);
void nw_key_loop(nw_key *k, const nw_stmt *loop); // adds the loop and its bounds
void nw_key_var(nw_key *k, const nw_block_var *v);
void nw_key_free(nw_key *k);
int nw_fact_number(nw_family *f, const nw_key *k);
bool nw_fact_proved(nw_family *f, int number);
void nw_fact_prove(nw_family *f, int number);
bool nw_fact_denied(nw_family *f, int number); // true if the fact is disproved; used only if no witness is needed
void nw_fact_deny(nw_family *f, int number);
nw_kept *nw_kept_find(const nw_family *f, int number); // NULL if nothing is stored
void nw_keep(nw_family *f, int number, nw_kept kept); // takes ownership of the set and map of `kept`
// Returns the number of the fact of kind `what` about the numbers a, b, c and d.
int nw_fact_of(nw_family *f, int what, int a, int b, int c, int d);

// ---- expr.c, cond.c: expressions over a space
typedef struct nw_dim {
  const char *name; // name of the variable
  int first, n; // first dimension of the variable; number of its dimensions, more than 1 for a fused loop
  const nw_expr *const *fused;
  int few; // n if the values are 0, 1, ..., n - 1 for a small constant n; otherwise 0
} nw_dim;
typedef struct nw_space {
  nw_family *f;
  int nvars, ndims;
  nw_dim var[NW_MAX_DEPTH];
  nw_vec opaque; // subexpressions that are not affine; each has a dimension after those of the variables
  nw_vec least, most; // bounds of these subexpressions (opaque.c): expressions of sizes, or NULL; may be empty
} nw_space;
void nw_space_init(nw_space *v, nw_family *f);
void nw_space_var(nw_space *v, const char *name);
void nw_space_loop(nw_space *v, const nw_stmt *loop);
// Adds a dimension for each opaque subexpression of e. Must be called before the first nw_space_aff or nw_space_cond.
void nw_space_scan(nw_space *v, const nw_expr *e);
void nw_space_free(nw_space *v);
int nw_space_first(const nw_space *v, const char *name);
// These two functions bound the opaque subexpressions by the ranges of the loops of a site, whose guards must hold in
// each point, or by the declared ranges of its variables. They must be called after the last nw_space_scan.
typedef struct nw_site nw_site;
void nw_space_bound_loops(nw_space *v, const nw_site *s);
void nw_space_bound_vars(nw_space *v, const nw_site *s);
void nw_space_bound_box(nw_space *v, int n, const nw_expr *const *shape); // the variables are the indices of a box
bool nw_is_known_number(const nw_expr *e); // true for an index expression that reads no data
isl_set *nw_space_all(const nw_space *v); // all points whose opaque dimensions are within their bounds
isl_pw_aff *nw_space_aff(const nw_space *v, const nw_expr *e);
isl_pw_aff *nw_space_dim(const nw_space *v, int dim);
// Returns the points at which cond may have the truth value `want`. These are more points than necessary if the
// condition is not exact.
isl_set *nw_space_cond(const nw_space *v, const nw_expr *cond, bool want);
bool nw_cond_exact(const nw_expr *cond);
bool nw_space_digits(const nw_space *v, const nw_expr *e, const nw_dim **of, int *from, int *to);
// These functions make a map from the points of a set to a tuple of values. nw_values returns an empty list, the next
// two functions add values to the list, and nw_values_at makes the map. The set also has the opaque dimensions, which
// nw_values_at projects out. Lists and sets are consumed.
isl_pw_aff_list *nw_values(const nw_space *v);
isl_pw_aff_list *nw_values_dims(isl_pw_aff_list *value, const nw_space *v, int from, int to);
isl_pw_aff_list *nw_values_expr(isl_pw_aff_list *value, const nw_space *v, const nw_expr *e);
isl_map *nw_values_at(const nw_space *v, isl_set *set, isl_pw_aff_list *value);
// consumes domain; projects out the opaque dimensions
isl_map *nw_space_map(const nw_space *v, isl_set *domain, int n, const nw_expr *const *e);

// ---- back.c: from isl to expressions
const nw_expr *nw_expr_back(nw_pool *pool, isl_pw_aff *a, int n, const nw_expr *const *param); // consumes a

// ---- same.c: two programs that differ little

bool nw_same_pointers(int n, const nw_expr *const *a, const nw_expr *const *b);
bool nw_same_params(const nw_program *a, const nw_program *b); // the parameters have the same names, dtypes and shapes
// True if the programs differ in nothing but marks of loops, and calls that stand for the same work.
bool nw_only_marks(const nw_program *before, const nw_program *after);

// ---- model.c: sites and accesses of a program
typedef struct nw_use nw_use;
typedef struct nw_part {
  uint64_t loops, vars; // sets of loops and variables of the site, as bits
} nw_part;
typedef struct nw_parts {
  int n; // -1 if the parts are not yet known
  nw_part *part;
} nw_parts;
struct nw_site {
  const nw_stmt *block;
  bool init; // true for an init that is still a part of the reduction block `block`
  int seq; // position of the site in the text of the program
  int nloops;
  const nw_stmt *loop[NW_MAX_DEPTH];
  int dim[NW_MAX_DEPTH + 1]; // first dimension of each loop; dim[nloops] is the number of dimensions
  int nwhere;
  const nw_expr **where; // the guard of the block, and the guards around the block
  nw_space view;
  int number; // identifies the domain and the bindings of the site in the family
  bool exact; // true if domain and bindings are exact
  bool pieces; // true for an init that also runs for empty reductions
  bool maybe; // true for an init that may or may not run: see empty_reduction in model.c
  isl_set *domain;
  isl_map *instance; // execution -> block variables (for an init, only the spatial ones)
  int nvars;
  const nw_block_var **var;
  int nuses;
  nw_use *use;
  nw_parts *parts; // the parts of the site, made on first use: see nw_parts_of
};
typedef struct nw_guarded {
  const nw_expr *cond; // in terms of the block variables
  bool want;
} nw_guarded;
struct nw_use {
  const nw_site *site;
  const nw_buffer *buffer;
  const nw_stmt *alloc; // the allocation of the buffer; NULL for a parameter
  int depth; // number of loops around the allocation
  bool write, update; // update: the write is an update of a reduction, which also reads its element
  const nw_expr *load; // the LOAD of a read
  int n;
  const nw_expr *const *index; // in terms of the block variables
  const nw_expr **bound; // the same index, in terms of the loops
  uint64_t *loops; // for each component of the index: the loops that it uses, as bits
  int nconds;
  const nw_guarded *cond;
  int number;
  bool exact;
  isl_map *map; // execution -> element, made on first use
  nw_price price;
};
// A merged loop (whole.c), and its parts: the loops of the user's program that were merged into it.
typedef struct nw_together {
  int id;
  const nw_stmt *loop;
  int n, part_id[NW_MAX_DEPTH];
  const nw_stmt *part[NW_MAX_DEPTH]; // outermost first
  // true if other loops are between the parts, or if the parts run in another order. Then the merged loop is equivalent
  // only if it carries no dependence.
  bool apart;
  // the number of loops between the parts, if the parts run in order; these loops are the outermost ones inside the
  // merged loop. Then dependences between equal iterations of these loops do not matter.
  int between;
} nw_together;
// A number 0..whole that is written in digits (whole/expand.c)
enum { NW_MOST_SYSTEMS = 8, NW_MOST_DIGITS = 8 };
typedef struct nw_system {
  const nw_expr *whole;
  int n; // number of digits
  const nw_expr *digit[NW_MOST_DIGITS], *weight[NW_MOST_DIGITS]; // extents and weights, most significant first
} nw_system;
typedef struct nw_whole {
  nw_program *p; // holds a reference; NULL if nothing was merged or expanded
  const nw_program *other; // the argument of nw_model_cut; NULL after nw_model_judged
  bool plain; // true if numbers were not written in digits
  int nsystems;
  nw_system system[NW_MOST_SYSTEMS];
  int n;
  nw_together *loop;
  nw_price price;
} nw_whole;
typedef struct nw_uses {
  int n;
  nw_use **at;
} nw_uses;
typedef struct nw_sites {
  int n;
  nw_site **at;
} nw_sites;
typedef struct nw_model {
  nw_family *f;
  const nw_program *p;
  const nw_program *seen; // the user's program: p, or the program from which p was made (whole.c)
  const nw_whole *whole; // NULL if p is the user's program
  nw_arena *arena;
  int nsites;
  nw_site **site; // in the order of the text
  nw_uses *of; // for each buffer of p: its accesses (index.c)
  nw_site **by_work; // the sites, sorted by their work (index.c)
  nw_price price;
} nw_model;
void nw_model_drop(const nw_program *p); // frees the model of p, which is made again when needed
nw_model *nw_model_of(const nw_program *p, nw_family *known); // cached in the program; NULL and a diagnostic on failure
// the model of the program that the judge examines instead of p
nw_model *nw_model_judged(const nw_program *p, nw_family *known);
// The same model, but the bindings of p and of `other` also cut numbers into digits (whole/systems.c).
nw_model *nw_model_cut(const nw_program *p, nw_family *known, const nw_program *other);
void nw_model_free(void *model);
isl_map *nw_use_map(const nw_model *m, nw_use *a); // borrowed; execution -> (loops around the allocation, index)
// nw_use_space makes a space of the loops around an access in which its index and its conditions can be expressed.
// nw_use_conditions returns the set of the points of this space at which the conditions hold.
void nw_use_space(const nw_program *p, const nw_use *a, nw_space *v);
isl_set *nw_use_conditions(const nw_program *p, const nw_use *a, const nw_space *v);
// The range of the index that is stored in dimension d (bounds.c).
const nw_expr *nw_stored_from(const nw_family *f, const nw_use *a, int d);
const nw_expr *nw_stored_extent(const nw_use *a, int d);
void nw_site_uses(nw_model *m, nw_site *s, int nallocs, const nw_stmt *const *alloc, const int *depth);
void nw_scan_loop(nw_space *v, const nw_stmt *loop);
isl_set *nw_loop_bounds(const nw_space *v, const nw_stmt *loop, isl_set *set); // consumes set
// true if the blocks have the same origin, and either both sites are inits or neither is
bool nw_site_same_work(const nw_site *a, const nw_site *b);

// ---- index.c: finds accesses and sites, in the order of the text, without a search through the whole program
void nw_model_index(nw_model *m);
nw_uses nw_uses_of(const nw_model *m, const nw_buffer *b);
nw_sites nw_sites_like(const nw_model *m, const nw_site *s); // sites that do the same work; s may be of another model
nw_sites nw_sites_below(const nw_model *m, const nw_stmt *loop);
// index of the loop among the loops around s; -1 if the loop is not around s
int nw_site_level(const nw_site *s, const nw_stmt *loop);

// ---- pair.c: two accesses of one buffer
bool nw_may_meet(const nw_use *a, const nw_use *b);
int nw_common_loops(const nw_site *a, const nw_site *b);
isl_map *nw_meet(const nw_model *m, nw_use *a, nw_use *b); // pairs of executions that access the same element
// If the index is data, one execution may read any of several elements. An event is an execution together with one of
// these elements. nw_events returns the map (execution of r, element) -> element. nw_meet_events returns the pairs of
// an execution of w and an event of r that access the same element.
isl_map *nw_events(const nw_model *m, nw_use *r);
isl_map *nw_meet_events(const nw_model *m, nw_use *w, isl_map *events); // consumes events
// Returns the pairs whose first execution is not before the second one. Consumes pairs.
isl_map *nw_not_before(isl_map *pairs, const nw_use *a, const nw_use *b);
// Returns the pairs whose first execution is before the second one. Consumes pairs.
isl_map *nw_before(isl_map *pairs, const nw_use *a, const nw_use *b);
// Like nw_before, but compares the first `dims` dimensions only, and leaves out pairs whose order the others decide. The
// executions may lack the other dimensions.
isl_map *nw_before_in(isl_map *pairs, const nw_use *a, const nw_use *b, int dims);
// True if every execution of a is before every execution of b that accesses the same element. Otherwise stores the
// pairs of executions in the wrong order in *bad, if bad is not NULL.
nw_answer nw_always_before(const nw_model *m, nw_use *a, nw_use *b, isl_map **bad);

// ---- parts.c: groups of loops and variables of a site that depend on each other
uint64_t nw_site_loops_of(const nw_site *s, const nw_expr *e); // the loops that the expression uses, as bits
void nw_flatten(const nw_expr *e, nw_vec *out); // adds the conditions of which e is the conjunction
// the conditions of the site, except the bounds of the loops; the caller frees the vector
nw_vec nw_site_conditions(const nw_site *s);
// Finds the parts, and returns their number. The outer loops 0..from - 1 do not connect parts. `out` has space for
// 2*NW_MAX_DEPTH parts.
int nw_site_parts(const nw_site *s, int from, nw_part *out);
const nw_parts *nw_parts_of(const nw_model *m, const nw_site *s); // all parts
// nw_part_map returns the map (outer loops, loops of the part) -> (outer loops, variables of the part). The outer loops
// are 0..from - 1. nw_part_number returns a number for this map and the declared box of the part. Parts with the same
// number differ at most in the positions of their loops. The number 0 means that the part cannot be compared.
int nw_part_number(const nw_site *s, int from, nw_part part);
isl_map *nw_part_map(const nw_site *s, int from, nw_part part);
// Returns the map from the iterations of these loops to the loops 0..from - 1 and the values of n expressions. The
// domain has only iterations in which the bounds and conditions of these loops hold. `loops` includes the loops
// 0..from - 1.
isl_map *nw_loops_map(const nw_site *s, uint64_t loops, int from, int n, const nw_expr *const *e);
void nw_key_loops(nw_key *k, const nw_site *s, uint64_t loops); // adds these loops, their bounds and conditions

// ---- factor.c: proofs about accesses from the few loops that matter

// These functions return false if they find no proof, even if the property holds.
//
// Consider the pairs of executions of a and b that access the same element and are in the same iterations of the first
// `level` loops. True if it is proved that in none of these pairs, a is in an earlier iteration of loop `level` than b.
// If `earlier` is false, the same is proved for a later iteration instead.
bool nw_never_apart(const nw_model *m, const nw_use *a, const nw_use *b, int level, bool earlier);
// True if it is proved that w accesses every element that r accesses, in the same iteration of the loops around the
// allocation. If `all_terms` is true, w must access each element with all declared values of its reduce variables.
bool nw_surely_covers(const nw_model *m, const nw_use *r, const nw_use *w, bool all_terms);
// True if it is proved that component d of the index is always at least `from` and less than `from + extent`.
bool nw_index_within(const nw_model *m, const nw_use *a, int d, const nw_expr *from, const nw_expr *extent);

// ---- declared.c: the instances that a block declares
uint64_t nw_all_vars(const nw_site *s);
isl_set *nw_declared(nw_family *f, const nw_site *s, uint64_t vars); // the declared box of these variables
bool nw_declared_exact(nw_family *f, const nw_site *s, uint64_t vars);
isl_map *nw_declared_elements(nw_family *f, const nw_use *a); // declared instances -> elements
isl_set *nw_shape_box(nw_family *f, int ndim, const nw_expr *const *shape);
bool nw_index_exact(const nw_use *a);
void nw_key_declared(nw_key *k, const nw_use *a);

// ---- cover.c: whether every declared instance is executed, and whether an instance is executed twice
nw_answer nw_in_domain(const nw_model *m, const nw_site *s, isl_set **bad);
// True if every instance is executed at most once in each iteration of the loops 0..from - 1.
nw_answer nw_executes_once(const nw_model *m, const nw_site *s, int from);
// True if the sites that do the same work as s together execute every declared instance. Sets *once to true if they
// execute each instance at most once.
nw_answer nw_instances_full(const nw_model *m, const nw_site *s, bool *once);

// ---- normal.c: the values that a block computes, in terms of the computation's own blocks

// The judge compares the normal forms of the old program with those of the new program. In a normal form, a load of a
// block's result is replaced by a name of the block's value and the instance that computes it, for example "C#0[i, j]", so
// that a step may store the value at another element. If no inverse of the block's index is found, the element is named
// instead of the instance: "C@0[...]". A load is expanded instead if the other
// program does not have the block. If only the old program has the block, the step inlined the block, and the load
// becomes the body of the block. If only the new program has the block, the block is a copy that the step added, and
// the load becomes the source of the copy, or a select between the source and a constant. So if every load gets the value that it names, two programs whose blocks
// have equal normal forms compute the same values.
bool nw_is_copy(const nw_stmt *block);
// true if the indices are the spatial variables in some order
bool nw_index_is_vars(const nw_stmt *block, int n, const nw_expr *const *index);
//
// If the other program stores a temporary in another dtype, a load of the old program becomes a load of this dtype that
// is converted back. Then both programs have the same normal forms if the step changes nothing but the dtype.
typedef struct nw_normal {
  const nw_model *m, *other;
  bool copies_only;
  bool as_stored; // a load has the dtype in which the other program stores the buffer
  nw_pool *pool;
  int depth;
  const nw_stmt *rounded; // result: a block whose body was used without the rounding of its store, or NULL
} nw_normal;
const nw_stmt *nw_seen_through(const nw_normal *n, const char *buffer);
// True if the index of an element of the buffer determines the instance that writes the element.
bool nw_told_by_element(const nw_normal *n, const char *buffer);
// values/instance.c: the instance of w that writes an element, in the order of the block's spatial variables
int nw_instance_at(const nw_model *m, const nw_use *w, nw_pool *pool, const nw_expr *const *at, const nw_expr **out);
const nw_expr *nw_normal_form(nw_normal *n, const nw_expr *e);

// ---- values/alike.c: expressions that differ only in index arithmetic
bool nw_alike(const nw_model *m, int n, const char *const *var, isl_set *box, const nw_expr *a, const nw_expr *b);

// ---- partial.c: reductions that are computed in parts

// True if the new block `is` combines partial results of the reduction of the old block `was`. The caller ensures that
// both blocks have the same spatial variables, and the same init if `is` has one. Adds the blocks that compute the partial
// results, and those that combine them in pairs, to `parts`. If `answer` is not NULL, sets *answer to NW_HOLDS if the partial results together have every
// contribution once.
bool nw_combines_parts(const nw_model *before, const nw_model *after, const nw_stmt *was, const nw_stmt *is,
                       nw_vec *parts, nw_answer *answer);

const nw_stmt *nw_only_writer(const nw_model *m,
                              const char *buffer); // the only block that writes the temporary, or NULL
bool nw_is_spread(
    const nw_stmt *block); // true if each target's index is the same list of the block's spatial variables

// ---- unhalve.c: partial results that were combined in pairs
typedef struct nw_unhalving {
  const nw_stmt *is; // the block that combines partial results
  const nw_stmt *part; // the block that computes them
  nw_block_var *var; // the variables of `is`, whose ranges may be larger than in `is`
  const nw_stmt *given; // result: the block that gives partial results to other threads
} nw_unhalving;
// If the partial results were combined in pairs, replaces x->part by the block of the partial results before that, and
// makes the range of the reader's variable so large that it reads all of them. Returns false if they were not.
bool nw_unhalve(const nw_model *m, nw_unhalving *x);

// ---- single.c: whether each element of a buffer has only one value as long as the buffer exists
nw_answer nw_single_valued(const nw_model *m, const nw_buffer *b);

// ---- buffer.c: whether every read gets its value, and every output is written
bool nw_exists_once(const nw_model *m, const nw_buffer *b);
// Checks all buffers except inputs. `before` is the program before a step that is judged by value, and otherwise NULL.
// `first` is true for the first program of a computation.
nw_answer nw_check_buffers(const nw_model *m, const nw_model *before, bool first);
nw_answer nw_check_buffer_values(const nw_model *m, const nw_buffer *b); // one buffer, by value
typedef struct nw_fate { // all accesses of one buffer
  const nw_model *m;
  const nw_buffer *buffer;
  bool by_value;
  bool nested; // true if the buffer is allocated inside a loop, or in several places
  int nwrites, nreads;
  nw_use **write, **read;
} nw_fate;
typedef bool (*nw_write_class)(const nw_use *w);

// ---- bits.c: layouts that combine bits of the indices
bool nw_layout_of_bits(const nw_buffer *b);
// Checks that such a layout gives the elements of each allocation different positions. All checks after nw_check_storage
// rely on this.
nw_answer nw_check_bits(const nw_model *m, const nw_buffer *b);

// ---- fold.c: elements that share a position in memory
isl_map *nw_layout_map(const nw_model *m, const nw_buffer *b); // logical index -> position
int nw_layout_fact(const nw_model *m, int tag, const nw_buffer *b);
nw_answer nw_own_places(const nw_model *m, const nw_buffer *b); // true if all elements have different positions
isl_map *nw_collide(const nw_model *m, nw_use *a, nw_use *b); // pairs of executions that access the same position
nw_answer nw_check_fold(const nw_fate *f);

// ---- coverage.c: whether the elements that are read are written, before or after the read
nw_answer nw_covered(const nw_fate *f, nw_use *r, nw_write_class of, isl_set **bad);
nw_answer nw_all_written(const nw_fate *f, nw_write_class of);
isl_set *nw_declared_writes(const nw_fate *f, nw_write_class of);
isl_set *nw_executed_writes(const nw_fate *f, const nw_stmt *alloc, int dims, nw_write_class of);

// ---- epochs.c: reductions that are computed more than once
nw_answer nw_whole_epochs(const nw_fate *f);

// ---- contrib.c: reductions and outputs
uint64_t nw_reduce_vars(const nw_site *s);
isl_set *nw_wanted(const nw_fate *f, nw_use *r);
isl_map *nw_reduce_values(const nw_use *u); // execution -> values of the reduce variables
// pairs of executions with the same contribution
isl_map *nw_same_contribution(const nw_model *m, nw_use *a, nw_use *b);
nw_answer nw_contributed_once(const nw_fate *f);
nw_answer nw_contributions(const nw_fate *f, nw_use *r); // r is NULL for an output at the end of the program
nw_answer nw_output_covered(const nw_fate *f, nw_write_class of, bool rule, const char *why);

// ---- values/fill.c: stages that are computed by a fill and a copy
const nw_expr *nw_differs_where(nw_pool *pool, const nw_expr *value, const nw_expr *c);
bool nw_is_copy_of(const nw_use *init, const nw_use *w);
// Checks that the fill of an element runs before its copy.
nw_answer nw_filled_before(const nw_fate *f, nw_use *fill, nw_use *copy);
// Checks that the elements read at r are copied, unless the fill stores their value. r is NULL for an output.
nw_answer nw_copied(const nw_fate *f, const nw_use *fill, nw_use *r);

// ---- neutral.c: contributions that add nothing

// nw_contributes_where returns a condition on the block's variables such that the contribution is neutral wherever the
// condition is false: it is the condition of a select in the value; if the select takes its last argument, the whole
// value is neutral. Returns NULL if there is none.
const nw_expr *nw_contributes_where(const nw_model *m, const nw_stmt *block);
// Removes neutral contributions from `need`, and consumes `need`. `need` has tuples of three groups: the loops around
// the allocation (`dims` dimensions), the element, and the values of the reduce variables.
isl_set *nw_without_neutral(const nw_model *m, const nw_use *update, isl_set *need, int dims);
// adds everything on which the result of nw_without_neutral depends
void nw_key_neutral(nw_key *k, const nw_model *m, const nw_use *update);

// ---- arrivals.c: asynchronous copies and later accesses

// Receives the pairs of executions of a and b that are in the same iteration of the outer loops. If loop is not NULL, b
// is in a later iteration of this loop, which is common loop number `level`. Otherwise both are in the same iteration of
// all common loops, and b comes later in the text.
typedef nw_answer (*nw_on_pairs)(void *env, const nw_stmt *loop, int level, isl_map *pairs);
// Calls f for each class of pairs in which b comes after a. Thread loops are not compared. Consumes pairs.
nw_answer nw_each_class(const nw_model *m, const nw_use *a, const nw_use *b, isl_map *pairs, nw_on_pairs f, void *env);
// Returns the pairs of executions of a copy and of a reader of the same location, before which a wait is placed. The
// conditions of the reader are ignored.
isl_map *nw_copy_reads(const nw_model *m, nw_use *copy, const nw_use *reader);
nw_use *nw_write_of(const nw_site *s); // the first write of the site

// ---- body.c, order.c, marks.c, bounds.c, storage.c, stream.c, prefetch.c, async.c, tags.c: other checks
nw_answer nw_same_values(const nw_model *before, const nw_model *after);
bool nw_same_blocks(const nw_model *before, const nw_model *after);
nw_answer nw_each_once(const nw_model *m);
nw_answer nw_check_deps(const nw_model *before, const nw_model *after, const nw_buffer *b);
// The same for the accesses of blocks that write the buffer.
nw_answer nw_check_definition_deps(const nw_model *before, const nw_model *after, const nw_buffer *b);
bool nw_same_instances(const nw_site *a, const nw_site *b);
nw_use *nw_same_access(const nw_site *in, const nw_use *a);
bool nw_site_writes(const nw_site *s, const nw_buffer *b);
// values/updates.c: a buffer whose elements change their values, in a step that is judged by value
nw_answer nw_check_updates(const nw_model *before, const nw_model *after, const nw_buffer *b);
// Checks that every sum of floats keeps the order of its terms. The answer can be relied on only if the step is judged
// by order, because only then do both programs have the same blocks.
nw_answer nw_sums_keep_order(const nw_model *before, const nw_model *after);
nw_answer nw_check_nesting(const nw_model *m); // checks the nesting of marked loops, and the requirements of each mark
// before: the user's program before the step; may be NULL
nw_answer nw_check_marks(const nw_model *m, const nw_program *before);
nw_answer nw_check_together(const nw_model *m); // checks the assumptions of a merged program
nw_answer nw_check_bounds(const nw_model *m);
nw_answer nw_check_domain(const nw_model *m, const nw_site *s); // checks that only declared instances are executed
nw_answer nw_check_storage(const nw_model *m);
// ---- warp_part.c
// Returns the number of elements of a buffer of scope warp that one warp accesses at most. The path leads to the allocation.
// Returns -1 if the number is not known, or if no loop over warps is inside the allocation.
int64_t nw_warp_elements(const nw_model *m, const nw_path *path);
nw_answer nw_check_streams(const nw_model *m);
// `structure`: true if only those checks are made that unsafe steps must pass, too
nw_answer nw_check_prefetches(const nw_model *m, bool structure);
// async.c. `before` is the user's program before the step; it may be NULL.
nw_answer nw_check_async(const nw_program *before, const nw_model *m);
nw_answer nw_check_async_structure(const nw_program *before, const nw_model *m); // what unsafe steps must pass, too
// `marks`: true if the step changes only marks; such a step may remove properties.
nw_answer nw_check_tokens(const nw_model *before, const nw_model *after); // that no stage begins to ignore units
nw_answer nw_check_tags(const nw_model *before, const nw_model *after, bool marks);

// ---- values/rewritten.c: values that a rewrite changes
// Checks that the new program is `before` with the equality applied.
nw_answer nw_check_rewritten(const nw_program *before, const nw_model *after, const nw_rewriting *w);

// ---- marks.c: descriptions of conflicts

bool nw_known_unsafe(const nw_program *before, const nw_stmt *loop); // true if an earlier unsafe step marked the loop
// true if a and b are two updates of one reduction, or its init and one of its updates
bool nw_is_reduction(const nw_use *a, const nw_use *b);
bool nw_both_atomic(const nw_model *m, const nw_use *a, const nw_use *b); // true if the updates of both are atomic
nw_refusal_kind nw_conflict_kind(const nw_use *a, const nw_use *b);
const char *nw_conflict_why(const nw_model *m, const nw_use *a, const nw_use *b, const char *by_whom);

// ---- grid.c: the structure of loops that are bound to a grid
typedef struct nw_launch {
  const nw_stmt *at; // the statement that is the launch (nw_is_launch)
  const nw_expr *extent[NW_GRID_DIMS]; // numbers of blocks and threads; NULL if no loop is bound to the dimension
} nw_launch;
nw_answer nw_check_grid(const nw_model *m);
nw_answer nw_check_fragments(const nw_model *m); // fragments.c: which lane holds which element
// Finds the extents of a launch. The launch is the last statement of `path`. Returns false if an extent has no bound
// that is known at launch.
bool nw_launch_extents(const nw_program *p, const nw_path *path, nw_launch *out);

// ---- threads.c: conflicts between blocks and threads

// `before` may be NULL. If `syncs` is not NULL, an nw_sync * is added to `syncs` for each pair of accesses that needs a
// barrier, and no conflict is refused.
nw_answer nw_check_threads(const nw_model *m, const nw_program *before, nw_vec *syncs);
// Ignores conflicts between two writes of one reduction.
nw_answer nw_check_threads_but_sums(const nw_model *m, const nw_program *before);

// ---- cross.c: conflicts between blocks and threads, which may share reductions
nw_answer nw_check_crossing(const nw_model *m, const nw_program *before);

// ---- whole/expand.c: numbers in digits
bool nw_is_lower_digit(const nw_model *m, const nw_buffer *b, int d); // true if dimension d is not a leading digit
// Stores the index in the dimensions of the user's program, where the digits form numbers. Returns the number of these
// dimensions.
int nw_user_index(const nw_model *m, const nw_buffer *b, int n, const nw_expr *const *index, const nw_expr **out);

// ---- witness.c: refusals with the smallest executions that conflict
typedef struct nw_story {
  nw_refusal_kind kind;
  const nw_use *source, *sink; // the text names the element of the source, or of the sink if there is no source
  const nw_site *site; // the site of the execution if there is no access
  const nw_stmt *loop; // a marked loop that carries the dependence
  const char *message; // NULL if the caller adds the message
  // The reason. These words in it are replaced: {e} by the element, {f} by the element of the sink, {s} by the source,
  // {t} by the sink, {b} by the block of the source, {c} by the block of the sink, {n} by the buffer.
  const char *why;
} nw_story;
// These functions consume `bad`, and return NW_FAILS or NW_ABORTED. The pairs in `bad` are executions of the source and
// of the sink.
nw_answer nw_tell_pair(const nw_model *m, const nw_story *story, isl_map *bad);
nw_answer nw_tell_one(const nw_model *m, const nw_story *story, isl_set *bad); // bad: executions of story->site
nw_answer nw_tell_element(const nw_model *m, nw_refusal_kind kind, const nw_buffer *b, const char *why, isl_set *bad);
nw_answer nw_tell(const nw_model *m, nw_refusal_kind kind, const nw_stmt *loop, const char *message, const char *fmt,
                  ...) NW_PRINTF(5, 6);
