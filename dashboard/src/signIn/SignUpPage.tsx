import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { startSession } from "../api/session.ts";
import { Button } from "../controls/Button.tsx";
import { TextField } from "../controls/Field.tsx";
import { keepFirstKey } from "../start/firstKey.ts";
import { AuthCard } from "./AuthCard.tsx";
import { AuthProblem, useRetryAfter } from "./AuthProblem.tsx";

/** Sign up. A taken email is answered in the same neutral words, so that nobody learns who has an account. */
export function SignUpPage() {
  const navigate = useNavigate();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const signUp = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/signup", { body: { email, password } })),
    onSuccess: (made) => {
      if (!("session_token" in made)) return;
      if (made.api_key !== undefined) keepFirstKey(made.api_key);
      startSession({ token: made.session_token, email: made.user.email }, false);
      void navigate({ to: "/start", search: {} });
    },
  });
  const { secondsLeft } = useRetryAfter(signUp.error);
  return (
    <AuthCard
      title="Sign up"
      foot={
        <>
          Have an account?{" "}
          <Link to="/sign-in" className="text-accent underline">
            Sign in
          </Link>
        </>
      }
    >
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          signUp.mutate();
        }}
      >
        <TextField
          label="Email"
          type="email"
          autoComplete="username"
          required
          maxLength={256}
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <TextField
          label="Password"
          type="password"
          autoComplete="new-password"
          required
          minLength={8}
          maxLength={128}
          hint="8 to 128 characters"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <AuthProblem error={signUp.error} />
        {signUp.data !== undefined && "message" in signUp.data && (
          <p role="status" className="rounded-control bg-claimed-bg p-3 text-claimed">
            {signUp.data.message.charAt(0).toUpperCase() + signUp.data.message.slice(1)}
          </p>
        )}
        <Button type="submit" look="primary" busy={signUp.isPending} disabled={secondsLeft > 0}>
          Sign up
        </Button>
      </form>
    </AuthCard>
  );
}
