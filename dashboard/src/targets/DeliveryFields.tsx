import { TextField } from "../controls/Field.tsx";
import { RetryAxis } from "./RetryAxis.tsx";
import type { SettingsField, SettingsForm } from "./useSettingsForm.ts";

/** The fields of `deliverySettings`: retries with their schedule, and the owner's limits. */
export function DeliveryFields({ form: { draft, field } }: { form: SettingsForm }) {
  const [retries, interval] = [field("max_retries"), field("retry_interval_seconds")];
  const hasSchedule = retries.error === undefined && interval.error === undefined;
  return (
    <>
      <div className="grid gap-3 md:grid-cols-2">
        <TextField label="Retries" inputMode="numeric" {...retries} />
        <TextField label="First retry after (seconds)" inputMode="numeric" {...interval} />
      </div>
      {hasSchedule && (
        <RetryAxis
          maxRetries={Number(draft.max_retries)}
          intervalSeconds={Number(draft.retry_interval_seconds)}
        />
      )}
      <RateLimits field={field} />
    </>
  );
}

/** The limits that the owner sets on deliveries to the receiver. */
function RateLimits({ field }: { field: SettingsField }) {
  return (
    <div className="grid gap-3 md:grid-cols-3">
      <TextField
        label="Rate limit (per second)"
        inputMode="decimal"
        hint="Empty: no limit"
        {...field("rate_limit_per_second")}
      />
      <TextField
        label="Burst"
        inputMode="numeric"
        hint="Most deliveries at once after a pause; empty: a tenth of the rate"
        {...field("rate_limit_burst")}
      />
      <TextField
        label="Concurrency"
        inputMode="numeric"
        hint="Deliveries in flight at a time; empty: the service's default"
        {...field("max_concurrency")}
      />
    </div>
  );
}
