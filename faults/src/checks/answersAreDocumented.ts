import type { Check } from "./check.ts";

/** 503 is the only 5xx, no correct request is refused, and processes end when they are told to. */
export const answersAreDocumented: Check = ({ calls, ends }) => {
  const answers = calls
    .filter(
      ({ status, outcome }) => outcome === "fail" || (status !== null && status >= 500 && status !== 503),
    )
    .map(
      ({ operation, by, status, reason }) =>
        `${operation.op} of ${by} was answered with ${status}: ${reason}`,
    );
  const pending = calls
    .filter(({ outcome }) => outcome === "pending")
    .map(({ operation, by }) => `${operation.op} of ${by} never ended`);
  const crashes = ends
    .filter(({ isAsked, isStarting }) => !isAsked && !isStarting)
    .map(({ service, how, lastWords }) => `${service} ended by itself (${how}): ${lastWords.slice(-500)}`);
  return [...answers, ...pending, ...crashes];
};
