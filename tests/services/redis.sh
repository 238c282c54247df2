#!/usr/bin/env bash
# A Redis server: redis.sh install | start DIR PORT | stop DIR
# REDIS_OPTIONS are more options for it, such as "--cluster-enabled yes"; with --tls-port, PORT has no encryption.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

service_install() { apt_install redis-server redis-tools openssl; }

service_start() {
  local dir=$1 port=$2
  begin "$dir" "$port" || return 0
  printf 'REDIS_URL=redis://%s:%s\n' "$HOST" "$port" >"$dir/env"
  mkdir -p "$dir/data"
  spawn "$dir/pid" "$dir/log" redis-server \
    --bind "$HOST" --port "$port" --dir "$dir/data" \
    --daemonize no --appendonly yes --save '' --loglevel notice ${REDIS_OPTIONS:-}
  wait_ready "$dir/pid" "$dir/log" 30 eval "redis-cli -h $HOST -p $port ping | grep -q PONG"
}

main "$@"
