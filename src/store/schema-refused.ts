/** This version of Turnkeep cannot use the database. The message is one line for the operator. */
export class SchemaRefused extends Error {}
