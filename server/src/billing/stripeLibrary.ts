import { createRequire } from "node:module";
import type { Stripe } from "stripe";

const require = createRequire(import.meta.url);

/**
 * The payment processor's library, loaded by its first use. Its 218 modules take a tenth of the processor time of a start, and a
 * service without live billing never needs them. As a CommonJS module it is the class itself.
 */
export function stripeLibrary(): typeof Stripe {
  return require("stripe") as typeof Stripe;
}
