import { isPassing, Problem } from "../api/problem.ts";
import { Unsaved } from "../shell/Unsaved.tsx";

interface AwaitedOnceProps {
  /** The name of the secret, such as `key`. */
  what: string;
  /** The state of the request. */
  doing: { isPending: boolean; error: unknown };
}

/**
 * Asks before the page is left while the service creates a secret that its answer shows once. If the answer was lost, tells
 * what to do.
 */
export function AwaitedOnce({ what, doing: { isPending, error } }: AwaitedOnceProps) {
  return (
    <>
      <Unsaved
        isUnsaved={isPending}
        title={`Leave before the ${what} is shown?`}
        loss={`It is being created and is shown only once. If you leave now, you have to create another ${what}.`}
        stay="Stay"
        leave="Leave"
      />
      {isAnswerLost(error) && (
        <p>If a {what} was created all the same, it cannot be shown any more: create another one.</p>
      )}
    </>
  );
}

/** Whether the service may have done what was asked although its answer did not arrive. */
function isAnswerLost(error: unknown): boolean {
  return isPassing(error) && error instanceof Problem && error.status !== 429;
}
