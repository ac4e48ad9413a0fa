import { MetadataField } from "../customers/CustomerFields.tsx";
import { CustomerField, UidField } from "./OwnFields.tsx";
import type { Draft } from "./settingsDraft.ts";
import type { SettingName } from "./settingTexts.ts";

interface OwnSettingsProps {
  draft: Draft;
  errorOf: (name: SettingName) => string | undefined;
  onChange: (changes: Draft) => void;
}

/** Fields for the customer, uid and metadata of a target. */
export function OwnSettings({ draft, errorOf, onChange }: OwnSettingsProps) {
  return (
    <>
      <div className="grid gap-3 md:grid-cols-2">
        <CustomerField
          value={draft.customer_uid ?? ""}
          error={errorOf("customer_uid")}
          onChange={(uid) => onChange({ customer_uid: uid })}
        />
        <UidField value={draft.uid ?? ""} error={errorOf("uid")} onChange={(uid) => onChange({ uid })} />
      </div>
      <MetadataField
        value={draft.metadata ?? ""}
        error={errorOf("metadata")}
        onChange={(metadata) => onChange({ metadata })}
      />
    </>
  );
}
