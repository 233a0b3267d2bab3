/**
 * The marks with which models write reasoning into their text if the server has no parser for it: `<think>`, `[THINK]`, the channels of
 * gpt-oss and others. Pure.
 */

const names = 'think|thinking|thought|thoughts|reasoning'
const tag = `<(?:seed:)?(?:${names})(?:\\s[^<>]{0,60})?>`
const tagClosing = `</(?:seed:)?(?:${names})\\s{0,8}>`
const word = '\\[THINK\\]|◁think▷|<\\|START_THINKING\\|>|<\\|begin_of_thought\\|>'
const wordClosing = '\\[/THINK\\]|◁/think▷|<\\|END_THINKING\\|>|<\\|end_of_thought\\|>'
const turn = '(?:<\\|end\\|>)?(?:<\\|start\\|>\\s{0,8}assistant\\s{0,8})?'
const channel = `${turn}<\\|channel\\|?>\\s{0,8}(?:analysis|commentary|thought)(?:[^<]{0,40}<\\|message\\|>)?`
const channelClosing = `${turn}<\\|channel\\|?>\\s{0,8}final(?:\\s{0,8}<\\|message\\|>)?|<channel\\|>`

type Notation = { opening: RegExp; closing: RegExp; mark: RegExp; isChannel: boolean }

/** `mark` matches both, with the closing one as its group. */
const notation = (opening: string, closing: string, isChannel: boolean, flags = 'i'): Notation => ({
  opening: new RegExp(opening, `${flags}y`),
  closing: new RegExp(closing, `${flags}g`),
  mark: new RegExp(isChannel ? `(${closing})` : `(${closing})|${opening}`, `${flags}g`),
  isChannel,
})

const notations = [
  notation(tag, tagClosing, false),
  notation(word, wordClosing, false),
  notation(channel, channelClosing, true),
  // A server that removes special tokens leaves the names of the channels, without a space before the text.
  notation('analysis(?=[A-Z])', 'assistantfinal', true, ''),
]

/** Matches a mark at the start of a text that may close a block which the chat template has opened. */
export const loneClosing = new RegExp(`^(?:${tagClosing}|${wordClosing})`, 'i')
const frame = new RegExp(`^(?:${turn}<\\|channel\\|?>\\s{0,8}final(?:\\s{0,8}<\\|message\\|>)?|<\\|(?:return|end|message)\\|>)`, 'i')

export type Block = Notation & { length: number }

/** Returns the block that starts at `at`, or undefined. */
export function blockAt(text: string, at: number): Block | undefined {
  for (const one of notations) {
    one.opening.lastIndex = at
    const found = one.opening.exec(text)
    if (found) return { ...one, length: found[0].length }
  }
  return undefined
}

/** Returns the length of the tokens of a channel that start the answer, or end it; 0 if the text does not start with any. */
export const frameAt = (text: string): number => frame.exec(text.slice(0, 160))?.[0].length ?? 0

/** Where a mark in the text may start. */
export const special = /[<[◁]/

// Most pieces are shorter, and a loop over a few characters is faster than an expression.
const maxLooped = 32

/** Whether the piece has one of these. */
export function hasSpecial(piece: string): boolean {
  if (piece.length > maxLooped) return special.test(piece)
  for (let at = 0; at < piece.length; at++) {
    const code = piece.charCodeAt(at)
    if (code === 0x3c || code === 0x5b || code === 0x25c1) return true
  }
  return false
}

/** Whether the first character is that of a mark, or of a channel's name. Most answers start with another one. */
export const startsMark = (text: string): boolean => /^[<[◁a]/.test(text)

/** Whether more text can make this a mark, or change where its mark ends. */
export function mayBeMark(text: string): boolean {
  if (text.length > 120) return false
  return partial.some((start) => start.test(text))
}

const partial = [
  new RegExp(`^</?(?:seed:?)?[a-z_]{0,10}\\s{0,8}$`, 'i'),
  new RegExp(`^<(?:seed:)?(?:${names})\\s[^<>]{0,60}$`, 'i'),
  /^<(?:s|se|see|seed|seed:)?$/i,
  /^\[\/?[A-Z]{0,5}$/i,
  /^◁\/?[a-z]{0,5}$/i,
  /^<\|[a-z_]{0,20}\|?$/i,
  /^<channel\|?$/i,
  /^(?:<\|end\|>)?(?:<\|start\|>\s{0,8}(?:[a-z]{0,9})\s{0,8})?(?:<(?:\|(?:[a-z]{0,7})?\|?)?)?$/i,
  /^(?:<\|end\|>)?(?:<\|start\|>\s{0,8}assistant\s{0,8})?<\|channel\|?>[^<]{0,50}(?:<\|?[a-z]{0,7}\|?)?$/i,
]

/**
 * Whether more text can make the start of an answer the start of a block. The name of a channel is one token, so an answer that starts with "a"
 * does not wait.
 */
export const mayBeStart = (text: string): boolean =>
  /^[<[◁]/.test(text) ? mayBeMark(text) : text.length > 3 && 'analysis'.startsWith(text)

const openers = ['', 'okay, ', 'ok, ', 'okay, so ', 'alright, ', 'hmm, ', 'so ', 'first, ']
const notes = ["the user's ", 'user asks', 'user says', 'user wants', 'let me think', "let's think", 'i should ', 'i need to figure']
const plans = ['we need to', 'we should', 'i need to', 'need to'].flatMap((plan) =>
  ['answer', 'respond', 'reply'].map((verb) => `${plan} ${verb}`),
)
const phrases = [
  ...openers.slice(1).map((opener) => `${opener}the user`),
  ...openers.flatMap((opener) => [...notes, ...plans].map((note) => opener + note)),
]
/** Every start of a phrase. */
const starts = new Set(phrases.flatMap((phrase) => Array.from(phrase, (_, at) => phrase.slice(0, at + 1))))
const anyPhrase = new RegExp(`^(?:${phrases.join('|')})`)
const verbs = /^the user (?:asks|asked|wants|greets|greeted|says|said|is asking|is greeting|has asked|just|sent|seems|needs|writes|wrote)\b/

/** Whether an answer starts as a note about the user, not to the user: reasoning whose opening mark is in the chat template. */
export function readsAsReasoning(text: string): boolean {
  const lower = text.slice(0, 40).toLowerCase()
  return verbs.test(lower) || anyPhrase.test(lower)
}

/** Whether more text can make it one. */
export function mayReadAsReasoning(text: string): boolean {
  if (text.length > 32) return false
  const lower = text.toLowerCase()
  return lower.length > 2 && (starts.has(lower) || /^the (?:u|us|use|user|user [a-z]*|user (?:is|has) [a-z]*)?$/.test(lower))
}
