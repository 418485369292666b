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

    const agent = use('Agent', {
      description: `step ${step}`,
      prompt: `AGENT OF THE STEP\n${JSON.stringify(stage.piton('context', run, '--step', step).json.data)}`,
      subagent_type: 'general-purpose',
    });
    // The calls of a model that follows the skill; each answer is checked below.
    const plays = [
      bash('piton plan'),
      bash(`piton resume ${run} --yes`),
      bash(`piton begin ${step} --run ${run}`),
      agent,
      bash(`piton finish ${step} --run ${run} --summary written ${story.flags ?? ''}`.trim()),
      bash('piton plan'),
    ];
    const handed = [];
    const main = [];
    const service = await model((turn) => {
      if (textOf(turn.messages[0]).includes('AGENT OF THE STEP')) {
        handed.push(textOf(turn.messages[0]));
        return say('the agent wrote it');
      }
      main.push(turn);
      return plays[main.length - 1] ?? say('done');
    });
    context.after(() => service.close());
    const done = await stage.session(service, '/workflow-resume').ended;
    assert.equal(done.code, 0, done.err);
    assert.deepEqual(done.result.permission_denials, []);

    const [noticed, planned, resumed, begun, back, finished, after] = main;
    saw(noticed.said, /Piton keeps checkpoints/, new RegExp(`- ${run} \\(`), /# Resume a run/);
    saw(planned.last, /"schema":"plan\/2"/, /"question":\{/);
    saw(resumed.last, /"schema":"resume\/2"/);
    saw(begun.last, /is in progress/);
    assert.equal(handed.length, 1);
    saw(handed[0], story.context ?? new RegExp(step));
    saw(back.last, /the agent wrote it/);
    saw(finished.last, /"schema":"checkpoint\/1"/, /is completed/);
    saw(after.last, /"schema":"plan\/2"/);
    const now = stage.piton('plan').json.data;
    assert.ok(stage.piton('plan', '--steps').json.data.steps.completed.includes(step));
    if (story.next) assert.equal(now.next[0].step, story.next);
  });
}

test('script: a failed session is noticed and resumed to its end', { timeout: 120_000 }, async (context) => {
  const stage = new Stage('story').load().example('script');
  context.after(() => stage.close());
  stage.git('add', '--all');
  stage.git('commit', '--quiet', '--message', 'a release');
  assert.equal(stage.piton('run', 'release.yaml').code, 7);
  const { run, next } = stage.piton('plan').json.data;
  assert.equal(next[0].step, 'notes');
  // The fix made by a person meanwhile.
  fs.writeFileSync(path.join(run.root, run.worktree, 'notes.md'), 'faster\n');

  const plays = ['plan', `resume ${run.id}`, `sessions show ${run.id}`].map((words) => bash(`piton ${words}`));
  const service = await model((turn) => plays[turn.number] ?? say('done'));
  context.after(() => service.close());
  const done = await stage.session(service, '/workflow-resume').ended;
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.result.permission_denials, []);

  const [noticed, planned, resumed, shown] = service.turns;
  saw(noticed.said, new RegExp(`- ${run.id} \\(script\\): 2 of 5 steps done, next retry notes`), /# Resume a run/);
  saw(planned.last, /"schema":"plan\/2"/, /"question":\{/);
  saw(resumed.last, /checked 1\.4\.0 for windows/, /is complete: 5\/5 steps/);
  saw(shown.last, /"status":"completed"/);
  assert.equal(stage.git('log', '--format=%s'), 'a release', 'there was no consent to a merge');
});
