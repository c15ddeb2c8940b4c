import { readFile } from 'node:fs/promises';
import { initSync } from '../../pkg/mcp_listen.js';
import { modulePath } from './module.ts';

const bytes = await readFile(modulePath('server'));
const started = performance.now();
const module = new WebAssembly.Module(bytes);
const compiled = performance.now();
initSync({ module });
const instantiated = performance.now();
process.stdout.write(
  JSON.stringify({ compile: compiled - started, instantiate: instantiated - compiled }),
);
