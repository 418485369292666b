// Makes traces: sessions of the real client, whose model plays a script, cut off where the script says.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { model, say, textOf } from '../server.mjs';
import { Stage } from '../stage.mjs';
import { Terminal, welcome } from '../terminal.mjs';

const TOOLS = 'TaskCreate,TaskUpdate,TaskList,Read,Write,Edit,Bash,Agent,Workflow';

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function until(what, holds) {
  for (let tries = 0; tries < 600; tries++) {
    if (await holds()) return;
    await pause(50);
  }
  assert.fail(`it never came to this: ${what}`);
}

/** The prompt of an agent with this description; the script of the agent is found by it. */
export const promptOf = (name) => `AGENT ${name}: do your part`;

/** A project with the client's folder of the sessions that a case describes. */
export class Trace {
  constructor(name) {
    this.stage = new Stage(`trace ${name.replace(/[^a-z]+/g, '-')}`);
    this.stage.more = { CLAUDE_CODE_ENABLE_TODO_TOOLS: '1' };
    this.client = path.join(this.stage.home, '.claude');
    this.played = new Map();
  }

  /** All transcripts below the client's folder. */
  transcripts() {
    const projects = path.join(this.client, 'projects');
    if (!fs.existsSync(projects)) return [];
    const names = fs.readdirSync(projects, { recursive: true }).filter((name) => name.endsWith('.jsonl'));
    return names.map((name) => path.join(projects, name));
  }

  /** The ids of all sessions, the one that was written to last first. */
  sessions() {
    const main = this.transcripts().filter((file) => !file.includes('/subagents/'));
    const stamp = (file) => fs.statSync(file).mtimeMs;
    return main.sort((a, b) => stamp(b) - stamp(a)).map((file) => path.basename(file, '.jsonl'));
  }

  /** Waits until the client has written what it knows: it writes in batches. */
  async settles() {
    const size = () => this.transcripts().reduce((sum, file) => sum + fs.statSync(file).size, 0);
    let [before, same] = [-1, 0];
    await until('the transcripts rest', async () => {
      const now = size();
      same = now > 0 && now === before ? same + 1 : 0;
      before = now;
      return same >= 6;
    });
  }

  /** Answers for the main session by `main`, and for the agents by `agents`, each with the next part of its script. */
  async serve(main, agents) {
    return model((turn) => {
      const first = textOf(turn.messages[0]);
      const name = Object.keys(agents).find((name) => first.includes(promptOf(name)));
      const script = name ? agents[name] : main;
      const at = this.played.get(name ?? script) ?? 0;
      this.played.set(name ?? script, at + 1);
      const part = script[at];
      return (typeof part === 'function' ? part(turn, this) : part) ?? say('done');
    });
  }

  /** Plays one life of a session, to its end. */
  async live(life, agents) {
    const service = await this.serve(life.main, agents);
    try {
      await (life.keys ? this.liveInTerminal(life, service) : this.liveAlone(life, service));
    } finally {
      service.close();
    }
  }

  async liveAlone(life, service) {
    const more = ['--allowedTools', TOOLS, ...(life.flags ?? [])];
    const { child, ended } = this.stage.session(service, life.prompt ?? 'Build the parser and printer', { more });
    if (life.end) {
      await until('the script is played to its end', () => service.hanging() >= (life.hanging ?? 1) && (life.when?.(this) ?? true));
      await this.settles();
      this.whileAlive?.(this);
      child.kill(life.end);
    }
    const done = await ended;
    if (!life.end && life.fails !== (done.code !== 0)) {
      assert.equal(life.fails ?? false, done.code !== 0, `exit ${done.code}: ${done.err}${JSON.stringify(done.result)}`);
    }
  }

  async liveInTerminal(life, service) {
    welcome(this.stage);
    const flags = life.asks ? [] : ['--allowedTools', TOOLS];
    const terminal = new Terminal(this.stage, service, ...flags, ...(life.flags ?? []));
    try {
      await terminal.shows(/for shortcuts|shift\+tab to cycle|\? for/);
      await life.keys(terminal, this, service);
      await this.settles();
      if (life.end) {
        this.whileAlive?.(this);
        const folder = path.join(this.client, 'sessions');
        const [file] = fs.readdirSync(folder).filter((name) => /^\d+\.json$/.test(name));
        process.kill(JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')).pid, life.end);
      }
      await until('the client has ended', () => !/❯/.test(terminal.screen()));
    } finally {
      terminal.close();
    }
  }

  close() {
    return this.stage.close();
  }
}

/** Records a case: all of its lives, one after the other; `whileAlive` is called before each end by a signal. */
export async function record(one, whileAlive) {
  const trace = new Trace(one.name);
  trace.whileAlive = whileAlive;
  Object.assign(trace.stage.more, one.env ?? {});
  try {
    for (const life of one.lives) await trace.live(life, one.agents ?? {});
    one.after?.(trace);
    return trace;
  } catch (error) {
    await trace.close();
    throw error;
  }
}
