/** A count of tokens as a provider must give it to be believed (`billing.usage-missing`). */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
