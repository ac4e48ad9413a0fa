import { type Credential, type RouteRecord, tags } from "../src/http/contract/route.ts";

/** The text of `docs/routes.md`, generated from the routes' records. */
export function routesPage(routes: readonly RouteRecord[]): string {
  const sections = tags.map(({ name, description }) => {
    const rows = routes.filter(({ tag }) => tag === name).map(row);
    return `## ${name}\n\n${description}.\n\n${head}\n${rows.join("\n")}\n`;
  });
  return `${preamble}\n${sections.join("\n")}`;
}

const preamble = `<!-- Generated from the routes' records by \`npm run generated\`; change them in the features' routes.ts. -->

# Routes

Every route of the interface, and who may call it. \`/docs\` and \`/openapi.json\` of a running service
describe their inputs and answers.

- **Credential**: an API key in \`Authorization: Bearer\`, a user's session in \`X-Session-Token\`, or a customer's session in its
  [portal](customers.md#the-portal), in the same header.
- **Least role**: the lowest [role](members.md#roles) of a user whose session the route accepts. API keys have no role.
- **Limited**: the [limited API keys](api-keys.md) that the route accepts; \`portal\` is a customer's session, which is limited in the
  same way. Every other limited credential is refused with 403 (\`scope_refused\`).
- **Audit log**: the [action](members.md#the-audit-log) under which a successful change is recorded, or why it is not in the audit log.
`;

const head = `| Route | Operation | Credential | Least role | Limited | Audit log |
| --- | --- | --- | --- | --- | --- |`;

function row({ method, path, operationId, credential, leastRole, scope, audit }: RouteRecord): string {
  const cells = [
    `\`${method} ${path}\``,
    `\`${operationId}\``,
    credentials[credential],
    leastRole ?? "",
    (scope?.takes ?? []).join(", "),
    auditText(audit),
  ];
  return `| ${cells.join(" | ")} |`;
}

const credentials: Record<Credential, string> = {
  none: "none",
  session: "session",
  apiKey: "API key",
  apiKeyInSql: "API key",
  either: "API key or session",
  portal: "portal session",
};

function auditText(audit: RouteRecord["audit"]): string {
  if (audit === undefined) return "";
  if (typeof audit === "object" && "none" in audit) return audit.none;
  return [audit]
    .flat()
    .map((action) => `\`${action}\``)
    .join(", ");
}
