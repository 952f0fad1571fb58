#!/bin/sh
# Runs a command; interrupts it when a file has not grown for LIMIT seconds, and kills it when that does not help.
# usage: _api_watch.sh FILE LIMIT COMMAND...
file=$1 limit=$2
shift 2
# The subshell looks after the process that becomes the command: one in the background would ignore the interrupt.
(
  last=x still=0
  while sleep 1 && kill -0 $$; do
    now=$(wc -c <"$file")
    if [ "$now" = "$last" ]; then still=$((still + 1)); else still=0; fi
    last=$now
    if [ $still -ge $((4 * limit)) ]; then kill -KILL $$; elif [ $still -eq "$limit" ]; then kill -INT $$; fi
  done
) >/dev/null 2>&1 &
exec "$@"
