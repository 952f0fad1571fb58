// Declares functions for the fields of machine records in memory. Only the files of hw/ include this header.
#pragma once
#include "hw/machine.h"

// An unset REAL is NaN, and an unset TEXT is empty. An unset field of another kind has one of these values.
#define NW_NO_WHOLE INT64_MIN
#define NW_NO_WORD (-1) // also for FLAG

typedef struct nw_record_field { // a field of a record
  const nw_section *section;
  const nw_field *field;
  char *base;
  int at; // index of one of the field's numbers, counted from 1; 0 means all of them
} nw_record_field;

int nw_section_elements(const nw_machine *m, const nw_section *s);
bool nw_field_find(nw_ctx *c, nw_machine *m, const char *path, nw_record_field *out);
bool nw_field_set(nw_ctx *c, const nw_record_field *p, const char *path, nw_value v);
nw_value nw_field_get(const nw_field *f, const char *at, int i);
int nw_field_word(const nw_field *f, const char *text); // index of `text` among the field's words, or -1
const char *nw_field_wants(const nw_field *f); // describes the values of the field, for example "a whole number"
bool nw_machine_check_chip(nw_ctx *c,
                           const nw_machine_accelerator *a); // false, with a diagnostic, if it is inconsistent
