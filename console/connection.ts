import { byId, isBusy, setBusy, setText } from './dom.js';
import { type Access, bearerAccess } from './mcp/access/access.js';
import { SignIn } from './mcp/access/sign-in.js';
import { addressOf, Endpoint } from './mcp/endpoint.js';
import type { Tap } from './mcp/message.js';
import type { Server } from './mcp/server.js';

/** Receives the events of connecting. */
export interface ConnectionEvents {
  /** Called with every message of the page's own requests. */
  tap: Tap;
  /** Called before another endpoint is connected, and after a connection failed. */
  onLeave: () => void;
  /** Called when the endpoint has responded. */
  onServer: (endpoint: Endpoint, server: Server) => Promise<void>;
}

/** The form that connects to an endpoint; initially to the one of this page. */
export class Connection {
  readonly #url = byId('endpoint', HTMLInputElement);
  readonly #token = byId('token', HTMLInputElement);
  readonly #signIn = byId('sign-in', HTMLButtonElement);
  readonly #state = byId('connection-state', HTMLElement);
  readonly #events: ConnectionEvents;
  #endpoint: Endpoint | undefined;

  constructor(events: ConnectionEvents) {
    this.#events = events;
    this.#url.value = this.#url.dataset['own'] ?? '';
    byId('connection', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#open((url) => this.#accessTo(url));
    });
    this.#signIn.addEventListener('click', () => void this.#prepareSignIn());
  }

  /** Connects to the endpoint in the form, or to the one to which the user has just signed in. */
  async start(): Promise<void> {
    const returned = SignIn.returned();
    if (returned === undefined) return this.#open((url) => this.#accessTo(url));
    this.#url.value = returned.signIn.url.href;
    await this.#open(() => returned.signIn, returned.params);
  }

  /** Shows an error, until {@link recovered} or the next connection. */
  showError(error: unknown): void {
    this.#setState('stopped', error instanceof Error ? error.message : String(error));
  }

  /** Shows that the endpoint works, after an error while it was connected. */
  recovered(): void {
    if (this.#endpoint !== undefined && this.#state.dataset['state'] === 'stopped')
      this.#setState('live', 'connected');
  }

  /** Connects. The endpoint before is left, also if it has not responded yet. */
  async #open(access: (url: URL) => Access, callback?: URLSearchParams): Promise<void> {
    this.#leave();
    this.#setState('connecting', 'connecting');
    let opened: Endpoint | undefined;
    try {
      const url = addressOf(this.#url.value);
      opened = new Endpoint(url, access(url), this.#events.tap);
      this.#endpoint = opened;
      const server = await opened.open(callback);
      if (opened === this.#endpoint) await this.#events.onServer(opened, server);
      if (opened === this.#endpoint) this.#setState('live', 'connected');
    } catch (error) {
      if (opened !== this.#endpoint) return;
      this.#leave();
      this.showError(error);
    }
  }

  /** Signs in, one sign-in at a time: they would share what the page stores until it returns. */
  async #prepareSignIn(): Promise<void> {
    if (isBusy(this.#signIn)) return;
    setBusy(this.#signIn, true);
    await this.#open(signIn);
    setBusy(this.#signIn, false);
  }

  #leave(): void {
    void this.#endpoint?.close();
    this.#endpoint = undefined;
    this.#events.onLeave();
  }

  /** Returns the access with the entered token, or what the user has signed in for. */
  #accessTo(url: URL): Access {
    const { value } = this.#token;
    return value === '' && SignIn.isKnown(url) ? new SignIn(url, false) : bearerAccess(value);
  }

  #setState(state: string, text: string): void {
    this.#state.dataset['state'] = state;
    setText(this.#state, text);
  }
}

/** Returns access for which the user signs in now. */
function signIn(url: URL): Access {
  const access = new SignIn(url, true);
  access.forget();
  return access;
}
