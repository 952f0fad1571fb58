// Runs a fuzz target on the given files and folders, for compilers without libFuzzer.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ran;

static void run_file(const char *path) {
  FILE *f = fopen(path, "rb");
  uint8_t *data = NULL;
  size_t n = 0, got;
  if (!f) perror(path), exit(1);
  do {
    data = realloc(data, n + 65536);
    if (!data) abort();
    n += got = fread(data + n, 1, 65536, f);
  } while (got);
  fclose(f);
  LLVMFuzzerTestOneInput(data, n);
  free(data);
  ran++;
}

static void run_path(const char *path) {
  struct stat st;
  struct dirent **entry;
  if (stat(path, &st)) perror(path), exit(1);
  if (!S_ISDIR(st.st_mode)) {
    run_file(path);
    return;
  }
  int n = scandir(path, &entry, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    char inner[4096];
    snprintf(inner, sizeof inner, "%s/%s", path, entry[i]->d_name);
    if (entry[i]->d_name[0] != '.') run_path(inner);
    free(entry[i]);
  }
  if (n >= 0) free(entry);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) run_path(argv[i]);
  printf("%d inputs\n", ran);
  return ran == 0;
}
