// Pass: decides where temporaries are stored. A buffer of scope local is on the stack. Its size must be constant, or have
// a constant maximum, which it then gets. The total size of the local buffers that a thread uses at the same time must
// not exceed the target's limit for the scope local. If the threads of a parallel loop share a local buffer, the buffer
// becomes a workspace.
//
// Every other temporary is a workspace, which is allocated before the call. If its allocation is inside a parallel
// loop, each thread has its own workspace.
#include "lower/pass.h"

static bool has_parallel(const nw_stmt *s) {
  if (s->kind == NW_LOOP && s->loop.mark == NW_PARALLEL) return true;
  for (int i = 0; i < s->nkids; i++) {
    if (has_parallel(s->kid[i])) return true;
  }
  return false;
}

static bool fail_size(nw_program *p, const nw_stmt *alloc) {
  nw_str size = {0};
  nw_expr_print(&size, alloc->alloc.extent[0]);
  nw_fail(p->ctx, NW_ELIMIT, "Set its scope to global, or allocate it inside the loops that make it small.",
          "%s has scope local but no constant size: %s elements", alloc->alloc.buffer, size.s);
  nw_str_free(&size);
  return false;
}

static int64_t stack_of(const nw_program *p) {
  const nw_scope_limit *l = nw_target_scope(p->target, "local");
  return l ? l->bytes : 0;
}

static bool fail_limit(nw_program *p, const nw_stmt *alloc, int64_t alive) {
  nw_fail(p->ctx, NW_ELIMIT, "Set its scope to global, or allocate it inside the loops that make it small.",
          "with %s, the buffers in use on the stack take %lld bytes; the limit is %lld", alloc->alloc.buffer,
          (long long)alive, (long long)stack_of(p));
  return false;
}

// ---- one kind of storage for each buffer
//
// A buffer may be allocated in several places, for example after a loop was cut. The kind of storage may differ between
// these places, because threads may share the buffer in only some of them. Allocations of different kinds become
// different buffers, so that after this pass each buffer has only one kind of storage.

typedef struct around {
  bool grid; // true if a part of the program runs on a grid
  bool launch, parallel; // `launch`: true inside a launch; `parallel`: true inside a parallel loop
} around;

// Returns the context of the statements inside s, where `in` is the context of the statements inside the parent of s.
// If s is a launch, the result is also the context of s itself.
static around inside(const nw_program *p, const nw_stmt *s, around in) {
  in.launch |= in.grid && nw_is_launch(p, s);
  in.parallel |= s->kind == NW_LOOP && s->loop.mark == NW_PARALLEL;
  return in;
}

static nw_storage_kind kind_of(const nw_program *p, const nw_stmt *alloc, around in) {
  if (in.launch) return NW_STORE_GRID;
  if (nw_find_buffer(p, alloc->alloc.buffer)->scope == NW_LOCAL && !has_parallel(alloc)) return NW_STORE_STACK;
  return in.parallel && !NW_MUTATED(storage_thread_shared) ? NW_STORE_PER_THREAD : NW_STORE_WORKSPACE;
}

typedef struct renaming {
  nw_pool *pool;
  const char *from, *to;
} renaming;

static const nw_expr *renamed_load(void *env, const nw_expr *load) {
  const renaming *r = env;
  return strcmp(load->name, r->from) || NW_MUTATED(storage_rename_store)
             ? NULL
             : nw_load(r->pool, load->type, r->to, load->n, load->arg);
}

static const nw_expr *renamed(void *env, const nw_expr *e) {
  return nw_rewrite(((const renaming *)env)->pool, e, NULL, renamed_load, env);
}

static void rename_buffer(renaming *r, nw_stmt *s) {
  nw_stmt_exprs(s, renamed, r);
  const char **name = s->kind == NW_STORE      ? &s->store.buffer
                      : s->kind == NW_ALLOC    ? &s->alloc.buffer
                      : s->kind == NW_PREFETCH ? &s->prefetch.buffer
                                               : NULL;
  if (name && !strcmp(*name, r->from)) *name = r->to;
  for (int i = 0; s->kind == NW_CALL && i < s->call.ntiles; i++) {
    if (!strcmp(s->call.tile[i].buffer, r->from)) s->call.tile[i].buffer = r->to;
  }
  for (int i = 0; i < s->nkids; i++) rename_buffer(r, s->kid[i]);
}

// If the allocations of a buffer have different kinds of storage, replaces the buffer by one buffer for each kind. For
// each buffer of the program and each kind, `named` has the buffer of this kind, or NULL if no allocation has it.
static void separate(nw_program *p, nw_stmt *s, around in, nw_buffer *(*named)[NW_STORE_KINDS]) {
  in = inside(p, s, in);
  if (s->kind == NW_ALLOC && !NW_MUTATED(storage_by_name)) {
    int at = 0;
    while (strcmp(p->buffer[at]->name, s->alloc.buffer)) at++;
    nw_storage_kind kind = kind_of(p, s, in);
    nw_buffer **own = &named[at][kind], *b = p->buffer[at];
    bool taken = false;
    for (int k = 0; k < NW_STORE_KINDS; k++) taken |= named[at][k] == b;
    if (!*own && taken) *own = nw_add_buffer(p, b->name, b->dtype, b->scope, b->role, b->ndim, b->shape);
    (*own ? *own : b)->chip = b->chip;
    if (!*own) *own = b;
    if (*own != b) rename_buffer(&(renaming){p->pool, b->name, (*own)->name}, s);
  }
  for (int i = 0; i < s->nkids; i++) separate(p, s->kid[i], in, named);
}

// ---- sizes on the stack and in kernels

// Finds a constant that e, a number of elements, does not exceed.
static bool most_of(const nw_ranges *r, const nw_expr *e, int64_t *most) {
  int64_t a, b;
  if (nw_const_upper(r, e, most)) return true;
  if (e->op != NW_OP_MUL || !most_of(r, e->arg[0], &a) || !most_of(r, e->arg[1], &b)) return false;
  // The product of two negative extents is positive, so both must be known not to be negative.
  const nw_expr *zero = nw_index(r->pool, 0);
  return nw_prove(r, nw_le(r->pool, zero, e->arg[0])) && nw_prove(r, nw_le(r->pool, zero, e->arg[1])) &&
         !__builtin_mul_overflow(a, b, most);
}

// The code of a stack or of a kernel needs constant sizes. If the size of a buffer there depends on symbolic sizes, replaces
// it by its maximum. The judge requires such a maximum.
static bool bound_sizes(void *env, const nw_path *path) {
  nw_program *p = env;
  nw_stmt *s = path->at[path->n - 1];
  around in = {.grid = nw_find_bound(p->root)};
  int64_t n;
  for (int i = 0; i < path->n; i++) in = inside(p, path->at[i], in);
  if (s->kind != NW_ALLOC || nw_is_int(s->alloc.extent[0], &n)) return true;
  nw_storage_kind kind = kind_of(p, s, in);
  if (kind != NW_STORE_STACK && (kind != NW_STORE_GRID || NW_MUTATED(storage_kernel_sizes))) return true;
  nw_ranges r;
  nw_ranges_of(&r, p, path);
  if (most_of(&r, s->alloc.extent[0], &n)) s->alloc.extent[0] = nw_index(p->pool, n > 0 ? n : 0);
  nw_ranges_free(&r);
  return true;
}

// ---- the stack

// Checks that the buffers on the stack are within the limit. Returns false, with a diagnostic, if they are not. `alive`
// is the number of bytes of stack that the enclosing allocations use. The buffers of a launch are not on the stack of
// the host.
static bool place_on_stack(nw_program *p, nw_stmt *s, int64_t alive, around in) {
  in = inside(p, s, in);
  if (s->kind == NW_ALLOC) {
    nw_buffer *b = nw_find_buffer(p, s->alloc.buffer);
    nw_storage_kind kind = kind_of(p, s, in);
    if (b->scope == NW_LOCAL && kind != NW_STORE_STACK && kind != NW_STORE_GRID) b->scope = NW_GLOBAL;
    if (kind == NW_STORE_STACK) {
      int64_t n, bytes;
      if (!nw_is_int(s->alloc.extent[0], &n)) return fail_size(p, s);
      if (__builtin_mul_overflow(n, (int64_t)nw_dtype_bytes(b->dtype), &bytes) || bytes > INT64_MAX / 2)
        return fail_limit(p, s, INT64_MAX);
      alive += (bytes + NW_STACK_ALIGN - 1) / NW_STACK_ALIGN * NW_STACK_ALIGN;
      if (alive > stack_of(p)) return fail_limit(p, s, alive);
    }
  }
  for (int i = 0; i < s->nkids; i++) {
    if (!place_on_stack(p, s->kid[i], alive, in)) return false;
  }
  return true;
}

// ---- space for more buffers

typedef struct stack {
  const nw_program *p;
  int64_t bytes; // -1 if it is not known
} stack;

// Adds the bytes of a local buffer.
static bool add_local(void *env, const nw_path *path) {
  stack *st = env;
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind != NW_ALLOC || nw_find_buffer(st->p, s->alloc.buffer)->scope != NW_LOCAL) return true;
  int64_t n = nw_dtype_bytes(nw_find_buffer(st->p, s->alloc.buffer)->dtype), most;
  for (int i = 0; i < path->n; i++)
    if (nw_is_vector_loop(path->at[i]) && nw_is_int(path->at[i]->loop.extent, &most)) n *= most > 0 ? most : 1;
  nw_ranges r;
  nw_ranges_of(&r, st->p, path);
  for (int d = 0; d < s->alloc.n && n >= 0; d++)
    if (!nw_const_upper(&r, s->alloc.extent[d], &most) || __builtin_mul_overflow(n, most, &n)) n = -1;
  nw_ranges_free(&r);
  if (n < 0 || __builtin_add_overflow(st->bytes, n + NW_STACK_ALIGN, &st->bytes)) st->bytes = -1;
  return st->bytes >= 0;
}

bool nw_fits_on_stack(const nw_program *p, int64_t bytes) {
  const nw_scope_limit *l = nw_target_scope(p->target, "local");
  stack st = {.p = p};
  if (bytes < 0 || !l) return false;
  return nw_walk(p, add_local, &st) && bytes <= l->bytes - NW_STACK_ALIGN - st.bytes;
}

nw_program *nw_pass_storage(nw_program *p) {
  around in = {.grid = nw_find_bound(p->root)};
  separate(p, p->root, in, nw_arena_alloc(p->arena, sizeof(nw_buffer *[NW_STORE_KINDS]) * (size_t)p->nbuffers));
  nw_walk(p, bound_sizes, p);
  nw_shape_temps(p);
  return place_on_stack(p, p->root, 0, in) ? p : NULL;
}

// ---- shapes

static void shape_temp(nw_program *p, const nw_stmt *s, bool *seen) {
  int at = 0;
  while (strcmp(p->buffer[at]->name, s->alloc.buffer)) at++;
  nw_buffer *b = p->buffer[at];
  const nw_expr *elements = s->alloc.extent[0];
  const nw_expr *so_far = seen[at] ? b->shape[0] : elements;
  b->nlayout = b->nstrides = 0;
  b->ndim = 1;
  b->shape = NW_NEW_N(p->arena, const nw_expr *, 1);
  b->shape[0] = elements == so_far ? elements : nw_max(p->pool, elements, so_far);
  seen[at] = true;
}

static void shape_temps(nw_program *p, const nw_stmt *s, bool *seen) {
  if (s->kind == NW_ALLOC) shape_temp(p, s, seen);
  for (int i = 0; i < s->nkids; i++) shape_temps(p, s->kid[i], seen);
}

// Gives each temporary the shape of its largest allocation. The allocations are already one-dimensional arrays.
void nw_shape_temps(nw_program *p) {
  bool *seen = NW_NEW_N(p->arena, bool, p->nbuffers);
  for (int i = 0; i < p->nbuffers; i++)
    if (p->buffer[i]->alloc) shape_temp(p, p->buffer[i]->alloc, seen);
  shape_temps(p, p->root, seen);
}

// ---- the table

static int row_of(const nw_program *p, const char *buffer) {
  for (int i = 0; i < p->nbuffers; i++) {
    if (!strcmp(p->buffer[i]->name, buffer)) return i;
  }
  return -1;
}

// Sets the kinds of storage of the buffers that s allocates, and marks the buffers that streaming stores write to.
static void mark_rows(const nw_program *p, const nw_stmt *s, around in, nw_storage *table) {
  in = inside(p, s, in);
  if (s->kind == NW_ALLOC) {
    nw_storage_kind *kind = &table[row_of(p, s->alloc.buffer)].kind;
    // NW_STORE_GRID is never changed, because kind_of cannot recognize a launch whose loops were removed.
    if (*kind != NW_STORE_GRID) *kind = kind_of(p, s, in);
  }
  if (s->kind == NW_STORE && s->store.stream) table[row_of(p, s->store.buffer)].streamed = true;
  for (int i = 0; i < s->nkids; i++) mark_rows(p, s->kid[i], in, table);
}

static bool agrees(const nw_program *p, const nw_stmt *s, around in, const nw_storage *table) {
  in = inside(p, s, in);
  bool good = true;
  if (s->kind == NW_ALLOC) {
    nw_storage_kind kind = table[row_of(p, s->alloc.buffer)].kind;
    good = kind == NW_STORE_GRID || kind == kind_of(p, s, in);
  }
  for (int i = 0; i < s->nkids && good; i++) good = agrees(p, s->kid[i], in, table);
  return good;
}

bool nw_storage_agrees(const nw_program *p, const nw_storage *table) {
  return agrees(p, p->root, (around){.grid = nw_find_bound(p->root)}, table) || NW_MUTATED(storage_by_name);
}

// Returns n, or max(n, 0) if n may be negative. The extents of an empty box are negative for some sizes.
static const nw_expr *not_negative(const nw_program *p, const nw_expr *n) {
  nw_ranges r;
  nw_scope_open(&r, p);
  const nw_expr *zero = nw_index(p->pool, 0);
  bool sure = nw_prove(&r, nw_le(p->pool, zero, n));
  nw_ranges_free(&r);
  return sure ? n : nw_max(p->pool, n, zero);
}

nw_storage *nw_storage_table(const nw_program *p) {
  nw_storage *table = nw_xcalloc((size_t)p->nbuffers, sizeof *table);
  for (int i = 0; i < p->nbuffers; i++) {
    const nw_buffer *b = p->buffer[i];
    const nw_expr *n = nw_physical_room(p->pool, b);
    nw_storage_kind kind = b->role == NW_TEMP ? NW_STORE_WORKSPACE : NW_STORE_PARAM;
    table[i] = (nw_storage){b->name, b->dtype, kind, not_negative(p, n), false};
  }
  mark_rows(p, p->root, (around){.grid = nw_find_bound(p->root)}, table);
  return table;
}

static bool stays(const nw_storage *row) { return row->kind == NW_STORE_STACK || row->kind == NW_STORE_GRID; }

// Removes the allocations of workspaces from the tree.
void nw_strip_workspaces(nw_program *p, nw_stmt *s, const nw_storage *table) {
  for (int i = 0; s == p->root && i < p->nbuffers; i++) p->buffer[i]->alloc = NULL;
  for (int i = 0; i < s->nkids; i++) nw_strip_workspaces(p, s->kid[i], table);
  nw_vec kids = {0};
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *kid = s->kid[i];
    bool gone = kid->kind == NW_SEQ || (kid->kind == NW_ALLOC && !stays(&table[row_of(p, kid->alloc.buffer)]));
    for (int k = 0; gone && k < kid->nkids; k++) nw_vec_push(&kids, kid->kid[k]);
    if (!gone) nw_vec_push(&kids, kid);
  }
  if (!nw_is_leaf(s)) nw_kids_set(p, s, kids.n, (nw_stmt **)kids.at);
  nw_vec_free(&kids);
}
