import type { Locator, Page } from 'playwright-core';

/** The console in a browser, by the accessible names of its elements. */
export class ConsolePage {
  readonly page: Page;
  /** The errors that the page has logged or thrown. */
  readonly errors: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(15_000);
    page.on('pageerror', (error) => this.errors.push(String(error.stack)));
    page.on('console', (message) => {
      if (message.type() === 'error')
        this.errors.push(`${message.text()} ${message.location().url}`);
    });
  }

  /** The state of the connection, in words. */
  get connection(): Locator {
    return this.page.locator('#connection-state');
  }

  /** The lines of the timeline, newest first. */
  get messages(): Locator {
    return this.page.getByRole('list', { name: 'Messages, newest first' }).getByRole('button');
  }

  /** The dots of the plot. */
  get dots(): Locator {
    return this.page.locator('.plot .dot');
  }

  /** Resolves when the console is connected. */
  async connected(): Promise<void> {
    await this.connection.getByText('connected', { exact: true }).waitFor();
  }

  /** Connects to another endpoint. */
  async connectTo(endpoint: string, token = ''): Promise<void> {
    await this.page.getByLabel('MCP endpoint').fill(endpoint);
    await this.page.getByLabel('Token (optional)').fill(token);
    await this.button('Connect').click();
  }

  /** The button with just this name. */
  button(name: string): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  /** The checkbox of a list or of a resource. */
  tick(name: RegExp): Locator {
    return this.page.getByRole('region', { name: 'Server' }).getByRole('checkbox', { name });
  }

  /** Shows the form of a tab; returns its panel. */
  async form(name: string): Promise<Locator> {
    await this.page.getByRole('tab', { name, exact: true }).click();
    return this.page.getByRole('tabpanel', { name, exact: true });
  }

  /** Opens a subscription to what is checked; resolves when it is live. */
  async subscribe(name: string): Promise<Locator> {
    await this.button('Open a subscription').click();
    await this.card(name).getByText('live', { exact: true }).waitFor();
    return this.card(name);
  }

  /** The card of a subscription. */
  card(name: string): Locator {
    return this.page.getByRole('article', { name: `Subscription ${name}` });
  }

  /** Adds a task to what the next subscription requests. */
  async addTask(id: string): Promise<void> {
    await this.page.getByLabel('Task ID').fill(id);
    await this.button('Add task').click();
  }

  /** The texts about the tasks on the card of a subscription. */
  async tasks(name: string): Promise<string[]> {
    const requested = this.card(name)
      .getByRole('list', { name: 'Requested' })
      .getByRole('listitem');
    return (await requested.allTextContents()).filter((text) => text.startsWith('task '));
  }

  /** A figure on the card of a subscription. */
  figure(name: string, figure: string): Locator {
    return this.card(name).locator(`[data-figure="${figure}"] dd`);
  }

  /** Returns how many streams the server of the page has, in all its isolates. */
  async streams(): Promise<number> {
    const response = await fetch(new URL('/stats', this.page.url()));
    return ((await response.json()) as { bus: { attached: number } }).bus.attached;
  }

  /** Opens the Operate tab; resolves once it shows a snapshot. */
  async operate(): Promise<void> {
    await this.page.getByRole('tab', { name: 'Operate' }).click();
    await this.page.getByText('watching', { exact: true }).waitFor();
  }

  /** A number of the Operate tab. */
  reading(key: string): Locator {
    return this.page.locator(`[data-reading="${key}"] dd`);
  }

  /** The forms of the Operate tab. */
  get actions(): Locator {
    return this.page.getByRole('region', { name: 'Actions' });
  }

  /** Presses the button of the dialog that asks about an action; resolves with its text. */
  async confirm(title: string | RegExp, button: string): Promise<string> {
    const dialog = this.page.getByRole('dialog', { name: title });
    const text = await dialog.getByRole('paragraph').textContent();
    await dialog.getByRole('button', { name: button, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
    return text ?? '';
  }

  /** The rows of a table of the Operate tab, each with the texts of its cells. */
  async rows(table: string): Promise<string[][]> {
    const rows = this.page.getByRole('table', { name: table }).locator('tbody tr');
    return rows.evaluateAll((all) =>
      all.map((row) => [...row.children].map((cell) => cell.textContent ?? '')),
    );
  }

  /** Calls a tool with these arguments; resolves with its output. */
  async callTool(tool: string, args: Record<string, string> = {}): Promise<string> {
    const form = this.page.getByRole('tabpanel', { name: 'Tool', exact: true });
    await form.getByRole('combobox', { name: 'Tool', exact: true }).selectOption(tool);
    for (const [name, value] of Object.entries(args))
      await form.getByLabel(name, { exact: true }).fill(value);
    return this.#pressed(form, 'Call');
  }

  /** Publishes that a resource was updated; resolves with the outcome. */
  async publish(uri: string, times = 1, pace = 'one after the other'): Promise<string> {
    await this.page.getByRole('tab', { name: 'Publish', exact: true }).click();
    const form = this.page.getByRole('tabpanel', { name: 'Publish' });
    await form.getByLabel('URI', { exact: true }).fill(uri);
    await form.getByLabel('Count').fill(String(times));
    await form.getByLabel('Rate').selectOption(pace);
    return this.#pressed(form, 'Publish');
  }

  async #pressed(form: Locator, name: string): Promise<string> {
    const button = form.getByRole('button', { name, exact: true });
    await button.click();
    await form.getByRole('button', { name, exact: true, disabled: false }).waitFor();
    return (await form.locator('output').textContent()) ?? '';
  }
}
