/** Google's Gemini API, by @ai-sdk/google. */
import type { Dialect } from './ai-sdk.ts'

export const googleBaseUrl = 'https://generativelanguage.googleapis.com/v1beta'

export const googleGemini: Dialect = {
  provider: 'google',
  async open({ modelId, ...options }) {
    const { createGoogle } = await import('@ai-sdk/google')
    return createGoogle(options)(modelId)
  },
  // usage may come in an event of its own after the finish reason: a stream ends when its body does
  isLast: () => false,
}
