/**
 * Thirty days of traffic as a list of events, oldest first. A pure function of the seed: names, texts, amounts, counts and relative times are the
 * same each time. Knows nothing of a server (fill.ts runs the events).
 */
import { accessOf, agentsOf, changesOf, documents, limits, ownersOf, topUpsOf } from './plan-objects.ts'
import type { At, Outcome, PlannedAgent, PlannedEvent, PlannedFeedback, PlannedOwner, Turn } from './plan-objects.ts'
import { createRandom } from './random.ts'
import type { Random } from './random.ts'
import { feedbackTexts, roles, topics, userNames, withNumber } from './texts.ts'
import type { Role, Topic, Trouble } from './texts.ts'

export type Plan = {
  seed: number
  /** The provider that the agents use. It also marks a store as filled with this seed. */
  provider: string
  owners: PlannedOwner[]
  agents: PlannedAgent[]
  /** When owners, agents and keys are created. */
  start: At
  events: PlannedEvent[]
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const days = 30
// Traffic between these hours UTC. The end leaves room for the last turns, which are up to six hours before the present, also just after midnight.
const [opensAtMinute, closesAtMinute] = [5 * 60, 18 * 60]
const recentTurns = 12
/** Turns a day, with a quiet weekend. */
const week = [17, 19, 18, 20, 16, 8, 6]

const weights: Record<Role, number> = { orders: 40, returns: 15, library: 20, rooms: 12, timetable: 13 }

export function planTraffic(seed: number): Plan {
  const random = createRandom(seed)
  const owners = ownersOf(random)
  const agents = agentsOf(seed, owners)
  const users = Object.fromEntries(roles.map((role) => [role, random.sample(userNames, 8)])) as Record<Role, string[]>
  const draw = { random, users }
  const events: PlannedEvent[] = [
    ...documents.map((action, index) => ({ at: { daysAgo: days, ms: 4 * hourMs + (index + 1) * minuteMs }, action })),
    ...changesOf(random),
    ...topUpsOf(random),
    ...Array.from({ length: days }, (_, index) => turnsOfDay(days - index, draw)).flat(),
    // Each kind of trouble at least once, whatever is drawn.
    ...topics.filter(({ trouble }) => trouble).map((topic, index) => troubleOf(topic, index, draw)),
    ...recentOf(draw),
    ...outage(draw),
    ...accessOf(random),
    ...limits(users.orders[0]!),
    ...refusedOf(draw),
  ]
  const provider = `seed-${seed}`
  return { seed, provider, owners, agents, start: { daysAgo: days, ms: 4 * hourMs }, events: events.toSorted(byTime) }
}

/** The moment of `at` in epoch milliseconds, seen from `now`. */
export function timeOf(at: At, now: number): number {
  if ('beforeNowMs' in at) return now - at.beforeNowMs
  const dayMs = 24 * hourMs
  return Math.floor(now / dayMs) * dayMs - at.daysAgo * dayMs + at.ms
}

type Draw = { random: Random; users: Record<Role, string[]> }

function turnsOfDay(daysAgo: number, draw: Draw): PlannedEvent[] {
  const { random } = draw
  // Use grows: by half as much again within the month.
  const growth = 1 + (days - daysAgo) / (2 * days)
  const count = Math.round(week[daysAgo % week.length]! * growth) + random.whole(-2, 2)
  const minutes = random.sample(
    Array.from({ length: closesAtMinute - opensAtMinute }, (_, index) => opensAtMinute + index),
    count,
  )
  return minutes.map((minute) => ({ at: { daysAgo, ms: minute * minuteMs + random.whole(0, 30_000) }, action: drawTurn(draw) }))
}

function recentOf(draw: Draw): PlannedEvent[] {
  const turns = Array.from({ length: recentTurns }, (_, index) => ({
    at: { beforeNowMs: (recentTurns - index) * 29 * minuteMs - draw.random.whole(0, 20 * minuteMs) },
    action: drawTurn(draw),
  }))
  const questions = ['Do you ship to Iceland?', 'Where is my order 4711?', 'How do I set up the tent in the wind?']
  const playground = questions.map((message, index) => ({
    at: { beforeNowMs: (questions.length - index) * 2 * minuteMs },
    action: { kind: 'playground' as const, role: 'orders' as const, message },
  }))
  return [...turns, ...playground]
}

/** The model of one agent is overloaded since about an hour and a half. */
function outage(draw: Draw): PlannedEvent[] {
  const topic = topics.find(({ role, trouble }) => role === 'library' && trouble === 'overloaded')!
  const minutes = [88, 71, 66, 43, 31, 13]
  return minutes.map((minute, index) => ({
    at: { beforeNowMs: minute * minuteMs + draw.random.whole(1_000, 20_000) },
    action: { ...turnOf(topic, draw), feedback: index === 0 ? { rating: 'down', comment: 'No answer since this morning.' } : null },
  }))
}

/** Messages of the end user who has used a spend limit. */
function refusedOf(draw: Draw): PlannedEvent[] {
  const topic = topics.find(({ role, trouble }) => role === 'orders' && !trouble)!
  return [70_000, 50_000].map((beforeNowMs) => ({
    at: { beforeNowMs },
    action: { ...turnOf(topic, draw), user: draw.users.orders[0]!, key: 'Website', isStream: false, outcome: 'refused', feedback: null },
  }))
}

function troubleOf(topic: Topic, index: number, draw: Draw): PlannedEvent {
  const ms = (closesAtMinute - 1 - index * 7) * minuteMs + 45_000
  return { at: { daysAgo: draw.random.whole(2, days - 2), ms }, action: turnOf(topic, draw) }
}

function drawTurn(draw: Draw): Turn {
  const role = drawRole(draw.random)
  const isTrouble = draw.random.chance(0.03)
  const fitting = topics.filter((topic) => topic.role === role && Boolean(topic.trouble) === isTrouble)
  return turnOf(draw.random.pick(fitting.length > 0 ? fitting : topics.filter((topic) => topic.role === role && !topic.trouble)), draw)
}

function drawRole(random: Random): Role {
  let left = random.whole(1, 100)
  return roles.find((role) => (left -= weights[role]) <= 0) ?? roles[0]
}

function turnOf({ role, question, trouble }: Topic, { random, users }: Draw): Turn {
  const [regular, ...others] = users[role]
  return {
    kind: 'turn',
    role,
    // One user of each agent comes back again and again.
    user: random.chance(0.25) ? regular! : random.pick(others),
    message: withNumber(question, role === 'orders' || role === 'returns' ? random.whole(4_100, 4_999) : random.whole(2, 30)),
    // Only who reads a stream knows the turn to cancel.
    isStream: random.chance(0.7) || trouble === 'silent' || trouble === 'stalled',
    key: role === 'orders' && random.chance(0.3) ? 'Mobile app' : 'Website',
    outcome: trouble === undefined ? 'completed' : outcomes[trouble],
    feedback: random.chance(trouble === undefined ? 0.15 : 0.4) ? drawFeedback(trouble !== undefined, random) : null,
  }
}

const outcomes: Record<Trouble, Outcome> = {
  overloaded: 'released',
  refused: 'released',
  limited: 'released',
  unauthorized: 'released',
  empty: 'failed',
  looping: 'failed',
  silent: 'cancelled',
  stalled: 'incomplete',
}

/** Most replies are liked, and a turn with trouble is not. */
function drawFeedback(isTrouble: boolean, random: Random): PlannedFeedback {
  const rating = isTrouble || random.chance(0.25) ? 'down' : 'up'
  const { comments, tags } = isTrouble ? feedbackTexts.trouble : feedbackTexts[rating]
  return {
    rating,
    ...(random.chance(0.5) ? { comment: random.pick(comments) } : {}),
    ...(random.chance(0.6) ? { tags: random.sample(tags, random.whole(1, 2)) } : {}),
  }
}

/** Their order does not depend on the present: the last hours come after all days. */
function byTime({ at: one }: PlannedEvent, { at: other }: PlannedEvent): number {
  if ('beforeNowMs' in one || 'beforeNowMs' in other)
    return 'beforeNowMs' in one ? ('beforeNowMs' in other ? other.beforeNowMs - one.beforeNowMs : 1) : -1
  return other.daysAgo - one.daysAgo || one.ms - other.ms
}
