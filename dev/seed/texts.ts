/** The names, questions and replies of the sample data: several lengths and scripts, with and without Markdown. `{n}` stands for a number. */

/** The five agents. */
export const roles = ['orders', 'returns', 'library', 'rooms', 'timetable'] as const
export type Role = (typeof roles)[number]

export type Topic = {
  role: Role
  question: string
  reply: string
  /** Called before the reply, with the number of the question where `arguments` has `{n}`. */
  tool?: { name: string; arguments: string }
  /** How long the model takes, in milliseconds. */
  thinkMs: number
  trouble?: Trouble
}

/**
 * What the model does instead of replying. `overloaded`, `refused`, `limited`, `unauthorized`: it answers 503, 400, 429 or 401, so that the
 * turn is released. `empty`: its reply has no text, and `looping`: it calls the tool in every step, so that the turn fails. `silent`: it sends
 * nothing, and `stalled`: it stops after half of the reply, until the caller cancels the turn.
 */
export type Trouble = 'overloaded' | 'refused' | 'limited' | 'unauthorized' | 'empty' | 'looping' | 'silent' | 'stalled'

export const ownerNames = {
  shop: ['Nordwind Outdoor', 'Trailhead Supply', 'Alpine Gear Co.'],
  library: ['Harbour Library', 'Old Mill Library', 'Riverside Reading Rooms'],
  ferry: ['Fjord Ferries', 'Skerry Lines', 'Sound Crossing'],
} as const

export const userNames = [
  'customer-1042',
  'mia.berg@example.com',
  'customer-2210',
  'Åse Nygård',
  'guest-7f3a',
  'tablet in the lobby',
  '李明',
  'customer-3187',
  'jonas@example.org',
  'reader-204',
  'reader-611',
  'Zoë Müller',
  'guest-c09e',
  'customer-5120',
  'kiosk north quay',
  'customer-6033',
  'omar.haddad@example.com',
  'reader-877',
]

const table = `Two rooms are large enough:

| Room | Seats | Hours |
|---|---:|---|
| Net loft | 12 | 9:00 to 18:00 |
| Captain's bay | 30 | by agreement |

**The net loft** is free for readers; a deposit of €15 is paid at the desk.`

const list = `You can do it alone in five steps:

1. Lay the tent out **with its foot to the wind**.
2. Peg the two corners on the windward side.
3. Push the poles through, and raise them from the lee side.
4. Tension the guy lines; \`hookA\` takes the long one.
5. Pull the fly over.

> In more than 8 Bft, wait. Fabric is cheaper than fingers.

\`\`\`text
   wind →   ▲▲▲   → lee
\`\`\`

More in the [manual](https://example.com/tents/manual).`

export const topics: Topic[] = [
  {
    role: 'orders',
    question: 'Where is my order {n}?',
    tool: { name: 'find_order', arguments: '{"number":{n}}' },
    reply: 'Order {n} was sent with Bring and should be with you on **Thursday**.',
    thinkMs: 900,
  },
  {
    role: 'orders',
    question: 'My parcel {n} has not arrived. Where is it?',
    tool: { name: 'parcels__find_parcel', arguments: '{"number":{n}}' },
    reply: 'Parcel {n} is at the sorting center and goes out for delivery tomorrow morning.',
    thinkMs: 1_100,
  },
  { role: 'orders', question: 'How do I set up the tent in the wind?', reply: list, thinkMs: 2_600 },
  {
    role: 'orders',
    question: 'I would like invoice {n} again, please.',
    reply: 'Invoice {n} is on its way to the address of your account.',
    thinkMs: 700,
  },
  {
    role: 'orders',
    question: 'Do you ship to Iceland?',
    reply: 'Yes. Shipping to Iceland takes 5 to 8 working days and costs €19. Customs duties are not included.',
    thinkMs: 800,
  },
  {
    role: 'orders',
    question: '这个帐篷适合冬天使用吗？',
    reply: '可以。它的外帐能承受 **60 公斤** 的积雪；请每天清理一次。',
    thinkMs: 1_200,
  },
  {
    role: 'orders',
    question: 'Compare all of your sleeping bags with each other, please.',
    reply: '',
    thinkMs: 400,
    trouble: 'overloaded',
  },
  {
    role: 'orders',
    question: 'Check order {n} until it is delivered.',
    tool: { name: 'find_order', arguments: '{"number":{n}}' },
    reply: '',
    thinkMs: 300,
    trouble: 'looping',
  },
  { role: 'orders', question: 'Which of your jackets is the warmest? I am in a hurry.', reply: '', thinkMs: 2_900, trouble: 'silent' },
  {
    role: 'orders',
    question: 'Tell me everything about the care of down jackets.',
    reply: `Down lasts for decades if it stays dry and clean. Wash it once a year in a front-loading machine, with a soap for down, and rinse it
twice. Dry it warm and slowly, with two tennis balls, until no lump is left. Store it loose, never compressed.`,
    thinkMs: 1_900,
    trouble: 'stalled',
  },
  { role: 'orders', question: 'Write me a poem about carabiners.', reply: '', thinkMs: 1_500, trouble: 'empty' },
  {
    role: 'returns',
    question: 'Can I send back boots that I have worn once outside?',
    reply: 'Yes, within 30 days, if they are clean. Boots that were worn on a mountain are *yours*.',
    thinkMs: 900,
  },
  {
    role: 'returns',
    question: 'When do I get the money for return {n}?',
    tool: { name: 'find_order', arguments: '{"number":{n}}' },
    reply: 'Return {n} has arrived. The refund reaches your account within 3 to 5 working days.',
    thinkMs: 1_000,
  },
  {
    role: 'returns',
    question: 'The zip of my jacket is broken. Is that covered?',
    reply: 'Zips are covered for two years. Send the jacket to us; the label is in your account under *Repairs*.',
    thinkMs: 1_300,
  },
  { role: 'returns', question: 'My return label does not print.', reply: '', thinkMs: 300, trouble: 'refused' },
  {
    role: 'library',
    question: 'What does it cost to bring a book back too late?',
    reply: 'The fee is **€0.20** for each day and each book, and never more than €8.00 for one book.',
    thinkMs: 800,
  },
  {
    role: 'library',
    question: 'How many books may I borrow?',
    reply: 'Up to 20 at a time: 4 weeks for books, 2 weeks for films and games.',
    thinkMs: 700,
  },
  {
    role: 'library',
    question: 'Har dere bøker på norsk?',
    reply: 'Ja, i andre etasje. Barnebøkene står ved vinduet mot havnen.',
    thinkMs: 900,
  },
  {
    role: 'library',
    question: 'Is my card {n} still valid?',
    reply: 'I cannot look up card {n} from here. The desk can, on weekdays from 9:00 to 18:00.',
    thinkMs: 600,
  },
  { role: 'library', question: 'List all authors with more than ten books.', reply: '', thinkMs: 300, trouble: 'limited' },
  { role: 'library', question: 'Is the reading room open right now?', reply: '', thinkMs: 2_100, trouble: 'silent' },
  { role: 'library', question: 'Summarize every book on the shelf by the door.', reply: '', thinkMs: 500, trouble: 'overloaded' },
  { role: 'rooms', question: 'Which rooms can I book for twelve people, and until when?', reply: table, thinkMs: 1_800 },
  {
    role: 'rooms',
    question: 'Book the net loft for {n} people on Friday, please.',
    tool: { name: 'book_room', arguments: '{"room":"net loft","people":{n}}' },
    reply: 'The net loft is booked for {n} people on Friday, 14:00 to 16:00.',
    thinkMs: 1_400,
  },
  {
    role: 'rooms',
    question: 'Is there a projector in the rooms?',
    reply: "There is one in the captain's bay. For the net loft you can borrow one at the desk.",
    thinkMs: 700,
  },
  {
    role: 'timetable',
    question: 'Describe the whole crossing, please, with all of the sights.',
    reply: `The ferry leaves the north quay and passes the old lighthouse after ten minutes. Then come the three skerries, where seals rest
at low tide, and the narrow sound with its red boathouses. At the south quay a bus to the town waits.`,
    thinkMs: 1_200,
    trouble: 'stalled',
  },
  { role: 'returns', question: 'Can you change the address of return {n}?', reply: '', thinkMs: 200, trouble: 'unauthorized' },
  {
    role: 'timetable',
    question: 'When does the last ferry leave on a Sunday?',
    reply: 'At 21:40 from the north quay. On holidays it leaves an hour earlier.',
    thinkMs: 600,
  },
  {
    role: 'timetable',
    question: 'What does a car with {n} passengers cost?',
    reply: 'The car is €32 and each passenger €6. With {n} passengers, ask for the group fare at the quay.',
    thinkMs: 900,
  },
  {
    role: 'timetable',
    question: 'Can I take my dog?',
    reply: 'Yes, on a leash, on the outer deck and in the blue cabin.',
    thinkMs: 500,
  },
  { role: 'timetable', question: 'Draw me the route as a picture.', reply: '', thinkMs: 1_100, trouble: 'empty' },
]

/** What end users say of replies, and of turns with trouble. */
export const feedbackTexts = {
  up: {
    comments: ['Quick and correct.', 'Exactly what I needed, thank you!', '谢谢，很有帮助。', 'Friendly, and right the first time.'],
    tags: ['helpful', 'fast', 'accurate'],
  },
  down: {
    comments: [
      'Your website says something else.',
      'This does not answer my question.',
      'I asked the same on the phone and got a different answer: they said that it takes two weeks, not 30 days, and that I have to pay ' +
        'for the label myself. Please check which of the two is right, because I have to decide before Friday.',
      'Svaret var på engelsk.',
    ],
    tags: ['wrong', 'outdated', 'off topic', 'escalated'],
  },
  trouble: {
    comments: ['There was no answer.', 'Third try, still nothing.', 'It stopped in the middle.'],
    tags: ['no answer', 'slow'],
  },
} as const

export type Found = { topic: Topic; number: string }

/** The topic of a question as it was asked; undefined for any other text. */
export function findTopic(question: string): Found | undefined {
  for (const topic of topics) {
    const [start, end] = topic.question.split('{n}')
    if (end === undefined ? question === start : question.startsWith(start!) && question.endsWith(end)) {
      const number = end === undefined ? '' : question.slice(start!.length, question.length - end.length)
      if (/^\d*$/.test(number)) return { topic, number }
    }
  }
  return undefined
}

/** The part of a reply that a stalled model has sent: whole words. */
export const startOf = (reply: string): string => reply.slice(0, reply.indexOf(' ', reply.length / 2))

export const withNumber = (text: string, number: string | number): string => text.replaceAll('{n}', String(number))
