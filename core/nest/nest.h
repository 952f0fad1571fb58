// Represents a loop nest that is independent of any program. The nest is made from a text, or by copying the nest of a
// program.
#pragma once
#include "nest/nest_text.h"

struct nw_loopnest {
  nw_ctx *ctx;
  nw_arena *arena;
  nw_text *text; // NULL if the nest was copied from a program
  bool given[NW_TEXT_PARAMS]; // true for each parameter with a value that is not from the text
  int64_t value[NW_TEXT_PARAMS]; // the value of each parameter of the text
  nw_affine_nest *nest;
};
