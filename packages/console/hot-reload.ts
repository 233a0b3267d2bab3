/** The console with hot reload, for `npm run dev`: Vite on a port of its own. Everything that is not the console goes to the server. */
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLogger, createServer } from 'vite'
import type { Logger, ProxyOptions } from 'vite'

export type HotConsole = {
  /** Where the console is, for example `http://127.0.0.1:5173/console/`. */
  url: string
  close(): Promise<void>
}

export type HotConsoleOptions = {
  /** Base addresses of the API and of the admin API. They may be the same. */
  apiUrl: string
  adminUrl: string
  /** The first port that is tried; the next free one is taken. */
  port: number
}

/** Rejects where no port is free. The server does not have to run yet: requests fail with 502 until it does. */
export async function startHotConsole({ apiUrl, adminUrl, port }: HotConsoleOptions): Promise<HotConsole> {
  const httpServer = createHttpServer()
  const vite = await createServer({
    root: import.meta.dirname,
    clearScreen: false,
    customLogger: quietLogger(),
    server: {
      // A server of our own: Vite's would end the process at SIGTERM, before the API server has drained.
      middlewareMode: true,
      hmr: { server: httpServer },
      proxy: { '^/(v1|docs|openapi\\.json)': proxyTo(apiUrl), '^/(admin|healthz|readyz|metrics)': proxyTo(adminUrl) },
    },
  })
  httpServer.on('request', vite.middlewares)
  try {
    await listen(httpServer, port)
  } catch (error) {
    await vite.close()
    throw error
  }
  return {
    url: `http://127.0.0.1:${(httpServer.address() as AddressInfo).port}/console/`,
    async close() {
      await vite.close()
      httpServer.closeAllConnections()
      await new Promise((resolve) => httpServer.close(resolve))
    },
  }
}

/** Errors alone, and none for a request that the server cannot answer: its answer says so. */
function quietLogger(): Logger {
  const logger = createLogger('error')
  const { error } = logger
  logger.error = (message, options) => {
    if (!message.includes('http proxy error')) error(message, options)
  }
  return logger
}

/** The Host header stays that of the page: a session's cookie counts only where Origin and Host are the same (`session.origin`). */
function proxyTo(target: string): ProxyOptions {
  return {
    target,
    changeOrigin: false,
    configure(proxy) {
      proxy.on('error', (_error, _request, response) => {
        if (!('writeHead' in response) || response.headersSent) return
        const error = { code: 'service_unavailable', message: 'The server is restarting, or could not start: see the terminal.' }
        response.writeHead(502, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      })
    },
  }
}

// A person who starts more than this many consoles has another problem.
const portsTried = 20

async function listen(server: ReturnType<typeof createHttpServer>, port: number): Promise<void> {
  for (let tried = 0; ; tried++) {
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port === 0 ? 0 : port + tried, '127.0.0.1', () => {
          server.off('error', reject)
          resolve()
        })
      })
      return
    } catch (error) {
      const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
      if (!isTaken || tried + 1 >= portsTried) throw error
    }
  }
}
