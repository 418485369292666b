// Test support: a home, a project and a client, in folders with a space in their names.

import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const NOW = '2026-01-31T12:00:00Z';
export const KEY = 'sk-ant-test-0123456789-0123456789-0123456789';

/** Where `tests/client/run` put the client, and the program that it built. */
const { PITON_CLIENT: client, PITON_PROGRAM: program } = process.env;

function run(command, words, options = {}) {
  const done = spawnSync(command, words, { encoding: 'utf8', ...options });
  if (done.error) throw done.error;
  return { code: done.status, out: done.stdout, err: done.stderr };
}

export class Stage {
  constructor(name, base = os.tmpdir()) {
    this.top = fs.mkdtempSync(path.join(base, `piton client ${name} `));
    // An apostrophe in the path keeps the client from putting `bin/` of a plugin on the PATH of the Bash tool.
    this.home = this.folder('the home');
    this.project = this.folder('the project');
    this.git('init', '--quiet', '--initial-branch=main');
    /** More variables for every client of this stage. */
    this.more = {};
  }

  folder(...names) {
    const folder = path.join(this.top, ...names);
    fs.mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** The environment of the client: nothing of the person who runs the tests. */
  environment(model) {
    return {
      HOME: this.home,
      PATH: '/usr/local/bin:/usr/bin:/bin',
      // The examples were interrupted half an hour before.
      PITON_NOW: NOW,
      LANG: 'C.UTF-8',
      TERM: 'xterm-256color',
      TMPDIR: this.folder('tmp'),
      ANTHROPIC_API_KEY: KEY,
      ANTHROPIC_BASE_URL: model?.url ?? 'http://127.0.0.1:9',
      CLAUDE_CODE_MAX_RETRIES: '0',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      GIT_CONFIG_GLOBAL: path.join(this.home, '.gitconfig'),
      GIT_CONFIG_SYSTEM: '/dev/null',
      GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@example.test',
      GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@example.test',
      ...this.more,
    };
  }

  git(...words) {
    const done = run('git', words, { cwd: this.project, env: this.environment() });
    if (done.code !== 0) throw new Error(`git ${words.join(' ')}: ${done.err}`);
    return done.out.trim();
  }

  /** Runs a command of the client that needs no model. */
  claude(...words) {
    return run(client, words, { cwd: this.project, env: this.environment() });
  }

  /** Installs the plugin from a marketplace, as a person does. */
  install(marketplace) {
    for (const words of [['marketplace', 'add', marketplace], ['install', 'piton@piton']]) {
      const done = this.claude('plugin', ...words);
      if (done.code !== 0) throw new Error(`plugin ${words.join(' ')}: ${done.out}${done.err}`);
    }
    return this;
  }

  /** Puts the plugin there without installing it, and the program where `piton setup` puts it. */
  load() {
    this.plugin = plugin(this.folder('the plugin'));
    return this.build();
  }

  build() {
    const { version } = JSON.parse(fs.readFileSync(path.join(repository, '.claude-plugin/plugin.json')));
    const cache = this.folder('the home', '.cache/piton', version);
    fs.copyFileSync(program, path.join(cache, 'piton'));
    fs.chmodSync(path.join(cache, 'piton'), 0o755);
    return this;
  }

  /** Puts an example into the project. */
  example(name) {
    fs.cpSync(path.join(repository, 'examples', name), this.project, { recursive: true });
    // The project is a repository: its runs of workflow files are in the git folder.
    const runs = path.join(this.project, '.piton/runs');
    if (fs.existsSync(runs)) {
      fs.cpSync(runs, path.join(this.project, '.git/piton/runs'), { recursive: true });
      fs.rmSync(path.join(this.project, '.piton'), { recursive: true });
      // A person says that the run of the example is theirs.
      this.piton('trust', 'spring');
    }
    return this;
  }

  read(file) {
    return fs.readFileSync(path.join(this.project, file), 'utf8');
  }

  /** Writes a file of the project, as an agent would. */
  write(file, text) {
    const to = path.join(this.project, file);
    fs.mkdirSync(path.dirname(to), { recursive: true });
    fs.writeFileSync(to, text);
  }

  /** Runs the program outside of any session, at `this.now`. */
  piton(...words) {
    const env = { HOME: this.home, PATH: '/usr/bin:/bin', PITON_NOW: this.now ?? NOW };
    const done = run(program, words, { cwd: this.project, env });
    return { ...done, json: done.out.startsWith('{') ? JSON.parse(done.out) : undefined };
  }

  /** Begins a session without a person; `ended` resolves with what it printed. */
  session(model, words, options = {}) {
    const { more = [], env = {} } = options;
    const loaded = this.plugin ? ['--plugin-dir', this.plugin] : [];
    const all = ['-p', words, '--output-format', 'stream-json', '--verbose', ...loaded, ...more];
    const child = spawn(client, all, {
      cwd: options.cwd ?? this.project,
      env: { ...this.environment(model), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (data) => (out += data));
    child.stderr.on('data', (data) => (err += data));
    const ended = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        const lines = out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
        resolve({ code, signal, lines, err, result: lines.findLast((line) => line.type === 'result') });
      });
    });
    return { child, ended };
  }

  /** Removes everything; a client that is about to end may still write. */
  close() {
    return fs.promises.rm(this.top, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 });
  }
}

/** Copies what git has of the repository, as it is in the work tree: what a marketplace would get. */
export function plugin(folder) {
  const listed = run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: repository });
  for (const file of listed.out.split('\0').filter(Boolean)) {
    const from = path.join(repository, file);
    if (!fs.existsSync(from)) continue;
    const to = path.join(folder, file);
    fs.mkdirSync(path.dirname(to), { recursive: true });
    fs.cpSync(from, to, { verbatimSymlinks: true });
    fs.chmodSync(to, fs.statSync(from).mode & 0o777);
  }
  return folder;
}
