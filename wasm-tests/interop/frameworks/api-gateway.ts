/** A request as an HTTP API of API Gateway passes it to a Lambda: an event of format 2.0. */
export interface LambdaEvent {
  version: '2.0';
  routeKey: '$default';
  rawPath: string;
  rawQueryString: string;
  headers: Record<string, string>;
  body: string | null;
  isBase64Encoded: boolean;
  requestContext: { http: { method: string; path: string }; domainName: string; stage: '$default' };
}

/** The response of a Lambda. */
export interface LambdaResult {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
  isBase64Encoded: boolean;
}

/** Serves a Lambda as an HTTP API of API Gateway does: each body is sent when it is complete. */
export function apiGateway(
  handler: (event: LambdaEvent, context: object) => Promise<LambdaResult>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { body, headers, isBase64Encoded, statusCode } = await handler(
      await eventOf(request),
      {},
    );
    const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
    return new Response(bytes.byteLength === 0 ? null : bytes, { status: statusCode, headers });
  };
}

async function eventOf(request: Request): Promise<LambdaEvent> {
  const { host, pathname, search } = new URL(request.url);
  const bytes = Buffer.from(await request.arrayBuffer());
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: Object.fromEntries(request.headers),
    body: bytes.byteLength === 0 ? null : bytes.toString('base64'),
    isBase64Encoded: bytes.byteLength > 0,
    requestContext: {
      http: { method: request.method, path: pathname },
      domainName: host,
      stage: '$default',
    },
  };
}
