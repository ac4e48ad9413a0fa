import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { startSession } from "../api/session.ts";
import { Button } from "../controls/Button.tsx";
import { TextField } from "../controls/Field.tsx";
import { type Search, useUrlState } from "../shell/useUrlState.ts";
import { AuthCard } from "./AuthCard.tsx";
import { AuthProblem, useRetryAfter } from "./AuthProblem.tsx";

/** Sign in, and go on where the session ended. */
export function SignInPage() {
  const [search] = useUrlState();
  const navigate = useNavigate();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [stays, setStays] = useState(false);
  const logIn = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/login", { body: { email, password } })),
    onSuccess: ({ session_token: token, user }) => {
      startSession({ token, email: user.email }, stays);
      void navigate({ ...placeOf(search["next"]), replace: true });
    },
  });
  const { secondsLeft } = useRetryAfter(logIn.error);
  return (
    <AuthCard title="Sign in" foot={<OtherWays />}>
      {search["next"] !== undefined && <p className="text-muted">Sign in to go on where you were.</p>}
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          logIn.mutate();
        }}
      >
        <TextField
          label="Email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <TextField
          label="Password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={stays}
            onChange={(event) => setStays(event.target.checked)}
          />
          Stay signed in on this machine
        </label>
        <AuthProblem error={logIn.error} />
        <Button type="submit" look="primary" busy={logIn.isPending} disabled={secondsLeft > 0}>
          Sign in
        </Button>
      </form>
    </AuthCard>
  );
}

function OtherWays() {
  return (
    <>
      New here?{" "}
      <Link to="/sign-up" className="text-accent underline">
        Sign up
      </Link>{" "}
      or see the{" "}
      <Link to="/demo" className="text-accent underline">
        demo
      </Link>
    </>
  );
}

/** A place within this page only: what stands in a link must not lead elsewhere. */
function placeOf(next: string | undefined): { to: string; search: Search } {
  if (next === undefined || !next.startsWith("/")) return { to: "/", search: {} };
  const { pathname, searchParams } = new URL(`http://here${next}`);
  return { to: pathname, search: Object.fromEntries(searchParams) };
}
