/** Creates an HTML element with these attributes and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  return withContent(document.createElement(tag), attributes, children);
}

/** Creates an SVG element with these attributes and children. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[Tag] {
  return withContent(
    document.createElementNS('http://www.w3.org/2000/svg', tag),
    attributes,
    children,
  );
}

/** Returns a control with its title above it. A wide one takes the width that others leave. */
export function labelled(title: string, control: HTMLElement, isWide = false): HTMLLabelElement {
  const classes = isWide ? 'field grows' : 'field';
  return element('label', { class: classes }, element('span', {}, title), control);
}

/**
 * Returns the element of the page with this id.
 *
 * @throws Error if there is none of this class.
 */
export function byId<Kind extends Element>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id);
  if (element instanceof kind) return element;
  throw new Error(`the page has no ${kind.name} with the id ${id}`);
}

/**
 * Sets the text of an element if it has changed, so that unchanged text is not announced,
 * deselected or laid out again.
 */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Marks a button as busy, or no longer. A busy button stays in the tab order, because a disabled
 * one loses the focus. So its action has to ignore a press while `isBusy`.
 */
export function setBusy(button: HTMLButtonElement, busy: boolean): void {
  button.ariaDisabled = busy ? 'true' : null;
}

/** Whether a button is marked as busy. */
export function isBusy(button: HTMLButtonElement): boolean {
  return button.ariaDisabled === 'true';
}

function withContent<Kind extends Element>(
  element: Kind,
  attributes: Attributes,
  children: (Node | string)[],
): Kind {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/** `true` sets an attribute without a value; `false` and undefined set none. */
type Attributes = Record<string, string | number | boolean | undefined>;
