#!/usr/bin/env bash
# HBase standalone (ZooKeeper, master and region server) with its Thrift and REST gateways, all in
# one process.
#   hbase.sh install | start DIR PORT | stop DIR
#   hbase.sh create-table PORT TABLE FAMILY
#   hbase.sh put PORT TABLE ROW FAMILY:QUALIFIER VALUE
#   hbase.sh get PORT TABLE ROW                prints FAMILY:QUALIFIER, a tab, the value, per cell
#   hbase.sh split PORT TABLE ROW              asks for the table's region to be split at that row
# HBASE_JIT=4 starts it with the optimising compiler, for long runs under load; the default, 1,
# starts in half the time.
# PORT: Thrift; PORT+1: REST; PORT+2: ZooKeeper; PORT+3: master; PORT+4: region server.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
EXTRA_USAGE=' | create-table PORT TABLE FAMILY | put PORT TABLE ROW COLUMN VALUE | get PORT TABLE ROW | split PORT TABLE ROW'

service_install() {
  need_java 17
  apt_install curl
  maven_install
}

property() { printf '  <property><name>%s</name><value>%s</value></property>\n' "$1" "$2"; }

service_start() {
  local dir=$1 port=$2
  begin "$dir" "$port" 5 || return 0
  [ -e "$(maven_home)/complete" ] || die "not installed: run $0 install"
  printf 'HBASE_THRIFT=%s:%s\nHBASE_REST=http://%s:%s\nHBASE_ZOOKEEPER=%s:%s\nHBASE_REGIONSERVER=%s:%s\n' \
    "$HOST" "$port" "$HOST" $((port + 1)) "$HOST" $((port + 2)) "$HOST" $((port + 4)) >"$dir/env"
  mkdir -p "$dir/conf" "$dir/data" "$dir/tmp"
  {
    echo '<configuration>'
    property hbase.cluster.distributed false
    property hbase.tmp.dir "$dir/tmp"
    property hbase.rootdir "file://$dir/data/hbase"
    property hbase.zookeeper.property.dataDir "$dir/data/zookeeper"
    property hbase.zookeeper.quorum "$HOST"
    property hbase.zookeeper.property.clientPort $((port + 2))
    property hbase.unsafe.stream.capability.enforce false
    property hbase.wal.provider filesystem
    property hbase.master.hostname "$HOST"
    property hbase.master.ipc.address "$HOST"
    property hbase.master.port $((port + 3))
    property hbase.master.info.port -1
    property hbase.regionserver.hostname "$HOST"
    property hbase.regionserver.ipc.address "$HOST"
    property hbase.regionserver.port $((port + 4))
    property hbase.regionserver.info.port -1
    property hbase.regionserver.handler.count 16
    # Shorter waits at start and stop than those made for many machines.
    property zookeeper.recovery.retry 1
    property zookeeper.recovery.retry.intervalmill 100
    property hbase.regionserver.msginterval 500
    property hbase.master.wait.on.regionservers.interval 200
    property hbase.master.wait.on.regionservers.timeout 500
    property hbase.thrift.info.port -1
    property hbase.regionserver.thrift.ipaddress "$HOST"
    property hbase.regionserver.thrift.port "$port"
    property hbase.rest.host "$HOST"
    property hbase.rest.port $((port + 1))
    property hbase.rest.info.port -1
    echo '</configuration>'
  } >"$dir/conf/hbase-site.xml"
  cp "$HERE/hbase/log4j.properties" "$dir/conf/"
  spawn "$dir/pid" "$dir/log" "$HERE/hbase.sh" server "$dir"
  wait_ready "$dir/pid" "$dir/log" 180 answers "$port"
}

service_stop() { end "$1/pid" 90; }

answers() {
  port_open "$1" && curl -fsS -H 'Accept: application/json' "http://$HOST:$(($1 + 1))/"
}

command_server() {
  local home
  home=$(maven_home)
  exec java -Xmx768m -XX:+UseSerialGC -XX:TieredStopAtLevel="${HBASE_JIT:-1}" -Djava.net.preferIPv4Stack=true \
    -Djava.io.tmpdir="$1/tmp" -Dhbase.log.dir="$1" \
    -Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true \
    --add-modules jdk.unsupported \
    --add-opens java.base/java.nio=ALL-UNNAMED --add-opens java.base/sun.nio.ch=ALL-UNNAMED \
    --add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/jdk.internal.ref=ALL-UNNAMED \
    --add-opens java.base/java.lang.reflect=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED \
    --add-opens java.base/java.util.concurrent=ALL-UNNAMED \
    --add-exports java.base/jdk.internal.misc=ALL-UNNAMED \
    --add-exports java.security.jgss/sun.security.krb5=ALL-UNNAMED \
    -cp "$1/conf:$home/classes:$home/lib/*" Standalone
}

b64() { printf %s "$1" | base64 -w0; }

# escape TEXT: every byte of it as a %XX of a URL.
escape() { printf %s "$1" | od -An -v -tx1 | tr -d '\n' | sed 's/ /%/g'; }

rest() {
  local port=$1 method=$2 path=$3
  shift 3
  curl -fsS -X "$method" -H 'Accept: application/json' -H 'Content-Type: application/json' \
    "http://$HOST:$((port + 1))/$path" "$@"
}

command_create_table() {
  [ $# -eq 3 ] || die "usage: $0 create-table PORT TABLE FAMILY"
  rest "$1" PUT "$2/schema" -d "{\"name\":\"$2\",\"ColumnSchema\":[{\"name\":\"$3\"}]}"
}

command_put() {
  [ $# -eq 5 ] || die "usage: $0 put PORT TABLE ROW FAMILY:QUALIFIER VALUE"
  rest "$1" PUT "$2/$(escape "$3")" -d "{\"Row\":[{\"key\":\"$(b64 "$3")\",\"Cell\":[{\"column\":\"$(b64 "$4")\",\"\$\":\"$(b64 "$5")\"}]}]}"
}

command_get() {
  [ $# -eq 3 ] || die "usage: $0 get PORT TABLE ROW"
  local row
  row=$(rest "$1" GET "$2/$(escape "$3")" 2>/dev/null) || die "no row '$3' in $2, or no answer"
  printf '%s\n' "$row" | tr '{' '\n' |
    sed -n 's/.*"column":"\([^"]*\)".*"\$":"\([^"]*\)".*/\1 \2/p' |
    while read -r column value; do
      printf '%s\t%s\n' "$(base64 -d <<<"$column")" "$(base64 -d <<<"$value")"
    done
}

command_split() {
  [ $# -eq 3 ] || die "usage: $0 split PORT TABLE ROW"
  local home
  home=$(maven_home)
  java -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$HERE/hbase:$home/classes:$home/lib/*" Split "$(($1 + 2))" "$2" "$3" >&2
}

main "$@"
