import type { ListenBus } from '../../bus/bus.js';
import { refusalResponse } from '../../handler/upstream-response.js';
import type { ForgettableHandler } from '../../listen-handler.js';
import type { ListenHandler } from '../../options.js';
import { Refusal } from '../../wasm/server/bindings.js';
import { type DurableObjectBusOptions, durableObjectBus } from '../edge/durable-object-bus.js';
import { type BusName, busNameOf } from '../wire/names.js';
import type { BusNamespace } from '../wire/stubs.js';
import { Tenants } from './tenants.js';

/** Options of a {@link TenantRouter}. */
export interface TenantRouterOptions {
  /** The namespace of the buses. */
  namespace: BusNamespace;
  /** The bus of each request, which is the bus of its tenant. */
  bus: BusName;
  /** Options of the bus of every tenant. */
  busOptions: Pick<DurableObjectBusOptions, 'onLog' | 'sockets' | 'wanted'>;
  /** Creates the server of the tenant `name`, on its bus. */
  make: (bus: ListenBus, name: string) => ForgettableHandler<unknown[]>;
  /** Called with the errors of the function `bus` and of the buses. */
  onError: (error: Error) => void;
  /** Maximum number of servers that are kept while some of them are idle. */
  max: number;
}

/** Sends each request to the server of its tenant. */
export class TenantRouter {
  readonly #bus: BusName;
  readonly #onError: (error: Error) => void;
  readonly #tenants: Tenants;

  constructor({ bus, busOptions, make, max, namespace, onError }: TenantRouterOptions) {
    const { onLog, sockets, wanted } = busOptions;
    const shared = {
      onError,
      ...(onLog && { onLog }),
      ...(sockets && { sockets }),
      ...(wanted && { wanted }),
    };
    this.#bus = bus;
    this.#onError = onError;
    this.#tenants = new Tenants(
      (name) => make(durableObjectBus(namespace, { ...shared, bus: name }), name),
      max,
    );
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
