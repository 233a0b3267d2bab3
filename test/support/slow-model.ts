/** A scripted model that takes time, for tests in which turns must be under way whenever something happens. What it says depends on the message alone. */
import { gate } from './model-server.ts'
import type { ModelServer, Part } from './model-server.ts'

/** Answers every message in four pieces, the last of them `speakMs()` after the call; one that it was asked before, at once. */
export function speakSlowly(model: ModelServer, speakMs: () => number): void {
  const asked = new Set<string>()
  model.when(/./, ({ lastUserMessage }) => {
    const parts: Part[] = [`You said: ${lastUserMessage}`]
    const total = asked.has(lastUserMessage) ? 0 : speakMs()
    asked.add(lastUserMessage)
    for (let piece = 1; piece <= 3; piece++) {
      const held = gate()
      setTimeout(() => held.open(), (total * piece) / 3)
      parts.push(held, ` (${piece})`)
    }
    return parts
  })
}
