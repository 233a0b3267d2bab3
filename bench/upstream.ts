/**
 * The model of the bench as a target like the others: starts upstream-process.ts, sets its pace, and reads what it received. Called
 * directly, it is the lower bound.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { lastToken, marks } from './call.ts'
import type { Upstream } from './scenario.ts'
import type { UpstreamNews, UpstreamOrder } from './upstream-process.ts'

const program = fileURLToPath(new URL('upstream-process.ts', import.meta.url))

/** `port` 0 uses a free one. Ends with `stop`, and with this process. */
export async function startUpstream(port: number): Promise<Upstream> {
  const child = fork(program, [String(port)])
  const ended = once(child, 'exit')
  async function hear(): Promise<UpstreamNews> {
    const dies = ended.then(() => Promise.reject(new Error(`the upstream ended; is port ${port} free?`)))
    return Promise.race([once(child, 'message').then(([news]) => news as UpstreamNews), dies])
  }
  async function tell(order: UpstreamOrder): Promise<UpstreamNews> {
    const heard = hear()
    child.send(order)
    return heard
  }

  const base = `http://127.0.0.1:${(await hear()).port}`
  return {
    name: 'the model itself',
    base,
    modelUrl: `${base}/v1`,
    pid: child.pid!,
    call: (mode) => ({
      path: '/v1/chat/completions',
      headers: {},
      body: JSON.stringify({
        model: 'model',
        messages: [
          { role: 'system', content: 'You are a helpful assistant.' },
          { role: 'user', content: marks.text },
        ],
        ...(mode === 'stream' ? { stream: true, stream_options: { include_usage: true } } : {}),
      }),
      whole: mode === 'sync' ? [lastToken] : [lastToken, '[DONE]'],
    }),
    async configure({ chunks = 50, firstMs = 0, gapMs = 0 }) {
      await tell({ kind: 'configure', chunks, firstMs, gapMs })
    },
    stats: () => tell({ kind: 'stats' }),
    async stop() {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}
