// Test support: an interactive session in a terminal.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { KEY } from './stage.mjs';

export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

let terminals = 0;

/** A client in a terminal of its own, with typed input. */
export class Terminal {
  constructor(stage, service, ...flags) {
    // A server that was told to end may still take a new session, and end it too: each terminal has its own.
    this.socket = `tmux-${++terminals}`;
    // The whole path of a socket may have 107 bytes; the folder of a stage alone can be longer.
    this.folder = stage.folder('tmp');
    const environment = Object.entries(stage.environment(service)).map(([name, value]) => `${name}=${value}`);
    const loaded = stage.plugin ? ['--plugin-dir', stage.plugin] : [];
    const client = [process.env.PITON_CLIENT, ...loaded, ...flags];
    this.tmux('-f', '/dev/null', 'new-session', '-d', '-x', '140', '-y', '50', '-c', stage.project, 'env', '-i', ...environment, ...client);
  }

  tmux(...words) {
    const done = spawnSync('tmux', ['-S', this.socket, ...words], { cwd: this.folder, encoding: 'utf8', timeout: 10_000 });
    return done.stdout;
  }

  screen() {
    return this.tmux('capture-pane', '-p');
  }

  async shows(pattern) {
    for (let tries = 0; tries < 300; tries++) {
      if (pattern.test(this.screen())) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.fail(`the screen never shows ${pattern}:\n${this.screen()}`);
  }

  /** Presses a key as long as the screen shows a dialog: for a moment, a new one takes no keys. */
  async answers(dialog, key) {
    for (let tries = 0; tries < 100 && dialog.test(this.screen()); tries++) {
      this.press(key);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    assert.doesNotMatch(this.screen(), dialog);
  }

  type(text) {
    this.tmux('send-keys', '-l', text);
  }

  press(...keys) {
    this.tmux('send-keys', ...keys);
  }

  close() {
    this.tmux('kill-server');
  }
}

/** Lets the client start in this project without questions of its own. */
export function welcome(stage) {
  const known = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
    projects: { [fs.realpathSync(stage.project)]: { hasTrustDialogAccepted: true } },
  };
  fs.writeFileSync(path.join(stage.home, '.claude.json'), JSON.stringify(known));
}
