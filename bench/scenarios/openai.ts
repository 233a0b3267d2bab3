/** What the format of OpenAI's clients costs: the same turns through the chat endpoints and through both of OpenAI's, beside peers. */
import { firstToken, lastToken, marks } from '../call.ts'
import { startContenders } from '../contenders.ts'
import type { Call, Mode, Scenario, Tenant } from '../scenario.ts'
import { sideBySide } from '../side-by-side.ts'
import type { Lane } from '../side-by-side.ts'

const callers = 64
const modes = ['sync', 'stream'] as const

export const openai: Scenario = {
  name: 'openai',
  sentence: `The same turns through each wire format, sync and streamed, ${callers} callers.`,
  async run(bench) {
    const { servers, peers, notes } = await startContenders(bench)
    const [server] = servers
    const lanes = modes.flatMap((mode): Lane[] => {
      const lane = (target: Lane['target'], format: string, call: Call): Lane => ({
        labels: { server: target.name, format, mode },
        target,
        spec: { calls: [call], callers: bench.quick ? 16 : callers, seconds: bench.seconds },
      })
      return [
        lane(server, 'chat', server.call(mode)),
        lane(server, 'Chat Completions', completion(server.tenant, mode)),
        lane(server, 'Responses', response(server.tenant, mode)),
        ...peers.filter((peer) => peer.modes.includes(mode)).map(({ target }) => lane(target, 'its own', target.call(mode))),
      ]
    })
    const rows = await sideBySide(bench, lanes)
    for (const ours of servers) await bench.audit(ours)
    return { rows, notes }
  },
}

const headersOf = ({ apiKey }: Tenant): Call['headers'] => ({
  authorization: `Bearer ${apiKey}`,
  'content-type': 'application/json',
  'idempotency-key': marks.key,
})

const completion = (tenant: Tenant, mode: Mode): Call => ({
  path: '/v1/chat/completions',
  headers: headersOf(tenant),
  body: JSON.stringify({
    model: tenant.agentId,
    user: marks.user,
    messages: [{ role: 'user', content: marks.text }],
    ...(mode === 'stream' ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
  whole: mode === 'sync' ? [firstToken, lastToken] : [lastToken, 'data: [DONE]'],
})

const response = (tenant: Tenant, mode: Mode): Call => ({
  path: '/v1/responses',
  headers: headersOf(tenant),
  body: JSON.stringify({ model: tenant.agentId, user: marks.user, input: marks.text, stream: mode === 'stream' }),
  whole: mode === 'sync' ? [firstToken, lastToken] : [lastToken, '"type":"response.completed"'],
})
