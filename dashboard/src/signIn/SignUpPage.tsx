import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { startSession } from "../api/session.ts";
import { NewPasswordField, OwnEmailField } from "../controls/SignInFields.tsx";
import { keep } from "../start/kept.ts";
import { AuthCard } from "./AuthCard.tsx";
import { AuthForm } from "./AuthForm.tsx";

/** Sign-up page. A taken email gets the same neutral answer as a free one, so that nobody learns who has an account. */
export function SignUpPage() {
  const navigate = useNavigate();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const signUp = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/signup", { body: { email, password } })),
    onSuccess: (made) => {
      if (!("session_token" in made)) return;
      startSession({ token: made.session_token, email: made.user.email }, false);
      keep({ apiKey: made.api_key });
      void navigate({ to: "/start", search: {} });
    },
  });
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
      <AuthForm asked={signUp} submit="Sign up" onSubmit={() => signUp.mutate()}>
        <OwnEmailField value={email} onChange={setEmail} />
        <NewPasswordField value={password} onChange={setPassword} />
      </AuthForm>
    </AuthCard>
  );
}
