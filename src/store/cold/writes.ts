/** Every cold write, by name; each runs in one transaction. */
export const writes = {}
export type Writes = typeof writes
