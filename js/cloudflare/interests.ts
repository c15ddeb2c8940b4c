/**
 * What each hibernating socket wants to hear: in the socket's attachment, or in SQLite
 * where it is too large for one. Both outlive the object's memory.
 */
export class Interests {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec('CREATE TABLE IF NOT EXISTS interest (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)');
  }

  /** Remembers the interest of a socket, and the session whose stream it belongs to. */
  put(socket: WebSocket, text: string, session?: string): void {
    const isSmall = text.length * BYTES_PER_CHARACTER <= ATTACHMENT_BYTES;
    const interest = isSmall ? { text } : { row: this.#insert(text) };
    socket.serializeAttachment({ ...interest, session });
  }

  /** The session whose stream a socket belongs to. */
  session(socket: WebSocket): string | undefined {
    return attachmentOf(socket).session;
  }

  /** The interest of a socket, even of one that attached before a restart; `undefined` if it has not attached. Throws if it is lost. */
  get(socket: WebSocket): string | undefined {
    const { row, text } = attachmentOf(socket);
    if (row === undefined) return text;
    return this.#sql.exec<{ text: string }>('SELECT text FROM interest WHERE id = ?', row).one().text;
  }

  /** Forgets the interest of a socket. */
  delete(socket: WebSocket): void {
    const { row } = attachmentOf(socket);
    if (row !== undefined) this.#sql.exec('DELETE FROM interest WHERE id = ?', row);
  }

  /** Forgets what belongs to no socket any more: sockets do not outlive a restart of the object. */
  keepOnly(sockets: WebSocket[]): void {
    const rows = sockets.flatMap((socket) => attachmentOf(socket).row ?? []);
    this.#sql.exec('DELETE FROM interest WHERE id NOT IN (SELECT value FROM json_each(?))', JSON.stringify(rows));
  }

  #insert(text: string): number {
    return this.#sql.exec<{ id: number }>('INSERT INTO interest (text) VALUES (?) RETURNING id', text).one().id;
  }
}

interface Attachment {
  text?: string;
  row?: number;
  session?: string;
}

function attachmentOf(socket: WebSocket): Attachment {
  return (socket.deserializeAttachment() as Attachment | null) ?? {};
}

/** Workers refuse attachments of more than 16,384 bytes; the rest is for the wrapping. */
const ATTACHMENT_BYTES = 16_000;
/** Text with any character beyond Latin-1 is serialized with two bytes for each. */
const BYTES_PER_CHARACTER = 2;
