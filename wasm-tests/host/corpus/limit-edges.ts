import { listenBody } from '../listen.ts';

/** A limit on a listen request, with a request of any size. */
export interface LimitEdge {
  name: string;
  limit: number;
  /** The body of a request of this size. */
  body: (size: number) => string;
  /** The response to a request beyond the limit. */
  refusal: { status: number; code: number };
}

/** The default limits on listen requests. */
export const LIMIT_EDGES: LimitEdge[] = [
  {
    name: 'bytes of a body',
    limit: 65_536,
    body: (bytes) => {
      const body = listenBody(TOOLS);
      return body + ' '.repeat(bytes - body.length);
    },
    refusal: { status: 413, code: -32_600 },
  },
  {
    name: 'depth of a body',
    limit: 64,
    // The request and its parameters are two levels.
    body: (depth) => {
      const nested = '['.repeat(depth - 2) + ']'.repeat(depth - 2);
      return listenBody(TOOLS).replace('"params":{', `"params":{"x":${nested},`);
    },
    refusal: { status: 400, code: -32_700 },
  },
  {
    name: 'digits of an id',
    limit: 256,
    body: (digits) => listenBody(TOOLS, '9'.repeat(digits)),
    refusal: { status: 400, code: -32_600 },
  },
  {
    name: 'bytes of an id',
    limit: 256,
    body: (bytes) => listenBody(TOOLS, JSON.stringify('x'.repeat(bytes))),
    refusal: { status: 400, code: -32_600 },
  },
  {
    name: 'URIs of a stream',
    limit: 256,
    body: (uris) =>
      listenBody({
        resourceSubscriptions: Array.from({ length: uris }, (_, place) => `note://${place}`),
      }),
    refusal: { status: 400, code: -32_602 },
  },
  {
    name: 'bytes of a URI',
    limit: 2_048,
    // 1,024 of the bytes are characters of two bytes.
    body: (bytes) =>
      listenBody({ resourceSubscriptions: ['ä'.repeat(512) + 'x'.repeat(bytes - 1_024)] }),
    refusal: { status: 400, code: -32_602 },
  },
];

const TOOLS = { toolsListChanged: true };
