/** Mutants of access and the rate window: who is let in, what a failing limiter returns, how a window counts. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const accessTest = 'store/access.test.ts'
const windowTest = 'unit/rate-window.test.ts'

export const accessMutants: Mutant[] = [
  {
    rule: 'order.authentication',
    removes: 'a key that cannot be looked up is not treated as a wrong key',
    edits: [
      edit(
        "if (found === 'unavailable') return { kind: 'service_unavailable' }",
        "if (found === 'unavailable') return { kind: 'invalid_api_key' }",
      ),
    ],
    caughtBy: { file: accessTest, title: 'order.authentication: a key that cannot be looked up is service_unavailable' },
  },
  {
    rule: 'order.authentication',
    removes: 'other reads do not delay look-ups of API keys on PostgreSQL',
    edits: [edit("serviceRead(findApiKeys, 'key')", 'serviceRead(findApiKeys)')],
    caughtBy: {
      file: 'store/postgres-bounds.test.ts',
      title: 'order.authentication fault.pool-exhausted: postgres: 600 reads that wait delay no look-up of an API key',
    },
  },
  {
    rule: 'order.authentication',
    removes: 'a key is not accepted for longer than five seconds without the store',
    edits: [edit('known && ageOf(known) < maxUnconfirmedMs', 'known')],
    caughtBy: { file: 'unit/key-cache.test.ts', title: 'order.authentication: while the store does not answer, a key counts as it was' },
  },
  {
    rule: 'order.authentication',
    removes: 'a key that was not there is forgotten',
    edits: [edit('if (!found.key) kept.delete(keyId)', 'if (!found.key) kept.size')],
    caughtBy: { file: 'unit/key-cache.test.ts', title: 'order.authentication: a key that was not there when it was last read' },
  },
  {
    rule: 'order.authentication',
    removes: 'made-up keys do not delay known ones',
    edits: [edit('const queue = isKnown ? known : others', 'const queue = others')],
    caughtBy: { file: 'unit/key-cache.test.ts', title: 'order.authentication: made-up ids are read together, and after a key that was' },
  },
  {
    rule: 'order.authentication',
    removes: 'the secret is compared',
    edits: [edit('if (!key || !matches)', 'if (!key)')],
    caughtBy: { file: accessTest, title: 'order.authentication: unknown id, wrong secret, malformed, revoked' },
  },
  {
    rule: 'conversation.identity',
    removes: 'a second rotation leaves the first secret its grace period',
    edits: [edit('graceMs === 0 ? Number.MAX_SAFE_INTEGER : now', 'Number.MAX_SAFE_INTEGER')],
    caughtBy: { file: 'spec/admin-keys.test.ts', title: 'conversation.identity: each secret works until its own grace period ends' },
  },
  {
    rule: 'conversation.identity',
    removes: 'a rotated secret belongs to the same key',
    edits: [edit('makeApiKey(randomBytes, record.keyId)', 'makeApiKey(randomBytes)')],
    caughtBy: { file: 'spec/admin-keys.test.ts', title: 'conversation.identity: a key with a rotated secret keeps its history' },
  },
  {
    rule: 'rate.fail-closed',
    removes: 'an error of the rate limiter is not a pass',
    edits: [
      edit(
        "      return { kind: 'unavailable' }\n",
        "        return { kind: 'allowed', figures: { limit: asked.limit, remaining: 0, resetAt: 0 } }\n",
        { at: 'rate.fail-closed' },
      ),
    ],
    caughtBy: { file: accessTest, title: 'rate.fail-closed: an error or a timeout of the window is unavailable' },
  },
  {
    rule: 'rate.fail-closed',
    removes: 'the deadline of the limiter',
    edits: [edit('await within(windowDeadlineMs, ask(asked))', 'await ask(asked)')],
    caughtBy: { file: accessTest, title: 'rate.fail-closed: an error or a timeout of the window is unavailable' },
    symptom: 'hang',
  },
  {
    rule: 'rate.spend',
    removes: 'a 429 spends nothing',
    edits: [edit('if (allowed) window.accepted += 1', 'window.accepted += 1')],
    caughtBy: { file: windowTest, title: 'rate.spend: a refused request spends nothing' },
  },
  {
    rule: 'rate.window',
    removes: 'a refused request does not push the window further',
    edits: [edit('if (allowed) window.accepted += 1\n', 'if (allowed) window.accepted += 1\n    else window.openedAt = now\n')],
    caughtBy: { file: windowTest, title: 'rate.window: for any sequence of requests: never over the limit, never early' },
  },
  {
    rule: 'rate.window',
    removes: 'an obedient caller is never early',
    edits: [edit('Math.ceil((endOf(window) - now) / 1000)', 'Math.floor((endOf(window) - now) / 1000)')],
    caughtBy: { file: windowTest, title: 'rate.window: counts down, then refuses with the seconds to the end rounded up' },
  },
  {
    rule: 'rate.window',
    removes: "a window is opened by the key's first request, not by the clock",
    edits: [edit('const window = { openedAt: now,', 'const window = { openedAt: now - (now % (windowSeconds * 1000)),')],
    caughtBy: { file: windowTest, title: 'rate.window: is opened by the first request, not by the clock' },
  },
  {
    rule: 'rate.window',
    removes: 'the end is rounded up to whole seconds',
    edits: [edit('/ 1000) + 1\n', '/ 1000)\n')],
    caughtBy: { file: windowTest, title: 'rate.window: for any sequence of requests: never over the limit, never early' },
  },
]
