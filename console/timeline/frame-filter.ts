import { element, found } from '../dom.js';
import type { Frame } from '../mcp/frame.js';

/** Which frames the timeline shows: those of one source, of one kind, with a text in them. */
export class FrameFilter {
  readonly #text = found('filter-text', HTMLInputElement);
  readonly #source = found('filter-source', HTMLSelectElement);
  readonly #kind = found('filter-kind', HTMLSelectElement);

  /** @param changed - called when it is another filter. */
  constructor(changed: () => void) {
    this.#kind.append(...KINDS.map(([value, label]) => element('option', { value }, label)));
    this.sources([]);
    for (const field of [this.#text, this.#source, this.#kind])
      field.addEventListener('input', changed);
  }

  /** Offers these subscriptions; the one that is chosen stays so while it is offered. */
  sources(names: readonly string[]): void {
    const chosen = this.#source.value;
    const offered = [
      ['', 'Everybody'],
      ...names.map((name) => [name, `Subscription ${name}`]),
      ['page', 'This page'],
    ];
    this.#source.replaceChildren(
      ...offered.map(([value = '', label = '']) =>
        element('option', { value, selected: value === chosen }, label),
      ),
    );
  }

  /** Whether everything is shown. */
  get isOpen(): boolean {
    return this.#text.value === '' && this.#source.value === '' && this.#kind.value === '';
  }

  /** Whether the timeline shows a frame, as the filter stands now. */
  get accepts(): (frame: Frame) => boolean {
    const [text, source, kind] = [
      this.#text.value.toLowerCase(),
      this.#source.value,
      this.#kind.value,
    ];
    return (frame) =>
      (source === '' || frame.source === source) &&
      (kind === '' || frame.kind === kind) &&
      (text === '' || frame.text.toLowerCase().includes(text));
  }
}

const KINDS = [
  ['', 'Every kind'],
  ['cue', 'Cues'],
  ['ack', 'Acknowledgments'],
  ['request', 'Requests'],
  ['answer', 'Results'],
  ['error', 'Errors'],
  ['end', 'Ends of streams'],
] as const;
