/** Anthropic's Messages API, by @ai-sdk/anthropic. */
import type { Dialect } from './ai-sdk.ts'
import { eventType } from '../transport/event-type.ts'

export const anthropicBaseUrl = 'https://api.anthropic.com/v1'

export const anthropicMessages: Dialect = {
  provider: 'anthropic',
  async open({ modelId, ...options }) {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return createAnthropic(options)(modelId)
  },
  isLast: eventType('message_stop'),
  // streamed arguments are not checked to be JSON there, and nobody here reads them before they are whole
  options: { toolStreaming: false },
}
