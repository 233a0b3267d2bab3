/** Reads why an answer ended, in the words of any provider. Letter case does not matter, and nor do `-`, `_` and spaces. */
import type { FinishReason } from '../model.ts'

/** `broken`: the provider says that the answer failed, so it is not an answer. */
export type ReadFinish = FinishReason | 'broken'

const words: Record<Exclude<ReadFinish, 'other'>, string> = {
  stop: 'stop end_turn stop_sequence eos eos_token end_of_text completed complete finish finished',
  length: 'length max_tokens max_output_tokens max_length model_length token_limit model_context_window_exceeded continuation incomplete',
  tool_calls: 'tool_calls tool_call tool_use function_call function_calls',
  refused: 'refusal refused',
  filtered:
    'content_filter content_filtered content_filtering filtered safety recitation prohibited_content blocklist spii language sensitive image_safety ' +
    'image_prohibited_content image_recitation guardrail_intervened moderation blocked',
  broken:
    'error failed malformed_function_call unexpected_tool_call malformed_response too_many_tool_calls network_error ' +
    'insufficient_system_resource abort aborted cancelled canceled',
}

const known = new Map(
  Object.entries(words).flatMap(([reason, all]) => all.split(' ').map((word) => [word, reason as Exclude<ReadFinish, 'other'>] as const)),
)

/** A reason that is not known ends an answer like any other: it is complete, and the model generates no more. */
export const readFinish = (reason: string): ReadFinish => known.get(reason.toLowerCase().replaceAll(/[-\s]/g, '_')) ?? 'other'
