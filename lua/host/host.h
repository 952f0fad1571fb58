// Declares the embedded Lua interpreter, which the REPL and the Jupyter kernel share. It has evaluation, display,
// completion, inspection and interrupts. "heap" in a comment means that the caller frees the result.
#pragma once
#include "nestwright/nestwright.h"
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct nwh nwh;

typedef enum nwh_status {
  NWH_OK,
  NWH_ERROR, // the code failed; the error is on top of the stack
  NWH_INTERRUPTED, // the user interrupted the code; an error is on top of the stack
} nwh_status;

// ---- the state (host.c)
nwh *nwh_open(void); // opens a state with Nestwright's libraries and search paths; NULL if memory is lacking
void nwh_close(nwh *h);
lua_State *nwh_lua(nwh *h);
// States whether a script or the prompt is running. The remarks of a script's steps are written to standard error when
// they arise.
void nwh_in_script(nwh *h, bool runs);
// Pops the error on top of the stack and returns its text for the user; heap.
char *nwh_error_text(nwh *h, bool colour);

// ---- evaluation (eval.c)

// Runs a chunk. The chunk is an expression, or statements, or statements with an expression after them. Leaves the
// results on the stack and sets *results to their number. Sets *quiet if the chunk ended in ";".
nwh_status nwh_eval(nwh *h, const char *code, const char *name, int *results, bool *quiet);
bool nwh_incomplete(nwh *h, const char *code); // true if more lines could complete the chunk
// True if an incomplete chunk is a slip that the user does not continue, such as a block of Python.
bool nwh_ends(nwh *h, const char *code);
// Stores the source of a chunk, which error messages show. Does nothing if the name does not begin with "=".
void nwh_keep_source(nwh *h, const char *name, const char *code);
// Calls the function that lies on the stack below its `nargs` arguments. Errors get a traceback, and Ctrl-C interrupts
// the call.
nwh_status nwh_call(nwh *h, int nargs, int nresults);
// Pushes a function of a module of the library. If the module cannot be loaded, pushes a message and returns false.
bool nwh_push_function(nwh *h, const char *module, const char *name);
// Pops n values from the stack and formats them as the prompt does; heap. Returns NULL if there is nothing to show.
char *nwh_display(nwh *h, int n, bool colour);
// Returns the completions at `cursor`: a NULL-terminated heap list of heap strings, or NULL if there are none. A
// completion replaces the text in [*start, cursor). Sets *files to true if the name of a file may be there too; `files`
// may be NULL.
char **nwh_complete(nwh *h, const char *text, int cursor, int *start, bool *files);
char *nwh_inspect(nwh *h, const char *text); // help for a name; heap; NULL if the library fails
char *nwh_notes(nwh *h); // notes of the steps since the last call; heap; NULL if there are none

bool nwh_is_question(const char *code); // true for ?name or name?, which request help

// ---- interrupts (interrupt.c)

// Installs a SIGINT handler. The handler stops the code that runs in h. If no code runs, the handler calls idle().
void nwh_catch_interrupts(nwh *h, void (*idle)(void));
void nwh_run_begin(nwh *h);
bool nwh_run_end(nwh *h); // true if the code was interrupted
bool nwh_interrupted(const nwh *h); // true if the user has interrupted the running code
void nwh_open_coroutines(nwh *h); // installs versions of resume, wrap and close that can be interrupted
