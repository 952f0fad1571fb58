#pragma once
#include "hw/machine.h"
bool nw_machine_usual(nw_ctx *c, nw_machine *m);
