import type { Stripe } from "stripe";
import type { StripeConfig } from "../config/config.ts";
import { type Period, periodBounds } from "./period.ts";

/**
 * Reads the total of the processor's meter for a customer and a month, up to `nowSeconds`. The meter lags behind: usage
 * sent a minute ago may be missing.
 * @throws the processor's errors.
 */
export async function readMeterTotal(
  processor: { stripe: Stripe; config: StripeConfig },
  customerId: string,
  period: Period,
  nowSeconds: number,
): Promise<number> {
  const { startSeconds, endSeconds } = periodBounds(period);
  // The processor accepts whole minutes only.
  const nextMinute = Math.floor(nowSeconds / 60) * 60 + 60;
  const summaries = await processor.stripe.billing.meters.listEventSummaries(processor.config.meterId, {
    customer: customerId,
    start_time: startSeconds,
    end_time: Math.min(endSeconds, Math.max(nextMinute, startSeconds + 60)),
    limit: 100,
  });
  return summaries.data.reduce((total, summary) => total + summary.aggregated_value, 0);
}
