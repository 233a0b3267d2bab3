/**
 * The one program that every runtime runs with the client's package: nothing in it but the language, what the web gives everywhere, and the client.
 * Answers with the names of what it saw; throws at the first thing that is otherwise.
 */
import { APIUserAbortError, AuthenticationError, Turnkeep, verifyWebhook, WebhookVerificationError } from '@turnkeep/client'

/** The example of the specification of Standard Webhooks, which is some years old. */
const webhook = {
  body: '{"test": 2432232314}',
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
}

async function verifiesWebhooks() {
  const { body, headers, secret } = webhook
  const event = await verifyWebhook(body, headers, secret, { toleranceSeconds: 1e10 })
  expect(event.id === headers['webhook-id'], 'a webhook that is verified', event)
  const refused = await failureOf(verifyWebhook(`${body} `, headers, secret, { toleranceSeconds: 1e10 }))
  expect(refused instanceof WebhookVerificationError, 'a webhook with another body that is refused', refused)
}

/** `service` is `{ baseURL, agentId, apiKey }` of an agent that answers. */
export async function runProgram(service) {
  const client = new Turnkeep(service)
  // No `crypto`: the oldest Node has it under another name, and finding it is the client's affair.
  const externalUserId = `runtime-${Date.now()}`
  const idempotencyKey = `${externalUserId}-first`
  const passed = []

  await verifiesWebhooks()
  passed.push('webhook')

  const question = { externalUserId, message: 'What is billed?' }
  const reply = await client.chat(question, { idempotencyKey })
  expect(reply.message.content.length > 0 && reply.usage.totalTokens > 0, 'a reply with a text and its cost', reply)
  passed.push('chat')

  const again = await client.chat(question, { idempotencyKey })
  expect(again.requestId === reply.requestId && again.message.id === reply.message.id, 'the same reply for the same key', again)
  passed.push('replay')

  const stream = client.stream({ externalUserId, message: 'Und was kostet das? Grüße 👋' })
  const types = []
  let text = ''
  for await (const event of stream) {
    types.push(event.type)
    if (event.type === 'response.output_text.delta') text += event.delta
  }
  const completed = await stream.completed
  expect(types[0] === 'response.created' && types.at(-1) === 'response.completed' && types.length > 3, 'events in their order', types)
  expect(text === completed.message.content && text === (await stream.text()), 'deltas that add up to the message', text)
  passed.push('stream')

  const refused = await failureOf(new Turnkeep({ ...service, apiKey: `${service.apiKey.slice(0, -4)}0000` }).chat(question))
  expect(
    refused instanceof AuthenticationError && refused.status === 401 && refused.code === 'invalid_api_key',
    'an error of its class',
    refused,
  )
  passed.push('error')

  const ended = await failureOf(client.chat(question, { signal: AbortSignal.abort() }))
  expect(ended instanceof APIUserAbortError, 'the end of a call by its signal', ended)
  passed.push('abort')

  const conversations = []
  for await (const conversation of client.conversations.list({ externalUserId })) conversations.push(conversation.conversationId)
  expect(conversations.length === 1 && conversations[0] === reply.conversationId, 'one conversation', conversations)
  const contents = []
  for await (const message of client.conversations.messages(reply.conversationId, { limit: 1 })) contents.push(message.content)
  expect(contents.length === 4 && contents.includes(text) && contents.includes('Und was kostet das? Grüße 👋'), 'four messages', contents)
  passed.push('listing')

  return passed
}

const failureOf = (promise) =>
  promise.then(
    () => undefined,
    (error) => error,
  )

function expect(holds, what, seen) {
  if (!holds) throw new Error(`expected ${what}, and saw ${seen instanceof Error ? `${seen.name}: ${seen.message}` : JSON.stringify(seen)}`)
}
