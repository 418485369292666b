// The story of a session of the client itself: three agents, a kill, a new session that is told, the skill, and one agent retried, one looked at
// by a person, one left alone because it is done.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { bash, hangs, saw, say, textOf, model, use } from './server.mjs';
import { Trace, promptOf } from './traces/record.mjs';

const agent = (name, background) =>
  use('Agent', { description: name, prompt: promptOf(name), subagent_type: 'general-purpose', run_in_background: background });
const inProject = (trace, name) => path.join(trace.stage.project, name);

/** The life that is cut off: the reader changed nothing, the writer wrote b.txt, the finisher ended. */
const CUT = {
  prompt: 'Review the parser, write the printer, and finish the docs',
  main: [
    (turn, trace) => use('Write', { file_path: inProject(trace, 'a.txt'), content: 'a\n' }),
    [agent('reader', true), agent('writer', true), agent('finisher', true)],
    hangs(),
  ],
  end: 'SIGKILL',
  hanging: 3,
  when: (trace) => trace.transcripts().some((file) => file.includes('/subagents/') && fs.readFileSync(file, 'utf8').includes('"text":"docs are done"')),
};
const AGENTS = {
  reader: [(turn, trace) => use('Read', { file_path: inProject(trace, 'a.txt') }), hangs()],
  writer: [(turn, trace) => use('Write', { file_path: inProject(trace, 'b.txt'), content: 'half\n' }), hangs()],
  finisher: [(turn, trace) => use('Write', { file_path: inProject(trace, 'c.txt'), content: 'done\n' }), say('docs are done')],
};

/** The text of SessionStart hooks in the output of a session. */
function noticeOf(done) {
  const lines = done.lines.filter((line) => line.hook_event === 'SessionStart' && line.stdout);
  return lines.map((line) => JSON.parse(line.stdout));
}

test('three agents, a kill, a new session: one retried, one looked at, one left alone', { timeout: 120_000 }, async (context) => {
  const trace = new Trace('story');
  context.after(() => trace.close());
  const { stage } = trace;
  stage.load();
  stage.more.PITON_NOW = new Date(Date.now() + 30 * 60_000).toISOString();
  stage.now = stage.more.PITON_NOW;
  await trace.live(CUT, AGENTS);
  const [session] = trace.sessions();
  const run = `claude-${session.slice(0, 8)}`;
  const transcript = trace.transcripts().find((file) => file.endsWith(`/${session}.jsonl`));
  const before = fs.readFileSync(transcript);

  // A model that follows the skill: plan, ask about what is unknown, take the brief, run the retried agent again, report the rest.
  const main = [];
  const handed = [];
  let step;
  const service = await model((turn) => {
    if (textOf(turn.messages[0]).includes('AGAIN reader')) {
      handed.push(turn);
      return say('read again');
    }
    main.push(turn);
    const plays = [
      () => bash('piton plan'),
      () => {
        const { data } = JSON.parse(turn.last);
        step = Object.fromEntries(data.next.map((next) => [next.title, next]));
        return bash(`piton context ${run} --step ${step.reader.step}`);
      },
      () => use('Agent', { description: 'reader', prompt: `AGAIN reader\n${turn.last}`, subagent_type: 'general-purpose', run_in_background: false }),
    ];
    return plays[main.length - 1]?.() ?? say('The reader ran again. Did the writer take effect? The docs are done.');
  });
  context.after(() => service.close());
  const done = await stage.session(service, '/workflow-resume').ended;
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.result.permission_denials, []);

  const [told] = noticeOf(done);
  // At the beginning only the ends of long transcripts are read: on the newest client the reader's calls are not all in there.
  saw(told.systemMessage, /^The session of \d\d:\d\d ended without a clean end: 2 of 3 agents did not end, [12] may have .*\. \/workflow-resume$/);
  saw(main[0].said, /# Resume a run/, new RegExp(session));
  const [, planned, brief, back] = main;
  saw(planned.last, /"verdict":"confirm"/, /"code":"outcome-unknown"/);
  assert.equal(step.reader.action, 'retry');
  assert.equal(step.writer.action, 'verify', 'a person decides about what may have taken effect');
  assert.equal(step.finisher, undefined, 'what is done is not planned again');
  saw(brief.last, /reader/, /b\.txt/);
  assert.equal(handed.length, 1);
  saw(handed[0].said, /Review the parser, write the printer, and finish the docs/);
  saw(back.last, /read again/);
  assert.deepEqual(fs.readFileSync(transcript), before, 'the session that was cut off is as it was');
  assert.equal(stage.read('b.txt'), 'half\n');

  // It is said once, and the client's own way back is told what the client does not say.
  const second = await model(() => say('a word'));
  context.after(() => second.close());
  const again = await stage.session(second, 'hello').ended;
  assert.deepEqual(noticeOf(again).filter((notice) => notice.systemMessage), []);
  const third = await model(() => say('a word'));
  context.after(() => third.close());
  const resumed = await stage.session(third, 'go on', { more: ['--resume', session] }).ended;
  assert.equal(resumed.code, 0, resumed.err);
  saw(third.turns[0].said, /agent A-\w+ was cut off, and its outcome is unknown; it wrote 1 file/);
});

test('after a compaction the brief of the session itself comes back', { timeout: 120_000 }, async (context) => {
  const trace = new Trace('compact');
  context.after(() => trace.close());
  trace.stage.load();
  const create = (subject) => use('TaskCreate', { subject, description: subject });
  const main = [[create('Write parser'), create('Write printer')], use('TaskUpdate', { taskId: '1', status: 'in_progress' }), say('begun')];
  await trace.live({ main }, {});
  const service = await model(() => say('<summary>nothing of any use</summary>'));
  context.after(() => service.close());
  const done = await trace.stage.session(service, '/compact', { more: ['--continue'] }).ended;
  assert.equal(done.code, 0, done.err);
  const after = noticeOf(done).map((notice) => notice.hookSpecificOutput?.additionalContext).join('\n');
  saw(after, /The conversation was compacted\. This is what the files of the client say about this session/, /Write parser/, /Write printer/);
  assert.ok(after.length <= 7_000, `${after.length} characters`);
});
