import type { Socket } from 'node:net';

/** Ends two connected sockets together. Until then they are in `open`. */
export function endTogether(near: Socket, far: Socket, open: Set<Socket>): void {
  for (const [socket, other] of [
    [near, far],
    [far, near],
  ] as const) {
    open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      open.delete(socket);
      other.destroy();
    });
  }
}
