// Declares the target of a program. A target consists of the record of a machine, the limits that follow from the
// record, the features of the CPU, a back end, and a cost model. The back end makes and runs code for the machine. The
// cost model predicts the time of programs. A program holds a reference to its target. Steps, passes, code generators
// and models get all information about the machine from the target.
#pragma once
#include "hw/machine.h"

typedef struct nw_scope_limit {
  char name[24]; // global, local, shared, warp, register, or a buffer of an accelerator
  const char *owner; // the owner of the memory: "the machine", "a thread", "a warp" or "a block"
  int64_t bytes;
} nw_scope_limit;

#define NW_TARGET_SCOPES (NW_MACHINE_BUFFERS + 5)

typedef struct nw_limits {
  int64_t lanes; // maximal number of lanes of a vectorized loop
  int64_t registers; // number of vector registers of a core; for a GPU, number of registers of a thread
  nw_launch_limit launch;
  int nscopes;
  nw_scope_limit scope[NW_TARGET_SCOPES];
} nw_limits;

// The C compiler that links object files for a target.
typedef struct nw_linker {
  const char *command; // NULL for the system's own compiler
  const char *package; // the Debian package that contains this compiler
  const char *const *libraries; // libraries that kernels call; ends with NULL
} nw_linker;

// A back end makes code for a kind of machine, and runs the code if such a machine is available. The type nw_kernel is
// defined in run/.
typedef struct nw_backend {
  const char *name, *doc;
  bool (*compile)(nw_kernel *k, const nw_build_opts *o); // emits code; also loads it if the machine is available
  char *(*text)(nw_kernel *k, const char *view); // text of the code; NULL without a diagnostic if there is no such view
  // `object` makes an object file for the linker, in heap memory. Both are NULL for a back end that makes no libraries.
  bool (*object)(nw_kernel *k, const char *entry, char **data, size_t *bytes);
  nw_linker (*linker)(const nw_target *t);
  bool (*call)(nw_kernel *k); // runs the kernel, whose arguments and workspaces are prepared
  void (*unload)(nw_kernel *k); // NULL if there is nothing to free
  int64_t (*bytes)(const nw_kernel *k); // size of the loaded code; NULL for a back end that makes no code
  // The next three are NULL for a back end that runs the code in this process. `begin` gives the kernel memory on the
  // device, copies its inputs there, and prepares for calls until `end`. `seconds` runs it several times and returns the
  // seconds of one time, or -1, with a diagnostic, on failure.
  bool (*begin)(nw_kernel *k);
  void (*end)(nw_kernel *k);
  double (*seconds)(nw_kernel *k, int64_t times);
  bool (*serves)(const nw_machine *m); // true if it makes code for this machine; NULL: for all machines
  const char *views; // the names of the views of the code, for hints
  const char *files; // the files that an export can write, for hints
  bool no_shuffles; // the lanes of a warp exchange values only through memory
  const char *untimed; // the reason why runs of its kernels have no times; NULL if they have times
  const char *counts; // hint for a kernel without times: what counts its work instead
} nw_backend;

// A cost model predicts the time of a program on a kind of machine, and gives the reasons.
typedef struct nw_cost_model {
  const char *name, *doc;
  nw_cost *(*cost)(nw_ctx *c, const nw_program *p, const nw_cost_opts *o);
} nw_cost_model;

struct nw_target {
  int refs;
  nw_machine machine;
  nw_limits limit;
  nw_features features;
  const nw_backend *backend; // NULL if no code can be generated for the target
  const nw_cost_model *model; // NULL if costs cannot be predicted
};

nw_target *nw_target_host(nw_ctx *c); // this host, as the system describes it; borrowed
bool nw_target_here(const nw_target *t); // true if code for the target runs on this host
const nw_scope_limit *nw_target_scope(const nw_target *t, const char *name); // NULL if there is no scope of that name
// Returns the features that both the target and this host have. Code for the target may use them on this host.
nw_features nw_target_features_here(const nw_target *t);
// Registers a back end and a model for a kind of machine. Called when a session starts. The host's target, and all
// targets that are made later, use this model and the first of these back ends that serves the machine.
void nw_target_provide(nw_ctx *c, nw_machine_kind kind, const nw_backend *backend, const nw_cost_model *model);
