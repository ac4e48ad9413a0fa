import { TextField } from "../controls/Field.tsx";

type WebhookUrlFieldProps = Pick<Parameters<typeof TextField>[0], "value" | "onChange" | "error">;

/** Where a webhook's deliveries are to go. */
export function WebhookUrlField(props: WebhookUrlFieldProps) {
  return <TextField label="URL" type="url" required placeholder="https://example.com/webhooks" {...props} />;
}
