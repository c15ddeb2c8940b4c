/** The files of a Worker as `npm create cloudflare` creates it, by their paths. */
export type Files = Record<string, string>;

/** A new Worker in one language, with its configuration in one form. */
export function freshWorker(language: 'ts' | 'js', config: 'jsonc' | 'toml'): Files {
  const main = `src/index.${language}`;
  return {
    'package.json': MANIFEST,
    [main]: language === 'ts' ? TYPESCRIPT : JAVASCRIPT,
    [`wrangler.${config}`]: config === 'toml' ? toml(main) : jsonc(main),
  };
}

/** The new Worker, with a server instead of its greeting. */
export function wired(entry: string): string {
  const served = entry.replace(
    /return new Response\('Hello World!'\);/,
    'return respond(request, env);',
  );
  if (served === entry) throw new Error('the Worker does not say hello');
  return `${SERVER}\n${served}`;
}

const MANIFEST = `{
	"name": "fresh",
	"version": "0.0.0",
	"private": true,
	"scripts": {
		"deploy": "wrangler deploy",
		"dev": "wrangler dev"
	},
	"devDependencies": {
		"wrangler": "^4.164.0"
	}
}
`;

const TYPESCRIPT = `/**
 * Welcome to Cloudflare Workers! This is your first worker.
 *
 * - Run \`npm run dev\` in your terminal to start a development server
 */

export default {
	async fetch(request, env, ctx): Promise<Response> {
		return new Response('Hello World!');
	},
} satisfies ExportedHandler<Env>;
`;

const JAVASCRIPT = `export default {
	async fetch(request, env, ctx) {
		return new Response('Hello World!');
	},
};
`;

const SERVER = `import { createListenHandler } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';

let server;
async function respond(request, env) {
	server ??= createListenHandler(() => new Response(null, { status: 404 }), {
		bus: durableObjectBus(env.MCP_BUS),
		server: {
			info: { name: 'tests', version: '1.0.0' },
			capabilities: { tools: { listChanged: true } },
		},
	});
	if (!request.url.endsWith('/publish')) return server.fetch(request);
	await server.notify.toolsChanged();
	return new Response(null, { status: 204 });
}
`;

function jsonc(main: string): string {
  return `/**
 * For more details on how to configure Wrangler, refer to:
 * https://developers.cloudflare.com/workers/wrangler/configuration/
 */
{
	"$schema": "node_modules/wrangler/config-schema.json",
	"name": "fresh",
	"main": "${main}",
	"compatibility_date": "2026-11-17",
	"observability": {
		"enabled": true
	}
	/**
	 * Smart Placement
	 */
	// "placement": { "mode": "smart" }
}
`;
}

function toml(main: string): string {
  return `#:schema node_modules/wrangler/config-schema.json
name = "fresh"
main = "${main}"
compatibility_date = "2026-11-17"

[observability]
enabled = true

# Smart Placement
# [placement]
# mode = "smart"
`;
}
