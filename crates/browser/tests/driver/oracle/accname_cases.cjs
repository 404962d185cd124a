// Prints the accname package's test cases as JSON: [page, expected name of its element #test].
// The package's tests are run with stand-ins that write down what would be rendered and expected.
'use strict';
const Module = require('node:module');
const path = require('node:path');

const dist = path.join(process.argv[2], 'dist');
const cases = [];
// Tests that need a real document around them; there are two.
const skipped = [];
const attempts = [];
let rendered = '';

const element = { appendChild() {}, removeChild() {}, childNodes: [{}] };
const lit = {
  html: (strings, ...values) => String.raw({ raw: strings }, ...values),
  render: (page) => { rendered = page; },
};
const load = Module._load;
Module._load = (request, parent, isMain) => {
  if (request === 'lit') return lit;
  if (request === '../testing/custom_matchers') return { customMatchers: {} };
  if (request === './compute_text_alternative') return { computeTextAlternative: () => ({}) };
  return load(request, parent, isMain);
};

const named = (page, name) => { if (page.includes('id="test"')) cases.push([page, name]); };
Object.assign(globalThis, {
  document: {
    createElement: () => element, body: element, getElementById: () => element,
  },
  jasmine: { addMatchers() {} },
  describe: (_, body) => body(),
  beforeAll: () => {},
  beforeEach: () => {},
  afterEach: () => {},
  it: (_, body) => attempts.push((async () => body())().catch((error) => skipped.push(error.message))),
  expect: (given) => ({
    toHaveTextAlernative: (name) => named(typeof given === 'string' ? given : rendered, name),
    toEqual: ({ name }) => { if (name !== undefined) named(rendered, name); },
    toBe: () => {},
  }),
});
require(path.join(dist, 'lib', 'compute_text_alternative_test.js'));

for (const { htmlInput, expectedName } of require(path.join(dist, 'testing', 'wpt_testdata.js')).WPT_TEST_CASES) {
  named(htmlInput, expectedName);
}
Promise.all(attempts).then(() => process.stdout.write(JSON.stringify({ cases, skipped })));
