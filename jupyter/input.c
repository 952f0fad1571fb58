// Requests input for a cell. Sends input_request to the client that sent the cell, and receives the answer.
#include "kernel.h"
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

// Drops answers to earlier requests that came too late.
static void forget_old(nwj *k) {
  nwj_message m;
  while (nwj_receive(k, k->input, &m)) nwj_done(&m);
}

static char *wait_for_answer(nwj *k, const char **problem) {
  for (;;) {
    nwj_message m;
    if (nwj_receive(k, k->input, &m)) {
      bool answer = strcmp(m.type, "input_reply") == 0;
      char *text = answer ? strdup(nwj_string(m.content, "value", "")) : NULL;
      nwj_done(&m);
      if (text) return text;
      continue;
    }
    if (nwh_interrupted(k->host) || k->leaving) return *problem = "interrupted", NULL;
    zmq_pollitem_t item = {k->input, 0, ZMQ_POLLIN, 0};
    zmq_poll(&item, 1, 200);
  }
}

char *nwj_ask(nwj *k, const char *prompt, bool password, const char **problem) {
  if (k->asks) return *problem = k->asks, NULL;
  nwj_drain(k->request->header_text);
  forget_old(k);
  nwj_reply(k, k->input, k->request, "input_request",
            json_pack("{s:o, s:b}", "prompt", nwj_text(prompt), "password", password));
  return wait_for_answer(k, problem);
}
