// The official TypeScript SDK with one tool that appends its argument to a file:
// `node recorder.mjs NODE_FOLDER FOLDER`; the SDK is taken from NODE_FOLDER/node_modules.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const installed = createRequire(path.resolve(process.argv[2], "package.json"));
const { McpServer } = installed("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = installed("@modelcontextprotocol/sdk/server/stdio.js");
const { z } = installed("zod");

const folder = process.argv[3];
fs.mkdirSync(folder, { recursive: true });
const server = new McpServer({ name: "recorder", version: "1" });
const tool = { description: "Append a line", inputSchema: { action: z.string() } };
server.registerTool("record", tool, async ({ action }) => {
  fs.appendFileSync(path.join(folder, "acts"), `${action}\n`);
  return { content: [{ type: "text", text: action }] };
});
server.connect(new StdioServerTransport());
