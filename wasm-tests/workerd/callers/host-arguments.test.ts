import { describe, expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, listChanged } from '../../host/listen.ts';

const TOOLS = { toolsListChanged: true };
const CUE = listChanged('1', 'tools');

describe.each(['auto', 'each'])('with sockets: %s', (SOCKETS) => {
  const fixture = useFixture({ SOCKETS, UPSTREAM: 'https://behind.example/mcp' });

  test.each(['/hosted', '/gated-by-host/mcp'])(
    'env and ctx name the caller at %s, also when its name is renewed',
    async (path) => {
      const url = fixture().mcp(0).replace('/mcp', path);
      const streams = [];
      for (const user of ['ann', 'bob']) {
        const stream = await fixture().subscribeAt(url, TOOLS, { headers: { 'x-user': user } });
        expect(await stream.message()).toBe(acknowledged('1', TOOLS));
        streams.push(stream);
      }
      await fixture().publish(1, { kind: 'tools_list_changed' });
      for (const stream of streams) expect(await stream.message()).toBe(CUE);
      // A caller has this group once its name was renewed.
      const event = { kind: 'for_group', group: 'later', event: { kind: 'tools_list_changed' } };
      await fixture().publish(1, event);
      for (const stream of streams) expect(await stream.message()).toBe(CUE);
      await fixture().publish(1, { kind: 'disconnect', principal: 'bob' });
      expect(await streams[1]?.message()).toBeUndefined();
      await fixture().publish(1, { kind: 'tools_list_changed' });
      expect(await streams[0]?.message()).toBe(CUE);
    },
  );
});
