// Interruptions of the real client, each in the middle of another example, and what the next session is told.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { bash, fails, hangs, model, saw, say, textOf, use } from './server.mjs';
import { Stage } from './stage.mjs';

const isNewest = process.env.PITON_CLIENT_LOCK.endsWith('newest/package.json');

/** Gives a test a project with the interrupted run of an example, its next step, and a model that plays a script. */
function scene(name, example, play) {
  test(`${example}: ${name}`, { timeout: 120_000 }, async (context) => {
    const stage = new Stage('cut').load().example(example);
    const { run, next } = stage.piton('plan').json.data;
    stage.step = next[0].step;
    stage.run = new RegExp(`- ${run.id} \\(${run.dialect}\\): [0-9]+ of [0-9]+ steps done; last change .*; verdict resume`);
    context.after(() => stage.close());
    const models = [];
    context.after(() => models.forEach((one) => one.close()));
    const plays = async (script) => {
      models.push(await model(script));
      return models.at(-1);
    };
    await play(stage, plays);
  });
}

/** Waits for something that another process does. */
async function until(what, holds) {
  for (let tries = 0; tries < 600; tries++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`it never came to this: ${what}`);
}

const isSubagent = (turn) => textOf(turn.messages[0]).includes('AGENT OF THE STEP');
const cause = (stage) => stage.piton('plan').json.data.interruption.cause;

/** Lets a session begin a step and then hang; returns its client in the middle of the step. */
async function inTheMiddle(stage, plays, then = hangs()) {
  const service = await plays((turn) => {
    if (isSubagent(turn)) return hangs();
    return [bash(`piton begin ${stage.step} --agent general-purpose`), then][turn.number];
  });
  const session = stage.session(service, '/workflow-resume');
  await until('the step is in progress', () => service.turns.length > 1);
  assert.ok(stage.piton('plan').json.data.steps.in_progress.includes(stage.step));
  return { ...session, service };
}

scene('a killed client is noticed, and the next session resumes', 'ccw', async (stage, plays) => {
  const { child, ended } = await inTheMiddle(stage, plays);
  const busy = stage.piton('begin', stage.step);
  assert.equal(busy.code, 6, 'while the client lives, no other session records');
  child.kill('SIGKILL');
  assert.equal((await ended).signal, 'SIGKILL');
  assert.equal(cause(stage).kind, 'session_ended');

  const service = await plays((turn) => {
    const words = ['plan', `begin ${stage.step}`, `finish ${stage.step} --summary written`][turn.number];
    return words ? bash(`piton ${words}`) : say('done');
  });
  const done = await stage.session(service, '/workflow-resume').ended;
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.result.permission_denials, []);
  const [first] = service.turns;
  saw(first.said, /Piton keeps checkpoints of multi-step runs in this project/);
  saw(first.said, stage.run);
  saw(service.turns[3].last, /is completed/);
  saw(first.said, /cut off by: session ended/);
  const shown = done.lines.find((line) => line.hook_event === 'SessionStart' && line.stdout);
  saw(shown.stdout, /Piton: an interrupted run: WFS-user-auth at retry IMPL-002/);
});

scene('a session that is taken up again finds its own run', 'nine-step', async (stage, plays) => {
  const { child, ended } = await inTheMiddle(stage, plays);
  child.kill('SIGKILL');
  await ended;
  const service = await plays((turn) => (turn.number === 0 ? bash(`piton finish ${stage.step} --summary written`) : say('done')));
  const done = await stage.session(service, 'go on', { more: ['--continue', '--allowedTools', 'Bash(piton:*)'] }).ended;
  assert.equal(done.code, 0, done.err);
  saw(service.turns[0].said, /cut off by: session ended/);
  saw(service.turns[1].last, /2:3 is completed/);
});

scene('the second of two sessions is refused', 'own-workflow', async (stage, plays) => {
  const { child, ended } = await inTheMiddle(stage, plays);
  const service = await plays((turn) => [bash('piton plan'), bash(`piton finish ${stage.step}`)][turn.number] ?? say('done'));
  const second = await stage.session(service, '/workflow-resume').ended;
  assert.equal(second.code, 0, second.err);
  assert.doesNotMatch(service.turns[0].said, /These are interrupted/, 'a run that is driven is not announced');
  saw(service.turns[1].last, /"verdict":"blocked"/);
  saw(service.turns[1].last, /(driving this run|is in progress): session [0-9a-f-]+/, /claude --resume/);
  saw(service.turns[2].last, /"ok":false/, /driving this run|is in progress/);
  child.kill('SIGKILL');
  await ended;
});

scene('a fork is told about the run of the session that it comes from', 'dotagent', async (stage, plays) => {
  const first = await plays((turn) => (turn.number === 0 ? bash(`piton begin ${stage.step}`) : say('a word')));
  const begun = await stage.session(first, '/workflow-resume').ended;
  assert.equal(begun.code, 0, begun.err);
  const second = await plays((turn) => (turn.number === 0 ? bash('piton plan') : say('done')));
  const more = ['--continue', '--fork-session', '--allowedTools', 'Bash(piton plan:*)'];
  const forked = await stage.session(second, 'go on', { more }).ended;
  assert.equal(forked.code, 0, forked.err);
  const notice = forked.lines.find((line) => line.hook_event === 'SessionStart' && line.stdout);
  assert.match(notice.hook_name, isNewest ? /fork$/ : /resume$/);
  assert.notEqual(forked.result.session_id, begun.result.session_id);
  saw(second.turns[0].said, stage.run, /cut off by: session ended/);
  saw(second.turns[1].last, /"verdict":"resume"/);
});

scene('a subagent that never comes back is named', 'nine-step', async (stage, plays) => {
  const agent = use('Agent', { description: 'step 2:3', prompt: 'AGENT OF THE STEP', subagent_type: 'general-purpose' });
  const { child, ended, service } = await inTheMiddle(stage, plays, agent);
  await until('the subagent is running', () => service.turns.some(isSubagent));
  child.kill('SIGKILL');
  await ended;
  assert.deepEqual(
    { kind: cause(stage).kind, detail: cause(stage).detail },
    { kind: 'agent_lost', detail: 'the session ended while the agent general-purpose was working' },
  );
});

scene('a usage limit is told apart and frees the run', 'aios', async (stage, plays) => {
  const { ended } = await inTheMiddle(stage, plays, fails(429, 'rate_limit_error'));
  await ended;
  assert.equal(cause(stage).kind, 'limit');
  assert.equal(stage.piton('begin', stage.step).code, 0, 'any session may take it over');
});

scene('after a compaction the context of the step comes back', 'nine-step', async (stage, plays) => {
  const service = await plays((turn) => (turn.number === 0 ? bash('piton begin 2:3') : say('a word')));
  const first = await stage.session(service, '/workflow-resume').ended;
  assert.equal(first.code, 0, first.err);
  const compacts = await plays(() => say('<summary>nothing of any use</summary>'));
  const second = await stage.session(compacts, '/compact', { more: ['--continue'] }).ended;
  assert.equal(second.code, 0, second.err);
  const answers = second.lines.filter((line) => line.hook_event === 'SessionStart' && line.stdout);
  const after = answers.map((line) => JSON.parse(line.stdout).hookSpecificOutput.additionalContext).join('\n');
  saw(after, /The conversation was compacted while a run recorded by piton was open/);
  saw(after, /the password check is not constant-time/);
  const hooks = second.lines.filter((line) => line.hook_event).map((line) => line.hook_event);
  assert.ok(hooks.includes('SessionStart') && !hooks.includes('PreCompact'), hooks.join());
  const logs = path.join(stage.project, '.git/piton/sessions');
  const [log] = fs.readdirSync(logs);
  assert.match(fs.readFileSync(path.join(logs, log), 'utf8'), /"event":"start","source":"compact"/);
});
