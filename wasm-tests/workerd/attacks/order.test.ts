import { describe, expect, onTestFinished, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { LISTEN_HEADERS } from '../../host/listen.ts';
import { Drip } from '../../host/wire/drip.ts';

const { 'mcp-method': _, ...UNNAMED } = LISTEN_HEADERS;

describe('a request with a slow body', () => {
  const fixture = useFixture();

  async function begin(options: object, headers: Record<string, string>): Promise<Drip> {
    const drip = await Drip.begin(fixture().urlWith(0, options), headers);
    onTestFinished(() => drip.drop());
    return drip;
  }

  test('is denied before its body arrives if its header fields identify a listen', async () => {
    // The server waits for the body without a limit.
    const options = { principal: { denied: 401 }, timeouts: { bodyMs: 0 } };
    const drip = await begin(options, LISTEN_HEADERS);
    expect(await drip.status()).toBe(401);
  });

  test.each([
    ['its header fields', LISTEN_HEADERS],
    ['only its body', UNNAMED],
  ])('ends by bodyMs if %s may identify a listen', { timeout: 9_000 }, async (_name, headers) => {
    // By default it ends after ten seconds.
    const options = { timeouts: { bodyMs: 200 } };
    const drip = await begin(options, headers);
    expect(await drip.status()).toBe(408);
    expect(await fixture().ask(0, options, 'stats')).toMatchObject({ open: 0, away: 0 });
  });
});
