// Represents a loop nest that is independent of any program. The nest is made from a text, or by copying the nest of a
// program.
#pragma once
#include "nest/nest_text.h"

struct nw_loopnest {
  nw_ctx *ctx;
  nw_arena *arena;
  nw_text *text; // NULL if the nest was copied from a program and has not been printed yet
  bool given[NW_TEXT_PARAMS]; // true for each parameter that has a value in `value`
  int64_t value[NW_TEXT_PARAMS]; // values of parameters that replace the values in the text
  nw_affine_nest *nest;
};
