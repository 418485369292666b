// A scripted model: a server on loopback that speaks the Messages API with streaming.

import assert from 'node:assert/strict';
import http from 'node:http';

/** A piece of text in an answer. */
export const say = (text) => ({ type: 'text', text });

/** A call of a tool in an answer. */
export const use = (name, input) => ({ type: 'tool_use', name, input });

/** A call of the Bash tool. */
export const bash = (command) => use('Bash', { command, description: 'record the run' });

/** An answer that is no answer: the service fails. */
export const fails = (status, type) => ({ type: 'failure', status, error: type });

/** An answer that never comes, until the test ends. */
export const hangs = () => ({ type: 'hang' });

/** All text of a message, tool results included. */
export function textOf(message) {
  const { content } = message;
  if (typeof content === 'string') return content;
  return content
    .map((block) => {
      if (block.type === 'text') return block.text;
      if (block.type !== 'tool_result') return '';
      return typeof block.content === 'string' ? block.content : textOf({ content: block.content ?? [] });
    })
    .join('\n');
}

/** Asserts on what the client sent without printing all of it. */
export function saw(text, ...patterns) {
  for (const pattern of patterns) {
    assert.ok(pattern.test(text), `${pattern} is not in what was said; its end is:\n${text.slice(-1500)}`);
  }
}

/**
 * Starts a model. `script` is asked for every turn of the conversation with what the client sent and returns the blocks of the
 * answer; requests without tools are side jobs of the client, such as a title, and get a word.
 */
export async function model(script) {
  const turns = [];
  const waiting = new Set();
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method !== 'POST' || !request.url.startsWith('/v1/messages') || request.url.includes('count_tokens')) {
      response.writeHead(request.method === 'HEAD' ? 200 : 404).end();
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString());
    let blocks = [say('ok')];
    if (body.tools?.length) {
      const turn = { number: turns.length, messages: body.messages, system: body.system, tools: body.tools };
      turn.said = body.messages.map(textOf).join('\n');
      // Everything since the model's last answer: newer clients put reminders in messages of their own.
      const answered = body.messages.findLastIndex((message) => message.role === 'assistant');
      turn.last = body.messages.slice(answered + 1).map(textOf).join('\n');
      turns.push(turn);
      blocks = [(await script(turn)) ?? say('done')].flat();
    }
    const [first] = blocks;
    if (first.type === 'hang') {
      waiting.add(response);
      response.on('close', () => waiting.delete(response));
      return;
    }
    if (first.type === 'failure') {
      const error = { type: 'error', error: { type: first.error, message: 'this service is a test' } };
      response.writeHead(first.status, { 'content-type': 'application/json', 'x-should-retry': 'false' });
      response.end(JSON.stringify(error));
      return;
    }
    stream(response, body.model, blocks);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    turns,
    /** How many answers are awaited that never come. */
    hanging: () => waiting.size,
    close() {
      waiting.forEach((response) => response.destroy());
      server.closeAllConnections();
      server.close();
    },
  };
}

let ids = 0;

function stream(response, name, blocks) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type, data) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  const usage = { input_tokens: 10, output_tokens: 10 };
  send('message_start', {
    message: { id: `msg_${++ids}`, type: 'message', role: 'assistant', model: name, content: [], usage, stop_reason: null },
  });
  blocks.forEach((block, index) => {
    if (block.type === 'text') {
      send('content_block_start', { index, content_block: { type: 'text', text: '' } });
      send('content_block_delta', { index, delta: { type: 'text_delta', text: block.text } });
    } else {
      const content_block = { type: 'tool_use', id: `toolu_${++ids}`, name: block.name, input: {} };
      send('content_block_start', { index, content_block });
      send('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) } });
    }
    send('content_block_stop', { index });
  });
  const stop_reason = blocks.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn';
  send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage });
  send('message_stop', {});
  response.end();
}
