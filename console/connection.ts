import { byId, setText } from './dom.js';
import { Endpoint, type Server, type Tap } from './mcp/endpoint.js';

/** Receives the events of connecting. */
export interface ConnectionEvents {
  /** Called with every message of the page's own requests. */
  tap: Tap;
  /** Called before another endpoint is connected, and after a connection failed. */
  onLeave: () => void;
  /** Called when the endpoint has answered. */
  onServer: (endpoint: Endpoint, server: Server) => Promise<void>;
}

/** The form that connects to an endpoint; initially to the one of this page. */
export class Connection {
  readonly #url = byId('endpoint', HTMLInputElement);
  readonly #token = byId('token', HTMLInputElement);
  readonly #button = byId('connect', HTMLButtonElement);
  readonly #state = byId('connection-state', HTMLElement);
  readonly #events: ConnectionEvents;

  constructor(events: ConnectionEvents) {
    this.#events = events;
    this.#url.value = new URL('/mcp', location.href).href;
    byId('connection', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault();
      void this.open();
    });
  }

  /** Connects to the endpoint in the form. */
  async open(): Promise<void> {
    this.#events.onLeave();
    this.#button.disabled = true;
    this.#setState('connecting', 'connecting');
    try {
      const endpoint = new Endpoint(this.#url.value, this.#token.value, this.#events.tap);
      await this.#events.onServer(endpoint, await endpoint.open());
      this.#setState('live', 'connected');
    } catch (error) {
      this.#events.onLeave();
      this.showError(error);
    } finally {
      this.#button.disabled = false;
    }
  }

  /** Shows an error. */
  showError(error: unknown): void {
    this.#setState('stopped', error instanceof Error ? error.message : String(error));
  }

  #setState(state: string, text: string): void {
    this.#state.dataset['state'] = state;
    setText(this.#state, text);
  }
}
