import { DurableObject } from 'cloudflare:workers';
import type { ServerEvent } from 'mcp-listen';
import { analyse } from './analysis.js';
import { noteChanged } from './events.js';
import { changed, type Outcome, type Refusal, refused, unchanged } from './outcome.js';
import { parseQuery, type Query } from './query.js';

/** The outcome of a query: its rows, or why it was not run. */
export type Rows = { refused: false; rows: Record<string, SqlStorageValue>[] } | Refusal;

/** Everything that the server lists at this moment. */
export interface Catalogue {
  notes: string[];
  prompts: { name: string; opening: string }[];
  connections: string[];
  searchable: boolean;
  analysed: boolean;
}

/** A note that a search found, with the line that matched. */
export interface Hit {
  name: string;
  line: string;
}

/** Returns the URI of a note. */
export function noteUri(name: string): string {
  return `note://${name}`;
}

/** The URI of the analysis resource. */
export const ANALYSIS_URI = 'analysis://latest-result';

/** The state of the demo, in one object with SQLite, so that all isolates list the same. */
export class Notebook extends DurableObject {
  readonly #sql: SqlStorage;

  /** Opens the notebook. The first time, creates its tables and two notes. */
  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    this.#sql = state.storage.sql;
    const tables = this.#sql.exec("SELECT name FROM sqlite_master WHERE name = 'notes'").toArray();
    if (tables.length === 0) this.#sql.exec(SCHEMA);
  }

  /** Returns what the server lists now. */
  catalogue(): Catalogue {
    return {
      notes: this.#names('notes'),
      prompts: this.#sql
        .exec<{ name: string; opening: string }>(
          'SELECT name, substr(text, 1, 80) AS opening FROM prompts ORDER BY rowid',
        )
        .toArray(),
      connections: this.#names('connections'),
      searchable: this.#read('state', 'search') !== null,
      analysed: this.#read('state', 'analysis') !== null,
    };
  }

  /** Returns the text of a note, or null. */
  note(name: string): string | null {
    return this.#read('notes', name);
  }

  /** Returns the text of a prompt, or null. */
  prompt(name: string): string | null {
    return this.#read('prompts', name);
  }

  /** Returns the latest analysis as JSON text, or null before the first one. */
  analysis(): string | null {
    return this.#read('state', 'analysis');
  }

  /** Writes a note. A new one also changes the resource list. */
  editNote(name: string, text: string): Outcome {
    const uri = noteUri(name);
    switch (this.#write('notes', name, text)) {
      case 'full':
        return refused(`The notebook is full: it holds ${MAX_ROWS} notes.`);
      case 'same':
        return unchanged(`${uri} already says that.`);
      case 'new':
        return changed(`Created ${uri}.`, [RESOURCES, updated(uri)], [noteChanged(name, text)]);
      case 'changed':
        return changed(`Changed ${uri}.`, [updated(uri)], [noteChanged(name, text)]);
    }
  }

  /** Deletes a note. Also notifies the clients that subscribe to this note only. */
  deleteNote(name: string): Outcome {
    const uri = noteUri(name);
    if (!this.#remove('notes', name)) return unchanged(`There is no ${uri}.`);
    return changed(`Deleted ${uri}.`, [RESOURCES, updated(uri)], [noteChanged(name, '')]);
  }

  /** Adds the search tool. */
  enableSearch(): Outcome {
    if (this.#write('state', 'search', 'on') === 'same')
      return unchanged('Search is already enabled.');
    return changed('Search is enabled: there is a new tool, search.', [TOOLS]);
  }

  /** Removes the search tool. */
  disableSearch(): Outcome {
    if (!this.#remove('state', 'search')) return unchanged('Search is already disabled.');
    return changed('Search is disabled: the tool search was removed.', [TOOLS]);
  }

  /** Analyses a text and stores the result. The first result also changes the resource list. */
  runAnalysis(text: string): Outcome {
    const result = JSON.stringify(analyse(text));
    const written = this.#write('state', 'analysis', result);
    if (written === 'same') return unchanged(`${ANALYSIS_URI} already holds this result.`);
    const list = written === 'new' ? [RESOURCES] : [];
    return changed(`Wrote ${ANALYSIS_URI}: ${result}`, [...list, updated(ANALYSIS_URI)]);
  }

  /** Adds a query tool. */
  connectDatabase(name: string): Outcome {
    const tool = `query_${name}`;
    switch (this.#write('connections', name, tool)) {
      case 'full':
        return refused(`There are ${MAX_ROWS} connections already.`);
      case 'same':
        return unchanged(`${name} is already connected.`);
      default:
        return changed(`Connected ${name}: there is a new tool, ${tool}.`, [TOOLS]);
    }
  }

  /** Adds a prompt, or replaces its text. The protocol reports both as a change of the list. */
  addPrompt(name: string, text: string): Outcome {
    switch (this.#write('prompts', name, text)) {
      case 'full':
        return refused(`There are ${MAX_ROWS} prompts already.`);
      case 'same':
        return unchanged(`The prompt ${name} already says that.`);
      case 'new':
        return changed(`Added the prompt ${name}.`, [PROMPTS]);
      case 'changed':
        return changed(`Replaced the prompt ${name}.`, [PROMPTS]);
    }
  }

  /** Returns the notes that contain the words in any case, each with its first matching line. */
  search(words: string): Hit[] {
    const wanted = words.toLowerCase();
    const notes = this.#sql.exec<Row>('SELECT name, text FROM notes ORDER BY rowid').toArray();
    return notes.flatMap(({ name, text }) => {
      const line = text.split('\n').find((candidate) => candidate.toLowerCase().includes(wanted));
      return line === undefined ? [] : [{ name, line }];
    });
  }

  /** Runs one small SELECT over the notebook's own tables. */
  query(text: string): Rows {
    const query = parseQuery(text);
    return query.refused ? query : this.#select(query);
  }

  #select({ sql, values }: Query): Rows {
    try {
      return { refused: false, rows: this.#sql.exec(sql, ...values).toArray() };
    } catch {
      // SQLite refuses some patterns of LIKE. Its message is not passed on.
      return refused('SQLite refused this query.');
    }
  }

  #names(table: Table): string[] {
    return this.#sql
      .exec<{ name: string }>(`SELECT name FROM ${table} ORDER BY rowid`)
      .toArray()
      .map((row) => row.name);
  }

  #read(table: Table, name: string): string | null {
    const [row] = this.#sql
      .exec<{ text: string }>(`SELECT text FROM ${table} WHERE name = ?`, name)
      .toArray();
    return row?.text ?? null;
  }

  #write(table: Table, name: string, text: string): 'new' | 'changed' | 'same' | 'full' {
    const before = this.#read(table, name);
    if (before === text) return 'same';
    if (before === null && this.#names(table).length >= MAX_ROWS) return 'full';
    this.#sql.exec(
      `INSERT INTO ${table} (name, text) VALUES (?, ?)
       ON CONFLICT (name) DO UPDATE SET text = excluded.text`,
      name,
      text,
    );
    return before === null ? 'new' : 'changed';
  }

  #remove(table: Table, name: string): boolean {
    return (
      this.#sql.exec(`DELETE FROM ${table} WHERE name = ? RETURNING name`, name).toArray().length >
      0
    );
  }
}

function updated(uri: string): ServerEvent {
  return { kind: 'resource_updated', uri };
}

type Table = 'notes' | 'prompts' | 'connections' | 'state';
type Row = { name: string; text: string };

const TOOLS: ServerEvent = { kind: 'tools_list_changed' };
const PROMPTS: ServerEvent = { kind: 'prompts_list_changed' };
const RESOURCES: ServerEvent = { kind: 'resources_list_changed' };

// Anyone who can reach the demo may write to it, so its tables must be limited.
const MAX_ROWS = 100;

const SCHEMA = `
  CREATE TABLE notes (name TEXT PRIMARY KEY, text TEXT NOT NULL);
  CREATE TABLE prompts (name TEXT PRIMARY KEY, text TEXT NOT NULL);
  CREATE TABLE connections (name TEXT PRIMARY KEY, text TEXT NOT NULL);
  CREATE TABLE state (name TEXT PRIMARY KEY, text TEXT NOT NULL);
  INSERT INTO notes (name, text) VALUES ('todo', 'buy milk'), ('journal', 'day one');
`;
