/**
 * Stores the interest, the last call and the last sent position of each hibernating socket: in the
 * attachment of the socket or, for a large interest, in SQLite as parts, first what the edge
 * attached for and then each change. A change writes one row, regardless of the size of the
 * interest. Both survive the object's memory.
 */
export class SocketAttachments {
  readonly #sql: SqlStorage;
  readonly #sizes = new Map<number, Size>();
  #next: number;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
    this.#next = sql.exec<{ next: number }>(NEXT).one().next;
  }

  /**
   * Stores the interest of a socket, as the core's `kept` returns it, and the session of its
   * stream.
   */
  put(socket: WebSocket, parts: string[], session?: string): void {
    const { last, row, seq } = attachmentOf(socket);
    const isKept = row !== undefined && areEqual(this.#parts(row), parts);
    if (row !== undefined && !isKept) this.delete(socket);
    const interest = isKept ? { row } : this.#stored(parts);
    socket.serializeAttachment({ ...interest, session, last, seq });
  }

  /**
   * Stores a change of the interest of a socket. `whole` returns the entire interest, and is called
   * rarely if that is large.
   */
  change(socket: WebSocket, change: string, whole: () => string[]): void {
    const { row, session } = attachmentOf(socket);
    const size = row === undefined ? undefined : this.#size(row);
    if (
      row === undefined ||
      size === undefined ||
      size.changes > Math.max(size.whole, MIN_CHANGES)
    ) {
      this.put(socket, whole(), session);
      return;
    }
    this.#insert(row, size.parts, change);
    size.parts += 1;
    size.changes += change.length;
  }

  /**
   * Stores the position of the last frame that was sent to a socket, and the number of its last
   * call.
   */
  recordSent(socket: WebSocket, last: number | undefined, seq: number | undefined): void {
    const attachment = attachmentOf(socket);
    if (attachment.last !== last || attachment.seq !== seq)
      socket.serializeAttachment({ ...attachment, last, seq });
  }

  /** Returns the session of a socket's stream. */
  session(socket: WebSocket): string | undefined {
    return attachmentOf(socket).session;
  }

  /** What is stored for a socket besides its interest. */
  sentState(socket: WebSocket): SentState {
    const { last, seq = 0, session } = attachmentOf(socket);
    return { last, seq, session };
  }

  /**
   * Returns the parts of a socket's interest, even if it attached before a restart; `undefined` if
   * it has not attached.
   */
  get(socket: WebSocket): string[] | undefined {
    const { row, text } = attachmentOf(socket);
    if (row === undefined) return text === undefined ? undefined : [text];
    return this.#parts(row);
  }

  /** Deletes the interest of a socket. */
  delete(socket: WebSocket): void {
    const { row } = attachmentOf(socket);
    if (row === undefined) return;
    this.#sql.exec('DELETE FROM interest_part WHERE interest = ?', row);
    this.#sizes.delete(row);
  }

  /**
   * Deletes the interest of a socket that the object closes, and marks the socket: the object finds
   * it again after a hibernation until its other end has confirmed the close.
   */
  close(socket: WebSocket): void {
    this.delete(socket);
    socket.serializeAttachment({ isClosed: true });
  }

  /** Whether the object has closed a socket. */
  isClosed(socket: WebSocket): boolean {
    return attachmentOf(socket).isClosed === true;
  }

  /** Deletes the interests of all other sockets: sockets do not survive a restart of the object. */
  prune(sockets: WebSocket[]): void {
    const rows = sockets.flatMap((socket) => attachmentOf(socket).row ?? []);
    const kept = JSON.stringify(rows);
    this.#sql.exec(
      'DELETE FROM interest_part WHERE interest NOT IN (SELECT value FROM json_each(?))',
      kept,
    );
  }

  #stored(parts: string[]): StoredAttachment {
    const [text = ''] = parts;
    if (parts.length === 1 && text.length <= MAX_ATTACHED_CHARACTERS) return { text };
    const row = this.#next;
    this.#next += 1;
    for (const [part, text] of parts.entries()) this.#insert(row, part, text);
    const whole = parts.reduce((sum, { length }) => sum + length, 0);
    this.#sizes.set(row, { parts: parts.length, whole, changes: 0 });
    return { row };
  }

  #insert(row: number, part: number, text: string): void {
    this.#sql.exec('INSERT INTO interest_part VALUES (?, ?, ?)', row, part, text);
  }

  /** Returns the parts of an interest; empty if its rows are lost, which cannot be an interest. */
  #parts(row: number): string[] {
    const parts = this.#sql.exec<{ text: string }>(PARTS, row).toArray();
    return parts.map(({ text }) => text);
  }

  /** Returns the size of an interest. After a restart all of its parts count as `whole`. */
  #size(row: number): Size | undefined {
    const known = this.#sizes.get(row);
    if (known !== undefined) return known;
    const size = { ...this.#sql.exec<Size>(SIZE, row).one() };
    if (size.parts > 0) this.#sizes.set(row, size);
    return size.parts > 0 ? size : undefined;
  }
}

/** What is stored for a socket besides its interest. */
export interface SentState {
  /** The position of the last frame that was sent to the socket. */
  last: number | undefined;
  /** The number of the socket's last call. */
  seq: number;
  /** The session of the socket's stream. */
  session: string | undefined;
}

interface StoredAttachment {
  text?: string;
  row?: number;
  session?: string;
  last?: number;
  seq?: number;
  isClosed?: true;
}

/**
 * The number of parts, and the number of characters that were stored at once and that changes added
 * since.
 */
type Size = { parts: number; whole: number; changes: number };

function attachmentOf(socket: WebSocket): StoredAttachment {
  return (socket.deserializeAttachment() as StoredAttachment | null) ?? {};
}

function areEqual(left: string[], right: string[]): boolean {
  return left.length === right.length && left.every((text, index) => text === right[index]);
}

/**
 * Maximum characters of an interest in an attachment, which is written again after each event for
 * its edge and may not exceed 16,384 bytes.
 */
const MAX_ATTACHED_CHARACTERS = 2_048;
/** Characters of changes up to which an interest is never stored again as a whole. */
const MIN_CHANGES = 65_536;

const SCHEMA = `CREATE TABLE IF NOT EXISTS interest_part (
  interest INTEGER NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (interest, part)
) WITHOUT ROWID`;
const NEXT = 'SELECT COALESCE(MAX(interest), 0) + 1 AS next FROM interest_part';
const PARTS = 'SELECT text FROM interest_part WHERE interest = ? ORDER BY part';
const SIZE = `SELECT COALESCE(MAX(part), -1) + 1 AS parts,
  COALESCE(SUM(LENGTH(text)), 0) AS whole, 0 AS changes
  FROM interest_part WHERE interest = ?`;
