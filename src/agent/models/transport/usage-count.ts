/** Whether a provider's token count is valid; if not, usage is estimated (`billing.usage-missing`). */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
