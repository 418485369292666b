// The cases: how a session was cut off, and the right answers about it, written by hand before the program was asked.
//
// `answer.steps` has every step of the plan by its id, agents by their description, with one of
//   done     ended, never planned again
//   verify   said to be done, and something it left is gone: looked at, not run again
//   retry    cut off and nothing is unknown: runs again
//   run      never begun, and nothing stands in its way
//   waits    never begun, and something before it is open
//   unknown  may have taken effect: a person decides first
// `answer.verdict` is `resume` (an agent may go on), `person` (a person decides first) or `rest` (nothing to run). Without `answer.cause` the
// session is not offered. `answer.ended` are foreground agents that ended, which are no steps.

import fs from 'node:fs';
import path from 'node:path';

import { bash, fails, hangs, say, use } from '../server.mjs';
import { promptOf } from './record.mjs';

const inProject = (trace, name) => path.join(trace.stage.project, name);
const write = (name) => (turn, trace) => use('Write', { file_path: inProject(trace, name), content: `${name}\n` });
const read = (name) => (turn, trace) => use('Read', { file_path: inProject(trace, name) });
const task = (subject, metadata) => use('TaskCreate', { subject, description: `${subject}, please`, ...(metadata && { metadata }) });
const update = (taskId, fields) => use('TaskUpdate', { taskId, ...fields });
const agent = (name, background = false) =>
  use('Agent', { description: name, prompt: promptOf(name), subagent_type: 'general-purpose', run_in_background: background });
const workflow = (...stages) => {
  const call = (name) => `agent('${promptOf(name)}', {label: '${name}'})`;
  const lines = stages.map((names) => (names.length === 1 ? `await ${call(names[0])}` : `await parallel([${names.map((name) => `() => ${call(name)}`)}])`));
  return use('Workflow', { script: `export const meta = {name: 'mini', description: 'a small flow', phases: []}\n${lines.join('\n')}\nreturn 1` });
};
const limit = fails(429, 'rate_limit_error');
const broken = fails(500, 'api_error');
/** Tells whether an agent's last words are in its transcript. */
const hasSaid = (words) => (trace) => trace.transcripts().some((file) => file.includes('/subagents/') && fs.readFileSync(file, 'utf8').includes(`"text":"${words}"`));
/** A command that is in the middle of its work as soon as the file is there. */
const longCommand = bash('touch started.txt; sleep 60');
const hasStarted = (trace) => fs.existsSync(inProject(trace, 'started.txt'));

/** Task 1 is done and left parser.txt, task 2 is in progress and left half of printer.txt, task 3 waits for it, task 4 was deleted. */
const TASKS = [
  [task('Write parser'), task('Write printer'), task('Write docs'), task('Never mind')],
  [update('2', { addBlockedBy: ['1'] }), update('3', { addBlockedBy: ['2'] }), update('4', { status: 'deleted' })],
  update('1', { status: 'in_progress' }),
  write('parser.txt'),
  update('1', { status: 'completed' }),
  update('2', { status: 'in_progress' }),
  write('printer.txt'),
];
const ALL_DONE = [...TASKS, update('2', { status: 'completed' }), update('3', { status: 'completed' })];
const OPEN = { T1: 'done', T2: 'retry', T3: 'waits' };
const CLOSED = { T1: 'done', T2: 'done', T3: 'done' };

const killed = (main, more = {}) => ({ main, end: 'SIGKILL', ...more });
const stopped = (main, more = {}) => ({ main, end: 'SIGTERM', ...more });
const resumed = (main = [say('a word')], more = {}) => ({ prompt: 'go on', flags: ['--continue'], main, ...more });

/** Types a prompt and waits for what the screen shows then. */
async function ask(terminal, text, shown) {
  terminal.type(text);
  await terminal.shows(new RegExp(`❯\\s*${text.replace('/', '\\/')}`));
  await terminal.answers(new RegExp(`❯\\s*${text.replace('/', '\\/')}\\s*\\n─`), 'Enter');
  if (shown) await terminal.shows(shown);
}
async function until(holds) {
  for (let tries = 0; tries < 400 && !holds(); tries++) await new Promise((resolve) => setTimeout(resolve, 50));
}
const leaves = async (terminal) => {
  terminal.press('C-c');
  await new Promise((resolve) => setTimeout(resolve, 300));
  terminal.press('C-c');
};
const PROMPT = 'Build the parser and printer';

/** What a plan says that the client let a person approve: the file is named by the client. */
const writesPlan = (turn) =>
  use('Write', { file_path: /(\/[^\n"'`]*\/plans\/[a-z0-9-]+\.md)/.exec(turn.said + JSON.stringify(turn.system))[1], content: '1. Write parser\n2. Write printer\n' });
const PLAN = [writesPlan, use('ExitPlanMode', {}), hangs()];

export const CASES = [
  // Tasks.
  { name: 'tasks, killed', sample: true, lives: [killed([...TASKS, hangs()])], answer: { cause: 'killed', verdict: 'resume', steps: { ...OPEN, turn: 'retry' } } },
  { name: 'tasks, SIGTERM', lives: [stopped([...TASKS, hangs()])], answer: { cause: 'session_ended', verdict: 'resume', steps: { ...OPEN, turn: 'retry' } } },
  { name: 'tasks, clean end', lives: [{ main: TASKS }], answer: { cause: 'session_ended', verdict: 'resume', steps: OPEN } },
  { name: 'tasks, limit', sample: true, lives: [{ main: [...TASKS, limit], fails: true }], answer: { cause: 'limit', verdict: 'resume', steps: { ...OPEN, turn: 'retry' } } },
  { name: 'tasks, API error', lives: [{ main: [...TASKS, broken], fails: true }], answer: { cause: 'failure', verdict: 'resume', steps: { ...OPEN, turn: 'retry' } } },
  { name: 'tasks, killed in a command', lives: [killed([...TASKS, longCommand], { hanging: 0, when: hasStarted })], answer: { cause: 'killed', verdict: 'person', steps: { ...OPEN, turn: 'unknown' } } },
  { name: 'tasks, SIGTERM in a command', lives: [stopped([...TASKS, longCommand], { hanging: 0, when: hasStarted })], answer: { cause: 'session_ended', verdict: 'person', steps: { ...OPEN, turn: 'unknown' } } },
  { name: 'tasks, all done, clean end', lives: [{ main: ALL_DONE }], answer: {} },
  { name: 'tasks, all done, killed', lives: [killed([...ALL_DONE, hangs()])], answer: { cause: 'killed', verdict: 'resume', steps: { ...CLOSED, turn: 'retry' } } },
  { name: 'tasks, a file of a done one is gone', after: (trace) => fs.rmSync(inProject(trace, 'parser.txt')), lives: [killed([...TASKS, hangs()])], answer: { cause: 'killed', verdict: 'person', steps: { ...OPEN, T1: 'verify', T2: 'waits', turn: 'retry' } } },
  { name: 'tasks, their files are gone', after: (trace) => fs.rmSync(path.join(trace.client, 'tasks'), { recursive: true }), lives: [killed([...TASKS, hangs()])], answer: { cause: 'killed', steps: { ...OPEN, turn: 'retry' } } },
  { name: 'tasks, killed, resumed', lives: [killed([...TASKS, hangs()]), resumed()], answer: { cause: 'session_ended', verdict: 'resume', steps: OPEN } },
  { name: 'tasks, limit, resumed', lives: [{ main: [...TASKS, limit], fails: true }, resumed()], answer: { cause: 'session_ended', verdict: 'resume', steps: OPEN } },
  { name: 'tasks, killed, resumed and finished', lives: [killed([...TASKS, hangs()]), resumed([update('2', { status: 'completed' }), update('3', { status: 'completed' })])], answer: {} },
  { name: 'tasks, killed, resumed and killed again', lives: [killed([...TASKS, hangs()]), resumed([task('New one'), hangs()], { end: 'SIGKILL' })], answer: { cause: 'killed', verdict: 'resume', steps: { ...OPEN, T5: 'run', turn: 'retry' } } },
  { name: 'tasks, killed, forked', lives: [killed([...TASKS, hangs()]), resumed([say('a word')], { flags: ['--continue', '--fork-session'] })], answer: { cause: 'session_ended', rows: 1 } },

  // Agents in the foreground.
  { name: 'foreground agent, killed before it did anything', lives: [killed([agent('helper')])], agents: { helper: [hangs()] }, answer: { cause: 'killed', verdict: 'resume', steps: { helper: 'retry', turn: 'retry' } } },
  { name: 'foreground agent, killed after it read', lives: [killed([write('a.txt'), agent('helper')])], agents: { helper: [read('a.txt'), hangs()] }, answer: { cause: 'killed', verdict: 'resume', steps: { helper: 'retry', turn: 'retry' } } },
  { name: 'foreground agent, killed after it wrote', lives: [killed([agent('helper')])], agents: { helper: [write('b.txt'), hangs()] }, answer: { cause: 'killed', verdict: 'person', files: ['b.txt'], steps: { helper: 'unknown', turn: 'retry' } } },
  { name: 'foreground agent, killed in a command', lives: [killed([agent('helper')], { hanging: 0, when: hasStarted })], agents: { helper: [longCommand] }, answer: { cause: 'killed', verdict: 'person', steps: { helper: 'unknown', turn: 'retry' } } },
  { name: 'foreground agent, SIGTERM after it wrote', lives: [stopped([agent('helper')])], agents: { helper: [write('b.txt'), hangs()] }, answer: { cause: 'session_ended', verdict: 'person', steps: { helper: 'unknown', turn: 'retry' } } },
  { name: 'foreground agent, done, then killed', lives: [killed([agent('helper'), hangs()])], agents: { helper: [write('b.txt'), say('written')] }, answer: { cause: 'killed', verdict: 'resume', ended: ['helper'], steps: { turn: 'retry' } } },
  { name: 'foreground agent, limit after it read', lives: [{ main: [write('a.txt'), agent('helper'), limit], fails: true }], agents: { helper: [read('a.txt'), limit] }, answer: { cause: 'limit', verdict: 'resume', steps: { helper: 'retry', turn: 'retry' } } },
  { name: 'foreground agent, limit after it wrote', lives: [{ main: [agent('helper'), limit], fails: true }], agents: { helper: [write('b.txt'), limit] }, answer: { cause: 'limit', verdict: 'person', steps: { helper: 'unknown', turn: 'retry' } } },
  { name: 'foreground agent, killed after it wrote, resumed', lives: [killed([agent('helper')]), resumed()], agents: { helper: [write('b.txt'), hangs()] }, answer: { cause: 'session_ended', verdict: 'person', steps: { helper: 'unknown' } } },

  // Agents in the background.
  { name: 'background agent, killed before it did anything', lives: [killed([agent('helper', true), hangs()], { hanging: 2 })], agents: { helper: [hangs()] }, answer: { cause: 'killed', verdict: 'resume', steps: { helper: 'retry', turn: 'retry' } } },
  { name: 'background agent, killed after it wrote', sample: true, lives: [killed([agent('helper', true), hangs()], { hanging: 2 })], agents: { helper: [write('b.txt'), hangs()] }, answer: { cause: 'killed', verdict: 'person', files: ['b.txt'], steps: { helper: 'unknown', turn: 'retry' } } },
  { name: 'background agent, SIGTERM after it wrote', lives: [stopped([agent('helper', true), hangs()], { hanging: 2 })], agents: { helper: [write('b.txt'), hangs()] }, answer: { cause: 'session_ended', verdict: 'person', steps: { helper: 'unknown', turn: 'retry' } } },
  { name: 'background agent, done and never noticed', lives: [killed([agent('helper', true), hangs()], { when: hasSaid('written') })], agents: { helper: [write('b.txt'), say('written')] }, answer: { cause: 'killed', verdict: 'resume', steps: { helper: 'done', turn: 'retry' } } },
  { name: 'background agent, limit after it wrote, and the session goes on', lives: [{ main: [agent('helper', true), say('launched')] }], agents: { helper: [write('b.txt'), limit] }, answer: { cause: 'session_ended', verdict: 'person', steps: { helper: 'unknown' } } },
  { name: 'background agents, three of them, killed', sample: true, lives: [killed([write('a.txt'), [agent('reader', true), agent('writer', true), agent('finisher', true)], hangs()], { hanging: 3, when: hasSaid('written') })], agents: { reader: [read('a.txt'), hangs()], writer: [write('b.txt'), hangs()], finisher: [write('c.txt'), say('written')] }, answer: { cause: 'killed', verdict: 'person', files: ['b.txt'], steps: { reader: 'retry', writer: 'unknown', finisher: 'done', turn: 'retry' } } },
  { name: 'background agent, killed after it wrote, resumed', sample: true, lives: [killed([agent('helper', true), hangs()], { hanging: 2 }), resumed()], agents: { helper: [write('b.txt'), hangs()] }, answer: { cause: 'session_ended', verdict: 'person', steps: { helper: 'unknown' } } },
  { name: 'background agent and tasks, killed', lives: [killed([...TASKS, agent('helper', true), hangs()], { hanging: 2 })], agents: { helper: [bash('echo pushed'), hangs()] }, answer: { cause: 'killed', verdict: 'person', steps: { ...OPEN, helper: 'unknown', turn: 'retry' } } },

  // Workflows of the client.
  { name: 'workflow, killed in its second agent', sample: true, lives: [killed([workflow(['first'], ['second']), hangs()], { hanging: 2 })], agents: { first: [say('A result')], second: [hangs()] }, answer: { cause: 'killed', verdict: 'resume', steps: { 'W1/1': 'done', 'W1/2': 'retry', turn: 'retry' } } },
  { name: 'workflow, killed after its second agent wrote', lives: [killed([workflow(['first'], ['second']), hangs()], { hanging: 2 })], agents: { first: [say('A result')], second: [write('b.txt'), hangs()] }, answer: { cause: 'killed', verdict: 'person', steps: { 'W1/1': 'done', 'W1/2': 'unknown', turn: 'retry' } } },
  { name: 'workflow, three at once, killed', lives: [killed([workflow(['first', 'second', 'third']), hangs()], { hanging: 2, when: (trace) => hasStarted(trace) && hasSaid('A result')(trace) })], agents: { first: [say('A result')], second: [hangs()], third: [longCommand] }, answer: { cause: 'killed', verdict: 'person', workflow: { first: 'done', second: 'retry', third: 'unknown' }, steps: { turn: 'retry' } } },
  { name: 'workflow, SIGTERM in its second agent', lives: [stopped([workflow(['first'], ['second']), hangs()], { hanging: 2 })], agents: { first: [say('A result')], second: [hangs()] }, answer: { cause: 'session_ended', verdict: 'resume', steps: { 'W1/1': 'done', 'W1/2': 'retry', turn: 'retry' } } },
  { name: 'workflow, its second agent meets the limit and the client calls it complete', lives: [{ main: [workflow(['first'], ['second']), say('launched')] }], agents: { first: [say('A result')], second: [limit] }, answer: { cause: 'session_ended', steps: { 'W1/1': 'done', 'W1/2': 'retry' } } },
  { name: 'workflow, killed in its second agent, resumed', lives: [killed([workflow(['first'], ['second']), hangs()], { hanging: 2 }), resumed()], agents: { first: [say('A result')], second: [hangs()] }, answer: { cause: 'session_ended', verdict: 'resume', steps: { 'W1/1': 'done', 'W1/2': 'retry' } } },
  { name: 'workflow, done, clean end', lives: [{ main: [workflow(['first'], ['second']), say('launched')] }], agents: { first: [say('A result')], second: [say('B result')] }, answer: {} },

  // Nothing but a turn.
  { name: 'a prompt, killed before its answer', lives: [killed([hangs()])], answer: { cause: 'killed', verdict: 'resume', steps: { turn: 'retry' } } },
  { name: 'a prompt, limit', lives: [{ main: [limit], fails: true }], answer: { cause: 'limit', verdict: 'resume', steps: { turn: 'retry' } } },
  { name: 'a prompt, limit, resumed and answered', lives: [{ main: [limit], fails: true }, resumed()], answer: {} },
  { name: 'a prompt, the login is refused', lives: [{ main: [fails(401, 'authentication_error')], fails: true }], answer: { cause: 'failure', verdict: 'resume', steps: { turn: 'retry' } } },
  { name: 'a prompt, answered, clean end', lives: [{ main: [say('a word')] }], answer: {} },
  { name: 'a command, killed in it', lives: [killed([longCommand], { hanging: 0, when: hasStarted })], answer: { cause: 'killed', verdict: 'person', steps: { turn: 'unknown' } } },
  { name: 'named, killed', lives: [killed([...TASKS, hangs()], { flags: ['--name', 'the big build'] })], answer: { cause: 'killed', title: 'the big build', steps: { ...OPEN, turn: 'retry' } } },

  // Compaction.
  { name: 'tasks, compacted, clean end', sample: true, lives: [{ main: TASKS }, { prompt: '/compact', flags: ['--continue'], main: [say('<summary>the parser is written</summary>')] }], answer: { cause: 'session_ended', verdict: 'resume', steps: OPEN } },
  { name: 'tasks, compacted, resumed, killed', lives: [{ main: TASKS }, { prompt: '/compact', flags: ['--continue'], main: [say('<summary>the parser is written</summary>')] }, resumed([hangs()], { end: 'SIGKILL' })], answer: { cause: 'killed', verdict: 'resume', steps: { ...OPEN, turn: 'retry' } } },

  // In a terminal.
  {
    name: 'terminal: Esc in a command, clean end',
    sample: true,
    lives: [{ main: [longCommand], keys: async (terminal, trace) => {
      await ask(terminal, PROMPT);
      await until(() => hasStarted(trace));
      await trace.settles();
      terminal.press('Escape');
      await terminal.shows(/Interrupted/i);
      await trace.settles();
      await leaves(terminal);
    } }],
    answer: { cause: 'stopped', verdict: 'person', steps: { turn: 'unknown' } },
  },
  {
    name: 'terminal: Esc before an answer, killed',
    lives: [{ main: [...TASKS, hangs()], end: 'SIGKILL', keys: async (terminal, trace, service) => {
      await ask(terminal, PROMPT);
      await until(() => service.hanging() > 0);
      await trace.settles();
      terminal.press('Escape');
      await terminal.shows(/Interrupted/i);
    } }],
    answer: { cause: 'stopped', verdict: 'resume', steps: { ...OPEN, turn: 'retry' } },
  },
  {
    name: 'terminal: Esc in a command, another prompt, clean end',
    lives: [{ main: [longCommand, say('a word')], keys: async (terminal, trace) => {
      await ask(terminal, PROMPT);
      await until(() => hasStarted(trace));
      await trace.settles();
      terminal.press('Escape');
      await terminal.shows(/Interrupted/i);
      await ask(terminal, 'never mind', /a word/);
      await trace.settles();
      await leaves(terminal);
    } }],
    answer: {},
  },
  {
    name: 'terminal: killed while it waited for a person',
    lives: [{ main: [say('a word')], end: 'SIGKILL', keys: (terminal) => ask(terminal, PROMPT, /a word/) }],
    answer: { cause: 'killed', verdict: 'rest', steps: { turn: 'done' } },
  },
  {
    name: 'terminal: killed at the question whether it may write',
    lives: [{ main: [write('a.txt')], end: 'SIGKILL', asks: true, flags: ['--permission-mode', 'default'], keys: (terminal) => ask(terminal, PROMPT, /Do you want to (create|make|write)/) }],
    answer: { cause: 'killed', verdict: 'resume', steps: { turn: 'retry' } },
  },
  {
    name: 'terminal: plan approved, killed',
    lives: [{ main: PLAN, end: 'SIGKILL', flags: ['--permission-mode', 'plan'], keys: async (terminal, trace, service) => {
      await ask(terminal, PROMPT, /Would you like to proceed|Ready to code/);
      await terminal.answers(/Would you like to proceed|Ready to code/, 'Enter');
      await until(() => service.hanging() > 0);
    } }],
    answer: { cause: 'killed', verdict: 'resume', plan: /Write printer/, steps: { turn: 'retry' } },
  },
  {
    name: 'terminal: killed at the question whether the plan is approved',
    lives: [{ main: PLAN, end: 'SIGKILL', flags: ['--permission-mode', 'plan'], keys: (terminal) => ask(terminal, PROMPT, /Would you like to proceed|Ready to code/) }],
    answer: { cause: 'killed', plan: null },
  },
  {
    name: 'terminal: renamed, killed',
    lives: [{ main: [...TASKS, say('a word'), hangs()], end: 'SIGKILL', keys: async (terminal, trace, service) => {
      await ask(terminal, PROMPT, /a word/);
      await ask(terminal, '/rename the other name', /renamed|the other name/i);
      await ask(terminal, 'go on');
      await until(() => service.hanging() > 0);
    } }],
    answer: { cause: 'killed', title: 'the other name', steps: { ...OPEN, turn: 'retry' } },
  },
  {
    name: 'terminal: agent teams, killed',
    env: { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' },
    lives: [{ main: [...TASKS, hangs()], end: 'SIGKILL', keys: async (terminal, trace, service) => {
      await ask(terminal, PROMPT);
      await until(() => service.hanging() > 0);
    } }],
    answer: { cause: 'killed', verdict: 'resume', steps: { ...OPEN, turn: 'retry' } },
  },
];
