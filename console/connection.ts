import { found, write } from './dom.js';
import { Endpoint, type Server, type Tap } from './mcp/endpoint.js';

/** Receives the events of connecting. */
export interface ConnectionFollowing {
  /** Sees every text of the page's own requests. */
  tap: Tap;
  /** Another endpoint is about to be asked. */
  onLeave: () => void;
  /** The endpoint has answered. */
  onServer: (endpoint: Endpoint, server: Server) => Promise<void>;
}

/** The form that connects to an endpoint, this page's own one to begin with. */
export class Connection {
  readonly #url = found('endpoint', HTMLInputElement);
  readonly #token = found('token', HTMLInputElement);
  readonly #button = found('connect', HTMLButtonElement);
  readonly #state = found('connection-state', HTMLElement);
  readonly #following: ConnectionFollowing;

  constructor(following: ConnectionFollowing) {
    this.#following = following;
    this.#url.value = new URL('/mcp', location.href).href;
    found('connection', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault();
      void this.open();
    });
  }

  /** Connects to what the form says. */
  async open(): Promise<void> {
    this.#following.onLeave();
    this.#button.disabled = true;
    this.#tell('connecting', 'connecting');
    try {
      const endpoint = new Endpoint(this.#url.value, this.#token.value, this.#following.tap);
      await this.#following.onServer(endpoint, await endpoint.open());
      this.#tell('live', 'connected');
    } catch (error) {
      this.#following.onLeave();
      this.trouble(error);
    } finally {
      this.#button.disabled = false;
    }
  }

  /** Says what went wrong. */
  trouble(error: unknown): void {
    this.#tell('stopped', error instanceof Error ? error.message : String(error));
  }

  #tell(state: string, text: string): void {
    this.#state.dataset['state'] = state;
    write(this.#state, text);
  }
}
