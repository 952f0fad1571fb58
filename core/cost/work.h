// The operations of a nest's statements.
#pragma once
#include "nest/nest_text.h"

// Counts the operations of each statement. False: failure, or interrupted.
bool nw_text_work(nw_ctx *c, const nw_text *t, const int64_t *value, nw_nest_work *out);
