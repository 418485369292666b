// Checks that the tests cannot reach the network.

import assert from 'node:assert/strict';
import os from 'node:os';
import test from 'node:test';

test('there is no network but loopback', { skip: !process.env.PITON_ALONE && 'no network namespaces here' }, () => {
  assert.deepEqual(Object.keys(os.networkInterfaces()).filter((name) => name !== 'lo'), []);
});
