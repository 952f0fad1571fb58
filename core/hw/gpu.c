// What GPUs allow one launch, by name.
#include "hw/hw.h"

static const struct {
  const char *name;
  nw_gpu_info info;
} gpus[] = {
    {"default", {1024, {INT32_MAX, 65535, 65535, 1024, 1024, 64}, 48 * 1024}},
};

const nw_gpu_info *nw_gpu_find(const char *name) {
  for (int i = 0; i < NW_COUNT(gpus); i++)
    if (!strcmp(gpus[i].name, name)) return &gpus[i].info;
  return NULL;
}
