#!/bin/sh
# A nine-step run whose developer was at work when the client was killed: the process that began the step is gone.
set -eu
plugin=$(CDPATH='' cd -P -- "$(dirname -- "$0")/../.." && pwd)
cp -R "$plugin/examples/nine-step/." .
git init --quiet --initial-branch=main
piton begin 2:3 --agent backend-developer >/dev/null
