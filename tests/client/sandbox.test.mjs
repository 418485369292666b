// The sandbox of the client: a command of the Bash tool may write in the folder of the session and in what the settings allow, and nowhere else.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';

import { bash, model, say } from './server.mjs';
import { Stage } from './stage.mjs';

/** Why there is no sandbox here, if so. */
function missing() {
  const works = (command, ...words) => spawnSync(command, words).status === 0;
  if (process.platform !== 'linux') return 'the sandbox was tried on Linux only';
  if (!works('socat', '-V')) return 'socat is missing';
  const alone = ['--unshare-all', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', 'true'];
  return works('bwrap', ...alone) ? false : 'bwrap is missing, or may not make namespaces here';
}

const skip = missing();

/** Ends the first step of a nine-step run, whose result is a plan. */
const FINISH = 'mkdir -p .plan; echo plan > .plan/cart_plan.md; piton finish 1:1 --summary "in the sandbox"';

/** A stage with a sandbox that the session cannot leave. It has a `/dev` of its own, so the project cannot be there. */
function sandboxed(context, name) {
  const base = os.tmpdir().startsWith('/dev/') ? '/var/tmp' : os.tmpdir();
  const stage = new Stage(name, base).load();
  context.after(() => stage.close());
  stage.git('commit', '--quiet', '--allow-empty', '-m', 'one');
  allow(stage, []);
  return stage;
}

/** Lets the sandbox of a stage write to more folders. */
function allow(stage, allowWrite) {
  const sandbox = { enabled: true, failIfUnavailable: true, autoAllowBashIfSandboxed: true, allowUnsandboxedCommands: false };
  const folder = stage.folder('the home', '.claude');
  fs.writeFileSync(path.join(folder, 'settings.json'), JSON.stringify({ sandbox: { ...sandbox, filesystem: { allowWrite } } }));
}

/** Runs commands with the Bash tool in one session, and returns what each printed: the document, if it is one. */
async function session(context, stage, commands, options) {
  const service = await model((turn) => (commands[turn.number] ? bash(commands[turn.number]) : say('done')));
  context.after(() => service.close());
  const done = await stage.session(service, 'go on', options).ended;
  assert.equal(done.code, 0, done.err);
  const blocks = done.lines.flatMap((line) => (Array.isArray(line.message?.content) ? line.message.content : []));
  const printed = blocks.filter((block) => block.type === 'tool_result').map((block) => block.content);
  assert.equal(printed.length, commands.length, JSON.stringify(done.result));
  return printed.map((text) => {
    const at = text.indexOf('{"schema"');
    return at < 0 ? text : JSON.parse(text.slice(at).split('\n')[0]);
  });
}

/** Does what `doctor` says about folders that cannot be written, and returns the rules that it named. */
function obey(doctor) {
  const { result, fix } = doctor.data.checks.find((check) => check.name === 'places');
  assert.equal(result, 'warning');
  const make = /outside of it, (mkdir -p .*?); then /.exec(fix);
  if (make) assert.equal(spawnSync('sh', ['-c', make[1]]).status, 0, make[1]);
  return JSON.parse(/"allowWrite": (\[.*?\])/.exec(fix)[1]);
}

/** Returns the names of the homes of runs in a folder. */
function runs(...folders) {
  const folder = path.join(...folders, 'runs');
  return fs.existsSync(folder) ? fs.readdirSync(folder).sort() : [];
}

const places = (doctor) => doctor.data.checks.find((check) => check.name === 'places').result;

test('in a sandbox: a start makes nothing before it is allowed, and doctor names what to allow', { skip, timeout: 600_000 }, async (context) => {
  const stage = sandboxed(context, 'sandbox');
  const [refused, doctor] = await session(context, stage, ['piton start nine-step --feature cart', 'piton doctor']);
  assert.match(refused.error.message, /read-only/);
  assert.deepEqual(refused.error.hints, ['piton doctor']);
  assert.deepEqual(runs(stage.project, '.git/piton'), []);
  assert.deepEqual(runs(stage.project, '.piton'), []);
  // Only the list of what the user began is closed: the git folder is in the folder of the session.
  const rules = obey(doctor);
  assert.deepEqual(rules, [`/${path.join(stage.home, '.local/state/piton')}`]);
  allow(stage, rules);
  const [started, begun, after] = await session(context, stage, [
    'piton start nine-step --feature cart',
    'piton begin',
    'piton doctor',
  ]);
  assert.equal(started.ok, true, JSON.stringify(started));
  assert.equal(begun.data.step, '1:1', JSON.stringify(begun));
  assert.equal(places(after), 'ok');
  assert.deepEqual(runs(stage.project, '.git/piton'), ['nine-step.cart']);
  assert.deepEqual(runs(stage.project, '.piton'), []);
  // The next session and a call outside of the sandbox find what was recorded.
  const [finished] = await session(context, stage, [FINISH]);
  assert.equal(finished.ok, true, JSON.stringify(finished));
  const outside = stage.piton('context', '--step', '1:2');
  assert.match(outside.out, /in the sandbox/);
});

test('in a sandbox: where the git folder is closed a run begins in the project, and stays there', { skip, timeout: 600_000 }, async (context) => {
  const stage = sandboxed(context, 'sandbox');
  // A session in a part of the repository may write there, but not in the git folder above it.
  const shop = stage.folder('the project', 'shop');
  fs.writeFileSync(path.join(shop, 'piton.toml'), '');
  const state = stage.folder('the home', '.local/state/piton');
  allow(stage, [`/${state}`]);
  const here = { cwd: shop };
  const [started, begun, doctor] = await session(
    context, stage, ['piton start nine-step --feature cart', 'piton begin', 'piton doctor'], here,
  );
  assert.equal(started.ok, true, JSON.stringify(started));
  assert.equal(begun.ok, true, JSON.stringify(begun));
  assert.deepEqual(runs(shop, '.piton'), ['nine-step.cart']);
  assert.ok(!fs.existsSync(path.join(stage.project, '.git/piton')));
  const [rule, ...more] = obey(doctor);
  assert.deepEqual(more, []);
  assert.ok(rule.startsWith(`/${path.join(stage.project, '.git/piton/projects/shop-')}`), rule);
  // Found as such in the sandbox and outside, where the git folder can be written.
  const [finished] = await session(context, stage, [FINISH], here);
  assert.equal(finished.ok, true, JSON.stringify(finished));
  const outside = stage.piton('--project', shop, 'begin', '1:2', '--run', 'cart');
  assert.match(outside.out, /in the sandbox/);
  assert.deepEqual(runs(shop, '.piton'), ['nine-step.cart']);
  // With the rule the git folder is the home of what begins; what began before is still found.
  allow(stage, [`/${state}`, rule]);
  const [second, list, after] = await session(
    context, stage, ['piton start dotagent --feature second', 'piton list', 'piton doctor'], here,
  );
  assert.equal(second.ok, true, JSON.stringify(second));
  assert.deepEqual(runs(rule.slice(1)), ['dotagent.second']);
  assert.deepEqual(runs(shop, '.piton'), ['nine-step.cart']);
  assert.deepEqual(list.data.runs.map((run) => run.id).sort(), ['cart', 'second']);
  assert.equal(places(after), 'ok');
});
