// A loop nest that is not part of a program. It is made from a text or from a program.
#pragma once
#include "nest/nest_text.h"

struct nw_loopnest {
  nw_ctx *ctx;
  nw_arena *arena;
  nw_text *text; // NULL if the nest is from a program and its text is not made yet
  bool given[NW_TEXT_PARAMS]; // parameters whose values differ from those in the text
  int64_t value[NW_TEXT_PARAMS];
  nw_affine_nest *nest;
};
