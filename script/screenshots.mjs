// Makes the pictures in docs/images with the program and a headless Chromium.
//   help      help.png, and help.txt beside it: the text that it was made from, which a test compares
//   replay    replay.png: the replay of a session in the demo shop
//   console   console.png and console-phone.png: an order that waits for an approval, at 1280 and at 390 pixels
//   effect    the same in a signed-in session: effect.png and effect-phone.png, a request that is held; paused.png and
//             paused-phone.png, a session that waits for guidance; history.png and history-phone.png, the answers
// Without names, all of them. --program names another build than target/release/stockade. Look at what it makes.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const IMAGES = 'docs/images';
const CHROMIUM = '/usr/lib/chromium/chromium-headless-shell';
const NOBODY = 65534;

const names = process.argv.slice(2);
const given = names.indexOf('--program');
const program = resolve(given < 0 ? 'target/release/stockade' : names.splice(given, 2)[1]);
const wanted = names.length ? names : ['help', 'replay', 'console', 'effect'];

const folder = mkdtempSync('/var/tmp/stockade-screenshots-');
chmodSync(folder, 0o755);
mkdirSync(`${folder}/home`);
mkdirSync(`${folder}/profile`);
const environment = { PATH: process.env.PATH, HOME: `${folder}/home`, STOCKADE_RUNTIME_DIR: `${folder}/run`, LANG: 'C.UTF-8' };

const PASSWORD = 'correct horse battery';
const PHONE = { mobile: true, deviceScaleFactor: 2 };

/** @param {string[]} args */
const stockade = (...args) => execFileSync(program, args, { env: environment, encoding: 'utf8', cwd: folder });

/**
 * @param {string} input
 * @param {string[]} args
 */
const feed = (input, ...args) => execFileSync(program, args, { env: environment, encoding: 'utf8', cwd: folder, input });

/** A page of Chromium's, driven over the DevTools protocol. */
class Page {
  /** @param {WebSocket} socket */
  constructor(socket) {
    this.socket = socket;
    this.next = 1;
    /** @type {Map<number, (reply: any) => void>} */
    this.waiting = new Map();
    socket.onmessage = ({ data }) => {
      const reply = JSON.parse(data);
      this.waiting.get(reply.id)?.(reply);
    };
  }

  /**
   * @param {string} method
   * @param {Record<string, unknown>} parameters
   */
  async send(method, parameters = {}) {
    const id = this.next++;
    this.socket.send(JSON.stringify({ id, method, params: parameters }));
    /** @type {any} */
    const reply = await new Promise((done) => { this.waiting.set(id, done); });
    if (reply.error) throw new Error(`${method}: ${reply.error.message}`);
    return reply.result;
  }

  /** @param {string} expression */
  async evaluate(expression) {
    const reply = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    return reply.result.value;
  }

  /** @param {string} expression */
  async until(expression) {
    for (let attempt = 0; attempt < 300; attempt++) {
      if (await this.evaluate(expression)) return;
      await sleep(100);
    }
    throw new Error(`waited for ${expression}`);
  }

  /** @param {string} url */
  async open(url) {
    await this.send('Page.navigate', { url });
    await this.until(`document.readyState === 'complete' && location.href !== 'about:blank'`);
  }

  /**
   * Takes a picture of this width; of the whole page, of its top, or down to the end of an element.
   * @param {string} name
   * @param {number} width
   * @param {number | string} [until] Pixels, or a selector
   * @param {Record<string, unknown>} [device]
   */
  async shoot(name, width, until = 'html', device = {}) {
    const metrics = { width, height: 800, deviceScaleFactor: 1, mobile: false, ...device };
    await this.send('Emulation.setDeviceMetricsOverride', metrics);
    await this.evaluate('scrollTo(0, 0)');
    await sleep(300);
    const height = typeof until === 'number' ? until : await this.evaluate(
      `Math.ceil(document.querySelector(${JSON.stringify(until)}).getBoundingClientRect().bottom) + ${until === 'html' ? 0 : 24}`);
    await this.send('Emulation.setDeviceMetricsOverride', { ...metrics, height });
    await sleep(300);
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
    writeFileSync(`${IMAGES}/${name}`, Buffer.from(data, 'base64'));
    console.log(`${IMAGES}/${name}`);
  }
}

/** Chromium with its sandbox on, which it refuses to root: as nobody then. */
async function startBrowser() {
  const root = process.getuid?.() === 0;
  if (root) chownSync(`${folder}/profile`, NOBODY, NOBODY);
  const flags = ['--remote-debugging-port=0', `--user-data-dir=${folder}/profile`, '--hide-scrollbars', '--no-first-run', 'about:blank'];
  const browser = spawn(CHROMIUM, flags, {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, HOME: `${folder}/profile` },
    ...(root ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      const port = readFileSync(`${folder}/profile/DevToolsActivePort`, 'utf8').split('\n')[0];
      const targets = /** @type {any[]} */ (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json());
      const socket = new WebSocket(targets.find(({ type }) => type === 'page').webSocketDebuggerUrl);
      await new Promise((done) => { socket.onopen = done; });
      return { browser, page: new Page(socket) };
    } catch {
      await sleep(100);
    }
  }
  throw new Error(`${CHROMIUM} did not start`);
}

/**
 * Text with the two styles that the help has, bold and underlined.
 * @param {string} text
 */
function renderTerminal(text) {
  const escape = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const escapeCode = String.fromCharCode(27);
  const parts = escape.split(`${escapeCode}[`);
  let style = '';
  const spans = parts.map((part, index) => {
    if (index === 0) return part;
    const end = part.indexOf('m');
    for (const code of part.slice(0, end).split(';')) {
      if (code === '0' || code === '') style = '';
      if (code === '1') style += 'font-weight:bold;';
      if (code === '4') style += 'text-decoration:underline;';
    }
    return `<span style="${style}">${part.slice(end + 1)}</span>`;
  });
  return `<!doctype html><meta charset=utf-8><style>
    body { margin: 0; background: #1e1f24; color: #e8e6e3; }
    pre { margin: 0; padding: 18px 22px; font: 15px/1.35 "DejaVu Sans Mono", "Liberation Mono", monospace; }
    </style><pre>${spans.join('')}</pre>`;
}

/** @param {Page} page */
async function makeHelp(page) {
  const columns = { ...environment, COLUMNS: '80' };
  writeFileSync(`${IMAGES}/help.txt`, execFileSync(program, ['--help'], { env: columns, encoding: 'utf8' }));
  // On a terminal it has styles.
  const styled = execFileSync('script', ['-qec', `stty cols 80; '${program}' --help`, '/dev/null'],
    { env: { ...columns, TERM: 'xterm' }, encoding: 'utf8' }).replaceAll('\r\n', '\n');
  writeFileSync(`${folder}/help.html`, renderTerminal(`$ stockade --help\n${styled.trimEnd()}`));
  await page.open(`file://${folder}/help.html`);
  await page.shoot('help.png', 780);
}

/**
 * Starts a command that goes on, and reads what it says first.
 * @param {string[]} args
 */
async function start(...args) {
  const process = spawn(program, [...args, '--json'], { env: environment, cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  const said = await new Promise((done, failed) => {
    process.stdout.on('data', (data) => {
      text += String(data);
      // It comes in pieces.
      try {
        done(JSON.parse(text).data);
      } catch {
        return;
      }
    });
    process.once('exit', (code) => failed(new Error(`stockade ${args[0]} ended with ${code}`)));
  });
  return { process, said };
}

/**
 * Ends a process and waits for that: the next server takes the same state folder.
 * @param {import('node:child_process').ChildProcess} process
 */
async function stop(process) {
  if (process.exitCode !== null) return;
  const ended = new Promise((done) => { process.once('exit', done); });
  process.kill();
  await ended;
}

/** @param {string[]} args */
const serve = (...args) => start('serve', '--listen', '127.0.0.1:0', ...args);

let hasOperator = false;

/** The operator's password, set once. */
function setPassword() {
  if (!hasOperator) feed(`${PASSWORD}\n`, 'operator', 'password', '--password-stdin');
  hasOperator = true;
}

/**
 * Opens the console, and logs in unless that was done before.
 * @param {Page} page
 * @param {string} address
 */
async function openConsole(page, address) {
  const field = `document.querySelector('input[type=password]')`;
  await page.open(address);
  await page.until(`${field} !== null || document.title.includes('Console')`);
  await page.evaluate(`if (${field}) { ${field}.value = ${JSON.stringify(PASSWORD)}; ${field}.form.requestSubmit(); }`);
  await page.until(`document.title.includes('Console')`);
}

/** Fills in an order, up to the button that places it. */
function fillOrder() {
  stockade('page', 'goto', 'mug', 'http://shop.test/');
  stockade('page', 'type', 'mug', 'mug', '--role', 'searchbox', '--name', 'Search the shop', '--submit');
  stockade('page', 'click', 'mug', '--role', 'link', '--name', 'Order Stoneware mug');
  stockade('page', 'type', 'mug', 'Ada Lovelace', '--role', 'textbox', '--name', 'Name');
  stockade('page', 'type', 'mug', '12 St James Square, London', '--role', 'textbox', '--name', 'Address');
}

/** @param {Page} page */
async function makeReplay(page) {
  const { process: server } = await serve('--demo');
  try {
    stockade('session', 'start', 'mug', '--record', 'audit');
    fillOrder();
    const closed = JSON.parse(stockade('session', 'show', 'mug', '--json')).data;
    const id = (closed.session ?? closed).session_id ?? (closed.session ?? closed).id;
    stockade('session', 'close', 'mug');
    stockade('session', 'replay', id, '--output', `${folder}/replay.html`);
    chmodSync(`${folder}/replay.html`, 0o644);
  } finally {
    await stop(server);
  }
  await page.open(`file://${folder}/replay.html`);
  await page.shoot('replay.png', 1280, 1400);
}

const WAITING = `document.querySelector('.card[data-state=waiting]')`;

/** Presses the button that places the order. It waits for the answer. */
function placeOrder() {
  const args = ['page', 'click', 'mug', '--role', 'button', '--name', 'Place order'];
  const waits = spawn(program, args, { env: environment, stdio: 'ignore' });
  return { waits, ended: new Promise((done) => { waits.once('exit', done); }) };
}

/** @param {Page} page */
async function makeConsole(page) {
  setPassword();
  const { process: server, said: { console: address } } = await serve('--demo');
  try {
    stockade('session', 'start', 'mug', '--record', 'audit');
    fillOrder();
    await openConsole(page, address);
    const { waits } = placeOrder();
    await page.until(`${WAITING} !== null`);
    await page.shoot('console.png', 1280, 690);
    await page.shoot('console-phone.png', 390, '.card', PHONE);
    waits.kill();
  } finally {
    await stop(server);
  }
}

/**
 * Stores the login of the shop's one customer.
 * @param {string} shop
 */
async function storeLogin(shop) {
  const form = new URLSearchParams({ email: 'mara@shop.test', password: 'orchard-in-june' });
  const reply = await fetch(new URL('/login', shop), { method: 'POST', body: form, redirect: 'manual' });
  const [name, value] = (reply.headers.get('set-cookie') ?? '').split(';')[0].split('=');
  const cookies = [{ name, value, httpOnly: true }];
  feed(JSON.stringify({ domain: 'shop.test', origin: 'http://shop.test', cookies }), 'credential', 'put');
}

/** Answers the request that waits. @param {Page} page @param {string[]} args */
async function answer(page, ...[verb, ...flags]) {
  const id = await page.evaluate(`${WAITING}.id`);
  feed(`${PASSWORD}\n`, verb, id, ...flags, '--password-stdin');
  await page.until(`${WAITING} === null`);
}

/** @param {Page} page */
async function makeEffect(page) {
  setPassword();
  const { process: shop, said: { url } } = await start('demo');
  const config = `${folder}/shop.yaml`;
  writeFileSync(config, `security: {browser: {egress: {hosts: {shop.test: "${new URL(url).host}"}},
    hitl: {approval_timeout: 120, failures_before_pause: 3}}}`);
  const { process: server, said: { console: address } } = await serve('--config', config);
  try {
    await storeLogin(url);
    const token = feed(`${PASSWORD}\n`, 'grant', 'issue', '--host', 'shop.test', '--password-stdin');
    feed(token, 'session', 'start', 'mug', '--signed-in');
    fillOrder();
    await openConsole(page, address);
    const approved = placeOrder();
    await page.until(`${WAITING} !== null`);
    await page.shoot('effect.png', 1280, '.card');
    await page.shoot('effect-phone.png', 390, '.card', PHONE);
    await answer(page, 'approve', '--irreversible');
    await approved.ended;
    fillOrder();
    const denied = placeOrder();
    await page.until(`${WAITING} !== null`);
    await answer(page, 'deny', '--note', 'one is enough');
    await denied.ended;
    for (let failure = 0; failure < 3; failure++) {
      try {
        execFileSync(program, ['page', 'click', 'mug', '--role', 'button', '--name', 'Track parcel'],
          { env: environment, stdio: 'ignore' });
      } catch {
        // There is no such button.
      }
    }
    await page.until(`${WAITING} !== null`);
    await page.shoot('paused.png', 1280, '.card');
    await page.shoot('paused-phone.png', 390, '.card', PHONE);
    await answer(page, 'resume', '--note', 'The number is on the receipt.');
    await page.shoot('history.png', 1280, '.past');
    await page.shoot('history-phone.png', 390, '.past', PHONE);
  } finally {
    await stop(server);
    await stop(shop);
  }
}

const { browser, page } = await startBrowser();
try {
  for (const name of wanted) {
    if (name === 'help') await makeHelp(page);
    else if (name === 'replay') await makeReplay(page);
    else if (name === 'console') await makeConsole(page);
    else if (name === 'effect') await makeEffect(page);
    else throw new Error(`there is no ${name}; there are help, replay, console and effect`);
  }
} finally {
  await stop(browser);
  // Its helpers may write for a moment longer.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}
process.exit(0);
