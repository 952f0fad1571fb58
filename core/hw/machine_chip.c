// Checks that the record of an accelerator is consistent.
#include "hw/machine_fields.h"
#include <ctype.h>
#include <stdio.h>

bool nw_has_word(const char *words, const char *word) {
  size_t n = strlen(word);
  for (const char *at = words; n && *at; at += strcspn(at, " ")) {
    at += strspn(at, " ");
    if (strcspn(at, " ") == n && !strncmp(at, word, n)) return true;
  }
  return false;
}

const nw_machine_instruction *nw_machine_instruction_next(const nw_machine *m, const char *name,
                                                          const nw_machine_instruction *after) {
  const nw_machine_accelerator *a = &m->accelerator;
  for (int i = after ? (int)(after - a->instruction) + 1 : 0; i < a->ninstructions; i++)
    if (!strcmp(a->instruction[i].name, name)) return &a->instruction[i];
  return NULL;
}

static bool is_identifier(const char *s) {
  for (const char *c = s; *c; c++)
    if (!isalnum((unsigned char)*c) && *c != '_') return false;
  return *s && !isdigit((unsigned char)*s);
}

static bool has_unit(const nw_machine_accelerator *a, const char *name) {
  for (int i = 0; i < a->nunits; i++)
    if (!strcmp(a->unit[i].name, name)) return true;
  return false;
}

static bool no_unit(nw_ctx *c, const char *path, int i, const char *field, const char *name) {
  return nw_fail(c, NW_EINVAL, "accelerator.units lists the units", "accelerator.%s[%d].%s: there is no unit '%s'",
                 path, i + 1, field, name),
         false;
}

static bool check_units(nw_ctx *c, const nw_machine_accelerator *a) {
  for (int i = 0; i < a->nunits; i++) {
    if (!is_identifier(a->unit[i].name))
      return nw_fail(c, NW_EINVAL, NULL, "accelerator.units[%d].name: '%s' may contain only letters, digits and _",
                     i + 1, a->unit[i].name),
             false;
    for (int j = 0; j < i; j++)
      if (!strcmp(a->unit[i].name, a->unit[j].name))
        return nw_fail(c, NW_EINVAL, NULL, "accelerator.units[%d].name: '%s' is already used", i + 1, a->unit[i].name),
               false;
  }
  for (int i = 0; i < a->nqueues; i++) {
    const nw_machine_queue *q = &a->queue_of[i];
    if (!has_unit(a, q->from)) return no_unit(c, "queues", i, "from", q->from);
    if (!has_unit(a, q->to)) return no_unit(c, "queues", i, "to", q->to);
    if (!strcmp(q->from, q->to))
      return nw_fail(c, NW_EINVAL, "a unit executes its own instructions in order, and needs no tokens for this",
                     "accelerator.queues[%d]: '%s' would wait for itself", i + 1, q->from),
             false;
    for (int j = 0; j < i; j++)
      if (!strcmp(q->from, a->queue_of[j].from) && !strcmp(q->to, a->queue_of[j].to))
        return nw_fail(c, NW_EINVAL, NULL, "accelerator.queues[%d]: there is already a queue from '%s' to '%s'", i + 1,
                       q->from, q->to),
               false;
  }
  return true;
}

// Checks that each word is "global" or the name of a buffer.
static bool check_scopes(nw_ctx *c, const nw_machine_accelerator *a, int at, const char *field, const char *words) {
  char word[72];
  for (const char *s = words + strspn(words, " "); *s; s += strspn(s, " ")) {
    snprintf(word, sizeof word, "%.*s", (int)strcspn(s, " "), s);
    s += strlen(word);
    bool found = !strcmp(word, "global");
    for (int i = 0; i < a->nbuffers; i++) found |= !strcmp(word, a->buffer[i].name);
    if (!found)
      return nw_fail(c, NW_EINVAL, "accelerator.buffers lists the buffers; the memory outside the chip is global",
                     "accelerator.instructions[%d].%s: there is no buffer '%s'", at + 1, field, word),
             false;
  }
  return true;
}

// A copy cannot move more bytes in a cycle than one of its buffers holds.
static bool check_width(nw_ctx *c, const nw_machine_accelerator *a, int at) {
  const nw_machine_instruction *in = &a->instruction[at];
  for (int i = 0; i < a->nbuffers && in->kind == NW_CHIP_COPY; i++) {
    const nw_machine_buffer *b = &a->buffer[i];
    double room = (double)b->bytes * (double)b->count;
    if ((nw_has_word(in->from, b->name) || nw_has_word(in->to, b->name)) && in->bytes_per_cycle > room)
      return nw_fail(c, NW_EINVAL, "give the bytes that are copied in one cycle",
                     "accelerator.instructions[%d].bytes_per_cycle: %g is more than the %.0f bytes of buffer %s",
                     at + 1, in->bytes_per_cycle, room, b->name),
             false;
  }
  return true;
}

// ---- forms of products

enum { LETTERS = sizeof((nw_machine_instruction *)0)->form };

// The parts of a form such as "mk,kn->mn": the letters of each operand and of the result.
typedef struct form {
  int n; // number of operands
  char operand[3][LETTERS], result[LETTERS];
  bool adds; // the products are added to the result ("->")
} form;

// Copies the letters at *at, and moves *at to the end of them. Returns false if there are none.
static bool read_letters(const char **at, char *out) {
  int n = 0;
  while (isalpha((unsigned char)(*at)[n])) out[n] = (*at)[n], n++;
  out[n] = 0;
  *at += n;
  return n > 0;
}

static bool read_form(const char *text, form *f) {
  *f = (form){.n = 0};
  do {
    if (f->n == 3 || !read_letters(&text, f->operand[f->n++])) return false;
  } while (*text++ == ',');
  f->adds = !strncmp(--text, "->", 2);
  if (!f->adds && *text != '=') return false;
  text += f->adds ? 2 : 1;
  return f->n >= 2 && read_letters(&text, f->result) && !*text;
}

// Returns the first letter of `letters` that does not occur in `others`; 0 if there is none.
static char letter_outside(const char *letters, const char *others) { return letters[strspn(letters, others)]; }

static bool bad_form(nw_ctx *c, int at, const nw_machine_instruction *in, const char *why) {
  return nw_fail(c, NW_EINVAL, "form = \"mk,kn->mn\"", "accelerator.instructions[%d].form of %s: '%s' %s", at + 1,
                 in->name, in->form, why),
         false;
}

static bool check_letters(nw_ctx *c, int at, const nw_machine_instruction *in, const char *letters) {
  char other = letter_outside(letters, "mnk");
  if (other) return bad_form(c, at, in, nw_diag_printf(c, "has %c, which is not one of m, n and k", other));
  for (const char *s = letters; *s; s++)
    if (strchr(s + 1, *s)) return bad_form(c, at, in, nw_diag_printf(c, "has the letter %c twice in %s", *s, letters));
  return true;
}

// Each letter of the result must be one of an operand. If the products are added up ("->"), at least one letter is summed over;
// otherwise ("="), none is, and a third operand has the letters of the result.
static bool check_form(nw_ctx *c, int at, const nw_machine_instruction *in) {
  form f;
  char both[2 * LETTERS];
  if (in->kind != NW_CHIP_TENSOR || !*in->form) return true;
  if (!read_form(in->form, &f)) return bad_form(c, at, in, "does not name two operands and a result");
  if (f.adds && f.n == 3)
    return bad_form(c, at, in, "has three operands: with ->, the products are added to the result");
  if (f.n == 3 && strcmp(f.operand[2], f.result) != 0)
    return bad_form(c, at, in,
                    nw_diag_printf(c, "has the third operand %s, and the result %s", f.operand[2], f.result));
  for (int i = 0; i < f.n; i++)
    if (!check_letters(c, at, in, f.operand[i])) return false;
  if (!check_letters(c, at, in, f.result)) return false;
  snprintf(both, sizeof both, "%s%s", f.operand[0], f.operand[1]);
  char missing = letter_outside(f.result, both), summed = letter_outside(both, f.result);
  if (missing) return bad_form(c, at, in, nw_diag_printf(c, "has the letter %c of the result in no operand", missing));
  if (summed && !f.adds) return bad_form(c, at, in, nw_diag_printf(c, "sums over %c: write -> instead of =", summed));
  return summed || !f.adds || bad_form(c, at, in, "sums over no letter: all of them are in the result");
}

// ---- instructions of one name

// True if both lists have a word.
static bool share_word(const char *a, const char *b) {
  char word[72];
  for (const char *s = a + strspn(a, " "); *s; s += strspn(s, " ")) {
    snprintf(word, sizeof word, "%.*s", (int)strcspn(s, " "), s);
    s += strlen(word);
    if (nw_has_word(b, word)) return true;
  }
  return false;
}

static bool same_product(const nw_machine_instruction *a, const nw_machine_instruction *b) {
  return !strcmp(a->form, b->form) && a->m == b->m && a->n == b->n && a->k == b->k && !strcmp(a->input, b->input) &&
         !strcmp(a->weight, b->weight) && !strcmp(a->sum, b->sum);
}

// Rows may share a name if they do the same in different memories, so the memories of a nest tell which of them executes it.
static bool check_namesakes(nw_ctx *c, const nw_machine_accelerator *a, int at) {
  const nw_machine_instruction *in = &a->instruction[at];
  for (int j = 0; j < at; j++) {
    const nw_machine_instruction *other = &a->instruction[j];
    if (strcmp(in->name, other->name) != 0) continue;
    if (in->kind != other->kind)
      return nw_fail(c, NW_EINVAL, NULL,
                     "accelerator.instructions[%d].kind: '%s' is already an instruction of another kind", at + 1,
                     in->name),
             false;
    if (in->kind == NW_CHIP_TENSOR && !same_product(in, other))
      return nw_fail(c, NW_EINVAL, "give it another name",
                     "accelerator.instructions[%d].name: '%s' is already the name of another product", at + 1,
                     in->name),
             false;
    if (share_word(in->to, other->to) && (in->kind == NW_CHIP_FILL || share_word(in->from, other->from)))
      return nw_fail(
                 c, NW_EINVAL, "give it another name, or other memories",
                 "accelerator.instructions[%d].name: '%s' is already used by instructions[%d] for the same memories",
                 at + 1, in->name, j + 1),
             false;
  }
  return true;
}

// ---- the record

static bool check_instructions(nw_ctx *c, const nw_machine_accelerator *a) {
  for (int i = 0; i < a->ninstructions; i++) {
    const nw_machine_instruction *in = &a->instruction[i];
    if (!is_identifier(in->name))
      return nw_fail(c, NW_EINVAL, NULL,
                     "accelerator.instructions[%d].name: '%s' may contain only letters, digits and _", i + 1, in->name),
             false;
    if (*in->stationary && !nw_has_word("input weight sum", in->stationary))
      return nw_fail(c, NW_EINVAL, "input, weight or sum",
                     "accelerator.instructions[%d].stationary: '%s' is not an operand", i + 1, in->stationary),
             false;
    if (!has_unit(a, in->unit)) return no_unit(c, "instructions", i, "unit", in->unit);
    if (!check_scopes(c, a, i, "from", in->from) || !check_scopes(c, a, i, "to", in->to) ||
        !check_scopes(c, a, i, "uncounted", in->uncounted))
      return false;
    if (!check_width(c, a, i)) return false;
    if (!check_form(c, i, in) || !check_namesakes(c, a, i)) return false;
  }
  return true;
}

bool nw_machine_check_chip(nw_ctx *c, const nw_machine_accelerator *a) {
  for (int i = 0; i < a->nbuffers; i++)
    if (!is_identifier(a->buffer[i].name) || !strcmp(a->buffer[i].name, "global"))
      return nw_fail(c, NW_EINVAL, NULL,
                     "accelerator.buffers[%d].name: '%s' may contain only letters, digits and _, and cannot be global",
                     i + 1, a->buffer[i].name),
             false;
  for (int i = 0; i < a->nbuffers; i++)
    if (a->buffer[i].word_bits > 8 * a->buffer[i].bytes)
      return nw_fail(c, NW_EINVAL, NULL,
                     "accelerator.buffers[%d].word_bits: a word of %lld bits is wider than the buffer", i + 1,
                     (long long)a->buffer[i].word_bits),
             false;
  if (a->sum_bits < a->input_bits || a->sum_bits < a->weight_bits)
    return nw_fail(c, NW_EINVAL, NULL, "accelerator.sum_bits: %d bits is less than input_bits or weight_bits",
                   (int)a->sum_bits),
           false;
  for (int i = 0; i < a->nbuffers; i++)
    for (int j = 0; j < i; j++)
      if (!strcmp(a->buffer[i].name, a->buffer[j].name))
        return nw_fail(c, NW_EINVAL, NULL, "accelerator.buffers[%d].name: '%s' is already used", i + 1,
                       a->buffer[i].name),
               false;
  return check_units(c, a) && check_instructions(c, a);
}
