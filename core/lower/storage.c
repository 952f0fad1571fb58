// Pass: which temporaries live in the frame of the kernel. Scope local means the stack: it needs a constant size, and
// all that is alive at once in a thread must fit NW_STACK_LIMIT. A local buffer that the threads of a parallel loop
// inside its life share is not one thread's: it becomes a workspace.
//
// Everything else is a workspace, made before the call: one, or one a thread when allocated inside a parallel loop.
#include "lower/pass.h"

#define NW_STACK_ALIGN 64

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

static bool fail_limit(nw_program *p, const nw_stmt *alloc, int64_t alive) {
  nw_fail(p->ctx, NW_ELIMIT, "Set its scope to global, or allocate it inside the loops that make it small.",
          "%s brings what is alive on the stack to %lld bytes; the limit is %d", alloc->alloc.buffer, (long long)alive,
          NW_STACK_LIMIT);
  return false;
}

// alive: bytes of stack held by the allocations around. In a launch nothing is on the stack of the host.
static bool place_on_stack(nw_program *p, nw_stmt *s, int64_t alive, bool grid) {
  if (grid && nw_is_launch(p, s)) return true;
  nw_buffer *b = s->kind == NW_ALLOC ? nw_find_buffer(p, s->alloc.buffer) : NULL;
  if (b && b->scope == NW_LOCAL && has_parallel(s)) b->scope = NW_GLOBAL;
  if (b && b->scope == NW_LOCAL) {
    int64_t n;
    if (!nw_is_int(s->alloc.extent[0], &n)) return fail_size(p, s);
    if (n > NW_STACK_LIMIT) return fail_limit(p, s, n);
    int64_t bytes = (n * nw_dtype_bytes(b->dtype) + NW_STACK_ALIGN - 1) / NW_STACK_ALIGN * NW_STACK_ALIGN;
    alive += bytes;
    if (alive > NW_STACK_LIMIT) return fail_limit(p, s, alive);
  }
  for (int i = 0; i < s->nkids; i++) {
    if (!place_on_stack(p, s->kid[i], alive, grid)) return false;
  }
  return true;
}

nw_program *nw_pass_storage(nw_program *p) { return place_on_stack(p, p->root, 0, nw_find_bound(p->root)) ? p : NULL; }

// ---- shapes

static void shape_temps(nw_program *p, const nw_stmt *s, bool *seen) {
  if (s->kind == NW_ALLOC) {
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
  for (int i = 0; i < s->nkids; i++) shape_temps(p, s->kid[i], seen);
}

// Once allocations are rows of elements, a temporary has the shape of its largest one.
void nw_shape_temps(nw_program *p) { shape_temps(p, p->root, NW_NEW_N(p->arena, bool, p->nbuffers)); }

// ---- the table

static int row_of(const nw_program *p, const char *buffer) {
  for (int i = 0; i < p->nbuffers; i++) {
    if (!strcmp(p->buffer[i]->name, buffer)) return i;
  }
  return -1;
}

typedef struct around {
  bool grid, launch, parallel; // does anything run on a grid; inside a launch; inside a parallel loop
} around;

static void mark_allocs(const nw_program *p, const nw_stmt *s, around in, nw_storage *table) {
  in.launch |= in.grid && nw_is_launch(p, s);
  if (s->kind == NW_ALLOC) {
    nw_storage *row = &table[row_of(p, s->alloc.buffer)];
    bool stack = p->buffer[row - table]->scope == NW_LOCAL;
    row->kind = in.launch     ? NW_STORE_GRID
                : stack       ? NW_STORE_STACK
                : in.parallel ? NW_STORE_PER_THREAD
                              : NW_STORE_WORKSPACE;
  }
  in.parallel |= s->kind == NW_LOOP && s->loop.mark == NW_PARALLEL;
  for (int i = 0; i < s->nkids; i++) mark_allocs(p, s->kid[i], in, table);
}

// A box may be empty, and for some sizes its extents then less than nothing.
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
    const nw_expr *n = nw_index(p->pool, 1);
    for (int d = 0; d < b->ndim; d++) n = nw_mul(p->pool, n, b->shape[d]);
    table[i] =
        (nw_storage){b->name, b->dtype, b->role == NW_TEMP ? NW_STORE_WORKSPACE : NW_STORE_PARAM, not_negative(p, n)};
  }
  mark_allocs(p, p->root, (around){.grid = nw_find_bound(p->root)}, table);
  return table;
}

static bool stays(const nw_storage *row) { return row->kind == NW_STORE_STACK || row->kind == NW_STORE_GRID; }

// Takes the allocations of workspaces out of the tree.
void nw_strip_workspaces(nw_program *p, nw_stmt *s, const nw_storage *table) {
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
