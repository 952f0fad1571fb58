// Registers the back ends of simulated machines, and holds the functions that they share.
#include "device/devices.h"
#include "run/kernel.h"
#include "nestwright/target.h"

bool nw_device_begin(nw_kernel *k) {
  for (int i = 0; i < k->exec->p->nbuffers; i++) {
    if (!k->arg[i]) continue;
    if (!nw_array_fetch(k->arg[i])) return false;
    if (k->exec->p->buffer[i]->role == NW_OUTPUT) nw_array_touch(k->arg[i]);
  }
  return true;
}

void nw_devices_provide(nw_ctx *c) {
  nw_target_provide(c, NW_MACHINE_GPU, &nwg_backend, NULL);
  nw_target_provide(c, NW_MACHINE_ACCELERATOR, &nwd_backend, NULL);
}
