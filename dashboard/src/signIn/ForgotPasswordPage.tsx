import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { Button } from "../controls/Button.tsx";
import { Form } from "../controls/Field.tsx";
import { OwnEmailField } from "../controls/SignInFields.tsx";
import { AuthCard, BackToSignIn } from "./AuthCard.tsx";
import { AuthProblem, NeutralAnswer, useRetryAfter } from "./AuthProblem.tsx";

/** Asks for a link by mail. The answer is the same for an email that has no account. */
export function ForgotPasswordPage() {
  const [email, setEmail] = useState("");
  const ask = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/password-reset", { body: { email } })),
  });
  const { secondsLeft } = useRetryAfter(ask.error);
  return (
    <AuthCard title="Forgot password" foot={<BackToSignIn />}>
      <p className="text-muted">We mail you a link to choose a new password.</p>
      <Form className="grid gap-3" onSubmit={() => ask.mutate()}>
        <OwnEmailField value={email} onChange={setEmail} />
        <AuthProblem error={ask.error} />
        <NeutralAnswer to={ask.data} />
        <Button type="submit" look="primary" busy={ask.isPending} disabled={secondsLeft > 0}>
          Send the link
        </Button>
      </Form>
    </AuthCard>
  );
}
