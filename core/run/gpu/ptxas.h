// Counts registers with ptxas, NVIDIA's assembler. It is found in PATH or where the CUDA toolkit is usually installed; the
// environment variable NESTWRIGHT_PTXAS contains another path, or nothing if ptxas must not be used.
#pragma once
#include "ir/program/program.h"
#include "run/session.h"

// Sets the numbers of registers of the n kernels of a program on an NVIDIA GPU; 0 if ptxas is not installed or does not say
// them. Returns false, with a diagnostic, only if the session is interrupted.
bool nw_ptxas_registers(nw_ctx *c, const nw_program *p, const nw_machine *m, int n, const char *const *kernel,
                        int64_t *registers);
void nw_ptxas_close(nw_session *s);
