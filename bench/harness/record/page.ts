/** Replaces a generated part of the page. Throws if the page has no marks for it. */
export function withBlock(page: string, block: string, name = 'counted'): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, rest] = page.split(begin);
  const [, after] = (rest ?? '').split(end);
  if (before === undefined || after === undefined)
    throw new Error(`the page has no marks for ${name}`);
  return `${before}${begin}\n${block}${end}${after}`;
}
