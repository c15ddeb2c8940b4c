/** One element of an SVG image, with its attributes; `content` is markup. */
export function element(
  name: string,
  attributes: Record<string, string | number>,
  content = '',
): string {
  const text = Object.entries(attributes).map(([key, value]) => ` ${key}="${attribute(value)}"`);
  return content === ''
    ? `<${name}${text.join('')}/>`
    : `<${name}${text.join('')}>${content}</${name}>`;
}

/** A piece of text at a place. */
export function label(text: string, attributes: Record<string, string | number>): string {
  return element('text', { 'font-size': 12, fill: '#333', ...attributes }, escaped(text));
}

/** A whole image on a white background, for dark pages too. The title describes it. */
export function image(title: string, width: number, height: number, content: string[]): string {
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
  };
  const lines = [
    element('title', {}, escaped(title)),
    element('rect', { width, height, fill: '#fff' }),
    ...content,
  ];
  const svg = { ...attributes, 'font-family': 'sans-serif' };
  return `${element('svg', svg, `\n${lines.join('\n')}\n`)}\n`;
}

/** The color of a contender by its place, from the palette of Okabe and Ito. */
export function color(place: number): string {
  return COLOURS[place % COLOURS.length] ?? '#000';
}

function attribute(value: string | number): string {
  return typeof value === 'number' ? String(Number(value.toFixed(1))) : escaped(value);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7f7f7f'];
