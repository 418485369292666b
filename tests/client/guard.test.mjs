// The guard of tasks, which a person asks for with `piton setup --guard`, in the real client.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { model, saw, say, use } from './server.mjs';
import { Stage } from './stage.mjs';

const outputs = { outputs: ['parser.txt'] };
const start = [
  use('TaskCreate', { subject: 'Write parser', description: 'Parse it', activeForm: 'Writing', metadata: outputs }),
  use('TaskUpdate', { taskId: '1', status: 'in_progress' }),
];
const complete = use('TaskUpdate', { taskId: '1', status: 'completed' });

/** Waits until the client has written the start of the task to its transcript: a real model takes longer than that. */
async function written(stage) {
  const projects = path.join(stage.home, '.claude/projects');
  const files = () => fs.readdirSync(projects, { recursive: true }).filter((name) => name.endsWith('.jsonl'));
  const has = () => files().some((name) => fs.readFileSync(path.join(projects, name), 'utf8').includes('"to":"in_progress"'));
  for (let tries = 0; tries < 200 && !has(); tries++) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Plays these calls in a session of a project, and returns what the model was told after each, and the task as it is then. */
async function plays(context, calls, setUp = () => {}) {
  const stage = new Stage('guard').build();
  context.after(() => stage.close());
  setUp(stage);
  const service = await model((turn) => {
    const call = calls(stage)[turn.number];
    return (typeof call === 'function' ? call() : call) ?? say('done');
  });
  context.after(() => service.close());
  const more = ['--allowedTools', 'TaskCreate,TaskUpdate,Write'];
  const done = await stage.session(service, 'write the parser', { more, env: { CLAUDE_CODE_ENABLE_TODO_TOOLS: '1' } }).ended;
  assert.equal(done.code, 0, done.err);
  const lists = path.join(stage.home, '.claude/tasks');
  const [list] = fs.readdirSync(lists);
  const task = JSON.parse(fs.readFileSync(path.join(lists, list, '1.json'), 'utf8'));
  return { task, told: service.turns.map((turn) => turn.last) };
}

const guarded = (stage) => assert.equal(stage.piton('setup', '--guard', '--yes').code, 0);

test('a task whose declared output is missing is not completed, and is once it is there', { timeout: 60_000 }, async (context) => {
  const calls = (stage) => [
    ...start,
    complete,
    () => {
      stage.write('parser.txt', 'parsed\n');
      return complete;
    },
  ];
  const { task, told } = await plays(context, calls, guarded);
  saw(told[3], /parser\.txt is missing; task 1 declares it/);
  assert.doesNotMatch(told[4], /parser\.txt is missing/);
  assert.equal(task.status, 'completed');
});

test('what is older than the work on it is refused; the third time the task passes', { timeout: 60_000 }, async (context) => {
  const setUp = (stage) => {
    guarded(stage);
    stage.write('parser.txt', 'of yesterday\n');
    const yesterday = Date.now() / 1000 - 86_400;
    fs.utimesSync(path.join(stage.project, 'parser.txt'), yesterday, yesterday);
  };
  const calls = (stage) => [...start, () => written(stage).then(() => complete), complete, complete];
  const { task, told } = await plays(context, calls, setUp);
  saw(told[3], /parser\.txt is older than the work on it; task 1 declares it/);
  saw(told[4], /parser\.txt is older than the work on it; task 1 declares it/);
  assert.doesNotMatch(told[5], /older than the work/);
  assert.equal(task.status, 'completed');
});

// SECURITY: row 16
test('nothing is refused without the guard, or after its removal; a project cannot switch it off', { timeout: 120_000 }, async (context) => {
  const without = await plays(context, () => [...start, complete]);
  assert.equal(without.task.status, 'completed');
  const removed = await plays(context, () => [...start, complete], (stage) => {
    guarded(stage);
    assert.equal(stage.piton('setup', '--no-guard', '--yes').code, 0);
  });
  assert.equal(removed.task.status, 'completed');
  const hostile = await plays(context, () => [...start, complete], (stage) => {
    guarded(stage);
    stage.write('piton.toml', 'guard = false\n');
  });
  assert.equal(hostile.task.status, 'in_progress');
});
