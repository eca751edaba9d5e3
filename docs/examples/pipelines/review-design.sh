#!/bin/sh
# Review documents against the committed ones, and write the result as Markdown: differences, dry run of the commit, plan
# of a deployment with its forecast.
#
#   review-design.sh [--check] COLLECTION DIRECTORY REVIEW.md
#
# SHIPYARD_URL and SHIPYARD_TOKEN name the server. The documents replace those in its buffer and stay there; nothing is
# committed. Exits 0 if they could be committed, else 1. With --check, exits 2 if a server would have to be reinstalled.
set -u
check=
if [ "${1-}" = --check ]; then
    check=--check
    shift
fi
if [ $# -ne 3 ]; then
    echo "usage: review-design.sh [--check] COLLECTION DIRECTORY REVIEW.md" >&2
    exit 64
fi
collection=$1 directory=$2 review=$3
longest=12000 # bytes of a section: GitHub takes 65,536 characters in a comment

output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT

# Append the output of a command as a section; return its exit code. The documents cannot end an indented block, as they
# could a fenced one.
section() {
    title=$1
    shift
    "$@" >"$output" 2>&1
    code=$?
    cat "$output"
    {
        printf '### %s\n\n' "$title"
        head -c "$longest" "$output" | sed 's/^/    /; s/ *$//'
        printf '\n\n'
        if [ "$(wc -c <"$output")" -gt "$longest" ]; then
            printf 'Cut after %s bytes; the log of the job has the rest.\n\n' "$longest"
        fi
    } >>"$review"
    return "$code"
}

printf '## Review of the design\n\n' >"$review" || exit 1
if ! section Documents shipyard create configdocs "$collection" --directory="$directory" --replace; then
    # The server refuses documents that would change nothing.
    if grep -q 'Collection created no new revision' "$output"; then
        printf '## Review of the design\n\nThe documents are those that are committed.\n' >"$review"
        exit 0
    fi
    exit 1
fi
section Differences shipyard get configdocs --base-version=committed || exit 1
section "Dry run" shipyard commit configdocs --dryrun || exit 1
# A dry run succeeds whatever it finds.
grep -q '^####  Errors: 0,' "$output" || exit 1
# A server that refuses the deployment now, as beside a running action, says nothing against the documents.
section "Plan and forecast" shipyard plan deploy_site --version=buffer --forecast $check
code=$?
if [ -n "$check" ] && [ "$code" -eq 2 ]; then
    echo "A server would have to be reinstalled." >>"$review"
    exit 2
fi
exit 0
