// The readline front end.
#pragma once
#include "lua/host/host.h"

#define NWR_INTERRUPTED 130

int nwr_interactive(nwh *h); // runs the prompt until Ctrl-D; returns the exit status

// ---- history (history.c)

// An entry may have several lines of code. In the file of the history, each entry is one line.
void nwr_history_open(void);
void nwr_history_add(const char *entry);

// ---- scripts (script.c)

// Runs a script, or standard input if the path is "-". The `narg` values on top of the stack are its arguments.
int nwr_file(nwh *h, const char *path, int narg);
int nwr_string(nwh *h, const char *code); // runs the code of option -e
bool nwr_report(nwh *h, nwh_status status); // shows an error on stderr; returns true if there was none
bool nwr_colour(int fd);
bool nwr_was_interrupted(void); // true if the last chunk that nwr_report saw was interrupted
