import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { programs } from '../../host/snippets.ts';

const FOLDER = join(root, 'examples', 'frameworks');

test.each([
  ['serverless.md', 'ts', ['publish.ts', 'mcp-handler/route.ts', 'lambda/handler.ts']],
  ['frameworks.md', 'ts', ['hono-mcp/server.ts']],
  ['frameworks.md', 'python', ['python/sdk_server.py', 'python/fastmcp_server.py']],
])('docs/%s shows a part of each of its examples in %s', async (page, language, files) => {
  const shown = await programs(language, page);
  const sources = await Promise.all(files.map((file) => readFile(join(FOLDER, file), 'utf8')));
  expect(shown).toHaveLength(files.length);
  for (const [index, source] of sources.entries()) expect(source).toContain(shown[index]);
});

test('the examples type-check', async () => {
  await promisify(execFile)('tsc', ['-p', FOLDER]);
});
