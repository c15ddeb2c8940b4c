import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../process/project.mjs';

/** @typedef {{ binding: string, className: string }} DurableObject */

/**
 * Returns the configuration of the Worker from wrangler.toml.
 * @returns {Promise<{ durableObjects: DurableObject[], compatibilityDate: string,
 *   compatibilityFlags: string[] }>}
 */
export async function workerConfig() {
  const toml = await readFile(join(root, 'wrangler.toml'), 'utf8');
  return {
    durableObjects: [...toml.matchAll(binding)].map(([, name = '', className = '']) => ({
      binding: name,
      className,
    })),
    compatibilityDate: toml.match(/^compatibility_date = "(.+)"/m)?.[1] ?? '',
    compatibilityFlags: JSON.parse(toml.match(/^compatibility_flags = (\[.*\])/m)?.[1] ?? '[]'),
  };
}

const binding = /^\[\[durable_objects\.bindings\]\]\nname = "(.+)"\nclass_name = "(.+)"/gm;
