// Checks schedules, and explains refused steps.
#include "bind.h"
#include <stdlib.h>

static nw_sched *schedule_arg(lua_State *L) { return nwl_check(L, 1, &nwl_schedule_class, "schedule"); }

static int f_check(lua_State *L) {
  nw_sched *s = schedule_arg(L);
  char *report = NULL;
  nw_clear(nwl_ctx(L));
  if (!nw_check(nwl_ctx(L), s, &report)) {
    free(report);
    return nwl_raise(L);
  }
  nwl_push_text(L, report);
  return 1;
}

// Returns three values: a text that explains the last refused step, the kind of change in the results that was observed
// (or nil), and whether the conflict could be observed.
static int f_explain(lua_State *L) {
  nw_sched *s = schedule_arg(L);
  nw_lesson lesson;
  nw_clear(nwl_ctx(L));
  if (!nw_explain(nwl_ctx(L), s, &lesson)) {
    free(lesson.text);
    return nwl_raise(L);
  }
  nwl_push_text(L, lesson.text);
  lua_pushstring(L, lesson.how);
  lua_pushboolean(L, lesson.visible);
  return 3;
}

const nwl_row nwl_check_rows[] = {
    {"check", f_check, "(s: nw.schedule): string",
     "Compares the results of several ways to run a schedule. Returns a report."},
    {"explain", f_explain, "(s: nw.schedule): string, string?, boolean",
     "Replays the last refused step. Returns a text that explains the refusal, the kind of the observed change, and "
     "whether the conflict could be observed."},
    {NULL, NULL, NULL, NULL},
};
