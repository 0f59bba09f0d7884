# The system packages. What is looked for is commands that work, wherever they are from; only
# what is missing is asked of the system's package manager, and only if it lets us.

_updated=

# system_ready PURPOSE: have the programs that environment or check needs, or fail. What builds
# and measurements need, hone knows: 'hone setup'.
system_ready() {
    if [ -n "${DBHONE_PYTHON:-}" ] && ! find_python; then
        fail "DBHONE_PYTHON is no CPython 3.11 or newer with all its modules: $DBHONE_PYTHON" \
            "Name another, or leave it unset."
    fi
    _needed=$(packages_needed "$1")
    _wanted=$(packages_wanted "$1")
    [ -n "$_needed$_wanted" ] || return 0
    if ! has apt-get; then
        _without_apt
    elif ! _may_be_root; then
        _without_root
    else
        [ -z "$_needed" ] || _install_needed "$1"
        [ -z "$_wanted" ] || _install_wanted
    fi
}

# packages_needed PURPOSE: the packages without which it cannot be done.
packages_needed() {
    {
        _python_packages
        [ "$1" != check ] || has git || echo git
    } | _on_one_line
}

# packages_wanted PURPOSE: the packages without which less is done.
packages_wanted() {
    [ "$1" = check ] || return 0
    {
        has ld.mold || echo mold
        _browser_packages
        _server_packages
    } | _on_one_line
}

# What looks at the reports' pages. Ubuntu's is no package but a snap, which is not for us to add.
_browser_packages() {
    case $(_distribution) in
    ubuntu*) return ;;
    esac
    has chromium || has chromium-browser || echo chromium
}

# A real server that needs no building, and an allocator to start it with. Neither package starts
# a service.
_server_packages() {
    # It is where a user's PATH does not lead.
    has mariadbd || [ -x /usr/sbin/mariadbd ] || _mariadb_package server-core
    # Dumps are made and restored.
    has mariadb-dump || _mariadb_package client
    _has_library libjemalloc.so.2 || echo libjemalloc2
    # SQLite's own tests embed Tcl.
    _has_file /usr/include/tcl.h /usr/include/tcl*/tcl.h || echo tcl-dev
}

# _has_file PATH...: whether one of them is there.
_has_file() {
    for _path in "$@"; do
        [ ! -e "$_path" ] || return 0
    done
    return 1
}

# _has_library NAME: whether programs find it, taken for granted where nothing tells.
_has_library() {
    ! has ldconfig || ldconfig -p | grep -qF "$1"
}

# _mariadb_package PART: the name of a package of MariaDB's.
_mariadb_package() {
    if [ "$(_distribution)" = ubuntu22.04 ]; then
        echo "mariadb-$1-10.6"
    else
        echo "mariadb-$1"
    fi
}

_python_packages() {
    if ! find_python; then
        if [ "$(_distribution)" = ubuntu22.04 ]; then
            echo python3.11 python3.11-venv
        else
            echo python3 python3-venv
        fi
    elif ! find_uv && ! has_pip && ! has_ensurepip; then
        echo "python$(python_version)-venv"
    fi
}

_distribution() (
    ID='' VERSION_ID=''
    # shellcheck disable=SC1091
    [ ! -r /etc/os-release ] || . /etc/os-release
    echo "$ID$VERSION_ID"
)

_on_one_line() {
    tr '\n' ' ' | sed 's/ *$//'
}

_may_be_root() {
    [ "$(id -u)" -eq 0 ] || { has sudo && sudo -n true 2>/dev/null; }
}

_as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

_line_for_the_user() {
    if has sudo || [ "$(id -u)" -eq 0 ]; then
        _sudo=sudo
        [ "$(id -u)" -ne 0 ] || _sudo=
        echo "${_sudo:+$_sudo }apt-get update &&" \
            "${_sudo:+$_sudo }apt-get install -y --no-install-recommends $1"
    else
        echo "su -c 'apt-get update && apt-get install -y --no-install-recommends $1'"
    fi
}

_without_apt() {
    [ -n "$_needed" ] || {
        note "for the whole of the checks, install what Debian calls: $_wanted"
        return
    }
    fail "programs are missing, and there is no apt-get to install them" \
        "Install what Debian calls: ${_needed}${_wanted:+ $_wanted}"
}

_without_root() {
    _line=$(_line_for_the_user "${_needed:+$_needed${_wanted:+ }}$_wanted")
    [ -n "$_needed" ] || {
        note "for the whole of the checks, run: $_line"
        return
    }
    fail "system packages are missing. Run this, then the same again:" "$_line"
}

_install_needed() {
    _apt_get "$_needed" && _left=$(packages_needed "$1") && [ -z "$_left" ] && return
    fail_with_log "apt-get could not install: ${_left:-$_needed}" "$log"
}

_install_wanted() {
    _apt_get "$_wanted" ||
        note "apt-get could not install $_wanted: less is checked (the log is $log)"
}

# Waits for other users of the package manager, such as a new machine's first upgrade.
_apt_get() {
    mkdir -p "$tools"
    : >"$log"
    begin "installing $1"
    [ -n "$_updated" ] || _quietly apt-get update || true
    _updated=yes
    # shellcheck disable=SC2086 # the packages are words
    _quietly apt-get install -y --no-install-recommends $1 || return 1
    finish
}

_quietly() {
    _program=$1
    shift
    _as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
        "$_program" -q -o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$log" 2>&1
}
