/** The database cannot be used by this binary; the message is one clear line for the operator. */
export class SchemaRefused extends Error {}
