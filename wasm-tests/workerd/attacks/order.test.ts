import { describe, expect, onTestFinished, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { LISTEN_HEADERS } from '../../host/listen.ts';
import { Drip } from '../../host/wire/drip.ts';

const { 'mcp-method': _, ...UNNAMED } = LISTEN_HEADERS;

describe('a request whose body drips', () => {
  const fixture = useFixture();

  async function dripping(options: object, headers: Record<string, string>): Promise<Drip> {
    const drip = await Drip.begin(fixture().urlWith(0, options), headers);
    onTestFinished(() => drip.drop());
    return drip;
  }

  test('is denied before its body has come where its header fields call it a listen', {
    timeout: 5_000,
  }, async () => {
    const drip = await dripping({ principal: { denied: 401 } }, LISTEN_HEADERS);
    expect(await drip.status()).toBe(401);
  });

  test.each([
    ['its header fields call it a listen', LISTEN_HEADERS],
    ['its body alone could', UNNAMED],
  ])('ends by its deadline where %s', { timeout: 5_000 }, async (_name, headers) => {
    const options = { timeouts: { bodyMs: 200, attachMs: 2_000 } };
    const drip = await dripping(options, headers);
    expect(await drip.status()).toBe(408);
    expect(await fixture().ask(0, options, 'stats')).toMatchObject({ open: 0, away: 0 });
  });
});
