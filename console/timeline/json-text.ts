import { element } from '../dom.js';

/**
 * JSON text laid out, in pieces that tell names, texts and other values apart; what is no JSON
 * stays as it is.
 */
export function coloured(text: string): (Node | string)[] {
  const pieces: (Node | string)[] = [];
  const laidOut = layOut(text);
  let end = 0;
  for (const match of laidOut.matchAll(TOKEN)) {
    const kind =
      Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0] ?? '';
    pieces.push(laidOut.slice(end, match.index), element('span', { class: kind }, match[0]));
    end = match.index + match[0].length;
  }
  return [...pieces, laidOut.slice(end)];
}

/** Numbers longer than JavaScript's keep their digits: they are what ids are made of. */
function layOut(text: string): string {
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

const TOKEN =
  /(?<name>"(?:[^"\\]|\\.)*"(?=:))|(?<text>"(?:[^"\\]|\\.)*")|(?<value>-?\d[\d.eE+-]*|true|false|null)/g;
