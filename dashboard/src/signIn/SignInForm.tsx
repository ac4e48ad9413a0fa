import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { answer, client } from "../api/client.ts";
import { startSession } from "../api/session.ts";
import { Checkbox } from "../controls/Checkbox.tsx";
import { OwnEmailField, PasswordField } from "../controls/SignInFields.tsx";
import { AuthForm } from "./AuthForm.tsx";

interface SignInFormProps {
  /** The email of the only user who can sign in. */
  email?: string;
  onSignedIn?: () => void;
  /** Other actions, below the button. */
  children?: ReactNode;
}

/** The fields for email and password; submitting them starts a session. */
export function SignInForm({ email: known, onSignedIn, children }: SignInFormProps) {
  const [email, setEmail] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [stays, setStays] = useState(false);
  const logIn = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/login", { body: { email, password } })),
    onSuccess: ({ session_token: token, user }) => {
      startSession({ token, email: user.email }, stays);
      onSignedIn?.();
    },
  });
  return (
    <AuthForm asked={logIn} submit="Sign in" onSubmit={() => logIn.mutate()} foot={children}>
      <OwnEmailField value={email} readOnly={known !== undefined} onChange={setEmail} />
      <PasswordField value={password} onChange={setPassword} />
      <Checkbox text="Stay signed in on this device" isChecked={stays} onChange={setStays} />
    </AuthForm>
  );
}
