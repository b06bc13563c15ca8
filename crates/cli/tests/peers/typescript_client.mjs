// The official TypeScript SDK as a client, both generations of it: tools, refusals, progress, cancellation, approvals.
//
// Usage: typescript_client.mjs NODE_MODULES (v1|legacy|auto) WORKSPACE stdio COMMAND...
//        typescript_client.mjs NODE_MODULES (v1|legacy|auto) WORKSPACE http URL TOKEN
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, mode, workspace, kind, ...rest] = process.argv.slice(2);
const load = path => import(pathToFileURL(join(modules, '@modelcontextprotocol', path)).href);
const tools = ['append_file', 'check', 'edit_file', 'exec', 'list_dir', 'policy', 'read_file', 'web_fetch', 'write_file'];
const asked = [];
let answer = { action: 'decline' };

async function connect(capabilities) {
  let Client, Stdio, Http, elicit;
  if (mode === 'v1') {
    ({ Client } = await load('sdk/dist/esm/client/index.js'));
    ({ StdioClientTransport: Stdio } = await load('sdk/dist/esm/client/stdio.js'));
    ({ StreamableHTTPClientTransport: Http } = await load('sdk/dist/esm/client/streamableHttp.js'));
    ({ ElicitRequestSchema: elicit } = await load('sdk/dist/esm/types.js'));
  } else {
    ({ Client, StreamableHTTPClientTransport: Http } = await load('client/dist/index.mjs'));
    ({ StdioClientTransport: Stdio } = await load('client/dist/stdio.mjs'));
    elicit = 'elicitation/create';
  }
  const options = { capabilities };
  if (mode === 'auto') options.versionNegotiation = { mode: 'auto' };
  const client = new Client({ name: 'test', version: '1' }, options);
  if (capabilities.elicitation) {
    client.setRequestHandler(elicit, async request => {
      asked.push(request.params.message);
      return answer;
    });
  }
  const environment = Object.fromEntries(['PICOCLAW_HOME', 'HOME', 'PATH'].map(name => [name, process.env[name]]));
  const transport = kind === 'stdio'
    ? new Stdio({ command: rest[0], args: rest.slice(1), env: environment, stderr: 'ignore' })
    : new Http(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${rest[1]}` } } });
  await client.connect(transport);
  return client;
}

const call = (client, name, args, options) =>
  mode === 'v1' ? client.callTool({ name, arguments: args }, undefined, options) : client.callTool({ name, arguments: args }, options);
const text = result => result.content[0].text;

async function everyTool(client) {
  const listed = await client.listTools();
  assert.deepEqual(listed.tools.map(tool => tool.name), tools);
  for (const tool of listed.tools) {
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations;
    for (const hint of [readOnlyHint, destructiveHint, idempotentHint, openWorldHint]) assert.equal(typeof hint, 'boolean', tool.name);
    assert.equal(tool.outputSchema.type, 'object', tool.name);
  }
  for (const [name, args, wanted] of [
    ['write_file', { path: 't.txt', content: 'one\n' }, 'File written: t.txt'],
    ['append_file', { path: 't.txt', content: 'two\n' }, 'Appended to t.txt'],
    ['edit_file', { path: 't.txt', old_text: 'one', new_text: 'uno' }, 'File edited: t.txt'],
    ['read_file', { path: 't.txt' }, 'uno\ntwo\n'],
    ['list_dir', {}, 'FILE: t.txt'],
    ['exec', { command: 'cat t.txt' }, 'uno\ntwo\n'],
  ]) {
    const result = await call(client, name, args);
    assert.ok(!result.isError && text(result) === wanted && result.structuredContent, JSON.stringify(result));
  }
  assert.equal((await call(client, 'policy', {})).structuredContent.workspace, workspace);
  assert.equal((await call(client, 'check', { action: 'exec', subject: 'ls' })).structuredContent.verdict, 'allow');
}

async function everyRefusal(client) {
  for (const [name, args, code] of [
    ['read_file', { path: '/etc/passwd' }, 'outside_workspace'],
    ['read_file', { path: '../config.json' }, 'protected'],
    ['exec', { command: 'true', cwd: '/etc' }, 'command_path_outside'],
    ['read_file', { pth: 'a' }, 'invalid_arguments'],
    ['no_such_tool', {}, 'unknown_tool'],
  ]) {
    const result = await call(client, name, args);
    assert.ok(result.isError, JSON.stringify(result));
    assert.deepEqual(Object.keys(result.structuredContent).sort(), ['code', 'hint', 'layer', 'rule']);
    assert.equal(result.structuredContent.code, code, JSON.stringify(result));
  }
}

const isRunning = mark => readdirSync('/proc').some(pid => {
  if (!/^\d+$/.test(pid)) return false;
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
    return words[0] === 'sleep' && words[1] === mark;
  } catch { return false; }
});

async function until(condition, why) {
  const begin = Date.now();
  while (!condition()) {
    assert.ok(Date.now() - begin < 10_000, why);
    await new Promise(done => setTimeout(done, 20));
  }
}

async function progressAndCancellation(client) {
  const heard = [];
  await call(client, 'exec', { command: 'echo a; sleep 0.4; echo b' }, { onprogress: told => heard.push(told.message) });
  assert.deepEqual(heard, ['a', 'b']);
  const mark = `31${process.pid}.5`;
  const stop = new AbortController();
  const running = call(client, 'exec', { command: `sleep ${mark} & sleep ${mark}; wait` }, { signal: stop.signal });
  const ended = assert.rejects(running);
  await until(() => isRunning(mark), 'the command never began');
  stop.abort();
  await ended;
  await until(() => !isRunning(mark), 'the command outlived its cancellation');
}

// Over before it can be stopped, or not: either way the next call is answered as if nothing had been.
async function cancelledOnTheQuickWay(client) {
  writeFileSync(`${workspace}/long.txt`, 'x'.repeat(1 << 20));
  let stopped = 0;
  for (let round = 0; round < 40; round++) {
    const stop = new AbortController();
    const running = call(client, 'read_file', { path: 'long.txt' }, { signal: stop.signal }).then(() => 0, () => 1);
    if (round % 4) await new Promise(done => setTimeout(done, round % 4));
    stop.abort();
    stopped += await running;
    const next = await call(client, 'read_file', { path: 't.txt' });
    assert.equal(text(next), 'uno\ntwo\n', `round ${round}`);
  }
  assert.ok(stopped > 0, 'every call was over before it could be stopped');
}

async function approvals(client) {
  answer = { action: 'decline' };
  const no = await call(client, 'exec', { command: 'rm -rf gone' });
  assert.equal(no.structuredContent.code, 'not_approved', JSON.stringify(no));
  answer = { action: 'accept', content: { answer: 'once' } };
  const yes = await call(client, 'exec', { command: 'rm -rf gone' });
  assert.ok(!yes.isError, JSON.stringify(yes));
  assert.equal(asked.length, 2);
  assert.match(asked[1], /rm -rf gone/);
}

const client = await connect({ elicitation: {} });
await everyTool(client);
await everyRefusal(client);
await progressAndCancellation(client);
await cancelledOnTheQuickWay(client);
await approvals(client);
const version = client.getNegotiatedProtocolVersion?.() ?? mode;
await client.close();
const silent = await connect({});
const nobody = await call(silent, 'exec', { command: 'rm -rf nobody' });
assert.equal(nobody.structuredContent.code, 'dangerous_command', JSON.stringify(nobody));
await silent.close();
console.log(version);
process.exit(0);
