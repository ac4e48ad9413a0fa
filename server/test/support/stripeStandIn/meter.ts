import { type FormValues, objectOf, textOf } from "./formBody.ts";
import { showList } from "./shapes.ts";
import { livingCustomer, mustFind, nowOf, Refusal, type World } from "./world.ts";

/** How long the processor remembers an identifier; it promises no longer time. */
const rememberedSeconds = 24 * 3_600;
const maxAgeSeconds = 35 * 86_400;
const maxFutureSeconds = 300;

/** Stores a meter event; refuses an identifier that is remembered, and two simultaneous events of one customer. */
export async function createMeterEvent(world: World, params: FormValues): Promise<object> {
  const now = nowOf(world);
  const payload = objectOf(params, "payload");
  const customer = mustFind(world.customers, textOf(payload, "stripe_customer_id"), "customer");
  const identifier = textOf(params, "identifier") ?? "";
  const value = textOf(payload, "value") ?? "";
  const timestamp = Number(textOf(params, "timestamp") ?? now);
  const eventName = textOf(params, "event_name") ?? "";
  if (!/^\d+$/.test(value)) throw invalid("payload[value] must be a whole number", "payload");
  if (identifier === "" || identifier.length > 100)
    throw invalid("identifier must be 1-100 characters", "identifier");
  if (!Number.isInteger(timestamp) || timestamp > now + maxFutureSeconds || timestamp < now - maxAgeSeconds) {
    throw invalid("timestamp must be within the past 35 days or the next 5 minutes", "timestamp");
  }
  if (world.metering.has(customer.id)) {
    world.overlaps++;
    throw new Refusal(429, "Too many concurrent requests for this customer and meter.", {
      type: "invalid_request_error",
      code: "lock_timeout",
    });
  }
  world.metering.add(customer.id);
  try {
    // Gives another request for the same customer time to arrive.
    await new Promise((resolve) => setImmediate(resolve));
    const known = world.meterEvents.some(
      (event) => event.identifier === identifier && event.storedAt > now - rememberedSeconds,
    );
    if (known) throw invalid(`An event already exists with identifier ${identifier}.`, "identifier");
    const event = {
      identifier,
      eventName,
      customer: customer.id,
      value: Number(value),
      timestamp,
      storedAt: now,
    };
    world.meterEvents.push(event);
  } finally {
    world.metering.delete(customer.id);
  }
  return {
    object: "billing.meter_event",
    created: now,
    event_name: eventName,
    identifier,
    payload,
    timestamp,
  };
}

/** Sums a customer's events of a minute-aligned window, without the most recent ones. */
export function summarizeMeter(world: World, params: FormValues, meterId: string): object {
  const customer = livingCustomer(world, params);
  const start = Number(textOf(params, "start_time"));
  const end = Number(textOf(params, "end_time"));
  if (!(start < end) || start % 60 !== 0 || end % 60 !== 0) {
    throw invalid("start_time and end_time must be aligned with minute boundaries", "start_time");
  }
  const seenUntil = nowOf(world) - world.summaryLagSeconds;
  const counted = world.meterEvents.filter(
    (event) =>
      event.customer === customer.id &&
      event.storedAt <= seenUntil &&
      event.timestamp >= start &&
      event.timestamp < end,
  );
  const summary = {
    id: `mtrusg_${meterId}`,
    object: "billing.meter_event_summary",
    meter: meterId,
    start_time: start,
    end_time: end,
    aggregated_value: counted.reduce((sum, { value }) => sum + value, 0),
  };
  return showList(
    `/v1/billing/meters/${meterId}/event_summaries`,
    counted.length === 0 ? [] : [summary],
    100,
  );
}

function invalid(message: string, param: string): Refusal {
  return new Refusal(400, message, { type: "invalid_request_error", param });
}
