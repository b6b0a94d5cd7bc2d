// The official TypeScript SDK with one tool: `node sdk.mjs FOLDER` makes a file for each call.
import fs from "node:fs";
import path from "node:path";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "recorder", version: "1" });
const inputSchema = { action: z.string() };
server.registerTool("record", { description: "Make a file", inputSchema }, async ({ action }) => {
  fs.writeFileSync(path.join(process.argv[2], action.replaceAll("/", "_")), "acted");
  return { content: [{ type: "text", text: action }] };
});
await server.connect(new StdioServerTransport());
