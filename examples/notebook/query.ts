import { type Refusal, refused } from './outcome.js';

/** A query that is safe to run: identifiers come from the lists below, and values are bound. */
export interface Query {
  refused: false;
  sql: string;
  values: (string | number)[];
}

/**
 * Parses `SELECT 1`, `SELECT 'text'` and `SELECT * | COUNT(*) | columns FROM table [WHERE column
 * =|<>|LIKE 'value'] [ORDER BY column [ASC|DESC]] [LIMIT n]`.
 *
 * No other SQL is accepted: even a read-only query can keep the object busy forever, if it is
 * recursive.
 */
export function parseQuery(text: string): Query | Refusal {
  const literal = LITERAL.exec(text)?.groups;
  if (literal !== undefined)
    return { refused: false, sql: 'SELECT ? AS value', values: [literalOf(literal)] };
  const parts = SELECT.exec(text)?.groups;
  if (parts === undefined) return refused(GRAMMAR);
  const table = parts['table']?.toLowerCase() ?? '';
  if (!TABLES.includes(table)) return refused(`Unknown table. Tables: ${TABLES.join(', ')}.`);
  const unknown = columnsIn(parts).find((column) => !COLUMNS.includes(column));
  if (unknown !== undefined) return refused(`Unknown column. Columns: ${COLUMNS.join(', ')}.`);
  const values = parts['value'] === undefined ? [] : [unquoted(parts['value'])];
  return { refused: false, sql: statement(table, parts), values };
}

function columnsIn({ what = '', field = '', order = '' }: Parts): string[] {
  const listed = what === '*' || COUNT.test(what) ? [] : what.split(',');
  return [...listed, field, order]
    .map((column) => column.trim().toLowerCase())
    .filter((column) => column !== '');
}

function statement(
  table: string,
  { what = '*', field, operator = '=', order, direction = '', limit }: Parts,
): string {
  const where = field === undefined ? '' : ` WHERE ${field} ${operator} ?`;
  const sorted = order === undefined ? '' : ` ORDER BY ${order} ${direction}`;
  const rows = Math.min(Number(limit ?? MAX_ROWS), MAX_ROWS);
  return `SELECT ${what} FROM ${table}${where}${sorted} LIMIT ${rows}`;
}

function literalOf({ number, value = '' }: Parts): string | number {
  return number === undefined ? unquoted(value) : Number(number);
}

function unquoted(value: string): string {
  return value.replaceAll("''", "'");
}

type Parts = Partial<Record<string, string>>;

const TABLES = ['notes', 'prompts', 'connections'];
const COLUMNS = ['name', 'text'];
const MAX_ROWS = 50;
const COUNT = /^count\(\*\)$/i;

const LITERAL = /^\s*select\s+(?:(?<number>\d{1,15})|'(?<value>(?:[^']|'')*)')\s*$/i;

const SELECT = new RegExp(
  [
    String.raw`^\s*select\s+(?<what>\*|count\(\*\)|[a-z]+(?:\s*,\s*[a-z]+)*)`,
    String.raw`\s+from\s+(?<table>[a-z]+)`,
    String.raw`(?:\s+where\s+(?<field>[a-z]+)\s*(?<operator>=|<>|\blike\b)`,
    String.raw`\s*'(?<value>(?:[^']|'')*)')?`,
    String.raw`(?:\s+order\s+by\s+(?<order>[a-z]+)(?:\s+(?<direction>asc|desc))?)?`,
    String.raw`(?:\s+limit\s+(?<limit>\d{1,3}))?\s*$`,
  ].join(''),
  'i',
);

const GRAMMAR = [
  "Supported queries: SELECT 1, SELECT 'text', SELECT * | COUNT(*) | columns",
  "FROM notes | prompts | connections [WHERE column = | <> | LIKE 'value']",
  '[ORDER BY column [ASC | DESC]] [LIMIT n], without a semicolon.',
].join(' ');
