/** Returns the names of the variables in a URI template (RFC 6570), each once. */
export function variablesOf(template: string): string[] {
  const names = [...template.matchAll(EXPRESSION)].flatMap(([, , list = '']) => list.split(','));
  return [...new Set(names.map(bare))];
}

/**
 * Returns a URI from a template and the values of its variables. Expressions whose variables are
 * empty stay as they are, so that the user sees what is missing.
 */
export function expanded(template: string, values: ReadonlyMap<string, string>): string {
  return template.replace(EXPRESSION, (whole, operator: string, list: string) => {
    const given = list
      .split(',')
      .map((name) => [bare(name), values.get(bare(name)) ?? ''] as const)
      .filter(([, value]) => value !== '');
    if (given.length === 0) return whole;
    const { first, isNamed, isOpen, separator } = OPERATORS[operator] ?? SIMPLE;
    const encode = isOpen ? encodeURI : encodeURIComponent;
    const parts = given.map(([name, value]) => (isNamed ? `${name}=` : '') + encode(value));
    return first + parts.join(separator);
  });
}

function bare(name: string): string {
  return name.replace(/(\*|:\d+)$/, '');
}

interface Operator {
  first: string;
  separator: string;
  isNamed?: boolean;
  /** Whether reserved characters stay as they are. */
  isOpen?: boolean;
}

const EXPRESSION = /\{([+#./;?&]?)([^{}]+)\}/g;
const SIMPLE: Operator = { first: '', separator: ',' };
const OPERATORS: Partial<Record<string, Operator>> = {
  '+': { first: '', separator: ',', isOpen: true },
  '#': { first: '#', separator: ',', isOpen: true },
  '.': { first: '.', separator: '.' },
  '/': { first: '/', separator: '/' },
  ';': { first: ';', separator: ';', isNamed: true },
  '?': { first: '?', separator: '&', isNamed: true },
  '&': { first: '&', separator: '&', isNamed: true },
};
