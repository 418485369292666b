// What hooks do for the agents of steps: the brief, the report, the record of the end, and what the client asks about.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { bash, model, saw, say, textOf, use } from './server.mjs';
import { Stage } from './stage.mjs';

const STATE = '.worktree/user-auth/.workflow-state.json';
/** A word that only the prompt of the agent has. */
const MARK = 'AGENT OF THE STEP';
const REPORT = 'I wrote it.\n\nSTEP: 2:3\nSTATUS: DONE\nSUMMARY: The user name is checked.\nFILES: src/login.rs\nTESTS: 14 passed';

/** The oldest client runs agents in the foreground, and does not call the hook for permissions without a person. */
const hasHook = process.env.PITON_CLIENT_LOCK.endsWith('newest/package.json');

const isSubagent = (turn) => textOf(turn.messages[0]).includes(MARK);
const agent = (more) => use('Agent', { description: 'step 2:3', prompt: MARK, subagent_type: 'general-purpose', ...more });

/** Plays a main agent and a subagent; returns what each of them was sent. */
async function played(context, stage, words, plays, report = REPORT, options = {}) {
  const seen = { main: [], agent: [] };
  const service = await model((turn) => {
    if (isSubagent(turn)) {
      seen.agent.push(turn);
      return say(report);
    }
    seen.main.push(turn);
    return plays[seen.main.length - 1] ?? say('done');
  });
  context.after(() => service.close());
  const done = await stage.session(service, words, options).ended;
  assert.equal(done.code, 0, done.err);
  return { ...seen, done };
}

function staged(context, name) {
  const stage = new Stage(name).load().example('nine-step');
  context.after(() => stage.close());
  return stage;
}

test('the agent gets the brief by a hook, and finish uses its report', { timeout: 120_000 }, async (context) => {
  const stage = staged(context, 'agents');
  const plays = [
    bash('piton plan'),
    bash('piton begin 2:3 --agent backend-developer'),
    agent({ run_in_background: false }),
    bash('piton finish 2:3'),
    bash('piton context --step 2:4'),
  ];
  const { main, agent: handed, done } = await played(context, stage, '/workflow-resume', plays);
  assert.deepEqual(done.result.permission_denials, []);
  const begun = main[2].last;
  saw(begun, /"brief_file":\{"path":"[^"]*\/runs\/nine-step.user-auth\/briefs\/2-3-[0-9a-f]+\.md"/);
  assert.doesNotMatch(begun, /the user name is not validated/, 'the brief does not pass through the main agent');
  assert.equal(handed.length, 1);
  saw(handed[0].said, /Step 2:3 of the run user-auth is in progress/, /the user name is not validated/, /STATUS: DONE, BLOCKED or NEEDS_CONTEXT/);
  saw(main[4].last, /2:3 is completed/);
  saw(main[5].last, /The user name is checked\.\\nFiles: src\/login\.rs\\nTests: 14 passed/);
});

test('the end of a background agent is recorded', { timeout: 120_000 }, async (context) => {
  const stage = staged(context, 'background');
  // On the newest client its end comes as a new turn, where the skill's grant is gone, and the hook prints the command.
  const printed = (turn) => /`(piton finish 2:3 [^`]+)`/.exec(turn.last)?.[1];
  const plays = [
    () => bash('piton begin 2:3'),
    () => agent({}),
    () => say('waiting'),
    (turn) => bash(printed(turn) ?? 'piton finish 2:3 --run user-auth'),
  ];
  const service = await model((turn) => {
    if (isSubagent(turn)) return say(REPORT);
    main.push(turn);
    // In the foreground there is nothing to wait for.
    if (plays.length === 2 && /STATUS: DONE/.test(turn.last)) plays.shift();
    return plays.shift()?.(turn) ?? say('done');
  });
  const main = [];
  context.after(() => service.close());
  const done = await stage.session(service, '/workflow-resume').ended;
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.result.permission_denials, []);
  assert.equal(plays.length, 0);
  if (hasHook) {
    const said = main.map((turn) => turn.last).join('\n');
    saw(said, /step 2:3 of user-auth is still recorded as in progress/, /`piton finish 2:3 --run user-auth --begun [0-9a-f]{8}`/);
  }
  saw(main.at(-1).last, /2:3 is completed/);
});

test('on a turn without a grant only plain calls about the own run pass', { timeout: 180_000 }, async (context) => {
  const stage = staged(context, 'turns');
  const allowed = ['piton plan user-auth', 'piton begin 2:3 --run user-auth', 'piton show user-auth', 'piton decide --run user-auth'];
  await played(context, stage, '/workflow-resume', [bash('piton begin 2:3')]);
  const forbidden = [
    'piton decide 1:2.5 approve --run user-auth',
    'piton close user-auth --abort',
    'piton show user-auth --html OUTSIDE',
    'piton plan user-auth; touch OUTSIDE',
    'piton plan $(touch OUTSIDE)',
    'piton plan user-auth > OUTSIDE',
    'piton setup --permissions --yes',
    'touch OUTSIDE',
  ];
  const plays = [...allowed, ...forbidden].map((command) => bash(command));
  const { main, done } = await played(context, stage, 'go on', plays, REPORT, { more: ['--continue'] });
  const refused = done.result.permission_denials.map((denial) => denial.tool_input.command);
  assert.deepEqual(refused, hasHook ? forbidden : [...allowed, ...forbidden]);
  if (hasHook) saw(main[1].last, /"schema":"plan\/3"/);
  assert.ok(!fs.existsSync(path.join(stage.project, 'OUTSIDE')));
  assert.ok(!fs.existsSync(path.join(stage.home, '.claude/settings.json')));
});

test('a rule that denies or asks wins over the hook', { timeout: 180_000 }, async (context) => {
  for (const rules of [{ deny: ['Bash(piton status:*)'] }, { ask: ['Bash(piton status:*)'] }]) {
    const stage = staged(context, 'rules');
    fs.mkdirSync(path.join(stage.home, '.claude'), { recursive: true });
    fs.writeFileSync(path.join(stage.home, '.claude/settings.json'), JSON.stringify({ permissions: rules }));
    await played(context, stage, '/workflow-resume', [bash('piton begin 2:3')]);
    const more = { more: ['--continue'] };
    const { done } = await played(context, stage, 'go on', [bash('piton status user-auth')], REPORT, more);
    const refused = done.result.permission_denials.map((denial) => denial.tool_input.command);
    assert.deepEqual(refused, ['piton status user-auth'], JSON.stringify(rules));
  }
});

test('an agent that ended without a finish is named at the next prompt', { timeout: 120_000 }, async (context) => {
  const stage = staged(context, 'unfinished');
  await played(context, stage, '/workflow-resume', [bash('piton begin 2:3'), agent({ run_in_background: false })], 'all done');
  const { main } = await played(context, stage, 'and?', [say('I see')], REPORT, { more: ['--continue'] });
  saw(main[0].said, /The agent general-purpose ended, and step 2:3 of user-auth is still recorded as in progress/);
  saw(main[0].said, /`piton finish 2:3 --run user-auth --summary TEXT --begun [0-9a-f]{8}`/);
  assert.match(stage.read(STATE), /"in_progress"/);
});
