/** Recognizes answers that mean "there is no such model", by the provider's error code or by known phrases. */
import { parseReport, reportsOf } from './too-long.ts'

const codes = ['model_not_found', 'model_not_available']

const phrases = [
  /\bmodels?\b.{0,300}\b(not found|not exist|not available|not supported)\b/is, // OpenAI, vLLM, Ollama, Gemini, LiteLLM, Groq
  /^model: \S/, // Anthropic
  /not a valid model/i, // OpenRouter
]

/** `body` is the unparsed body. Other statuses than these do not speak about the model. */
export function reportsNoModel(status: number, body: string): boolean {
  if (status !== 400 && status !== 403 && status !== 404) return false
  return reportsOf(parseReport(body)).some(
    ({ code, type, message, error, detail }) =>
      [code, type].some((value) => codes.some((known) => known === value)) ||
      // A 400 can be about anything, so only a code counts.
      (status === 404 && [message, error, detail].some((text) => typeof text === 'string' && phrases.some((phrase) => phrase.test(text)))),
  )
}
