/**
 * Thousands of callers that send their headers or bodies one byte at a time. Each gets a 408 error envelope at its timeout, and complete
 * requests are answered meanwhile. The timeouts are shortened; the defaults are 10 s and 30 s.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { PauseWatch } from '../support/pause-watch.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { chatPath, startTestLayer } from '../support/test-http-layer.ts'

const slow = 1500
const head = `POST ${chatPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n`

for (const [what, begin, times] of [
  ['headers', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ', { headersMs: 2000, requestMs: 60_000 }],
  ['bodies', `${head}Content-Length: 1000\r\n\r\n{"external_user_id":"`, { headersMs: 2000, requestMs: 2000 }],
] as const) {
  void test(`fault.slow-requests order.request-id: ${slow} callers with slow ${what}: each gets 408, others are answered meanwhile`, async (t) => {
    using pauses = new PauseWatch()
    await using layer = await startTestLayer({ times })
    const raws: RawSocket[] = []
    t.after(() => raws.forEach(({ socket }) => socket.destroy()))
    // Keeps every connection from being idle.
    const drip = setInterval(() => raws.forEach(({ socket, ended }) => ended || socket.write('a')), 200)
    t.after(() => clearInterval(drip))
    let served = 0
    const serve = async (): Promise<void> => {
      const { status } = await layer.chat()
      if (status === 200) served += 1
      else assert.ok(status === 503 && pauses.stoodStill, `another one got ${status}`)
    }
    while (raws.length < slow) {
      const some = await Promise.all(Array.from({ length: 50 }, () => RawSocket.open(layer.port)))
      for (const raw of some) raw.write(begin)
      raws.push(...some)
      await serve()
    }
    const reported = Promise.all(raws.map((raw) => raw.rest())).then(() => 'reported' as const)
    do await serve()
    while ((await Promise.race([reported, pass(20)])) !== 'reported')
    const ids = new Set<string>()
    for (const { answers } of raws) {
      const { status, code } = pauses.refusalOfLate(answers[0]?.status)
      assert.deepEqual(
        answers.map(({ status: got, json, headers }) => [got, json.error?.code, headers['connection']]),
        [[status, code, 'close']],
      )
      assert.equal(answers[0]!.headers['x-request-id'], answers[0]!.json.error.request_id)
      ids.add(answers[0]!.json.error.request_id)
    }
    assert.equal(ids.size, slow)
    assert.equal(layer.started.length, served, 'nothing of the slow ones began')
    t.diagnostic(`${served} others were answered; the longest pause of the process was ${Math.round(pauses.longestMs)} ms`)
  })
}
