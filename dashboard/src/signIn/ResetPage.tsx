import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import { buttonLook } from "../controls/Button.tsx";
import { NewPasswordField } from "../controls/SignInFields.tsx";
import { AuthCard, BackToSignIn } from "./AuthCard.tsx";
import { AuthForm } from "./AuthForm.tsx";
import { useFragment } from "./useFragment.ts";

/** Sets a new password with the token of a mailed link. */
export function ResetPage() {
  const token = new URLSearchParams(useFragment()).get("token") ?? "";
  return <ResetCard key={token} token={token} />;
}

function ResetCard({ token }: { token: string }) {
  const [state, setState] = useState<"open" | "gone" | "done">(token === "" ? "gone" : "open");
  if (state === "gone") return <Gone />;
  if (state === "done") return <Done />;
  return <ResetForm token={token} onGone={() => setState("gone")} onDone={() => setState("done")} />;
}

function ResetForm({ token, onGone, onDone }: { token: string; onGone: () => void; onDone: () => void }) {
  const [password, setPassword] = useState("");
  const reset = useMutation({
    mutationFn: () =>
      answer(client.POST("/api/v1/auth/password-reset/confirm", { body: { token, password } })),
    onSuccess: onDone,
    onError: (error) => {
      if (error instanceof Problem && error.status === 410) onGone();
    },
  });
  return (
    <AuthCard title="Choose a new password" foot={<BackToSignIn />}>
      <AuthForm asked={reset} submit="Set password" onSubmit={() => reset.mutate()}>
        <NewPasswordField label="New password" value={password} onChange={setPassword} />
      </AuthForm>
    </AuthCard>
  );
}

function Done() {
  return (
    <AuthCard title="Password set" foot={null}>
      <p role="status">Your new password is set, and you are signed out everywhere.</p>
      <Link to="/sign-in" className={buttonLook("primary")}>
        Sign in
      </Link>
    </AuthCard>
  );
}

function Gone() {
  return (
    <AuthCard title="This link does not work" foot={<BackToSignIn />}>
      <p role="alert" className="rounded-control bg-failed-bg p-3 text-failed">
        The link was used or replaced by a newer one, has expired, or is incomplete.
      </p>
      <Link to="/forgot-password" className={buttonLook("primary")}>
        Request another link
      </Link>
    </AuthCard>
  );
}
