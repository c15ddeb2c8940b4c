import { refused } from '../../handler/upstream-response.js';
import type { ForgettableHandler } from '../../listen-handler.js';
import type { ListenHandler } from '../../options.js';
import { Refusal } from '../../wasm/server/bindings.js';
import { type BusName, busNameOf } from '../wire/names.js';
import { Tenants } from './tenants.js';

/** How a {@link TenantRouter} finds and makes the servers of tenants. */
export interface TenantRouterOptions {
  /** The bus of each request, which is its tenant's. */
  bus: BusName;
  /** Makes the server of the bus `name`. */
  make: (name: string) => ForgettableHandler<unknown[]>;
  /** Called with what `bus` throws. */
  onError: (error: Error) => void;
  /** Servers that are kept where some of them are idle. */
  most: number;
}

/** Sends each request to the server of its tenant. */
export class TenantRouter {
  readonly #bus: BusName;
  readonly #onError: (error: Error) => void;
  readonly #tenants: Tenants;

  constructor({ bus, make, most, onError }: TenantRouterOptions) {
    this.#bus = bus;
    this.#onError = onError;
    this.#tenants = new Tenants(make, most);
  }

  /** Returns the server of the bus `name`. */
  server(name: string): ListenHandler<unknown[]> {
    return this.#tenants.server(name);
  }

  /** Answers a request; undefined where it has no tenant. It is a 503 where `bus` throws. */
  async fetch(request: Request, ...rest: unknown[]): Promise<Response | undefined> {
    let name: string | undefined;
    try {
      name = await busNameOf(this.#bus, request);
    } catch (error) {
      this.#onError(error as Error);
      return refused(Refusal.Unavailable);
    }
    return name === undefined ? undefined : this.server(name).fetch(request, ...rest);
  }
}
