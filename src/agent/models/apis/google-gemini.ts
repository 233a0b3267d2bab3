/** Google's Gemini API. @ai-sdk/google writes its requests. */
import type { AiSdkProvider } from './ai-sdk.ts'
import { GeminiAnswer } from './gemini-answer.ts'

export const googleGemini: AiSdkProvider = {
  name: 'google',
  async open({ modelId, ...options }) {
    const { createGoogle } = await import('@ai-sdk/google')
    return createGoogle(options)(modelId)
  },
  reader: (options) => new GeminiAnswer(options),
}
