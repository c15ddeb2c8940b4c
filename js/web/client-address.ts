/**
 * Sets the address of a request's client, in place of that of the host: an IP address, which may
 * have a port or brackets. Nothing and an empty text mean that it is not known. Returns false for
 * anything else; the address is then not known either.
 */
export function setAddress(request: Request, address: unknown): boolean {
  given.set(request, undefined);
  if (address === undefined || address === null) return true;
  const text = typeof address === 'string' ? address.trim() : undefined;
  if (text === '') return true;
  const own = withoutPort(text?.toLowerCase() ?? '');
  if (!IPV4.test(own) && !IPV6.test(own)) return false;
  given.set(request, network(own));
  return true;
}

/**
 * Returns a text for the network address of a request's client, if the application or the host
 * provides it; otherwise undefined. It is used to count callers without a name, and proves nothing
 * about them.
 *
 * On Cloudflare the address is `CF-Connecting-IP`. Cloudflare sets that field, and the data center
 * in `request.cf.colo` shows that the request came through its network. Anywhere else a client can
 * set the field, so it is ignored. A self-hosted workerd has `request.cf` too, but without `colo`
 * (1.20261117). The adapter for Node provides no address: behind a reverse proxy all callers would
 * share the proxy's address. An IPv6 address is reduced to its /64 network, which usually belongs
 * to one subscriber. All Workers have one address, so a Worker of another zone is identified by
 * `CF-Worker`, the zone that owns it, which Cloudflare sets too.
 */
export function addressOf(request: Request): string | undefined {
  if (given.has(request)) return given.get(request);
  const { headers } = request;
  const address = headers.get('cf-connecting-ip');
  if (address === null || address === '') return undefined;
  // workerd parses `cf` when it is read.
  const { colo } = (request as { cf?: { colo?: unknown } }).cf ?? {};
  if (typeof colo !== 'string') return undefined;
  const own = network(address.toLowerCase());
  return own === OF_WORKERS ? workerOf(headers) : own;
}

function workerOf(headers: Headers): string | undefined {
  const zone = headers.get('cf-worker');
  return zone === null || zone === '' ? undefined : `worker ${zone.toLowerCase()}`;
}

/** Each connection has a port of its client. */
function withoutPort(address: string): string {
  return address.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
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

const given = new WeakMap<Request, string | undefined>();
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;
/** The characters of an IPv6 address, which may have a zone. */
const IPV6 = /^(?=[^:]*:[^:]*:)[\da-f:.]{2,45}(%[\w.-]{1,16})?$/;
/** The network of 2a06:98c0:3600::103, the address of every Worker that calls another zone. */
const OF_WORKERS = '2a06:98c0:3600:0::/64';
/** Groups of 16 bits in an IPv6 address. */
const GROUPS = 8;
