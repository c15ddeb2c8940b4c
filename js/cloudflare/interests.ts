/**
 * What each hibernating socket wants to hear, and what it was sent last: in the socket's attachment, or,
 * where an interest is large, in SQLite. Both outlive the object's memory.
 */
export class Interests {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec('CREATE TABLE IF NOT EXISTS interest (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)');
  }

  /** Remembers the interest of a socket, and the session whose stream it belongs to. */
  put(socket: WebSocket, text: string, session?: string): void {
    const { last, row } = attachmentOf(socket);
    const isKept = row !== undefined && this.get(socket) === text;
    if (row !== undefined && !isKept) this.delete(socket);
    const interest = isKept ? { row } : this.#stored(text);
    socket.serializeAttachment({ ...interest, session, last });
  }

  /** Remembers the position of the last frame that a socket was sent. */
  reach(socket: WebSocket, last: number | undefined): void {
    const attachment = attachmentOf(socket);
    if (attachment.last !== last) socket.serializeAttachment({ ...attachment, last });
  }

  /** The session whose stream a socket belongs to. */
  session(socket: WebSocket): string | undefined {
    return attachmentOf(socket).session;
  }

  /** The position of the last frame that a socket was sent. */
  last(socket: WebSocket): number | undefined {
    return attachmentOf(socket).last;
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

  #stored(text: string): Attachment {
    return text.length <= ATTACHED_CHARACTERS ? { text } : { row: this.#insert(text) };
  }

  #insert(text: string): number {
    return this.#sql.exec<{ id: number }>('INSERT INTO interest (text) VALUES (?) RETURNING id', text).one().id;
  }
}

interface Attachment {
  text?: string;
  row?: number;
  session?: string;
  last?: number;
}

function attachmentOf(socket: WebSocket): Attachment {
  return (socket.deserializeAttachment() as Attachment | null) ?? {};
}

/** An attachment is written anew after each burst of events, and may not be larger than 16,384 bytes. */
const ATTACHED_CHARACTERS = 2_048;
