import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { call } from '../../host/call.ts';
import { initialize, post } from '../../host/legacy.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { GuardedServer } from '../../host/servers/guarded.ts';

const behind = new GuardedServer({ ann: {} });
const ANN = { authorization: 'Bearer ann' };
let gateway: GatewayFixture;

beforeAll(async () => {
  gateway = await GatewayFixture.start(await behind.start('/mcp?tenant=a&key='), {
    UPSTREAM_WATCH: 'off',
  });
});
beforeEach(() => {
  behind.requests.length = 0;
  behind.trick = () => false;
});
afterAll(async () => {
  await gateway?.stop();
  behind.stop();
});

/** Header fields in which a client describes its own address or request. */
const CLAIMS = [
  ...[
    'forwarded',
    'x-forwarded',
    'x-forwarded-for',
    'x-forwarded-user',
    'x_forwarded_for',
    'x-original-forwarded-for',
  ],
  ...[
    'x-vercel-forwarded-for',
    'x-vercel-proxied-for',
    'x-envoy-external-address',
    'X_Envoy_Original-Path',
  ],
  ...[
    'wl-proxy-client-ip',
    'WL_Proxy_Client_IP',
    'proxy-client-ip',
    'do-connecting-ip',
    'x-sucuri-clientip',
  ],
  ...[
    'x-nf-client-connection-ip',
    'X_NF_Client_Connection_IP',
    'ali-cdn-real-ip',
    'remote-addr',
    'x.real.ip',
  ],
  ...['x-remote-ip', 'x-appengine-user-ip', 'x-originating-ip', 'cloudfront-viewer-address'],
  ...[
    'x-real-ip',
    'x-client-ip',
    'client-ip',
    'true-client-ip',
    'x-cluster-client-ip',
    'fastly-client-ip',
  ],
  ...['x-original-url', 'x-original-uri', 'x-original-host', 'x-rewrite-url', 'x-host'],
  ...['x-http-method', 'x-http-method-override', 'x-method-override', 'X-HTTP_METHOD-Override'],
  ...[
    'cf-connecting-ip',
    'cf-connecting-ipv6',
    'cf-pseudo-ipv4',
    'cf-ipcountry',
    'cf-ray',
    'cf-visitor',
  ],
  ...['cf-access-authenticated-user-email', 'cf-worker'],
  ...['proxy', 'x-http-host-override', 'x-proxyuser-ip', 'X_ProxyUser_IP', 'x-script-name'],
  ...['x-scheme', 'x-url-scheme', 'front-end-https'],
];

describe('a request', () => {
  test('is forwarded without the header fields that describe its own address', async () => {
    const claims = Object.fromEntries(CLAIMS.map((name) => [name, '6.6.6.6']));
    const own = {
      'x-own': '1',
      'x-clip': '2',
      'x-description': '3',
      'cf-access-jwt-assertion': 'e.e.e',
      'content-type': 'application/json',
    };
    await fetch(gateway.mcp(), {
      method: 'POST',
      body: '{"id":1}',
      headers: { ...ANN, ...own, ...claims },
    });
    const [seen] = behind.requests;
    expect(seen?.headers).toMatchObject({ ...ANN, ...own });
    const forged = Object.entries(seen?.headers ?? {}).filter(([, value]) =>
      String(value).includes('6.6.6.6'),
    );
    expect(forged).toEqual([]);
  });

  test.each([
    ['?tenant=b', '?tenant=a&key='],
    ['?TENANT=b&x=1', '?tenant=a&key=&x=1'],
    ['?%74enant=b&tenant[]=c&tenant%00=d&+tenant=e&x=%2F', '?tenant=a&key=&x=%2F'],
    ['?x=1;tenant=b&key', '?tenant=a&key='],
    ['?[tenant]=b&[tenant=c&tenant]=d&[[tenant]]=e', '?tenant=a&key='],
    ['?tenants=1', '?tenant=a&key=&tenants=1'],
  ])('with the query %s is forwarded with %s', async (query, expected) => {
    await fetch(gateway.mcp() + query, { method: 'POST', body: '{"id":1}', headers: ANN });
    expect(behind.requests.map(({ url }) => url)).toEqual([`/mcp${expected}`]);
  });
});

describe('the metadata of the protected resource', () => {
  const path = '/.well-known/oauth-protected-resource/mcp';

  test('is read with GET and HEAD only', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const body = method === 'DELETE' ? null : '{}';
      const response = await fetch(gateway.origin() + path, {
        method,
        headers: { cookie: 'a=b' },
        body,
      });
      expect([method, response.status]).toEqual([method, 405]);
    }
    expect(behind.requests).toEqual([]);
    behind.trick = (_incoming, outgoing) => {
      outgoing.end('{}');
      return true;
    };
    for (const method of ['GET', 'HEAD'])
      expect((await fetch(gateway.origin() + path, { method })).status).toBe(200);
    expect(behind.requests.map(({ method, url }) => [method, url])).toEqual([
      ['GET', path],
      ['HEAD', path],
    ]);
  });

  test('is refused to pages that the endpoint refuses', async () => {
    const response = await fetch(gateway.origin() + path, {
      headers: { origin: 'https://evil.example', cookie: 'a=b' },
    });
    expect(response.status).toBe(403);
    expect(behind.requests).toEqual([]);
  });
});

describe('a response of the upstream server that the gateway reads whole', () => {
  const chunk = 'a'.repeat(1 << 20);

  test.each([['server/discover'], ['initialize']])(
    'to %s is a 502 beyond a MiB',
    async (method) => {
      let sent = 0;
      behind.trick = (_incoming, outgoing) => {
        outgoing
          .writeHead(200, { 'content-type': 'application/json' })
          .write('{"jsonrpc":"2.0","id":1,"result":{"a":"');
        const more = (): void => {
          while (!outgoing.destroyed && sent < 100) {
            sent += 1;
            if (!outgoing.write(chunk)) return void outgoing.once('drain', more);
          }
          outgoing.end('"}}');
        };
        more();
        return true;
      };
      expect(await status(method)).toBe(502);
      expect(sent).toBeLessThan(50);
    },
  );

  test.each([['server/discover'], ['initialize']])(
    'to %s is a 504 if it does not end',
    async (method) => {
      behind.trick = (_incoming, outgoing) => {
        outgoing.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc"');
        return true;
      };
      expect(await status(method)).toBe(504);
    },
  );

  async function status(method: string): Promise<number> {
    if (method !== 'initialize') return (await call(gateway.mcp(), method)).status;
    return (await post((init) => fetch(gateway.mcp(), init), initialize('2025-11-25'))).status;
  }
});
