// Switches on a fault that is injected on purpose, to check that some test fails.
#include "base/base.h"
#include <stdlib.h>

#ifdef NW_MUTANTS
static const char *const mutant_name[] = {
#define NW_MUTANT(name, class, test, what) [NW_MUTANT_##name] = #name,
#include "base/mutants.def"
#undef NW_MUTANT
};

// The environment is read only once, since the simplifier may call this function a million times.
bool nw_mutant_on(nw_mutant m) {
  static _Atomic int on = -2; // -2: not read yet; -1: no fault is enabled
  int now = on;
  if (now == -2) {
    const char *name = getenv("NW_MUTANT");
    now = -1;
    for (int i = 0; name && i < (int)(sizeof mutant_name / sizeof *mutant_name); i++)
      if (!strcmp(name, mutant_name[i])) now = i;
    on = now;
  }
  return now == (int)m;
}
#endif
