// A loop nest on its own, from a text or from a program. Later rooms read it, too.
#pragma once
#include "nest/nest_text.h"

struct nw_loopnest {
  nw_ctx *ctx;
  nw_arena *arena;
  nw_text *text; // NULL: from a program; the text is made when it is needed
  bool given[NW_TEXT_PARAMS]; // parameters that do not have the value in the text
  int64_t value[NW_TEXT_PARAMS];
  nw_affine_nest *nest;
};
