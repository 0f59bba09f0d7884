# All the pieces of set-up. Whoever reads this has set $root, the folder of the repository.
tools=$root/.tools
log=$tools/setup.log
. "$root/setup/say.sh"
. "$root/setup/python.sh"
. "$root/setup/uv.sh"
. "$root/setup/environment.sh"
. "$root/setup/system.sh"

# The environment stands alone; what is set for other Pythons is not for it. Without compiled
# files, which are kept in .venv and src, hone would take seconds to start.
unset PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE
leave_own_python
