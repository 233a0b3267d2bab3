/**
 * A company's identity provider: a real OpenID Connect provider on 127.0.0.1, which signs in whoever the test says without asking, and a browser
 * that follows its redirects with its own cookies. The test can change the ID token, which is then signed again with the provider's key.
 */
import { createHmac, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { createServer, request as httpRequest } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

type Claims = Record<string, unknown>
type Jwk = { kid: string; [field: string]: unknown }

export type IdentityProvider = {
  issuer: string
  clientId: string
  clientSecret: string
  /** Whom the provider signs in: `sub` and the other claims. */
  person: Claims & { sub: string }
  /** What the provider answers instead of signing in, such as `access_denied`. */
  refuses: string | undefined
  /** Changes the claims of ID tokens before they are signed. */
  tamper: ((claims: Claims) => Claims) | undefined
  /** Changes the header and signature of ID tokens: `none`, or with a key that is not the provider's. */
  forge: 'none' | 'other-key' | 'client-secret' | undefined
  /** Removes claims from the ID token, which are then only in UserInfo. */
  onlyInUserInfo: string[]
  /** Requests for a token wait until `release`. `waiting`: how many wait now. */
  holdTokens(): { waiting(): number; release(): void }
  /** How often each path was requested. */
  requests: Map<string, number>
  close(): Promise<void>
}

/** `redirectUris`: of the client. Listens before Turnkeep does, so they are given by `allow`. */
export async function startIdentityProvider(): Promise<IdentityProvider & { allow(redirectUri: string): void }> {
  const keys = [newKey('first'), newKey('other')] as const
  let handle: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => void response.writeHead(503).end()
  let waiting: (() => void)[] | undefined
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0]!
    provider.requests.set(path, (provider.requests.get(path) ?? 0) + 1)
    if (path === '/token' && waiting) return void waiting.push(() => handle(request, response))
    handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const provider = {
    issuer,
    clientId: 'turnkeep',
    clientSecret: 'a-secret-of-the-client',
    person: { sub: 'person-1', email: 'ada@acme.example', email_verified: true, name: 'Ada' } as Claims & { sub: string },
    refuses: undefined as string | undefined,
    tamper: undefined as ((claims: Claims) => Claims) | undefined,
    forge: undefined as IdentityProvider['forge'],
    onlyInUserInfo: [] as string[],
    requests: new Map<string, number>(),
    holdTokens() {
      const held: (() => void)[] = (waiting = [])
      return {
        waiting: () => held.length,
        release() {
          waiting = undefined
          for (const go of held) go()
        },
      }
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
    allow(redirectUri: string): void {
      const inner = makeProvider(issuer, redirectUri, provider, keys[0])
      const callback = inner.callback()
      handle = (request, response) => {
        if (request.url?.startsWith('/interaction/')) return void interact(inner, request, response, provider)
        if (request.url?.startsWith('/token') && (provider.tamper || provider.forge || provider.onlyInUserInfo.length > 0))
          changeIdToken(response, provider, keys)
        callback(request, response)
      }
    },
  }
  return provider
}

function makeProvider(issuer: string, redirectUri: string, provider: IdentityProvider, key: Jwk): Provider {
  const client = (id: string, secret: string): object => ({
    client_id: id,
    client_secret: secret,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code'],
    response_types: ['code'],
  })
  return new Provider(issuer, {
    clients: [client(provider.clientId, provider.clientSecret), client('another-client', 'another-secret-of-a-client')],
    jwks: { keys: [key] },
    cookies: { keys: ['a-key-for-cookies'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups', 'hd', 'realm_access'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ ...provider.person, sub: id }) }),
  })
}

/** Signs the person in and consents, or refuses. */
async function interact(inner: Provider, request: IncomingMessage, response: ServerResponse, provider: IdentityProvider): Promise<void> {
  const { params, prompt } = await inner.interactionDetails(request, response)
  if (provider.refuses !== undefined)
    return inner.interactionFinished(request, response, { error: provider.refuses, error_description: 'a text of the provider' })
  const accountId = provider.person.sub
  if (prompt.name === 'login') return inner.interactionFinished(request, response, { login: { accountId, remember: false } })
  const grant = new inner.Grant({ accountId, clientId: params.client_id })
  grant.addOIDCScope(params.scope)
  return inner.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
}

function changeIdToken(response: ServerResponse, provider: IdentityProvider, [own, other]: readonly [Jwk, Jwk]): void {
  const end = response.end.bind(response) as (body: string) => ServerResponse
  response.end = ((body: unknown) => {
    const answer = JSON.parse(String(body)) as { id_token?: string }
    if (answer.id_token !== undefined) {
      const claims = JSON.parse(Buffer.from(answer.id_token.split('.')[1]!, 'base64url').toString()) as Claims
      const kept = Object.fromEntries(Object.entries(claims).filter(([name]) => !provider.onlyInUserInfo.includes(name)))
      answer.id_token = signJwt(provider.tamper?.(kept) ?? kept, provider, own, other)
    }
    const text = JSON.stringify(answer)
    response.setHeader('content-length', Buffer.byteLength(text))
    return end(text)
  }) as typeof response.end
}

function signJwt(claims: Claims, { forge, clientSecret }: IdentityProvider, own: Jwk, other: Jwk): string {
  const alg = forge === 'none' ? 'none' : forge === 'client-secret' ? 'HS256' : 'RS256'
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg, kid: own.kid })}.${part(claims)}`
  if (forge === 'none') return `${text}.`
  if (forge === 'client-secret') return `${text}.${createHmac('sha256', clientSecret).update(text).digest('base64url')}`
  const key = createPrivateKey({ key: forge === 'other-key' ? other : own, format: 'jwk' })
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

const newKey = (kid: string): Jwk => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid,
  alg: 'RS256',
  use: 'sig',
})

export type Hop = { status: number; location: string | undefined; url: string; text: string }

/** A browser with one jar of cookies for each origin, which sends each cookie to the paths that it is for. */
export class RedirectFollower {
  readonly cookies = new Map<string, { value: string; path: string; attributes: string }>()
  readonly hops: Hop[] = []

  async get(url: string): Promise<Hop> {
    const { origin, pathname } = new URL(url)
    const sent = [...this.cookies].flatMap(([key, { value, path }]) => {
      const [at, name] = key.split(' ', 2) as [string, string]
      return at === origin && pathname.startsWith(path) ? [`${name}=${value}`] : []
    })
    const hop = await new Promise<Hop>((resolve, reject) => {
      const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', ...(sent.length > 0 && { cookie: sent.join('; ') }) }
      const asked = httpRequest(url, { headers, agent: false }, (answer) => {
        for (const line of answer.headers['set-cookie'] ?? []) this.#store(origin, pathname, line)
        let text = ''
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        answer.on('end', () => resolve({ status: answer.statusCode!, location: answer.headers.location, url, text })).on('error', reject)
      })
      asked.on('error', reject).end()
    })
    this.hops.push(hop)
    return hop
  }

  /** Follows redirects until a response is not one, or until one leads to `until`. Returns the last response. */
  async follow(url: string, until?: (next: string) => boolean): Promise<Hop> {
    let hop = await this.get(url)
    while (hop.location !== undefined) {
      const next = new URL(hop.location, hop.url).href
      if (until?.(next) || new URL(next).pathname.startsWith('/console')) return hop
      hop = await this.get(next)
    }
    return hop
  }

  #store(origin: string, requestPath: string, line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
    const at = pair.indexOf('=')
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
    const path = attributes.find((one) => /^path=/i.test(one))?.slice(5) ?? requestPath.replace(/\/[^/]*$/, '/')
    const isGone = attributes.some((one) => /^max-age=0$/i.test(one)) || value === ''
    if (isGone) this.cookies.delete(`${origin} ${name}`)
    else this.cookies.set(`${origin} ${name}`, { value, path, attributes: attributes.join('; ') })
  }
}
