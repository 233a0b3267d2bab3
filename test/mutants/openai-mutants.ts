/** Mutants of the OpenAI endpoints: what they refuse, whom they serve, what a retry joins, and the numbers of events. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const completions = 'spec/openai-completions.test.ts'
const responses = 'spec/openai-responses.test.ts'
const refusals = 'spec/openai-refusals.test.ts'
const streams = 'spec/openai-streams.test.ts'
const attempts = 'openai/another-attempt.test.ts'

export const openAiMutants: Mutant[] = [
  {
    rule: 'openai.model-is-the-agent',
    removes: 'another model is refused',
    edits: [edit('  if (isAgentOf(apiKey, model)) return\n  throw', '  if (apiKey) return\n  throw')],
    caughtBy: { file: completions, title: 'openai.model-is-the-agent: the model is the ID of the agent or the slug' },
  },
  {
    rule: 'openai.model-is-the-agent',
    removes: 'a key sees its own responses only',
    edits: [
      edit(
        '  requestId,\n  ...readerOf(request),\n})',
        '  requestId,\n  ...readerOf(request),\n  apiKeyId: undefined as unknown as string,\n})',
        { at: 'openai.model-is-the-agent' },
      ),
    ],
    caughtBy: { file: responses, title: 'openai.model-is-the-agent: a key sees only the responses that it created' },
  },
  {
    rule: 'openai.user',
    removes: 'a request without a user is refused',
    edits: [edit('if (externalUserId !== null) return externalUserId', "return externalUserId ?? 'someone'")],
    caughtBy: { file: completions, title: 'openai.user: user, or safety_identifier, or the default of the key' },
  },
  {
    rule: 'openai.conversation',
    removes: 'a previous response is one of the user',
    edits: [edit('status?.externalUserId === externalUserId) return requestId', 'status && externalUserId) return requestId')],
    caughtBy: { file: responses, title: 'openai.conversation: previous_response_id and conversation must be those of the user' },
  },
  {
    rule: 'openai.refused-parameters',
    removes: 'what would change the agent is refused',
    edits: [
      edit(
        "if (parameter.does === 'refused' && !isAccepted) throw unsupported(name, parameter.note)",
        "if (parameter.does === 'refused') continue",
      ),
    ],
    caughtBy: { file: refusals, title: 'openai.refused-parameters: what would change the agent is refused by its name' },
    symptom: 'throws',
  },
  {
    rule: 'openai.refused-parameters',
    removes: 'a system message is refused',
    edits: [edit("(item['role'] !== 'system' && item['role'] !== 'developer')", "item['role'] !== 'developer'")],
    caughtBy: { file: refusals, title: 'openai.refused-parameters: a last message that is not text of the user is refused' },
  },
  {
    rule: 'openai.errors',
    removes: 'a failure has the form of OpenAI',
    edits: [edit('url !== undefined && openAiPath.test(url)', 'url !== undefined && !openAiPath.test(url)')],
    caughtBy: { file: refusals, title: 'openai.errors order.route: a wrong method is 405 before authentication' },
  },
  {
    rule: 'openai.errors',
    removes: 'an endpoint that does not exist here is not the ID of a response',
    edits: [edit('unsupportedPath.test(url) ? new OpenAiError', 'unsupportedPath.test(url.slice(1)) ? new OpenAiError')],
    caughtBy: { file: 'field/clients.test.ts', title: 'openai.errors: an endpoint of OpenAI that does not exist here is 404 and says so' },
  },
  {
    rule: 'openai.should-retry',
    removes: 'a conflict is not worth a retry',
    edits: [edit("new Set<FailureCode>(['idempotency_conflict', 'turn_cancelled'])", "new Set<FailureCode>(['turn_cancelled'])")],
    caughtBy: { file: completions, title: 'openai.should-retry: conflicts must not be retried' },
  },
  {
    rule: 'openai.retry-joins',
    removes: 'a retry looks for its first try',
    edits: [edit('const first = retries > 0 ?', 'const first = retries > 0 && !apiKeyId ?')],
    caughtBy: { file: completions, title: 'openai.retry-joins: a retry of the client without a key joins' },
  },
  {
    rule: 'openai.retry-joins',
    removes: 'only a retry joins',
    edits: [edit('retries > 0 ? await findWithin(joinsWithinMs(retries))', 'apiKeyId ? await findWithin(joinsWithinMs(retries + 1))')],
    caughtBy: { file: completions, title: 'openai.retry-joins: a retry of the client without a key joins' },
  },
  {
    rule: 'openai.retry-joins',
    removes: 'another body is another request',
    edits: [edit('JSON.stringify([externalUserId, bodyDigest])', 'JSON.stringify([externalUserId, bodyDigest.length])')],
    caughtBy: { file: completions, title: 'openai.retry-joins: a retry of the client without a key joins' },
  },
  {
    rule: 'openai.retry-joins',
    removes: 'no caller can send a key that the server makes',
    edits: [edit('`\\u0001${hash(', '`${hash(')],
    caughtBy: { file: completions, title: 'openai.retry-joins: a retry joins nothing of another key, and no Idempotency-Key of a caller' },
  },
  {
    rule: 'openai.retry-joins',
    removes: 'a turn is joined for eleven minutes per retry',
    edits: [
      edit(
        "if (!row || integer(row, 'created_at') + withinMs < (await sql.now())) return undefined",
        'if (!row || withinMs === (await sql.now())) return undefined',
      ),
    ],
    caughtBy: { file: completions, title: 'openai.retry-joins: a retry of the client without a key joins' },
  },
  {
    rule: 'openai.retry-joins',
    removes: 'a turn that has ended answers a retry that joins it',
    edits: [edit('end: Promise.resolve(endOf(status))', 'end: new Promise(() => endOf(status))')],
    caughtBy: { file: completions, title: 'openai.retry-joins: a turn that ends while its retry looks for it answers the retry' },
  },
  {
    rule: 'openai.retry-joins',
    removes: 'a later retry looks back further',
    edits: [edit('Math.min(retries, maxRetries) * perRetryMs', 'Math.min(retries, 1) * perRetryMs')],
    caughtBy: { file: completions, title: 'openai.retry-joins: a retry of the client without a key joins' },
  },
  {
    rule: 'openai.retry-joins',
    removes: 'a refusal is not repeated if its retry would join an earlier equal message',
    edits: [
      edit(
        'throw new NotRepeated(started.code, undefined, blockingTurn(started.code, started.blockedBy, request.caller))',
        'return started',
      ),
    ],
    caughtBy: { file: completions, title: 'openai.retry-joins: a message that was refused does not get the reply' },
  },
  {
    rule: 'openai.retry-joins',
    removes: 'a message that is stored after all is repeated',
    edits: [edit('newest && newest.idempotencyKey !== ownKey', 'newest && ownKey')],
    caughtBy: { file: completions, title: 'openai.retry-joins: a refusal may be repeated if there is no earlier equal message' },
  },
  {
    rule: 'openai.retry-joins',
    removes: 'a retry without a stream has an answer in time',
    edits: [edit('turn: stream ? turn :', 'turn: limits.answerMs > 0 ? turn :')],
    caughtBy: { file: completions, title: 'openai.retry-joins: a retry that joins a turn of another process' },
  },
  {
    rule: 'openai.resume',
    removes: 'a client with text of an attempt gets none of another',
    edits: [edit('turn.fence === fence ? onText(text, position) : onReset()', 'turn.fence >= fence ? onText(text, position) : onReset()')],
    caughtBy: { file: attempts, title: 'openai.resume: a client with text of one attempt gets no text of another one that starts after' },
  },
  {
    rule: 'openai.resume',
    removes: 'the end of a turn says which attempt its text is of',
    edits: [edit('finish(endOf(status), status.fence)', 'finish(endOf(status))')],
    caughtBy: {
      file: attempts,
      title: 'openai.resume: a client with text of one attempt gets no text of another one of which only the end',
    },
  },
  {
    rule: 'openai.resume',
    removes: 'an attempt that was taken over is not followed',
    edits: [edit('running.fence >= status.fence', 'running.fence <= status.fence')],
    caughtBy: { file: attempts, title: 'openai.resume: the numbers of an attempt have its text' },
  },
  {
    rule: 'openai.resume',
    removes: 'an error that is not the end has no number of an event',
    edits: [edit('Math.max(this.#textNumber(this.#sent.pieces) - 1, this.#after)', 'this.#freeNumber')],
    caughtBy: { file: streams, title: 'openai.resume: after an error that is not the end of the response' },
  },
  {
    rule: 'openai.resume',
    removes: 'each attempt has numbers of its own',
    edits: [edit('this.#base = (fence - 1) * numbersPerAttempt', 'this.#base = (fence - fence) * numbersPerAttempt')],
    caughtBy: { file: responses, title: 'openai.resume: after another attempt, an event of the first is refused' },
  },
  {
    rule: 'openai.resume',
    removes: 'text that was shown is not followed by another one',
    edits: [edit('if (isShown) return', 'if (isShown && this.#after < -1) return', { at: 'openai.resume' })],
    caughtBy: { file: streams, title: 'openai.resume: /v1/responses starts again silently before any text' },
  },
  {
    rule: 'openai.resume',
    removes: 'a piece ends where the text says',
    edits: [edit('(!Number.isNaN(next) && !isOfWord(next))', '!isOfWord(next)')],
    caughtBy: { file: streams, title: 'openai.resume: where a text is cut depends on the text alone' },
  },
  {
    rule: 'openai.same-turn',
    removes: 'what was dropped for a slow reader comes before the end',
    edits: [edit('const rest = reply.content.slice(this.#sent)', 'const rest = reply.content.slice(this.#next)')],
    caughtBy: { file: streams, title: 'openai.same-turn stream.slow-reader: /v1/chat/completions drops deltas' },
  },
  {
    rule: 'openai.clients',
    removes: 'the last chunk has a reason',
    edits: [edit('${this.#write({}, finishReason(reply))}${usage}', '${usage}')],
    caughtBy: {
      file: 'openai/official-client.test.ts',
      title: 'openai.clients: the official client lists the model, completes and streams',
    },
    symptom: 'throws',
  },
]
