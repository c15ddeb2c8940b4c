import { refusalResponse } from '../../handler/upstream-response.js';
import type { ForgettableHandler } from '../../listen-handler.js';
import type { ListenHandler } from '../../options.js';
import { Refusal } from '../../wasm/server/bindings.js';
import { type BusName, busNameOf } from '../wire/names.js';
import { Tenants } from './tenants.js';

/** Options of a {@link TenantRouter}. */
export interface TenantRouterOptions {
  /** The bus of each request, which is the bus of its tenant. */
  bus: BusName;
  /** Creates the server of the bus `name`. */
  make: (name: string) => ForgettableHandler<unknown[]>;
  /** Called with the errors of `bus`. */
  onError: (error: Error) => void;
  /** Maximum number of servers that are kept while some of them are idle. */
  max: number;
}

/** Sends each request to the server of its tenant. */
export class TenantRouter {
  readonly #bus: BusName;
  readonly #onError: (error: Error) => void;
  readonly #tenants: Tenants;

  constructor({ bus, make, max, onError }: TenantRouterOptions) {
    this.#bus = bus;
    this.#onError = onError;
    this.#tenants = new Tenants(make, max);
  }

  /** Returns the server of the bus `name`. */
  server(name: string): ListenHandler<unknown[]> {
    return this.#tenants.server(name);
  }

  /**
   * Serves a request; resolves with undefined if it has no tenant, and with 503 if `bus` throws.
   */
  async fetch(request: Request, ...rest: unknown[]): Promise<Response | undefined> {
    let name: string | undefined;
    try {
      name = await busNameOf(this.#bus, request);
    } catch (error) {
      this.#onError(error as Error);
      return refusalResponse(Refusal.Unavailable);
    }
    return name === undefined ? undefined : this.server(name).fetch(request, ...rest);
  }
}
