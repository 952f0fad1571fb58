// Declares a run of a program on the simulated GPU. This header is private to device/gpu and to its tests.
#pragma once
#include "device/gpu/gpu.h"

typedef struct nwg_entry { // what is known of a kernel after its launches
  nwg_kernel *k; // the kernel of the last launch; NULL if there was none
  nw_arena *arena; // of k
  nw_gpu_kernel row;
  int64_t *times; // number of executions of each instruction
  nwg_counts *count; // for each site
  int64_t *runs; // for each loop and guard
  nwg_pattern *pattern; // for each site, the last pattern of its requests; the mask is 0 if there was none
  struct nwg_kinds *kinds; // the kinds of its blocks; NULL if no classes were simulated
} nwg_entry;

typedef struct nwg_classes { // of the indices of a dimension of the grid
  int64_t n;
  int64_t *first, *members; // for each class, its first index and the number of its indices
  int64_t *of; // the class of each of the first indices (nwg_classes_of)
} nwg_classes;

typedef struct nwg_run {
  nw_ctx *ctx;
  const nw_exec *exec;
  nw_launches *launches;
  const int64_t *sizes;
  nw_gpu_opts opts;
  bool blank; // there are no arrays: only counts are made
  nw_machine_gpu gpu; // the machine
  const char *machine;
  nw_arena *arena;
  nwg_buffer *buffer; // in the order of the program
  bool *own; // buffers whose data belongs to the run
  int nworkers; // most threads of the host
  nwg_worker *worker;
  int64_t *room; // for each worker and buffer, the number of elements of its memory
  struct nwg_caches *caches; // NULL if no caches are simulated
  nwg_entry *entry; // for each launch of the program
  nw_gpu_report *report;
  nwg_record record; // if something is watched
  const nw_program *source; // the program that was lowered; NULL if it is not known
  int64_t *registers; // of each launch, counted by ptxas; 0 if it is not known
} nwg_run;

// Runs a lowered program, as nw_interp_exec does, and returns a report. If `params` is NULL, only counts are made.
nw_gpu_report *nwg_simulate(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_view *params,
                            const nw_gpu_opts *o);

// ---- launch.c
bool nwg_launch(nwg_run *r, int number, const nw_launch *l, const int64_t extent[6], const int64_t *var);
// ---- classes.c
// Returns the classes of indices along dimension d: blocks whose indices are in the same class have equal counts. Returns
// NULL, with a diagnostic, if the accesses depend on data. The result has the classes of the first `known` indices. The caller
// frees it.
nwg_classes *nwg_classes_of(const nwg_run *r, const nwg_kernel *k, int d, const int64_t *var, int64_t known);
void nwg_classes_free(nwg_classes *all);
// ---- workers.c
// Gives the first n workers what the kernel needs to run that many blocks. Returns false, with a diagnostic, if there is not enough memory.
bool nwg_workers_open(nwg_run *r, int n, const nwg_kernel *k, const int64_t *var, int64_t blocks);
void nwg_workers_close(nwg_run *r, int n); // frees what only this kernel needs
void nwg_workers_free(nwg_run *r);
// ---- occupancy.c
// `counted`: the registers that ptxas has counted, or 0.
void nwg_occupancy(const nwg_run *r, const nwg_kernel *k, int64_t counted, nw_gpu_kernel *row);
// ---- registers.c
int64_t nwg_registers(const nwg_kernel *k); // an estimate of the registers of a thread
// ---- report.c
nw_gpu_report *nwg_report_new(const nwg_run *r);
bool nwg_report_findings(nw_gpu_report *r, const nwg_worker *w);
void nwg_report_fill(nw_gpu_report *r, const nwg_run *run);
void nwg_report_record(nw_gpu_report *r, nwg_record *record); // takes what was recorded
void nwg_report_seconds(nw_gpu_report *r, double seconds);
// ---- caches.c
struct nwg_caches *nwg_caches_open(nwg_run *r); // NULL, with a diagnostic, on failure
void nwg_caches_free(struct nwg_caches *c);
// ---- waves.c
int64_t nwg_wave(const nwg_run *r, const nw_gpu_kernel *row); // number of blocks that run at the same time
// Called in this order for a launch; `begin` and `end` around each simulated block. If the classes of blocks are simulated,
// `number` is that of the class. These functions return false, with a diagnostic, on failure.
bool nwg_caches_launch(nwg_run *r, nwg_entry *e, const nwg_kernel *k, nwg_classes *const *class, int64_t simulated);
bool nwg_caches_begin(nwg_worker *w, int64_t number);
bool nwg_caches_end(nwg_worker *w, int64_t number);
bool nwg_caches_finish(nwg_run *r, nwg_entry *e,
                       nwg_classes *const *class); // adds the hits to the counts of the kernel
void nwg_caches_leave(struct nwg_caches *c); // called in any case; c may be NULL
