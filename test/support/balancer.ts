/**
 * A small load balancer for tests: each connection goes to the next active server, without parsing. A server that is removed gets no new
 * connections and keeps its existing ones. It retries nothing, so that the behavior of a server is visible.
 */
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export type Balancer = {
  url: string
  /** New connections go to these in turn. */
  route(urls: string[]): void
  close(): Promise<void>
}

export async function startBalancer(): Promise<Balancer> {
  let targets: string[] = []
  let next = 0
  const sockets = new Set<Socket>()
  const server = createServer((caller) => {
    const target = targets[next++ % Math.max(1, targets.length)]
    if (target === undefined) return void caller.destroy()
    const { hostname, port } = new URL(target)
    const served = connect(Number(port), hostname)
    for (const [one, other] of [
      [caller, served],
      [served, caller],
    ] as const) {
      sockets.add(one)
      one.setNoDelay(true)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.end()
      })
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    route: (urls) => void (targets = urls),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
