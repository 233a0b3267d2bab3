/** Opens the listener of the server, and knows its connections, so that a drain can close the idle ones. */
import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** Resolves with the base URL. Rejects with the error of the listener. */
export function listen(server: Server, at: { port: number; host: string; reusePort: boolean }): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...at, backlog }, () => {
      server.off('error', reject)
      resolve(`http://${reachable(at.host)}:${(server.address() as AddressInfo).port}`)
    })
  })
}

// Connections that wait to be accepted. With Node's default of 511, a burst of a thousand waits for seconds or is reset. The system caps the
// value (net.core.somaxconn, 4096 on Linux).
const backlog = 4096

/** Replaces a wildcard address by a host that clients can connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** Returns the open connections; the set stays current. */
export function watchSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

// A response that ends during the drain leaves an idle connection, which this interval closes.
const sweepMs = 100

/** Stops listening, and closes every connection that is or becomes idle until the returned function is called. `breakOff` closes the others. */
export function stopListening(server: Server, sockets: Set<Socket>, breakOff?: AbortSignal): () => void {
  server.close()
  closeIdle(server, sockets)
  const sweep = setInterval(() => closeIdle(server, sockets), sweepMs)
  breakOff?.addEventListener('abort', () => server.closeAllConnections())
  return () => clearInterval(sweep)
}

/** Closes idle connections, including those that never sent a byte, which Node counts as active until the headers timeout. */
function closeIdle(server: Server, sockets: Set<Socket>): void {
  server.closeIdleConnections()
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
}
