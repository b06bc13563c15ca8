'use strict';
// External text becomes text nodes, never markup; characters that hide or reorder text are escaped.
const $ = id => document.getElementById(id);
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
const plain = text => String(text).replace(UNSEEN, one => '\\u{' + one.codePointAt(0).toString(16) + '}');
const el = (tag, name, text) => {
  const node = document.createElement(tag);
  node.className = name || '';
  if (text !== undefined && text !== null) { node.classList.add('text'); node.textContent = plain(text); }
  return node;
};
// Renders literals in backticks as code; everything stays text.
const told = (name, text) => {
  const node = el('span', name, '');
  plain(text).split(/`([^`]+)`/).forEach((part, at) => { if (part) node.append(at % 2 ? el('code', '', part) : part); });
  return node;
};
const holding = (node, ...inner) => { node.append(...inner.filter(Boolean)); return node; };
const VERDICTS = {allow: 'allowed', deny: 'refused', ask: 'asked'};
const MOST = 500, STEP = 40, POINTS = 120, LOOK = 10000, MEASURE = 5000;
const KEY = 'picoclaw-token';
let token = sessionStorage.getItem(KEY) || '';
let visit = 0, stop = null, lastSeq = 0, skew = 0;

async function call(path, options) {
  const mine = visit;
  const asked = Object.assign({cache: 'no-store'}, options);
  asked.headers = Object.assign({authorization: 'Bearer ' + token}, asked.headers);
  const answer = await fetch(path, asked);
  // Whole seconds: smaller clock differences are ignored.
  const apart = Date.parse(answer.headers.get('date')) - Date.now();
  skew = Math.abs(apart) > 2000 ? apart : 0;
  if (answer.status === 401) {
    if (mine === visit) leave('That token does not open this gateway.');
    throw new Error('unauthorized');
  }
  return answer;
}
const json = async path => (await call(path)).json();
const post = (path, body) => call(path, {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body)});

function state(kind, words) { $('state').dataset.state = kind; $('state').textContent = plain(words); }
function leave(why) {
  visit += 1;
  token = '';
  sessionStorage.removeItem(KEY);
  if (stop) stop.abort();
  rows.length = 0; nodes.clear(); asked.clear(); points.length = 0; lastSeq = 0;
  for (const id of ['stream', 'questions', 'agents', 'jobs', 'posture']) $(id).replaceChildren();
  $('inside').hidden = $('lock').hidden = true;
  $('door').hidden = false;
  $('denied').textContent = why;
  $('denied').hidden = !why;
  document.title = 'picoclaw';
  state('off', 'not connected');
  $('token').focus();
}

// Formats durations.
function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  for (const [size, name] of [[86400, ' d'], [3600, ' h'], [60, ' min']]) if (seconds >= size) return Math.round(seconds / size) + name;
  return seconds + ' s';
}
const now = () => Date.now() + skew;
const ago = when => span(now() - when) + ' ago';
const clock = when => new Date(when).toLocaleTimeString();
const took = us => us === null || us === undefined ? '' : us < 1000 ? us + ' µs' : us < 1e6 ? (us / 1000).toFixed(1) + ' ms' : (us / 1e6).toFixed(1) + ' s';

// The stream of calls.
const rows = [], nodes = new Map(), hints = new Map(), wanting = [];
let looking = false, drawing = false, shown = STEP;

function parted(intent) {
  const command = /^exec in ((?:[^:]|:(?! ))*): ([^]*)$/.exec(intent || '');
  if (command) return {action: 'exec', subject: command[2], cwd: command[1]};
  const path = /^(read|list|write) (\/[^]*)$/.exec(intent || '');
  return path && {action: path[1] === 'write' ? 'write' : 'read', subject: path[2]};
}
const topic = row => row.agent + '\n' + row.intent;
const known = row => hints.get(topic(row)) || hints.get([row.session, row.tool, row.code, row.rule].join('\n'));

// Requests the hints for refused calls, one after the other.
async function lookUp() {
  if (looking) return;
  looking = true;
  for (let row; token && (row = wanting.shift());) {
    const about = parted(row.intent);
    if (!about || hints.has(topic(row))) continue;
    try {
      const answer = await post('/api/check', Object.assign({agent: row.agent}, about));
      const found = await answer.json();
      const hint = found.verdict === 'allow' ? 'the configuration allows it by now' : found.hint;
      hints.set(topic(row), answer.ok && hint ? {hint, sentence: found.sentence} : {});
    } catch (why) { break; }
    if (hints.size > MOST) hints.delete(hints.keys().next().value);
    for (const other of rows) if (topic(other) === topic(row)) other.changed = true;
    draw();
  }
  looking = false;
}
function wanted(row) {
  const verdict = $('verdict').value, origin = $('origin').value, words = $('words').value.toLowerCase();
  return (!verdict || row.verdict === verdict) && (!origin || row.origin === origin) && (!words || row.search.includes(words));
}
function fact(list, name, value) {
  if (value === null || value === undefined || value === '') return;
  list.append(el('dt', '', name), el('dd', '', Array.isArray(value) ? value.join('\n') : value));
}
function fill(item, row) {
  const open = item.firstChild && item.firstChild.open, held = item.contains(document.activeElement);
  const about = parted(row.intent), kind = VERDICTS[row.verdict] ? row.verdict : 'none';
  const head = holding(el('div', 'row'), el('span', 'badge ' + kind, VERDICTS[row.verdict] || row.verdict), el('strong', '', row.tool),
    el('span', 'meta', [row.agent, row.origin, row.session].join(' · ')), el('span', 'meta when', clock(row.time)));
  const summary = holding(el('summary'), head, row.intent && el('div', 'mono what', about ? about.subject : row.intent));
  const facts = el('dl', 'facts');
  for (const [name, value] of [['record', row.seq], ['session', row.session], ['in', about && about.cwd], ['rule', row.rule], ['layer', row.layer], ['code', row.code], ['held by', row.enforced],
    ['outcome', row.outcome || row.phase], ['took', took(row.duration_us)], ['depth', row.depth || ''], ['hash', row.hash]]) fact(facts, name, value);
  const details = holding(el('details'), summary, facts);
  details.open = Boolean(open);
  item.className = kind === 'allow' || kind === 'none' ? '' : 'is-' + kind;
  item.replaceChildren(details);
  if (kind === 'deny' || kind === 'ask') {
    const why = known(row) || {};
    const by = [row.rule && 'rule ' + row.rule, row.layer && 'layer ' + row.layer, row.code].filter(Boolean).join(' · ');
    item.append(holding(el('div', 'why'), el('b', '', kind === 'deny' ? 'Why' : 'Why it was asked'), ' ', told('', why.sentence ? why.sentence + ' (' + by + ')' : by)));
    if (kind === 'ask' && row.outcome) item.append(holding(el('div', 'why'), el('b', '', 'Answer'), ' ', el('span', '', row.outcome)));
    if (why.hint) item.append(holding(el('div', 'why allows'), el('b', '', 'What would allow it'), ' ', told('', why.hint)));
    if (!why.hint && about && !hints.has(topic(row)) && !wanting.includes(row)) wanting.push(row);
  } else if (row.outcome && row.outcome !== 'ok') item.append(holding(el('div', 'why soft'), told('', row.outcome)));
  if (held) summary.focus();
  row.changed = false;
}
function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (!token) return;
    const fitting = rows.filter(wanted);
    const list = fitting.slice(0, shown).map(row => {
      let item = nodes.get(row.key);
      if (!item) nodes.set(row.key, item = el('li'));
      if (row.changed) fill(item, row);
      return item;
    });
    place($('stream'), list.length ? list : [el('li', 'soft', rows.length ? 'Nothing fits the filter.' : 'Nothing has happened yet.')]);
    $('more').hidden = fitting.length <= shown;
    lookUp();
  });
}
// Updates a list without moving nodes that are in place, which keeps focus and reading position.
function place(list, items) {
  const keep = new Set(items);
  for (const old of [...list.children]) if (!keep.has(old)) old.remove();
  items.forEach((item, at) => { if (list.children[at] !== item) list.insertBefore(item, list.children[at] || null); });
}
function record(data) {
  lastSeq = Math.max(lastSeq, data.seq);
  const same = row => row.phase === 'decided' && row.session === data.session && row.tool === data.tool && row.intent === data.intent && row.agent === data.agent;
  let row = data.phase === 'decided' ? undefined : rows.findLast(same);
  if (!row) rows.unshift(row = {key: data.seq});
  Object.assign(row, data, {changed: true, search: plain([data.tool, data.intent, data.agent, data.session, data.code, data.rule, data.outcome].join(' ')).toLowerCase()});
  for (const gone of rows.splice(MOST)) nodes.delete(gone.key);
  draw();
}
function heard(kind, data) {
  if (kind === 'record') record(data);
  else if (kind === 'turn' && data.refusal) {
    const no = data.refusal;
    hints.set([data.session, data.tool, no.code, no.rule].join('\n'), no);
    for (const row of rows) if (row.session === data.session && row.tool === data.tool) row.changed = true;
    draw();
  } else if (kind === 'approval') questions().catch(unreached);
  else if (kind === 'reload') {
    hints.clear();
    for (const row of rows) row.changed = true;
    draw();
    $('said').textContent = plain(data.ok ? 'The configuration was reloaded.' : 'Not reloaded: ' + data.error);
    posture().catch(unreached);
  }
}
// Shows a lost connection and reconnects the stream.
function unreached() { if (token) state('wait', 'reconnecting…'); }

async function follow(mine) {
  while (token && mine === visit) {
    stop = new AbortController();
    try {
      const headers = lastSeq ? {'last-event-id': String(lastSeq)} : {};
      const answer = await call(lastSeq ? '/api/events' : '/api/events?last=200', {headers, signal: stop.signal});
      if (!answer.ok) throw new Error('status ' + answer.status);
      state('live', 'live');
      questions().catch(unreached);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = '';;) {
        const {done, value} = await reader.read();
        if (done || mine !== visit) break;
        const frames = (rest + value).split('\n\n');
        rest = frames.pop();
        frames.forEach(frame);
      }
    } catch (why) { if (!token || mine !== visit) return; }
    unreached();
    await new Promise(resolve => setTimeout(resolve, 1500));
  }
}
function frame(text) {
  let kind = '', data = '';
  for (const part of text.split('\n')) {
    if (part.startsWith('event: ')) kind = part.slice(7);
    else if (part.startsWith('data: ')) data += part.slice(6);
  }
  if (data) heard(kind, JSON.parse(data));
}

// Approval questions.
const asked = new Map();
async function answer(item, choice, box) {
  for (const button of box.querySelectorAll('button')) button.disabled = true;
  const reason = choice === 'no' && box.querySelector('input').value.trim();
  const sent = await post('/api/approvals/' + encodeURIComponent(item.id), Object.assign({hash: item.hash, answer: choice}, reason && {reason}));
  const back = await sent.json().catch(() => ({}));
  const words = {once: 'Allowed once', session: 'Allowed for this session', always: 'Allowed always', no: 'Refused'}[choice];
  $('said').textContent = plain(sent.ok ? words + ': ' + item.tool + ', ' + item.agent + '.'
    : sent.status === 403 ? 'This token may not approve. picoclaw token add NAME --scope watch,approve makes one that may.'
    : back.error || 'The answer was not taken.');
  await questions();
}
function question(item) {
  const box = el('li', 'question');
  const left = el('span', 'left soft'), time = el('progress', 'time');
  time.max = 1;
  time.setAttribute('aria-hidden', 'true');
  const buttons = el('div', 'buttons');
  for (const [choice, words, name] of [['once', 'Yes, once', 'yes'], ['session', 'Yes, this session', 'yes'], ['always', 'Yes, always', 'yes'], ['no', 'No', 'no']]) {
    const button = el('button', name, words);
    button.type = 'button';
    button.addEventListener('click', () => answer(item, choice, box).catch(unreached));
    buttons.append(button);
  }
  const reason = el('input', 'reason');
  reason.placeholder = 'No, because …';
  reason.setAttribute('aria-label', 'Why not: the agent is told');
  reason.addEventListener('keydown', pressed => { if (pressed.key === 'Enter') answer(item, 'no', box).catch(unreached); });
  buttons.append(reason);
  holding(box, holding(el('div', 'row'), el('strong', '', item.tool), el('span', 'meta', [item.agent, item.origin, item.session].join(' · ')), left),
    el('div', 'mono shown', (item.lines || [item.text]).join('\n')), holding(el('div', 'why'), el('b', '', 'Why it is asked'), ' ', told('', item.why + (item.rule ? ' (rule ' + item.rule + ')' : ''))),
    item.hint && holding(el('div', 'why'), el('b', '', 'To allow it always'), ' ', told('', item.hint)), buttons, time);
  const began = Date.parse(item.asked_at), ends = Date.parse(item.expires_at);
  const tick = () => { const rest = Math.max(0, ends - now()); left.textContent = 'no answer is a no in ' + Math.ceil(rest / 1000) + ' s'; time.value = rest / (ends - began); };
  tick();
  return {box, tick};
}
async function questions() {
  const mine = visit, items = (await json('/api/approvals')).items;
  if (mine !== visit) return;
  const open = new Set(items.map(item => item.id));
  let moved = false;
  for (const id of [...asked.keys()]) if (!open.has(id)) { asked.delete(id); moved = true; }
  const before = [...asked.values()];
  for (const item of items) if (!asked.has(item.id)) asked.set(item.id, question(item));
  place($('questions'), items.map(item => asked.get(item.id).box));
  // Ignores taps on a question that has just moved under the pointer.
  if (moved) for (const {box} of before) for (const button of box.querySelectorAll('button:enabled')) { button.disabled = true; setTimeout(() => { button.disabled = false; }, 600); }
  $('noquestions').hidden = items.length > 0;
  $('waiting').hidden = !items.length;
  $('waiting').textContent = items.length;
  document.title = (items.length ? '(' + items.length + ') ' : '') + 'picoclaw';
}
setInterval(() => asked.forEach(one => one.tick()), 1000);

// Posture, agents and jobs.
const entries = (id, lines, none) => $(id).replaceChildren(...(lines.length ? lines : [el('li', 'soft', none)]));
const LAYER = /(?:^|; |: )(filesystem|network|processes|syscalls|limits) (held|partly held|not held|open|closed|by name)(?:: |(?=;|$))/;
function held(name, grade, words) {
  const kind = {held: 'allow', closed: 'allow', 'by name': 'allow', on: 'allow', restricted: 'allow', 'partly held': 'ask', 'not held': 'none', open: 'none'}[grade] || 'deny';
  return holding(el('li'), holding(el('div', 'pair'), el('strong', '', name), el('span', 'badge ' + kind, grade)), words && holding(el('div', 'sub'), told('', words)));
}
async function posture() {
  const found = await json('/api/posture'), lines = [], about = found.posture || {};
  $('version').textContent = plain(found.version || '');
  if (about.workspace) lines.push(held('workspace', about.workspace, about.workspace === 'restricted' ? 'file tools stay inside it' : 'file tools reach the whole host'));
  if (about.guard) lines.push(held('guard', about.guard, about.guard === 'on' ? 'commands are read before they run' : 'commands are not read'));
  const [cage, ...layers] = String(about.isolation || 'unknown').split(LAYER);
  lines.push(held('isolation', cage.startsWith('on, held') ? 'on' : 'off', cage.replace(/^(on|off)([,;] |$)/, '')));
  for (let at = 0; at + 2 < layers.length; at += 3) lines.push(held(layers[at], layers[at + 1], layers[at + 2]));
  for (const exception of found.exceptions || []) lines.push(holding(el('li'), el('span', 'badge ask', 'exception'), ' ', told('', exception)));
  entries('posture', lines, 'unknown');
  return found;
}
function session(one) {
  return holding(el('div', 'sub pair'), el('span', '', one.name), el('span', '', one.messages + ' messages · ' + ago(Date.parse(one.updated_at))));
}
function rhythm({kind, expr, everyMs, atMs, tz}) {
  return kind === 'cron' ? expr + (tz ? ' (' + tz + ')' : '') : kind === 'every' ? 'every ' + span(everyMs) : atMs ? 'at ' + new Date(atMs).toLocaleString() : kind;
}
function job(one) {
  const at = one.state || {}, does = one.payload || {};
  const next = !one.enabled ? 'switched off' : at.nextRunAtMs ? 'next in ' + span(at.nextRunAtMs - now()) + ', ' + new Date(at.nextRunAtMs).toLocaleString() : 'no next run';
  const kind = {ok: 'allow', error: 'ask', refused: 'deny'}[at.lastStatus];
  return holding(el('li'), holding(el('div', 'pair'), el('strong', '', one.name), kind && el('span', 'badge ' + kind, 'last ' + at.lastStatus)),
    el('div', 'sub', [rhythm(one.schedule || {}), one.agent, next].filter(Boolean).join(' · ')),
    (does.command || does.message) && el('div', 'sub mono', does.command || does.message), at.lastError && el('div', 'sub deny', at.lastError));
}
async function look() {
  const mine = visit;
  const [found, sessions, jobs] = await Promise.all([posture(), json('/api/sessions'), json('/api/cron'), questions()]);
  if (mine !== visit) return;
  entries('agents', (found.agents || []).map(agent => {
    const own = (sessions.items || []).filter(one => one.agent === agent.id).sort((a, b) => a.updated_at < b.updated_at ? 1 : -1);
    const without = (agent.disabled_tools || []).length ? 'without ' + agent.disabled_tools.join(', ') : '';
    return holding(el('li'), holding(el('div', 'pair'), el('strong', '', agent.id), el('span', 'meta', own.length + (own.length === 1 ? ' session' : ' sessions'))),
      el('div', 'sub mono', agent.workspace), without && el('div', 'sub', without), ...own.slice(0, 6).map(session));
  }), 'none');
  entries('jobs', (jobs.items || []).map(job), 'No scheduled jobs.');
}

// Charts of memory and calls over time.
const points = [];
async function measure() {
  const mine = visit, text = await (await call('/metrics')).text();
  if (mine !== visit) return;
  const number = (name, labels) => { const line = text.split('\n').find(line => line.startsWith(name + (labels || '') + ' ')); return line ? Number(line.split(' ').pop()) : 0; };
  const point = {memory: number('process_resident_memory_bytes')};
  for (const kind of Object.keys(VERDICTS)) point[kind] = number('picoclaw_verdicts_total', '{verdict="' + kind + '"}');
  points.push(point);
  points.splice(0, points.length - POINTS - 1);
  const x = at => ((POINTS - points.length + 1 + at) * 300 / POINTS).toFixed(1);
  const most = Math.max(...points.map(one => one.memory), 1), y = bytes => (54 - 44 * bytes / most).toFixed(1);
  const line = points.map((one, at) => (at ? 'L' : 'M') + x(at) + ' ' + y(one.memory)).join('');
  $('memory-line').setAttribute('d', line);
  $('memory-area').setAttribute('d', line + 'L300 56L' + x(0) + ' 56Z');
  $('memory-now').textContent = (point.memory / 1048576).toFixed(1) + ' MiB';
  $('memory-most').textContent = 'at most ' + (most / 1048576).toFixed(1) + ' MiB';
  const steps = points.slice(1).map((one, at) => Object.fromEntries(Object.keys(VERDICTS).map(kind => [kind, Math.max(0, one[kind] - points[at][kind])])));
  const tall = Math.max(4, ...steps.map(step => step.allow + step.ask + step.deny)), paths = {allow: '', ask: '', deny: ''};
  steps.forEach((step, at) => {
    let base = 56;
    for (const kind of ['allow', 'ask', 'deny']) {
      const high = 52 * step[kind] / tall;
      if (high) paths[kind] += 'M' + x(at) + ' ' + base.toFixed(1) + 'v' + (-high).toFixed(1) + 'h2v' + high.toFixed(1) + 'z';
      base -= high;
    }
  });
  for (const kind of Object.keys(paths)) $('bar-' + kind).setAttribute('d', paths[kind]);
  $('calls-now').textContent = point.allow + point.ask + point.deny;
  $('calls-split').textContent = point.allow + ' allowed, ' + point.ask + ' asked, ' + point.deny + ' refused since the start';
}

function again(mine, act, pause) {
  const run = () => { if (token && mine === visit) act().catch(unreached).finally(() => setTimeout(run, pause)); };
  run();
}
async function open() {
  const mine = ++visit;
  try { if (!(await call('/api/approvals')).ok) throw new Error('not answered'); } catch (why) {
    if (token) { $('denied').textContent = 'The gateway does not answer.'; $('denied').hidden = false; }
    return;
  }
  if (mine !== visit) return;
  sessionStorage.setItem(KEY, token);
  $('door').hidden = $('denied').hidden = true;
  $('inside').hidden = $('lock').hidden = false;
  draw();
  follow(mine);
  again(mine, look, LOOK);
  again(mine, measure, MEASURE);
}
$('enter').addEventListener('submit', event => {
  event.preventDefault();
  token = $('token').value.trim();
  $('token').value = '';
  if (token) open();
});
$('more').addEventListener('click', () => { shown += STEP; draw(); });
$('lock').addEventListener('click', () => leave(''));
for (const id of ['verdict', 'origin', 'words']) $(id).addEventListener('input', () => { shown = STEP; draw(); });
if (token) open(); else $('token').focus();
