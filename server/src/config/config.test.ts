import { availableParallelism } from "node:os";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigError, loadConfig, publicUrlOf } from "./config.ts";
import { ignoredParameters } from "./parsers.ts";
import { settings } from "./settings.ts";

const key = Buffer.alloc(32, 7).toString("base64");
const stripe = {
  POSTRIDER_BILLING: "stripe",
  STRIPE_SECRET_KEY: "sk_test_1",
  STRIPE_WEBHOOK_SECRET: "whsec_a,whsec_b",
  STRIPE_PRICE_ID: "price_1",
  STRIPE_METER_EVENT_NAME: "items",
  STRIPE_METER_ID: "mtr_1",
};

function problemsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split("\n");
    throw error;
  }
  return [];
}

describe("defaults", () => {
  it("are those of the documentation", () => {
    expect(loadConfig({})).toEqual({
      dashboard: true,
      port: 8080,
      host: "127.0.0.1",
      publicUrl: undefined,
      trustProxy: false,
      maxBodyBytes: 1_048_576,
      bodyMemoryBytes: 67_108_864,
      maxConnections: undefined,
      fastHttp: "on",
      fastSql: "on",
      metricsToken: undefined,
      mcpHosts: [],
      roles: new Set(["api", "dispatcher", "maintenance"]),
      processes: 1,
      logLevel: "info",
      logRequests: false,
      databaseUrl: undefined,
      dataDir: "./data",
      databasePool: 10,
      cells: "1",
      databaseTimeoutMs: 5000,
      encryptionKey: undefined,
      previousEncryptionKeys: [],
      retentionDays: 30,
      allowHttpTargets: false,
      allowedNetworks: [],
      deliveryTimeoutMs: 15_000,
      handoffDeadlineSeconds: 86_400,
      connectTimeoutMs: 5000,
      targetConcurrency: 32,
      maxInFlight: 512,
      signup: "open",
      maxKeys: 5,
      signupLimit: 3,
      loginLimit: 5,
      auditRetentionDays: 365,
      mailboxLeaseSeconds: 300,
      mailboxRetentionMs: 604_800_000,
      meterExportSeconds: 10,
      billing: { kind: "disabled" },
    });
  });

  it("are also used for empty variables", () => {
    const empty = Object.fromEntries(Object.values(settings).map((setting) => [setting.name, " "]));
    expect(loadConfig(empty)).toEqual(loadConfig({}));
  });
});

describe("values", () => {
  it("are parsed", () => {
    const config = loadConfig({
      PORT: "0",
      POSTRIDER_TRUST_PROXY: "true",
      POSTRIDER_ALLOW_HTTP_TARGETS: "1",
      POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8, ::1/128",
      POSTRIDER_ROLES: "api,maintenance",
      POSTRIDER_PUBLIC_URL: "https://hooks.example.com/in/",
      DATABASE_URL: "postgres:///postrider?host=/run/postgresql",
      POSTRIDER_ENCRYPTION_KEY: key,
      POSTRIDER_PREVIOUS_ENCRYPTION_KEYS: `${key},${key}`,
    });
    expect(config.port).toBe(0);
    expect(config.trustProxy).toBe(true);
    expect(config.allowHttpTargets).toBe(true);
    expect(config.allowedNetworks).toEqual(["127.0.0.0/8", "::1/128"]);
    expect(config.roles).toEqual(new Set(["api", "maintenance"]));
    expect(config.publicUrl).toBe("https://hooks.example.com/in");
    expect(config.databaseUrl).toBe("postgres:///postrider?host=/run/postgresql");
    expect(config.encryptionKey).toEqual(Buffer.alloc(32, 7));
    expect(config.previousEncryptionKeys).toHaveLength(2);
  });

  it("are combined to a Stripe configuration, with both secrets of a rotation", () => {
    expect(loadConfig({ ...stripe, STRIPE_API_BASE: "http://127.0.0.1:4242/" }).billing).toEqual({
      kind: "stripe",
      secretKey: "sk_test_1",
      webhookSecrets: ["whsec_a", "whsec_b"],
      priceId: "price_1",
      meterEventName: "items",
      meterId: "mtr_1",
      apiBase: "http://127.0.0.1:4242",
    });
  });

  it.each(["http://127.0.0.1:4242/stripe", "https://gateway.example/stripe/v1"])(
    "do not include %s as the payment processor's address, whose client would drop the path",
    (address) => {
      expect(problemsOf({ ...stripe, STRIPE_API_BASE: address })).toEqual([
        "STRIPE_API_BASE must be a URL without a path, such as http://127.0.0.1:12111 (its value is not shown)",
      ]);
    },
  );

  it.each([
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["PORT", "8e3"],
    ["PORT", "0x50"],
    ["HOST", "local host"],
    ["HOST", "[::1]"],
    ["POSTRIDER_TRUST_PROXY", "yes"],
    ["POSTRIDER_ROLES", "api,worker"],
    ["POSTRIDER_ROLES", ","],
    ["POSTRIDER_ALLOWED_NETWORKS", "127.0.0.1"],
    ["POSTRIDER_ALLOWED_NETWORKS", "127.0.0.0/33"],
    ["POSTRIDER_ALLOWED_NETWORKS", "010.0.0.0/8"],
    ["POSTRIDER_ALLOWED_NETWORKS", "fe80::1%eth0/64"],
    ["POSTRIDER_SIGNUP_LIMIT", "0"],
    ["POSTRIDER_RETENTION_DAYS", "1.5"],
    ["POSTRIDER_BILLING", "paypal"],
    ["LOG_LEVEL", "verbose"],
  ])("%s=%s is refused with its name and the value", (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`${name} must`);
    expect(problems[0]).toContain(JSON.stringify(value));
  });
});

it.each([
  [{}, "http://127.0.0.1:8080"],
  [{ HOST: "::1" }, "http://[::1]:8080"],
  [{ HOST: "0.0.0.0", PORT: "9090" }, "http://localhost:9090"],
  [{ HOST: "::" }, "http://localhost:8080"],
  [{ PORT: "0" }, "http://127.0.0.1:50123"],
  [{ HOST: "::", POSTRIDER_PUBLIC_URL: "https://hooks.example.com/in" }, "https://hooks.example.com/in"],
])("links begin with an address that can be opened: %j", (env, url) => {
  expect(publicUrlOf(loadConfig(env), { localPort: 50_123 })).toBe(url);
});

describe("the number of processes", () => {
  it("may be `auto`, the number of cores", () => {
    const { processes } = loadConfig({ POSTRIDER_PROCESSES: "auto" });
    expect(processes).toBe(Math.min(64, availableParallelism()));
  });

  it.each(["0", "65", "1.5", "-1", "two", "AUTO"])("cannot be %s", (text) => {
    expect(problemsOf({ POSTRIDER_PROCESSES: text })).toEqual([
      `POSTRIDER_PROCESSES must be a whole number from 1 to 64, or auto, not "${text}"`,
    ]);
  });

  it("must be 1 when maintenance is the only role", () => {
    const roles = { POSTRIDER_ROLES: "maintenance" };
    expect(problemsOf({ ...roles, POSTRIDER_PROCESSES: "1" })).toEqual([]);
    expect(problemsOf({ ...roles, POSTRIDER_PROCESSES: "2" })).toHaveLength(1);
    expect(problemsOf({ POSTRIDER_ROLES: "api,maintenance", POSTRIDER_PROCESSES: "2" })).toEqual([]);
  });
});

describe("a public URL", () => {
  it.each(["hooks.example.com", "ftp://hooks.example.com", "https://user:pass-word@hooks.example.com"])(
    "%s is refused without being repeated, because it may contain a password",
    (value) => {
      const problems = problemsOf({ POSTRIDER_PUBLIC_URL: value });
      expect(problems).toHaveLength(1);
      expect(problems[0]).not.toContain(value);
    },
  );
});

describe("a token for metrics", () => {
  it.each(["geheim-ü", "two words", "日"])("%s is refused, because no client could send it", (value) => {
    const problems = problemsOf({ POSTRIDER_METRICS_TOKEN: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).not.toContain(value);
  });
});

const mail = {
  POSTRIDER_SMTP_URL: "smtps://post:pass%2Fword@mail.example.com",
  POSTRIDER_MAIL_FROM: "postrider@example.com",
  POSTRIDER_PUBLIC_URL: "https://postrider.example.com",
};

describe("a mail server", () => {
  it.each<[url: string, server: object]>([
    [
      mail.POSTRIDER_SMTP_URL,
      {
        host: "mail.example.com",
        port: 465,
        encryption: "tls",
        credentials: { user: "post", password: "pass/word" },
      },
    ],
    ["smtp://mail.example.com", { host: "mail.example.com", port: 587, encryption: "starttls" }],
    ["smtp://[::1]:25/?tls=off", { host: "::1", port: 25, encryption: "off" }],
  ])("is read from %s", (url, server) => {
    expect(loadConfig({ ...mail, POSTRIDER_SMTP_URL: url }).mail).toEqual({
      server,
      from: { name: "", address: "postrider@example.com" },
      publicUrl: "https://postrider.example.com",
    });
  });

  it.each<[from: string, sender: object]>([
    ["Post Rider <a@b.example>", { name: "Post Rider", address: "a@b.example" }],
    ['"Rider, Post" <a@b.example>', { name: "Rider, Post", address: "a@b.example" }],
  ])("sends as %s", (from, sender) => {
    expect(loadConfig({ ...mail, POSTRIDER_MAIL_FROM: from }).mail?.from).toEqual(sender);
  });

  it.each([
    "mail.example.com",
    "https://mail.example.com",
    "smtp://",
    "smtp:mail.example.com",
    "smtps://post:pass-word@",
    "smtps://post:pass-word@mail.example.com/?tls.rejectUnauthorized=false",
    "smtp://post:pass-word@mail.example.com?logger=true&debug=true",
    "smtp://post:pass-word@mail.example.com/path",
    "smtp://post:pass-word@mail.example.com#x",
    "smtps://post@mail.example.com",
    "smtps://:pass-word@mail.example.com",
    "smtps://post:pass-word%zz@mail.example.com",
    "smtp://post:pass-word@mail.example.com?tls=off",
    "smtps://mail.example.com?tls=off",
  ])("%s is refused without being repeated", (value) => {
    const problems = problemsOf({ ...mail, POSTRIDER_SMTP_URL: value });
    expect(problems).toEqual([expect.stringContaining("POSTRIDER_SMTP_URL must")]);
    expect(problems[0]).not.toContain("pass-word");
  });

  it.each([
    "postrider",
    "a@b.example\r\nBcc: c@d.example",
    "A <a@b.example",
    "a@b.example, c@d.example",
    "A\n<a@b>",
  ])("is refused with the sender %j", (value) => {
    expect(problemsOf({ ...mail, POSTRIDER_MAIL_FROM: value })).toEqual([
      expect.stringContaining("POSTRIDER_MAIL_FROM must"),
    ]);
  });

  it("needs a sender and the base URL of links", () => {
    expect(problemsOf({ POSTRIDER_SMTP_URL: mail.POSTRIDER_SMTP_URL })).toEqual([
      expect.stringContaining("POSTRIDER_SMTP_URL needs POSTRIDER_MAIL_FROM"),
      expect.stringContaining("POSTRIDER_SMTP_URL needs POSTRIDER_PUBLIC_URL"),
    ]);
    expect(problemsOf({ POSTRIDER_MAIL_FROM: "a@b.example" })).toEqual([
      expect.stringContaining("POSTRIDER_MAIL_FROM needs POSTRIDER_SMTP_URL"),
    ]);
  });
});

describe("problems", () => {
  it("are reported all at once", () => {
    const problems = problemsOf({ PORT: "x", LOG_LEVEL: "loud", POSTRIDER_DATADIR: "/tmp" });
    expect(problems).toHaveLength(3);
  });

  it("say how to make the encryption key that an external database needs", () => {
    const problems = problemsOf({ DATABASE_URL: "postgres://localhost/postrider" });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("openssl rand -base64 32");
  });

  it("say that a database's address needs a host and a valid port", () => {
    for (const url of ["postgres://ada:x@a:99999/postrider", "postgres://ada@[::1/postrider"]) {
      expect(problemsOf({ DATABASE_URL: url, POSTRIDER_ENCRYPTION_KEY: key })).toEqual([
        "DATABASE_URL must have a host and a port from 1 to 65535 (its value is not shown)",
      ]);
    }
    for (const url of ["postgres://ada@/postrider?host=/run/a&port=5433", "postgres:///postrider"])
      expect(problemsOf({ DATABASE_URL: url, POSTRIDER_ENCRYPTION_KEY: key })).toEqual([]);
  });

  it.each([
    "postgres://ada:x@a:5432,b:5432/postrider",
    "postgres://ada:x@a,b/postrider?target_session_attrs=read-write",
    "postgres://ada@/postrider?host=a,b",
  ])("say that a database has one host: %s", (url) => {
    const problems = problemsOf({ DATABASE_URL: url, POSTRIDER_ENCRYPTION_KEY: key });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("must name one host");
  });

  it("name the values of sslmode", () => {
    const problems = (value: string, name = "sslmode"): readonly string[] =>
      problemsOf({
        DATABASE_URL: `postgres://ada@a/postrider?${name}=${value}`,
        POSTRIDER_ENCRYPTION_KEY: key,
      });
    expect(problems("verify-full")).toEqual([]);
    expect(problems("no-verify&x=y")).toEqual([]);
    for (const [value, name] of [
      ["verify_full"],
      ["on"],
      [""],
      ["require", "sslMode"],
      ["require", "ssl-mode"],
    ])
      expect(problems(value!, name)).toEqual([
        expect.stringMatching(/must have one of disable, .*, verify-full, no-verify as sslmode, spelled so/),
      ]);
  });

  it("do not include a comma in the database's password", () => {
    const url = "postgres://ada:a,b@localhost/postrider";
    expect(loadConfig({ DATABASE_URL: url, POSTRIDER_ENCRYPTION_KEY: key }).databaseUrl).toBe(url);
  });

  it("do not name a part of the database's password as a parameter without effect", () => {
    const url =
      "postgres://ada:first&second=third@a/postrider?sslmode=disable&channel_binding=require&keep-alive=1";
    expect(ignoredParameters(url)).toEqual(["channel_binding", "keep-alive"]);
  });

  it("name each missing Stripe setting", () => {
    const problems = problemsOf({ POSTRIDER_BILLING: "stripe", STRIPE_PRICE_ID: "price_1" });
    expect(problems).toHaveLength(4);
    expect(problems.join()).not.toContain("STRIPE_PRICE_ID");
  });

  it("suggest the nearest name for an unknown setting", () => {
    expect(problemsOf({ POSTRIDER_DATADIR: "/tmp" })[0]).toContain("did you mean POSTRIDER_DATA_DIR?");
    expect(problemsOf({ postrider_roles: "api" })[0]).toContain("did you mean POSTRIDER_ROLES?");
    expect(problemsOf({ POSTRIDER_COLOUR_OF_THE_HORSE: "bay" })[0]).toContain("remove it");
  });

  it.each(["PORT", "HOST", "DATABASE_URL", "LOG_LEVEL"])("suggest %s when it was given a prefix", (name) => {
    expect(problemsOf({ [`POSTRIDER_${name}`]: "x" })[0]).toContain(`did you mean ${name}?`);
  });

  it.each(["POSTRIDER", "POSTRIDER_METRICS"])(
    "do not include the variables that Kubernetes sets for a Service: %s",
    (service) => {
      const links = {
        SERVICE_HOST: "10.0.0.1",
        SERVICE_PORT: "80",
        SERVICE_PORT_HTTP: "80",
        PORT: "tcp://10.0.0.1:80",
        PORT_80_TCP: "tcp://10.0.0.1:80",
        PORT_80_TCP_PROTO: "tcp",
        PORT_80_TCP_PORT: "80",
        PORT_80_TCP_ADDR: "10.0.0.1",
      };
      const named = Object.entries(links).map(([name, value]) => [`${service}_${name}`, value]);
      expect(problemsOf(Object.fromEntries(named))).toEqual([]);
    },
  );

  it("do not include other programs' variables", () => {
    expect(problemsOf({ PGHOST: "x", STRIPE_CLI_MODE: "y", HOME: "/" })).toEqual([]);
  });
});

describe("property", () => {
  it("a refused secret never appears in the message", () => {
    const secrets = Object.values(settings).filter((setting) => "secret" in setting);
    fc.assert(
      fc.property(fc.constantFrom(...secrets), fc.base64String({ minLength: 12 }), (setting, text) => {
        const problems = problemsOf({ [setting.name]: `!${text} ${text}` });
        expect(problems).not.toEqual([]);
        expect(problems.join("\n")).not.toContain(text);
      }),
    );
  });

  it("any text for any setting results in a configuration or a ConfigError", () => {
    const names = Object.values(settings).map((setting) => setting.name);
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string({ unit: "binary" }), (name, text) => {
        expect(problemsOf({ [name]: text }).every((problem) => problem.includes(" "))).toBe(true);
      }),
    );
  });

  it("every whole number within the bounds is read back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 65_535 }), (port) => {
        expect(loadConfig({ PORT: String(port) }).port).toBe(port);
      }),
    );
  });

  it("only 32 bytes make an encryption key", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const text = Buffer.from(bytes).toString("base64");
        const problems = problemsOf({ POSTRIDER_ENCRYPTION_KEY: text });
        expect(problems.length === 0).toBe(bytes.length === 32 || bytes.length === 0);
      }),
    );
  });
});
