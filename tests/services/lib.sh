# shellcheck shell=bash
# Helpers shared by the service scripts beside this file; sourced, never run.
#
# Every service keeps what it needs in one folder DIR:
#   DIR/pid        the server's process id (removed by stop)
#   DIR/log        what the server printed
#   DIR/env        the addresses to connect to, as NAME=value lines
#   everything else: configuration and data, kept across stop and start

SERVICE=$(basename "$0" .sh)
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${LOOKASIDE_SERVICES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lookaside-services}
HOST=127.0.0.1

say() { printf '%s: %s\n' "$SERVICE" "$*" >&2; }
die() { say "$*"; exit 1; }

# as_root COMMAND...: runs it as root, through sudo where we are not root.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "needs root; run this as root, then try again: $*"
  fi
}

# apt_install PACKAGE...: installs what is missing, asking apt only then.
apt_install() {
  local missing=() p
  for p in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || missing+=("$p")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  say "installing ${missing[*]}"
  # A server package must not start a system-wide server of its own.
  local policy=/usr/sbin/policy-rc.d made=''
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    made=1
  fi
  local rc=0
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2 || {
    as_root apt-get update -q >&2
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2 || rc=$?
  }
  [ -z "$made" ] || as_root rm -f "$policy"
  return "$rc"
}

need_java() {
  local want=$1 have
  if ! command -v java >/dev/null || ! command -v javac >/dev/null; then
    die "needs a JDK, version $want or newer"
  fi
  have=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1)
  [ "${have:-0}" -ge "$want" ] || die "needs a JDK, version $want or newer; found ${have:-none}"
}

# maven_home: where this service's jars are; its name changes with the pom and the sources beside it.
maven_home() {
  local sum
  sum=$(cd "$HERE/$SERVICE" && find . -type f | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-12)
  printf '%s/%s-%s' "$CACHE" "$SERVICE" "$sum"
}

# maven_install: copies the pom's jars to maven_home/lib and compiles the *.java beside it to
# maven_home/classes, once; a run cut short leaves nothing behind that counts as installed.
maven_install() {
  local home tmp
  home=$(maven_home)
  [ -e "$home/complete" ] && return 0
  command -v mvn >/dev/null || die "needs Maven (mvn)"
  mkdir -p "$CACHE"
  tmp=$(mktemp -d "$home.XXXXXX")
  say "resolving the jars of $SERVICE/pom.xml"
  (cd "$tmp" && cp "$HERE/$SERVICE/pom.xml" . &&
    mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$tmp/lib") >&2 ||
    { rm -rf "$tmp"; die "Maven could not resolve the jars"; }
  compile_into "$tmp"
  touch "$tmp/complete"
  rm -rf "$home"
  mv -T "$tmp" "$home"
}

# compile_into FOLDER: compiles this service's *.java against FOLDER/lib into FOLDER/classes.
compile_into() {
  mkdir -p "$1/classes"
  compgen -G "$HERE/$SERVICE/*.java" >/dev/null || return 0
  javac -nowarn -proc:none -cp "$1/lib/*" -d "$1/classes" "$HERE/$SERVICE"/*.java >&2 ||
    { rm -rf "$1"; die "javac failed"; }
}

port_open() { (exec 3<>"/dev/tcp/$HOST/$1") 2>/dev/null; }

# The kernel's start time of a process: tells it from a later one with the same id.
born() { [ -r "/proc/$1/stat" ] && sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# alive PIDFILE: is the process that this file names still the very one that spawn started? Not
# without its recorded start time: a process that cannot be told to be ours is never signalled.
alive() {
  local pid
  [ -s "$1" ] && [ -s "$1.born" ] || return 1
  pid=$(cat "$1")
  [[ $pid =~ ^[0-9]+$ ]] && [ "$pid" -gt 1 ] || return 1
  [ "$(born "$pid")" = "$(cat "$1.born")" ] || return 1
  [ "$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -c1)" != Z ]
}

# begin DIR PORT [PORTS]: makes DIR and checks that nothing runs in it or on its PORTS consecutive
# ports; returns 1 if this very service is up already, on that port.
begin() {
  local port
  mkdir -p "$1"
  if alive "$1/pid"; then
    [ "$(cat "$1/port" 2>/dev/null)" = "$2" ] || die "already running in $1 on port $(cat "$1/port" 2>/dev/null)"
    return 1
  fi
  rm -f "$1/pid" "$1/pid.born"
  for ((port = $2; port < $2 + ${3:-1}; port++)); do
    ! port_open "$port" || die "port $port is in use"
  done
  echo "$2" >"$1/port"
}

# spawn PIDFILE LOG COMMAND...: starts it in the background, with no terminal.
spawn() {
  local pidfile=$1 log=$2
  shift 2
  setsid "$@" >>"$log" 2>&1 </dev/null &
  echo $! >"$pidfile"
  born $! >"$pidfile.born" || die "the server ended at once; see $log"
}

# wait_ready PIDFILE LOG SECONDS COMMAND...: returns when COMMAND succeeds; fails, and ends the
# process, when it dies or the time is up.
wait_ready() {
  local pidfile=$1 log=$2 deadline=$((SECONDS + $3)) seconds=$3
  shift 3
  until "$@" >/dev/null 2>&1; do
    if ! alive "$pidfile"; then
      tail -n 30 "$log" >&2
      rm -f "$pidfile" "$pidfile.born"
      die "the server ended before it answered"
    fi
    if [ "$SECONDS" -ge "$deadline" ]; then
      tail -n 30 "$log" >&2
      end "$pidfile" 5
      die "no answer in $seconds seconds"
    fi
    sleep 0.1
  done
}

# end PIDFILE SECONDS: asks exactly that process to end, and insists once, after SECONDS.
end() {
  local pid insisted='' deadline=$((SECONDS + $2))
  if alive "$1"; then
    pid=$(cat "$1")
    kill -TERM "$pid" 2>/dev/null || true
    while alive "$1"; do
      if [ "$SECONDS" -ge "$deadline" ]; then
        [ -z "$insisted" ] || die "process $pid does not end"
        say "process $pid did not end in $2 seconds; killing it"
        kill -KILL "$pid" 2>/dev/null || true
        insisted=1
        deadline=$((SECONDS + 10))
      fi
      sleep 0.1
    done
  fi
  rm -f "$1" "$1.born"
}

# main COMMAND ARGUMENTS...: the command line every service has.
main() {
  local command=${1:-}
  shift || true
  case $command in
    install)
      [ $# -eq 0 ] || die "usage: $0 install"
      service_install
      ;;
    start)
      [ $# -eq 2 ] || die "usage: $0 start DIR PORT"
      [[ $2 =~ ^[0-9]+$ ]] || die "not a port: $2"
      mkdir -p "$1"
      service_start "$(cd "$1" && pwd)" "$2"
      ;;
    stop)
      [ $# -eq 1 ] || die "usage: $0 stop DIR"
      [ -d "$1" ] || return 0
      service_stop "$(cd "$1" && pwd)"
      ;;
    *)
      if [ -n "$command" ] && declare -F "command_${command//-/_}" >/dev/null; then
        "command_${command//-/_}" "$@"
      else
        die "usage: $0 install | start DIR PORT | stop DIR${EXTRA_USAGE:-}"
      fi
      ;;
  esac
}

service_stop() { end "$1/pid" 30; }
