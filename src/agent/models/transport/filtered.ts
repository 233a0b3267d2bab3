/** Recognizes errors that mean "a content filter has withheld the answer", by the provider's code. */
import { parseReport, reportsOf } from './too-long.ts'

const codes = new Set([
  'content_filter', // Azure OpenAI
  'ResponsibleAIPolicyViolation', // Azure OpenAI, as the inner error
  'content_policy_violation', // OpenAI, LiteLLM
  'ContentPolicyViolationError', // LiteLLM
  'data_inspection_failed', // Alibaba
  'DataInspectionFailed',
  'invalid_prompt_content', // gateways
  'content_filtered',
  'moderation_blocked', // OpenAI
  'cyber_policy_violation',
  'bio_policy', // OpenAI
  'SensitiveContentDetected', // Volcengine
  'InputTextSensitiveContentDetected',
  'OutputTextSensitiveContentDetected',
])

/** `report` is an error object of any API. */
export const reportsFilter = (report: unknown): boolean =>
  reportsOf(report).some(({ code, type, innererror, inner_error: inner, metadata }) =>
    [code, type, ...reportsOf(innererror ?? inner ?? metadata).map((one) => one.code)].some(
      (value) => typeof value === 'string' && codes.has(value),
    ),
  )

/** `body` is the unparsed body of a status. */
export const refusesByFilter = (status: number, body: string): boolean => status >= 400 && status < 500 && reportsFilter(parseReport(body))
