import { billingSettings, neededByStripe } from "./billingSettings.ts";
import type { MailConfig } from "./mailSettings.ts";
import { type Setting, ValueError } from "./parsers.ts";
import { nearestName } from "./nearestName.ts";
import { settings } from "./settings.ts";

type SettingKey = keyof typeof settings;
/** The values of the settings. One without a default may have no value. */
type Parsed = { [K in SettingKey]: Value<(typeof settings)[K]> };
type Value<S extends Setting<unknown>> =
  | ReturnType<S["parse"]>
  | (S extends { default: string } ? never : undefined);
type BillingKey = "billingMode" | Extract<SettingKey, `stripe${string}`>;
type MailKey = "smtpServer" | "mailFrom";

/** The parsed environment of this process. A name ends with its unit, if it has one; `settings.ts` describes each setting. */
export interface Config extends Readonly<Omit<Parsed, BillingKey | MailKey | "mailboxRetentionSeconds">> {
  /** After this time a message expires. */
  readonly mailboxRetentionMs: number;
  readonly billing: BillingConfig;
  /** Undefined when no mail server is configured. */
  readonly mail: MailConfig | undefined;
}

/** How usage is charged: not at all, or through Stripe. */
export type BillingConfig = { kind: "disabled" } | StripeConfig;

export interface StripeConfig {
  kind: "stripe";
  secretKey: string;
  /** The current signing secret of the webhook endpoint, and the previous one during rotation. */
  webhookSecrets: readonly string[];
  priceId: string;
  meterEventName: string;
  meterId: string;
  /** Undefined means Stripe's own address. */
  apiBase: string | undefined;
}

/** The environment is invalid, so the service must not start. The message has one line, a sentence, for each problem. */
export class ConfigError extends Error {}

/**
 * Reads the configuration from `env`; no other code reads the environment. An empty variable counts as unset.
 * @throws {ConfigError} with all problems at once; it repeats no secret.
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const problems = unknownNames(env);
  const parsed = parseAll(env, problems);
  if (isSet(env, "DATABASE_URL") && !isSet(env, "POSTRIDER_ENCRYPTION_KEY")) {
    problems.push(
      "DATABASE_URL needs POSTRIDER_ENCRYPTION_KEY too, the same for every process; make one with: openssl rand -base64 32",
    );
  }
  if (parsed.bodyMemoryBytes < 4 * parsed.maxBodyBytes) {
    problems.push("POSTRIDER_BODY_MEMORY_BYTES must be at least four times POSTRIDER_MAX_BODY_BYTES");
  }
  if (parsed.processes > 1 && parsed.roles?.size === 1 && parsed.roles.has("maintenance")) {
    problems.push(
      "POSTRIDER_PROCESSES must be 1 for a process that has the role maintenance alone: one of several processes would have it, and the others nothing to do",
    );
  }
  if (parsed.billingMode === "stripe") {
    for (const { name, unset } of Object.values<Setting<unknown>>(billingSettings)) {
      if (unset === neededByStripe && !isSet(env, name))
        problems.push(`POSTRIDER_BILLING=stripe needs ${name}; set it or leave billing disabled`);
    }
  }
  problems.push(...mailProblems((name) => isSet(env, name)));
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
  return grouped(parsed);
}

/** Combines related settings into `billing` and `mail`. The caller has checked that the required ones are set. */
function grouped(parsed: Parsed): Config {
  const {
    billingMode,
    stripeSecretKey: secretKey,
    stripeWebhookSecrets: webhookSecrets,
    stripePriceId: priceId,
    stripeMeterEventName: meterEventName,
    stripeMeterId: meterId,
    stripeApiBase: apiBase,
    smtpServer: server,
    mailFrom: from,
    mailboxRetentionSeconds,
    ...rest
  } = parsed;
  const stripe = { secretKey, webhookSecrets, priceId, meterEventName, meterId, apiBase };
  return {
    ...rest,
    // A message must not outlive its item, which has its payload.
    mailboxRetentionMs: Math.min(mailboxRetentionSeconds, rest.retentionDays * 86_400) * 1000,
    billing:
      billingMode === "disabled" ? { kind: billingMode } : ({ kind: billingMode, ...stripe } as StripeConfig),
    mail: server && ({ server, from, publicUrl: rest.publicUrl } as MailConfig),
  };
}

function isSet(env: NodeJS.ProcessEnv, name: string): boolean {
  return (env[name] ?? "").trim() !== "";
}

/** Parses every setting. A refused value is undefined in the result, and its sentence is added to `problems`. */
function parseAll(env: NodeJS.ProcessEnv, problems: string[]): Parsed {
  const entries = Object.entries<Setting<unknown>>(settings).map(([key, setting]) => {
    const text = isSet(env, setting.name) ? (env[setting.name] ?? "").trim() : setting.default;
    if (text === undefined) return [key, undefined];
    try {
      return [key, setting.parse(text)];
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      problems.push(refusal(setting, text, error.message));
      return [key, undefined];
    }
  });
  // The keys are those of `settings`, and each value came from that setting's own parser.
  return Object.fromEntries(entries) as Parsed;
}

function refusal(setting: Setting<unknown>, text: string, rule: string): string {
  if (setting.secret) return `${setting.name} ${rule} (its value is not shown)`;
  return `${setting.name} ${rule}, not ${JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)}`;
}

/** Variables of the client commands, which may be set in the same environment. */
const clientNames = [
  "POSTRIDER_URL",
  "POSTRIDER_KEY",
  "POSTRIDER_PROFILE",
  "POSTRIDER_LISTEN_SECRET",
  "POSTRIDER_AGENT_TOKEN",
];

/**
 * Whether Kubernetes set a variable for a Service whose name begins with `postrider` (service links):
 * `POSTRIDER_SERVICE_HOST`, `POSTRIDER_PORT=tcp://10.0.0.1:80`, `POSTRIDER_PORT_80_TCP_ADDR` and the like.
 */
function isServiceLink(name: string, value: string): boolean {
  return (
    /^POSTRIDER_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/.test(
      name,
    ) ||
    (/^POSTRIDER_(\w+_)?PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value))
  );
}

function unknownNames(env: NodeJS.ProcessEnv): string[] {
  const known = Object.values(settings).map((setting) => setting.name);
  return Object.keys(env)
    .filter((name) => /^postrider_/i.test(name) && !known.includes(name) && !clientNames.includes(name))
    .filter((name) => !isServiceLink(name, env[name] ?? ""))
    .map((name) => {
      const bare = name.slice("POSTRIDER_".length).toUpperCase();
      const nearest = known.includes(bare) ? bare : nearestName(name, known);
      const advice =
        nearest === undefined ? "remove it; docs/configuration.md lists all" : `did you mean ${nearest}?`;
      return `${name} is not a setting of Postrider; ${advice}`;
    });
}

function mailProblems(has: (name: string) => boolean): string[] {
  if (!has("POSTRIDER_SMTP_URL")) {
    if (!has("POSTRIDER_MAIL_FROM")) return [];
    return [
      "POSTRIDER_MAIL_FROM needs POSTRIDER_SMTP_URL beside it, the server that takes mails; or remove it",
    ];
  }
  const needed = {
    POSTRIDER_MAIL_FROM: "the address that mails are from",
    POSTRIDER_PUBLIC_URL: "the address of this service that links in mails begin with",
  };
  return Object.entries(needed)
    .filter(([name]) => !has(name))
    .map(([name, meaning]) => `POSTRIDER_SMTP_URL needs ${name} beside it, ${meaning}`);
}

/**
 * The service's base URL, without a slash at the end: the configured one, or else the address on which it listens.
 * @param localPort the port of the request's connection, which counts if any free port was configured (0).
 */
export function publicUrlOf(
  { publicUrl, host, port }: Pick<Config, "publicUrl" | "host" | "port">,
  { localPort }: { localPort?: number | undefined },
): string {
  // A service that listens on all interfaces is also reached as localhost; not every browser opens 0.0.0.0.
  const own = /^[0:.]+$/.test(host) ? "localhost" : host;
  return publicUrl ?? `http://${own.includes(":") ? `[${own}]` : own}:${port === 0 ? localPort : port}`;
}
