// An interactive session with typed input, and the screen.

import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';

import { bash, model, saw, say, use } from './server.mjs';
import { Stage, plugin } from './stage.mjs';
import { Terminal, hasTmux, welcome } from './terminal.mjs';

test('before set-up a person is told once, in a terminal', { timeout: 120_000, skip: !hasTmux && 'tmux is missing' }, async (context) => {
  const stage = new Stage('terminal').example('nine-step');
  stage.plugin = plugin(stage.folder('the plugin'));
  welcome(stage);
  const service = await model(() => say('a word'));
  let terminal;
  // Also after a failure: an open terminal keeps the test from ending.
  context.after(async () => {
    terminal?.close();
    service.close();
    await stage.close();
  });
  for (const told of [true, false]) {
    terminal = new Terminal(stage, service);
    await terminal.shows(/for shortcuts|shift\+tab to cycle/);
    terminal.type('hello');
    await terminal.shows(/❯\s*hello/);
    await terminal.answers(/❯\s*hello\s*\n─/, 'Enter');
    await terminal.shows(/a word/);
    assert.equal(/Piton needs its program: \/piton:setup/.test(terminal.screen()), told, terminal.screen());
    if (told) context.diagnostic(`the screen:\n${terminal.screen().trimEnd()}`);
    terminal.close();
  }
});

const isNewest = process.env.PITON_CLIENT_LOCK.endsWith('newest/package.json');

const STORIES = ['nine-step', 'ccw', 'dotagent', 'aios', 'own-workflow'].map((example) => [example, 'default', 'the client asks']);
STORIES.push(['nine-step', 'auto', 'the rules of setup make the client ask']);

for (const [example, mode, told] of STORIES) {
  const skip = (!hasTmux && 'tmux is missing') || (mode === 'auto' && !isNewest && 'the oldest client has no auto mode here');
  // SECURITY: row 14
  test(`${example}: a person is told, types the name of the skill, and decides: ${told}`, { timeout: 120_000, skip }, async (context) => {
    const stage = new Stage('terminal').load().example(example);
    const { run, next } = stage.piton('plan', '--steps').json.data;
    const [{ step }] = next;
    if (mode === 'auto') assert.equal(stage.piton('setup', '--permissions', '--yes').code, 0);
    welcome(stage);
    const question = {
      question: 'Proceed with resume?',
      header: 'Resume',
      multiSelect: false,
      options: [
        { label: 'Yes, go on', description: `at ${step}` },
        { label: 'No', description: 'leave it as it is' },
      ],
    };
    const plays = [
      bash('piton plan'),
      use('AskUserQuestion', { questions: [question] }),
      bash(`piton begin ${step} --agent backend-developer`),
      bash('piton close --abort --note WHY'),
    ];
    const main = [];
    const service = await model((turn) => {
      main.push(turn);
      return plays[main.length - 1] ?? say('The run goes on.');
    });
    const terminal = new Terminal(stage, service, '--permission-mode', mode);
    // In this order: the terminal uses the folder, and its client talks to the service.
    context.after(() => {
      terminal.close();
      service.close();
      return stage.close();
    });

    await terminal.shows(new RegExp(`Piton: an interrupted run: ${run.id} at `));
    terminal.type('/workflow-resume');
    await terminal.shows(/\/(piton:)?workflow-resume/);
    terminal.press('Enter');
    await terminal.shows(/Proceed with resume\?[\s\S]*Yes, go on/);
    assert.doesNotMatch(terminal.screen(), /Do you want to proceed/, 'piton is not asked for');
    await terminal.answers(/☐ Resume/, 'Enter');
    // The first question about a call of piton: everything before it recorded.
    await terminal.shows(/piton close --abort[\s\S]*Do you want to proceed\?/);
    saw(main.at(-1).last, new RegExp(`${step} is in progress`));
    // The records of a workflow file are in the git folder.
    const state = path.join(run.dialect === 'piton' ? '.git/piton' : '', run.state_files[0]);
    const before = stage.read(state);
    assert.equal(stage.piton('plan').json.data.verdict, 'blocked', 'the session drives the run now');
    await terminal.answers(/Do you want to proceed\?/, 'Escape');
    await terminal.shows(/(Interrupted|rejected|declined|denied)/i);
    assert.equal(stage.read(state), before, 'without the yes of a person nothing is decided');
    context.diagnostic(`the screen:\n${terminal.screen().trimEnd()}`);
  });
}
