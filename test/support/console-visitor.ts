/** A browser at the console from the server's view: its automatic headers, a cookie, and its own address on this machine. */
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { hold, isHeld } from './answer-check-run.ts'
import { adminToken } from './test-app.ts'
import type { Json } from './test-app.ts'

export type Visit = { method?: string; headers?: Record<string, string>; body?: Json; from?: string }
export type Visited = { status: number; headers: Record<string, string | string[] | undefined>; text: string; json: Json; bytes: Buffer }

/** The path is sent unchanged. */
export async function visit(baseUrl: string, path: string, { method = 'GET', headers = {}, body, from }: Visit = {}): Promise<Visited> {
  const { hostname, port } = new URL(baseUrl)
  const text = body && JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const type = text === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }
    const asked = request(
      { hostname, port, path, method, headers: { ...type, ...headers }, localAddress: from, agent: false },
      (answer) => {
        const pieces: Buffer[] = []
        answer.on('error', reject).on('data', (piece: Buffer) => pieces.push(piece))
        answer.on('end', () => {
          const bytes = Buffer.concat(pieces)
          const isJson = answer.headers['content-type']?.includes('json') && bytes.length > 0 && !answer.headers['content-encoding']
          const json = isJson ? JSON.parse(bytes.toString()) : {}
          try {
            holdVisit(new URL(path, baseUrl), method, answer, bytes.toString())
          } catch (error) {
            return reject(error)
          }
          resolve({ status: answer.statusCode!, headers: answer.headers, text: bytes.toString(), json, bytes })
        })
      },
    )
    asked.on('error', reject).end(text)
  })
}

function holdVisit(url: URL, method: string, answer: IncomingMessage, text: string): void {
  const headers = new Headers(
    Object.entries(answer.headersDistinct).flatMap(([name, values = []]) => values.map((value): [string, string] => [name, value])),
  )
  if (isHeld(url, headers)) hold({ method, path: url.pathname, status: answer.statusCode!, headers, text })
}

/** The headers of the page and of the browser, besides the cookie. */
export const byPage = (baseUrl: string): Record<string, string> => ({
  'x-turnkeep-console': '1',
  'sec-fetch-site': 'same-origin',
  origin: new URL(baseUrl).origin,
})

export const signIn = (baseUrl: string, token = adminToken, more: Visit = {}): Promise<Visited> =>
  visit(baseUrl, '/admin/v1/session', { method: 'POST', body: { token }, ...more })

/** `turnkeep_session=…`, as a browser sends it back. */
export function cookieOf({ headers }: Visited): string {
  const [cookie = ''] = headers['set-cookie'] ?? []
  return cookie.split(';')[0]!
}
