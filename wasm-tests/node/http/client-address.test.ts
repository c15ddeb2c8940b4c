import { expect, test } from 'vitest';
import { addressOf, setAddress } from '../../../dist/web/client-address.js';

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

test.each([
  ...COUNTED,
  ['203.0.113.7:51234', '203.0.113.7'],
  [' 203.0.113.7 ', '203.0.113.7'],
  ['[2001:db8::1]:51234', '2001:db8:0:0::/64'],
  ['[2001:DB8::1]', '2001:db8:0:0::/64'],
  ['[::ffff:203.0.113.7]:80', '203.0.113.7'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('an address that is set, %j, counts as %s: connections have ports', (address, wanted) => {
  const own = request('198.51.100.1', { colo: 'FRA' });
  expect(setAddress(own, address)).toBe(true);
  expect(addressOf(own)).toBe(wanted);
});

test.each([undefined, null, ''])('%j sets that the address is not known', (address) => {
  const own = request('198.51.100.1', { colo: 'FRA' });
  expect(setAddress(own, address)).toBe(true);
  expect(addressOf(own)).toBeUndefined();
});

test.each([
  ['203.0.113.7, 198.51.100.2'],
  ['2001:db8::1, 2001:db8::2'],
  ['203.0.113.7 198.51.100.2'],
  ['unknown'],
  ['localhost:80'],
  ['[203.0.113.7'],
  [['203.0.113.7']],
  [Promise.resolve('203.0.113.7')],
  [4],
])('%o is no address, and sets none', (address) => {
  const own = request('198.51.100.1', { colo: 'FRA' });
  expect(setAddress(own, address)).toBe(false);
  expect(addressOf(own)).toBeUndefined();
});

function request(
  address: string | undefined,
  cf: object | undefined,
  fields: Record<string, string> = {},
): Request {
  const headers = address === undefined ? fields : { ...fields, 'cf-connecting-ip': address };
  return Object.assign(new Request('http://localhost/mcp', { headers }), cf && { cf });
}
