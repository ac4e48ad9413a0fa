import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Form } from "../controls/Field.tsx";
import { NewPasswordField, PasswordField } from "../controls/SignInFields.tsx";
import { toast } from "../controls/toasts.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";

/** Changes the password of the signed-in user, which ends the user's other sessions. */
export function Password() {
  const [present, setPresent] = useState("");
  const [next, setNext] = useState("");
  const change = useMutation({
    mutationFn: () =>
      answer(
        client.POST("/api/v1/auth/password", { body: { current_password: present, new_password: next } }),
      ),
    onSuccess: () => {
      setPresent("");
      setNext("");
      toast({ text: "Password changed. Your other sessions have ended." });
    },
  });
  return (
    <Card title="Password">
      <Form className="grid gap-3" onSubmit={() => change.mutate()}>
        <div className="grid gap-3 md:grid-cols-2">
          <PasswordField label="Current password" value={present} onChange={setPresent} />
          <NewPasswordField label="New password" value={next} onChange={setNext} />
        </div>
        {change.isError && <ProblemCard error={change.error} />}
        <div>
          <Button type="submit" busy={change.isPending} disabled={present === "" || next === ""}>
            Change the password
          </Button>
        </div>
      </Form>
    </Card>
  );
}
