import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { sendsMail } from "../api/sendsMail.ts";
import { startSession } from "../api/session.ts";
import { Button } from "../controls/Button.tsx";
import { Checkbox } from "../controls/Checkbox.tsx";
import { Form } from "../controls/Field.tsx";
import { OwnEmailField, PasswordField } from "../controls/SignInFields.tsx";
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
      {search["next"] !== undefined && <p className="text-muted">Sign in to continue.</p>}
      <Form className="grid gap-3" onSubmit={() => logIn.mutate()}>
        <OwnEmailField value={email} onChange={setEmail} />
        <PasswordField value={password} onChange={setPassword} />
        <Checkbox text="Stay signed in on this machine" isChecked={stays} onChange={setStays} />
        <AuthProblem error={logIn.error} />
        <Button type="submit" look="primary" busy={logIn.isPending} disabled={secondsLeft > 0}>
          Sign in
        </Button>
        {sendsMail && (
          <Link to="/forgot-password" className="justify-self-center text-accent underline">
            Forgot password?
          </Link>
        )}
      </Form>
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
