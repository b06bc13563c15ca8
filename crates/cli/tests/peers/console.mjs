// Drives the console with a real browser: node console.mjs BROWSER_MODULES CHROMIUM ADDRESS TOKEN SCREENSHOTS SCRATCH
// Ends with 0 and `ok`, or says which promise does not hold.
import assert from 'node:assert/strict';
import {mkdirSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';

const [modules, executablePath, base, token, shots, scratch] = process.argv.slice(2);
const {chromium} = createRequire(join(modules, 'x.js'))('playwright-core');
const ATTACK = '<img src=x onerror="globalThis.owned=1">';
const LONG = 'long'.repeat(38);
const BACKWARDS = '\u202egpj.exe';

const chat = (model, content, session) => fetch(base + '/v1/chat/completions', {
  method: 'POST',
  headers: Object.assign({authorization: 'Bearer ' + token, 'content-type': 'application/json'}, session && {'x-picoclaw-session': session}),
  body: JSON.stringify({model, messages: [{role: 'user', content}]}),
}).then(async answer => {
  const told = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(told));
  return told;
});
const until = async (what, look) => {
  for (const ends = Date.now() + 15000; Date.now() < ends; await new Promise(resolve => setTimeout(resolve, 50))) {
    const found = await look();
    if (found) return found;
  }
  assert.fail('in vain: ' + what);
};

const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
  env: Object.assign({}, process.env, {HOME: scratch}),
});

// A page that notes whatever must not happen.
const everything = [];
async function visit(options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const bad = [];
  everything.push(bad);
  page.on('console', message => bad.push('console: ' + message.type() + ': ' + message.text()));
  page.on('pageerror', why => bad.push('error: ' + why.message));
  page.on('dialog', dialog => { bad.push('dialog: ' + dialog.message()); dialog.dismiss(); });
  page.on('request', request => { if (!request.url().startsWith(base + '/') && !request.url().startsWith('data:')) bad.push('request: ' + request.url()); });
  page.on('popup', () => bad.push('popup'));
  await page.addInitScript(() => document.addEventListener('securitypolicyviolation', event => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI)));
  await page.goto(base + '/');
  return page;
}
const enter = async page => {
  await page.fill('#token', token);
  await page.press('#token', 'Enter');
  await page.waitForSelector('#state[data-state="live"]');
};
const shoot = async (page, name) => {
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({path: join(shots, name + '.png'), fullPage: true});
};
const stream = page => page.locator('#stream > li');

// The control: where markup is markup, the attack succeeds. Otherwise nothing below would prove anything.
{
  const page = await (await browser.newContext()).newPage();
  await page.evaluate(text => { document.body.innerHTML = text; }, ATTACK);
  await until('the attack must work where nothing stops it', () => page.evaluate(() => globalThis.owned === 1));
  await page.context().close();
}
mkdirSync(shots, {recursive: true});

// The door: a wrong token is told so, the right one opens and stays in the tab alone.
const page = await visit({viewport: {width: 1360, height: 900}, colorScheme: 'light'});
await shoot(page, 'door');
const watched = await fetch(base + '/').then(answer => answer.headers.get('content-security-policy'));
assert.match(watched, /default-src 'none'/);
await page.fill('#token', 'wrong');
await page.press('#token', 'Enter');
await page.waitForSelector('#denied:visible');
assert.match(await page.textContent('#denied'), /does not open/);
// The browser itself notes every 401 in its console; the page has nothing to add to it.
assert.deepEqual(everything[0].splice(0).filter(line => !line.includes('401')), []);
await enter(page);
assert.equal(await page.evaluate(() => localStorage.length), 0);
assert.ok(!page.url().includes(token));

// The stream: what happens from now on arrives, and hostile text stays text wherever it comes from.
await page.waitForSelector('#stream > li:has-text("list_dir")');
const count = await stream(page).count();
await chat('main', 'echo first');
await page.waitForSelector('#stream > li:has-text("echo first")');
assert.ok(await stream(page).count() > count);
await chat('main', 'write_file ' + JSON.stringify({path: ATTACK + '.txt', content: 'x'}), ATTACK + LONG);
await chat('main', 'echo \'' + ATTACK + '\'', ATTACK + LONG);
await chat('main', 'write_file ' + JSON.stringify({path: BACKWARDS, content: 'x'}));
const dreamt = await chat('dreamer', 'go');
assert.equal(dreamt.choices[0].message.content, ATTACK, 'the model said it');
await chat('main', 'read_file {"path": "/etc/passwd"}');
await page.waitForSelector('#stream > li.is-deny:has-text("/etc/passwd")');
const refused = stream(page).filter({hasText: '/etc/passwd'}).first();
await refused.locator('.allows').waitFor();
const words = await refused.textContent();
assert.match(words, /access denied: path is outside the workspace/, 'why');
assert.match(words, /rule workspace · layer policy · outside_workspace/, 'which rule and layer');
assert.match(words, /What would allow it\s*tools\.allow_read_paths: \["\^\/etc\/passwd\$"\]/, 'what would allow it');
assert.match(await stream(page).filter({hasText: 'gpj.exe'}).first().textContent(), /\\u\{202e\}gpj\.exe/, 'what would turn text around is spelled out');
assert.ok(await stream(page).filter({hasText: ATTACK}).count() >= 3, 'file name, command, and the name of a tool that a model made up');

// Filters.
const verdicts = async () => [...new Set(await page.locator('#stream .badge').allTextContents())];
await page.selectOption('#verdict', 'deny');
await until('refusals alone', async () => (await verdicts()).join() === 'refused');
await page.selectOption('#verdict', 'allow');
await until('what was allowed alone', async () => (await verdicts()).join() === 'allowed');
await page.selectOption('#verdict', '');
await page.selectOption('#origin', 'tool');
await until('one origin alone', async () => (await stream(page).allTextContents()).every(text => text.includes(' · tool · ')));
await page.selectOption('#origin', '');
await page.fill('#words', 'ECHO FIRST');
await until('words', async () => await stream(page).count() === 1);
await page.fill('#words', 'nothing has these words');
await until('nothing', async () => /Nothing fits/.test(await page.textContent('#stream')));
await page.fill('#words', '');

// A row opens, and stays open when more arrives.
const row = stream(page).filter({hasText: 'echo first'}).first();
await row.locator('summary').click();
assert.match(await row.locator('.facts').innerText(), /outcome\s+ok/);
await chat('main', 'echo second');
await page.waitForSelector('#stream > li:has-text("echo second")');
assert.ok(await row.locator('details').evaluate(details => details.open));

// More than a screenful is kept for whoever asks for it.
for (let at = 0; at < 9; at += 1) await Promise.all([1, 2, 3, 4].map(one => chat('main', 'true ' + at + one)));
await until('a bounded list', async () => await stream(page).count() === 40);
await page.getByRole('button', {name: 'Show more'}).click();
await until('more of it', async () => await stream(page).count() > 40);

// A question comes by itself and is answered by one tap; the answer is for what was shown.
const asked = chat('main', 'touch yes.txt # ' + ATTACK);
const question = page.locator('.question').filter({hasText: 'touch yes.txt'});
await question.waitFor();
assert.match(await question.locator('.shown').textContent(), /touch yes\.txt # <img src=x/);
assert.match(await question.textContent(), /custom_deny_patterns/, 'why it is asked');
assert.match(await question.locator('.left').textContent(), /in (60|5\d) s/);
assert.equal(await page.title(), '(1) picoclaw');
await page.waitForFunction(() => document.querySelector('#memory-line').getAttribute('d').includes('L'));
await page.waitForFunction(() => ['allow', 'deny'].some(kind => (document.querySelector('#bar-' + kind).getAttribute('d') || '').includes('v-')));
assert.match(await page.textContent('#memory-now'), /^\d+\.\d MiB$/);
assert.match(await page.textContent('#calls-split'), /\d+ allowed, \d+ asked, \d+ refused/);
await shoot(page, 'wide-light');
await question.getByRole('button', {name: 'Yes, once'}).click();
await question.waitFor({state: 'detached'});
await asked;
assert.match(await page.textContent('#said'), /Allowed once/);
assert.equal(await page.title(), 'picoclaw');

// What moves up under a finger does not take a second tap.
const [one, two] = [chat('main', 'touch one.txt'), chat('main', 'touch two.txt')];
await until('two questions', async () => await page.locator('.question').count() === 2);
const upper = page.locator('.question').first(), lower = page.locator('.question').last();
await upper.getByRole('button', {name: 'No'}).click();
await until('one is left', async () => await page.locator('.question').count() === 1);
assert.ok(await lower.getByRole('button', {name: 'Yes, once'}).isDisabled(), 'just after another went');
await lower.getByRole('button', {name: 'No', exact: true}).click();
await Promise.all([one, two]);

// The rest of the page.
await until('sessions', async () => (await page.textContent('#agents')).includes('http:' + ATTACK));
const agents = await page.textContent('#agents');
assert.ok(agents.includes('main') && agents.includes('dreamer') && agents.includes('messages'));
const jobs = await page.textContent('#jobs');
assert.ok(jobs.includes(ATTACK) && jobs.includes('0 9 * * 1-5') && /next in \d+ (h|min|d)/.test(jobs), jobs);
assert.match(await page.textContent('#posture'), /workspace.*guard.*isolation/s);
assert.notEqual(await page.textContent('#version'), '');
assert.equal(await page.locator('#inside img, #inside iframe, #inside object, #inside script, #inside [onerror]').count(), 0);
assert.equal(await page.evaluate(() => globalThis.owned), undefined);

// Dark.
const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const light = await background();
await page.emulateMedia({colorScheme: 'dark'});
assert.notEqual(await background(), light);
await shoot(page, 'wide-dark');

// Forgetting the token forgets everything that was shown.
await page.click('#lock');
await page.waitForSelector('#door:visible');
assert.ok(!(await page.textContent('body')).includes('echo first'));
await page.reload();
assert.ok(await page.isVisible('#door'));

// A phone: nothing to the side, and one tap.
const phone = await visit({viewport: {width: 375, height: 812}, deviceScaleFactor: 2, hasTouch: true, isMobile: true});
await enter(phone);
const tapped = chat('main', 'touch ' + LONG + '.txt');
const small = phone.locator('.question');
await small.waitFor();
await phone.waitForSelector('#jobs > li');
const sideways = () => phone.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
assert.equal(await sideways(), 0, 'nothing to the side');
for (const button of await small.getByRole('button').all()) {
  const box = await button.boundingBox();
  assert.ok(box.height >= 40 && box.width >= 40, 'big enough for a finger');
}
await shoot(phone, 'phone-light');
await phone.emulateMedia({colorScheme: 'dark'});
await shoot(phone, 'phone-dark');
await small.getByRole('button', {name: 'No'}).tap();
await small.waitFor({state: 'detached'});
await tapped;
assert.equal(await sideways(), 0);

// Only a keyboard.
const keys = await visit({viewport: {width: 1000, height: 800}});
await keys.keyboard.type(token);
await keys.keyboard.press('Enter');
await keys.waitForSelector('#state[data-state="live"]');
const typed = chat('main', 'touch keys.txt');
await keys.locator('.question').waitFor();
const reach = async (what, fits) => {
  for (let at = 0; at < 40; at += 1) {
    await keys.keyboard.press('Tab');
    if (await keys.evaluate(fits)) {
      assert.notEqual(await keys.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'none', what + ': focus can be seen');
      return;
    }
  }
  assert.fail('no key leads to ' + what);
};
await reach('the answer', () => document.activeElement.textContent === 'Yes, once');
await keys.keyboard.press('Enter');
await keys.locator('.question').waitFor({state: 'detached'});
await typed;
await reach('the filter', () => document.activeElement.id === 'verdict');
await keys.keyboard.type('ref');
await until('refusals alone', async () => [...new Set(await keys.locator('#stream .badge').allTextContents())].join() === 'refused');
await reach('a row', () => document.activeElement.tagName === 'SUMMARY');
await keys.keyboard.press('Enter');
assert.ok(await keys.evaluate(() => document.activeElement.parentElement.open));

for (const bad of everything) assert.deepEqual(bad, []);
await browser.close();
console.log('ok');
