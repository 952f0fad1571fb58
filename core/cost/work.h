// Counts the operations of a nest's statements.
#pragma once
#include "nest/nest_text.h"

// Counts the operations in all executions of all statements. Returns false on failure, or after an interrupt.
bool nw_text_work(nw_ctx *c, const nw_text *t, const int64_t *value, nw_nest_work *out);
