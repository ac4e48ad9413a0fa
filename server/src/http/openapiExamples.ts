import { customerExamples } from "./openapiCustomerExamples.ts";

const replay = {
  id: "019a4b6c7d8e7f0011223344556677af",
  status: "RUNNING",
  filter: { target_id: "019a4b6c7d8e7f0011223344556677ac", status: "FAILED", created_after: 1_793_496_000 },
  include_replayed: false,
  rate_per_second: 100,
  total: 1200,
  replayed: 800,
  delivered: 764,
  failed: 2,
  skipped: 0,
  skipped_reasons: { still_waiting: 0, target_deleted: 0, mailbox_disabled: 0, expired: 0 },
  created_by: "ada@example.com",
  created_at: 1_793_500_000,
  finished_at: null,
};

/** Examples of the bodies of some operations, by operationId. A test holds them against the schemas. */
export const examples: Record<string, { request?: Record<string, unknown>; answer?: unknown }> = {
  ...customerExamples,
  signUp: {
    request: {
      "A new account": { email: "ada@example.com", password: "correct horse battery", name: "Ada" },
    },
    answer: {
      user: {
        id: "019a4b6c7d8e7f0011223344556677aa",
        email: "ada@example.com",
        name: "Ada",
        org_id: "019a4b6c7d8e7f0011223344556677ab",
        role: "admin",
      },
      session_token: "the token for X-Session-Token",
      api_key: `ak_live_${"0123456789abcdef".repeat(4)}`,
    },
  },
  logIn: {
    request: { "An account's owner": { email: "ada@example.com", password: "correct horse battery" } },
  },
  changePassword: {
    request: {
      "A new password": { current_password: "correct horse battery", new_password: "staple the horse" },
    },
  },
  requestPasswordReset: {
    request: { "An account's owner": { email: "ada@example.com" } },
    answer: {
      message: "If this address has an account, a mail with a link to reset its password is on its way.",
    },
  },
  confirmPasswordReset: {
    request: {
      "A new password": { token: `rst_${"0123456789abcdef".repeat(4)}`, password: "staple the horse" },
    },
  },
  createInvitation: {
    request: { "Somebody who works with targets": { role: "member", email: "grace@example.com" } },
    answer: {
      id: "019a4b6c7d8e7f0011223344556677b0",
      role: "member",
      email: "grace@example.com",
      created_by: "019a4b6c7d8e7f0011223344556677aa",
      created_at: 1_793_500_000,
      expires_at: 1_794_104_800,
      token: `inv_${"0123456789abcdef".repeat(4)}`,
      url: `https://postrider.example.com/join#inv_${"0123456789abcdef".repeat(4)}`,
    },
  },
  acceptInvitation: {
    request: {
      "With the invitation's address": {
        token: `inv_${"0123456789abcdef".repeat(4)}`,
        password: "correct horse battery",
        name: "Grace",
      },
    },
  },
  listMembers: {
    answer: {
      members: [
        {
          id: "019a4b6c7d8e7f0011223344556677aa",
          email: "ada@example.com",
          name: "Ada",
          role: "admin",
          created_at: 1_793_400_000,
          last_login_at: 1_793_500_000,
        },
      ],
    },
  },
  changeRole: { request: { "Only looks from now on": { role: "viewer" } } },
  listAuditLog: {
    answer: {
      entries: [
        {
          id: "019a4b6c7d8e7f0011223344556677b1",
          at: 1_793_500_000,
          action: "target.updated",
          actor: { kind: "user", id: "019a4b6c7d8e7f0011223344556677aa", name: "ada@example.com" },
          object: { kind: "target", id: "019a4b6c7d8e7f0011223344556677ac", name: "Shop" },
          before: { url: "https://shop.example.com/… (sha256 1f0e3dad9990)" },
          after: { url: "https://hooks.example.com/… (sha256 9f86d081884c)" },
          client_address: "203.0.113.7",
          user_agent: "Mozilla/5.0 (X11; Linux x86_64)",
          request_id: "9f2c1a7b3d4e00000001",
        },
      ],
    },
  },
  createKey: {
    request: {
      "A key for one consumer": { name: "worker 1" },
      "A key that sends, and nothing else": { name: "shop backend", scope: "send" },
      "A key for one customer's things": { name: "shop 7", scope: "customer", customer_uid: "shop-7" },
    },
  },
  createTarget: {
    request: {
      "A customer's webhook, with the secret that its receiver knows": {
        kind: "webhook",
        name: "Orders",
        url: "https://shop.example.com/hooks",
        uid: "shop-7-orders",
        customer_uid: "shop-7",
        secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      },
      "A webhook": { kind: "webhook", name: "Shop", url: "https://shop.example.com/hooks" },
      "A webhook with headers of its own, at most 50 attempts a second and 8 at a time": {
        kind: "webhook",
        name: "Shop",
        url: "https://shop.example.com/hooks",
        headers: {
          Authorization: "Bearer 6f1ed002ab5595859014ebf0951522d9",
          "X-Tenant": { value: "shop-7", secret: false },
        },
        rate_limit_per_second: 50,
        rate_limit_burst: 10,
        max_concurrency: 8,
      },
      "A mailbox": { kind: "mailbox", name: "Jobs" },
      "An agent": {
        kind: "a2a",
        name: "Researcher",
        agent_card_url: "https://agent.example.com/.well-known/agent-card.json",
        auth: { type: "bearer", token: "6f1ed002ab5595859014ebf0951522d9" },
      },
    },
    answer: {
      id: "019a4b6c7d8e7f0011223344556677ac",
      kind: "webhook",
      name: "Shop",
      description: "",
      enabled: true,
      url: "https://shop.example.com/hooks",
      secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      signing_scheme: "standard-webhooks-v1",
      has_previous_signing_secret: false,
      event_types: [],
      max_payload_bytes: 1_048_576,
      max_retries: 8,
      retry_interval_seconds: 30,
      rate_limit_per_second: 50,
      rate_limit_burst: 10,
      max_concurrency: 8,
      headers: { Authorization: "***", "X-Tenant": { value: "shop-7", secret: false } },
      created_at: 1_793_500_000,
      updated_at: 1_793_500_000,
    },
  },
  updateTarget: {
    request: {
      "Stop deliveries": { enabled: false },
      "Send more slowly": { rate_limit_per_second: 5 },
      "Change one header and keep the other's value": {
        headers: { Authorization: "***", "X-Tenant": { value: "shop-8", secret: false } },
      },
    },
  },
  revealSigningSecret: { answer: { secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" } },
  sendItem: {
    request: { "An order": { event_type: "order.created", order: { id: 1001, total_cents: 4200 } } },
    answer: { id: "019a4b6c7d8e7f0011223344556677ad", status: "QUEUED" },
  },
  sendEvent: {
    request: { "An order": { event_type: "order.created", order: { id: 1001, total_cents: 4200 } } },
    answer: { id: "019a4b6c7d8e7f0011223344556677ad", status: "QUEUED" },
  },
  createEndpoint: {
    request: {
      "Some event types": {
        name: "Shop",
        url: "https://shop.example.com/hooks",
        event_types: ["order.created", "order.paid"],
      },
    },
  },
  updateEndpoint: { request: { "All event types": { event_types: [] } } },
  listEvents: {
    answer: {
      events: [
        {
          id: "019a4b6c7d8e7f0011223344556677ad",
          endpoint_id: "019a4b6c7d8e7f0011223344556677ac",
          event_type: "order.created",
          status: "RETRYING",
          created_at: 1_793_500_000,
          updated_at: 1_793_500_031,
          attempts: 2,
          last_status_code: 503,
          next_attempt_at: 1_793_500_091,
          duration_ms: 48,
        },
      ],
    },
  },
  readPayload: { answer: { event_type: "order.created", order: { id: 1001, total_cents: 4200 } } },
  readStats: {
    answer: {
      from: 1_793_496_000,
      to: 1_793_503_200,
      step: 3600,
      points: [
        {
          at: 1_793_499_600,
          accepted: 1200,
          delivered: 1188,
          retried: 31,
          failed: 2,
          latency_ms: { p50: 12, p95: 44, p99: 220 },
        },
      ],
      totals: {
        accepted: 1200,
        delivered: 1188,
        retried: 31,
        failed: 2,
        latency_ms: { p50: 12, p95: 44, p99: 220 },
      },
    },
  },
  readTargetHealth: {
    answer: {
      target_id: "019a4b6c7d8e7f0011223344556677ac",
      kind: "webhook",
      enabled: true,
      disabled_reason: null,
      circuit: "open",
      in_flight: 0,
      due: 214,
      due_is_exact: true,
      oldest_due_at: 1_793_499_940,
      oldest_due_seconds: 60,
      success_rate_24h: 0.974,
      failing_since: 1_793_499_930,
      last_attempt_at: 1_793_499_998,
      last_success_at: 1_793_499_929,
      held: 0,
    },
  },
  forceReject: { request: { "A message that stops its key": { reason: "the order was deleted by hand" } } },
  replayEvent: {
    answer: {
      id: "019a4b6c7d8e7f0011223344556677ae",
      status: "QUEUED",
      source_event_id: "019a4b6c7d8e7f0011223344556677ad",
    },
  },
  cancelEvent: { answer: { id: "019a4b6c7d8e7f0011223344556677ad", status: "CANCELED" } },
  startReplay: {
    request: {
      "What failed at one target": {
        filter: {
          target_id: "019a4b6c7d8e7f0011223344556677ac",
          status: "FAILED",
          created_after: 1_793_496_000,
        },
        rate_per_second: 100,
      },
      "How many that would be": { filter: { status: "FAILED" }, dry_run: true },
    },
    answer: { count: 1200, count_is_exact: true, sample: ["019a4b6c7d8e7f0011223344556677ad"] },
  },
  readReplay: { answer: replay },
  cancelReplay: { answer: { ...replay, status: "CANCELED", finished_at: 1_793_500_008 } },
  listReplays: { answer: { replays: [replay] } },
  testTarget: {
    request: { "A payload of one's own": { event_type: "order.created", payload: { order: { id: 0 } } } },
    answer: {
      event_id: "019a4b6c7d8e7f0011223344556677b0",
      is_test: true,
      delivered: false,
      attempt: {
        status_code: 401,
        duration_ms: 48,
        error: "receiver answered 401",
        response_body: "the signature does not fit",
      },
    },
  },
  eraseEvent: {
    answer: {
      id: "019a4b6c7d8e7f0011223344556677af",
      event_id: "019a4b6c7d8e7f0011223344556677ad",
      correlation_id: null,
      status: "DONE",
      total: 2,
      erased: 2,
      created_by: "ada@example.com",
      created_at: 1_793_500_000,
      finished_at: 1_793_500_000,
    },
  },
  createErasure: {
    request: { "All that belongs to a customer": { correlation_id: "customer-4711" } },
    answer: {
      id: "019a4b6c7d8e7f0011223344556677af",
      event_id: null,
      correlation_id: "customer-4711",
      status: "RUNNING",
      total: null,
      erased: 0,
      created_by: "API key worker 1 (ak_live_0123)",
      created_at: 1_793_500_000,
      finished_at: null,
    },
  },
  saveNotificationTarget: {
    request: {
      "What somebody has to look at": {
        target_id: "019a4b6c7d8e7f0011223344556677ac",
        event_types: ["target.disabled", "event.failed", "handoff.input_required"],
      },
    },
    answer: {
      id: "019a4b6c7d8e7f0011223344556677b0",
      target_id: "019a4b6c7d8e7f0011223344556677ac",
      event_types: ["target.disabled", "event.failed", "handoff.input_required"],
      created_at: 1_793_500_000,
    },
  },
  readOrganization: {
    answer: {
      org: {
        id: "019a4b6c7d8e7f0011223344556677ab",
        name: "Ada's workshop",
        slug: "adas-workshop-33445566ab",
        billing_status: "active",
        billing_grace_ends_at: null,
        secrets_can_be_revealed: false,
        created_at: 1_793_400_000,
      },
    },
  },
  renameOrganization: {
    request: {
      "A new name": { name: "Ada's workshop" },
      "Admins may reveal signing secrets": { secrets_can_be_revealed: true },
    },
  },
  readUsage: {
    answer: {
      usage: {
        period_start: 1_793_491_200,
        period_end: 1_796_083_200,
        accepted_events: 1200,
        estimated_units: 2,
        estimated_cents: 20,
        pending_meter_events: 1200,
      },
    },
  },
};
