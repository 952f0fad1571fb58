// Compiles and executes the instructions of a warp on the simulated GPU. The lanes hold the elements of fragments in
// local arrays. An instruction takes them from the places that the hardware defines (interp/instruction.h).
#include "device/gpu/compile.h"
#include "interp/instruction.h"
#include "ir/program/intrinsic.h"

enum { ROW = 8 }; // elements at the address of a lane

// ---- compilation

static bool compile_fragment(nwg_compiling *c, const nw_tile *t, nwg_fragment *to) {
  to->buffer = nwg_buffer_named(c, t->buffer);
  to->index = to->buffer >= 0 ? nwg_expr(c, t->index) : 0;
  return to->index != 0;
}

// Compiles the load of the row whose address a lane gives.
static bool compile_row(nwg_compiling *c, const nw_intrinsic *in, const nw_tile *t, nwg_fragment *to) {
  const nw_expr *row = nw_ramp(c->pool, nw_fragment_row(c->pool, in->instruction, t), nw_index(c->pool, 1), ROW);
  to->buffer = nwg_buffer_named(c, t->buffer);
  to->index = nwg_expr(c, nw_load(c->pool, (nw_type){(uint8_t)in->instruction->dtype, ROW}, t->buffer, 1, &row));
  return to->index != 0;
}

bool nwg_compile_instruction(nwg_compiling *c, const nw_stmt *s, const nw_intrinsic *in, nwg_stmt *to) {
  bool good = true;
  c->nmade = 0;
  to->intrinsic = in;
  to->number = c->k->nruns++;
  to->value.from = c->k->ninstrs;
  for (int i = 0; i < in->nargs && good; i++)
    good = in->arg[i].fragment.n ? compile_fragment(c, &s->call.tile[i], &to->fragment[i])
                                 : compile_row(c, in, &s->call.tile[i], &to->fragment[i]);
  to->value.to = c->k->ninstrs;
  return good;
}

// ---- execution

// Returns the address of place i of a lane.
static char *place(const nwg_worker *w, const nwg_fragment *f, int lane, int i) {
  const nwg_buffer *b = &w->k->buffer[f->buffer];
  int64_t at = w->warp * b->count * NWG_LANES + (NWG_I(w, f->index)[lane] + i) * NWG_LANES + lane;
  return w->mem[f->buffer].data + at * b->bytes;
}

// Moves the elements that the lanes hold to or from `all`, which has those of lane 0 first.
static void move(const nwg_worker *w, const nwg_fragment *f, int n, char *all, bool out) {
  size_t bytes = (size_t)w->k->buffer[f->buffer].bytes;
  for (int lane = 0; lane < NWG_LANES; lane++)
    for (int i = 0; i < n; i++, all += bytes)
      memcpy(out ? place(w, f, lane, i) : all, out ? all : place(w, f, lane, i), bytes);
}

// Notes that the places were written.
static void note_written(const nwg_worker *w, const nwg_fragment *f, int n) {
  const nwg_buffer *b = &w->k->buffer[f->buffer];
  uint64_t *write = w->mem[f->buffer].write;
  for (int lane = 0; write && lane < NWG_LANES; lane++)
    for (int i = 0; i < n; i++)
      write[w->warp * b->count * NWG_LANES + (NWG_I(w, f->index)[lane] + i) * NWG_LANES + lane] = w->now;
}

static void product(const nwg_worker *w, const nwg_stmt *s) {
  char held[3][NWG_LANES * NW_FRAGMENT_MOST * 4];
  const nw_intrinsic *in = s->intrinsic;
  for (int i = 0; i < 3; i++) move(w, &s->fragment[i], in->arg[i].fragment.n, held[i], false);
  nwi_product(in->instruction, held[0], held[1], (float *)(void *)held[2]);
  move(w, &s->fragment[2], in->arg[2].fragment.n, held[2], true);
}

static void load(const nwg_worker *w, const nwg_stmt *s) {
  const nw_intrinsic *in = s->intrinsic;
  uint16_t element[NWG_LANES][ROW];
  const void *rows[NWG_LANES];
  char held[NWG_LANES * NW_FRAGMENT_MOST * 4];
  for (int lane = 0; lane < NWG_LANES; lane++) {
    for (int i = 0; i < ROW; i++) {
      nwi_cell v = {.f = NWG_F(w, s->fragment[0].index)[i * NWG_LANES + lane]};
      nwi_write(in->instruction->dtype, element[lane], i, &v);
    }
    rows[lane] = element[lane];
  }
  nwi_load_matrices(in->instruction, rows, held);
  move(w, &s->fragment[1], in->arg[1].fragment.n, held, true);
}

// The first lanes give the addresses of a load. All lanes of the warp must execute the instruction.
void nwg_run_instruction(nwg_worker *w, const nwg_stmt *s, uint32_t mask) {
  const nw_instruction *k = s->intrinsic->instruction;
  int result = s->intrinsic->nargs - 1;
  uint32_t missing = w->full[w->warp] & ~mask;
  w->issued++;
  w->active += __builtin_popcount(mask);
  w->runs[s->number]++;
  if (missing)
    nwg_found_divergence(w, s->stmt, w->warp * w->k->lanes + __builtin_ctz(mask),
                         w->warp * w->k->lanes + __builtin_ctz(missing));
  w->f.execute(w, s->value, k->depth ? mask : mask & (uint32_t)((UINT64_C(1) << 8 * k->matrices) - 1));
  if (w->mem[s->fragment[result].buffer].data) (k->depth ? product : load)(w, s);
  note_written(w, &s->fragment[result], s->intrinsic->arg[result].fragment.n);
}
