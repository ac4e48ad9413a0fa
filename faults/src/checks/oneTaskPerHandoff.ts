import type { Check } from "./check.ts";

/**
 * Promise 9: an agent that keeps a task list gets one message per item even when answers are lost; otherwise the
 * handoff is marked as a possible duplicate.
 */
export const oneTaskPerHandoff: Check = (_history, { handoffs }) =>
  handoffs
    .filter(({ messages, isPossibleDuplicate }) => messages > 1 && !isPossibleDuplicate)
    .map(
      ({ itemId, messages }) =>
        `the agent got ${messages} messages about ${itemId}, and its handoff does not say so`,
    );
