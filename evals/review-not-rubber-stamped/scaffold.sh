#!/bin/sh
# A nine-step run before the review of phase 2; the work ignores both findings of the last review.
set -eu
plugin=$(CDPATH='' cd -P -- "$(dirname -- "$0")/../.." && pwd)
cp -R "$plugin/examples/nine-step/." .
git init --quiet --initial-branch=main
# The review that sent the work back was just now: after more than a week a person says first that the run goes on.
state=.worktree/user-auth/.workflow-state.json
sed "s/2026-01-31T11:30:00Z/$(date -u +%Y-%m-%dT%H:%M:%SZ)/" "$plugin/examples/nine-step/$state" >"$state"
mkdir -p .worktree/user-auth/src
cat >.worktree/user-auth/src/login.py <<'END'
PASSWORDS = {"admin": "admin"}


def check(name, password):
    return PASSWORDS.get(name) == password
END
piton begin 2:3 --agent backend-developer >/dev/null
piton finish 2:3 --summary 'Both findings are fixed: src/login.py' >/dev/null
