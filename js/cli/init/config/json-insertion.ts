import { createScanner, type JSONPath, type Node, parseTree } from 'jsonc-parser';

/**
 * Sets the value at a path in the text, and keeps all other text as it is. A last step of -1
 * appends the value to the list.
 */
export function withJson(text: string, path: JSONPath, value: unknown): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) return JSON.stringify(nested(path, value));
  const { node, rest } = deepest(root, path);
  const [step, ...steps] = rest;
  if (node.type === 'array' && typeof step === 'number')
    return withMember(text, node, '', nested(steps, value));
  if (node.type === 'object' && typeof step === 'string')
    return withMember(text, node, `${JSON.stringify(step)}: `, nested(steps, value));
  const { length, offset } = node;
  return text.slice(0, offset) + onOneLine(nested(rest, value)) + text.slice(offset + length);
}

/** Returns the last node that exists on the path, and the steps below it. */
function deepest(node: Node, path: JSONPath): { node: Node; rest: JSONPath } {
  const [step, ...rest] = path;
  const child = childAt(node, step);
  return child === undefined ? { node, rest: path } : deepest(child, rest);
}

function childAt({ children = [], type }: Node, step: string | number | undefined) {
  if (type === 'array') return typeof step === 'number' ? children[step] : undefined;
  const [, value] =
    children.findLast(({ children: [key] = [] }) => key?.value === step)?.children ?? [];
  return value;
}

/** Returns the value inside the objects and lists of these steps. */
function nested(steps: JSONPath, value: unknown): unknown {
  return steps.reduceRight<unknown>(
    (inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }),
    value,
  );
}

/** Appends a member to an object or a list, after the comment on the line of the last member. */
function withMember(
  text: string,
  { children, length, offset }: Node,
  label: string,
  value: unknown,
) {
  const close = offset + length - 1;
  const last = children?.at(-1);
  if (last === undefined) return withFirst(text, offset, close, label, value);
  const end = last.offset + last.length;
  const { hasComma, lineEnd } = afterMember(text, end, close);
  const trailing = hasComma ? ',' : '';
  if (lineEnd === undefined) {
    const kept = text.slice(0, close).trimEnd();
    const separator = hasComma ? ' ' : ', ';
    return kept + separator + label + onOneLine(value) + trailing + text.slice(kept.length);
  }
  const comma = hasComma ? '' : ',';
  const { eol, unit } = layoutOf(text);
  const [margin, isFirst] = marginOf(text, last.offset);
  const added =
    eol + onLines(`${label}${json(value, unit)}`, isFirst ? margin : margin + unit, eol);
  return (
    text.slice(0, end) + comma + text.slice(end, lineEnd) + added + trailing + text.slice(lineEnd)
  );
}

/** Inserts the first member, on separate lines. */
function withFirst(text: string, open: number, close: number, label: string, value: unknown) {
  const { eol, unit } = layoutOf(text);
  const [margin] = marginOf(text, open);
  const kept = text.slice(0, close).trimEnd();
  const added = onLines(`${label}${json(value, unit)}`, margin + unit, eol);
  return kept + eol + added + eol + margin + text.slice(close);
}

/**
 * Returns whether a comma follows the member that ends at `end`, and where the line of both ends,
 * unless that is after `close`.
 */
function afterMember(text: string, end: number, close: number) {
  const scanner = createScanner(text);
  scanner.setPosition(end);
  let hasComma = false;
  let lineEnd: number | undefined;
  for (scanner.scan(); scanner.getTokenOffset() < close; scanner.scan()) {
    const first = text[scanner.getTokenOffset()];
    if (first === ',') {
      hasComma = true;
      lineEnd = undefined;
    } else if (first === '\r' || first === '\n') lineEnd ??= scanner.getTokenOffset();
  }
  return { hasComma, lineEnd };
}

function layoutOf(text: string) {
  const unit = /^([ \t]+)"/m.exec(text)?.[1] ?? '  ';
  return { eol: text.includes('\r\n') ? '\r\n' : '\n', unit };
}

/** Returns the margin of the line of a position, and whether nothing else precedes the position. */
function marginOf(text: string, position: number): [margin: string, isFirst: boolean] {
  const before = text.slice(text.lastIndexOf('\n', position - 1) + 1, position);
  const margin = /^[ \t]*/.exec(before)?.[0] ?? '';
  return [margin, margin === before];
}

function onLines(text: string, margin: string, eol: string): string {
  return text
    .split('\n')
    .map((line) => margin + line)
    .join(eol);
}

function onOneLine(value: unknown): string {
  return json(value, ' ').replaceAll(/\n */g, ' ');
}

function json(value: unknown, unit: string): string {
  return JSON.stringify(value, undefined, unit);
}
