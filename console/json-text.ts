import { element } from './dom.js';

/**
 * Returns JSON text with indentation and highlighted names, strings and other values; other text
 * unchanged.
 */
export function highlighted(text: string): (Node | string)[] {
  const pieces: (Node | string)[] = [];
  const indentedText = indented(text);
  let end = 0;
  for (const match of indentedText.matchAll(TOKEN)) {
    const kind =
      Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0] ?? '';
    pieces.push(indentedText.slice(end, match.index), element('span', { class: kind }, match[0]));
    end = match.index + match[0].length;
  }
  return [...pieces, indentedText.slice(end)];
}

/**
 * Indents JSON. Numbers beyond the precision of JavaScript keep their digits, because ids may be
 * such numbers.
 */
function indented(text: string): string {
  try {
    const keep = (_key: string, value: unknown, context?: { source?: string }): unknown =>
      typeof value === 'number' && context?.source !== undefined
        ? rawJson(context.source, value)
        : value;
    return JSON.stringify(JSON.parse(text, keep), null, 2);
  } catch {
    return text;
  }
}

function rawJson(source: string, value: number): unknown {
  return (JSON as { rawJSON?: (text: string) => unknown }).rawJSON?.(source) ?? value;
}

const TOKEN = new RegExp(
  [
    /(?<name>"(?:[^"\\]|\\.)*"(?=:))/,
    /(?<text>"(?:[^"\\]|\\.)*")/,
    /(?<value>-?\d[\d.eE+-]*|true|false|null)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);
