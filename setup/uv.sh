# uv, which installs the Python packages: the machine's own if it is new enough, else the one
# that requirements/uv.lock pins, fetched by pip into .tools/uv.

# find_uv: set $uv, and return whether there is one.
find_uv() {
    if uv=$(command -v uv) && _is_new_enough "$("$uv" --version 2>/dev/null)"; then
        return 0
    fi
    uv=$tools/uv/bin/uv
    [ -x "$uv" ] && cmp -s "$root/requirements/uv.lock" "$tools/uv/uv.lock"
}

# ensure_uv: find uv, or fetch it. Needs $python.
ensure_uv() {
    find_uv && return
    begin "fetching uv"
    ensure_pip
    rm -rf "$tools/uv.draft"
    # These settings of pip are for other uses than ours, and would make it refuse.
    if ! env -u PIP_PREFIX -u PIP_CONSTRAINT PIP_REQUIRE_VIRTUALENV=0 \
        "$pip_python" -I -m pip install --quiet --no-user --no-input --disable-pip-version-check \
        --no-deps --require-hashes --only-binary :all: --target "$tools/uv.draft" \
        -r "$root/requirements/uv.lock" >>"$log" 2>&1; then
        fail_with_log "uv could not be fetched from the package index" "$log"
    fi
    cp "$root/requirements/uv.lock" "$tools/uv.draft/uv.lock"
    rm -rf "$tools/uv"
    mv "$tools/uv.draft" "$tools/uv"
    find_uv || fail "the uv that was fetched does not run: $uv"
    finish
}

# ensure_pip: set $pip_python to a Python that has pip: the machine's, or a private one.
ensure_pip() {
    pip_python=$python
    has_pip && return
    pip_python=$tools/pip/bin/python
    "$pip_python" -I -m pip --version >/dev/null 2>&1 && return
    rm -rf "$tools/pip"
    if ! "$python" -I -m venv "$tools/pip" >>"$log" 2>&1; then
        fail_with_log "$python cannot make a virtual environment" "$log"
    fi
}

# with_uv ARGUMENT...: run uv with the index that the user has set for pip, at the root.
with_uv() (
    cd "$root" || exit
    while IFS= read -r _setting; do
        [ -z "$_setting" ] || export "${_setting?}"
    done <<END
$uv_settings
END
    if [ -z "${UV_CACHE_DIR:-}" ] && ! [ -w "${XDG_CACHE_HOME:-${HOME:-/nonexistent}}" ]; then
        export UV_CACHE_DIR="$tools/cache"
    fi
    if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
        # Trust whom the machine trusts. The second name is the first one's older spelling.
        export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}" UV_NATIVE_TLS="${UV_NATIVE_TLS:-1}"
    fi
    # These settings of uv are for other uses than ours, and would make it refuse.
    unset UV_EXCLUDE_NEWER UV_REQUIRE_HASHES UV_SYSTEM_PYTHON UV_PYTHON UV_CONSTRAINT UV_OVERRIDE
    export UV_PYTHON_DOWNLOADS=never
    "$uv" --no-progress "$@" >>"$log" 2>&1
)

# read_pip_settings: set $uv_settings to what the user has set for pip, in the words of uv.
# It is kept in this process: it may hold passwords.
read_pip_settings() {
    uv_settings=$("${pip_python:-$python}" -I -m pip config list 2>/dev/null) || uv_settings=
    uv_settings=$(printf '%s\n' "$uv_settings" |
        "$python" -I -S "$root/setup/pip_settings.py" 2>>"$log") ||
        fail_with_log "pip's settings could not be understood" "$log"
}

_is_new_enough() {
    _version=${1#uv }
    _version=${_version%% *}
    _major=${_version%%.*}
    _minor=${_version#*.}
    _minor=${_minor%%.*}
    case $_major$_minor in
    '' | *[!0-9]*) return 1 ;;
    esac
    [ "$_major" -gt 0 ] || [ "$_minor" -ge 8 ]
}
