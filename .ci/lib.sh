# What `.ci/check`, `.ci/run` and `.ci/prove` share; they source it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A test must not rewrite what it checks, and a backtrace only hides the message.
export INSTA_UPDATE=no RUST_BACKTRACE=0 CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"
unset UPDATE_SCHEMAS

# Puts temporary files into memory, where there is room for them and programs may run there: tests flush many thousands of small files. Not for
# a benchmark: there a flush is free.
in_memory() {
  local avail
  [ -z "${TMPDIR-}" ] && avail=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1) && [ "$avail" -ge 4000000 ] || return 0
  # Not TMPDIR: it is removed at the end whatever becomes of that.
  memory=$(mktemp -d /dev/shm/piton-gate.XXXXXX) || return 0
  trap 'rm -rf "$memory"' EXIT
  # Some tests run the program as another user.
  chmod 755 "$memory"
  printf '#!/bin/sh\n' >"$memory/program"
  chmod +x "$memory/program"
  if "$memory/program" 2>/dev/null; then export TMPDIR="$memory"; fi
}

# Has the linter compile: what it says and what the tests run come from one reading of the library. `cargo clippy` would read it twice more.
lint_while_compiling() {
  export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__
}

# Where suites write how long they took; a gate that calls another has it write into its own.
ledger="${PITON_LEDGER:-$(mktemp)}"
export PITON_LEDGER="$ledger"

# suite NAME COMMAND...: runs a command and notes its seconds in the ledger.
suite() {
  local name="$1" from="$SECONDS" status=0
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  "$@" || status=$?
  printf '%s %s\n' "$name" "$((SECONDS - from))" >>"$ledger"
  return "$status"
}

# print_ledger TABLE: prints what each suite took beside what TABLE (lines of NAME SECONDS) allows it.
print_ledger() {
  printf '\n%-12s %8s %8s\n' suite seconds allowed
  awk '
    NR == FNR { allowed[$1] = $2; next }
    {
      over = ($1 in allowed) && $2 + 0 > allowed[$1] + 0 ? "  over" : ""
      printf "%-12s %8d %8s%s\n", $1, $2, allowed[$1], over
      sum += $2
    }
    END { printf "%-12s %8d\n", "all", sum }
  ' <(printf '%s\n' "$1") "$ledger"
  rm -f "$ledger"
}

# require COMMAND PACKAGE: finds a tool, or installs the package that has it where this machine lets us.
require() {
  command -v "$1" >/dev/null && return
  local as=()
  [ "$(id -u)" = 0 ] || as=(sudo -n)
  if command -v apt-get >/dev/null && ${as[@]+"${as[@]}"} apt-get update -qq; then
    ${as[@]+"${as[@]}"} apt-get install -y -qq --no-install-recommends "$2" || true
  fi
  command -v "$1" >/dev/null && return
  printf '%s: `%s` is missing, and `apt-get install %s` is not possible here\n' "$0" "$1" "$2" >&2
  return 1
}

require git git
require cc gcc
# It kills the program at every write, and refuses each; without it those tests say that they are left out.
require strace strace || true
command -v cargo >/dev/null || {
  printf '%s: `cargo` is missing; install Rust from https://rustup.rs\n' "$0" >&2
  exit 1
}
for tool in fmt clippy; do
  cargo "$tool" --version >/dev/null 2>&1 || rustup component add "${tool/fmt/rustfmt}"
done
