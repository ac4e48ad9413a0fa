import { Checkbox } from "../controls/Checkbox.tsx";

/** A checkbox: whether each replay gets a new webhook-id instead of its source's. */
export function NewWebhookId(props: { isChecked: boolean; onChange: (isChecked: boolean) => void }) {
  return <Checkbox {...props} text="New webhook-id for each: receivers that deduplicate process it again" />;
}
