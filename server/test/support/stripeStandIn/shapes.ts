import type { Customer, Invoice, Session, Subscription, World } from "./world.ts";

/* Records as the interface shows them, with the fields that clients read. */

export function showCustomer(customer: Customer): object {
  if (customer.deleted) return { id: customer.id, object: "customer", deleted: true };
  return {
    id: customer.id,
    object: "customer",
    created: customer.created,
    name: customer.name,
    email: customer.email,
    metadata: customer.metadata,
    invoice_settings: {
      default_payment_method: customer.hasPaymentMethod ? `pm_${customer.id}` : null,
    },
  };
}

export function showSession(session: Session): object {
  return {
    id: session.id,
    object: "checkout.session",
    created: session.created,
    expires_at: session.expiresAt,
    customer: session.customer,
    mode: "subscription",
    status: session.status,
    client_reference_id: session.params["client_reference_id"] ?? null,
    success_url: session.params["success_url"],
    cancel_url: session.params["cancel_url"],
    url: session.status === "open" ? `https://checkout.stand-in.test/${session.id}` : null,
  };
}

export function showSubscription(subscription: Subscription): object {
  return {
    id: subscription.id,
    object: "subscription",
    created: subscription.created,
    start_date: subscription.created,
    customer: subscription.customer,
    status: subscription.status,
    latest_invoice: subscription.latestInvoice,
    default_payment_method: null,
    items: {
      object: "list",
      data: [
        {
          id: `si_${subscription.id}`,
          object: "subscription_item",
          price: { id: subscription.priceId, object: "price" },
          current_period_start: subscription.periodStart,
          current_period_end: subscription.periodEnd,
        },
      ],
    },
  };
}

export function showInvoice(invoice: Invoice): object {
  return {
    id: invoice.id,
    object: "invoice",
    number: invoice.number,
    created: invoice.created,
    customer: invoice.customer,
    status: invoice.status,
    billing_reason: invoice.billingReason,
    auto_advance: invoice.autoAdvance,
    attempted: invoice.attempted,
    currency: "usd",
    period_start: invoice.periodStart,
    period_end: invoice.periodEnd,
    subtotal: invoice.subtotal,
    total: invoice.subtotal,
    amount_due: invoice.subtotal,
    amount_paid: invoice.amountPaid,
    amount_remaining: invoice.subtotal - invoice.amountPaid,
    hosted_invoice_url: invoice.status === "draft" ? null : `https://invoice.stand-in.test/${invoice.id}`,
    parent: {
      type: "subscription_details",
      subscription_details: { subscription: invoice.subscription },
    },
  };
}

export function showList(url: string, data: object[], limit: number): object {
  return { object: "list", url, has_more: data.length > limit, data: data.slice(0, limit) };
}

/** All data of a world, for tests that look behind the interface. */
export function showWorld(world: World): object {
  return {
    customers: [...world.customers.values()],
    sessions: [...world.sessions.values()],
    subscriptions: [...world.subscriptions.values()],
    invoices: [...world.invoices.values()],
    meterEvents: world.meterEvents,
    outbox: world.webhooks.outbox.map(({ event, delivered }) => ({
      id: event.id,
      type: event.type,
      delivered,
    })),
    overlaps: world.overlaps,
    requests: world.requests,
  };
}
