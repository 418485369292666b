// Workflow files whose steps the real client carries out: what a person sees of a Claude step, and what an agent is handed.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { bash, model, saw, say, use } from './server.mjs';
import { Stage } from './stage.mjs';

const { PITON_CLIENT: client, PITON_PROGRAM: program } = process.env;

/** A project with a workflow file, and the client on the PATH. */
function staged(context, name, workflow) {
  const stage = new Stage(name);
  context.after(() => stage.close());
  const bin = stage.folder('bin');
  fs.symlinkSync(client, path.join(bin, 'claude'));
  fs.symlinkSync(program, path.join(bin, 'piton'));
  stage.more = { PATH: `${bin}:/usr/bin:/bin`, PITON_NOW: '' };
  stage.write('notes.md', 'faster\n');
  stage.write('w.yaml', workflow);
  stage.git('add', '--all');
  stage.git('commit', '--quiet', '--message', 'a workflow');
  return stage;
}

/** Runs the program while the model answers. */
function piton(stage, service, ...words) {
  const child = spawn(program, words, { cwd: stage.project, env: stage.environment(service), stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data) => (out += data));
  child.stderr.on('data', (data) => (err += data));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })));
}

/** Returns the id of the newest run, finished ones included. */
function newest(stage) {
  return stage.piton('list', '--all').json.data.runs[0].id;
}

async function played(context, plays) {
  const service = await model((turn) => plays[turn.number]?.(turn) ?? say('done'));
  context.after(() => service.close());
  return service;
}

test('a claude step shows its tools, what was denied, and what it cost', { timeout: 120_000 }, async (context) => {
  const facts = 'echo ${look.denied} ${look.turns} ${look.tool_calls} ${look.tokens} ${look.session}';
  const stage = staged(context, 'claude step', `steps:\n- {id: look, claude: Look at the notes.}\n- {shell: "${facts}"}\n`);
  const service = await played(context, [
    () => use('Read', { file_path: path.join(stage.project, 'notes.md') }),
    () => bash('curl example.test'),
    () => say('They are short.'),
  ]);
  const done = await piton(stage, service, 'run', 'w.yaml', '--no-worktree', '--yes');
  assert.equal(done.code, 0, done.err);
  saw(service.turns[0].said, /Look at the notes\./);
  saw(done.err, /^ +Read .*notes\.md$/m, /^ +Bash curl example\.test$/m);
  saw(done.err, /denied: Bash \(?.*curl example\.test.*allowed_tools: \["Bash\(curl example\.test\)"\]/);
  saw(done.err, /2 tool calls, 3 turns, \d+ tokens/);
  saw(done.out, /They are short\./);
  const [, tokens] = /^1 3 2 (\d+) [0-9a-f-]{36}$/m.exec(done.out) ?? assert.fail(done.out);
  stage.now = new Date().toISOString();
  const [look] = stage.piton('show', newest(stage)).json.data.steps;
  assert.deepEqual([look.id, look.tokens], ['look', Number(tokens)]);
});

test('a claude step whose every call is denied fails, and names the rule', { timeout: 120_000 }, async (context) => {
  const stage = staged(context, 'denied step', 'steps:\n- {id: look, claude: Look., retry: 1}\n');
  const service = await played(context, [() => bash('curl example.test'), () => say('I could not.')]);
  const done = await piton(stage, service, 'run', 'w.yaml', '--no-worktree');
  assert.equal(done.code, 7, done.err);
  saw(done.err, /every tool call was denied: .*allowed_tools: \["Bash\(curl example\.test\)"\]/);
});

test('an agent of a run gets its definition and its brief, and its report goes on', { timeout: 120_000 }, async (context) => {
  const stage = staged(
    context,
    'agent step',
    `steps:
- {id: draft, agent: writer, instructions: Write the draft., outputs: draft.md, permission_mode: acceptEdits, allowed_tools: ['Bash(piton finish:*)']}
- {id: go, gate: Ann}
- {id: edit, agent: editor}
`,
  );
  stage.write('.claude/agents/writer.md', '---\nname: writer\ndescription: writes\n---\nYOU ARE THE WRITER.\n');
  const report = (step) => say(`Done.\n\nSTEP: ${step}\nSTATUS: DONE\nSUMMARY: ${step} has three parts`);
  const service = await played(context, [
    () => use('Write', { file_path: path.join(stage.project, 'draft.md'), content: 'text\n' }),
    () => bash('piton finish draft'),
    () => report('draft'),
    () => report('edit'),
  ]);
  const stopped = await piton(stage, service, 'run', 'w.yaml', '--no-worktree');
  assert.equal(stopped.code, 9, stopped.err);
  const [begun, , refused] = service.turns;
  saw(JSON.stringify(begun.system) + begun.said, /YOU ARE THE WRITER/);
  saw(begun.said, /Do step draft of the run session-/, /Write the draft\./, /run neither `piton begin` nor `piton finish`/);
  saw(refused.last, /carries out step draft of session-.* and records it/);
  assert.equal(stage.read('draft.md'), 'text\n');
  stage.now = new Date().toISOString();
  const id = newest(stage);
  assert.equal(stage.piton('decide', 'go', 'approve', '--run', id, '--by', 'Ann', '--note', 'in blue').code, 0);
  const done = await piton(stage, service, 'resume', id);
  assert.equal(done.code, 0, done.err);
  saw(service.turns.at(-1).said, /Do step edit of the run/, /draft is completed by writer: draft has three parts/, /Note: in blue/);
});
