/** Mutants of the HTTP layer: the order of checks, IDs, bodies, headers of the rate limit. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const order = 'spec/http-order.test.ts'
const refusals = 'spec/http-refusals.test.ts'
const routes = 'routes.test.ts'
const bodyQueue = 'spec/http-body-queue.test.ts'
const largeBodies = 'unit/large-bodies.test.ts'
const limits = 'spec/admin-limits.test.ts'
const spelling = 'spec/http-spelling.test.ts'
const fields = 'contract/refused-fields.test.ts'

const agentCheck = "    if (agentOf && !isAgentOf(apiKey, agentOf(request))) throw new ApiError('agent_mismatch')\n"
const permissionCheck = "    if (request.method === 'POST' && apiKey.permission !== 'full') throw new ApiError('permission_denied')\n"
const spending = '    request.caller = { apiKey, figures: await spend(access, apiKey, reply) }\n'

export const httpLayerMutants: Mutant[] = [
  {
    rule: 'order.request-id',
    removes: 'nothing is run behind a request that may be read in two ways',
    edits: [edit('const fault = misread.has(raw.socket) ?', 'const fault = misread.has(raw.socket) && !misread ?')],
    caughtBy: {
      file: refusals,
      title: 'fault.request-smuggling order.request-id: a second request behind an ambiguous one, in one packet, is not run',
    },
  },
  {
    rule: 'unavailable.unknown',
    removes: 'a request that was not read while the process was blocked is answered with a retry error',
    edits: [edit('isLate(error) && standstill.isJustOver()', 'isLate(error) && !standstill')],
    caughtBy: {
      file: 'spec/http-standstill.test.ts',
      title: 'fault.event-loop-blocked unavailable.unknown: a request that arrived in part while the process stood still is 503',
    },
  },
  {
    rule: 'order.request-id',
    removes: 'what came in time is read, however long the process stood still',
    edits: [edit('    if (!isLate(error)) return refuseFor(error, socket)\n', '    if (error) return refuseFor(error, socket)\n')],
    caughtBy: {
      file: 'spec/http-standstill.test.ts',
      title: 'fault.event-loop-blocked fault.slow-requests order.request-id: a request that arrived in time is read',
    },
  },
  {
    rule: 'order.request-id',
    removes: 'an answer carries an id',
    edits: [edit("    reply.header('x-request-id', request.id)\n")],
    caughtBy: { file: routes, title: 'order.request-id: open addresses respond without a key, and HEAD as GET' },
  },
  {
    rule: 'order.request-id',
    removes: 'an id that the caller sent is ignored',
    edits: [
      edit('genReqId: options.newRequestId,', "genReqId: (raw) => raw.headers['x-request-id']?.toString() ?? options.newRequestId(),"),
    ],
    caughtBy: { file: order, title: 'order.request-id: an incoming X-Request-ID is ignored' },
  },
  {
    rule: 'order.request-id',
    removes: 'what the HTTP parser refuses has an id and the envelope',
    edits: [edit('    clientErrorHandler: refusals.refuseBytes,\n')],
    caughtBy: { file: refusals, title: 'order.request-id: NUL in a header (header injection) is 400 bad_request' },
  },
  {
    rule: 'admin.param',
    removes: 'a field that a schema refuses is named',
    edits: [edit('return invalid(fieldOf(path, found), describe(part, path, found))', 'return invalid(null, describe(part, path, found))')],
    caughtBy: {
      file: fields,
      title: 'admin.param: every field of every write is named if its value has another type, and if it is missing',
    },
  },
  {
    rule: 'admin.param',
    removes: 'a field that is refused behind the schemas is named',
    edits: [edit('{ param: param ?? undefined }', '{}')],
    caughtBy: { file: 'spec/admin-param.test.ts', title: 'admin.param: headers are named, and so is the field of a link' },
  },
  {
    rule: 'admin.param',
    removes: 'the envelope of the public API has no param',
    edits: [edit("route?.startsWith('/admin/v1/') ?? false", "route?.startsWith('/') ?? false")],
    caughtBy: { file: 'spec/admin-param.test.ts', title: 'admin.param: the envelope of the public API has no param' },
  },
  {
    rule: 'order.route',
    removes: 'an unknown route is answered before anything else',
    edits: [edit('if (!isOfRoute(request)) {', 'if (!isOfRoute(request) && raw.headers.authorization === undefined) {')],
    caughtBy: { file: order, title: 'order.route: an unknown route is 404 before authentication' },
  },
  {
    rule: 'order.spelling',
    removes: 'a path has one spelling',
    edits: [edit('if (!unusual.test(url)) return true', 'return true', { at: 'order.spelling' })],
    caughtBy: { file: spelling, title: 'order.spelling: another spelling of a route is 404, whoever asks' },
  },
  {
    rule: 'order.spelling',
    removes: 'a part is decoded more than once',
    edits: [edit('if (decoded === text) return true', 'if (decoded === text || text !== part) return true')],
    caughtBy: { file: spelling, title: 'order.spelling: another spelling of a route is 404, whoever asks' },
  },
  {
    rule: 'admin.limits',
    removes: 'a principal has a window of requests',
    edits: [
      edit(
        "if (outcome.kind === 'exceeded')\n      throw new ApiError('rate_limit_exceeded', tooOften",
        "if (false)\n      throw new ApiError('rate_limit_exceeded', tooOften",
      ),
    ],
    caughtBy: {
      file: limits,
      title: 'admin.limits: a token that has used its window gets 429 with the time to wait, and no one else does',
    },
  },
  {
    rule: 'admin.limits',
    removes: 'the requests in progress of a principal are limited',
    edits: [edit('if (before >= parallel) throw', 'if (before < 0) throw')],
    caughtBy: {
      file: limits,
      title: 'admin.limits: more requests in progress than allowed get 429, until one of them has ended; others are served',
    },
  },
  {
    rule: 'overload.bodies',
    removes: 'bodies that have not ended are limited',
    edits: [edit('if (!budget.allows(who, more, counted)) return', 'if (bytes < 0) return')],
    caughtBy: {
      file: limits,
      title: 'overload.bodies: an owner holds at most 16 MiB of bodies that do not end, on every route, and others are served',
    },
    symptom: 'hang',
  },
  {
    rule: 'overload.bodies',
    removes: 'one sender leaves uploads to the others',
    edits: [edit('if (underWay >= maxUploads || own >= maxOfOne)', 'if (underWay >= maxUploads)')],
    caughtBy: { file: limits, title: 'overload.bodies: one token uploads at most four files at the same time, and others still can' },
  },
  {
    rule: 'metrics.access',
    removes: 'a request without a token names this machine',
    edits: [edit('if (isLoopbackName(headers.host)) return', 'if (headers.authorization === undefined) return')],
    caughtBy: {
      file: 'spec/metrics.test.ts',
      title: 'metrics.access: without a token, the port of this machine serves requests with a loopback Host only',
    },
  },
  {
    rule: 'metrics.access',
    removes: 'the shared port and a port that others reach need the token',
    edits: [edit('needsNoToken: options.admin.openMetrics', 'needsNoToken: true')],
    caughtBy: {
      file: 'spec/metrics.test.ts',
      title: 'metrics.access: need the admin token on the shared port; without it the response is the 401 envelope',
    },
  },
  {
    rule: 'order.route',
    removes: 'a wrong method is 405',
    edits: [edit('if (methods.length === 0) return', 'return', { at: 'order.route' })],
    caughtBy: { file: routes, title: 'any other method of a known path is 405' },
  },
  {
    rule: 'order.authentication',
    removes: 'one same answer for every key that is not good',
    edits: [
      edit(
        '  const outcome = await access.authenticate(header)\n',
        "  const outcome = await access.authenticate(header)\n  if (header === undefined) throw new ApiError('invalid_api_key', 'The key is missing.')\n",
      ),
    ],
    caughtBy: { file: routes, title: 'order.authentication: 401 has the same body on every route, for every wrong key' },
  },
  {
    rule: 'order.permission',
    removes: "the path's agent is compared with the key's",
    edits: [edit(agentCheck)],
    caughtBy: { file: order, title: 'another agent is 403 agent_mismatch before the permission' },
  },
  {
    rule: 'order.permission',
    removes: 'a read-only key may not chat',
    edits: [edit(permissionCheck)],
    caughtBy: { file: order, title: 'a read-only key is 403 permission_denied before the limiter' },
  },
  {
    rule: 'order.permission',
    removes: 'the agent comes before the permission',
    edits: [edit(agentCheck), edit(permissionCheck, permissionCheck + agentCheck)],
    caughtBy: { file: order, title: 'another agent is 403 agent_mismatch before the permission' },
  },
  {
    rule: 'order.rate-limit',
    removes: 'the window is asked before the body is read',
    edits: [
      edit("api.addHook('onRequest', admitCaller(access, agentInPath))", "api.addHook('preValidation', admitCaller(access, agentInPath))"),
    ],
    caughtBy: { file: order, title: 'an exhausted window is 429 before the body is read' },
  },
  {
    rule: 'order.rate-limit',
    removes: 'a refusal closes a connection whose body is unread',
    edits: [edit('  closeIfUnread(request.raw, reply.raw)\n', '', { at: 'order.rate-limit' })],
    caughtBy: { file: 'spec/http-unread-body.test.ts', title: '200 MB sent behind a 429' },
    symptom: 'hang',
  },
  {
    rule: 'order.body-size',
    removes: 'the limit of 1 MiB',
    edits: [edit('bodyLimitBytes = 1_048_576', 'bodyLimitBytes = 8_388_608', { at: 'order.body-size' })],
    caughtBy: { file: order, title: 'a body over 1 MiB is 413 before the Idempotency-Key is read' },
  },
  {
    rule: 'order.body-size',
    removes: 'what is too large is refused before all of it is read',
    edits: [
      edit("  if (Number(request.headers['content-length']) > limitBytes) throw tooLarge(limitBytes)\n"),
      edit(
        '      stop()\n      request.pause()\n      if (problem) reject(problem)\n      else resolve(buffer.subarray(0, size))\n',
        "      request.once('end', () => reject(problem))\n",
      ),
    ],
    caughtBy: { file: 'spec/http-unread-body.test.ts', title: '200 MB sent behind a 413' },
    symptom: 'hang',
  },
  {
    rule: 'order.validation',
    removes: 'the Idempotency-Key is read before the JSON',
    edits: [
      edit(
        '    request.body = await readJson(request, reply, () => void (request.idempotencyKey = readIdempotencyKey(request.raw)))\n',
        '    request.body = await readJson(request, reply)\n    request.idempotencyKey = readIdempotencyKey(request.raw)\n',
        { at: 'order.validation' },
      ),
    ],
    caughtBy: { file: order, title: '422 names the first of: Idempotency-Key, content type, JSON, fields' },
  },
  {
    rule: 'order.validation',
    removes: 'a second content type and a compressed body are refused',
    edits: [edit('  refuseAmbiguousContent(raw)\n', '', { at: 'order.validation-2' })],
    caughtBy: { file: 'spec/http-body.test.ts', title: 'a second Content-Type and any Content-Encoding but identity are refused' },
  },
  {
    rule: 'order.validation',
    removes: 'the values of a body are counted before it is parsed',
    edits: [edit('  if (values > maxValues) throw', '  if (values > Infinity) throw')],
    caughtBy: { file: 'spec/http-body-cost.test.ts', title: 'a message of 256 values is read, and one of 257 is refused' },
  },
  {
    rule: 'overload.bodies',
    removes: 'owners take turns',
    edits: [edit("largeParses.push(parseLater, senderOf(request) ?? '')", "largeParses.push(parseLater, '')")],
    caughtBy: { file: largeBodies, title: 'owners and operators take turns, whoever has sent more' },
  },
  {
    rule: 'overload.bodies',
    removes: 'all large bodies have a limit',
    edits: [edit('this.#total + more <= this.#maxOfAll', 'more <= this.#maxOfAll')],
    caughtBy: { file: 'unit/byte-budget.test.ts', title: 'one and all have a limit' },
  },
  {
    rule: 'overload.bodies',
    removes: 'the bodies of others do not count against the first body of an owner',
    edits: [edit('held === same || (held', 'held < 0 || (held')],
    caughtBy: { file: 'unit/byte-budget.test.ts', title: 'one and all have a limit, and who holds nothing' },
  },
  {
    rule: 'overload.bodies',
    removes: 'what was parsed no longer counts',
    edits: [edit('budget.add(who, -counted)', 'budget.add(who, 0)')],
    caughtBy: { file: bodyQueue, title: 'what an owner has finished, and what it broke off, no longer counts' },
  },
  {
    rule: 'overload.bodies',
    removes: 'an unfinished body no longer counts when its request was answered',
    edits: [edit("    if (unfinished) response.once('close', onGone)\n")],
    caughtBy: { file: bodyQueue, title: 'what an owner has finished, and what it broke off, no longer counts' },
  },
  {
    rule: 'overload.bodies',
    removes: 'other requests run between two large bodies',
    edits: [edit("    await nextTick()\n    return [{ kind: 'parsed'", "    return [{ kind: 'parsed'")],
    caughtBy: { file: largeBodies, title: 'the event loop runs other work between two large bodies' },
  },
  {
    rule: 'overload.bodies',
    removes: 'the body of a caller that has left is not parsed',
    edits: [edit("    if (request.raw.socket.destroyed) throw new ApiError('bad_request')\n")],
    caughtBy: { file: largeBodies, title: 'the body of a caller that has left is not parsed' },
  },
  {
    rule: 'order.validation',
    removes: 'nothing unknown is dropped',
    edits: [edit('removeAdditional: false, coerceTypes', 'removeAdditional: true, coerceTypes')],
    caughtBy: { file: 'spec/http-body.test.ts', title: 'a body is refused: {"external_user_id":"u","message":"m","attachments":[]}' },
  },
  {
    rule: 'order.validation',
    removes: 'nothing is coerced',
    edits: [edit('coerceTypes: false, discriminator', 'coerceTypes: true, discriminator')],
    caughtBy: { file: 'spec/http-body.test.ts', title: 'a body is refused: {"external_user_id":"u","message":1}' },
  },
  {
    rule: 'order.validation',
    removes: 'a field occurs once',
    edits: [edit("  if (countNames(value, depth) < names) throw invalid(null, 'The body contains the same field more than once.')\n")],
    caughtBy: { file: 'spec/http-body.test.ts', title: 'a body is refused: {"external_user_id":"u","message":"m","message":"n"}' },
  },
  {
    rule: 'order.validation',
    removes: 'a field of an inner object occurs once',
    edits: [
      edit('  if (depth > 1) for (const inner of Object.values(value)) names += countNames(inner, depth - 1)\n'),
      edit('          this.names++', '          if (this.#level === 1) this.names++', { at: 'order.validation-3' }),
    ],
    caughtBy: { file: 'unit/json-shape.test.ts', title: 'order.validation: duplicate names are counted in every object, in any spelling' },
  },
  {
    rule: 'rate.spend',
    removes: 'what is refused before the window spends nothing',
    edits: [edit(spending, '', { at: 'rate.spend' }), edit(agentCheck, spending + agentCheck)],
    caughtBy: { file: order, title: 'rate.spend: every request that passes the permission check spends one unit' },
  },
  {
    rule: 'rate.spend',
    removes: 'a read spends too',
    edits: [
      edit(
        'figures: await spend(access, apiKey, reply) }',
        "figures: request.method === 'GET' ? { limit: 1, remaining: 1, resetAt: 1 } : await spend(access, apiKey, reply) }",
        { at: 'rate.spend' },
      ),
    ],
    caughtBy: { file: order, title: 'rate.spend: every request that passes the permission check spends one unit' },
  },
  {
    rule: 'rate.headers',
    removes: 'a 402 and a 409 carry no figures',
    edits: [
      edit(
        '      throw refusalOf(request, started)\n',
        '      reply.headers(rateHeaders(request.caller.figures))\n      throw refusalOf(request, started)\n',
      ),
    ],
    caughtBy: { file: order, title: 'rate.headers stream.established: a refused turn is not a stream and carries no rate limit headers' },
  },
  {
    rule: 'rate.headers',
    removes: 'an event stream carries no figures',
    edits: [
      edit("      'x-accel-buffering': 'no',\n", "      'x-accel-buffering': 'no',\n      'x-ratelimit-limit': '120',\n", {
        at: 'rate.headers',
      }),
    ],
    caughtBy: { file: order, title: "rate.headers: 200 JSON carries the rate limit headers and the turn's request id" },
  },
  {
    rule: 'rate.headers',
    removes: 'a 200 of JSON carries the figures',
    edits: [edit('    .headers(rateHeaders(request.caller.figures))\n', '', { at: 'rate.headers-2' })],
    caughtBy: { file: order, title: "rate.headers: 200 JSON carries the rate limit headers and the turn's request id" },
  },
  {
    rule: 'rate.headers',
    removes: 'a 429 carries the figures',
    edits: [edit('      reply.headers(rateHeaders(outcome.figures))\n')],
    caughtBy: { file: order, title: 'rate.headers: 429 carries the rate limit headers and Retry-After as computed' },
  },
  {
    rule: 'rate.fail-closed',
    removes: 'unavailable is a 503 and never a 429',
    edits: [edit("throw new ApiError('api_rate_limit_unavailable')", "throw new ApiError('rate_limit_exceeded')")],
    caughtBy: { file: order, title: 'rate.fail-closed: an unavailable limiter is 503 before the body is read' },
  },
  {
    rule: 'idempotency.key-text',
    removes: 'exactly one header',
    edits: [edit("countHeader(request, 'idempotency-key') > 1", "countHeader(request, 'idempotency-key') > 2")],
    caughtBy: {
      file: refusals,
      title: 'fault.header-invalid idempotency.key-text: two headers, an empty, a 256-character or a control character one are',
    },
  },
  {
    rule: 'idempotency.key-text',
    removes: 'no control characters',
    edits: [
      edit(
        "  if (/\\p{Cc}/u.test(text)) throw invalid('Idempotency-Key', 'The Idempotency-Key header must not contain control characters.')\n",
      ),
    ],
    caughtBy: {
      file: refusals,
      title: 'fault.header-invalid idempotency.key-text: two headers, an empty, a 256-character or a control character one are',
    },
  },
  {
    rule: 'idempotency.key-text',
    removes: 'bytes that are not UTF-8 are latin1',
    edits: [edit('return isUtf8(bytes) ? bytes.toString() : header', 'return bytes.toString()')],
    caughtBy: { file: 'unit/idempotency-key.test.ts', title: 'idempotency.key-text: bytes that are not UTF-8 are latin1' },
  },
  {
    rule: 'idempotency.key-text',
    removes: 'lengths are code points',
    edits: [edit("text === '' || isLongerThan(text, longest)", "text === '' || text.length > longest")],
    caughtBy: { file: refusals, title: 'idempotency.key-text: any other text is taken as it is: quotes, case, commas, UTF-8, latin1' },
  },
  {
    rule: 'idempotency.replay',
    removes: 'a replay has the first id in its header',
    edits: [edit("'x-request-id': stored.requestId", "'x-request-id': request.id")],
    caughtBy: {
      file: 'spec/4-2-stream.test.ts',
      title: 'idempotency.replay: a stream sends created, then completed with the stored result and no',
    },
  },
  {
    rule: 'text.well-formed',
    removes: 'the provider of a model has no control characters',
    edits: [edit("'^[^/\\\\s\\\\u0000-\\\\u001f\\\\p{Cs}]+/", "'^[^/\\\\s]+/")],
    caughtBy: { file: 'spec/admin-ids.test.ts', title: 'text.well-formed: a provider with U+0000 in the name of a model' },
  },
  {
    rule: 'text.well-formed',
    removes: 'half a surrogate pair is refused',
    edits: [edit("'^[^\\\\u0000\\\\p{Cs}]*$'", "'^[^\\\\u0000]*$'")],
    caughtBy: { file: 'spec/http-body.test.ts', title: 'a body is refused: {"external_user_id":"u","message":"\\ud800"}' },
  },
  {
    rule: 'text.well-formed',
    removes: 'U+0000 is refused',
    edits: [edit("'^[^\\\\u0000\\\\p{Cs}]*$'", "'^[^\\\\p{Cs}]*$'")],
    caughtBy: { file: 'spec/http-body.test.ts', title: 'a body is refused: {"external_user_id":"u","message":"a\\u0000b"}' },
  },
  {
    rule: 'text.well-formed',
    removes: 'bytes that are not UTF-8 are refused',
    edits: [edit("  if (!isUtf8(bytes)) throw invalid(null, 'The body must be valid UTF-8.')\n")],
    caughtBy: {
      file: 'spec/http-body.test.ts',
      title: 'fault.body-not-utf8 text.well-formed: bytes that are not UTF-8, a byte order mark and UTF-16 are refused',
    },
  },
  {
    rule: 'conversation.identity',
    removes: 'the two texts reach the turn exactly as they were sent',
    edits: [
      edit(
        'const { external_user_id: externalUserId, message } = request.body\n',
        "const { message } = request.body\n  const externalUserId = request.body.external_user_id.normalize('NFC').trim()\n",
      ),
    ],
    caughtBy: { file: 'spec/http-body.test.ts', title: 'lengths are code points, and white space is text' },
  },
  {
    rule: 'order.pipelining',
    removes: 'the limit of requests in progress',
    edits: [edit('const maxRunning = 8', 'const maxRunning = 8000', { at: 'order.pipelining' })],
    caughtBy: {
      file: 'spec/unauthenticated.test.ts',
      title: 'order.pipelining: a connection has eight requests in progress; the others wait and are answered in order',
    },
  },
  {
    rule: 'order.pipelining',
    removes: 'the limit of waiting requests',
    edits: [edit('if (pipeline.waiting.length === maxWaiting) return void socket.destroy()\n')],
    caughtBy: {
      file: 'spec/unauthenticated.test.ts',
      title: 'order.pipelining: a connection that sends more than 32 requests ahead of their responses is closed, and others are served',
    },
    symptom: 'hang',
  },
  {
    rule: 'order.pipelining',
    removes: 'the limits count a request with an Expect header',
    edits: [edit("['checkContinue', 'checkExpectation']", "['checkContinue']")],
    caughtBy: {
      file: 'spec/unauthenticated.test.ts',
      title: 'order.pipelining: a flood on one connection closes it, whatever event the HTTP parser emits: checkExpectation',
    },
  },
]
