# Runs one task of Shipyard on this node: at most once per marker, under a time limit, with nobody watching.
#
# POSIX sh on Linux, with the usual head, tail, tee, wc, find, mktemp, mkfifo, setsid. Called over SSH with this text on
# its input (start, look, stop, output), and from the copy that start leaves in the task's directory (run, attempt).
#
# Why a task starts once, and is not lost:
# - `start` writes into a directory of its own and renames it to `work`: `work` is complete or absent.
# - The detached supervisor claims the task: it writes boot id, pid and start time into a file, and links that file to
#   `run`. link(2) fails if `run` exists, so one process claims it, ever, and the claim says which, with no moment between.
# - Only who holds the claim runs anything. So `start` may be repeated and raced: without `run` nothing has begun, and
#   a start that was cut off anywhere before is done again; with `run`, start only reports.
# - `stop` claims the task itself if nobody has. Then no supervisor that is still on its way can.
# - `work` holds the room of its records, so that a task that fills the disk, or runs while others do, is still reported.
# - A claim without `end` whose process is gone (killed, node restarted) is lost: it may have begun, so it never begins again.

umask 077
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/puppetlabs/bin
export PATH

head_kept=8192   # blocks of 512 bytes: 4 MiB
tail_kept=65536  # bytes
forgotten=28     # days after its end
grace=50         # tenths of a second between TERM and KILL
short=6          # twentieths of a second that a start waits for the end
room=16384       # bytes for the claim and the attempts
no_space=28      # exit status of a call that found no space; its output is the directory
top=${SHIPYARD_ROOT:-} # what paths begin with; simulated hosts are directories

# Prints when a process started, in ticks since the boot; nothing if it is gone or a zombie.
started() {
    stat=
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || :
    set -f
    # shellcheck disable=SC2086  # fields, from the third on
    set -- ${stat##*) }
    set +f
    [ "${1-Z}" = Z ] || echo "${20-}"
}

boot() {
    read -r found <"$top/proc/sys/kernel/random/boot_id"
    echo "$found"
}

# Seconds since the boot.
clock() {
    read -r up _ </proc/uptime
    echo "$up"
}

# Prints a record of one line, whatever is in the file.
record() { head -c 200 "$dir/$1" 2>/dev/null | tr -c 'a-z0-9_.-' ' '; }

bytes() { if [ -f "$dir/$1" ]; then echo $(($(wc -c <"$dir/$1"))); else echo 0; fi; }

# Whether the supervisor that claimed the task still runs.
alive() {
    # shellcheck disable=SC2046  # words
    set -- $(record run)
    [ "${1-}" = supervisor ] && [ "${2-}" = "$(boot)" ] && [ -n "${4-}" ] && [ "$(started "$3")" = "$4" ]
}

# Claims the task for what the arguments say; fails if it has been claimed.
claim() {
    echo "$*" >"$dir/run.$$" && ln "$dir/run.$$" "$dir/run" 2>/dev/null
    claimed=$?
    rm -f "$dir/run.$$"
    return "$claimed"
}

# --- over SSH ---

fail() {
    echo "$*" >&2
    exit 1
}

# Whether files can be made in a directory, and nothing written to them.
full() {
    {
        true >"$1/.room.$$" && ! head -c 4096 /dev/zero >"$1/.room.$$"
        found=$?
        rm -f "$1/.room.$$"
    } 2>/dev/null
    return "$found"
}

# Ends a call that cannot write to a directory.
unwritten() {
    if full "$1"; then
        rm -rf "$dir/stage.$$"
        echo "$1"
        exit "$no_space"
    fi
    fail "cannot write to $1"
}

home() {
    mkdir -p "$root" && chmod 700 "$root" && mkdir -p "$dir" || unwritten "$root"
}

forget() {
    find "$root" -mindepth 1 -maxdepth 1 -type d -mtime "+$forgotten" | while read -r dir; do
        alive || rm -rf "$dir"
    done
}

# Reads the parts of the task, given as name:bytes, from the input.
stage() {
    new=$dir/stage.$$
    rm -rf "$new"
    mkdir "$new" && printf '%s\n' "$script" >"$new/supervisor" || unwritten "$dir"
    for part; do
        head -c "${part##*:}" >"$new/${part%%:*}" || unwritten "$dir"
        [ $(($(wc -c <"$new/${part%%:*}"))) -eq "${part##*:}" ] || {
            rm -rf "$new"
            fail "the task did not arrive whole"
        }
    done
    for part in end total; do
        printf '%200s\n' '' >"$new/$part" || unwritten "$dir"
    done
    head -c "$room" /dev/zero >"$new/room" || unwritten "$dir"
    # If another start came first, this moves into its directory, where nobody reads it.
    mv "$new" "$dir/work" || unwritten "$dir"
}

launch() {
    set -- sh "$dir/work/supervisor" run "$dir"
    if [ -d /run/systemd/system ] && [ "$(id -u)" = 0 ]; then
        # KillMode: services that a task starts go on, as they do without systemd.
        systemd-run --quiet --collect --unit="shipyard-${dir##*/}" --property=KillMode=process "$@" \
            </dev/null >/dev/null 2>&1 && return
    fi
    setsid "$@" </dev/null >/dev/null 2>&1 &
}

start() {
    home
    forget
    if [ ! -e "$dir/run" ]; then
        stage "$@"
        launch
        # The end of a short task is part of the answer.
        waited=0
        until [ -e "$dir/end" ] || { [ -e "$dir/run" ] && [ "$waited" -ge "$short" ]; } || [ "$waited" -ge 40 ]; do
            sleep 0.05
            waited=$((waited + 1))
        done
    else
        cat >/dev/null
    fi
}

stop() {
    home
    if ! claim stopped; then
        # shellcheck disable=SC2046  # words
        set -- $(record run)
        if alive; then
            kill -TERM "$3"
            waited=0
            while alive && [ "$waited" -lt $((grace + 50)) ]; do
                sleep 0.1
                waited=$((waited + 1))
            done
        elif [ "${2-}" = "$(boot)" ] && [ ! -e "$dir/end" ]; then
            # The supervisor was killed, and its attempt may go on.
            set -- $(record attempt)
            [ -z "${4-}" ] || [ "$(started "$3")" != "$4" ] || end_group "$3"
        fi
    fi
}

# The parts of the output that are kept: the beginning, and of a longer one the end.
sizes() {
    first=$(bytes head)
    total=$first
    last=0
    if [ -f "$dir/total" ]; then
        total=$(($(record total)))
        last=$(bytes tail)
        [ "$last" -le $((total - first)) ] || last=$((total - first))
        [ "$last" -ge 0 ] || last=0
    fi
    [ "$total" -ge "$first" ] || total=$first
}

kept() {
    [ ! -f "$dir/head" ] || cat "$dir/head"
    [ "$last" -eq 0 ] || tail -c "$last" "$dir/tail"
}

report() {
    alive=no
    ! alive || alive=yes
    # After `alive`: who has died by then has written its `end`.
    echo 'shipyard task 1'
    echo "alive $alive"
    echo "boot $(boot)"
    echo "now $(clock)"
    for name in run attempt end; do echo "$name $(record "$name")"; done
    sizes
    echo "output $first $last $total"
    echo
}

# --- detached ---

# Ends a process group. Whatever a record says: -1 would be every process of the node.
end_group() {
    case $1 in '' | *[!0-9]* | 0 | 1) return ;; esac
    kill -TERM "-$1" 2>/dev/null
    kill -TERM "$1" 2>/dev/null
    waited=0
    while [ "$waited" -lt "$grace" ] && { kill -0 "-$1" || kill -0 "$1"; } 2>/dev/null; do
        sleep 0.1
        waited=$((waited + 1))
    done
    kill -KILL "-$1" 2>/dev/null
    kill -KILL "$1" 2>/dev/null
}

# Ends the task, whatever runs now; the first reason counts.
interrupt() {
    [ "$reason" = exit ] || return
    reason=$1
    [ -z "$pid" ] || end_group "$pid"
}

# Runs a command in a session of its own, and waits for it; an interrupt ends it. Sets code.
supervise() {
    setsid "$@" </dev/null >&3 2>&1 3>&- &
    pid=$!
    echo "$attempts $began $pid $(started "$pid")" >"$dir/attempt.new" && mv "$dir/attempt.new" "$dir/attempt"
    # An interrupt that came before pid was known ended nothing.
    [ "$reason" = exit ] || end_group "$pid"
    while :; do
        wait "$pid"
        code=$?
        kill -0 "$pid" 2>/dev/null || break
    done
    pid=
}

capture() {
    mkfifo "$dir/rest"
    tail -c "$tail_kept" <"$dir/rest" >"$dir/tail" &
    {
        # Writes beyond the limit fail, and tee goes on with its other output.
        trap '' XFSZ
        ulimit -f "$head_kept"
        exec tee "$dir/head" 2>/dev/null
    } | tee "$dir/rest" | wc -c 1<>"$dir/work/total"
    wait
    rm -f "$dir/rest"
    mv "$dir/work/total" "$dir/total"
}

# Interrupts the supervisor at the end of its time. TERM ends it with its sleep, at any moment.
watch() {
    # Here, and not where it is called: a shell may keep a copy of what a call redirects.
    exec 3>&-
    nap=
    ended=
    trap 'ended=yes; [ -z "$nap" ] || kill "$nap"' TERM
    sleep "$timeout" &
    nap=$!
    [ -z "$ended" ] || kill "$nap"
    wait "$nap"
    [ -n "$ended" ] || [ "$(started "$1")" != "$2" ] || kill -ALRM "$1"
}

run() {
    cd /
    reason=exit
    pid=
    trap 'interrupt stopped' TERM
    trap 'interrupt timed_out' ALRM
    since=$(started $$)
    rm -f "$dir/work/room"
    if ! claim supervisor "$(boot)" $$ "$since"; then
        [ ! -e "$dir/end" ] || rm -rf "$dir/work"
        return
    fi
    # The claim survives a loss of power.
    sync "$dir/run" "$dir" 2>/dev/null || sync
    # shellcheck source=/dev/null
    . "$dir/work/spec"
    mkfifo "$dir/pipe"
    capture <"$dir/pipe" &
    exec 3>"$dir/pipe"
    rm -f "$dir/pipe"
    began=$(clock)
    watch $$ "$since" &
    watcher=$!
    attempts=0
    code=
    while [ "$reason" = exit ]; do
        attempts=$((attempts + 1))
        supervise sh "$dir/work/supervisor" attempt "$dir"
        [ "$reason" = exit ] || break
        case " $succeeds " in *" $code "*) break ;; esac
        [ "$attempts" -le "$retries" ] || break
        echo "[attempt $attempts of $((retries + 1)) ended with exit status $code]" >&3
        result=$code
        [ "$interval" -eq 0 ] || supervise sleep "$interval"
        code=$result
    done
    trap '' TERM ALRM
    kill "$watcher" 2>/dev/null
    exec 3>&-
    # A service that the task started may hold the output open for ever.
    waited=0
    until [ -e "$dir/total" ] || [ "$waited" -ge 40 ]; do
        sleep 0.05
        waited=$((waited + 1))
    done
    echo "$reason ${code:--} $attempts $began $(clock)" 1<>"$dir/work/end" && mv "$dir/work/end" "$dir/end"
    rm -rf "$dir/work"
}

# Writes one file, whole or not at all.
place() {
    set -- "$top$1" "$2" "$3" "$4"
    folder=${1%/*}
    [ -d "$folder/" ] || (umask 022 && mkdir -p -m "$4" -- "$folder") || exit 1
    if [ -d "$1" ]; then fail "$1 is a directory"; fi
    new=$(mktemp "$folder/.shipyard.XXXXXX") || exit 1
    cat "$2" >"$new" && chmod "$3" "$new" && mv -f -- "$new" "$1" || {
        why="cannot write $1"
        ! full "$folder" || why="no space left on $folder"
        rm -f "$new"
        fail "$why"
    }
}

attempt() {
    # shellcheck source=/dev/null
    . "$dir/work/spec"
    facts=${dir%/*}/facts
    write_files
    if [ -e "$facts.json" ]; then
        SHIPYARD_FACTS=$facts.json SHIPYARD_FACTS_YAML=$facts.yaml
        export SHIPYARD_FACTS SHIPYARD_FACTS_YAML
    fi
    cd "$top$cwd" || exit 1
    [ -e "$dir/work/command" ] || exit 0
    [ "$(id -u)" != 0 ] || export HOME="${HOME:-/root}"
    umask 022
    exec sh "$dir/work/command"
}

verb=$1
case $verb in
    run | attempt) dir=$2 ;;
    *)
        # An administrator may set another directory: SetEnv in sshd_config.
        root=${SHIPYARD_TASKS:-}
        if [ -z "$root" ] && [ "$(id -u)" = 0 ]; then root=/var/lib/shipyard/tasks; fi
        root=${root:-$HOME/.shipyard/tasks}
        dir=$root/$2
        window=$3
        shift 3
        ;;
esac
case $verb in
    run) run ;;
    attempt) attempt ;;
    start | stop | look)
        [ "$verb" = look ] || "$verb" "$@"
        report
        kept | tail -c "$window"
        ;;
    output)
        report
        kept | tail -c "+$(($1 + 1))" | head -c "$window"
        ;;
esac
