#!/bin/sh
# A nine-step run whose developer was at work when the client was killed: the process that began the step is gone.
set -eu
plugin=$(CDPATH='' cd -P -- "$(dirname -- "$0")/../.." && pwd)
cp -R "$plugin/examples/nine-step/." .
git init --quiet --initial-branch=main
# The review that sent the work back was just now: after more than a week a person says first that the run goes on.
state=.worktree/user-auth/.workflow-state.json
sed "s/2026-01-31T11:30:00Z/$(date -u +%Y-%m-%dT%H:%M:%SZ)/" "$plugin/examples/nine-step/$state" >"$state"
piton begin 2:3 --agent backend-developer >/dev/null
