// Traces of the real client, made here: sessions that were cut off in many ways, with right answers that were written first. A fixed sample of them;
// all with PITON_TRACES=all, those whose names match with PITON_TRACES=WORDS.

import test from 'node:test';

import { hasTmux } from './terminal.mjs';
import { CASES } from './traces/cases.mjs';
import { check, checkLiving } from './traces/check.mjs';
import { record } from './traces/record.mjs';

const wanted = process.env.PITON_TRACES ?? '';
const isWanted = (one) => wanted === 'all' || (wanted ? one.name.includes(wanted) : one.sample);

test('a session that was cut off is planned as it stands', { concurrency: 2 }, async (context) => {
  const traces = CASES.filter(isWanted).map((one) => {
    const skip = one.lives.some((life) => life.keys) && !hasTmux && 'tmux is missing';
    return context.test(one.name, { timeout: 120_000, skip }, async (context) => {
      const trace = await record(one, checkLiving);
      context.after(() => trace.close());
      check(one, trace);
    });
  });
  await Promise.all(traces);
});
