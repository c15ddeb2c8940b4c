import type { ComponentHost, Play, Played } from './host.ts';
import { type Core, type CoreResponse, type Exchange, type Field, nodeCore } from './node-core.ts';

/** The component in this process, as JavaScript and WebAssembly of jco. */
export async function nodeHost(): Promise<ComponentHost> {
  const core = await nodeCore();
  return { play: async (play) => played(core, play), close() {} };
}

function played(core: Core, play: Play): Played {
  const service = core.exchange.Service.create({
    origins: play.origins,
    hosts: play.hosts ?? undefined,
    limits: play.limits ?? undefined,
    holdsStreams: true,
    legacy: play.legacy,
  });
  const exchange = service.begin(play.method, play.url, play.headers, true);
  for (;;) {
    const step = exchange.poll();
    if (step.tag === 'respond') return responded(exchange, step.val);
    if (step.tag === 'pass') return { status: null, headers: exchange.fields(), text: '' };
    if (step.tag === 'listen') return opened(core, exchange, play.capabilities);
    if (step.tag === 'body')
      exchange.handleBody(Buffer.from(play.body, 'base64').subarray(0, step.val + 1));
    else if (isRefusal(play.caller))
      return responded(exchange, exchange.refuse(play.caller.refused));
    else exchange.handleCaller(play.caller ?? undefined);
  }
}

type Caller = Play['caller'];

function isRefusal(caller: Caller): caller is Extract<Caller, object> {
  return typeof caller === 'object' && caller !== null;
}

function responded(exchange: Exchange, { body, status }: CoreResponse): Played {
  const type: Field[] = body === undefined ? [] : [['content-type', 'application/json']];
  return { status, headers: [...exchange.fields(), ...type], text: body ?? '' };
}

function opened(core: Core, exchange: Exchange, capabilities: string): Played {
  const discovered = core.exchange.Discovered.declared(capabilities, undefined);
  const options = { allowed: undefined, scope: undefined, keepAlive: 15_000n };
  const stream = exchange.open(discovered, options, 0n);
  const fanout = new core.fanout.Fanout();
  const hold = { stallAfter: 0n, authorizationTtl: 0n, retiresAt: undefined, expiresAt: undefined };
  const id = fanout.open(stream, hold, 0n);
  const text = fanout.poll(id, 0n) ?? '';
  fanout.remove(id);
  return { status: 200, headers: exchange.fields(), text };
}
