import { PassThrough } from 'node:stream';
import { stdio } from 'mcp-listen/client/stdio';
import { expect, test, vi } from 'vitest';

function receiver() {
  return { receive: vi.fn(() => false), gone: vi.fn(), refused: vi.fn() };
}

test('a running process has one listener of its output, however many subscriptions it has', () => {
  const child = { stdin: new PassThrough(), stdout: new PassThrough() };
  const counts = () => [
    child.stdout.listenerCount('data'),
    child.stdout.listenerCount('close'),
    child.stdin.listenerCount('error'),
  ];
  const before = counts();
  const receivers = Array.from({ length: 12 }, receiver);
  const members = receivers.map((each) => stdio(child).join(each));
  expect(counts()).toEqual(before.map((count) => count + 1));
  const line = new TextEncoder().encode('{"jsonrpc":"2.0"}\n');
  child.stdout.emit('data', line);
  for (const { receive } of receivers) expect(receive.mock.calls).toEqual([[line]]);
  for (const member of members.slice(1)) member?.leave();
  child.stdin.emit('error', new Error('broken pipe'));
  expect(receivers.map(({ gone }) => gone.mock.calls.length)).toEqual([1, ...Array(11).fill(0)]);
  members[0]?.leave();
  expect(counts()).toEqual(before);
});

test('a process whose output closes is gone without a cause', () => {
  const child = { stdin: new PassThrough(), stdout: new PassThrough() };
  const { gone, ...rest } = receiver();
  const member = stdio(child).join({ ...rest, gone });
  child.stdout.emit('close', false);
  expect(gone.mock.calls).toEqual([[undefined]]);
  member?.leave();
});

test.each(['stdin', 'stdout'] as const)('a process without %s is not joined', (closed) => {
  const child = { stdin: new PassThrough(), stdout: new PassThrough() };
  const channel = stdio(child);
  child[closed].destroy();
  expect(channel.join(receiver())).toBeUndefined();
});
