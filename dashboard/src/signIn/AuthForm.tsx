import type { ReactNode } from "react";
import { Problem, sentenceOf } from "../api/problem.ts";
import { Button } from "../controls/Button.tsx";
import { Form } from "../controls/Field.tsx";
import { useNow } from "../time/useNow.ts";
import { duration } from "../time/wording.ts";

interface AuthFormProps {
  /** The mutation that the form starts. */
  asked: { error: Error | null; data: object | undefined; isPending: boolean };
  submit: string;
  onSubmit: () => void;
  /** Content below the button. */
  foot?: ReactNode;
  children: ReactNode;
}

/**
 * A form for users without a session: fields, the error, the service's neutral answer, and the button, which a 429 disables
 * for a while.
 */
export function AuthForm({ asked, submit, onSubmit, foot, children }: AuthFormProps) {
  const secondsLeft = useSecondsLeft(asked.error);
  return (
    <Form className="grid gap-3" onSubmit={onSubmit}>
      {children}
      <AuthProblem error={asked.error} secondsLeft={secondsLeft} />
      <NeutralAnswer to={asked.data} />
      <Button type="submit" look="primary" busy={asked.isPending} disabled={secondsLeft > 0}>
        {submit}
      </Button>
      {foot}
    </Form>
  );
}

/** The error of the request; after a 429, the time until the next try. */
function AuthProblem({ error, secondsLeft }: { error: Error | null; secondsLeft: number }) {
  if (error === null) return null;
  const isWrong = error instanceof Problem && error.status === 401;
  const text =
    secondsLeft > 0
      ? `Too many attempts from your network. Try again in ${duration(secondsLeft)}.`
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

/** Seconds until the form can be sent again after a 429. */
function useSecondsLeft(error: Error | null): number {
  const now = useNow();
  if (!(error instanceof Problem) || error.status !== 429) return 0;
  const untilMs = error.atMs + (error.retryAfterSeconds ?? 60) * 1000;
  return Math.max(0, Math.ceil((untilMs - now) / 1000));
}

/** The service's neutral answer, the same for a taken and a free email. */
function NeutralAnswer({ to }: { to: object | undefined }) {
  if (to === undefined || !("message" in to) || typeof to.message !== "string") return null;
  return (
    <p role="status" className="rounded-control bg-claimed-bg p-3 text-claimed">
      {to.message.charAt(0).toUpperCase() + to.message.slice(1)}
    </p>
  );
}
