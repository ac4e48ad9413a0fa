import { integer, oneOf, originUrl, type Settings, word, words } from "./parsers.ts";

/** The documentation's words for an unset variable without which `stripe` does not start. */
export const neededByStripe = "required by `stripe`";

/** Settings of metered usage, and of the payment processor, whose variables have the prefix `STRIPE_`. */
export const billingSettings = {
  billingMode: {
    name: "POSTRIDER_BILLING",
    parse: oneOf(["disabled", "stripe"]),
    default: "disabled",
    description:
      "`disabled` records usage and charges nothing; `stripe` needs the five `STRIPE_` settings below.",
  },
  meterExportSeconds: {
    name: "POSTRIDER_METER_EXPORT_SECONDS",
    parse: integer(1, 86_400),
    default: "10",
    description: "How often pending usage is sent to the payment processor.",
  },
  stripeSecretKey: {
    name: "STRIPE_SECRET_KEY",
    parse: word,
    unset: neededByStripe,
    secret: true,
    description: "The secret API key.",
  },
  stripeWebhookSecrets: {
    name: "STRIPE_WEBHOOK_SECRET",
    parse: words(2),
    unset: neededByStripe,
    secret: true,
    description:
      "The signing secret of the webhook endpoint; two separated by a comma while it is being rotated.",
  },
  stripePriceId: {
    name: "STRIPE_PRICE_ID",
    parse: word,
    unset: neededByStripe,
    description: "The metered price: 10 cents for each started 1,000 items.",
  },
  stripeMeterEventName: {
    name: "STRIPE_METER_EVENT_NAME",
    parse: word,
    unset: neededByStripe,
    description: "The event name of the meter.",
  },
  stripeMeterId: {
    name: "STRIPE_METER_ID",
    parse: word,
    unset: neededByStripe,
    description: "The id of the meter, read for reconciliation.",
  },
  stripeApiBase: {
    name: "STRIPE_API_BASE",
    parse: originUrl,
    unset: "Stripe's own",
    secret: true,
    description:
      "Another base address of the processor's interface, without a path, for example of a local test server.",
  },
} satisfies Settings;
