// Compares what the program says about a trace with the answers of its case.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** How the plan names the standing of a step. */
const STANDING = { done: 'done', verify: 'unproved', retry: 'interrupted', run: 'open', waits: 'waits', unknown: 'outcome_unknown' };

const VERDICTS = { resume: ['resume'], person: ['confirm', 'blocked'], rest: ['resume', 'confirm', 'complete', 'nothing'] };

/** The content, mode and time of every file below a folder. */
function snapshot(folder) {
  const files = new Map();
  for (const name of fs.readdirSync(folder, { recursive: true }).sort()) {
    const file = path.join(folder, name);
    const stat = fs.lstatSync(file);
    const content = stat.isFile() ? createHash('sha256').update(fs.readFileSync(file)).digest('hex') : '';
    files.set(name, `${stat.mode} ${stat.isDirectory() ? '' : stat.mtimeMs} ${content}`);
  }
  return Object.fromEntries(files);
}

/** The rows of `list` that are sessions of the client. */
function rows(stage, ...flags) {
  const listed = stage.piton('list', ...flags);
  return (listed.json.data?.runs ?? []).filter((row) => row.dialect === 'claude');
}

/** While a client lives, its session is not offered, and asked for by its id it is refused. */
export function checkLiving(trace) {
  const [session] = trace.sessions();
  trace.stage.now = new Date(Date.now() + 60_000).toISOString();
  assert.deepEqual(rows(trace.stage).filter((row) => session.startsWith(row.id.slice('claude-'.length))), [], 'a living session is offered');
  const planned = trace.stage.piton('plan', session, '--exit-code');
  assert.equal(planned.code, 6, `a living session is planned: ${planned.out}`);
}

/** Checks the answers of all reading verbs on a trace, and that they write nothing. */
export function check({ answer }, trace) {
  const { stage } = trace;
  stage.now = new Date(Date.now() + 30 * 60_000).toISOString();
  const [session] = trace.sessions();
  const before = [snapshot(trace.client), snapshot(stage.project)];
  const offered = rows(stage);
  for (const words of [['status'], ['validate'], ['doctor'], ['list', '--all'], ['context', session], ['history', session]]) {
    assert.notEqual(stage.piton(...words).code, 70, words.join(' '));
  }
  if (answer.cause) {
    checkOffered(answer, trace, offered, session);
  } else {
    assert.deepEqual(offered, [], 'nothing of it is open, and it is offered');
    const shown = stage.piton('plan', session, '--steps').json.data;
    assert.deepEqual((shown?.next ?? []).filter((next) => ['run', 'retry'].includes(next.action)), []);
  }
  assert.deepEqual([snapshot(trace.client), snapshot(stage.project)], before, 'something was written');
}

function checkOffered(answer, trace, offered, session) {
  const { stage } = trace;
  assert.equal(offered.length, answer.rows ?? 1, JSON.stringify(offered));
  const [row] = offered;
  assert.ok(session.startsWith(row.id.slice('claude-'.length)), `${row.id} is not ${session}`);
  const plan = stage.piton('plan', row.id, '--steps', '--native').json;
  const { verdict, next, native, steps, run } = plan.data;
  const said = JSON.stringify({ verdict, next, steps: native.steps, findings: plan.findings }, null, 1);
  assert.equal(row.cause?.kind, answer.cause, JSON.stringify(row));
  assert.equal(native.ended.cause, answer.cause, said);
  // Of a long transcript `list` reads the ends only: a person looks at what they leave open.
  const isLong = fs.statSync(trace.transcripts().find((file) => file.endsWith(`/${session}.jsonl`))).size > 80 * 1024;
  const isUnsure = isLong && row.verdict === 'confirm';
  if (!isUnsure) assert.equal(row.verdict, verdict, 'list and plan disagree about the verdict');
  if (answer.verdict) assert.ok(VERDICTS[answer.verdict].includes(verdict), `${verdict} is not ${answer.verdict}: ${said}`);
  if (verdict === 'complete') assert.equal(answer.verdict, 'rest', `it is not complete: ${said}`);
  if (answer.title) assert.equal(run.title, answer.title);

  // Agents of a workflow that began together have numbers in no fixed order: their labels are used, or on the oldest client their prompts.
  const label = (title) => /^AGENT (\w+):/.exec(title)?.[1] ?? title;
  const named = (step) => (step.kind === 'agent' || (answer.workflow && step.kind === 'workflow_agent') ? label(step.title) : step.id);
  const expected = { ...answer.steps, ...answer.workflow };
  if (answer.steps) {
    const found = Object.fromEntries(native.steps.filter((step) => step.kind !== 'workflow').map((step) => [named(step), step.standing]));
    const wanted = Object.fromEntries(Object.entries(expected).map(([name, standing]) => [name, STANDING[standing]]));
    assert.deepEqual(found, wanted, said);
  }
  // What the words above mean for an agent that follows the plan.
  for (const step of native.steps) {
    const standing = expected[named(step)];
    const again = next.some((one) => one.step === step.id && ['run', 'retry', 'return'].includes(one.action));
    if (standing) assert.equal(again, ['retry', 'run'].includes(standing), `${step.id} ${step.title}: ${said}`);
    if (standing === 'unknown') assert.ok(plan.findings.some((finding) => finding.code === 'outcome-unknown'), said);
  }
  const ended = (native.agents_done ?? []).map((agent) => agent.title);
  for (const name of answer.ended ?? []) assert.ok(ended.includes(name), said);
  if (answer.plan !== undefined) assert.equal(Boolean(native.plan?.approved), answer.plan !== null, JSON.stringify(native.plan));

  if (answer.verdict === 'rest') return;
  const brief = stage.piton('context', row.id, '--format', 'text');
  assert.equal(brief.code, 0, brief.out + brief.err);
  for (const file of answer.files ?? []) assert.match(brief.out, new RegExp(file.replace('.', '\\.')));
  if (answer.plan) assert.match(brief.out, answer.plan);
}
