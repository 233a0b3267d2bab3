/**
 * How large an answer may become before its server is no longer believed to keep its cap of output. Never cuts an answer that kept it: no
 * vocabulary in use has a token of more than 128 bytes.
 */
const maxToken = 128
// Ids, names and frames of tool calls, which no cap counts.
const besideTokens = 64 * 1024

/** 8 MiB: what no cap, however large, may cost a turn in memory. */
export const maxAnswer = 8 * 1024 * 1024

/** Characters of text and tool calls. */
export const answerLimit = (maxOutputTokens: number): number => Math.min(maxAnswer, maxOutputTokens * maxToken + besideTokens)

/** Bytes of a whole JSON body, in which a character may be written with six, and reasoning that is not kept is counted by the same cap. */
export const bodyLimit = (maxOutputTokens: number): number => Math.min(maxAnswer, answerLimit(maxOutputTokens) * 6)
