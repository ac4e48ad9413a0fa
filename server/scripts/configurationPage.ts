import type { Setting } from "../src/config/parsers.ts";
import { sections } from "../src/config/settings.ts";

/** The text of `docs/configuration.md`, generated from the settings. */
export function configurationPage(): string {
  return `${preamble}\n${sections.map(section).join("\n")}`;
}

const preamble = `<!-- Generated from server/src/config/settings.ts by \`npm run generated\`; change it there. -->

# Configuration

Postrider is configured only by environment variables. An empty variable counts as unset. If a value is wrong, a variable that
another one requires is missing, or a \`POSTRIDER_\` variable is unknown, the service does not start. The error names all
problems and how to fix them, and repeats no secret. Variables of the client commands (\`POSTRIDER_URL\`, \`POSTRIDER_KEY\` …) and those that
Kubernetes sets for a Service named \`postrider\` are ignored. A wrong value of an \`OTEL_\` variable is ignored with a line in the log, as
[tracing.md](tracing.md) says, because these variables are often set for all programs of a machine.
`;

function section({
  heading,
  settings,
}: {
  heading: string;
  settings: Record<string, Setting<unknown>>;
}): string {
  const rows = Object.values(settings).map(row).join("\n");
  return `## ${heading}\n\n| Variable | Default | Meaning |\n| --- | --- | --- |\n${rows}\n`;
}

function row(setting: Setting<unknown>): string {
  const initial =
    setting.default === undefined
      ? setting.unset
      : setting.default === ""
        ? "empty"
        : `\`${setting.default}\``;
  return `| \`${setting.name}\` | ${initial} | ${setting.description.replaceAll("|", "\\|")} |`;
}
