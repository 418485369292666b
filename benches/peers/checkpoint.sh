#!/bin/sh
# Checkpoints as a shell script with jq makes them: the same fields of the same files as `piton begin` and `piton finish` write, and the
# question which step is next. It takes no lock, keeps no earlier version, and believes that a state is what it should be.
#
#   checkpoint.sh plain|durable nine-step begin|finish|next STATE [PHASE STEP AGENT]
#   checkpoint.sh plain|durable ccw begin|finish|next SESSION [TASK]
#
# plain    as people write it: a temporary file and `mv`; after a power loss the file can be empty
# durable  as durable as a script can be: the temporary file and its folder are flushed
set -eu
how=$1 kind=$2 verb=$3 state=$4
shift 4
export NOW="${NOW:-}"

# Replaces FILE with what the rest of the arguments print.
replace() {
  file=$1
  shift
  "$@" "$file" >"$file.tmp"
  [ "$how" = plain ] || sync "$file.tmp"
  mv "$file.tmp" "$file"
  [ "$how" = plain ] || sync "${file%/*}"
}

now='(if env.NOW == "" then now | todate else env.NOW end) as $now |'

nine_step_begin() {
  replace "$state" jq --argjson phase "$1" --argjson step "$2" --arg agent "$3" "$now"'
    {phase: $phase, step: $step, agent: $agent, status: "in_progress", timestamp: $now} as $execution |
    .history = (.history // [.last_execution + {attempt: 1}]) + [$execution + {attempt: 1}] |
    .last_execution = $execution | .current_phase = $phase | .current_step = $step | .updated_at = $now'
}

nine_step_finish() {
  replace "$state" jq --argjson phase "$1" --argjson step "$2" --arg agent "$3" "$now"'
    {phase: $phase, step: $step, agent: $agent, status: "completed", timestamp: $now} as $execution |
    .history = (.history // []) + [$execution + {attempt: 1}] |
    .completed_steps += [$execution] |
    .last_execution = $execution | .updated_at = $now'
}

nine_step_next() {
  jq -r '
    [1, 2, 2.5, 3, 4, 5, 6, 7, 8, 9] as $steps |
    .last_execution | .phase as $phase | .step as $step |
    if .status == "completed" or .status == "approved" then
      ($steps | index($step)) as $at |
      if $at == 9 then "\($phase + 1):1" else "\($phase):\($steps[$at + 1])" end
    else "\($phase):\($step)" end' "$state"
}

ccw_begin() {
  replace "$state/.task/$1.json" jq "$now"'
    .status as $before | .status = "in_progress" |
    .execution.attempts = (.execution.attempts // 0) + 1 | .execution.last_attempt = $now |
    .status_history += [{from: $before, to: "in_progress", changed_at: $now}]'
}

ccw_finish() {
  replace "$state/.task/$1.json" jq "$now"'
    .status as $before | .status = "completed" | .execution.completion_time = $now |
    .status_history += [{from: $before, to: "completed", changed_at: $now}]'
  replace "$state/TODO_LIST.md" sed "s|^- \[ \] \(\*\*$1\*\*.*\)|- [x] \1 \| [✅](./.summaries/$1-summary.md)|"
  replace "$state/workflow-session.json" jq "$now .last_execute_run = \$now"
}

ccw_next() {
  jq -rs '
    sort_by(.id) | map(select(.status == "completed").id) as $done |
    [.[] | select(.status == "in_progress")] + [.[] | select(.status == "pending" and (.context.depends_on - $done == []))] |
    first.id' "$state"/.task/*.json
}

case $kind in
  nine-step) "nine_step_$verb" "$@" ;;
  ccw) "ccw_$verb" "$@" ;;
esac
