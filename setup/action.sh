#!/bin/sh
# What action.yml runs: compares a change with its base, and says so where GitHub shows it.
#
# Read are BASE and CHANGE (sources), GOAL (what 'hone setup' is given; may be empty), ARGUMENTS
# (more words for 'hone compare'), GITHUB_STEP_SUMMARY and GITHUB_OUTPUT (files to add to).
# The exit code is that of 'hone compare'.
set -eu
unset FORCE_COLOR # what is printed is read here, too
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
[ -z "${GOAL:-}" ] || "$root/hone" setup --yes "$GOAL"
report=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/hone-report.XXXXXX")
exec 3>&1
{
    code=0
    # shellcheck disable=SC2086 # the arguments are words
    "$root/hone" compare "$BASE" "$CHANGE" --refresh ${ARGUMENTS:-} 2>&1 >&3 || code=$?
    echo "$code" >"$report/code"
} | tee "$report/log" >&2
code=$(cat "$report/code")
answer=$(sed -n 's/^exit code [0-9]*: //p' "$report/log" | tail -n 1)
# Another job may have begun a later run meanwhile: 'last' could be that one.
run=$(sed -n '/^run [0-9][0-9]*  /{s/^run \([0-9]*\) .*/\1/p;q;}' "$report/log")
{
    printf '## hone compare: %s\n\n' "${answer:-failed, see the log of this step}"
    # shellcheck disable=SC2016 # Markdown's own quotes
    printf '`%s` is the base, `%s` the change.\n\n' "$BASE" "$CHANGE"
} >"$report/comment.md"
case $code:$run in
[034]:?*)
    "$root/hone" report "$run" --format markdown >>"$report/comment.md"
    "$root/hone" report "$run" --format html --output "$report/report.html"
    ;;
esac
cat "$report/comment.md" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
{
    printf 'exit-code=%s\n' "$code"
    printf 'answer=%s\n' "$answer"
    printf 'report=%s\n' "$report"
} >>"${GITHUB_OUTPUT:-/dev/stdout}"
exit "$code"
