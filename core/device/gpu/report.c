// The report of a simulation.
#include "device/gpu/code.h"
#include "device/gpu/kinds.h"
#include <stdlib.h>

typedef struct kinds {
  int n, nturns;
  nw_gpu_block_kind *kind;
  nw_gpu_turn *turn;
} kinds;

struct nw_gpu_report {
  nw_arena *arena; // holds the names
  double seconds;
  const char *machine;
  int nfindings, naccesses, nkernels;
  nw_gpu_finding *finding;
  nw_gpu_access *access;
  nw_gpu_kernel *kernel;
  kinds *kinds; // of each kernel
  nwg_record record;
  nw_gpu_units units;
  nwg_code_room code;
};

_Static_assert(NW_CLASS_COUNT <= NW_GPU_CLASSES, "a row of a kernel has a number for each class");

nw_gpu_report *nwg_report_new(const nwg_run *r) {
  nw_gpu_report *out = nw_xcalloc(1, sizeof *out);
  out->arena = nw_arena_new();
  out->machine = nw_arena_strdup(out->arena, r->machine);
  out->units = (nw_gpu_units){r->gpu.sector, r->gpu.line, r->gpu.banks, r->gpu.limit.warp};
  return out;
}

static void free_kinds(kinds *all) {
  for (int i = 0; i < all->n; i++) free(all->kind[i].access);
  free(all->kind);
  free(all->turn);
}

void nw_gpu_report_free(nw_gpu_report *r) {
  if (!r) return;
  for (int i = 0; i < r->nkernels; i++) free_kinds(&r->kinds[i]);
  free(r->kinds);
  free(r->finding);
  free(r->access);
  free(r->kernel);
  free(r->record.request);
  free(r->record.span);
  free(r->code.part);
  free(r->code.access);
  nw_arena_free(r->arena);
  free(r);
}

static nw_gpu_finding *known(nw_gpu_report *r, const nw_gpu_finding *f) {
  for (int i = 0; i < r->nfindings; i++) {
    nw_gpu_finding *old = &r->finding[i];
    bool same = old->buffer == f->buffer || (old->buffer && f->buffer && !strcmp(old->buffer, f->buffer));
    if (same && old->fault == f->fault && old->kernel == f->kernel && old->second.id == f->second.id) return old;
  }
  return NULL;
}

typedef struct binding {
  int id; // of the statement
  bool blocks; // true: loops bound to blocks; false: to threads
  const nw_stmt *loop;
} binding;

static bool see_binding(void *env, const nw_path *path) {
  binding *b = env;
  if (path->at[path->n - 1]->id != b->id) return true;
  for (int i = 0; i < path->n; i++) {
    const nw_stmt *l = path->at[i];
    int dim = nw_grid_dim(l);
    if (dim < 0 || (dim < 3) != b->blocks || !l->unsafe) continue;
    if (!b->loop || l->step > b->loop->step) b->loop = l;
  }
  return true;
}

// If a step that was not judged bound the loop whose iterations race, the place of a race names this step. Later steps may
// have changed the statement, and they are not the reason.
static void name_binding(nw_gpu_finding *f, const nw_program *p) {
  binding b = {.id = f->second.id, .blocks = f->fault == NW_GPU_RACE_BLOCKS};
  if (f->fault != NW_GPU_RACE && !b.blocks) return;
  nw_walk(p, see_binding, &b);
  if (b.loop) f->second.step = b.loop->step;
}

bool nwg_report_findings(nw_gpu_report *r, const nwg_worker *w) {
  for (int i = 0; i < w->nfindings; i++) {
    nw_gpu_finding f = w->finding[i], *old = known(r, &f);
    if (old) {
      old->times += f.times;
      continue;
    }
    if (f.buffer) f.buffer = nw_arena_strdup(r->arena, f.buffer);
    r->finding = nw_xrealloc(r->finding, sizeof f * (size_t)(r->nfindings + 1));
    r->finding[r->nfindings++] = f;
  }
  return true;
}

// ---- rows

const char *nwg_scope_name(const nwg_buffer *b) {
  static const char *const name[] = {"global", "shared", "warp", "local"};
  return b->device ? name[NWG_GLOBAL] : name[b->space];
}

// Sets *a to an access of a kernel with these counts.
static void set_access(nw_gpu_access *a, const nwg_code_room *room, int kernel, const nwg_kernel *k, int site,
                       const nwg_counts *c) {
  const nwg_site *s = &k->site[site];
  const nwg_buffer *b = &k->buffer[s->buffer];
  *a = (nw_gpu_access){.kernel = kernel, .id = s->stmt->id, .step = s->stmt->step};
  a->buffer = nw_arena_strdup(room->arena, b->name);
  a->scope = nwg_scope_name(b);
  a->bytes = b->bytes * s->n;
  a->write = s->write, a->atomic = s->atomic, a->async = s->async;
  a->requests = c->requests, a->lanes = c->lanes, a->sectors = c->sectors, a->lines = c->lines;
  a->wavefronts = c->wavefronts, a->l1_hits = c->l1_hits, a->l2_hits = c->l2_hits;
  memcpy(a->degree, c->degree, sizeof a->degree);
  const nwg_access_code *code = &room->access[site];
  a->part = code->part;
  a->compiled = code->share * (double)c->requests;
  a->array_bytes = b->count * b->bytes;
  a->compiled_wavefronts = code->waves > 0 ? code->waves * a->compiled : code->share * (double)c->wavefronts;
}

// Two kinds of accesses are not counted: the read of an atomic update, which is a part of its store, and accesses to
// elements in registers.
static bool is_counted(const nwg_site *s) { return !s->own && !s->held; }

// Sets the row of a kind of blocks. It has the estimates for a kernel that consists only of the blocks of this kind.
static void set_kind(nw_gpu_block_kind *out, const nwg_code_room *all, const nwg_entry *e, const nwg_kind *from,
                     int kernel) {
  const nwg_kernel *k = e->k;
  nwg_code_room room = {.arena = all->arena, .pool = all->pool, .gpu = all->gpu};
  nwg_entry own = {.k = e->k, .row = e->row, .count = from->count, .runs = from->runs, .pattern = e->pattern};
  own.row.blocks = from->blocks, own.row.warps = from->blocks * k->warps;
  nwg_estimate_code(&room, &own, kernel);
  *out = (nw_gpu_block_kind){.blocks = from->blocks, .barriers = from->barriers, .part = *room.part};
  out->access = nw_xcalloc((size_t)k->nsites + 1, sizeof *out->access);
  for (int s = 0; s < k->nsites; s++)
    if (is_counted(&k->site[s])) set_access(&out->access[out->naccesses++], &room, kernel, k, s, &from->count[s]);
  free(room.part);
  free(room.access);
}

static void add_kinds(nw_gpu_report *r, nwg_entry *e, int kernel) {
  kinds *out = &r->kinds[kernel];
  nwg_kinds *from = e->kinds;
  if (!from || from->n < 2) return;
  out->kind = nw_xcalloc((size_t)from->n, sizeof *out->kind);
  for (; out->n < from->n; out->n++) set_kind(&out->kind[out->n], &r->code, e, &from->kind[out->n], kernel);
  if (from->lost) return;
  out->nturns = from->norder, out->turn = from->order;
  from->order = NULL;
}

static void add_kernel(nw_gpu_report *r, nwg_entry *e) {
  nw_gpu_kernel *row = &e->row;
  for (int i = 0; i < e->k->ninstrs; i++) {
    int class = e->k->instr[i].class;
    if (class != NW_CLASS_NONE && class != NW_CLASS_LOAD) row->instructions[class] += e->times[i];
  }
  for (int i = 0; i < e->k->nsites; i++)
    row->instructions[e->k->site[i].write ? NW_CLASS_STORE : NW_CLASS_LOAD] += e->count[i].requests;
  r->kernel[r->nkernels++] = *row;
}

void nwg_report_fill(nw_gpu_report *r, const nwg_run *run) {
  int sites = 0;
  for (int i = 0; i < r->nfindings; i++) name_binding(&r->finding[i], run->exec->p);
  r->code.arena = r->arena, r->code.gpu = &run->gpu, r->code.pool = run->launches->p->pool;
  for (int i = 0; i < run->launches->n; i++) sites += run->entry[i].k ? run->entry[i].k->nsites : 0;
  r->access = nw_xcalloc((size_t)sites + 1, sizeof *r->access);
  r->kernel = nw_xcalloc((size_t)run->launches->n + 1, sizeof *r->kernel);
  r->kinds = nw_xcalloc((size_t)run->launches->n + 1, sizeof *r->kinds);
  for (int i = 0; i < run->launches->n; i++) {
    nwg_entry *e = &run->entry[i];
    if (e->k) nwg_estimate_code(&r->code, e, r->nkernels);
    for (int s = 0; e->k && s < e->k->nsites; s++)
      if (is_counted(&e->k->site[s]))
        set_access(&r->access[r->naccesses++], &r->code, r->nkernels, e->k, s, &e->count[s]);
    if (!e->k) {
      r->kernel[r->nkernels++] = e->row;
      continue;
    }
    add_kinds(r, e, r->nkernels);
    add_kernel(r, e);
  }
}

void nwg_report_record(nw_gpu_report *r, nwg_record *record) {
  r->record = *record;
  *record = (nwg_record){NULL};
  for (int i = 0; i < r->record.nspans; i++) {
    nw_warp_span *s = &r->record.span[i];
    if (s->buffer) s->buffer = nw_arena_strdup(r->arena, s->buffer);
    for (int k = 0; k < s->nloops; k++) s->loop[k].name = nw_arena_strdup(r->arena, s->loop[k].name);
  }
}

void nwg_report_seconds(nw_gpu_report *r, double seconds) { r->seconds = seconds; }

// ---- reading

int nw_gpu_findings(const nw_gpu_report *r) { return r->nfindings; }
const nw_gpu_finding *nw_gpu_finding_at(const nw_gpu_report *r, int i) { return &r->finding[i]; }
int nw_gpu_accesses(const nw_gpu_report *r) { return r->naccesses; }
const nw_gpu_access *nw_gpu_access_at(const nw_gpu_report *r, int i) { return &r->access[i]; }
int nw_gpu_kernels(const nw_gpu_report *r) { return r->nkernels; }
const nw_gpu_kernel *nw_gpu_kernel_at(const nw_gpu_report *r, int i) { return &r->kernel[i]; }
int nw_warp_requests(const nw_gpu_report *r) { return r->record.nrequests; }
const nw_warp_request *nw_warp_request_at(const nw_gpu_report *r, int i) { return &r->record.request[i]; }
int64_t nw_warp_requests_seen(const nw_gpu_report *r) { return r->record.seen; }
int nw_warp_spans(const nw_gpu_report *r) { return r->record.nspans; }
const nw_warp_span *nw_warp_span_at(const nw_gpu_report *r, int i) { return &r->record.span[i]; }
nw_gpu_units nw_gpu_units_of(const nw_gpu_report *r) { return r->units; }
int nw_gpu_parts(const nw_gpu_report *r) { return r->code.nparts; }
const nw_gpu_part *nw_gpu_part_at(const nw_gpu_report *r, int i) { return &r->code.part[i]; }
int nw_gpu_block_kinds(const nw_gpu_report *r, int kernel) { return r->kinds[kernel].n; }
const nw_gpu_block_kind *nw_gpu_block_kind_at(const nw_gpu_report *r, int kernel, int i) {
  return &r->kinds[kernel].kind[i];
}
int nw_gpu_turns(const nw_gpu_report *r, int kernel) { return r->kinds[kernel].nturns; }
const nw_gpu_turn *nw_gpu_turn_at(const nw_gpu_report *r, int kernel, int i) { return &r->kinds[kernel].turn[i]; }
const char *nw_gpu_class(int i) { return i < NW_CLASS_COUNT ? nw_class_name((nw_class)i) : NULL; }
double nw_gpu_seconds(const nw_gpu_report *r) { return r->seconds; }
const char *nw_gpu_machine(const nw_gpu_report *r) { return r->machine; }
