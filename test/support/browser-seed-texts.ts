/** What is said and kept in the seeded house: texts as people and models write them, in Markdown, of several lengths. */
import type { RecordedCall, Reply } from './model-server.ts'
import type { Json } from './test-app.ts'

export const documentsOf = ['handbook.pdf', 'handbook.docx', 'page.html', 'utf-16.txt', 'scanned.pdf', 'encrypted.pdf']

export const users = {
  names: ['customer-1042', 'mia.berg@example.com', 'customer-2210', 'Åse Nygård', 'guest-7f3a', 'tablet in the lobby', '李明'],
  questions: [
    'Where is my order 4711?',
    'What does it cost to bring a book back too late?',
    'Which rooms can I book for twelve people, and until when?',
    'Can I send back boots that I have worn once outside?',
    'When does the last ferry leave on a Sunday?',
    'How do I set up the tent in the wind?',
    'I would like the invoice again, please.',
    'Something that no model answers: out of order',
  ],
}

export function toolsOf(tools: string, mcp: string): Json[] {
  const number = {
    type: 'object',
    properties: { number: { type: 'integer', description: 'As it stands on the invoice.' } },
    required: ['number'],
  }
  return [
    {
      type: 'http',
      name: 'find_order',
      description: 'Finds an order by its number and says where it is.',
      parameters: number,
      method: 'GET',
      url: `${tools}/orders/{number}`,
      secrets: { shop_key: 'not-a-real-one' },
      headers: { 'x-shop-key': '{shop_key}' },
      side_effects: false,
    },
    { type: 'mcp', name: 'parcels', url: mcp },
    { type: 'builtin', name: 'now' },
  ]
}

const table = `Two rooms are large enough:

| Room | Seats | Hours |
|---|---:|---|
| Net loft | 12 | 9:00 to 18:00 |
| Captain's bay | 30 | by agreement |

**The net loft** is free for readers; a deposit of €15 is paid at the desk.`

const list = `You can do it alone in five steps:

1. Lay the tent out **with its foot to the wind**.
2. Peg the two corners at the windward side.
3. Push the poles through, and raise them from the lee.
4. Tension the guy lines; \`hookA\` takes the long one.
5. Pull the fly over.

> In more than 8 Bft, wait. Fabric is cheaper than fingers.

\`\`\`text
   wind →   ▲▲▲   → lee
\`\`\`

More in the [manual](https://example.com/tents/manual).`

const replies: [RegExp, Reply][] = [
  [/late/, ['The fee is **€0.20** for each day and each book, ', 'and never more than €8.00 for one book.']],
  [/rooms/, [table]],
  [/boots/, ['Yes, within 30 days, if they are clean. ', 'Worn on a mountain they are *yours*.']],
  [/ferry/, ['At 21:40 from the north quay. ', 'On holidays it leaves an hour earlier.']],
  [/tent/, [list]],
  [/invoice/, ['It is on its way to the address of your account.']],
  [/out of order/, { status: 400, body: { error: { message: 'This model is out of order until Monday.' } } }],
]

/** By the last message; an order is looked up by a tool. */
export function repliesOf({ messages, lastUserMessage }: RecordedCall): Reply {
  if (/order 4711/.test(lastUserMessage)) {
    if (messages.at(-1)?.role === 'tool') return ['It was sent with Bring ', 'and should be with you on **Thursday**.']
    return [{ toolCall: { id: 'call_1', name: 'find_order', arguments: '{"number":4711}' } }]
  }
  return replies.find(([asked]) => asked.test(lastUserMessage))?.[1] ?? 'I am sorry, I do not know that.'
}
