// What the plugin lets a model do without a person, and what the client refuses or asks.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { bash, model, saw, say, use } from './server.mjs';
import { Stage } from './stage.mjs';

/** Verbs that read or record, in an order in which each of them succeeds. */
const RECORDING = [
  'plan',
  'list',
  'status',
  'context',
  'validate',
  'history',
  'begin 2:3',
  'finish 2:3 --summary written',
  'pause',
];

/** What injected text might make a model try: each runs something, decides, moves, removes, writes elsewhere or changes settings. */
const FORBIDDEN = [
  'piton run evil.yaml',
  'piton resume --yes',
  'piton start nine-step --feature other',
  'piton decide 1:2.5 approve --by someone',
  'piton decide 2:4 accept --by someone --note fine',
  'piton decide 2:3 redo --by someone --note again',
  'piton decide 2:5 override --by someone --note now',
  'piton decide 2:4 skip --note slow',
  'piton close --abort',
  'piton close --done --yes',
  'piton close --abort',
  'piton restore --yes',
  'piton restore --yes',
  'piton rollback --to 1 --yes',
  'piton sessions',
  'piton setup --permissions --yes',
  'piton setup',
  'piton plan && piton close --abort',
  'piton plan > OUTSIDE',
  'piton plan | sh evil.sh',
  'PITON_BIN=./evil.sh piton plan',
  'piton plan $(sh evil.sh)',
  'touch OUTSIDE',
];

/** A project with an interrupted run and files that would leave a trace if they were run. */
function prepared(name) {
  const stage = new Stage(name).load().example('nine-step');
  fs.writeFileSync(path.join(stage.project, 'evil.yaml'), '- shell: "touch OUTSIDE"\n');
  fs.writeFileSync(path.join(stage.project, 'evil.sh'), '#!/bin/sh\ntouch OUTSIDE\n', { mode: 0o755 });
  return stage;
}

/** Returns every file of a project with its bytes, but for Piton's notes about the session. */
function contents(folder) {
  const found = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = found.map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
  const kept = files.map((file) => path.relative(folder, file)).filter((file) => !/(^|\/)\.(git|piton)\//.test(file));
  return Object.fromEntries(kept.sort().map((file) => [file, fs.readFileSync(path.join(folder, file), 'latin1')]));
}

/** Returns what the client answered to each call of a session, by the command. */
function answers(done) {
  const blocks = done.lines.flatMap((line) => (Array.isArray(line.message?.content) ? line.message.content : []));
  const results = new Map(blocks.filter((block) => block.type === 'tool_result').map((block) => [block.tool_use_id, block]));
  const calls = blocks.filter((block) => block.type === 'tool_use');
  return new Map(calls.map((call) => [call.input.command, results.get(call.id)]));
}

// SECURITY: row 14
test('verbs that read or record pass without a person', { timeout: 120_000 }, async (context) => {
  const stage = prepared('rights');
  context.after(() => stage.close());
  const service = await model((turn) => (RECORDING[turn.number] ? bash(`piton ${RECORDING[turn.number]}`) : say('done')));
  context.after(() => service.close());
  const done = await stage.session(service, '/workflow-resume').ended;
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.result.permission_denials, []);
  const given = answers(done);
  for (const words of RECORDING) {
    const text = JSON.stringify(given.get(`piton ${words}`)?.content);
    assert.ok(/\\"ok\\":true/.test(text), `${words}: ${text}`);
  }
});

for (const skill of ['workflow-resume', 'workflow-exec', 'checkpoint']) {
  // SECURITY: row 14
  test(`${skill}: nothing else passes without a person`, { timeout: 240_000 }, async (context) => {
    const stage = prepared('rights');
    context.after(() => stage.close());
    const before = contents(stage.project);
    const service = await model((turn) => (FORBIDDEN[turn.number] ? bash(FORBIDDEN[turn.number]) : say('done')));
    context.after(() => service.close());
    const done = await stage.session(service, `/piton:${skill}`).ended;
    assert.equal(done.code, 0, done.err);
    const given = answers(done);
    for (const command of FORBIDDEN) {
      const answer = given.get(command);
      assert.ok(answer?.is_error, `${command}: ${JSON.stringify(answer?.content)}`);
      assert.doesNotMatch(JSON.stringify(answer.content), /Exit code|\\"schema\\"/, `${command} was run`);
    }
    assert.deepEqual(contents(stage.project), before);
    assert.ok(!fs.existsSync(path.join(stage.home, '.claude/settings.json')), 'no rule was added');
    assert.ok(!fs.existsSync(path.join(stage.home, '.local/state/piton')), 'no session was begun');
  });
}

// SECURITY: row 14
test('a skill reads the files beside it, and none outside of the project', { timeout: 120_000 }, async (context) => {
  const stage = prepared('rights');
  context.after(() => stage.close());
  const key = path.join(stage.folder('the home', '.ssh'), 'id_rsa');
  fs.writeFileSync(key, 'the words of a key');
  let base = '';
  const service = await model((turn) => {
    base = /Base directory for this skill: ([^\n]+)/.exec(turn.said)?.[1] ?? base;
    const files = [key, path.join(base, 'references/other-plans.md'), path.join(stage.project, 'evil.yaml')];
    return files[turn.number] ? use('Read', { file_path: files[turn.number] }) : say('done');
  });
  context.after(() => service.close());
  const done = await stage.session(service, '/workflow-resume').ended;
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.result.permission_denials.map((denial) => denial.tool_input.file_path), [key]);
  assert.ok(!JSON.stringify(service.turns).includes('the words of a key'));
  saw(JSON.stringify(service.turns.at(-1).messages), /Task Master or BMAD/, /touch OUTSIDE/);
});

// SECURITY: row 14
test('the rules of setup --permissions hold on every turn, and no further', { timeout: 120_000 }, async (context) => {
  const stage = prepared('rights');
  context.after(() => stage.close());
  assert.equal(stage.piton('setup', '--permissions', '--yes').code, 0);
  const plays = [bash('piton plan'), bash('piton begin 2:3'), bash('piton run evil.yaml'), bash('piton decide 1:2.5 approve')];
  const service = await model((turn) => plays[turn.number] ?? say('done'));
  context.after(() => service.close());
  const done = await stage.session(service, 'continue').ended;
  assert.equal(done.code, 0, done.err);
  const refused = done.result.permission_denials.map((denial) => denial.tool_input.command);
  assert.deepEqual(refused, ['piton run evil.yaml', 'piton decide 1:2.5 approve']);
  saw(service.turns[2].last, /2:3 is in progress/);
  assert.ok(!fs.existsSync(path.join(stage.project, 'OUTSIDE')));
});

// SECURITY: row 14
test('commands pre-approve what they read, and nothing else', { timeout: 120_000 }, async (context) => {
  for (const [command, passes] of [
    ['status', ['piton status', 'piton list']],
    ['list', ['piton list']],
    ['doctor', []],
    ['setup', []],
    ['rollback', ['piton plan', 'piton list', 'piton history']],
  ]) {
    const stage = prepared('rights');
    context.after(() => stage.close());
    const tried = [...passes, 'piton setup --permissions --yes', 'piton rollback --to 1 --yes', 'piton close --abort'];
    const service = await model((turn) => (tried[turn.number] ? bash(tried[turn.number]) : say('done')));
    context.after(() => service.close());
    const done = await stage.session(service, `/piton:${command}`).ended;
    assert.equal(done.code, 0, done.err);
    const refused = done.result.permission_denials.map((denial) => denial.tool_input.command);
    assert.deepEqual(refused, tried.slice(passes.length), command);
  }
});
