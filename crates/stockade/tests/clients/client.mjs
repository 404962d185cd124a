// Takes the demo shop from open to click to close with the public TypeScript MCP client.
// usage: client.mjs MODULES stdio COMMAND [ARGUMENT ...]
//        client.mjs MODULES http URL KEY
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

const [modules, transportName, ...rest] = process.argv.slice(2);
/** @param {string} path */
const sdk = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/client/${path}`).href);
const { Client } = await sdk('index.js');
const { StdioClientTransport } = await sdk('stdio.js');
const { StreamableHTTPClientTransport } = await sdk('streamableHttp.js');

const transport = transportName === 'stdio'
  ? new StdioClientTransport({ command: rest[0], args: rest.slice(1) })
  : new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${rest[1]}` } } });
const client = new Client({ name: 'stockade-test', version: '1.0.0' });
await client.connect(transport);

/** @param {string} name @param {object} args */
const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, result.content[0].text);
  return result.structuredContent;
};

// Listing the tools also makes the client check every later reply against its output schema.
const { tools } = await client.listTools();
assert.ok(tools.length >= 7);
for (const tool of tools) assert.ok(tool.description && tool.inputSchema && tool.outputSchema && tool.annotations, tool.name);

const { session_id } = await call('browser_open_session', { session_name: 'typescript', record: 'transient' });
const shop = await call('browser_navigate', { session_id, url: 'http://shop.test/' });
assert.equal(shop.url, 'http://shop.test/');
const found = await call('browser_type', { session_id: 'typescript', role: 'searchbox', text: 'lamp', submit: true });
assert.match(found.url, /q=lamp/);
const stock = await call('browser_click', { session_id, role: 'link', name: 'Stock' });
assert.match(stock.url, /\/stock$/);
const read = await call('browser_read', { session_id, format: 'markdown' });
assert.ok(read.text_content.includes('#'));
const picture = await client.callTool({ name: 'browser_screenshot', arguments: { session_id, format: 'webp' } });
assert.ok(picture.content.some((/** @type {{ type: string, mimeType?: string }} */ block) => block.type === 'image' && block.mimeType === 'image/webp'));
const refused = await client.callTool({ name: 'browser_click', arguments: { session_id, role: 'button', name: 'No such button' } });
assert.ok(refused.isError);
assert.equal(refused.structuredContent.error.code, 'element_not_found');
await assert.rejects(client.callTool({ name: 'browser_fly', arguments: {} }), /unknown_tool/);
const closed = await call('browser_close_session', { session_id });
assert.ok(closed.closed_at);
await client.close();
console.log('ok');
