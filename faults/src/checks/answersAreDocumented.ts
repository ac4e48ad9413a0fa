import type { Check } from "./check.ts";

/**
 * No answer has a 5xx status except 503, no correct request is refused, and no process ends without a request to
 * end.
 */
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
