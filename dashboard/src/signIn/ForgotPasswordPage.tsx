import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { OwnEmailField } from "../controls/SignInFields.tsx";
import { AuthCard, BackToSignIn } from "./AuthCard.tsx";
import { AuthForm } from "./AuthForm.tsx";

/** Asks for a link by mail. The answer is the same for an email that has no account. */
export function ForgotPasswordPage() {
  const [email, setEmail] = useState("");
  const ask = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/password-reset", { body: { email } })),
  });
  return (
    <AuthCard title="Forgot password" foot={<BackToSignIn />}>
      <p className="text-muted">We mail you a link to choose a new password.</p>
      <AuthForm asked={ask} submit="Send the link" onSubmit={() => ask.mutate()}>
        <OwnEmailField value={email} onChange={setEmail} />
      </AuthForm>
    </AuthCard>
  );
}
