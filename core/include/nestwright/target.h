// Declares the target of a program. A target consists of a machine record, limits, a back end and a cost model.
#pragma once
#include "nestwright/session.h"

#ifdef __cplusplus
extern "C" {
#endif

// Makes the target for a complete machine record. Its back end and cost model are those that were registered when the
// session started.
NW_API nw_target *nw_target_new(nw_ctx *c, const nw_machine *m);
NW_API nw_target *nw_target_retain(nw_target *t);
NW_API void nw_target_release(nw_target *t);
NW_API bool nw_target_here(const nw_target *t); // true if this host can run code for the target
NW_API void nw_backends_provide(nw_ctx *c); // registers the available back ends in the session; defined in run/
NW_API void nw_devices_provide(nw_ctx *c); // registers the back ends of simulated devices; defined in device/
NW_API void nw_models_provide(nw_ctx *c); // registers the available cost models; defined in cost/

#ifdef __cplusplus
}
#endif
