import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { Button } from "../controls/Button.tsx";
import { TextField } from "../controls/Field.tsx";
import { Form } from "../controls/Form.tsx";
import { Modal } from "../controls/Modal.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { eventTypesHint, eventTypesOf } from "./eventTypesText.ts";

/** Makes an endpoint; its secret is handed on, to be shown once. */
export function NewEndpoint({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (secret: string | undefined) => void;
}) {
  const queries = useQueryClient();
  const [typed, setTyped] = useState({ url: "", name: "", types: "" });
  const create = useMutation({
    mutationFn: () => {
      const { url, name, types } = typed;
      const body = {
        kind: "webhook",
        url: url.trim(),
        name: name.trim() || (URL.parse(url)?.hostname ?? "webhook"),
        event_types: eventTypesOf(types),
      };
      return answer(client.POST("/api/v1/targets", { body }));
    },
    onSuccess: ({ secret }) => {
      void queries.invalidateQueries({ queryKey: ["targets"] });
      onMade(secret);
    },
  });
  const field = (name: keyof typeof typed) => ({
    value: typed[name],
    onChange: (event: { target: { value: string } }) => setTyped({ ...typed, [name]: event.target.value }),
  });
  return (
    <Modal title="New endpoint" open onClose={onClose}>
      <Form onSubmit={() => create.mutate()}>
        <TextField
          label="URL"
          type="url"
          required
          placeholder="https://example.com/webhooks"
          {...field("url")}
        />
        <TextField label="Name" maxLength={256} hint="Left empty, the URL's host" {...field("name")} />
        <TextField label="Event types" hint={eventTypesHint} {...field("types")} />
        {create.isError && <ProblemCard error={create.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not now</Button>
          <Button type="submit" look="primary" busy={create.isPending} disabled={typed.url.trim() === ""}>
            Make the endpoint
          </Button>
        </div>
      </Form>
    </Modal>
  );
}
