# Which Python the environment is made of.

# leave_own_python: take .venv out of the PATH. Where it is activated, set-up would else make it anew
# of itself, and remove it before.
leave_own_python() {
    _rest=$PATH: _kept=
    while [ -n "$_rest" ]; do
        _folder=${_rest%%:*} _rest=${_rest#*:}
        [ "$_folder" -ef "$root/.venv/bin" ] || _kept=$_kept:$_folder
    done
    PATH=${_kept#:}
}

# find_python: set $python to a Python that will do, and return whether there is one.
# DBHONE_PYTHON, when set, is the only one looked at.
find_python() {
    if [ -n "${DBHONE_PYTHON:-}" ]; then
        python=$DBHONE_PYTHON
        has "$python" && _will_do "$python"
        return
    fi
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        if has "$python" && _will_do "$python"; then
            return 0
        fi
    done
    return 1
}

# It must be new enough, and whole: a distribution's minimal Python lacks modules.
_will_do() {
    "$1" -I -S -c '
import sys
if sys.version_info < (3, 11) or sys.implementation.name != "cpython":
    sys.exit(1)
import ctypes, sqlite3, ssl, venv, zlib
' >/dev/null 2>&1
}

# python_version: the version of $python, such as 3.11.
python_version() {
    "$python" -I -S -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

has_pip() {
    "$python" -I -m pip --version >/dev/null 2>&1
}

has_ensurepip() {
    "$python" -I -S -c 'import ensurepip' >/dev/null 2>&1
}
