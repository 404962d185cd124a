// Calls a tool before and after a restart of the server, with the public TypeScript MCP client.
// usage: restart.mjs MODULES URL KEY      says `ready`, then waits for the end of its input
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';

const [modules, url, key] = process.argv.slice(2);
/** @param {string} path */
const sdk = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/client/${path}`).href);
const { Client } = await sdk('index.js');
const { StreamableHTTPClientTransport } = await sdk('streamableHttp.js');

const connect = async () => {
  const client = new Client({ name: 'stockade-test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }));
  return client;
};

const client = await connect();
const opened = await client.callTool({ name: 'browser_open_session', arguments: {} });
const { session_id } = opened.structuredContent;
console.log('ready');
process.stdin.resume();
await once(process.stdin, 'end');
try {
  await client.callTool({ name: 'browser_read', arguments: { session_id } });
} catch (error) {
  console.log(String(error).replaceAll('\n', ' '));
}
const again = await connect();
const late = await again.callTool({ name: 'browser_read', arguments: { session_id } });
console.log(late.structuredContent.error.code);
process.exit(0);
