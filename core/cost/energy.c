// Estimates energy. For each kind of event, the energy is the number of events times the energy of one event in pJ. If
// the machine's record has no energy for a kind of event, this kind counts as 0 and gets no row.
#include "cost/energy.h"
#include <stdio.h>

static void add(nw_energy *e, const char *what, int detail, double count, const char *unit, double pj) {
  if (!(count > 0) || !(pj > 0)) return;
  nw_energy_row *r = &e->row[e->n++];
  *r = (nw_energy_row){.count = count, .unit = unit, .pj = pj, .joules = count * pj * 1e-12};
  if (detail)
    snprintf(r->name, sizeof r->name, what, detail);
  else
    snprintf(r->name, sizeof r->name, "%s", what);
}

static void add_numbers(const nw_machine *m, const nw_core_ops *all, nw_energy *e) {
  for (int c = 0; c < NW_CLASS_COUNT; c++)
    for (int b = 0; b < NW_ENERGY_BITS; b++) {
      char what[32];
      snprintf(what, sizeof what, "%s, %%d bits", nw_class_name((nw_class)c));
      add(e, what, 8 << b, all->numbers[c][b], "number", m->energy.op_pj[c][b]);
    }
}

void nw_energy_of(const nw_machine *m, const nw_core_ops *all, const nw_moved_bytes *moved, double seconds, int cores,
                  nw_energy *out) {
  int memory = m->nlevels;
  out->n = 0;
  add_numbers(m, all, out);
  add(out, "instructions", 0, nw_core_instructions(all), "instruction", m->energy.instruction);
  for (int i = 0; i < m->nlevels; i++) {
    add(out, "L%d read", i + 1, moved->read[i], "byte", m->level[i].read_pj);
    add(out, "L%d written", i + 1, moved->written[i], "byte", m->level[i].write_pj);
  }
  add(out, "memory read", 0, moved->read[memory], "byte", m->memory.read_pj);
  add(out, "memory written", 0, moved->written[memory], "byte", m->memory.write_pj);
  add(out, "static power", 0, seconds * cores, "second", m->energy.static_watts * 1e12);
}

double nw_energy_joules(const nw_energy *e) {
  double all = 0;
  for (int i = 0; i < e->n; i++) all += e->row[i].joules;
  return all;
}
