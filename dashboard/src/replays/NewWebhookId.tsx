import { Checkbox } from "../controls/Checkbox.tsx";

/** Whether replays of many items get a webhook-id each, instead of that of the item which they repeat. */
export function NewWebhookId(props: { isChecked: boolean; onChange: (isChecked: boolean) => void }) {
  return <Checkbox {...props} text="New webhook-id for each: receivers that deduplicate apply it again" />;
}
