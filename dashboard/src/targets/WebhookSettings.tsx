import type { Target } from "../api/shapes.ts";
import { TextField } from "../controls/Field.tsx";
import { isTryout } from "../tryout/tryoutUrl.ts";
import { DeliveryFields } from "./DeliveryFields.tsx";
import { EventTypesField } from "./EventTypesField.tsx";
import { HeaderFields } from "./HeaderFields.tsx";
import type { SettingsForm } from "./useSettingsForm.ts";

/** The settings of a webhook, in addition to those of every kind. */
export function WebhookSettings({ target, form }: { target: Target; form: SettingsForm }) {
  return (
    <>
      {!isTryout(target.url) && <TextField label="URL" type="url" required {...form.field("url")} />}
      <EventTypesField {...form.field("event_types")} />
      <DeliveryFields form={form} />
      <HeaderFields {...form.headers} />
    </>
  );
}
