import type { StandInAccount } from "../stripeStandIn/client.ts";

/** Settings of a service whose payment processor is an account of the stand-in. */
export function billingSettings({ config }: StandInAccount): Record<string, string> {
  return {
    POSTRIDER_BILLING: "stripe",
    POSTRIDER_PUBLIC_URL: "https://postrider.example",
    POSTRIDER_METER_EXPORT_SECONDS: "1",
    STRIPE_SECRET_KEY: config.secretKey,
    STRIPE_WEBHOOK_SECRET: config.webhookSecrets.join(","),
    STRIPE_PRICE_ID: config.priceId,
    STRIPE_METER_EVENT_NAME: config.meterEventName,
    STRIPE_METER_ID: config.meterId,
    STRIPE_API_BASE: config.apiBase!,
  };
}
