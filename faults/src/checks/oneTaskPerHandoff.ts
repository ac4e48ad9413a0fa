import type { Check } from "./check.ts";

/** 9. An agent that keeps a task list gets one message about an item, although answers are lost; or the handoff says so. */
export const oneTaskPerHandoff: Check = (_history, { handoffs }) =>
  handoffs
    .filter(({ messages, isPossibleDuplicate }) => messages > 1 && !isPossibleDuplicate)
    .map(
      ({ itemId, messages }) =>
        `the agent got ${messages} messages about ${itemId}, and its handoff does not say so`,
    );
