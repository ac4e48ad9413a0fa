import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import { startSession } from "../api/session.ts";
import { TextField } from "../controls/Field.tsx";
import { NewPasswordField, OwnEmailField } from "../controls/SignInFields.tsx";
import { AuthCard } from "./AuthCard.tsx";
import { AuthForm } from "./AuthForm.tsx";
import { useFragment } from "./useFragment.ts";

/** Accepts an invitation. Its token is in the URL's fragment, which browsers never send. */
export function JoinPage() {
  const token = useFragment();
  return <JoinCard key={token} token={token} />;
}

function JoinCard({ token }: { token: string }) {
  const [isGone, setGone] = useState(token === "");
  return (
    <AuthCard title="Join an organization" foot={<SignInLink />}>
      {isGone ? (
        <p role="alert" className="rounded-control bg-failed-bg p-3 text-failed">
          This invitation is unknown, was used or revoked, or has expired. Ask its sender for another one.
        </p>
      ) : (
        <JoinForm token={token} onGone={() => setGone(true)} />
      )}
    </AuthCard>
  );
}

function useJoining(token: string, onGone: () => void) {
  const navigate = useNavigate();
  return useMutation({
    mutationFn: ({ email, name, password }: Record<"email" | "name" | "password", string>) => {
      const body = { token, email, password, ...(name.trim() !== "" && { name: name.trim() }) };
      return answer(client.POST("/api/v1/invitations/accept", { body }));
    },
    onSuccess: (made) => {
      if (!("session_token" in made)) return;
      startSession({ token: made.session_token, email: made.user.email }, false);
      void navigate({ to: "/", search: {} });
    },
    onError: (error) => {
      if (error instanceof Problem && error.status === 410) onGone();
    },
  });
}

function JoinForm({ token, onGone }: { token: string; onGone: () => void }) {
  const [typed, setTyped] = useState({ email: "", name: "", password: "" });
  const join = useJoining(token, onGone);
  const field = (name: keyof typeof typed) => ({
    value: typed[name],
    onChange: (value: string) => setTyped({ ...typed, [name]: value }),
  });
  return (
    <AuthForm asked={join} submit="Join" onSubmit={() => join.mutate(typed)}>
      <OwnEmailField {...field("email")} />
      <TextField
        label="Name"
        autoComplete="name"
        maxLength={256}
        hint="Optional; shown to the other members"
        value={typed.name}
        onChange={(event) => field("name").onChange(event.target.value)}
      />
      <NewPasswordField {...field("password")} />
    </AuthForm>
  );
}

function SignInLink() {
  return (
    <>
      Have an account here?{" "}
      <Link to="/sign-in" className="text-accent underline">
        Sign in
      </Link>
    </>
  );
}
