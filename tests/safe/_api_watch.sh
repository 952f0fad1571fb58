#!/bin/sh
# Runs a command and watches the size of a file. If the file has not grown for LIMIT seconds, the command is interrupted. If it
# has not grown for 4*LIMIT seconds, the command is killed.
# usage: _api_watch.sh FILE LIMIT COMMAND...
file=$1 limit=$2
shift 2
# The subshell watches this process, which then becomes the command. A command in the background ignores the interrupt.
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
