// The embedded Lua: evaluate, display, complete, inspect, interrupt. The REPL and the kernel share it.
#pragma once
#include "nestwright/nestwright.h"
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct nwh nwh;

typedef enum nwh_status {
  NWH_OK,
  NWH_ERROR, // the error is on top of the stack, its traceback in nwh_traceback
  NWH_INTERRUPTED, // the user stopped it
} nwh_status;

// ---- host.c
nwh *nwh_open(void); // a state with the libraries, and paths that find nestwright; NULL: no memory
void nwh_close(nwh *h);
lua_State *nwh_lua(nwh *h);
// Text of the error on top of the stack, as the user should see it; pops it. Heap.
char *nwh_error_text(nwh *h, bool colour);

// ---- eval.c
// Runs a chunk, first as an expression. Results are left on the stack, *results of them; *quiet when it ended in ";".
nwh_status nwh_eval(nwh *h, const char *code, const char *name, int *results, bool *quiet);
bool nwh_incomplete(nwh *h, const char *code);
// Calls the function below `nargs` arguments, with traceback and interrupts.
nwh_status nwh_call(nwh *h, int nargs, int nresults);
// Pushes a function of a module of the library; false, and a message instead, if that cannot be loaded.
bool nwh_push_function(nwh *h, const char *module, const char *name);
// Shows values on top of the stack (popped) as the prompt does; heap, NULL when there is nothing to show.
char *nwh_display(nwh *h, int n, bool colour);
// What can stand at `cursor`: a NULL-terminated heap list of heap strings (NULL: none); [*start, cursor) is replaced.
char **nwh_complete(nwh *h, const char *text, int cursor, int *start);
char *nwh_inspect(nwh *h, const char *text); // help for a name or expression; heap, NULL: unknown
char *nwh_notes(nwh *h); // remarks steps left since the last call; heap, NULL: none

bool nwh_is_question(const char *code); // ?name, or name?: help is asked for

// ---- interrupt.c
// Takes SIGINT from now on: it stops what runs in h, or calls idle() when nothing does (in the signal handler).
void nwh_catch_interrupts(nwh *h, void (*idle)(void));
void nwh_run_begin(nwh *h);
bool nwh_run_end(nwh *h); // true if it was interrupted
bool nwh_interrupted(const nwh *h); // was what runs asked to stop?
void nwh_open_coroutines(nwh *h); // resume, wrap and close that the interrupt can see through
