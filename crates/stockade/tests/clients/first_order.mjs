// Orders a mug in the demo shop with the public TypeScript MCP client, and shows each call with its reply.
// usage: first_order.mjs MODULES COMMAND [ARGUMENT ...]
import { pathToFileURL } from 'node:url';

const [modules, command, ...args] = process.argv.slice(2);
/** @param {string} path */
const sdk = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/client/${path}`).href);
const { Client } = await sdk('index.js');
const { StdioClientTransport } = await sdk('stdio.js');

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
await client.connect(new StdioClientTransport({ command, args, env: Object.fromEntries(Object.entries(process.env)) }));
for (const [name, input] of calls) {
  console.log(`> ${name} ${JSON.stringify(input)}`);
  const result = await client.callTool({ name, arguments: input });
  console.log(result.content[0].text.trim());
  if (result.isError) process.exit(1);
}
await client.close();
