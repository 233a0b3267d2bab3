/**
 * The built-in `demo` model: quotes the passages it is given and says that it is not a language model. It needs no network, calls no tools,
 * and is deterministic, so that Turnkeep can be tried and tested without a provider.
 */
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as wait } from 'node:timers/promises'
import { isLongerThan } from '../../code-points.ts'
import type { Model, ModelRequest, ModelStep, Passage } from './model.ts'
import { estimatedTokens } from '../tokens.ts'

// Two passages answer most questions.
const maxQuoted = 2
// In code points: about 100 words of a passage, and enough of a question to recognize it.
const maxQuote = 600
const maxQuestion = 100
// 80 pieces at 10 ms each, so that a long answer takes less than a second.
const maxPieces = 80
const minWords = 3

const whatIAm =
  'I am the built-in demo model, not a language model: I can only quote the knowledge base. To use a real model, add a ' +
  'provider in the console or with npx --no-install turnkeep provider create, and name it in this agent.'

/**
 * `paceMs`: milliseconds between two pieces; 0 sends them all immediately. An aborted call rejects with `signal.reason`. Usage is always
 * present.
 */
export function demoModel({ paceMs }: { paceMs: number }): Model {
  return {
    async generate(request, { signal, onText }) {
      const step = answer(request)
      for (const [n, piece] of pieces(step.text).entries()) {
        if (n > 0 && paceMs > 0) await wait(paceMs, undefined, { signal }).catch(() => undefined)
        signal.throwIfAborted()
        onText(piece)
      }
      return step
    },
  }
}

function answer(request: ModelRequest): ModelStep {
  const quotes = request.passages.slice(0, maxQuoted).map(quote)
  const said = [...(quotes.length > 0 ? quotes : [nothingFits(request)]), whatIAm].join('\n\n')
  const text = firstTokens(said, request.maxOutputTokens)
  const promptTokens = request.messages.reduce((total, message) => total + estimatedTokens(message.content), 0)
  return {
    text,
    toolCalls: [],
    finishReason: text.length < said.length ? 'length' : 'stop',
    usage: { promptTokens, cachedPromptTokens: 0, cacheWriteTokens: 0, completionTokens: estimatedTokens(text), reasoningTokens: 0 },
  }
}

// A passage starts with its Markdown heading, which adds nothing to the title.
const quote = ({ title, text }: Passage): string => `From "${title}":\n> ${excerpt(text.replaceAll(/^#+ .*$/gm, ''), maxQuote)}`

function nothingFits(request: ModelRequest): string {
  const question = request.messages.findLast((message) => message.role === 'user')?.content ?? ''
  return `Nothing in the knowledge base fits "${excerpt(question, maxQuestion)}". Ask about what its documents say, in their words.`
}

/** Returns one line of at most `longest` code points, cut between words. */
function excerpt(text: string, longest: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  if (!isLongerThan(line, longest)) return line
  // The first characters are in the first two units for each.
  const start = Array.from(line.slice(0, 2 * longest))
    .slice(0, longest)
    .join('')
  return `${start.slice(0, Math.max(start.lastIndexOf(' '), 0)) || start} …`
}

/** Returns the start of the text that fits `tokens` tokens as `estimatedTokens` counts them, cut at a character boundary. */
function firstTokens(text: string, tokens: number): string {
  return new StringDecoder('utf8').write(Buffer.from(text).subarray(0, tokens * 4))
}

/** Splits the text into groups of words. */
function pieces(text: string): string[] {
  const words = text.match(/^\s+|\S+\s*/g) ?? []
  const wordsEach = Math.max(minWords, Math.ceil(words.length / maxPieces))
  return Array.from({ length: Math.ceil(words.length / wordsEach) }, (_, n) => words.slice(n * wordsEach, (n + 1) * wordsEach).join(''))
}
