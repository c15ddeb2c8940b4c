import {
  type AcceptedCallback,
  type CallbackUrl,
  checkCallback,
} from '../../wasm/events/bindings.js';

/**
 * Checks the URL of an endpoint by rules, given as JSON text.
 *
 * @throws Error with a `code`, whose message is for the client, if it is refused.
 */
export function acceptedCallback(text: string, rules: string): AcceptedCallback {
  return checkCallback(JSON.stringify(partsOf(text)), rules);
}

/** Splits a URL; one that cannot be parsed has no host, which no rule accepts. */
function partsOf(text: string): CallbackUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return {
    text,
    protocol: url?.protocol ?? '',
    hostname: url?.hostname ?? '',
    port: url?.port ?? '',
    username: url?.username ?? '',
    password: url?.password ?? '',
    hash: url?.hash ?? '',
    hrefBytes: new TextEncoder().encode(url?.href ?? text).length,
  };
}
