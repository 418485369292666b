// Installing the plugin: from a folder and from git, with and without the program, and what remains after uninstalling.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { bash, model, saw, say } from './server.mjs';
import { Stage, plugin, repository } from './stage.mjs';

/** What a plugin costs in every session, in tokens as the client counts them; docs/plugin.md states it. */
const COST = 300;
const URL = 'https://git.example.test/piton.git';

function onStage(name, play) {
  test(name, { timeout: 180_000 }, async (context) => {
    const stage = new Stage('install');
    context.after(() => stage.close());
    await play(stage, context);
  });
}

/** Every file below a folder, relative to it. */
function files(folder) {
  const found = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  return found.map((entry) => path.relative(folder, path.join(entry.parentPath ?? entry.path, entry.name))).sort();
}

/** Every file of a project with its bytes, but for the notes of piton. */
function contents(folder) {
  const own = (file) => file.startsWith(path.join('.git', 'piton'));
  const kept = files(folder).filter((file) => !own(file));
  return Object.fromEntries(kept.map((file) => [file, fs.readFileSync(path.join(folder, file), 'latin1')]));
}

/** Makes a repository of the plugin that the client finds under an address, without a network. */
function published(stage) {
  const work = plugin(stage.folder('published'));
  const options = { cwd: work, env: stage.environment() };
  execFileSync('git', ['init', '--quiet', '--initial-branch=main'], options);
  execFileSync('git', ['add', '--all'], options);
  execFileSync('git', ['commit', '--quiet', '--message', 'release'], options);
  fs.writeFileSync(path.join(stage.home, '.gitconfig'), `[url "${work}"]\n\tinsteadOf = ${URL}\n`);
  return URL;
}

/** Puts the tree of a release, with the program for this system, on the branch `dist` of the published repository. */
function released(stage) {
  const url = published(stage);
  const machine = { x64: 'x86_64', arm64: 'aarch64' }[process.arch];
  const triple = `${machine}-${process.platform === 'darwin' ? 'apple-darwin' : 'unknown-linux-gnu'}`;
  const artifacts = stage.folder('artifacts', triple);
  fs.copyFileSync(process.env.PITON_PROGRAM, path.join(artifacts, 'piton'));
  const tree = path.join(stage.top, 'tree');
  execFileSync('sh', [path.join(repository, '.github/dist'), tree, path.dirname(artifacts)]);
  const options = { cwd: path.join(stage.top, 'published'), env: stage.environment() };
  execFileSync('git', ['checkout', '--quiet', '--orphan', 'dist'], options);
  execFileSync('git', ['rm', '--quiet', '-r', '--force', '.'], options);
  fs.cpSync(tree, options.cwd, { recursive: true });
  execFileSync('git', ['add', '--all', '--force'], options);
  execFileSync('git', ['commit', '--quiet', '--message', 'dist'], options);
  execFileSync('git', ['checkout', '--quiet', 'main'], options);
  return `${url}#dist`;
}

onStage('both manifests are valid, strictly', (stage) => {
  const tree = plugin(stage.folder('tree'));
  for (const target of [tree, path.join(tree, '.claude-plugin/plugin.json')]) {
    const done = stage.claude('plugin', 'validate', '--strict', target);
    assert.equal(done.code, 0, done.out + done.err);
    assert.doesNotMatch(done.out + done.err, /warning|_MISSING/i);
  }
});

onStage('from a folder: it loads without errors and costs little', (stage) => {
  stage.install(plugin(stage.folder('a marketplace')));
  const list = stage.claude('plugin', 'list');
  assert.match(list.out, /piton@piton[\s\S]*enabled/);
  assert.doesNotMatch(list.out, /error/i);
  const details = stage.claude('plugin', 'details', 'piton');
  assert.equal(details.code, 0, details.err);
  const cost = Number(/~?([\d,.]+)\s*(?:tok|tokens)/.exec(details.out)?.[1].replaceAll(/[,.]/g, ''));
  assert.ok(cost > 0 && cost <= COST, details.out);
});

onStage('from git: the skill answers to both names, piton is not asked for, and it goes without a trace', async (stage, context) => {
  stage.install(published(stage)).build().example('nine-step');
  stage.git('add', '--all');
  stage.git('commit', '--quiet', '--message', 'a project');
  const before = contents(stage.project);
  const service = await model((turn) => {
    const verb = turn.said.includes('# Resume a run') ? 'plan' : 'status';
    return turn.number === 0 ? bash(`piton ${verb}`) : say('done');
  });
  context.after(() => service.close());
  for (const name of ['/workflow-resume', '/piton:workflow-resume']) {
    const done = await stage.session(service, name).ended;
    assert.equal(done.code, 0, done.err);
    assert.deepEqual(done.result.permission_denials, [], name);
    const [first, second] = service.turns.splice(0);
    saw(first.said, /# Resume a run/);
    saw(second.last, /"schema":"plan\/3"/);
  }
  const command = await stage.session(service, '/piton:status').ended;
  assert.equal(command.code, 0, command.err);
  assert.deepEqual(command.result.permission_denials, []);
  saw(service.turns[0].said, /Run `piton status`/);

  const gone = stage.claude('plugin', 'uninstall', 'piton@piton');
  assert.equal(gone.code, 0, gone.err);
  assert.ok(fs.existsSync(path.join(stage.project, '.git/piton/sessions')), 'the hooks ran');
  assert.deepEqual(contents(stage.project), before);
  assert.equal(stage.git('status', '--porcelain'), '', 'git sees nothing of piton');
  // `.gitconfig` belongs to this test, the rest to the client.
  const known = /^(\.claude\/|\.claude\.json|\.cache\/claude|\.local\/share\/claude|\.cache\/piton\/|\.gitconfig$)/;
  assert.deepEqual(files(stage.home).filter((file) => !known.test(file)), []);
  const left = files(path.join(stage.home, '.claude/plugins')).filter((file) => /data\/.*piton/.test(file));
  assert.deepEqual(left, [], 'nothing is kept in the data of plugins');
});

onStage('from the branch of a release: the program is there, verified, without any further step', async (stage, context) => {
  stage.install(released(stage)).example('nine-step');
  const service = await model((turn) => (turn.number === 0 ? bash('piton plan') : say('done')));
  context.after(() => service.close());
  const done = await stage.session(service, '/workflow-resume').ended;
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.result.permission_denials, []);
  saw(service.turns[1].last, /"schema":"plan\/3"/);
  const shown = done.lines.find((line) => line.hook_event === 'SessionStart' && line.stdout);
  saw(shown?.stdout ?? '', /Piton: an interrupted run: user-auth/);
  const { version } = JSON.parse(fs.readFileSync(path.join(repository, '.claude-plugin/plugin.json')));
  assert.deepEqual(files(path.join(stage.home, '.cache/piton')), [`${version}/piton`]);
  const [copy] = fs.readdirSync(path.join(stage.home, '.claude/plugins/cache/piton/piton'));
  const installed = path.join(stage.home, '.claude/plugins/cache/piton/piton', copy);
  assert.ok(!fs.existsSync(path.join(installed, 'tests')) && !fs.existsSync(path.join(installed, 'benches')));
});

onStage('before the program is built the hooks are silent and the skill says what to do', async (stage, context) => {
  stage.plugin = plugin(stage.folder('the plugin'));
  stage.example('nine-step');
  const service = await model((turn) => (turn.number === 0 ? bash('piton plan') : say('done')));
  context.after(() => service.close());
  const done = await stage.session(service, '/workflow-resume').ended;
  assert.equal(done.code, 0, done.err);
  for (const hook of done.lines.filter((line) => line.subtype === 'hook_response')) {
    assert.deepEqual([hook.exit_code, hook.stdout, hook.stderr], [0, '', ''], hook.hook_name);
  }
  saw(service.turns[1].last, /piton: its program is missing; run: piton setup/);
  assert.ok(!fs.existsSync(path.join(stage.home, '.cache/piton')) && !fs.existsSync(path.join(stage.project, '.piton')));
});

onStage('setup builds where hooks and the agent both look', async (stage, context) => {
  stage.plugin = plugin(stage.folder('the plugin'));
  stage.example('nine-step');
  // A stub of cargo that copies the program; the real build is tested by the release.
  const tools = stage.folder('tools');
  const cargo = [
    '#!/bin/sh',
    'while [ $# -gt 1 ]; do [ "$1" = --target-dir ] && target=$2; shift; done',
    `mkdir -p "$target/dist" && cp '${process.env.PITON_PROGRAM}' "$target/dist/piton"`,
  ];
  fs.writeFileSync(path.join(tools, 'cargo'), `${cargo.join('\n')}\n`, { mode: 0o755 });
  const env = { PATH: `${tools}:/usr/local/bin:/usr/bin:/bin` };
  const service = await model((turn) => (turn.number === 0 ? bash('piton setup') : say('done')));
  context.after(() => service.close());
  // Nothing is built unasked: headless, a person allows it beforehand.
  const refused = await stage.session(service, '/piton:setup', { env }).ended;
  assert.equal(refused.result.permission_denials.length, 1);
  service.turns.length = 0;
  const first = await stage.session(service, '/piton:setup', { env, more: ['--allowedTools', 'Bash(piton setup)'] }).ended;
  assert.equal(first.code, 0, first.err);
  saw(service.turns[1].last, /building version/, /"in_cache":true/);
  const second = await stage.session(service, 'hello').ended;
  const shown = second.lines.find((line) => line.hook_event === 'SessionStart' && line.stdout);
  saw(shown?.stdout ?? '', /Piton: an interrupted run: user-auth/);
});

test('the tests run the client that the lock file names', () => {
  const { version } = JSON.parse(fs.readFileSync(path.join(path.dirname(process.env.PITON_CLIENT), 'package.json')));
  const { dependencies } = JSON.parse(fs.readFileSync(process.env.PITON_CLIENT_LOCK));
  assert.equal(version, dependencies['@anthropic-ai/claude-code']);
});
