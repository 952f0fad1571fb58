// What the statements of a nest do.
#pragma once
#include "nest/nest_text.h"

// False: a failure, or interrupted.
bool nw_text_work(nw_ctx *c, const nw_text *t, const int64_t *value, nw_nest_work *out);
