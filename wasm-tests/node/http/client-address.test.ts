import { expect, test } from 'vitest';
import { addressOf } from '../../../dist/web/client-address.js';

const COUNTED = [
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:DB8::1', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:9:8:7:6', '2001:db8:0:0::/64'],
  ['2001:0db8:0000:0001::9', '2001:db8:0:1::/64'],
  ['::1', '0:0:0:0::/64'],
];

test.each(COUNTED)('on the network of Cloudflare, %s counts as %s', (address, wanted) => {
  expect(addressOf(request(address, { colo: 'FRA' }))).toBe(wanted);
});

test('elsewhere the header field of a client is ignored', () => {
  expect(addressOf(request('203.0.113.7', undefined))).toBeUndefined();
  // A self-hosted workerd sets `request.cf` too, without the data center.
  expect(addressOf(request('203.0.113.7', {}))).toBeUndefined();
  expect(addressOf(request(undefined, { colo: 'FRA' }))).toBeUndefined();
});

test('the Workers of each zone count apart, though all Workers have one address', () => {
  const of = (zone: string, address = '2a06:98c0:3600::103') =>
    addressOf(request(address, { colo: 'FRA' }, { 'cf-worker': zone }));
  expect([of('a.example'), of('B.example')]).toEqual(['worker a.example', 'worker b.example']);
  expect(of('a.example', '203.0.113.7')).toBe('203.0.113.7');
  expect(of('')).toBeUndefined();
  expect(addressOf(request('2a06:98c0:3600::103', { colo: 'FRA' }))).toBeUndefined();
});

function request(
  address: string | undefined,
  cf: object | undefined,
  fields: Record<string, string> = {},
): Request {
  const headers = address === undefined ? fields : { ...fields, 'cf-connecting-ip': address };
  return Object.assign(new Request('http://localhost/mcp', { headers }), cf && { cf });
}
