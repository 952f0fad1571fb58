// A loop nest by itself: of a text, or of a program. The rooms after this one read it, too.
#pragma once
#include "nest/nest_text.h"

struct nw_loopnest {
  nw_ctx *ctx;
  nw_arena *arena;
  nw_text *text; // NULL: of a program, written when it is asked for
  bool given[NW_TEXT_PARAMS]; // parameters that do not have the value in the text
  int64_t value[NW_TEXT_PARAMS];
  nw_affine_nest *nest;
};
