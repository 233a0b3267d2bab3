/** Every cold read, by name; each runs in one read snapshot. */
export const reads = {}
export type Reads = typeof reads
