/**
 * Returns the network address that a request came from, as the host tells it; undefined where the
 * host tells none. It counts callers that have no name, and proves nothing about them.
 *
 * On Cloudflare the address is `CF-Connecting-IP`. Its network writes that field, and the data center
 * in `request.cf.colo` shows that the request came through it; anywhere else a client writes the
 * field itself, so that it is ignored. A workerd of one's own has `request.cf`, too, without `colo`
 * (1.20261117). The adapter for Node tells no address: behind a reverse proxy all callers would
 * share that of the proxy. An IPv6 address stands for its /64 network, which one subscriber has for
 * itself.
 */
export function addressOf(request: Request): string | undefined {
  const { colo } = (request as { cf?: { colo?: unknown } }).cf ?? {};
  if (typeof colo !== 'string') return undefined;
  const address = request.headers.get('cf-connecting-ip');
  return address === null || address === '' ? undefined : network(address.toLowerCase());
}

function network(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:([\d.]+)$/.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [before = [], after = []] = address
    .split('::')
    .map((part) => part.split(':').filter(Boolean));
  const missing = Array.from(
    { length: Math.max(0, GROUPS - before.length - after.length) },
    () => '0',
  );
  const groups = [...before, ...missing, ...after].slice(0, GROUPS / 2);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, '')).join(':')}::/64`;
}

/** Groups of 16 bits in an IPv6 address. */
const GROUPS = 8;
