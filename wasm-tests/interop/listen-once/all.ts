import { agents } from './agents.ts';
import type { Connect } from './client.ts';
import { python } from './python.ts';
import { rmcp } from './rmcp.ts';
import { typescript } from './typescript.ts';

/** The official clients, none of which listens again when its stream has ended. */
export const CLIENTS: Record<string, Connect> = {
  "the TypeScript SDK's client with listChanged": typescript,
  "the Agents SDK's client": agents,
  "the Python SDK's client": python,
  "the Rust SDK's client (rmcp)": rmcp,
};
