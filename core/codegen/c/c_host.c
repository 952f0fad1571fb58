// Writes the host's part of a program for a GPU: a function that launches the kernels, in CUDA C or in C with OpenCL.
#include "codegen/c/c_kernel.h"

static bool is_cuda(const nwt_grid *x) { return x->d == &nwk_cuda; }

// ---- one launch

void nwk_extents(nwt_grid *x, const nw_launch *l, int from) {
  for (int d = 0; d < 3; d++) {
    if (d) nw_str_add(&x->g.out, ", ");
    nwt_expr(&x->g, l->extent[from + d]);
  }
}

static void argument(nwt_grid *x, const char *between, const char *name) {
  nw_str_fmt(&x->g.out, is_cuda(x) ? "%s%s" : "%s{sizeof %s, &%s}", between, name, name);
}

static void arguments(nwt_grid *x, const nw_launch *l) {
  nwt *g = &x->g;
  const char *between = "";
  for (int i = 0; i < l->nbuffers; i++, between = ", ") argument(x, between, nwt_name(g, l->buffer[i].name));
  for (int i = 0; i < g->p->nsizes; i++, between = ", ") argument(x, between, nwt_name(g, g->p->size[i].name));
  for (int i = 0; i < l->nvars; i++, between = ", ") argument(x, between, nwt_name(g, l->var[i]->name));
}

// Writes code that returns an error code if a grid has more blocks than CUDA can launch.
static void check_blocks(nwt_grid *x, const nw_launch *l) {
  static const int64_t most[3] = {INT32_MAX, 65535, 65535};
  nwt *g = &x->g;
  for (int d = 0; d < 3; d++) {
    int64_t n;
    if (nw_is_int(l->extent[d], &n) && n <= most[d]) continue;
    nw_str_indent(&g->out, 2 * g->depth);
    nw_str_add(&g->out, "if (");
    nwt_expr(g, nw_lt(g->p->pool, nw_index(g->p->pool, most[d]), l->extent[d]));
    nw_str_add(&g->out, ") return 3;\n");
  }
}

static void launch_cuda(nwt_grid *x, int i) {
  nwt *g = &x->g;
  const nw_launch *l = &x->all->launch[i];
  check_blocks(x, l);
  nw_str_indent(&g->out, 2 * g->depth);
  nw_str_fmt(&g->out, "%s<<<dim3(", nwk_kernel_name(x, i));
  nwk_extents(x, l, 0);
  nw_str_add(&g->out, "), dim3(");
  nwk_extents(x, l, 3);
  nw_str_add(&g->out, ")");
  if (x->shared[i]) nw_str_fmt(&g->out, ", %lld", (long long)x->shared[i]);
  nw_str_add(&g->out, ">>>(");
  arguments(x, l);
  nw_str_add(&g->out, ");\n");
}

static void line(nwt *g, const char *text) {
  nw_str_indent(&g->out, 2 * g->depth);
  nw_str_add(&g->out, text);
}

static const char *queue_of(nwt *g) {
  return nwt_name_like(g, "the queue", "queue");
} // no name in a program has a space
static const char *program_of(nwt *g) { return nwt_name_like(g, "the program", "program"); }

static void launch_opencl(nwt_grid *x, int i) {
  nwt *g = &x->g;
  const nw_launch *l = &x->all->launch[i];
  line(g, "if (!nw_error) {\n");
  g->depth++;
  line(g, "const int64_t nw_groups[] = {");
  nwk_extents(x, l, 0);
  nw_str_add(&g->out, "}, nw_items[] = {");
  nwk_extents(x, l, 3);
  nw_str_add(&g->out, "};\n");
  line(g, "const nw_argument nw_arguments[] = {");
  arguments(x, l);
  nw_str_add(&g->out, "};\n");
  line(g, "nw_error = nw_launch(");
  nw_str_fmt(&g->out, "%s, %s, \"%s\", nw_groups, nw_items, %d, nw_arguments);\n", queue_of(g), program_of(g),
             nwk_kernel_name(x, i), l->nbuffers + g->p->nsizes + l->nvars);
  g->depth--;
  line(g, "}\n");
}

// Writes the statements of the host around the launches. `at` is the number of the next launch.
static void host(nwt_grid *x, const nw_stmt *s, int *at) {
  nwt *g = &x->g;
  if (nw_is_launch(g->p, s)) return (is_cuda(x) ? launch_cuda : launch_opencl)(x, (*at)++);
  bool braces = s->kind == NW_LOOP || s->kind == NW_GUARD;
  if (braces) nw_str_indent(&g->out, 2 * g->depth);
  if (s->kind == NW_GUARD) {
    nw_str_add(&g->out, "if (");
    nwt_expr(g, s->guard.cond);
    nw_str_add(&g->out, ") {\n");
  }
  if (s->kind == NW_LOOP) {
    const char *var = nwt_name(g, s->loop.var->name);
    nw_str_fmt(&g->out, "for (int64_t %s = ", var);
    nwt_expr(g, s->loop.begin);
    nw_str_fmt(&g->out, "; %s < ", var);
    nwt_operand(g, NW_OP_LT, nw_add(g->p->pool, s->loop.begin, s->loop.extent));
    nw_str_fmt(&g->out, "; %s++) {\n", var);
  }
  g->depth += braces;
  for (int i = 0; i < s->nkids; i++) host(x, s->kid[i], at);
  g->depth -= braces;
  if (!braces) return;
  nw_str_indent(&g->out, 2 * g->depth);
  nw_str_add(&g->out, "}\n");
}

static bool is_made(const nw_storage *s) { return s->kind == NW_STORE_WORKSPACE || s->kind == NW_STORE_PER_THREAD; }

// ---- the function

// Writes the number of bytes of a workspace, and one element more.
static void bytes_of(nwt *g, const nw_storage *s) {
  nw_str_fmt(&g->out, "sizeof(%s) * (size_t)((", nwt_type(s->dtype));
  nwt_expr(g, s->elements);
  nw_str_add(&g->out, ") + 1)");
}

static void workspaces(nwt_grid *x) {
  nwt *g = &x->g;
  for (int i = 0; i < g->exec->nstorage; i++) {
    const nw_storage *s = &g->exec->storage[i];
    const char *name = nwt_name(g, s->buffer);
    if (!is_made(s)) continue;
    if (is_cuda(x))
      nw_str_fmt(&g->out, "  %s *%s = NULL;\n", nwt_type(s->dtype), name);
    else
      nw_str_fmt(&g->out, "  cl_mem %s = NULL;\n", name);
  }
  for (int i = 0; i < g->exec->nstorage; i++) {
    const nw_storage *s = &g->exec->storage[i];
    const char *name = nwt_name(g, s->buffer);
    if (!is_made(s)) continue;
    if (is_cuda(x))
      nw_str_fmt(&g->out, "  if (cudaMalloc((void **)&%s, ", name);
    else
      nw_str_fmt(&g->out, "  if (!nw_error) nw_error = nw_workspace(%s, &%s, ", queue_of(g), name);
    bytes_of(g, s);
    nw_str_add(&g->out, is_cuda(x) ? ") != cudaSuccess) return 1;\n" : ");\n");
  }
}

static void free_workspaces(nwt_grid *x) {
  nwt *g = &x->g;
  for (int i = 0; i < g->exec->nstorage; i++) {
    const char *name = nwt_name(g, g->exec->storage[i].buffer);
    if (!is_made(&g->exec->storage[i])) continue;
    nw_str_fmt(&g->out, is_cuda(x) ? "  cudaFree(%s);\n" : "  if (%s) clReleaseMemObject(%s);\n", name, name);
  }
}

static void parameters(nwt_grid *x) {
  nwt *g = &x->g;
  const char *between = "";
  if (!is_cuda(x)) {
    nw_str_fmt(&g->out, "cl_command_queue %s, cl_program %s", queue_of(g), program_of(g));
    between = ", ";
  }
  for (int i = 0; i < g->p->nsizes; i++, between = ", ")
    nw_str_fmt(&g->out, "%sint64_t %s", between, nwt_name(g, g->p->size[i].name));
  for (int i = 0; i < g->p->nbuffers; i++) {
    const nw_buffer *b = g->p->buffer[i];
    if (b->role == NW_TEMP) continue;
    if (is_cuda(x))
      nw_str_fmt(&g->out, "%s%s%s *%s", between, b->role == NW_INPUT ? "const " : "", nwt_type(b->dtype),
                 nwt_name(g, b->name));
    else
      nw_str_fmt(&g->out, "%scl_mem %s", between, nwt_name(g, b->name));
    between = ", ";
  }
}

// Writes the name and the parameters of the function.
static void prototype(nwt_grid *x) {
  nwt *g = &x->g;
  nw_str name = {0};
  nw_str_fmt(&name, "launch_%s", x->symbol ? x->symbol : g->p->name ? g->p->name : "kernel");
  nw_str_fmt(&g->out, "int %s(", nwt_name(g, nw_pool_name(g->p->pool, name.s)));
  nw_str_free(&name);
  parameters(x);
  nw_str_add(&g->out, ")");
}

// Asks for the shared memory of kernels that may not declare so much.
static void ask_for_shared(nwt_grid *x) {
  for (int i = 0; i < x->all->n; i++)
    if (x->shared[i])
      nw_str_fmt(&x->g.out,
                 "  cudaFuncSetAttribute((const void *)%s, cudaFuncAttributeMaxDynamicSharedMemorySize, %lld);\n",
                 nwk_kernel_name(x, i), (long long)x->shared[i]);
}

void nwk_host_function(nwt_grid *x) {
  nwt *g = &x->g;
  int at = 0;
  if (is_cuda(x))
    nw_str_add(
        &g->out,
        "\n// Launches the kernels. The pointers are those of arrays in the memory of the device. Returns 0; 1 when "
        "memory runs\n// out; 2 when a size does not meet the assumptions of the code; 3 when it is too large; "
        "otherwise 100 plus a\n// cudaError_t.\nextern \"C\" ");
  prototype(x);
  nw_str_add(&g->out, " {\n");
  g->depth = 1;
  nwt_check_sizes(g);
  if (!is_cuda(x)) nw_str_add(&g->out, "  int nw_error = 0;\n");
  workspaces(x);
  if (is_cuda(x)) ask_for_shared(x);
  for (int i = 0; i < x->root->nkids; i++) host(x, x->root->kid[i], &at);
  if (is_cuda(x)) nw_str_add(&g->out, "  int nw_error = (int)cudaGetLastError();\n");
  free_workspaces(x);
  nw_str_add(&g->out, is_cuda(x) ? "  return nw_error ? 100 + nw_error : 0;\n}\n" : "  return nw_error;\n}\n");
}

// ---- the files for OpenCL

static const char launcher[] =
    "typedef struct nw_argument {\n"
    "  size_t bytes;\n"
    "  const void *value;\n"
    "} nw_argument;\n"
    "\n"
    "static int nw_launch(cl_command_queue queue, cl_program program, const char *name, const int64_t *groups,\n"
    "                     const int64_t *items, int n, const nw_argument *argument) {\n"
    "  cl_int error;\n"
    "  size_t all[3], group[3];\n"
    "  for (int d = 0; d < 3; d++) {\n"
    "    if (groups[d] <= 0) return 0; // nothing to do\n"
    "    group[d] = (size_t)items[d];\n"
    "    all[d] = (size_t)(groups[d] * items[d]);\n"
    "  }\n"
    "  cl_kernel kernel = clCreateKernel(program, name, &error);\n"
    "  for (int i = 0; i < n && !error; i++)\n"
    "    error = clSetKernelArg(kernel, (cl_uint)i, argument[i].bytes, argument[i].value);\n"
    "  if (!error) error = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, all, group, 0, NULL, NULL);\n"
    "  if (kernel) clReleaseKernel(kernel);\n"
    "  return error ? 100 - error : 0;\n"
    "}\n";

static const char workspace[] =
    "\nstatic int nw_workspace(cl_command_queue queue, cl_mem *memory, size_t bytes) {\n"
    "  cl_context context = NULL;\n"
    "  cl_int error = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);\n"
    "  if (!error) *memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);\n"
    "  bool full = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_INVALID_BUFFER_SIZE;\n"
    "  return !error ? 0 : full || error == CL_OUT_OF_HOST_MEMORY ? 1 : 100 - error;\n"
    "}\n";

static char *header_of(nwt_grid *x, const char *file) {
  nwt *g = &x->g;
  nw_str_fmt(&g->out,
             NW_HEADER_MARK "\n#pragma once\n#include <CL/cl.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\n"
                            "extern \"C\" {\n#endif\n\n"
                            "// Launches the kernels of %s.cl, and does not wait for them.\n"
                            "// %s: a queue that runs its commands in order.\n"
                            "// %s: the text of %s.cl, built for the device of the queue.\n",
             file, queue_of(g), program_of(g), file);
  nwt_describe_tensors(g, &g->out);
  nw_str_add(&g->out,
             "// Returns 0; 1 when memory runs out; 2 when a size does not meet the assumptions of the code; 3 "
             "when it is too large;\n// otherwise 100 minus the error code of OpenCL.\n");
  prototype(x);
  nw_str_add(&g->out, ";\n\n#ifdef __cplusplus\n}\n#endif\n");
  char *text = nw_str_take(&g->out);
  g->out = (nw_str){0};
  return text;
}

static char *source_of(nwt_grid *x, const char *file) {
  nwt *g = &x->g;
  nw_str all = {0};
  bool any = false;
  for (int i = 0; i < g->exec->nstorage; i++) any |= is_made(&g->exec->storage[i]);
  nwk_host_function(x);
  nw_str_fmt(&all,
             NW_HEADER_MARK "\n// Compile it with a C compiler, and link it with -lOpenCL.\n"
                            "#ifndef CL_TARGET_OPENCL_VERSION\n#define CL_TARGET_OPENCL_VERSION 120\n#endif\n"
                            "#include \"%s.h\"\n#include <stdbool.h>\n#include <stddef.h>\n\n",
             file);
  nwt_helpers(g, &all);
  nw_str_add(&all, launcher);
  if (any) nw_str_add(&all, workspace);
  nw_str_add(&all, "\n");
  nw_str_add(&all, g->out.s);
  nw_str_free(&g->out);
  return nw_str_take(&all);
}

// The helpers that the kernels use are in their own text.
void nwk_host_files(nwt_grid *x, const char *file, nw_glue *out) {
  x->g.dialect = NULL;
  memset(x->g.used, 0, sizeof x->g.used);
  nw_str_free(&x->g.out);
  out->header = header_of(x, file);
  out->source = source_of(x, file);
}
