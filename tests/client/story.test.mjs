// The whole story, once per dialect: interrupted, noticed, resumed by the skill, handed to an agent, recorded, next step.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { bash, model, saw, say, textOf, use } from './server.mjs';
import { Stage } from './stage.mjs';

const STORIES = [
  { example: 'nine-step', run: 'user-auth', step: '2:3', next: '2:4', context: /the user name is not validated/ },
  { example: 'ccw', run: 'WFS-user-auth', step: 'IMPL-002', next: 'IMPL-003', context: /IMPL-002/ },
  { example: 'dotagent', flags: '--verdict APPROVED' },
  { example: 'aios', run: 'epic-7', step: '7.2', next: 'gate-1', context: /A quantity of zero removes the line/ },
  { example: 'own-workflow' },
];

for (const { example, ...story } of STORIES) {
  test(`${example}: from the interruption to the next step`, { timeout: 120_000 }, async (context) => {
    const stage = new Stage('story').load().example(example);
    context.after(() => stage.close());
    const { data } = stage.piton('plan').json;
    const [first] = data.next;
    const { step = first.step, run = data.run.id } = story;
    assert.equal(first.step, step);

    // The calls of a model that follows the skill; each answer is checked below.
    const handed = [];
    const main = [];
    const service = await model((turn) => {
      if (textOf(turn.messages[0]).includes('AGENT OF THE STEP')) {
        handed.push(turn.said);
        return say('the agent wrote it');
      }
      main.push(turn);
      const plays = [
        () => bash('piton plan'),
        () => bash(`piton begin ${step} --agent ${first.agent}`),
        () => agentFor(step, JSON.parse(turn.last).data),
        () => bash(`piton finish ${step} --summary written ${story.flags ?? ''}`.trim()),
        () => bash('piton plan'),
      ];
      return plays[main.length - 1]?.() ?? say('done');
    });
    context.after(() => service.close());
    const done = await stage.session(service, '/workflow-resume').ended;
    assert.equal(done.code, 0, done.err);
    assert.deepEqual(done.result.permission_denials, []);

    const [noticed, planned, begun, back, finished, after] = main;
    saw(noticed.said, /Piton keeps checkpoints/, new RegExp(`- ${run} \\(`), /# Resume a run/);
    saw(planned.last, /"schema":"plan\/3","ok":true,"data"/, /"questions":\[/);
    saw(begun.last, /is in progress/);
    assert.equal(handed.length, 1);
    saw(handed[0], story.context ?? new RegExp(step));
    saw(back.last, /the agent wrote it/);
    saw(finished.last, /"schema":"checkpoint\/1"/, /is completed/, /"next":"piton /);
    saw(after.last, /"schema":"plan\/3"/);
    const now = stage.piton('plan').json.data;
    assert.ok(stage.piton('plan', '--steps').json.data.steps.completed.includes(step));
    if (story.next) assert.equal(now.next[0].step, story.next);
  });
}

/** Starts an agent as the skill says: in the foreground, with the prompt that `begin` answered, or the brief itself. */
function agentFor(step, { brief_file, brief }) {
  const prompt = `AGENT OF THE STEP\n${brief_file?.prompt ?? JSON.stringify(brief)}`;
  return use('Agent', { description: `step ${step}`, prompt, subagent_type: 'general-purpose', run_in_background: false });
}

test('independent steps: two agents in one message, and both ends are recorded', { timeout: 120_000 }, async (context) => {
  const stage = new Stage('story').load().example('own-workflow');
  context.after(() => stage.close());
  const main = [];
  const begun = [];
  const handed = [];
  const service = await model((turn) => {
    if (textOf(turn.messages[0]).includes('AGENT OF THE STEP')) {
      handed.push(turn);
      return say('the agent wrote it');
    }
    main.push(turn);
    if (/"change":"begin"/.test(turn.last)) begun.push(JSON.parse(turn.last).data);
    const plays = [
      () => bash('piton plan'),
      () => bash('piton begin api --agent coder'),
      () => bash('piton begin ui --agent coder'),
      () => begun.map((data) => agentFor(data.step, data)),
      () => bash('piton finish api --summary written'),
      () => bash('piton finish ui --summary drawn'),
    ];
    return plays[main.length - 1]?.() ?? say('done');
  });
  context.after(() => service.close());
  const done = await stage.session(service, '/workflow-resume').ended;
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.result.permission_denials, []);
  assert.deepEqual(begun.map((data) => data.step), ['api', 'ui']);
  // Either could be for either step: the hook says nothing, and the prompt names the file.
  for (const { step, brief_file } of begun) {
    const prompt = handed.find((turn) => turn.said.includes(`Do step ${step} of the run`));
    assert.ok(prompt.said.includes(brief_file.path) && !prompt.said.includes('If it is what you were started for'));
  }
  const { completed } = stage.piton('plan', '--steps').json.data.steps;
  assert.ok(completed.includes('api') && completed.includes('ui'), completed.join());
});

test('an answer is no failure, also where a person decides', { timeout: 120_000 }, async (context) => {
  const stage = new Stage('story').load().example('nine-step').example('ccw');
  // Two weeks after the last change a person looks first.
  stage.more = { PITON_NOW: '2026-02-14T12:00:00Z' };
  context.after(() => stage.close());
  const plays = ['piton plan WFS-user-auth', 'piton list', 'piton plan'];
  const service = await model((turn) => (plays[turn.number] ? bash(plays[turn.number]) : say('done')));
  context.after(() => service.close());
  const done = await stage.session(service, '/workflow-resume').ended;
  const blocks = done.lines.flatMap((line) => (Array.isArray(line.message?.content) ? line.message.content : []));
  const results = blocks.filter((block) => block.type === 'tool_result');
  assert.deepEqual(results.map((block) => Boolean(block.is_error)), [false, false, true]);
  saw(service.turns[1].last, /"verdict":"confirm"/);
  saw(service.turns[3].last, /"code":"ambiguous"/, /piton plan WFS-user-auth/);
});

test('workflow-exec: its loop is in a file that the client lets it read', { timeout: 120_000 }, async (context) => {
  const stage = new Stage('story').load();
  context.after(() => stage.close());
  const main = [];
  const service = await model((turn) => {
    if (textOf(turn.messages[0]).includes('AGENT OF THE STEP')) return say('the agent planned it');
    main.push(turn);
    const plays = [
      () => use('Read', { file_path: /Read `([^`]+)` first/.exec(turn.said)[1] }),
      () => bash('piton list'),
      () => bash('piton start nine-step --feature orders --description "Order by phone"'),
      () => bash('piton begin 1:1 --agent project-planner'),
      () => agentFor('1:1', JSON.parse(turn.last).data),
      () => {
        // The agent wrote the plan; without it the step is refused.
        stage.write('.plan/orders_plan.md', '# Plan\n');
        return bash('piton finish 1:1 --summary planned');
      },
    ];
    return plays[main.length - 1]?.() ?? say('done');
  });
  context.after(() => service.close());
  // Headless, a person allows the start beforehand.
  const more = ['--allowedTools', 'Bash(piton start:*)'];
  const done = await stage.session(service, '/workflow-exec nine-step --feature orders', { more }).ended;
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.result.permission_denials, []);
  const [asked, read, listed, started, begun, , finished] = main;
  saw(asked.said, /# Run a workflow/);
  saw(read.last, /## 3\. Step by step/, /run_in_background: false/);
  saw(listed.last, /"runs":\[\]/);
  saw(started.last, /run orders has begun/);
  saw(begun.last, /1:1 is in progress \(attempt 1\)/);
  saw(finished.last, /1:1 is completed/);
});

test('piton: a failed session is noticed and resumed to its end', { timeout: 120_000 }, async (context) => {
  const stage = new Stage('story').load().example('piton');
  context.after(() => stage.close());
  stage.git('add', '--all');
  stage.git('commit', '--quiet', '--message', 'a release');
  assert.equal(stage.piton('run', 'release.yaml').code, 7);
  const { run, next } = stage.piton('plan').json.data;
  assert.equal(next[0].step, 'notes');
  // The fix made by a person meanwhile.
  fs.writeFileSync(path.resolve(run.root, run.worktree, 'notes.md'), 'faster\n');

  const plays = [
    () => bash('piton plan'),
    (turn) => use('Read', { file_path: /follow `([^`]+unattended-runs[^`]+)`/.exec(turn.said)[1] }),
    () => bash(`piton resume ${run.id}`),
    () => bash(`piton plan ${run.id} --steps`),
  ];
  const service = await model((turn) => plays[turn.number]?.(turn) ?? say('done'));
  context.after(() => service.close());
  const refused = await stage.session(service, '/workflow-resume').ended;
  const denied = refused.result.permission_denials.map((denial) => denial.tool_input.command);
  assert.deepEqual(denied, [`piton resume ${run.id}`], 'commands of a file are not run unasked');
  service.turns.length = 0;
  const done = await stage.session(service, '/workflow-resume', { more: ['--allowedTools', 'Bash(piton resume:*)'] }).ended;
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.result.permission_denials, []);

  const [noticed, planned, read, resumed, shown] = service.turns;
  saw(noticed.said, new RegExp(`- ${run.id} \\(piton\\): 2 of 5 steps done; last change .*; verdict resume`), /# Resume a run/);
  saw(planned.last, /"schema":"plan\/3"/, /"questions":\[/);
  saw(read.last, /# A session of `piton run`/);
  saw(resumed.last, /checked 1\.4\.0 for windows/, /is complete: 5\/5 steps/);
  saw(shown.last, /"verdict":"complete"/, /"completed":\["version","build","notes","check",.*"publish"\]/);
  assert.equal(stage.git('log', '--format=%s'), 'a release', 'there was no consent to a merge');
});
