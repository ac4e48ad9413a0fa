/** For statements that have no limit on the server either, as `query_timeout` of one query. */
export const noQueryTimeoutMs = 2 ** 31 - 1;

/** A server that says nothing at all for so long is given up from this side. */
export const queryTimeoutMs = 35_000;
/** The driver's words for a statement that is not answered in time. */
export const unanswered = "Query read timeout";
