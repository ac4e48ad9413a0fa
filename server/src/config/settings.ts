import { billingSettings } from "./billingSettings.ts";
import { mailSettings } from "./mailSettings.ts";
import {
  anyText,
  baseUrl,
  bearerToken,
  boolean,
  countOrCores,
  databaseUrl,
  encryptionKey,
  encryptionKeys,
  hostNames,
  integer,
  networks,
  oneOf,
  setOf,
  type Settings,
  listenAddress,
} from "./parsers.ts";
import { telemetrySettings } from "./telemetrySettings.ts";

const day = 86_400;

/** The roles that the processes of a service must have together. */
export const roleNames = ["api", "dispatcher", "maintenance"] as const;

const listening = {
  port: {
    name: "PORT",
    parse: integer(0, 65_535),
    default: "8080",
    description:
      "The TCP port. 0 takes any free one. `GET /readyz` answers 200 once the service accepts requests.",
  },
  host: {
    name: "HOST",
    parse: listenAddress,
    default: "127.0.0.1",
    description: "The address to listen on. `0.0.0.0` or `::` listens on every interface.",
  },
  publicUrl: {
    name: "POSTRIDER_PUBLIC_URL",
    parse: baseUrl,
    unset: "unset",
    secret: true,
    description:
      "The base URL at which others reach this service. Needed for links sent to others, such as push notifications of agents and return addresses of payment pages, and for the dashboard behind a proxy: its path is the prefix under which the proxy serves the service, whether or not the proxy removes it.",
  },
  mcpHosts: {
    name: "POSTRIDER_MCP_HOSTS",
    parse: hostNames,
    default: "",
    description:
      "Host names, separated by commas, at which agents may call tools at `/mcp`, in addition to the public URL's host, `localhost` and IP addresses. Requests for any other name are refused, because a page of another site could have sent them.",
  },
  trustProxy: {
    name: "POSTRIDER_TRUST_PROXY",
    parse: boolean,
    default: "false",
    description:
      "Take the client's address from `X-Forwarded-For`. Set it only behind a proxy that writes the header, because rate limits are counted by this address.",
  },
  maxBodyBytes: {
    name: "POSTRIDER_MAX_BODY_BYTES",
    parse: integer(1024, 64 * 1024 * 1024),
    default: "1048576",
    description: "The largest request body. A larger one is answered with 413.",
  },
  bodyMemoryBytes: {
    name: "POSTRIDER_BODY_MEMORY_BYTES",
    parse: integer(4096, 64 * 1024 * 1024 * 1024),
    default: "67108864",
    description:
      "The most memory for request bodies that are being received, over all connections, and as much again for items that wait for the database. At least four times POSTRIDER_MAX_BODY_BYTES. An organization may use as much of it as is free. Beyond it requests are answered with 503.",
  },
  maxConnections: {
    name: "POSTRIDER_MAX_CONNECTIONS",
    parse: integer(16, 1_000_000),
    unset: "10000, or what the limit of file descriptors allows",
    description:
      "Maximum number of client connections. When it is reached, a new connection replaces the one that has been idle longest without a valid key. An organization may have as many connections as are free; more of its connections end with their next answer.",
  },
  fastHttp: {
    name: "POSTRIDER_FAST_HTTP",
    parse: oneOf(["on", "off"]),
    default: "on",
    description:
      "`off` lets the framework answer every request. Slower; use it to find out whether the fast path causes a fault.",
  },
  roles: {
    name: "POSTRIDER_ROLES",
    parse: setOf(roleNames),
    default: "api,dispatcher,maintenance",
    description:
      "The roles of this process. Any number of processes share one database; together they must have all three roles. The flag `--roles` of `postrider serve` takes precedence.",
  },
  processes: {
    name: "POSTRIDER_PROCESSES",
    parse: countOrCores(64),
    default: "1",
    description:
      "How many processes `postrider serve` runs behind its port; `auto` is one for each core. With more than one, a supervisor owns the port and the embedded PostgreSQL, and replaces a process that dies (docs/operations.md). Limits per process apply to each of these processes. More than one process needs Node 26.4 or newer, and is not possible on Windows.",
  },
  dashboard: {
    name: "POSTRIDER_DASHBOARD",
    parse: boolean,
    default: "true",
    description: "Serve the dashboard at `/`. `false` serves the interface alone.",
  },
  metricsToken: {
    name: "POSTRIDER_METRICS_TOKEN",
    parse: bearerToken,
    unset: "open to all",
    secret: true,
    description:
      "The token that `GET /metrics` requires as `Authorization: Bearer <token>`. Set it if others than the scraper can reach this port.",
  },
  logLevel: {
    name: "LOG_LEVEL",
    parse: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]),
    default: "info",
    description:
      "The least severe log line that is written: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.",
  },
  logRequests: {
    name: "POSTRIDER_LOG_REQUESTS",
    parse: boolean,
    default: "false",
    description:
      "Write a line for every request and every attempt, at the level `info`. Without it the log has sums of refusals, failing targets and slow requests (docs/operations.md).",
  },
} satisfies Settings;

const storage = {
  databaseUrl: {
    name: "DATABASE_URL",
    parse: databaseUrl,
    unset: "embedded",
    secret: true,
    description:
      "A PostgreSQL of version 15 to 18, as `postgres://user:password@host:5432/database`. Unset starts the embedded one.",
  },
  dataDir: {
    name: "POSTRIDER_DATA_DIR",
    parse: anyText,
    default: "./data",
    description: "Holds the embedded database and the generated encryption key (mode 0600).",
  },
  databasePool: {
    name: "POSTRIDER_DATABASE_POOL",
    parse: integer(2, 200),
    default: "10",
    description:
      "Maximum number of connections in this process's pool; each of POSTRIDER_PROCESSES has a pool. Listening connections are added to this number: three with one cell. With several cells, each has a pool; together they have about this size.",
  },
  cells: {
    name: "POSTRIDER_CELLS",
    parse: oneOf(["1", "2", "4", "8", "16"]),
    default: "1",
    description:
      "Experimental: the number of cells into which the data plane is divided, each in its own schema (docs/scaling.md). All processes need the same value; a database keeps its number. `postrider db divide` divides a database that has targets, `postrider db distribute` places the cells on several servers.",
  },
  fastSql: {
    name: "POSTRIDER_FAST_SQL",
    parse: oneOf(["on", "off"]),
    default: "on",
    description:
      "`off` calls the SQL functions of the hot path by the driver's own queries. Slower; use it to find out whether the fast calls cause a fault.",
  },
  databaseTimeoutMs: {
    name: "POSTRIDER_DATABASE_TIMEOUT_MS",
    parse: integer(500, 30_000),
    default: "5000",
    description:
      "How long a request waits for the database's answer before it is answered with 503. The database may still execute the request, so senders should repeat an item with the same `Idempotency-Key`.",
  },
  encryptionKey: {
    name: "POSTRIDER_ENCRYPTION_KEY",
    parse: encryptionKey,
    unset: "generated when embedded",
    secret: true,
    description:
      "32 bytes in base64 that encrypt signing secrets, credentials of agents and secret headers of targets at rest. Required with `DATABASE_URL`; make one with `openssl rand -base64 32`. Without it those secrets cannot be read again.",
  },
  previousEncryptionKeys: {
    name: "POSTRIDER_PREVIOUS_ENCRYPTION_KEYS",
    parse: encryptionKeys,
    default: "",
    secret: true,
    description:
      "Former encryption keys, separated by commas. They only decrypt, and check the addresses that agents were given for notifications, so that the key can be rotated.",
  },
  retentionDays: {
    name: "POSTRIDER_RETENTION_DAYS",
    parse: integer(1, 3650),
    default: "30",
    description: "How many days events, payloads and attempts are kept.",
  },
} satisfies Settings;

const outbound = {
  allowHttpTargets: {
    name: "POSTRIDER_ALLOW_HTTP_TARGETS",
    parse: boolean,
    default: "false",
    description: "Permit `http:` URLs of targets and agent cards. For development.",
  },
  allowedNetworks: {
    name: "POSTRIDER_ALLOWED_NETWORKS",
    parse: networks,
    default: "",
    description:
      "Networks that the address guard lets through, in CIDR notation and separated by commas, such as `127.0.0.0/8,::1/128`.",
  },
  deliveryTimeoutMs: {
    name: "POSTRIDER_DELIVERY_TIMEOUT_MS",
    parse: integer(50, 60_000),
    default: "15000",
    description: "Maximum duration of one delivery attempt, from connecting to the last byte read.",
  },
  connectTimeoutMs: {
    name: "POSTRIDER_CONNECT_TIMEOUT_MS",
    parse: integer(50, 60_000),
    default: "5000",
    description: "Maximum time to connect to a target, including TLS.",
  },
  targetConcurrency: {
    name: "POSTRIDER_TARGET_CONCURRENCY",
    parse: integer(1, 1000),
    default: "32",
    description: "The most deliveries in flight to one target from this process.",
  },
  maxInFlight: {
    name: "POSTRIDER_MAX_IN_FLIGHT",
    parse: integer(1, 10_000),
    default: "512",
    description:
      "Maximum number of deliveries in flight from this process to all targets together. A target gets at most an eighth of the free ones, so 57 of 512 if it is the only one; an organization gets at most seven times the number that is free; hanging and untried targets together have at most three eighths of all.",
  },
} satisfies Settings;

const agents = {
  handoffDeadlineSeconds: {
    name: "POSTRIDER_HANDOFF_DEADLINE_SECONDS",
    parse: integer(1, 30 * day),
    default: "86400",
    description:
      "How long a task handed to an agent is followed without any change before its outcome is `UNKNOWN`; seven times as long while it waits for its client. A new value applies to each task from its next change.",
  },
} satisfies Settings;

const accounts = {
  signup: {
    name: "POSTRIDER_SIGNUP",
    parse: oneOf(["open", "invited", "closed"]),
    default: "open",
    description:
      "Who can create an account: with `open`, anybody who reaches the service; with `invited`, only people who were invited to an organization; with `closed`, nobody, so that operators create accounts with `postrider org create`.",
  },
  maxKeys: {
    name: "POSTRIDER_MAX_KEYS",
    parse: integer(1, 1_000),
    default: "5",
    description: "The most API keys of an organization. Lowering it removes no key.",
  },
  signupLimit: {
    name: "POSTRIDER_SIGNUP_LIMIT",
    parse: integer(1, 1_000_000),
    default: "3",
    description: "Signups per client address in 15 minutes, counted in the database.",
  },
  loginLimit: {
    name: "POSTRIDER_LOGIN_LIMIT",
    parse: integer(1, 1_000_000),
    default: "5",
    description:
      "Logins per client address in 15 minutes, counted in the database. The same limit applies to accepting invitations and using reset links per address, to changes of the password per user, and to requests for reset links per address and per email.",
  },
  auditRetentionDays: {
    name: "POSTRIDER_AUDIT_RETENTION_DAYS",
    parse: integer(1, 3650),
    default: "365",
    description: "How many days entries of the audit log are kept.",
  },
} satisfies Settings;

const mailboxes = {
  mailboxLeaseSeconds: {
    name: "POSTRIDER_MAILBOX_LEASE_SECONDS",
    parse: integer(1, day / 2),
    default: "300",
    description: "How long the lease of a claimed message lasts, unless the claim asks for another duration.",
  },
  mailboxRetentionSeconds: {
    name: "POSTRIDER_MAILBOX_RETENTION_SECONDS",
    parse: integer(1, 365 * day),
    default: "604800",
    description:
      "How long after acceptance a message expires, whatever its state; never later than its item (POSTRIDER_RETENTION_DAYS).",
  },
} satisfies Settings;

/** All settings by their keys in the configuration, under the headings of the documentation. */
export const sections = [
  { heading: "Listening", settings: listening },
  { heading: "Storage", settings: storage },
  { heading: "Outbound requests", settings: outbound },
  { heading: "Agents", settings: agents },
  { heading: "Accounts", settings: accounts },
  { heading: "Mail", settings: mailSettings },
  { heading: "Mailboxes", settings: mailboxes },
  { heading: "Billing", settings: billingSettings },
  { heading: "OpenTelemetry", settings: telemetrySettings },
] as const;

/** All settings in one record; a key here is the key of the parsed value. */
export const settings = {
  ...listening,
  ...storage,
  ...outbound,
  ...agents,
  ...accounts,
  ...mailSettings,
  ...mailboxes,
  ...billingSettings,
  ...telemetrySettings,
};
