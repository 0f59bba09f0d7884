# What set-up says. It says it on standard error: standard output belongs to hone.

_line_is_open=

# begin TEXT: say what is being done, and leave the line open for its time.
begin() {
    printf 'set-up: %s ... ' "$1" >&2
    _line_is_open=yes
    _began=$(now)
}

# finish: close the line with the seconds since it began.
finish() {
    printf '%s s\n' "$(seconds_since "$_began")" >&2
    _line_is_open=
}

# note TEXT: say something that does not stop set-up.
note() {
    _close_line
    printf 'set-up: %s\n' "$1" >&2
}

# fail WHAT [NEXT]: say what failed and what to do next, and end with exit code 1.
fail() {
    _close_line
    printf 'set-up failed: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf '%s\n' "$2" >&2
    exit 1
}

# fail_with_log WHAT LOG: fail, with the end of a log and where the whole of it is.
fail_with_log() {
    _close_line
    tail -n 15 "$2" | sed 's/^/    /' >&2
    fail "$1" "The whole log is $2. Running the same again continues from here."
}

# now: nanoseconds, for seconds_since.
now() {
    date +%s%N
}

# seconds_since MOMENT: the seconds since then, with one decimal.
seconds_since() {
    _tenths=$((($(now) - $1) / 100000000))
    printf '%d.%d' $((_tenths / 10)) $((_tenths % 10))
}

has() {
    command -v "$1" >/dev/null 2>&1
}

_close_line() {
    [ -z "$_line_is_open" ] || printf 'failed\n' >&2
    _line_is_open=
}

trap 'printf "\nstopped: running the same again continues from here\n" >&2; exit 130' INT
