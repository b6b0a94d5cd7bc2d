// A client of the official TypeScript SDK, made visible to `wirefence gate --client`.
//
//     npm install @modelcontextprotocol/sdk
//     wirefence gate --client -- node examples/gate-client/typescript_sdk_client.mjs
import { appendFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const { WIREFENCE_SERVER, WIREFENCE_ACTIONS, WIREFENCE_RESULTS } = process.env;
const client = new Client({ name: 'example', version: '1' });
await client.connect(new StdioClientTransport({ command: WIREFENCE_SERVER }));
for (const action of WIREFENCE_ACTIONS.split(' ')) {
  let told;
  try {
    const result = await client.callTool({ name: 'record', arguments: { action } });
    told = { action, result: result.content[0].text };
  } catch (error) {
    told = { action, error: String(error) };
  }
  appendFileSync(WIREFENCE_RESULTS, `${JSON.stringify(told)}\n`);
}
await client.close();
