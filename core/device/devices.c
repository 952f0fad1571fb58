// Registers the back ends of simulated machines.
#include "device/devices.h"
#include "nestwright/target.h"

void nw_devices_provide(nw_ctx *c) {
  nw_target_provide(c, NW_MACHINE_GPU, &nwg_backend, NULL);
  nw_target_provide(c, NW_MACHINE_ACCELERATOR, &nwd_backend, NULL);
}
