// The back ends of simulated machines.
#pragma once
#include "target/target.h"

extern const nw_backend nwg_backend, nwd_backend;
