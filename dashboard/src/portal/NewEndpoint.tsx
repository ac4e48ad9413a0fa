import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { TextField, WebhookUrlField } from "../controls/Field.tsx";
import { FormDialog } from "../controls/FormDialog.tsx";
import { EventTypeChoice } from "./EventTypeChoice.tsx";
import { eventTypesOf } from "../targets/eventTypesText.ts";
import { parseUrl } from "../targets/parseUrl.ts";

/** Creates an endpoint, and gives its secret to `onMade`, to be shown once. */
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
        kind: "webhook" as const,
        url: url.trim(),
        name: name.trim() || (parseUrl(url)?.hostname ?? "webhook"),
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
    <FormDialog
      title="New endpoint"
      onClose={onClose}
      action="Create endpoint"
      doing={create}
      secret="signing secret"
      isReady={typed.url.trim() !== ""}
      onSubmit={() => create.mutate()}
    >
      <WebhookUrlField {...field("url")} />
      <TextField
        label="Display name (optional)"
        maxLength={256}
        hint="Empty: the host of the URL"
        {...field("name")}
      />
      <EventTypeChoice {...field("types")} />
    </FormDialog>
  );
}
