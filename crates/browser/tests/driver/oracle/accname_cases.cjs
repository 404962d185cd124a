// Prints the accname package's test cases as JSON: [page, expected name of its element #test].
// The package's tests are run with stand-ins that write down what would be rendered and expected.
'use strict';
/** @type {any} */
const Module = require('node:module');
const path = require('node:path');

const dist = path.join(process.argv[2], 'dist');
/** @type {[string, string][]} */
const cases = [];
// Tests that need a real document around them; there are two.
/** @type {string[]} */
const skipped = [];
/** @type {Promise<unknown>[]} */
const attempts = [];
let rendered = '';

const element = { appendChild() {}, removeChild() {}, childNodes: [{}] };
const lit = {
  /** @param {string[]} strings @param {unknown[]} values */
  html: (strings, ...values) => String.raw({ raw: strings }, ...values),
  /** @param {string} page */
  render: (page) => { rendered = page; },
};
const load = Module._load;
/** @param {string} request @param {unknown} parent @param {boolean} isMain */
Module._load = (request, parent, isMain) => {
  if (request === 'lit') return lit;
  if (request === '../testing/custom_matchers') return { customMatchers: {} };
  if (request === './compute_text_alternative') return { computeTextAlternative: () => ({}) };
  return load(request, parent, isMain);
};

/** @param {string} page @param {string} name */
const named = (page, name) => { if (page.includes('id="test"')) cases.push([page, name]); };
Object.assign(globalThis, {
  document: {
    createElement: () => element, body: element, getElementById: () => element,
  },
  jasmine: { addMatchers() {} },
  /** @param {string} _ @param {() => void} body */
  describe: (_, body) => body(),
  beforeAll: () => {},
  beforeEach: () => {},
  afterEach: () => {},
  /** @param {string} _ @param {() => unknown} body */
  it: (_, body) => attempts.push((async () => body())().catch((error) => skipped.push(error.message))),
  /** @param {unknown} given */
  expect: (given) => ({
    /** @param {string} name */
    toHaveTextAlernative: (name) => named(typeof given === 'string' ? given : rendered, name),
    /** @param {{ name?: string }} expected */
    toEqual: ({ name }) => { if (name !== undefined) named(rendered, name); },
    toBe: () => {},
  }),
});
require(path.join(dist, 'lib', 'compute_text_alternative_test.js'));

for (const { htmlInput, expectedName } of require(path.join(dist, 'testing', 'wpt_testdata.js')).WPT_TEST_CASES) {
  named(htmlInput, expectedName);
}
Promise.all(attempts).then(() => process.stdout.write(JSON.stringify({ cases, skipped })));
