// Prints the occupancies that NVIDIA's cuda_occupancy.h computes. tests/spec/occupancy.txt holds them:
//   cc -w -I"$CUDA_HOME/include" tests/tools/occupancy.c -o build/occupancy && build/occupancy >tests/spec/occupancy.txt
#include <cuda_occupancy.h>
#include <stdio.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))
enum { KIB = 1 << 10 };

typedef struct device { // as cudaGetDeviceProperties reports it
  const char *name;
  int major, minor, threads; // threads: of a multiprocessor
  size_t shared, block, optin, reserved; // shared memory of a multiprocessor and of a block, in bytes
  int sms;
} device;

static const device devices[] = {
    {"titan_x", 5, 2, 2048, 96 * KIB, 48 * KIB, 48 * KIB, 0, 24},
    {"t4", 7, 5, 1024, 64 * KIB, 48 * KIB, 64 * KIB, 0, 40},
    {"a100", 8, 0, 2048, 164 * KIB, 48 * KIB, 163 * KIB, KIB, 108},
    {"rtx_a6000", 8, 6, 1536, 100 * KIB, 48 * KIB, 99 * KIB, KIB, 84},
    {"rtx_4090", 8, 9, 1536, 100 * KIB, 48 * KIB, 99 * KIB, KIB, 128},
    {"h100", 9, 0, 2048, 228 * KIB, 48 * KIB, 227 * KIB, KIB, 132},
    {"h200", 9, 0, 2048, 228 * KIB, 48 * KIB, 227 * KIB, KIB, 132},
};
static const int threads[] = {1, 33, 64, 96, 160, 256, 288, 512, 768, 1024};
static const int registers[] = {16, 25, 32, 40, 64, 97, 168, 255};
static const size_t shared[][2] = {{0, 0},        {1, 0},     {3000, 1000}, {0, 8192},  {16384, 0},
                                   {30000, 3000}, {49152, 0}, {0, 65536},   {0, 101376}}; // static, dynamic

static const struct {
  unsigned factor;
  char letter;
} letters[] = {{OCC_LIMIT_WARPS, 'w'},         {OCC_LIMIT_BLOCKS, 'b'},   {OCC_LIMIT_REGISTERS, 'r'},
               {OCC_LIMIT_SHARED_MEMORY, 's'}, {OCC_LIMIT_BARRIERS, 'B'}, {OCC_LIMIT_VIRTUAL_RESOURCES, 'v'}};

// Prints the number of blocks, and a letter for each resource that limits it.
static void answer(const cudaOccDeviceProp *p, int n, int used, const size_t bytes[2]) {
  cudaOccFuncAttributes f = {.maxThreadsPerBlock = p->maxThreadsPerBlock,
                             .numRegs = used,
                             .sharedSizeBytes = bytes[0],
                             .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                             .maxDynamicSharedSizeBytes = bytes[1],
                             .numBlockBarriers = 1};
  cudaOccDeviceState state = {.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
  cudaOccResult r;
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, p, &f, &state, n, bytes[1])) {
    printf(" error");
    return;
  }
  printf(" %d", r.activeBlocksPerMultiprocessor);
  for (int i = 0; i < COUNT(letters); i++)
    if (r.limitingFactors & letters[i].factor) putchar(letters[i].letter);
}

static void print_device(const device *d) {
  cudaOccDeviceProp p = {d->major, d->minor, 1024,      d->threads, 65536,    65536,
                         32,       d->block, d->shared, d->sms,     d->optin, d->reserved};
  printf("machine %s\n", d->name);
  for (int i = 0; i < COUNT(threads); i++)
    for (int j = 0; j < COUNT(registers); j++) {
      printf("%d %d:", threads[i], registers[j]);
      for (int k = 0; k < COUNT(shared); k++) answer(&p, threads[i], registers[j], shared[k]);
      putchar('\n');
    }
}

int main(void) {
  printf("# cuda_occupancy.h %d.%d: threads, registers: for each number of shared bytes, the blocks and what limits "
         "them\n",
         __CUDA_OCC_MAJOR__, __CUDA_OCC_MINOR__);
  printf("shared");
  for (int k = 0; k < COUNT(shared); k++) printf(" %zu", shared[k][0] + shared[k][1]);
  putchar('\n');
  for (int i = 0; i < COUNT(devices); i++) print_device(&devices[i]);
  return 0;
}
