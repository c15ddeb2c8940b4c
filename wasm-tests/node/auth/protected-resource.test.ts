import { createProtectedResourceHandler } from 'mcp-listen/jwt';
import { expect, test } from 'vitest';

const OPTIONS = {
  resource: 'https://mcp.example/mcp',
  authorizationServers: ['https://login.example'],
};
const ROOT = '/.well-known/oauth-protected-resource';

function asked(path: string, init: RequestInit = {}): Request {
  return new Request(`http://localhost:8787${path}`, init);
}

test.each([ROOT, `${ROOT}/mcp`])(
  'the metadata of the resource is at %s, for pages of every origin',
  async (path) => {
    const response = createProtectedResourceHandler({ ...OPTIONS, scopes: ['mcp:listen'] })(
      asked(path),
    );
    expect(response?.status).toBe(200);
    expect(response?.headers.get('content-type')).toBe('application/json');
    expect(response?.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response?.json()).toEqual({
      resource: 'https://mcp.example/mcp',
      authorization_servers: ['https://login.example'],
      scopes_supported: ['mcp:listen'],
      bearer_methods_supported: ['header'],
    });
  },
);

test('scopes are left out where there are none', async () => {
  expect(await createProtectedResourceHandler(OPTIONS)(asked(ROOT))?.json()).not.toHaveProperty(
    'scopes_supported',
  );
});

test('HEAD has no body, and a preflight gets a response', async () => {
  const handle = createProtectedResourceHandler(OPTIONS);
  expect(await handle(asked(ROOT, { method: 'HEAD' }))?.text()).toBe('');
  const preflight = handle(asked(ROOT, { method: 'OPTIONS' }));
  expect(preflight?.status).toBe(204);
  expect(preflight?.headers.get('access-control-allow-methods')).toBe('GET');
});

test.each([
  '/mcp',
  '/',
  `${ROOT}/`,
  `${ROOT}/other`,
  `${ROOT}/mcp/`,
  '/a/.well-known/oauth-protected-resource',
])('a request for %s is passed over', (path) => {
  expect(createProtectedResourceHandler(OPTIONS)(asked(path))).toBeUndefined();
});

test('a POST is passed over', () => {
  expect(createProtectedResourceHandler(OPTIONS)(asked(ROOT, { method: 'POST' }))).toBeUndefined();
});

test('a resource at the root has one metadata URL', () => {
  const handle = createProtectedResourceHandler({ ...OPTIONS, resource: 'https://mcp.example/' });
  expect(handle(asked(ROOT))?.status).toBe(200);
  expect(handle(asked(`${ROOT}/`))).toBeUndefined();
});

test.each(['mcp', 'https://mcp.example/#', 'ftp://mcp.example/'])(
  '%s is refused as a resource',
  (resource) => {
    expect(() => createProtectedResourceHandler({ ...OPTIONS, resource })).toThrow(
      expect.objectContaining({ code: 'invalid-options' }),
    );
  },
);
