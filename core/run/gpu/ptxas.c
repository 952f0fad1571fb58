// Asks ptxas, NVIDIA's assembler, how many registers the kernels of a program need.
#include "run/gpu/ptxas.h"
#include "run/kernel.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VARIABLE "NESTWRIGHT_PTXAS"
static const double PATIENCE = 20; // seconds that ptxas may take

struct nw_ptxas { // what it has said about a text
  char *text, *said;
  struct nw_ptxas *next;
};
enum { KEPT = 64 }; // texts

// ---- the program

// Returns the path of ptxas on the heap, or NULL if it is not installed.
static char *find_ptxas(void) {
  const char *given = getenv(VARIABLE), *paths = getenv("PATH");
  if (given) return access(given, X_OK) ? NULL : nw_xstrdup(given);
  while (paths && *paths) {
    int n = (int)strcspn(paths, ":");
    char path[4096];
    if (n && snprintf(path, sizeof path, "%.*s/ptxas", n, paths) < (int)sizeof path && !access(path, X_OK))
      return nw_xstrdup(path);
    paths += n + (paths[n] == ':');
  }
  glob_t g;
  char *last = NULL;
  if (!glob("/usr/local/cuda*/bin/ptxas", 0, NULL, &g)) {
    last = nw_xstrdup(g.gl_pathv[g.gl_pathc - 1]);
    globfree(&g);
  }
  return last;
}

typedef struct patience {
  double until;
  bool ended;
} patience;

static bool is_over(void *env) {
  patience *p = env;
  return p->ended = p->ended || nw_now() > p->until;
}

// Runs ptxas on a text. Returns what it says, on the heap, or NULL, without a diagnostic, if it fails or takes too long. A
// diagnostic says that the user has interrupted it.
static char *run_ptxas(nw_ctx *c, const char *path, const char *gpu, const char *text) {
  const char *argv[] = {path, "-v", "-arch", gpu, "-o", "/dev/null", "/dev/stdin", NULL};
  patience p = {.until = nw_now() + PATIENCE};
  nw_child child = {
      .what = "ptxas counts registers", .input = text, .ninput = strlen(text), .stopped = is_over, .env = &p};
  bool ran = nw_child_run(c, argv, &child);
  if (!ran && p.ended) c->interrupted = 0;
  if (!ran && (p.ended || !nw_stopped(c))) nw_clear(c);
  free(child.out);
  if (ran && !child.status) return child.said;
  free(child.said);
  return NULL;
}

// ---- what is known

void nw_ptxas_close(nw_session *s) {
  while (s->ptxas) {
    struct nw_ptxas *first = s->ptxas;
    s->ptxas = first->next;
    free(first->text);
    free(first->said);
    free(first);
  }
}

// Keeps what ptxas has said about the last texts.
static void keep(nw_session *s, char *text, char *said) {
  struct nw_ptxas *p = nw_xcalloc(1, sizeof *p), **at = &s->ptxas;
  *p = (struct nw_ptxas){.text = text, .said = said, .next = s->ptxas};
  s->ptxas = p;
  for (int i = 0; i < KEPT && *at; i++) at = &(*at)->next;
  if (!*at) return;
  nw_session old = {.ptxas = *at};
  *at = NULL;
  nw_ptxas_close(&old);
}

// Returns what ptxas says about a text for a GPU; NULL as run_ptxas does.
static const char *said_about(nw_ctx *c, const char *path, const char *gpu, const char *ptx) {
  nw_session *s = nw_session_of(c);
  nw_str text = {0};
  nw_str_fmt(&text, "%s %s\n%s", path, gpu, ptx);
  for (const struct nw_ptxas *p = s->ptxas; p; p = p->next)
    if (!strcmp(p->text, text.s)) return nw_str_free(&text), p->said;
  char *said = run_ptxas(c, path, gpu, ptx);
  if (!said) return nw_str_free(&text), NULL;
  keep(s, nw_str_take(&text), said);
  return said;
}

// ---- registers

// Returns the number of registers that ptxas says a kernel uses; 0 if it does not say it.
static int64_t registers_of(const char *said, const char *kernel) {
  char head[300];
  int n = 0;
  snprintf(head, sizeof head, "Compiling entry function '%s'", kernel);
  const char *at = strstr(said, head), *used = at ? strstr(at, "Used ") : NULL,
             *other = at ? strstr(at + 1, "Compiling ") : NULL;
  if (used && (!other || used < other)) sscanf(used, "Used %d registers", &n);
  return n;
}

// Returns the program for an NVIDIA GPU, with a reference. For a simulated GPU, this is the one that is simulated.
static nw_program *aimed(nw_ctx *c, const nw_program *p, const nw_machine *m) {
  nw_machine real = *m;
  *real.gpu.simulates = 0;
  if (!*m->gpu.simulates && !strcmp(p->target->machine.name, m->name)) return nw_program_retain((nw_program *)p);
  nw_target *t = nw_target_new(c, &real);
  if (!t) return NULL;
  nw_program *q = nw_program_clone(p);
  nw_program_aim(q, t);
  nw_target_release(t);
  return nw_program_freeze(q);
}

static bool count(nw_ctx *c, const nw_program *p, const nw_machine *m, const char *path, int n,
                  const char *const *kernel, int64_t *registers) {
  char gpu[32];
  snprintf(gpu, sizeof gpu, "sm_%.0f", m->gpu.capability * 10);
  nw_program *q = aimed(c, p, m);
  nw_kernel *k = q ? nw_compile(c, q, NULL) : NULL;
  const char *said = k && k->device_text ? said_about(c, path, gpu, k->device_text) : NULL;
  for (int i = 0; said && i < n; i++) registers[i] = registers_of(said, kernel[i]);
  nw_kernel_release(k);
  if (q) nw_program_release(q);
  return said != NULL;
}

bool nw_ptxas_registers(nw_ctx *c, const nw_program *p, const nw_machine *m, int n, const char *const *kernel,
                        int64_t *registers) {
  memset(registers, 0, sizeof *registers * (size_t)n);
  if (m->kind != NW_MACHINE_GPU || m->gpu.capability <= 0 || nw_error(c)) return true;
  nw_backends_provide(c);
  char *path = find_ptxas();
  if (!path) return true;
  bool good = count(c, p, m, path, n, kernel, registers);
  free(path);
  if (!good && nw_stopped(c)) return false;
  if (!good) nw_clear(c);
  return true;
}
