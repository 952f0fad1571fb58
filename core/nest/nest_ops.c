// Operations of a value while it is read, by class.
#include "nest/nest_read.h"

typedef struct sign {
  const char *text;
  nw_class class;
} sign;

static const sign signs[] = {{"+", NW_CLASS_ADD},     {"-", NW_CLASS_ADD},     {"*", NW_CLASS_MUL},
                             {"/", NW_CLASS_DIV},     {"//", NW_CLASS_DIV},    {"%", NW_CLASS_DIV},
                             {"<", NW_CLASS_MINMAX},  {">", NW_CLASS_MINMAX},  {"<=", NW_CLASS_MINMAX},
                             {">=", NW_CLASS_MINMAX}, {"==", NW_CLASS_MINMAX}, {"!=", NW_CLASS_MINMAX}};

static const sign functions[] = {{"sqrt", NW_CLASS_SQRT},     {"exp", NW_CLASS_EXP},     {"log", NW_CLASS_LOG},
                                 {"tanh", NW_CLASS_TANH},     {"erf", NW_CLASS_ERF},     {"pow", NW_CLASS_POW},
                                 {"min", NW_CLASS_MINMAX},    {"max", NW_CLASS_MINMAX},  {"abs", NW_CLASS_MINMAX},
                                 {"select", NW_CLASS_MINMAX}, {"floor", NW_CLASS_ROUND}, {"ceil", NW_CLASS_ROUND}};

void nw_text_note_sign(nw_text_ops *ops, const nw_token *at) {
  for (int i = 0; i < NW_COUNT(signs); i++)
    if ((int)strlen(signs[i].text) == at->n && !memcmp(signs[i].text, at->s, (size_t)at->n)) ops->of[signs[i].class]++;
}

void nw_text_note_call(nw_text_ops *ops, const nw_token *name) {
  for (int i = 0; i < NW_COUNT(functions); i++)
    if (nw_token_is(name, functions[i].text)) {
      ops->of[functions[i].class]++;
      return;
    }
  ops->calls++;
}
