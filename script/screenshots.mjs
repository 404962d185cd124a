// Makes the pictures in docs/images with the program and a headless Chromium.
//   help      help.png, and help.txt beside it: the text that it was made from, which a test compares
//   replay    replay.png: the replay of a session in the demo shop
//   console   console.png and console-phone.png: an order that waits for an approval, at 1280 and at 390 pixels
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
const wanted = names.length ? names : ['help', 'replay', 'console'];

const folder = mkdtempSync('/var/tmp/stockade-screenshots-');
chmodSync(folder, 0o755);
mkdirSync(`${folder}/home`);
mkdirSync(`${folder}/profile`);
const environment = { PATH: process.env.PATH, HOME: `${folder}/home`, STOCKADE_RUNTIME_DIR: `${folder}/run`, LANG: 'C.UTF-8' };

/** @param {string[]} args */
const stockade = (...args) => execFileSync(program, args, { env: environment, encoding: 'utf8', cwd: folder });

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
   * Takes a picture of this width; of the whole page, or of its top.
   * @param {string} name
   * @param {number} width
   * @param {number} [height]
   * @param {Record<string, unknown>} [device]
   */
  async shoot(name, width, height, device = {}) {
    const metrics = { width, height: height ?? 800, deviceScaleFactor: 1, mobile: false, ...device };
    await this.send('Emulation.setDeviceMetricsOverride', metrics);
    await sleep(300);
    const all = await this.evaluate('Math.ceil(document.documentElement.getBoundingClientRect().height)');
    await this.send('Emulation.setDeviceMetricsOverride', { ...metrics, height: height ?? all });
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

/** Serves the demo shop for an agent, with an operator; what ends it. */
async function serve() {
  const flags = ['serve', '--demo', '--listen', '127.0.0.1:0', '--json'];
  const server = spawn(program, flags, { env: environment, cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  /** @type {string} */
  const line = await new Promise((done, failed) => {
    server.stdout.once('data', (data) => done(String(data)));
    server.once('exit', (code) => failed(new Error(`stockade serve ended with ${code}`)));
  });
  return { server, banner: JSON.parse(line).data };
}

/** Fills in an order, up to the button that places it. */
function fillOrder() {
  stockade('session', 'start', 'mug', '--record', 'audit');
  stockade('page', 'goto', 'mug', 'http://shop.test/');
  stockade('page', 'type', 'mug', 'mug', '--role', 'searchbox', '--name', 'Search the shop', '--submit');
  stockade('page', 'click', 'mug', '--role', 'link', '--name', 'Order Stoneware mug');
  stockade('page', 'type', 'mug', 'Ada Lovelace', '--role', 'textbox', '--name', 'Name');
  stockade('page', 'type', 'mug', '12 St James Square, London', '--role', 'textbox', '--name', 'Address');
}

/** @param {Page} page */
async function makeReplay(page) {
  const { server } = await serve();
  try {
    fillOrder();
    const closed = JSON.parse(stockade('session', 'show', 'mug', '--json')).data;
    const id = (closed.session ?? closed).session_id ?? (closed.session ?? closed).id;
    stockade('session', 'close', 'mug');
    stockade('session', 'replay', id, '--output', `${folder}/replay.html`);
    chmodSync(`${folder}/replay.html`, 0o644);
  } finally {
    server.kill();
  }
  await page.open(`file://${folder}/replay.html`);
  await page.shoot('replay.png', 1280, 1400);
}

/** @param {Page} page */
async function makeConsole(page) {
  const password = 'correct horse battery';
  execFileSync(program, ['operator', 'password', '--password-stdin'], { env: environment, input: `${password}\n` });
  const { server, banner } = await serve();
  try {
    fillOrder();
    await page.open(banner.console);
    await page.until(`document.querySelector('input[type=password]') !== null`);
    await page.evaluate(`document.querySelector('input[type=password]').value = ${JSON.stringify(password)};
      document.querySelector('input[type=password]').form.requestSubmit()`);
    await page.until(`document.title.includes('Console')`);
    const waits = spawn(program, ['page', 'click', 'mug', '--role', 'button', '--name', 'Place order'],
      { env: environment, stdio: 'ignore' });
    await page.until(`document.querySelector('.card[data-state=waiting]') !== null`);
    await page.shoot('console.png', 1280, 690);
    await page.shoot('console-phone.png', 390, undefined, { mobile: true, deviceScaleFactor: 2 });
    waits.kill();
  } finally {
    server.kill();
  }
}

const { browser, page } = await startBrowser();
try {
  for (const name of wanted) {
    if (name === 'help') await makeHelp(page);
    else if (name === 'replay') await makeReplay(page);
    else if (name === 'console') await makeConsole(page);
    else throw new Error(`there is no ${name}; there are help, replay and console`);
  }
} finally {
  browser.kill();
  await sleep(300);
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
