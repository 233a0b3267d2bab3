/** Mutants of the console's sessions: what a cookie allows, how long it is valid, and how many wrong tokens are allowed. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const unauthenticated = 'spec/unauthenticated.test.ts'
const file = 'spec/console-session.test.ts'
const endsTest = 'spec/access-ends.test.ts'
const watchUnit = 'unit/access-watch.test.ts'

/** Counts and delays everything like a wrong guess, and then accepts what is right. */
const limited = (isWrong: string): string =>
  `brake.refuse(request).catch((error: unknown) => { if (${isWrong} || (error instanceof ApiError && error.code !== 'unauthorized')) throw error })`

export const sessionMutants: Mutant[] = [
  {
    rule: 'session.origin',
    removes: 'a cookie needs the header that only our own page sends',
    edits: [edit("  if (request.headers['x-turnkeep-console'] !== '1') return false\n")],
    caughtBy: { file, title: "session.origin: without the page's header" },
  },
  {
    rule: 'session.origin',
    removes: 'what the browser says of the site that asks',
    edits: [edit("  if (site !== undefined && site !== 'same-origin') return true\n")],
    caughtBy: { file, title: 'session.origin: from another site a request' },
  },
  {
    rule: 'session.origin',
    removes: 'the origin is compared with the host',
    edits: [edit('headers.origin !== undefined && !isAtHost(headers.origin, headers.host)', 'isAtHost === undefined')],
    caughtBy: { file, title: 'session.origin: from another origin a request' },
  },
  {
    rule: 'session.origin',
    removes: 'a wrong token does not become right by a cookie',
    edits: [edit('request.headers.authorization === undefined ? readSessionSecret(request) : undefined', 'readSessionSecret(request)')],
    caughtBy: { file, title: 'session.origin: with an Authorization header the token alone decides' },
  },
  {
    rule: 'session.ends',
    removes: 'a session is over after its time',
    edits: [edit('and s.expires_at > $1', 'and s.expires_at > $1 - 86400000')],
    caughtBy: { file, title: "session.ends: a session ends after 12 hours by the store's clock on every process" },
  },
  {
    rule: 'session.ends',
    removes: 'a changed admin token ends every session',
    edits: [edit("createHmac('sha256', adminToken)", "createHmac('sha256', `${adminToken.length > 0}`)", { at: 'session.ends' })],
    caughtBy: { file, title: 'session.ends: a session survives a restart; a changed admin token ends it' },
  },
  {
    rule: 'session.ends',
    removes: 'a sign-out ends it where everybody looks',
    edits: [
      edit("'delete from console_sessions where id = $1 and (", "'delete from console_sessions where id = $1 and expires_at < 0 and ("),
    ],
    caughtBy: { file, title: 'session.ends: sign-out ends the session and clears the cookie' },
  },
  {
    rule: 'session.ends',
    removes: 'an unavailable store is not treated as a wrong cookie',
    edits: [edit('(await known.findSession(secret)) ??', '(await known.findSession(secret).catch(() => undefined)) ??')],
    caughtBy: { file, title: 'session.ends: while the store is unavailable a session is 503, never 401' },
  },
  {
    rule: 'session.guesses',
    removes: 'wrong tokens after the tenth get 429',
    edits: [edit('if (!window || window.wrong < maxWrong) return undefined', 'if (!window || maxWrong > 0) return undefined')],
    caughtBy: { file, title: 'session.guesses: after ten wrong tokens, further wrong ones of the address get 429' },
  },
  {
    rule: 'session.guesses',
    removes: 'each address has a count of its own',
    edits: [edit("const address = request.raw.socket.remoteAddress ?? ''", "const address = ''")],
    caughtBy: { file, title: 'session.guesses: after ten wrong tokens, further wrong ones of the address get 429' },
  },
  {
    rule: 'session.guesses',
    removes: 'what is remembered is bounded',
    edits: [edit('      if (windows.size >= maxAddresses) windows.delete(windows.keys().next().value!)\n')],
    caughtBy: { file: 'unit/guess-limit.test.ts', title: 'session.guesses: many addresses do not exhaust memory: the oldest is forgotten' },
  },
  {
    rule: 'session.guesses',
    removes: 'the right token is compared before the limit',
    edits: [
      edit(
        '    const result = await check()\n',
        "    if (guesses.waitSeconds(address)) throw new ApiError('unauthorized')\n    const result = await check()\n",
      ),
    ],
    caughtBy: { file, title: 'session.guesses: after ten wrong tokens, further wrong ones of the address get 429' },
  },
  {
    rule: 'admin.guesses',
    removes: 'wrong tokens wait',
    edits: [edit('if (guesses.waitSeconds(address) !== undefined) {', 'if (maxDelayed === 0) {')],
    caughtBy: {
      file: unauthenticated,
      title: 'admin.guesses: wrong tokens are delayed after the tenth, eight at a time; a right one is not',
    },
  },
  {
    rule: 'admin.guesses',
    removes: 'few wait at the same time',
    edits: [edit('const maxDelayed = 8', 'const maxDelayed = 8000', { at: 'admin.guesses' })],
    caughtBy: {
      file: unauthenticated,
      title: 'admin.guesses: wrong tokens are delayed after the tenth, eight at a time; a right one is not',
    },
  },
  {
    rule: 'admin.guesses',
    removes: 'a right token is not subject to the limit',
    edits: [
      edit(
        'if (isAdminToken(token)) return adminTokenPrincipal',
        `await ${limited('!isAdminToken(token)')}\n    if (isAdminToken(token)) return adminTokenPrincipal`,
      ),
    ],
    caughtBy: {
      file: unauthenticated,
      title: 'admin.guesses: while guesses of the same address wait, the right token and a session are served, also at /metrics',
    },
  },
  {
    rule: 'admin.guesses',
    removes: 'a session is not subject to the limit',
    edits: [
      edit(
        'const found = (await known.findSession(secret)) ?? (await brake.refuse(request))\n',
        `const found = (await known.findSession(secret))!\n    await ${limited('!found')}\n`,
      ),
    ],
    caughtBy: {
      file: unauthenticated,
      title: 'admin.guesses: while guesses of the same address wait, the right token and a session are served, also at /metrics',
    },
  },
  {
    rule: 'operator.ends-streams',
    removes: 'open responses are asked about at all',
    edits: [edit('} else if (!isAsking) check()', '}'), edit('if (open.size > 0) check()\n    },', '},')],
    caughtBy: { file: watchUnit, title: 'operator.ends-streams: a token that is gone' },
  },
  {
    rule: 'operator.ends-streams',
    removes: 'the permission of the route is still needed',
    edits: [edit('    checkNeeds(now, route)\n', '', { at: 'operator.ends-streams' })],
    caughtBy: { file: watchUnit, title: 'operator.ends-streams: a token that may do less' },
  },
  {
    rule: 'operator.ends-streams',
    removes: 'the restriction is still the same',
    edits: [edit('now.scope?.ownerId !== principal.scope?.ownerId || now.scope?.agentId !== principal.scope?.agentId', 'false')],
    caughtBy: { file: watchUnit, title: 'operator.ends-streams: a token for another owner' },
  },
  {
    rule: 'operator.ends-streams',
    removes: 'a write that is being made is answered',
    edits: [
      edit(
        "request.method === 'GET' || request.method === 'HEAD' || !request.raw.complete || request.isForCallerOnly",
        "request.method !== ''",
      ),
    ],
    caughtBy: { file: watchUnit, title: 'operator.ends-streams: a token that is gone' },
  },
  {
    rule: 'operator.ends-streams',
    removes: 'a store that does not answer is waited for only so long',
    edits: [edit('if (now - one.confirmedAt > times.maxUnknownMs)', 'if (now < one.confirmedAt)')],
    caughtBy: { file: watchUnit, title: 'operator.ends-streams: a store that fails' },
  },
  {
    rule: 'operator.ends-streams',
    removes: 'a stream ends with an error event',
    edits: [
      edit(
        'access ? await Promise.race([run.end, refusal(access)]) : await run.end',
        'access?.aborted ? await refusal(access) : await run.end',
      ),
    ],
    caughtBy: { file: endsTest, title: 'operator.ends-streams: the token is revoked' },
  },
  {
    rule: 'operator.ends-streams',
    removes: 'a preview and a rerun end at the model',
    edits: [edit('return request.access ? AbortSignal.any([gone, request.access]) : gone', 'return gone')],
    caughtBy: { file: endsTest, title: 'operator.ends-streams: the token is revoked' },
  },
]
