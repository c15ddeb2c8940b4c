/** Makes an HTML element with these attributes and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children);
}

/** Makes an SVG element with these attributes and children. */
export function drawing<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

/**
 * The element of the page with this id.
 *
 * @throws Error where the page has none of this kind.
 */
export function found<Kind extends Element>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id);
  if (element instanceof kind) return element;
  throw new Error(`the page has no ${kind.name} with the id ${id}`);
}

/**
 * Writes a text where it has changed, so that the page announces, selects and lays out no text
 * again.
 */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function filled<Kind extends Element>(
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

/** `true` is an attribute without a value; `false` and undefined are none. */
type Attributes = Record<string, string | number | boolean | undefined>;
