/** Where names lead to. */
const ADDRESSES = {
  'public.example.com': ['127.0.0.1'],
  'mixed.example.com': ['127.0.0.1', '127.0.0.2'],
};

export async function lookup(host) {
  return ADDRESSES[host].map((address) => ({ address, family: 4 }));
}

/** Only here a loopback address counts as a public one: there is no other on this machine. */
export function isPublicAddress(address) {
  return address === '127.0.0.1';
}
