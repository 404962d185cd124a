// Orders a mug in the demo shop with the public TypeScript MCP client, and shows each call with its reply.
// usage: first_order.mjs MODULES CONFIGURATION
// The configuration is a file such as Claude Desktop's, with a server to start. A call that fails waits for a line on
// standard input and is then repeated once.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { pathToFileURL } from 'node:url';

const [modules, file] = process.argv.slice(2);
/** @param {string} path */
const sdk = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/client/${path}`).href);
const { Client } = await sdk('index.js');
const { StdioClientTransport } = await sdk('stdio.js');
const { command, args, env } = JSON.parse(readFileSync(file, 'utf8')).mcpServers.stockade;

/** @type {[string, Record<string, string>][]} */
const calls = [
  ['browser_navigate', { url: 'http://shop.test/' }],
  ['browser_click', { role: 'link', name: 'Stoneware mug' }],
  ['browser_click', { role: 'link', name: 'Order this' }],
  ['browser_type', { role: 'textbox', name: 'Name', text: 'Grace Hopper' }],
  ['browser_type', { role: 'textbox', name: 'Address', text: '7 Compiler Street, Arlington' }],
  ['browser_click', { role: 'button', name: 'Place order' }],
  ['browser_close_session', {}],
];

const client = new Client({ name: 'first-order', version: '1.0.0' });
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/**
 * @param {string} name
 * @param {Record<string, string>} parameters
 */
async function call(name, parameters) {
  console.log(`> ${name} ${JSON.stringify(parameters)}`);
  const result = await client.callTool({ name, arguments: parameters });
  console.log(result.content[0].text.trim());
  const { code, cause, retryable } = result.structuredContent.error ?? {};
  if (result.isError) console.log(`Structured: ${JSON.stringify({ code, cause, retryable })}`);
  return !result.isError;
}

await client.connect(new StdioClientTransport({ command, args, env }));
for (const [name, parameters] of calls) {
  if (await call(name, parameters)) continue;
  console.log('? waiting for a line');
  if ((await input.next()).done || !(await call(name, parameters))) process.exit(1);
}
await client.close();
process.exit(0);
