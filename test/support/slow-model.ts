/** A scripted model that takes time, for tests that need running turns. Its replies depend only on the message. */
import { gate } from './model-server.ts'
import type { ModelServer, Part } from './model-server.ts'

/** Replies to every message in four pieces, the last one `speakMs()` after the call; to a repeated message immediately. */
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
