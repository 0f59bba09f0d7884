# The project's own Python environment, .venv, made from a lock in requirements/.
#
# A purpose is what it is made for: run (what a user needs) or check (that and the tests' tools).
# check.lock holds all that run.lock holds, so an environment for check serves run as well.
# A stamp, written last, says for what and from what it was made. Without a matching stamp
# the environment is made anew: whatever ended a set-up midway, the next one is whole.
#
# Two locks (flock(1)), which the kernel drops however their holder ends:
#   .tools/setup.lock   held by whoever sets up
#   .tools/use.lock     held, shared, by each hone and check, so that no set-up replaces the
#                       packages under a running one

# environment_hold PURPOSE: hold it until this process, or the one that it becomes, ends.
# Returns whether it is ready.
environment_hold() {
    [ -e "$tools/use.lock" ] || return 1
    exec 8<"$tools/use.lock"
    flock -s 8
    environment_is_ready "$1" && return
    exec 8<&-
    return 1
}

# environment_is_ready PURPOSE
environment_is_ready() {
    _stamp "$1" | cmp -s - "$root/.venv/stamp.$1" && [ -x "$root/.venv/bin/hone" ]
}

# environment_make PURPOSE: make it unless it is ready.
environment_make() {
    [ -e "$tools/use.lock" ] && environment_is_ready "$1" && return
    mkdir -p "$tools" 2>/dev/null || true
    if ! [ -w "$tools" ] || ! [ -w "$root" ]; then
        if [ -L "$root/.venv/bin/python" ] && ! [ -x "$root/.venv/bin/python" ]; then
            fail "you may not read the Python of $root/.venv: $(readlink "$root/.venv/bin/python")" \
                "Let its owner set it up with one for all: DBHONE_PYTHON=/usr/bin/python3 ./hone --version"
        fi
        fail "cannot write to $root" "Set it up as the user whom it belongs to."
    fi
    exec 9>"$tools/setup.lock"
    if ! flock -n 9; then
        note "waiting for another set-up to end"
        flock 9
    fi
    environment_is_ready "$1" || _make "$1"
    [ -e "$tools/use.lock" ] || : >"$tools/use.lock" # .tools may have been deleted alone
    environment_is_ready "$1" || fail "what was installed has no command hone" "See $log."
    exec 9>&-
}

_make() {
    : >"$log"
    find_python || fail "there is no Python 3.11 or newer"
    ensure_uv
    read_pip_settings
    if _can_be_extended "$1"; then
        begin "adding the packages for $1 to .venv"
        : >"$root/.venv/extending"
        _install_packages "$1"
        _write_stamp "$1"
        rm "$root/.venv/extending"
    else
        exec 7>"$tools/use.lock"
        flock -n 7 || fail "a hone is running in this environment, which must now be replaced" \
            "Run the same again when it has ended."
        begin "making .venv with $("$python" --version) and the packages for $1"
        _clear
        _install_packages "$1"
        _install_dbhone
        [ "$1" = run ] || _write_stamp run
        _write_stamp "$1"
        exec 7>&-
    fi
    finish
}

# An environment for run can be made one for check under running hones: nothing is replaced.
_can_be_extended() {
    [ "$1" != run ] && environment_is_ready run && ! [ -e "$root/.venv/extending" ]
}

_clear() {
    rm -rf "$tools/old"
    if [ -e "$root/.venv" ] || [ -L "$root/.venv" ]; then
        mv "$root/.venv" "$tools/old"
    fi
    rm -rf "$tools/old"
    with_uv venv --no-project --python "$(command -v "$python")" "$root/.venv" ||
        fail_with_log "the environment could not be made" "$log"
}

_install_packages() {
    with_uv pip install --python "$root/.venv/bin/python" --no-build --require-hashes \
        -r "requirements/$1.lock" ||
        fail_with_log "the packages of requirements/$1.lock could not be installed" "$log"
}

_install_dbhone() {
    with_uv pip install --python "$root/.venv/bin/python" --offline --no-deps \
        --no-build-isolation --editable . ||
        fail_with_log "dbhone itself could not be installed" "$log"
}

_write_stamp() {
    _stamp "$1" >"$root/.venv/stamp.draft"
    mv "$root/.venv/stamp.draft" "$root/.venv/stamp.$1"
}

# The place belongs to the stamp because the programs in .venv/bin name it.
_stamp() {
    printf '%s\n%s\n' "$root" "$(readlink -f "$root/.venv/bin/python")"
    cat "$root/requirements/$1.lock" "$root/setup/environment.sh" | sha256sum
}
