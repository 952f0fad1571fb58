// The back ends of simulated machines.
#pragma once
#include "target/target.h"

extern const nw_backend nwg_backend, nwd_backend;
// Makes the elements of all arguments available to a simulation, which may write the outputs.
bool nw_device_begin(nw_kernel *k);
