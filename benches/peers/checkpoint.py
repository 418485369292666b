"""Checkpoints as a Python script makes them: the same fields of the same files as `piton begin` and `piton finish` write, durably, and the
question which step is next. It takes no lock, keeps no earlier version, and believes that a state is what it should be.

    checkpoint.py nine-step begin|finish|next STATE [PHASE STEP AGENT]
    checkpoint.py ccw begin|finish|next SESSION [TASK]
"""

import json
import os
import re
import sys
import tempfile
from datetime import datetime, timezone

STEPS = [1, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]


def now():
    return os.environ.get("NOW") or datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def replace(path, text):
    folder = os.path.dirname(path) or "."
    descriptor, temporary = tempfile.mkstemp(dir=folder)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def replace_json(path, value):
    replace(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def nine_step(verb, path, phase=None, step=None, agent=None):
    state = json.loads(read(path))
    last = state["last_execution"]
    if verb == "next":
        return nine_step_next(last)
    at = now()
    status = "in_progress" if verb == "begin" else "completed"
    execution = {"phase": int(phase), "step": json.loads(step), "agent": agent, "status": status, "timestamp": at}
    history = state.setdefault("history", [{**last, "attempt": 1}])
    history.append({**execution, "attempt": 1})
    if verb == "finish":
        state["completed_steps"].append(execution)
    state.update(last_execution=execution, current_phase=execution["phase"], current_step=execution["step"], updated_at=at)
    replace_json(path, state)


def nine_step_next(last):
    phase, step = last["phase"], last["step"]
    if last["status"] not in ("completed", "approved"):
        print(f"{phase}:{step}")
    elif step == STEPS[-1]:
        print(f"{phase + 1}:{STEPS[0]}")
    else:
        print(f"{phase}:{STEPS[STEPS.index(step) + 1]}")


def ccw(verb, session, task=None):
    tasks = os.path.join(session, ".task")
    if verb == "next":
        return ccw_next([json.loads(read(os.path.join(tasks, name))) for name in sorted(os.listdir(tasks))])
    at = now()
    path = os.path.join(tasks, f"{task}.json")
    state = json.loads(read(path))
    execution = state.setdefault("execution", {})
    status = "in_progress" if verb == "begin" else "completed"
    if verb == "begin":
        execution.update(attempts=execution.get("attempts", 0) + 1, last_attempt=at)
    else:
        execution["completion_time"] = at
    state.setdefault("status_history", []).append({"from": state["status"], "to": status, "changed_at": at})
    state["status"] = status
    replace_json(path, state)
    if verb == "finish":
        todo = os.path.join(session, "TODO_LIST.md")
        line = re.compile(rf"^- \[ \] (\*\*{re.escape(task)}\*\*.*)$", re.MULTILINE)
        replace(todo, line.sub(rf"- [x] \1 | [✅](./.summaries/{task}-summary.md)", read(todo)))
        path = os.path.join(session, "workflow-session.json")
        replace_json(path, {**json.loads(read(path)), "last_execute_run": at})


def ccw_next(tasks):
    done = {task["id"] for task in tasks if task["status"] == "completed"}
    for task in tasks:
        if task["status"] == "in_progress":
            return print(task["id"])
    for task in tasks:
        if task["status"] == "pending" and done.issuperset(task["context"]["depends_on"]):
            return print(task["id"])


if __name__ == "__main__":
    {"nine-step": nine_step, "ccw": ccw}[sys.argv[1]](*sys.argv[2:])
