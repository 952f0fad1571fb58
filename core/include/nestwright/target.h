// What a program is made for: a machine, its limits, its back end and its model.
#pragma once
#include "nestwright/session.h"

#ifdef __cplusplus
extern "C" {
#endif

// Of a complete record. Its back end and its model are those that the session was given when it started.
NW_API nw_target *nw_target_new(nw_ctx *c, const nw_machine *m);
NW_API nw_target *nw_target_retain(nw_target *t);
NW_API void nw_target_release(nw_target *t);
NW_API bool nw_target_here(const nw_target *t); // this host runs what is made for it
NW_API void nw_backends_provide(nw_ctx *c); // run/: names those that there are to the session
NW_API void nw_models_provide(nw_ctx *c); // cost/: the same of models

#ifdef __cplusplus
}
#endif
