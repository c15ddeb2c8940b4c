import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { portOf } from '../port.ts';

/** One request to the hostile server, and its response, which the test plays. */
export class Turn {
  /** The number of earlier requests. */
  readonly before: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The id of the request as raw JSON text. */
  readonly id: string;
  readonly body: string;

  constructor(before: number, request: IncomingMessage, response: ServerResponse, body: string) {
    this.before = before;
    this.request = request;
    this.response = response;
    this.body = body;
    this.id = body.match(/"id":("[^"]*"|\d+)/)?.[1] ?? '0';
  }

  /** Begins an event stream. */
  begin(): this {
    this.response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    return this;
  }

  /** Sends one event. */
  say(data: string): this {
    this.response.write(`data: ${data}\n\n`);
    return this;
  }

  /** Acknowledges the tools and the resource `note://a`. */
  acknowledge(id = this.id): this {
    return this.say(acknowledgment(id));
  }

  /** Announces that the tools changed. */
  change(id = this.id): this {
    return this.say(toolsChanged(id));
  }

  /** Ends the subscription gracefully. */
  finish(): void {
    this.say(result(this.id)).response.end();
  }

  /** Responds with the rest of a JSON-RPC message. */
  respond(rest: string, headers: Record<string, string> = {}): void {
    this.response.writeHead(200, { 'content-type': 'application/json', ...headers });
    this.response.end(`{"jsonrpc":"2.0","id":${this.id},${rest}}`);
  }

  /** Responds with a status and no body. */
  refuse(status: number, headers: Record<string, string> = {}): void {
    this.response.writeHead(status, headers).end();
  }

  /** Cuts the connection. */
  drop(): void {
    this.response.socket?.destroy();
  }
}

/** Starts a server whose requests `play` serves. */
export async function hostile(play: (turn: Turn) => unknown) {
  let count = 0;
  const server = createServer(async (request, response) => {
    const before = count;
    count += 1;
    play(new Turn(before, request, response, await text(request)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${portOf(server)}/mcp`,
    requests: () => count,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The acknowledgment of `id`. */
export function acknowledgment(id: string): string {
  const filter = '{"toolsListChanged":true,"resourceSubscriptions":["note://a"]}';
  return message('notifications/subscriptions/acknowledged', id, `,"notifications":${filter}`);
}

/** The change of the tools for `id`. */
export function toolsChanged(id: string): string {
  return message('notifications/tools/list_changed', id);
}

/** The update of a resource for `id`. */
export function updated(id: string, uri: string): string {
  return message('notifications/resources/updated', id, `,"uri":"${uri}"`);
}

function message(method: string, id: string, params = ''): string {
  const meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":${id}}`;
  return `{"jsonrpc":"2.0","method":"${method}","params":{${meta}${params}}}`;
}

/** The graceful end of `id`. */
export function result(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete"}}`;
}
