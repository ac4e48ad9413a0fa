import { Problem, sentenceOf } from "../api/problem.ts";
import { useNow } from "../time/useNow.ts";
import { duration } from "../time/wording.ts";

/** Why signing in or up did not work; too many tries count down until the next is taken. */
export function AuthProblem({ error }: { error: unknown }) {
  const { secondsLeft } = useRetryAfter(error);
  if (error === null || error === undefined) return null;
  const isWrong = error instanceof Problem && error.status === 401;
  const text =
    secondsLeft > 0
      ? `Too many tries from here. Try again in ${duration(secondsLeft)}.`
      : isWrong
        ? "The email or the password is wrong."
        : error instanceof Problem && error.status === 429
          ? "You can try again now."
          : sentenceOf(error);
  return (
    <p role="alert" className="rounded-control bg-failed-bg p-3 text-failed">
      {text}
    </p>
  );
}

/** How long a 429 still keeps the form from being sent. */
export function useRetryAfter(error: unknown): { secondsLeft: number } {
  const now = useNow();
  if (!(error instanceof Problem) || error.status !== 429) return { secondsLeft: 0 };
  const untilMs = error.atMs + (error.retryAfterSeconds ?? 60) * 1000;
  return { secondsLeft: Math.max(0, Math.ceil((untilMs - now) / 1000)) };
}

/** The service's neutral answer, the same for a taken and a free email. */
export function NeutralAnswer({ to }: { to: object | undefined }) {
  if (to === undefined || !("message" in to) || typeof to.message !== "string") return null;
  return (
    <p role="status" className="rounded-control bg-claimed-bg p-3 text-claimed">
      {to.message.charAt(0).toUpperCase() + to.message.slice(1)}
    </p>
  );
}
