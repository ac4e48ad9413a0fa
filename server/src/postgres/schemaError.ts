/** The database cannot be used by this version of the service; the message says what to do. */
export class SchemaError extends Error {}
