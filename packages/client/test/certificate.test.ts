/** A service whose certificate is not trusted: the error says so, and there is no retry, because it would fail in the same way. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { APIConnectionError, Turnkeep } from '../src/client.ts'
import { distrustsCertificate } from '../src/certificate.ts'

const message = { externalUserId: 'ann', message: 'Hello' }

test('an untrusted certificate is reported after one attempt', { skip: noOpenssl() }, async (t) => {
  const server = createServer(selfSigned())
  let connections = 0
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = new Turnkeep({ baseURL: `https://127.0.0.1:${port}`, agentId: 'agt_1', apiKey: 'k', maxRetries: 1 })
  const calls = [() => client.chat(message, { idempotencyKey: 'k' }), () => client.stream(message, { idempotencyKey: 'k' }).text()]
  for (const call of calls)
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof APIConnectionError)
      assert.match(error.message, /certificate is not trusted: self-signed certificate/)
      assert.equal(error.idempotencyKey, 'k')
      return true
    })
  assert.equal(connections, 2)
})

test('a certificate error is recognized by the code of Node and Bun or the message of Deno, at any depth; other TLS failures are not', () => {
  const codes = ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'CERT_UNTRUSTED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN']
  codes.push(
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  )
  const failed = (code: string): Error => Object.assign(new Error('why'), { code })
  const deep = (cause: unknown): Error => new TypeError('fetch failed', { cause })
  const ofDeno = new Error('error sending request: client error (Connect): invalid peer certificate: UnknownIssuer')
  for (const error of [...codes.map(failed), ofDeno]) {
    assert.ok(distrustsCertificate(error), String(Reflect.get(error, 'code')))
    assert.ok(distrustsCertificate(deep(deep(error))))
  }
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'UND_ERR_SOCKET'])
    assert.ok(!distrustsCertificate(deep(failed(code))), code)
  for (const other of [undefined, 'text', deep(undefined), Object.assign(new Error('why'), { code: 5 })])
    assert.ok(!distrustsCertificate(other))
})

function selfSigned(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-certificate-'))
  try {
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1', '-subj', '/CN=127.0.0.1']
    execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return { key: readFileSync(key), cert: readFileSync(cert) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function noOpenssl(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'no openssl here to make a certificate; install openssl'
  }
}
